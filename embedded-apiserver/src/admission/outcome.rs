//! Response of a webhook: allowed with a patch, denied, or invalid. No I/O.

use json_patch::{Patch, patch};
use serde_json::{Map, Value, json};

use super::Normalize;
use super::hook::{Hook, decode};
use super::request::Resource;

/// The request is denied.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// A `Status`; its `code` is the HTTP status.
    pub status: Value,
    /// Warnings of this and earlier webhooks.
    pub warnings: Vec<String>,
}

/// Why the request cannot continue.
pub(super) enum Failed {
    /// The call failed; the failure policy decides.
    Call(String),
    /// The request is denied.
    Refused { status: Value, warnings: Vec<String> },
}

/// A request that the webhook allows.
pub(super) struct Answer {
    pub(super) warnings: Vec<String>,
    patch: Option<Patch>,
}

impl Answer {
    /// Applies the patch; returns whether it changed the object. Errors: a Status.
    pub(super) fn apply(
        &self,
        hook: &Hook,
        object: &mut Option<Value>,
        normalize: Normalize<'_>,
    ) -> Result<bool, Value> {
        let Some(operations) = self.patch.as_ref().filter(|patch| !patch.is_empty()) else { return Ok(false) };
        let Some(object) = object else {
            return Err(internal(&format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name
            )));
        };
        let before = object.clone();
        patch(object, operations).map_err(|error| internal(&error.to_string()))?;
        if let (Some(now), Some(was)) = (object.as_object_mut(), before.get("apiVersion")) {
            now.insert("apiVersion".to_owned(), was.clone());
        }
        normalize(object);
        Ok(*object != before)
    }
}

fn status(code: u16, reason: &str, message: &str, details: Option<Value>) -> Value {
    let mut out = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    if let (Some(details), Some(members)) = (details, out.as_object_mut()) {
        members.insert("details".to_owned(), details);
    }
    out
}

/// 500, with the cause.
pub(super) fn internal(why: &str) -> Value {
    let details = json!({ "causes": [{ "message": why }] });
    status(500, "InternalError", &format!("Internal error occurred: {why}"), Some(details))
}

/// 400.
pub(super) fn bad_request(message: &str) -> Value {
    status(400, "BadRequest", message, None)
}

/// 403 for an object.
pub(super) fn forbidden(resource: &Resource, name: &str, why: &str) -> Value {
    let dot = if resource.group.is_empty() { "" } else { "." };
    let message = format!("{}{dot}{} {name:?} is forbidden: {why}", resource.resource, resource.group);
    let mut details = json!({ "name": name, "kind": resource.resource });
    if let (false, Some(members)) = (dot.is_empty(), details.as_object_mut()) {
        members.insert("group".to_owned(), resource.group.as_str().into());
    }
    status(403, "Forbidden", &message, Some(details))
}

/// 404 for an object of the core group.
pub(super) fn not_found(resource: &str, name: &str) -> Value {
    let details = json!({ "name": name, "kind": resource });
    status(404, "NotFound", &format!("{resource} {name:?} not found"), Some(details))
}

/// A denial in kube-apiserver's format: the webhook's status, with its name before the message.
fn denial(hook: &Hook, result: Option<&Value>) -> Value {
    let mut members: Map<String, Value> = result.and_then(Value::as_object).cloned().unwrap_or_default();
    let text = |key: &str| members.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let denied = format!("admission webhook {:?} denied the request", hook.name);
    let message = match (text("message"), text("reason")) {
        (Some(message), _) => format!("{denied}: {message}"),
        (None, Some(reason)) => format!("{denied}: {reason}"),
        (None, None) => format!("{denied} without explanation"),
    };
    let code = members.get("code").and_then(Value::as_i64).filter(|code| *code >= 400).unwrap_or(400);
    for (key, value) in [
        ("kind", json!("Status")),
        ("apiVersion", json!("v1")),
        ("status", json!("Failure")),
        ("message", json!(message)),
        ("code", json!(code)),
    ] {
        members.insert(key.to_owned(), value);
    }
    members.entry("metadata").or_insert_with(|| json!({}));
    Value::Object(members)
}

/// Reads the response to one review.
pub(super) fn read(hook: &Hook, uid: &str, mutating: bool, body: &Value) -> Result<Answer, Failed> {
    let invalid = |why: String| Failed::Call(format!("received invalid webhook response: {why}"));
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let response = body
        .get("response")
        .filter(|response| response.is_object())
        .ok_or_else(|| invalid("webhook response was absent".to_owned()))?;
    let given = text(response, "uid");
    if given != uid {
        return Err(invalid(format!("expected response.uid={uid:?}, got {given:?}")));
    }
    let (api_version, kind) = (text(body, "apiVersion"), text(body, "kind"));
    if api_version != "admission.k8s.io/v1" || kind != "AdmissionReview" {
        let slash = if api_version.contains('/') { "" } else { "/" };
        return Err(invalid(format!(
            "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got {slash}{api_version}, Kind={kind}"
        )));
    }
    let encoded = text(response, "patch");
    let patch_type = response.get("patchType").and_then(Value::as_str);
    check_patch(mutating, &encoded, patch_type).map_err(|why| invalid(why.to_owned()))?;
    let listed = response.get("warnings").and_then(Value::as_array).into_iter().flatten();
    let warnings: Vec<String> = listed.filter_map(Value::as_str).map(str::to_owned).collect();
    if response.get("allowed").and_then(Value::as_bool) != Some(true) {
        return Err(Failed::Refused { status: denial(hook, response.get("status")), warnings });
    }
    let patch = if encoded.is_empty() { None } else { Some(decoded(&encoded, patch_type)?) };
    Ok(Answer { warnings, patch })
}

fn check_patch(mutating: bool, encoded: &str, patch_type: Option<&str>) -> Result<(), &'static str> {
    match (mutating, encoded.is_empty(), patch_type) {
        (false, false, _) => Err("validating webhook may not return response.patch"),
        (false, true, Some(_)) => Err("validating webhook may not return response.patchType"),
        (true, false, None) => Err("webhook returned response.patch but not response.patchType"),
        (true, true, Some(_)) => Err("webhook returned response.patchType but not response.patch"),
        (true, false, Some("")) => Err("webhook returned invalid response.patchType of \"\""),
        _ => Ok(()),
    }
}

fn decoded(encoded: &str, patch_type: Option<&str>) -> Result<Patch, Failed> {
    let undecodable = |why: String| Failed::Call(format!("received undecodable patch in webhook response: {why}"));
    if let Some(other) = patch_type.filter(|type_| *type_ != "JSONPatch") {
        return Err(Failed::Call(format!("unsupported patch type {other:?}")));
    }
    let bytes = decode(encoded).ok_or_else(|| undecodable("illegal base64 data".to_owned()))?;
    serde_json::from_slice(&bytes).map_err(|error| undecodable(error.to_string()))
}
