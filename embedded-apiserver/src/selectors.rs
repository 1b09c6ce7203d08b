//! Label and field selectors: parsing and matching. No I/O.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    object::{self, text_at},
    status::StatusError,
};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

impl Requirement {
    fn matches(&self, labels: Option<&Value>) -> bool {
        let get = |key: &str| labels.and_then(|map| map.get(key)).and_then(Value::as_str);
        match self {
            Self::In(key, values) => get(key).is_some_and(|have| values.iter().any(|want| want == have)),
            Self::NotIn(key, values) => get(key).is_none_or(|have| values.iter().all(|not| not != have)),
            Self::Exists(key) => get(key).is_some(),
            Self::Missing(key) => get(key).is_none(),
        }
    }
}

/// A label selector and a field selector; an object must match both.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    labels: Vec<Requirement>,
    fields: Vec<(String, String, bool)>,
}

impl Selection {
    /// Parses both query parameters. `extra_fields` are the selectable fields of a custom resource (`.spec.color`).
    ///
    /// # Errors
    /// 400 for a selector that does not parse, or for a field that this kind does not index.
    pub fn parse(labels: &str, fields: &str, kind: &str, extra_fields: &[String]) -> Result<Self, StatusError> {
        let labels = split_outside_parentheses(labels)
            .filter(|part| !part.is_empty())
            .map(|part| requirement(part).ok_or_else(|| unparsable(part)))
            .collect::<Result<_, _>>()?;
        let fields = fields
            .split(',')
            .filter(|part| !part.trim().is_empty())
            .map(|part| {
                field(part).ok_or_else(|| {
                    StatusError::bad_request(format!("invalid selector: '{part}'; can't understand '{part}'"))
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        for (name, _, _) in &fields {
            if !is_indexed(kind, name) && !extra_fields.iter().any(|path| path.trim_start_matches('.') == name) {
                return Err(StatusError::bad_request(not_indexed(kind, name)));
            }
        }
        Ok(Self { labels, fields })
    }

    /// Whether everything matches.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether the object is selected.
    pub fn matches(&self, object: &Value) -> bool {
        let labels = object::meta(object, "labels");
        self.labels.iter().all(|requirement| requirement.matches(labels))
            && self.fields.iter().all(|(path, want, equal)| (field_value(object, path) == *want) == *equal)
    }

    /// The name in a `metadata.name=` requirement, with which a list reads one object only.
    pub fn pinned_name(&self) -> Option<&str> {
        self.fields.iter().find(|(path, _, equal)| *equal && path == "metadata.name").map(|(_, want, _)| want.as_str())
    }
}

fn unparsable(part: &str) -> StatusError {
    StatusError::bad_request(format!(
        "unable to parse requirement: found '{part}', expected: an identifier, '!', or an operator (in, notin, =, ==, !=)"
    ))
}

fn split_outside_parentheses(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    })
    .map(str::trim)
}

fn requirement(part: &str) -> Option<Requirement> {
    if let Some((key, value)) = part.split_once("!=") {
        return Some(Requirement::NotIn(label_key(key)?, vec![label_value(value)?]));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Some(Requirement::In(label_key(key)?, vec![label_value(value)?]));
    }
    if let Some((head, values)) = part.strip_suffix(')').and_then(|rest| rest.split_once('(')) {
        let mut words = head.split_whitespace();
        let (key, operator) = (label_key(words.next()?)?, words.next()?);
        let values = values.split(',').map(label_value).collect::<Option<_>>()?;
        return match operator {
            "in" => Some(Requirement::In(key, values)),
            "notin" => Some(Requirement::NotIn(key, values)),
            _ => None,
        };
    }
    match part.strip_prefix('!') {
        Some(key) => Some(Requirement::Missing(label_key(key)?)),
        None => Some(Requirement::Exists(label_key(part)?)),
    }
}

fn label_key(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
    fits.then(|| text.to_owned())
}

fn label_value(text: &str) -> Option<String> {
    let text = text.trim();
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)).then(|| text.to_owned())
}

