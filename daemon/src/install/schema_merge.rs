//! fhpa's CustomResourceDefinition plus all fields that only the stored one has, so that no stored field is ever
//! dropped. No I/O.

use serde_json::{Map, Value};

/// The stored definition cannot be replaced.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name} is stored as version {version}, which this fhpa does not know: install a newer fhpa, which does, or go back to \
     the Karmada before"
)]
pub struct UnsupportedStorageVersion {
    name: String,
    version: String,
}

/// `ours` plus the fields and versions that only `live` has.
///
/// # Errors
/// When objects are stored in another version.
pub fn merge(ours: &Value, live: &Value) -> Result<Value, UnsupportedStorageVersion> {
    let mut wanted = ours.clone();
    let text =
        |value: &Value, pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let Some(versions) = wanted.pointer_mut("/spec/versions").and_then(Value::as_array_mut) else { return Ok(wanted) };
    for version in live.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
        let name = text(version, "/name");
        if let Some(known) = versions.iter_mut().find(|known| text(known, "/name") == name) {
            let schema = "/schema/openAPIV3Schema";
            if let (Some(ours), Some(theirs)) = (known.pointer_mut(schema), version.pointer(schema)) {
                graft(ours, theirs);
            }
        } else if version.get("storage") == Some(&Value::Bool(true)) {
            return Err(UnsupportedStorageVersion { name: text(live, "/metadata/name"), version: name });
        } else {
            versions.push(version.clone());
        }
    }
    Ok(wanted)
}

/// Marks that unknown members are kept.
const UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// Adds to the schema `ours` the members that only `theirs` has.
fn graft(ours: &mut Value, theirs: &Value) {
    let (Some(ours), Some(theirs)) = (ours.as_object_mut(), theirs.as_object()) else { return };
    if let Some(kept) = theirs.get(UNKNOWN).filter(|_| !ours.contains_key(UNKNOWN)) {
        ours.insert(UNKNOWN.to_owned(), kept.clone());
    }
    if let Some(theirs) = theirs.get("properties").and_then(Value::as_object)
        && !ours.contains_key("additionalProperties")
    {
        let properties = ours.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        if let Some(properties) = properties.as_object_mut() {
            for (name, member) in theirs {
                match properties.get_mut(name) {
                    Some(known) => graft(known, member),
                    None => {
                        properties.insert(name.clone(), member.clone());
                    }
                }
            }
        }
    }
    for below in ["items", "additionalProperties"] {
        if let (Some(ours), Some(theirs)) = (ours.get_mut(below), theirs.get(below)) {
            graft(ours, theirs);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(version: &str, storage: bool, schema: &Value) -> Value {
        json!({"metadata": {"name": "things.example.com"}, "spec": {"versions": [
            {"name": version, "storage": storage, "schema": {"openAPIV3Schema": schema}}]}})
    }

    #[test]
    fn fields_that_only_the_stored_one_knows_stay() {
        let ours = definition(
            "v1",
            true,
            &json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}}}}}}),
        );
        let live = definition(
            "v1",
            true,
            &json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean"}}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "integer"}}}}}}),
        );
        let wanted = merge(&ours, &live).unwrap();
        let schema = &wanted["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
        assert_eq!(
            schema["spec"]["properties"],
            json!({"a": {"type": "string", "maxLength": 3}, "b": {"type": "boolean"}})
        );
        assert_eq!(schema["list"]["items"]["properties"], json!({"x": {"type": "integer"}, "y": {"type": "integer"}}));
        assert_eq!(merge(&ours, &wanted).unwrap(), wanted, "a second time changes nothing");
    }

    #[test]
    fn another_version_stays_and_one_that_objects_are_stored_as_is_no_case_for_us() {
        let ours = definition("v1", true, &json!({}));
        let wanted = merge(&ours, &definition("v2", false, &json!({}))).unwrap();
        assert_eq!(wanted["spec"]["versions"][1]["name"], "v2");
        let refused = merge(&ours, &definition("v2", true, &json!({}))).unwrap_err().to_string();
        assert!(refused.contains("things.example.com is stored as version v2"), "{refused}");
    }
}
