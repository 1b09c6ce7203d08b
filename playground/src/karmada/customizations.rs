//! Karmada's webhook for ResourceInterpreterCustomizations: two for one kind must not define the same operation. No I/O
//! except the store.

use std::sync::Arc;

use serde_json::Value;

use crate::json::{name, text};
use embedded_apiserver::ApiServer;
use embedded_apiserver::Plugin;
use embedded_apiserver::admission::AdmissionRequest;
use embedded_apiserver::status::StatusError;
use embedded_apiserver::store::Query;

const BUCKET: &str = "resourceinterpretercustomizations.config.karmada.io";

/// The member of `spec.customizations` and the name of the operation; the interpretation of dependencies may be defined
/// twice.
const OPERATIONS: [(&str, &str); 6] = [
    ("retention", "Retain"),
    ("replicaResource", "InterpretReplica"),
    ("replicaRevision", "ReviseReplica"),
    ("statusReflection", "InterpretStatus"),
    ("statusAggregation", "AggregateStatus"),
    ("healthInterpretation", "InterpretHealth"),
];

/// The webhook, as part of the API server.
#[must_use]
pub fn webhook() -> Plugin {
    Arc::new(|server: &ApiServer, request: &AdmissionRequest, object: &mut Value| {
        if !request.subresource.is_empty() {
            return Ok(());
        }
        let page = server.store().list(BUCKET, &Query::default());
        let stored = page.map(|page| page.items).unwrap_or_default();
        let others = stored.iter().map(|item| item.value()).filter(|other| name(other) != name(object));
        match others.into_iter().find_map(|other| conflict(other, object)) {
            Some(why) => Err(StatusError::plain(
                403,
                "Forbidden",
                format!("admission webhook \"resourceinterpretercustomization.karmada.io\" denied the request: {why}"),
            )),
            None => Ok(()),
        }
    })
}

fn conflict(old: &Value, new: &Value) -> Option<String> {
    let about = |custom: &Value| {
        (text(custom, "/spec/target/apiVersion").to_owned(), text(custom, "/spec/target/kind").to_owned())
    };
    if about(old) != about(new) {
        return None;
    }
    let scripted =
        |custom: &Value, member: &str| !text(custom, &format!("/spec/customizations/{member}/luaScript")).is_empty();
    let (_, operation) = OPERATIONS.iter().find(|(member, _)| scripted(old, member) && scripted(new, member))?;
    Some(format!(
        "conflicting with InterpreterOperation({operation}) of existing ResourceInterpreterCustomization({})",
        name(old)
    ))
}
