//! The registration of the webhook as objects to apply. No I/O.
//!
//! An operator lets writes through while no webhook answers with an annotation of both configurations, which every
//! write of them respects unless it states a policy of its own (docs/operations.md#upgrades-of-karmada).

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

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

/// Annotation of a WebhookConfiguration, set by users: the failure policy of all its webhooks.
pub const FAILURE_POLICY: &str = "fhpa.karmada.io/failure-policy";
/// The value of [`FAILURE_POLICY`] with an effect: writes pass unreviewed while the webhook does not answer.
pub const IGNORE: &str = "Ignore";

/// What karmada-apiserver does with a write while the webhook does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "PascalCase")]
pub enum FailurePolicy {
    /// It is refused.
    Fail,
    /// It passes unreviewed.
    Ignore,
}

/// The configuration with a stated policy.
#[must_use]
pub fn with_policy(configuration: &Value, policy: FailurePolicy) -> Value {
    match policy {
        FailurePolicy::Fail => annotated(configuration.clone(), "Fail"),
        FailurePolicy::Ignore => optional(configuration),
    }
}

/// Whether a policy is stated.
#[must_use]
pub fn states_policy(configuration: &Value) -> bool {
    configuration.pointer("/metadata/annotations").is_some_and(|all| all.get(FAILURE_POLICY).is_some())
}

fn annotated(mut configuration: Value, policy: &str) -> Value {
    if let Some(metadata) = configuration.get_mut("metadata").and_then(Value::as_object_mut) {
        let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(FAILURE_POLICY.to_owned(), policy.into());
        }
    }
    configuration
}

/// Whether an operator lets writes pass unreviewed.
#[must_use]
pub fn are_optional(configuration: &Value) -> bool {
    let annotations = configuration.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(FAILURE_POLICY)).and_then(Value::as_str) == Some(IGNORE)
}

/// The configuration with webhooks that need not answer, and the annotation that says so.
#[must_use]
pub fn optional(configuration: &Value) -> Value {
    let mut configuration = configuration.clone();
    let webhooks = configuration.get_mut("webhooks").and_then(Value::as_array_mut);
    for webhook in webhooks.into_iter().flatten().filter_map(Value::as_object_mut) {
        webhook.insert("failurePolicy".to_owned(), IGNORE.into());
    }
    annotated(configuration, IGNORE)
}

fn named(kind: &str, configuration: &impl Serialize) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(configuration)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("apiVersion".to_owned(), "admissionregistration.k8s.io/v1".into());
        members.insert("kind".to_owned(), kind.into());
    }
    Ok(value)
}
