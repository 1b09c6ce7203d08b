//! Migration from client-side to server-side apply: the annotation in which `kubectl` stores its last configuration. No
//! I/O.

use serde_json::Value;

use super::compare::{compare, field_set};
use super::kinds::ListKinds;
use super::managed::without_entries;
use super::set::Set;

/// The only manager that is migrated.
pub(super) const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str().filter(|text| !text.is_empty())
}

/// The fields that belong to this manager according to the annotation.
pub(super) fn allowed(kinds: &ListKinds, live: &Value, api_version: &str) -> Option<Set> {
    let last: Value = serde_json::from_str(annotation(live)?).ok()?;
    if last.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    let found = compare(kinds, &last, &without_entries(live));
    let owned = field_set(kinds, &last);
    Some(owned.difference(&found.modified).difference(&found.added).difference(&found.removed))
}

/// Updates the annotation, if it exists.
pub(super) fn refresh(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.remove(ANNOTATION);
    }
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.insert(ANNOTATION.to_owned(), Value::String(format!("{config}\n")));
    }
}
