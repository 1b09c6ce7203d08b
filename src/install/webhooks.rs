//! The registration of the webhook as objects to apply. No I/O.

use serde::Serialize;
use serde_json::Value;

use crate::admission::endpoint::Endpoint;
use crate::admission::registration::{Location, mutating, validating};

/// Both configurations, with their kinds: first the mutating one, then the validating one. `guard_definitions` is
/// whether the first also reviews changes of the CRDs.
///
/// # Errors
/// When one cannot be written as JSON.
pub fn configurations(location: &Location, guard_definitions: bool) -> Result<[Value; 2], serde_json::Error> {
    let asked = |endpoint: &Endpoint| guard_definitions || *endpoint != Endpoint::MutateDefinition;
    let endpoints: Vec<Endpoint> = Endpoint::ALL.into_iter().filter(asked).collect();
    Ok([
        named("MutatingWebhookConfiguration", &mutating(location, &endpoints))?,
        named("ValidatingWebhookConfiguration", &validating(location, &endpoints))?,
    ])
}

fn named(kind: &str, configuration: &impl Serialize) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(configuration)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("apiVersion".to_owned(), "admissionregistration.k8s.io/v1".into());
        members.insert("kind".to_owned(), kind.into());
    }
    Ok(value)
}
