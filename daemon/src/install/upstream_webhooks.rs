//! Disables and enables Karmada's own webhooks for FederatedHPAs and CronFederatedHPAs. No I/O.
//!
//! Karmada's mutating one drops every field that it does not know, and its validating ones reject specs that fhpa can
//! run. They stay registered but are disabled: an object selector that matches nothing is set on their entries, under a
//! field manager of its own. An upgrade of Karmada with `kubectl apply`, which does not know that field, keeps it; and
//! removing the field is enough to enable Karmada's webhooks again.

use serde_json::{Value, json};

/// Entries of one of Karmada's webhook configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entries {
    /// Kind of the configuration.
    pub kind: &'static str,
    /// Its name.
    pub configuration: &'static str,
    /// Names of the entries.
    pub names: &'static [&'static str],
}

/// The webhooks to disable. Karmada's Helm chart has no validating ones.
pub const ENTRIES: [Entries; 2] = [
    Entries {
        kind: "MutatingWebhookConfiguration",
        configuration: "mutating-config",
        names: &["autoscaling.karmada.io"],
    },
    Entries {
        kind: "ValidatingWebhookConfiguration",
        configuration: "validating-config",
        names: &["federatedhpa.karmada.io", "cronfederatedhpa.karmada.io"],
    },
];

/// Key of a label that an object would have to have and not to have.
const NEVER: &str = "autoscaling.karmada.io/reviewed-by-fhpa";

/// The entries of a configuration, disabled; without entries, an object that enables all of them.
#[must_use]
pub fn configuration(entries: &Entries, present: &[&str]) -> Value {
    let nothing = json!({"matchExpressions": [
        {"key": NEVER, "operator": "Exists"}, {"key": NEVER, "operator": "DoesNotExist"}]});
    let webhooks: Vec<Value> = present.iter().map(|name| json!({"name": name, "objectSelector": nothing})).collect();
    let mut object = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": entries.kind,
        "metadata": {"name": entries.configuration}});
    if !webhooks.is_empty()
        && let Some(members) = object.as_object_mut()
    {
        members.insert("webhooks".to_owned(), webhooks.into());
    }
    object
}

/// The entries to disable that a stored configuration has.
#[must_use]
pub fn present(entries: &Entries, live: &Value) -> Vec<&'static str> {
    let webhooks = live.get("webhooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has = |name: &str| webhooks.iter().any(|webhook| webhook.get("name").and_then(Value::as_str) == Some(name));
    entries.names.iter().copied().filter(|name| has(name)).collect()
}
