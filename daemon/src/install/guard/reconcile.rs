//! One reconcile of one managed object: compare, correct or report. Talks to the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use parking_lot::Mutex;
use serde_json::Value;
use tracing::{info, warn};

use super::managed_objects::{Guarded, Live, ManagedObjects};
use crate::controller::engine::{Ended, QueueStats, Worker};
use crate::controller::events::{Events, Record, Reference, Severity};
use crate::controller::failure::Failure;
use crate::controller::key::Key;
use crate::controller::managers;
use crate::controller::request::PATIENCE;
use crate::decision::backoff;
use crate::decision::drift_backoff::{DriftBackoff, Step};
use crate::install::apply::{Due, Mode, Outcome, due, wanted};
use crate::install::compare::differences;
use crate::install::manifests::Part;
use crate::install::webhooks::{self, FAILURE_POLICY, IGNORE};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::{ControllerMetrics, GuardMetrics, ReconcileResult};

/// Dependencies of corrections.
pub(super) struct Dependencies {
    pub(super) client: Client,
    pub(super) managed: Arc<ManagedObjects>,
    pub(super) manage_karmada: bool,
    pub(super) events: Events,
    pub(super) clock: WallClock,
    pub(super) metrics: Arc<GuardMetrics>,
    pub(super) counted: Arc<ControllerMetrics>,
}

/// Corrects drift.
pub(super) struct GuardWorker {
    dependencies: Dependencies,
    known: Mutex<BTreeMap<Key, DriftState>>,
}

/// State of an object between two reconciles.
#[derive(Clone, Debug, Default)]
struct DriftState {
    backoff: DriftBackoff,
    /// Last reported problem, while it lasts.
    reported: Option<&'static str>,
    /// Whether an operator lets writes pass unreviewed.
    optional: bool,
}

/// Finding of a reconcile.
enum Found {
    /// The object is in its desired state.
    InSync,
    /// It differs in these fields.
    Differs(Vec<String>),
    /// It differs, and must not be written: the reason and a sentence.
    Foreign(&'static str, String),
}

/// Failures in a row.
#[derive(Debug, Default)]
pub(super) struct DriftRetryState(u32);

impl Worker for GuardWorker {
    type RetryState = DriftRetryState;

    async fn wait_for_change(&self) {
        self.dependencies.managed.wait_for_change().await;
    }

    fn changed(&self) -> BTreeSet<Key> {
        self.dependencies.managed.changed()
    }

    fn keys(&self) -> Vec<Key> {
        self.dependencies.managed.keys()
    }

    async fn reconcile(
        &self,
        leader: &Leader,
        key: &Key,
        retry_state: DriftRetryState,
    ) -> Result<Ended<DriftRetryState>, LeaseLost> {
        let Some(mut guarded) = self.dependencies.managed.get(key) else { return Ok(Ended::default()) };
        if guarded.live == Live::Unknown {
            return Ok(Ended::default());
        }
        if guarded.wanted.part == Part::Webhook && guarded.live == Live::Absent && self.are_reviews_optional() {
            guarded.wanted.object = webhooks::optional(&guarded.wanted.object);
        }
        let live = guarded.live.object();
        if guarded.wanted.part == Part::Webhook {
            self.reviews(leader, key, live);
        }
        match self.find(&guarded, live) {
            Found::InSync => {
                self.record_in_sync(key);
                Ok(Ended::default())
            }
            Found::Foreign(reason, sentence) => {
                self.dependencies.metrics.in_sync(&name(key), false);
                self.report(leader, key, live, reason, sentence);
                Ok(Ended::default())
            }
            Found::Differs(places) => {
                self.dependencies.metrics.in_sync(&name(key), false);
                self.put_back(leader, key, &guarded, &places, retry_state).await
            }
        }
    }

