//! An object -> its form after the structural schema of the API server: pruned, defaulted, checked. No I/O.
//!
//! Covers the features that the CRDs of this project use. CEL rules and metadata are ignored.
//!
//! It is a second reading beside `embedded_apiserver::schema` and shares no code with it: the crate `jsonschema` checks
//! values. These tests also run without the feature `playground`, which brings the embedded API server, and a fault of
//! that server does not hide one of the CRDs.

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value, json};

/// The schema of one version of a CRD, ready to check objects.
#[derive(Debug)]
pub struct Structural {
    schema: Value,
    values: jsonschema::Validator,
}

/// What the schema says against an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where, in Kubernetes' style.
    pub path: String,
    /// The keyword of the schema that is broken: `required`, `type`, `enum`, `x-kubernetes-list-type` ...
    pub keyword: String,
    /// One sentence.
    pub message: String,
}

impl Fault {
    /// Whether the API server stops here and leaves the CEL rules aside.
    pub fn stops(&self) -> bool {
        matches!(
            self.keyword.as_str(),
            "required" | "type" | "anyOf" | "enum" | "maxLength" | "maxItems" | "maxProperties"
        )
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl Structural {
    /// Reads `schema`, the `openAPIV3Schema` of a CRD version.
    ///
    /// # Errors
    /// What is wrong with the schema, as text.
    pub fn new(schema: &Value) -> Result<Self, String> {
        let values = jsonschema::draft202012::options()
            .should_validate_formats(true)
            .build(&draft_2020_12(schema))
            .map_err(|error| error.to_string())?;
        Ok(Self { schema: schema.clone(), values })
    }

    /// Drops members the schema does not know and nulls it does not allow, then adds its defaults.
    pub fn complete(&self, object: &mut Value) {
        // The API server knows these three without a schema.
        let own = object.as_object().map(|members| {
            ["apiVersion", "kind", "metadata"]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), members.get(name)?.clone())))
        });
        let own: Map<String, Value> = own.into_iter().flatten().collect();
        prune(object, &self.schema);
        default(object, &self.schema);
        if let Some(members) = object.as_object_mut() {
            members.extend(own);
        }
    }

    /// All that is wrong with `object`, which was [completed](Self::complete) before.
    pub fn check(&self, object: &Value) -> Vec<Fault> {
        let mut faults: Vec<Fault> = self.values.iter_errors(object).map(|error| fault(&error)).collect();
        duplicates(object, &self.schema, &mut String::new(), &mut faults);
        faults
    }
}

fn members(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// The schema of the member `name`, `None` where the schema does not know it.
fn member<'a>(schema: &'a Value, name: &str) -> Option<&'a Value> {
    members(schema).and_then(|members| members.get(name)).or_else(|| schema.get("additionalProperties"))
}

fn is_true(schema: &Value, keyword: &str) -> bool {
    schema.get(keyword).and_then(Value::as_bool).unwrap_or_default()
}

fn prune(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) if !is_true(schema, "x-kubernetes-preserve-unknown-fields") => {
            object.retain(|name, value| {
                member(schema, name).is_some_and(|schema| {
                    !value.is_null() || is_true(schema, "nullable") || schema.get("default").is_some()
                })
            });
            for (name, value) in object {
                if let Some(schema) = member(schema, name) {
                    prune(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    prune(item, schema);
                }
            }
        }
        _ => {}
    }
}

fn default(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => {
            for (name, schema) in members(schema).into_iter().flatten() {
                let absent = object.get(name).is_none_or(|value| value.is_null() && !is_true(schema, "nullable"));
                if let Some(default) = schema.get("default").filter(|_| absent) {
                    object.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in object {
                if let Some(schema) = member(schema, name) {
                    default(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    default(item, schema);
                }
            }
        }
        _ => {}
    }
}

/// Adds a fault for each element of a list map whose keys an earlier one has.
fn duplicates(value: &Value, schema: &Value, path: &mut String, faults: &mut Vec<Fault>) {
    let end = path.len();
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if let Some(schema) = member(schema, name) {
                    push_member(path, name);
                    duplicates(value, schema, path, faults);
                    path.truncate(end);
                }
            }
        }
        Value::Array(items) => {
            let mut seen = std::collections::BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                push_index(path, &index.to_string());
                if let Some(key) = key_of(item, schema)
                    && !seen.insert(key.clone())
                {
                    let message = format!("Duplicate value: {key}");
                    faults.push(Fault { path: path.clone(), keyword: "x-kubernetes-list-type".into(), message });
                }
                if let Some(schema) = schema.get("items") {
                    duplicates(item, schema, path, faults);
                }
                path.truncate(end);
            }
        }
        _ => {}
    }
}

/// What must be unique in a list, as JSON text: the keys of a map, the element of a set.
fn key_of(item: &Value, schema: &Value) -> Option<String> {
    match schema.get("x-kubernetes-list-type")?.as_str()? {
        "set" => Some(item.to_string()),
        "map" => {
            let names = schema.get("x-kubernetes-list-map-keys")?.as_array()?.iter().filter_map(Value::as_str);
            let keys: Map<String, Value> =
                names.map(|name| (name.to_owned(), item.get(name).cloned().unwrap_or_default())).collect();
            Some(Value::Object(keys).to_string())
        }
        _ => None,
    }
}

