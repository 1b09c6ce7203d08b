//! `metadata.managedFields`: the owner of a field, and the leaves in which two states differ. No I/O.

use serde_json::Value;

/// Who owns a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner<'a> {
    pub manager: &'a str,
    /// `status`, `scale` or nothing.
    pub subresource: &'a str,
}

/// Who owns the field at `path`; members of maps only, what is below an atomic list or map belongs to whom that does.
pub fn owners<'a>(object: &'a Value, path: &[&str]) -> Vec<Owner<'a>> {
    let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    let owns = |entry: &&Value| {
        let mut place = entry.get("fieldsV1");
        for (depth, key) in path.iter().enumerate() {
            let Some(inner) = place.and_then(Value::as_object) else { return false };
            match inner.get(&format!("f:{key}")) {
                Some(next) => place = Some(next),
                // The whole of what is above is owned at once. Of `status` and `spec` it is only that they are there:
                // what a manager once wrote below belongs to others by now.
                None => return depth > 1 && inner.is_empty(),
            }
        }
        place.is_some()
    };
    let text = |entry: &'a Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    let entries = entries.into_iter().flatten().filter(owns);
    entries.map(|entry| Owner { manager: text(entry, "manager"), subresource: text(entry, "subresource") }).collect()
}

/// Paths of what was set or changed between two states, down to lists and what is no map. What fell away has no path.
pub fn changed<'a>(before: Option<&Value>, after: &'a Value) -> Vec<Vec<&'a str>> {
    let mut paths = Vec::new();
    compare(before, after, &mut Vec::new(), &mut paths);
    paths
}

fn compare<'a>(before: Option<&Value>, after: &'a Value, path: &mut Vec<&'a str>, paths: &mut Vec<Vec<&'a str>>) {
    if before == Some(after) {
        return;
    }
    match after {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                if path.first() == Some(&"metadata") && path.len() == 1 && is_servers(key) {
                    continue;
                }
                path.push(key);
                compare(before.and_then(|before| before.get(key)), value, path, paths);
                path.pop();
            }
        }
        _ => paths.push(path.clone()),
    }
}

/// Metadata that the API server keeps by itself.
fn is_servers(key: &str) -> bool {
    matches!(
        key,
        "managedFields"
            | "resourceVersion"
            | "generation"
            | "creationTimestamp"
            | "uid"
            | "deletionTimestamp"
            | "deletionGracePeriodSeconds"
            | "selfLink"
            | "name"
            | "namespace"
    )
}
