//! The body of a write -> an object in the form of its kind: known fields only, with defaults. No I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Map, Value};

use super::{
    super::{
        kinds::defaults,
        object::{self, put_at, text_at},
        request::FieldValidation,
        resources::typed::dropped,
        status::StatusError,
    },
    Call,
};

/// Checks `apiVersion` and `kind`, drops unknown fields and sets defaults. Returns the warnings. Members that are as in
/// `live`, the state that is stored, have their form already.
///
/// # Errors
/// 400 for an object of another kind, for a wrong type, and for unknown fields in strict mode.
pub fn shape(
    call: &Call,
    object: &mut Value,
    live: Option<&Value>,
    validation: FieldValidation,
) -> Result<Vec<String>, StatusError> {
    declared_kind(call, object)?;
    let unchanged = live.map(|live| take_unchanged(object, live)).unwrap_or_default();
    let unknown = match call.version.normalise {
        Some(normalise) => {
            let kept = normalise(object).map_err(|error| StatusError::bad_request(cannot_handle(call, &error)))?;
            let unknown = dropped(object, &kept);
            *object = kept;
            object::as_map(object).extend(unchanged);
            drop_empty(object);
            defaults::apply(&call.resource.group, &call.version.name, &call.resource.kind, object);
            unknown
        }
        None => custom(call, object, unchanged)?,
    };
    let texts: Vec<String> = unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(texts),
        FieldValidation::Strict if texts.is_empty() => Ok(texts),
        FieldValidation::Strict => {
            let text = format!("strict decoding error: {}", texts.join(", "));
            Err(StatusError::bad_request(cannot_handle(call, &text)))
        }
    }
}

/// Takes the members out that are as they are stored; not those with a null, which the form of a kind may omit.
fn take_unchanged(object: &mut Value, live: &Value) -> Map<String, Value> {
    let Some(members) = object.as_object_mut() else { return Map::new() };
    let unchanged = |key: &str, value: &Value| live.get(key) == Some(value) && (value.is_object() && !has_null(value));
    let keys: Vec<String> =
        members.iter().filter(|(key, value)| unchanged(key, value)).map(|(key, _)| key.clone()).collect();
    keys.into_iter().filter_map(|key| members.remove_entry(&key)).collect()
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.iter().any(has_null),
        Value::Object(map) => map.values().any(has_null),
        _ => false,
    }
}

/// Go omits these members when they are empty.
fn drop_empty(object: &mut Value) {
    if let Some(members) = object.as_object_mut() {
        members.retain(|key, value| !(matches!(key.as_str(), "data" | "binaryData") && is_empty(value)));
    }
    drop_empty_metadata(object);
}

fn drop_empty_metadata(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|_, value| !is_empty(value));
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

fn cannot_handle(call: &Call, error: &str) -> String {
    let (kind, version) = (&call.resource.kind, &call.version.name);
    format!("{kind} in version \"{version}\" cannot be handled as a {kind}: {error}")
}

fn declared_kind(call: &Call, object: &mut Value) -> Result<(), StatusError> {
    if !object.is_object() {
        return Err(StatusError::bad_request("the body of the request is not an object"));
    }
    let (expected, kind) = (call.api_version(), text_at(object, &["kind"]).to_owned());
    let given = text_at(object, &["apiVersion"]).to_owned();
    if call.resource.behaviour.custom && (kind.is_empty() || given.is_empty()) {
        let missing = if kind.is_empty() { "Kind" } else { "apiVersion" };
        return Err(StatusError::bad_request(format!("Object '{missing}' is missing in '{object}'")));
    }
    if !given.is_empty() && given != expected {
        let message =
            format!("the API version in the data ({given}) does not match the expected API version ({expected})");
        return Err(StatusError::bad_request(message));
    }
    if !kind.is_empty() && kind != call.resource.kind {
        let message =
            format!("the object provided is unrecognized (must be of type {}): a {kind} was given", call.resource.kind);
        return Err(StatusError::bad_request(message));
    }
    put_at(object, &["apiVersion"], expected.into());
    put_at(object, &["kind"], call.resource.kind.clone().into());
    Ok(())
}

fn custom(call: &Call, object: &mut Value, unchanged: Map<String, Value>) -> Result<Vec<String>, StatusError> {
    let mut unknown = Vec::new();
    if let Some(given) = object.get("metadata").cloned() {
        let typed: ObjectMeta = serde_path_to_error::deserialize(&given).map_err(|error| {
            StatusError::bad_request(format!("json: cannot unmarshal metadata.{}: {}", error.path(), error.inner()))
        })?;
        let kept = serde_json::to_value(typed).map_err(StatusError::internal)?;
        unknown.extend(dropped(&given, &kept).into_iter().map(|path| format!("metadata.{path}")));
        object::restore(object, "metadata", Some(kept));
        drop_empty_metadata(object);
    }
    object::as_map(object).extend(unchanged);
    if let Some(schema) = &call.version.schema {
        unknown.extend(schema.prune(object));
        schema.default(object);
    }
    Ok(unknown)
}
