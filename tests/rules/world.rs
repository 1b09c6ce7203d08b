//! A reviewer, requests, and the other objects of a test.

use std::sync::Arc;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::{Operation, Request};
use fhpa::admission::review::Reviewer;
use fhpa::admission::verdict::{Denial, Verdict};
use fhpa::decision::cron::zones::Zones;
use fhpa::decision::kinds::Retention;
use fhpa::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects, Target};
use fhpa::decision::validation::Settings;
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;

/// The other objects, as a list.
#[derive(Default)]
pub struct Others {
    pub federated: Vec<KnownFederatedHPA>,
    pub cron: Vec<KnownCronFederatedHPA>,
    pub scalers: Vec<KnownScaler>,
    /// Kinds whose replicas members keep, when that is known.
    pub kept: Option<Vec<(&'static str, &'static str)>>,
}

impl RelatedObjects for Others {
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA> {
        let mut found: Vec<_> = self.federated.iter().filter(|hpa| hpa.target == *target).cloned().collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA> {
        let mut found: Vec<_> = self.cron.iter().filter(|cron| cron.target == *target).cloned().collect();
        found.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }
    fn holder_of(&self, target: &Target) -> Option<KnownFederatedHPA> {
        self.federated.iter().find(|hpa| hpa.taken_over.as_ref() == Some(target)).cloned()
    }
    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA> {
        self.federated.iter().find(|hpa| hpa.target.namespace == namespace && hpa.name == name).cloned()
    }
    fn scalers_on(&self, target: &Target) -> Vec<KnownScaler> {
        let mut found: Vec<_> = self.scalers.iter().filter(|known| known.target == *target).cloned().collect();
        found.sort();
        found
    }
    fn retention(&self, api_version: &str, kind: &str) -> Option<Retention> {
        let of = |kept: bool| if kept { Retention::Replicas } else { Retention::Native };
        self.kept.as_ref().map(|kept| of(kept.contains(&(api_version, kind))))
    }
}

pub fn zones() -> Arc<dyn Zones> {
    static ZONES: std::sync::LazyLock<Arc<dyn Zones>> = std::sync::LazyLock::new(|| Arc::new(ZoneDatabase::bundled()));
    ZONES.clone()
}

pub fn reviewer(others: Others) -> Reviewer {
    reviewer_with(others, Settings::default())
}

pub fn reviewer_with(others: Others, settings: Settings) -> Reviewer {
    Reviewer { related_objects: Arc::new(others), zones: zones(), settings, preview: None, frozen: None, idle: None }
}

pub fn now() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

/// The verdict on `object`; `old` makes it an update.
pub fn review(
    reviewer: &Reviewer,
    endpoint: Endpoint,
    operation: Operation,
    object: &str,
    old: Option<&str>,
) -> Verdict {
    review_of("user", reviewer, endpoint, operation, object, old)
}

/// As [`review`], of what a field manager writes.
pub fn review_of(
    manager: &str,
    reviewer: &Reviewer,
    endpoint: Endpoint,
    operation: Operation,
    object: &str,
    old: Option<&str>,
) -> Verdict {
    let json = |text: &str| serde_json::from_str(text).expect("JSON");
    let request = Request {
        uid: "u".to_owned(),
        operation,
        namespace: "prod".to_owned(),
        name: "web".to_owned(),
        dry_run: false,
        field_manager: manager.to_owned(),
        object: Some(json(object)),
        old_object: old.map(json),
    };
    reviewer.review(endpoint, &request, now())
}

/// The verdict on a new object, nothing else around.
pub fn create(endpoint: Endpoint, object: &str) -> Verdict {
    review(&reviewer(Others::default()), endpoint, Operation::Create, object, None)
}

/// All that is refused and warned of, a line each.
pub fn said(verdict: &Verdict) -> String {
    let mut lines = Vec::new();
    match &verdict.denial {
        Some(Denial::Invalid(violations)) => lines.extend(violations.iter().map(|v| format!("denied: {v}"))),
        Some(Denial::Undecodable { path, message }) => lines.push(format!("undecodable: {path}: {message}")),
        None => {}
    }
    lines.extend(verdict.warnings.iter().map(|warning| format!("warning: {warning}")));
    lines.join("\n")
}