fn fault(error: &jsonschema::ValidationError<'_>) -> Fault {
    let mut path = String::new();
    for step in error.instance_path().as_str().split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        if step.parse::<usize>().is_ok() {
            push_index(&mut path, &step);
        } else {
            push_member(&mut path, &step);
        }
    }
    let keyword = error.kind().keyword().to_owned();
    if let ValidationErrorKind::Required { property } = error.kind() {
        push_member(&mut path, property.as_str().unwrap_or_default());
        return Fault { path, keyword, message: "Required value".to_owned() };
    }
    Fault { path, keyword, message: error.to_string() }
}

fn push_member(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

fn push_index(path: &mut String, index: &str) {
    path.push('[');
    path.push_str(index);
    path.push(']');
}

/// `schema` in the words of JSON Schema 2020-12, which knows neither `nullable` nor `int32`.
fn draft_2020_12(schema: &Value) -> Value {
    let Some(keywords) = schema.as_object() else { return schema.clone() };
    let mut to = Map::new();
    for (keyword, value) in keywords {
        let value = match keyword.as_str() {
            "properties" => Value::Object(
                value.as_object().into_iter().flatten().map(|(name, s)| (name.clone(), draft_2020_12(s))).collect(),
            ),
            "items" | "additionalProperties" => draft_2020_12(value),
            "type" if is_true(schema, "nullable") => json!([value, "null"]),
            "exclusiveMinimum" | "exclusiveMaximum" | "nullable" | "default" => continue,
            "minimum" if is_true(schema, "exclusiveMinimum") => {
                to.insert("exclusiveMinimum".into(), value.clone());
                continue;
            }
            "maximum" if is_true(schema, "exclusiveMaximum") => {
                to.insert("exclusiveMaximum".into(), value.clone());
                continue;
            }
            _ => value.clone(),
        };
        to.insert(keyword.clone(), value);
    }
    let range = match keywords.get("format").and_then(Value::as_str) {
        Some("int32") => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Some("int64") => Some((i64::MIN, i64::MAX)),
        _ => None,
    };
    if let Some((least, most)) = range {
        to.remove("format");
        to.entry("minimum").or_insert(json!(least));
        to.entry("maximum").or_insert(json!(most));
    }
    Value::Object(to)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Structural;

    fn structural() -> Structural {
        Structural::new(&json!({
            "type": "object",
            "required": ["spec"],
            "properties": {"spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "format": "int32"},
                    "share": {"type": "number", "minimum": 0, "exclusiveMinimum": true},
                    "port": {"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                    "note": {"type": "string", "nullable": true},
                    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                    "rules": {
                        "type": "array",
                        "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {
                            "name": {"type": "string"},
                            "limit": {"type": "integer", "default": 3},
                        }},
                    },
                },
            }},
        }))
        .unwrap()
    }

    fn faults(mut object: Value) -> Vec<String> {
        let structural = structural();
        structural.complete(&mut object);
        structural.check(&object).into_iter().map(|fault| format!("{} {}", fault.path, fault.keyword)).collect()
    }

    #[test]
    fn unknown_members_and_nulls_are_dropped_and_defaults_are_added() {
        let mut object = json!({
            "kind": "Sample", "metadata": {"name": "a"}, "other": 1,
            "spec": {"size": null, "note": null, "odd": {}, "labels": {"a": "b", "c": null},
                     "rules": [{"name": "x", "limit": null, "odd": 1}, {"name": "y", "limit": 0}]},
        });
        structural().complete(&mut object);
        let completed = json!({
            "kind": "Sample", "metadata": {"name": "a"},
            "spec": {"note": null, "labels": {"a": "b"}, "rules": [{"name": "x", "limit": 3}, {"name": "y", "limit": 0}]},
        });
        assert_eq!(object, completed);
    }

    #[test]
    fn faults_stand_where_kubernetes_puts_them() {
        assert_eq!(faults(json!({"spec": {"size": 1, "share": 0.5, "port": "http"}})), [""; 0]);
        assert_eq!(faults(json!({})), ["spec required"]);
        assert_eq!(faults(json!({"spec": {"size": 2_147_483_648_i64}})), ["spec.size maximum"]);
        assert_eq!(faults(json!({"spec": {"share": 0}})), ["spec.share exclusiveMinimum"]);
        assert_eq!(faults(json!({"spec": {"port": 1.5}})), ["spec.port anyOf"]);
        assert_eq!(faults(json!({"spec": {"rules": [{}]}})), ["spec.rules[0].name required"]);
        assert_eq!(
            faults(json!({"spec": {"rules": [{"name": "a"}, {"name": "b"}, {"name": "a"}]}})),
            ["spec.rules[2] x-kubernetes-list-type"]
        );
    }
}