    fn queue_stats(&self, _: QueueStats<'_>) {}

    fn dequeued(&self, _: Duration) {}

    fn ended(&self, result: ReconcileResult, _: Duration) {
        if result == ReconcileResult::Panic {
            self.dependencies.counted.panics.inc();
        }
    }
}

impl GuardWorker {
    pub(super) fn new(dependencies: Dependencies) -> Self {
        Self { dependencies, known: Mutex::default() }
    }

    /// The object is in its desired state.
    fn record_in_sync(&self, key: &Key) {
        self.dependencies.metrics.in_sync(&name(key), true);
        self.known.lock().entry(key.clone()).or_default().reported = None;
    }

    /// Whether an operator lets writes pass unreviewed, by the registration or what was seen of it: its part that was
    /// deleted comes back so.
    fn are_reviews_optional(&self) -> bool {
        self.dependencies.managed.are_reviews_optional() || self.known.lock().values().any(|known| known.optional)
    }

    /// Reports when an operator begins and ends to let writes pass unreviewed. Who deletes the registration does neither.
    fn reviews(&self, leader: &Leader, key: &Key, live: Option<&Value>) {
        let Some(found) = live else { return };
        let optional = webhooks::are_optional(found);
        self.dependencies.metrics.reviews_optional(&name(key), optional);
        let before = std::mem::replace(&mut self.known.lock().entry(key.clone()).or_default().optional, optional);
        let (severity, reason, note) = match (before, optional) {
            (false, true) => (
                Severity::Warning,
                "ReviewsOptional",
                format!(
                    "writes pass unreviewed while the webhook does not answer: annotation {FAILURE_POLICY}: {IGNORE}"
                ),
            ),
            (true, false) => (Severity::Normal, "ReviewsRequired", "writes need a review again".to_owned()),
            _ => return,
        };
        warn!(object = %name(key), reason, "{note}");
        self.record_event(leader, key, live, severity, reason, note);
    }

    fn find(&self, guarded: &Guarded, live: Option<&Value>) -> Found {
        let part = guarded.wanted.part;
        let wanted = match wanted(&guarded.wanted, live) {
            Ok(Some(wanted)) => wanted,
            Ok(None) => return Found::InSync,
            Err(failure) => return Found::Foreign("UnsupportedStorageVersion", failure.message),
        };
        let Some(live) = live else {
            return match part {
                // Deleting a CRD means that all objects should be deleted.
                Part::Definition => Found::Foreign(
                    "DefinitionMissing",
                    "it does not exist: run `fhpa install` to restore it".to_owned(),
                ),
                _ => Found::Differs(vec!["all of it".to_owned()]),
            };
        };
        let places = differences(&wanted, live);
        let karmadas = matches!(part, Part::Definition | Part::SetAside(_));
        match &*places {
            [] => Found::InSync,
            _ if karmadas && !self.dependencies.manage_karmada => {
                let sentence = format!(
                    "it differs from what fhpa needs ({}), and is not corrected (--manage-karmada=false): run `fhpa install`",
                    places.join(", ")
                );
                Found::Foreign("DriftDetected", sentence)
            }
            _ => Found::Differs(places),
        }
    }

