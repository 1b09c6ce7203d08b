//! Karmada's own webhooks for FederatedHPAs and CronFederatedHPAs, set aside and given back. No I/O.
//!
//! Karmada's mutating one drops every field that it does not know, and its validating ones refuse what fhpa can run.
//! They stay registered and are asked no more: an object selector that selects nothing is put on their entries, under a
//! field manager of its own. So an upgrade of Karmada by `kubectl apply`, which knows nothing of that field, leaves it
//! where it is; and taking the field back is all that is needed to give Karmada's webhooks their work back.

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

/// What is set aside. Karmada's Helm chart has no validating ones.
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

/// Key of a label that an object would have to carry and not to carry.
const NEVER: &str = "autoscaling.karmada.io/reviewed-by-fhpa";

/// The entries that a configuration has, set aside; with no entry an object that gives all of them back.
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

/// The entries to be set aside that a stored configuration has.
#[must_use]
pub fn present(entries: &Entries, live: &Value) -> Vec<&'static str> {
    let webhooks = live.get("webhooks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let has = |name: &str| webhooks.iter().any(|webhook| webhook.get("name").and_then(Value::as_str) == Some(name));
    entries.names.iter().copied().filter(|name| has(name)).collect()
}
