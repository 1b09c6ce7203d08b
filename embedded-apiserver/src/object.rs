//! Reads and writes the metadata of objects in JSON form. No I/O.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::{Map, Value, json};

/// One version of one object in the store. Immutable; a write creates a new one.
#[derive(Debug)]
pub struct Object {
    value: Value,
    version: u64,
    json: OnceLock<Bytes>,
    unmanaged: OnceLock<Arc<Value>>,
}

impl Object {
    /// An object at a resource version that is written into its metadata.
    pub fn new(mut value: Value, version: u64) -> Self {
        set_meta(&mut value, "resourceVersion", Value::String(version.to_string()));
        Self { value, version, json: OnceLock::new(), unmanaged: OnceLock::new() }
    }

    /// The object.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// The resource version of this state.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The object as JSON; encoded once, then shared by all responses and watches.
    pub fn json(&self) -> Bytes {
        self.json.get_or_init(|| serde_json::to_vec(&self.value).unwrap_or_default().into()).clone()
    }

    /// The object without `managedFields`; copied once, then shared.
    pub fn unmanaged(&self) -> Arc<Value> {
        self.unmanaged.get_or_init(|| Arc::new(unmanaged(&self.value))).clone()
    }
}

/// `metadata`, if it exists.
pub fn metadata(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.as_object()
}

/// `metadata`, mutable; created where it is missing.
pub fn metadata_mut(object: &mut Value) -> &mut Map<String, Value> {
    member_mut(object, "metadata")
}

/// The map below a key; created where it is missing or not a map.
pub fn member_mut<'a>(object: &'a mut Value, key: &str) -> &'a mut Map<String, Value> {
    let slot = as_map(object).entry(key).or_insert(Value::Null);
    as_map(slot)
}

/// The value as a map; replaced by an empty one where it is not a map.
pub fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    loop {
        match value {
            Value::Object(map) => return map,
            _ => *value = Value::Object(Map::new()),
        }
    }
}

/// A copy without `managedFields`, which are most of many objects.
pub(crate) fn unmanaged(object: &Value) -> Value {
    let Some(map) = object.as_object() else { return object.clone() };
    let copy = |(key, value): (&String, &Value)| {
        let metadata = value.as_object().filter(|_| key == "metadata");
        let value = metadata.map_or_else(
            || value.clone(),
            |metadata| {
                let kept = metadata.iter().filter(|(key, _)| *key != "managedFields");
                Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
            },
        );
        (key.clone(), value)
    };
    Value::Object(map.iter().map(copy).collect())
}

/// A field of `metadata`.
pub fn meta<'a>(object: &'a Value, key: &str) -> Option<&'a Value> {
    object.get("metadata")?.get(key)
}

/// A text field of `metadata`; empty where it is missing.
pub fn meta_str<'a>(object: &'a Value, key: &str) -> &'a str {
    meta(object, key).and_then(Value::as_str).unwrap_or_default()
}

/// Sets a field of `metadata`; null removes it.
pub fn set_meta(object: &mut Value, key: &str, value: Value) {
    let map = metadata_mut(object);
    if value.is_null() {
        map.remove(key);
    } else {
        map.insert(key.to_owned(), value);
    }
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    meta_str(object, "name")
}

/// `metadata.namespace`; empty for cluster-scoped objects.
pub fn namespace(object: &Value) -> &str {
    meta_str(object, "namespace")
}

/// `metadata.uid`.
pub fn uid(object: &Value) -> &str {
    meta_str(object, "uid")
}

/// `metadata.generation`; 0 for kinds that have none.
pub fn generation(object: &Value) -> i64 {
    meta(object, "generation").and_then(Value::as_i64).unwrap_or_default()
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> impl Iterator<Item = &str> {
    meta(object, "finalizers").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether the object waits for its finalizers or its kubelet.
pub fn is_terminating(object: &Value) -> bool {
    meta(object, "deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Adds or removes a finalizer.
pub fn set_finalizer(object: &mut Value, finalizer: &str, present: bool) {
    let mut list: Vec<Value> =
        finalizers(object).filter(|name| *name != finalizer).map(|name| Value::String(name.to_owned())).collect();
    if present {
        list.push(Value::String(finalizer.to_owned()));
    }
    set_meta(object, "finalizers", if list.is_empty() { Value::Null } else { Value::Array(list) });
}

/// `metadata.ownerReferences`.
pub fn owners(object: &Value) -> &[Value] {
    meta(object, "ownerReferences").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A value at a path of map keys.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(*key))
}

/// Text at a path of map keys; empty where it is missing.
pub fn text_at<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// Sets a value at a path of map keys, and creates missing maps.
pub fn put_at(object: &mut Value, path: &[&str], value: Value) {
    if let Some((last, way)) = path.split_last() {
        let mut current = object;
        for key in way {
            current = as_map(current).entry(*key).or_insert(Value::Null);
        }
        as_map(current).insert((*last).to_owned(), value);
    }
}

/// Removes a field from the top level.
pub fn remove(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut()?.remove(key)
}

/// Sets a field of the top level; `None` removes it.
pub fn restore(object: &mut Value, key: &str, value: Option<Value>) {
    match value {
        Some(value) => {
            as_map(object).insert(key.to_owned(), value);
        }
        None => {
            remove(object, key);
        }
    }
}

/// Only the metadata of an object.
pub fn partial(object: &Value, kind: &str) -> Value {
    json!({"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": object.get("metadata")})
}
