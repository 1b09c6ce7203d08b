//! A normal form for objects with the same meaning, so that fhpa's patched object and Karmada's can be compared.
//!
//! Karmada reads the object into its Go types and writes them out again; fhpa adds missing members and leaves the rest
//! unchanged. So differences without meaning are removed from both: members that the Go types do not have, `status`,
//! members with a zero value, other spellings of numbers and quantities, and members that only fhpa adds (`mode`) or
//! keeps (`tolerance`, which Karmada drops).

use serde_json::{Map, Number, Value};

/// Members of each object that Karmada's types have, by the path of the object without list indices.
fn known(path: &str) -> Option<&'static [&'static str]> {
    let target: &[&str] = &["type", "value", "averageValue", "averageUtilization"];
    let metric: &[&str] = &["name", "selector"];
    let reference: &[&str] = &["kind", "name", "apiVersion"];
    let rules: &[&str] = &["stabilizationWindowSeconds", "selectPolicy", "policies"];
    Some(match path {
        "" => &["apiVersion", "kind", "metadata", "spec"],
        "spec" => &["scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior"],
        "spec.scaleTargetRef" | "spec.metrics.object.describedObject" => reference,
        "spec.metrics" => &["type", "resource", "containerResource", "pods", "object", "external"],
        "spec.metrics.resource" => &["name", "target"],
        "spec.metrics.containerResource" => &["name", "container", "target"],
        "spec.metrics.pods" | "spec.metrics.external" => &["metric", "target"],
        "spec.metrics.object" => &["describedObject", "metric", "target"],
        "spec.behavior" => &["scaleUp", "scaleDown"],
        "spec.behavior.scaleUp" | "spec.behavior.scaleDown" => rules,
        "spec.behavior.scaleUp.policies" | "spec.behavior.scaleDown.policies" => &["type", "value", "periodSeconds"],
        "metadata" => &[
            "name",
            "generateName",
            "namespace",
            "uid",
            "selfLink",
            "resourceVersion",
            "generation",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
            "labels",
            "annotations",
            "ownerReferences",
            "finalizers",
            "managedFields",
        ],
        "metadata.ownerReferences" => &["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"],
        _ if path.ends_with(".target") => target,
        _ if path.ends_with(".metric") => metric,
        _ if path.ends_with(".selector") => &["matchLabels", "matchExpressions"],
        _ if path.ends_with(".matchExpressions") => &["key", "operator", "values"],
        _ => return None,
    })
}

/// The normal form of a FederatedHPA.
pub fn object(value: Value) -> Value {
    normal(value, "")
}

fn normal(value: Value, path: &str) -> Value {
    match value {
        Value::Object(members) => Value::Object(self::members(members, path)),
        Value::Array(elements) => Value::Array(elements.into_iter().map(|element| element_of(element, path)).collect()),
        Value::Number(number) => scalar(&number.to_string(), path),
        Value::String(text) => scalar(&text, path),
        other => other,
    }
}

/// An element keeps its place even when it says nothing.
fn element_of(element: Value, path: &str) -> Value {
    match element {
        Value::Null => Value::Object(Map::new()),
        element => normal(element, path),
    }
}

fn members(members: Map<String, Value>, path: &str) -> Map<String, Value> {
    let known = known(path);
    let is_map = ["labels", "annotations", "matchLabels"].iter().any(|map| path.ends_with(map));
    let normal = |(name, value): (String, Value)| {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        // A map keeps its empty values, in every spelling of them.
        let value = match value {
            Value::Null if is_map => Value::String(String::new()),
            value => normal(value, &inner),
        };
        (name, value)
    };
    members
        .into_iter()
        .filter(|(name, _)| known.is_none_or(|known| known.contains(&name.as_str())))
        .map(normal)
        .filter(|(name, value)| is_map || !is_zero(value, name))
        .collect()
}

/// Whether Go leaves the value out, or writes it for nothing.
fn is_zero(value: &Value, name: &str) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        // What says something by being there: a source of a metric, a selector, a direction of the behavior.
        Value::Object(members) => {
            members.is_empty()
                && !["resource", "containerResource", "pods", "object", "selector", "scaleUp", "scaleDown", "behavior"]
                    .contains(&name)
        }
        Value::Number(number) => {
            number.as_i64() == Some(0) && ["maxReplicas", "value", "periodSeconds", "generation"].contains(&name)
        }
        Value::Bool(_) => false,
    }
}

/// Quantities and times in one spelling.
fn scalar(text: &str, path: &str) -> Value {
    let name = path.rsplit('.').next().unwrap_or_default();
    let is_quantity = name == "averageValue" || (name == "value" && path.ends_with(".target.value"));
    if is_quantity {
        return Value::String(quantity(text));
    }
    if (name.ends_with("Timestamp") || path.ends_with("managedFields.time"))
        && let Ok(time) = text.parse::<jiff::Timestamp>()
    {
        return Value::Number(time.as_second().into());
    }
    match text.parse::<Number>() {
        Ok(number) if !path.contains("metadata.labels") && !path.contains("metadata.annotations") => {
            Value::Number(number)
        }
        _ => Value::String(text.to_owned()),
    }
}

/// A quantity as digits and a power of ten, rounded away from zero to 1n as Kubernetes does.
fn quantity(text: &str) -> String {
    value_of(text).map_or_else(|| text.to_owned(), |(digits, exponent)| format!("{digits}e{exponent}"))
}

fn value_of(text: &str) -> Option<(i128, i64)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let mut exponent = -i64::try_from(fraction.len()).ok()?;
    match suffix {
        "Ki" | "Mi" | "Gi" | "Ti" | "Pi" | "Ei" => {
            let power = "KMGTPE".find(&suffix[..1])? as u32 + 1;
            // Kubernetes cuts these, and only these, at the largest 64-bit integer.
            digits = digits.checked_mul(1024_i128.pow(power))?.min(i64::MAX.into());
        }
        "" => {}
        _ => match "num kMGTPE".find(suffix) {
            Some(power) => exponent += (power as i64 - 3) * 3,
            None => exponent += suffix[1..].parse::<i64>().ok()?,
        },
    }
    if digits == 0 {
        return Some((0, 0));
    }
    while exponent < -9 {
        digits = digits / 10 + (digits % 10).signum();
        exponent += 1;
    }
    while digits % 10 == 0 {
        digits /= 10;
        exponent += 1;
    }
    Some((digits, exponent))
}
