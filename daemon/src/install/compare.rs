//! Compares an object with its desired state, ignoring further fields. No I/O.

use serde_json::{Map, Value};

use crate::decision::json::same;

/// Member of a CustomResourceDefinition that fhpa owns as a whole: further content counts as a difference.
const WHOLE: &str = "openAPIV3Schema";
/// Most levels of a reported path.
const DEPTH: usize = 2;

/// Paths such as `spec.versions`, each once, where `live` lacks a field of `wanted` or has another value. List elements
/// with a `name` are matched by it.
#[must_use]
pub fn differences(wanted: &Value, live: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(wanted, live, &mut Vec::new(), &mut found);
    found.dedup();
    found
}

/// Metadata that changes by itself.
const RESTLESS: [&str; 5] = ["managedFields", "resourceVersion", "generation", "uid", "creationTimestamp"];

/// Paths where two states of one object differ, without metadata that changes by itself.
#[must_use]
pub fn changes(before: &Value, after: &Value) -> Vec<String> {
    let [before, after] = [before, after].map(settled);
    let mut found = differences(&after, &before);
    found.extend(differences(&before, &after));
    found.sort();
    found.dedup();
    found
}

fn settled(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(members) = object.as_object_mut() {
        members.remove("status");
        if let Some(metadata) = members.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| !RESTLESS.contains(&name.as_str()));
        }
    }
    object
}

fn walk(wanted: &Value, live: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            for (name, below) in wanted.iter().filter(|(_, below)| !below.is_null()) {
                path.push(name.clone());
                match live.get(name) {
                    Some(live) if name == WHOLE => {
                        if !same(below, live) {
                            found.push(shown(path));
                        }
                    }
                    Some(live) => walk(below, live, path, found),
                    None if is_empty(below) => {}
                    None => found.push(shown(path)),
                }
                path.pop();
            }
        }
        (Value::Array(wanted), Value::Array(live)) => {
            if let Some(names) = named(wanted) {
                for (element, name) in wanted.iter().zip(names) {
                    match live.iter().find(|other| other.get("name").and_then(Value::as_str) == Some(name)) {
                        Some(other) => walk(element, other, path, found),
                        None => found.push(shown(path)),
                    }
                }
            } else if wanted.len() == live.len() {
                wanted.iter().zip(live).for_each(|(wanted, live)| walk(wanted, live, path, found));
            } else {
                found.push(shown(path));
            }
        }
        (wanted, live) if same(wanted, live) => {}
        _ => found.push(shown(path)),
    }
}

fn shown(path: &[String]) -> String {
    path.iter().take(DEPTH).map(String::as_str).collect::<Vec<_>>().join(".")
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(Map::is_empty) || value.as_array().is_some_and(Vec::is_empty)
}

/// The names of the elements, when all have one.
fn named(elements: &[Value]) -> Option<Vec<&str>> {
    elements.iter().map(|element| element.get("name").and_then(Value::as_str)).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_stands_beside_is_no_difference() {
        let wanted = json!({"metadata": {"labels": {"a": "b"}}, "webhooks": [{"name": "x", "url": "u"}], "none": null});
        let live = json!({"metadata": {"labels": {"a": "b", "c": "d"}, "uid": "1"},
            "webhooks": [{"name": "y"}, {"name": "x", "url": "u", "more": {}}]});
        assert_eq!(differences(&wanted, &live), [""; 0]);
    }

    #[test]
    fn what_is_missing_or_other_is_named_by_its_path() {
        let wanted = json!({"metadata": {"labels": {"a": "b"}}, "webhooks": [{"name": "x", "url": "u"}], "rules": [1]});
        let live = json!({"metadata": {}, "webhooks": [{"name": "x", "url": "v"}], "rules": [1, 2]});
        assert_eq!(differences(&wanted, &live), ["metadata.labels", "rules", "webhooks.url"]);
    }

    #[test]
    fn a_schema_is_ours_as_a_whole() {
        let schema = |schema: Value| json!({"spec": {"versions": [{"name": "v1", "openAPIV3Schema": schema}]}});
        let (wanted, live) = (schema(json!({"a": 1})), schema(json!({"a": 1, "b": 2})));
        assert_eq!(differences(&wanted, &live), ["spec.versions"]);
        assert_eq!(differences(&wanted, &schema(json!({"a": 1.0, "c": null}))), [""; 0]);
    }

    #[test]
    fn states_are_compared_without_what_changes_by_itself() {
        let state = |version: &str, label: &str| json!({"metadata": {"resourceVersion": version, "labels": {"a": label}}, "status": {"seen": version}});
        assert_eq!(changes(&state("1", "b"), &state("2", "b")), [""; 0]);
        assert_eq!(changes(&state("1", "b"), &state("2", "c")), ["metadata.labels"]);
    }
}
