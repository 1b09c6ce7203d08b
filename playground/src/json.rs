//! Reads and sets members of an object by path. No I/O.

use serde_json::{Map, Value, json};

/// The value at `path`, a JSON pointer. As [`Value::pointer`], which copies each part of the path.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    if path.contains('~') {
        return object.pointer(path);
    }
    path.split('/').skip(1).try_fold(object, |place, key| match place {
        Value::Object(map) => map.get(key),
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        _ => None,
    })
}

/// The text at `path`, a JSON pointer; empty when there is none.
#[must_use]
pub fn text<'a>(object: &'a Value, path: &str) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The whole number at `path`.
#[must_use]
pub fn int(object: &Value, path: &str) -> Option<i64> {
    at(object, path).and_then(Value::as_i64)
}

/// The number at `path`, such as replicas.
#[must_use]
pub fn count(object: &Value, path: &str) -> Option<i32> {
    int(object, path).and_then(|value| i32::try_from(value).ok())
}

/// Whether `path` is true.
#[must_use]
pub fn truth(object: &Value, path: &str) -> bool {
    at(object, path) == Some(&Value::Bool(true))
}

/// The elements at `path`; none when it is not a list.
#[must_use]
pub fn items<'a>(object: &'a Value, path: &str) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The members at `path`; none when it is not a map.
pub fn members<'a>(object: &'a Value, path: &str) -> impl Iterator<Item = (&'a str, &'a Value)> {
    at(object, path).and_then(Value::as_object).into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

/// The value of a label.
#[must_use]
pub fn label<'a>(object: &'a Value, key: &str) -> &'a str {
    at(object, "/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// The value of an annotation.
#[must_use]
pub fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    let annotations = at(object, "/metadata/annotations");
    annotations.and_then(|annotations| annotations.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.name`.
#[must_use]
pub fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

/// `metadata.namespace`.
#[must_use]
pub fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

/// Whether the object is being deleted.
#[must_use]
pub fn deleting(object: &Value) -> bool {
    at(object, "/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Sets the member at the path `keys`, and creates missing maps.
pub fn set(object: &mut Value, keys: &[&str], value: Value) {
    let Some((last, path)) = keys.split_last() else { return };
    let mut place = object;
    for key in path {
        let Some(map) = as_map(place) else { return };
        place = map.entry(*key).or_insert_with(|| json!({}));
    }
    if let Some(map) = as_map(place) {
        map.insert((*last).to_owned(), value);
    }
}

/// Removes the member at the path `keys`.
pub fn remove(object: &mut Value, keys: &[&str]) {
    let Some((last, path)) = keys.split_last() else { return };
    let mut place = object;
    for key in path {
        let Some(next) = place.get_mut(*key) else { return };
        place = next;
    }
    if let Some(map) = place.as_object_mut() {
        map.remove(*last);
    }
}

/// The value as a map; anything else becomes an empty one.
fn as_map(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// Whether `whole` contains all of `part`: lists element by element, maps member by member. A null in `part` matches
/// everything.
#[must_use]
pub fn covers(whole: &Value, part: &Value) -> bool {
    match (whole, part) {
        (_, Value::Null) => true,
        (Value::Object(whole), Value::Object(part)) => part.iter().all(|(key, value)| match whole.get(key) {
            Some(found) => covers(found, value),
            None => says_nothing(value),
        }),
        (Value::Array(whole), Value::Array(part)) => {
            whole.len() == part.len() && whole.iter().zip(part).all(|(whole, part)| covers(whole, part))
        }
        (whole, part) => whole == part,
    }
}

/// Whether a Go component omits the value when it writes the object back.
fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.values().all(says_nothing),
        Value::Array(list) => list.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
    }
}

/// A condition of `conditions` by its type.
#[must_use]
pub fn condition<'a>(object: &'a Value, path: &str, kind: &str) -> Option<&'a Value> {
    items(object, path).iter().find(|condition| text(condition, "/type") == kind)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{at, covers, remove, set, text};

    #[test]
    fn a_value_is_found_as_by_a_pointer() {
        let object = json!({"a": {"b": [1, {"c": true}], "d/e": null}, "": 2});
        for path in ["", "/", "/a", "/a/b", "/a/b/0", "/a/b/1/c", "/a/b/2", "/a/b/x", "/a/d~1e", "/a/b/0/c", "/x/y"] {
            assert_eq!(at(&object, path), object.pointer(path), "{path}");
        }
    }

    #[test]
    fn members_are_set_where_there_were_none() {
        let mut object = json!({"spec": null});
        set(&mut object, &["spec", "a", "b"], json!("c"));
        assert_eq!(text(&object, "/spec/a/b"), "c");
        remove(&mut object, &["spec", "a", "b"]);
        remove(&mut object, &["spec", "nothing", "b"]);
        assert_eq!(object, json!({"spec": {"a": {}}}));
    }

    #[test]
    fn a_defaulted_object_covers_what_was_applied() {
        let live = json!({"spec": {"replicas": 1, "list": [{"name": "a", "policy": "Always"}]}});
        assert!(covers(&live, &json!({"spec": {"list": [{"name": "a", "x": {}}], "gone": null}})));
        assert!(!covers(&live, &json!({"spec": {"replicas": 2}})));
        assert!(!covers(&live, &json!({"spec": {"list": []}})));
    }
}