fn field(part: &str) -> Option<(String, String, bool)> {
    let part = part.trim();
    let (path, value, equal) = if let Some((path, value)) = part.split_once("!=") {
        (path, value, false)
    } else {
        let (path, value) = part.split_once("==").or_else(|| part.split_once('='))?;
        (path, value, true)
    };
    Some((path.trim().to_owned(), value.trim().to_owned(), equal))
}

fn is_indexed(kind: &str, path: &str) -> bool {
    if matches!(path, "metadata.name" | "metadata.namespace") {
        return true;
    }
    match kind {
        "Pod" => matches!(
            path,
            "spec.nodeName"
                | "spec.restartPolicy"
                | "spec.schedulerName"
                | "spec.serviceAccountName"
                | "status.phase"
                | "status.podIP"
                | "status.nominatedNodeName"
        ),
        "Namespace" => path == "status.phase",
        "Node" => path == "spec.unschedulable",
        "Secret" => path == "type",
        "ReplicaSet" => path == "status.replicas",
        "Event" => {
            matches!(path, "reason" | "type" | "reportingComponent" | "source")
                || path.starts_with("involvedObject.")
                || path.starts_with("regarding.")
        }
        _ => false,
    }
}

fn not_indexed(kind: &str, path: &str) -> String {
    let plain = matches!(
        kind,
        "ConfigMap" | "Deployment" | "HorizontalPodAutoscaler" | "Lease" | "ServiceAccount" | "StatefulSet"
    );
    if plain {
        return format!("\"{path}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"");
    }
    format!("field label not supported: {path}")
}

fn field_value(object: &Value, path: &str) -> String {
    if path == "source" {
        return text_at(object, &["source", "component"]).to_owned();
    }
    let keys: Vec<&str> = path.split('.').map(|key| if key == "regarding" { "involvedObject" } else { key }).collect();
    match object::at(object, &keys) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => match path {
            "spec.unschedulable" => "false".to_owned(),
            "spec.schedulerName" => "default-scheduler".to_owned(),
            _ => String::new(),
        },
        Some(other) => other.to_string(),
    }
}

/// A `LabelSelector` object in the query form, as in the scale subresource.
pub fn selector_text(selector: &Value) -> String {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in selector.get("matchLabels").and_then(Value::as_object).into_iter().flatten() {
        parts.insert(key.clone(), format!("{key}={}", value.as_str().unwrap_or_default()));
    }
    for expression in selector.get("matchExpressions").and_then(Value::as_array).into_iter().flatten() {
        let key = text_at(expression, &["key"]);
        let mut values: Vec<&str> = expression
            .get("values")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let text = match text_at(expression, &["operator"]) {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            _ => format!("!{key}"),
        };
        parts.insert(format!("{key} {text}"), text);
    }
    parts.into_values().collect::<Vec<_>>().join(",")
}

/// Whether a `LabelSelector` object selects an object with these labels.
pub fn selects(selector: &Value, labels: Option<&Value>) -> bool {
    let text = selector_text(selector);
    split_outside_parentheses(&text)
        .filter(|part| !part.is_empty())
        .all(|part| requirement(part).is_some_and(|requirement| requirement.matches(labels)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &str, labels: &Value) -> bool {
        Selection::parse(selector, "", "ConfigMap", &[]).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_operator_of_label_selectors_is_understood() {
        let labels = json!({"app": "web", "tier": "front"});
        for (selector, expected) in [
            ("app=web", true),
            ("app==web", true),
            ("app!=web", false),
            ("other!=x", true),
            ("app in (web, db)", true),
            ("app notin (db)", true),
            ("app notin (web)", false),
            ("tier", true),
            ("!tier", false),
            ("!x,app", true),
            ("app=web,tier in (back,front),!x", true),
            ("", true),
        ] {
            assert_eq!(matches(selector, &labels), expected, "{selector}");
        }
    }

    #[test]
    fn a_field_that_is_not_indexed_is_refused() {
        let refused = Selection::parse("", "spec.x=1", "Pod", &[]).unwrap_err();
        assert_eq!(refused.message, "field label not supported: spec.x");
        assert!(Selection::parse("", "spec.x=1", "Thing", &[".spec.x".into()]).is_ok());
    }
}
