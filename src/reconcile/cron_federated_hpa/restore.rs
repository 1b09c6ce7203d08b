//! The write that restores lost fields of a CronFederatedHPA (docs/design.md#law-10-act-only-on-whole-objects). Talks to
//! the API server.

use http::header::{CONTENT_TYPE, HeaderValue};
use kube::Client;
use kube::api::{Patch, PatchParams};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::entry::Entry;
use super::whole::Wholeness;
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
    let operations = entry.wholeness.operations();
    let own = entry.own(key);
    // Rules are identified by index, which is valid for this version only.
    let version = json!({"op": "replace", "path": "/metadata/resourceVersion", "value": own.version});
    let annotations = json!({"op": "add", "path": "/metadata/annotations", "value": {}});
    let needed = !entry.annotated && matches!(entry.wholeness, Wholeness::Uncopied(_));
    let all: Vec<Value> = [version].into_iter().chain(needed.then_some(annotations)).chain(operations).collect();
    let parameters = PatchParams { field_manager: Some(managers::MIRROR.to_owned()), ..PatchParams::default() };
    let request = own.requests().patch(&key.name, &parameters, &Patch::Merge(&all)).map(|mut request| {
        // An array of operations is not a merge patch.
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json-patch+json"));
        request
    });
    own.patch::<IgnoredAny>(client, leader, None, request).await?;
    Ok(())
}