    async fn put_back(
        &self,
        leader: &Leader,
        key: &Key,
        guarded: &Guarded,
        places: &[String],
        DriftRetryState(failures): DriftRetryState,
    ) -> Result<Ended<DriftRetryState>, LeaseLost> {
        let live = guarded.live.object();
        let now = (self.dependencies.clock)();
        let backoff = self.known.lock().get(key).cloned().unwrap_or_default().backoff;
        if let Step::Pause(until) = backoff.step(now) {
            let sentence = format!(
                "{} changes it each time it is corrected ({} times in a row): stop one of the two; it is corrected again at \
                 {until}",
                other(live),
                backoff.acts()
            );
            self.dependencies.metrics.drift_conflict(&name(key), true);
            self.report(leader, key, live, "DriftConflict", sentence);
            return Ok(Ended { retry_state: None, wake: Some(until), retry: None });
        }
        let mode = Mode { dry_run: false, manage_karmada: self.dependencies.manage_karmada };
        let corrected = match due(&self.dependencies.client, &guarded.wanted, mode).await {
            Ok(Due::Nothing(outcome)) => Ok(outcome),
            Ok(Due::Write(write)) => {
                // The machine may have been suspended during the read.
                let patience = leader.room()?.min(PATIENCE);
                write.send(patience, &self.dependencies.client, mode).await
            }
            Err(failure) => Err(failure),
        };
        match corrected {
            Ok(Outcome::Created | Outcome::Changed(_)) => {
                self.dependencies.metrics.drift_corrected(&name(key));
                self.dependencies.metrics.drift_conflict(&name(key), false);
                self.known.lock().entry(key.clone()).or_default().backoff = backoff.acted(now);
                self.record_in_sync(key);
                let note = format!("{} had changed it ({}); corrected", other(live), places.join(", "));
                info!(object = %name(key), "{note}");
                self.record_event(leader, key, live, Severity::Normal, "DriftCorrected", note);
                Ok(Ended::default())
            }
            // The watch was behind, or the API server stores it in another form.
            Ok(
                Outcome::Unchanged
                | Outcome::Absent
                | Outcome::Left(_)
                | Outcome::Lacking(_)
                | Outcome::Taken(_)
                | Outcome::Unserved,
            ) => {
                self.record_in_sync(key);
                Ok(Ended::default())
            }
            Err(failure) => Ok(self.failed(leader, key, live, &failure, failures)),
        }
    }

    fn failed(
        &self,
        leader: &Leader,
        key: &Key,
        live: Option<&Value>,
        failure: &Failure,
        failures: u32,
    ) -> Ended<DriftRetryState> {
        let failures = failures.saturating_add(1);
        let retry = Some(backoff::wait(failure.class, failures, key, failure.retry_after));
        self.report(leader, key, live, failure.reason, failure.message.clone());
        Ended { retry_state: Some(DriftRetryState(failures)), wake: None, retry }
    }

    /// Reports a persistent problem, once while it lasts.
    fn report(&self, leader: &Leader, key: &Key, live: Option<&Value>, reason: &'static str, sentence: String) {
        let before = self.known.lock().entry(key.clone()).or_default().reported.replace(reason);
        if before != Some(reason) {
            warn!(object = %name(key), reason, "{sentence}");
            self.record_event(leader, key, live, Severity::Warning, reason, sentence);
        }
    }

    fn record_event(
        &self,
        leader: &Leader,
        key: &Key,
        live: Option<&Value>,
        severity: Severity,
        reason: &'static str,
        note: String,
    ) {
        let text = |pointer| live.and_then(|live| live.pointer(pointer)).and_then(Value::as_str).unwrap_or_default();
        let regarding = Reference {
            api_version: text("/apiVersion").to_owned().into(),
            kind: key.namespace.to_string().into(),
            namespace: Box::default(),
            name: (*key.name).into(),
            uid: text("/metadata/uid").into(),
        };
        let at = (self.dependencies.clock)();
        self.dependencies.events.record(
            leader,
            Record { severity, reason: reason.into(), action: "Guard", note, at, regarding, related: None },
        );
    }
}

/// Kind and name, for users and metrics.
fn name(key: &Key) -> String {
    key.to_string()
}

/// The last manager of the object other than fhpa.
fn other(live: Option<&Value>) -> String {
    let shares = live.and_then(|live| live.pointer("/metadata/managedFields")).and_then(Value::as_array);
    let ours = |share: &&Value| {
        let manager = share.get("manager").and_then(Value::as_str).unwrap_or_default();
        !managers::ALL.contains(&manager) && share.get("subresource").is_none()
    };
    let text = |share: &Value, name: &str| share.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let last = shares.into_iter().flatten().filter(ours).max_by_key(|share| text(share, "time"));
    last.map_or_else(|| "another writer".to_owned(), |share| text(share, "manager"))
}
