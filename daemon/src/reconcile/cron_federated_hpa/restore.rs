//! The write that restores lost fields of a CronFederatedHPA (docs/design.md#law-10-act-only-on-whole-objects). Talks to
//! the API server.

use kube::Client;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::crd_fields::FieldState;
use super::entry::Entry;
use crate::controller::failure::WriteError;
use crate::controller::key::Key;
use crate::controller::managers;
use crate::runtime::leader::Leader;

/// Restores the object.
///
/// # Errors
/// When this process no longer leads, the object changed or is gone, or the API server rejects the request or is
/// unreachable.
pub async fn make_whole(client: &Client, leader: &Leader, key: &Key, entry: &Entry) -> Result<(), WriteError> {
    let operations = entry.fields.operations();
    let own = entry.own(key);
    // Rules are identified by index, which is valid for this version only.
    let annotations = json!({"op": "add", "path": "/metadata/annotations", "value": {}});
    let needed = !entry.annotated && matches!(entry.fields, FieldState::NeedsCopy(_));
    let all: Vec<Value> =
        [own.is_unchanged()].into_iter().chain(needed.then_some(annotations)).chain(operations).collect();
    own.json_patch::<IgnoredAny>(client, leader, None, managers::MIRROR, &json!(all)).await?;
    Ok(())
}
