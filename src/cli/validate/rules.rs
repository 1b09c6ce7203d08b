//! One object -> the findings of the webhook: defaults are added, then it is validated. No I/O.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::super::manifest::Node;
use super::subject::Kind;
use crate::admission::endpoint::Endpoint;
use crate::admission::envelope::{Operation, Request};
use crate::admission::review::Reviewer;
use crate::admission::verdict::{Denial, PatchOperation, Verdict, patched};
use crate::api;
use crate::api::scaler::{PlainHPA, ScaledObject};
use crate::convert::{self, Decoded, Scaler as _, decode};
use crate::decision::cron::zones::Zones;
use crate::decision::defaults::{self, Addition, Mode};
use crate::decision::finding::Findings;
use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects};
use crate::decision::subject::FederatedHPA;
use crate::decision::validation::Settings;

/// The rules of the webhook, with the given files as other objects.
pub(super) struct Rules {
    reviewer: Reviewer,
    now: Timestamp,
}

/// Why the review of an object failed.
#[derive(Debug)]
pub(super) struct Undecodable {
    pub(super) path: String,
    pub(super) message: String,
}

impl Rules {
    pub(super) fn new(
        related_objects: Arc<dyn RelatedObjects + Send + Sync>,
        zones: Arc<dyn Zones>,
        settings: Settings,
        now: Timestamp,
    ) -> Self {
        Self { reviewer: Reviewer { related_objects, zones, settings, preview: None, frozen: None, idle: None }, now }
    }

    /// The findings on `object` when it is created in `namespace`.
    pub(super) fn review(
        &self,
        kind: Kind,
        namespace: &str,
        name: &str,
        object: Value,
    ) -> Result<Findings, Undecodable> {
        let (mutate, validate) = match kind {
            Kind::FederatedHPA => (Endpoint::MutateFederatedHPA, Endpoint::ValidateFederatedHPA),
            Kind::CronFederatedHPA => (Endpoint::MutateCronFederatedHPA, Endpoint::ValidateCronFederatedHPA),
        };
        let mut findings = Findings::default();
        let defaulted = self.verdict(mutate, namespace, name, object.clone());
        let denied = defaulted.denial.is_some();
        let patch = defaulted.patch.clone();
        collect(defaulted, &mut findings)?;
        if !denied {
            let object = patched(object, &patch).map_err(|error| undecodable(&*error))?;
            collect(self.verdict(validate, namespace, name, object), &mut findings)?;
        }
        Ok(findings)
    }

    fn verdict(&self, endpoint: Endpoint, namespace: &str, name: &str, object: Value) -> Verdict {
        let request = Request {
            uid: "fhpa-validate".to_owned(),
            operation: Operation::Create,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            dry_run: false,
            field_manager: String::new(),
            object: Some(object),
            old_object: None,
        };
        self.reviewer.review(endpoint, &request, self.now)
    }
}

fn collect(verdict: Verdict, findings: &mut Findings) -> Result<(), Undecodable> {
    for warning in verdict.warnings {
        if !findings.warnings.contains(&warning) {
            findings.warnings.push(warning);
        }
    }
    match verdict.denial {
        None => Ok(()),
        Some(Denial::Invalid(violations)) => {
            findings.violations.extend(violations);
            Ok(())
        }
        Some(Denial::Undecodable { path, message }) => Err(Undecodable { path, message }),
    }
}

/// A FederatedHPA with the defaults of the webhook, as it would be stored; `None` when it cannot be decoded.
pub(crate) fn completed(object: Value, default_mode: Mode) -> Option<Value> {
    let Decoded { object: hpa, wrong } = decode::<FederatedHPA<'_>>(&object).ok()?;
    if !wrong.is_empty() {
        return None;
    }
    let mode = hpa.spec.as_ref().and_then(Mode::stated).unwrap_or(default_mode);
    let additions = defaults::federated_hpa(&hpa, mode);
    let add = |addition: Addition| PatchOperation::Add { path: addition.pointer, value: addition.value };
    patched(object, &additions.into_iter().map(add).collect::<Vec<_>>()).ok()
}

fn undecodable(error: &dyn std::fmt::Display) -> Undecodable {
    Undecodable { path: String::new(), message: error.to_string() }
}

/// Facts about this FederatedHPA for the rules of other objects; `None` when it cannot be decoded.
pub(super) fn known_federated_hpa(namespace: &str, object: Value, default_mode: Mode) -> Option<KnownFederatedHPA> {
    let mut hpa: api::FederatedHPA = serde_json::from_value(object).ok()?;
    hpa.metadata.namespace = Some(namespace.to_owned());
    Some(convert::known_federated_hpa(&hpa, default_mode))
}

/// Facts about this object for the rules of others, where it is an autoscaler that is not fhpa's.
pub(super) fn known_scaler(namespace: &str, node: &Node) -> Option<KnownScaler> {
    let mut object = match (node.text("apiVersion")?, node.text("kind")?) {
        (version, "HorizontalPodAutoscaler") if version.starts_with("autoscaling/") => node.to_value(),
        (version, "ScaledObject") if version.starts_with("keda.sh/") => node.to_value(),
        _ => return None,
    };
    object.get_mut("metadata")?.as_object_mut()?.insert("namespace".to_owned(), Value::String(namespace.to_owned()));
    if node.text("kind")? == "ScaledObject" {
        serde_json::from_value::<ScaledObject>(object).ok()?.known()
    } else {
        serde_json::from_value::<PlainHPA>(object).ok()?.known()
    }
}

/// Facts about this CronFederatedHPA for the rules of other objects; `None` when it cannot be decoded.
pub(super) fn known_cron_federated_hpa(namespace: &str, object: Value) -> Option<KnownCronFederatedHPA> {
    let mut cron: api::CronFederatedHPA = serde_json::from_value(object).ok()?;
    cron.metadata.namespace = Some(namespace.to_owned());
    Some(convert::known_cron_federated_hpa(&cron))
}
