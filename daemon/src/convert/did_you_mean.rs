//! Required members that are missing while a member with a similar name exists beside them (`ruleName` for `name`).
//! Only for objects that are rejected anyway. No I/O.

use serde_json::Value;

use crate::api::crd::schema_of;
use crate::decision::finding::{Cause, Violation};
use crate::decision::suggestion::nearest;

/// Most unknown members that are compared with a missing one.
const CONSIDERED: usize = 32;

/// Adds to each violation for a missing member the unknown member that was probably meant.
pub fn explain(kind: &str, object: &Value, violations: &mut [Violation]) {
    let Some(schema) = schema_of(kind) else { return };
    let missing = |violation: &&mut Violation| matches!(violation.cause, Cause::Required);
    for violation in violations.iter_mut().filter(missing) {
        if let Some(found) = find(&violation.path, object, schema) {
            let member = violation.path.rsplit('.').next().unwrap_or_default();
            violation.detail = format!("{}; {found:?} is no field: did you mean {member:?}?", violation.detail);
        }
    }
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
