//! Required members that are missing while a member with a similar name exists beside them (`ruleName` for `name`).
//! Only for objects that are rejected anyway. No I/O.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::api::crd;
use crate::decision::finding::{Cause, Violation};
use crate::decision::suggestion::nearest;

/// Larger objects get no suggestions, in bytes: the object is read as a tree, which takes a multiple of its size.
const LARGEST: usize = 128 * 1024;
/// Most unknown members that are compared with a missing one.
const CONSIDERED: usize = 32;

/// The schema of objects of `kind`.
fn schema(kind: &str) -> Option<&'static Value> {
    let mut all = crd::all().ok()?.iter();
    let crd = all.find(|crd| crd.pointer("/spec/names/kind").and_then(Value::as_str) == Some(kind))?;
    crd::schema(crd)
}

/// Adds to each violation for a missing member the unknown member that was probably meant.
pub fn explain(kind: &str, json: &str, violations: &mut [Violation]) {
    let missing = |violation: &Violation| matches!(violation.cause, Cause::Required);
    if json.len() > LARGEST || !violations.iter().any(missing) {
        return;
    }
    let places: Vec<&str> = violations.iter().filter(|one| missing(one)).map(|one| one.path.as_str()).collect();
    let (Some(schema), Some(object)) = (schema(kind), tree(json, &places)) else { return };
    for violation in violations.iter_mut().filter(|violation| missing(violation)) {
        if let Some(found) = find(&violation.path, &object, schema) {
            let member = violation.path.rsplit('.').next().unwrap_or_default();
            violation.detail = format!("{}; {found:?} is no field: did you mean {member:?}?", violation.detail);
        }
    }
}

/// The object as a tree, without the inside of members in which none of `places` is: most of a text is metadata.
fn tree(json: &str, places: &[&str]) -> Option<Value> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).ok()?;
    let member = |(name, text): (Cow<'_, str>, &RawValue)| {
        let within = |place: &&str| place.strip_prefix(&*name).is_some_and(|rest| rest.starts_with(['.', '[']));
        let value = if places.iter().any(within) { serde_json::from_str(text.get()).ok()? } else { Value::Null };
        Some((name.into_owned(), value))
    };
    members.into_iter().map(member).collect()
}

/// The unknown member beside the missing one at `path` with the most similar name.
fn find(path: &str, object: &Value, schema: &Value) -> Option<String> {
    let (parent, member) = path.rsplit_once('.').unwrap_or(("", path));
    let (mut object, mut schema) = (object, schema);
    for step in parent.split('.').filter(|step| !step.is_empty()) {
        let (name, indices) = step.split_once('[').unwrap_or((step, ""));
        object = object.get(name)?;
        schema = schema.pointer("/properties")?.get(name)?;
        for index in indices.split(['[', ']']).filter(|index| !index.is_empty()) {
            object = object.get(index.parse::<usize>().ok()?)?;
            schema = schema.get("items")?;
        }
    }
    let known = schema.get("properties")?.as_object()?;
    let unknown = object.as_object()?.keys().filter(|key| !known.contains_key(*key));
    nearest(member, unknown.take(CONSIDERED).map(String::as_str)).map(str::to_owned)
}
