//! One turn of one object under guard: compare, put back or report. Talks to the API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kube::Client;
use serde_json::Value;
use tracing::{error, info, warn};

use super::sight::{Guarded, Live, Sight};
use crate::decision::backoff;
use crate::decision::contest::{Contest, Step};
use crate::install::apply::{Mode, Outcome, apply, wanted};
use crate::install::compare::differences;
use crate::install::manifests::Part;
use crate::reconcile::engine::{Ended, Standing, Worker};
use crate::reconcile::events::{Events, Record, Reference, Severity};
use crate::reconcile::failure::Failure;
use crate::reconcile::key::Key;
use crate::reconcile::{WallClock, managers};
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::GuardMetrics;

/// Puts objects back.
pub(super) struct GuardWorker {
    client: Client,
    sight: Arc<Sight>,
    manage_karmada: bool,
    events: Events,
    clock: WallClock,
    metrics: Arc<GuardMetrics>,
    known: Mutex<BTreeMap<Key, Known>>,
}

/// What is known of an object between two turns.
#[derive(Clone, Debug, Default)]
struct Known {
    contest: Contest,
    /// What was last reported of it, while it lasts.
    reported: Option<&'static str>,
}

/// What a turn finds.
enum Found {
    /// It is as it is to be.
    Stands,
    /// It differs in these places.
    Differs(Vec<String>),
    /// It differs, and is not to be written: the reason and a sentence.
    Foreign(&'static str, String),
}

/// How often an attempt failed in a row.
#[derive(Debug, Default)]
pub(super) struct Trouble(u32);

impl Worker for GuardWorker {
    type Trouble = Trouble;

    async fn news(&self) {
        self.sight.news().await;
    }

    fn changed(&self) -> BTreeSet<Key> {
        self.sight.changed()
    }

    fn keys(&self) -> Vec<Key> {
        self.sight.keys()
    }

    async fn turn(&self, leader: &Leader, key: &Key, trouble: Trouble) -> Result<Ended<Trouble>, LeaseLost> {
        let Some(guarded) = self.sight.get(key) else { return Ok(Ended::default()) };
        if guarded.live == Live::Unknown {
            return Ok(Ended::default());
        }
        let live = guarded.live.object();
        match self.find(&guarded, live) {
            Found::Stands => {
                self.metrics.stands(&name(key), true);
                self.known().entry(key.clone()).or_default().reported = None;
                Ok(Ended::default())
            }
            Found::Foreign(reason, sentence) => {
                self.metrics.stands(&name(key), false);
                self.report(leader, key, live, reason, sentence);
                Ok(Ended::default())
            }
            Found::Differs(places) => {
                self.metrics.stands(&name(key), false);
                self.put_back(leader, key, &guarded, &places, trouble).await
            }
        }
    }

    fn standing(&self, _: Standing<'_>) {}

    fn dequeued(&self, _: Duration) {}

    fn panicked(&self) {
        error!("a turn of the guard over the installation panicked");
    }
}

impl GuardWorker {
    pub(super) fn new(
        client: Client,
        sight: Arc<Sight>,
        manage_karmada: bool,
        events: Events,
        clock: WallClock,
        metrics: Arc<GuardMetrics>,
    ) -> Self {
        Self { client, sight, manage_karmada, events, clock, metrics, known: Mutex::default() }
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<Key, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, guarded: &Guarded, live: Option<&Value>) -> Found {
        let part = guarded.wanted.part;
        let wanted = match wanted(&guarded.wanted, live) {
            Ok(Some(wanted)) => wanted,
            Ok(None) => return Found::Stands,
            Err(failure) => return Found::Foreign("StoredElsewhere", failure.message),
        };
        let Some(live) = live else {
            return match part {
                // Who deletes a definition wants all objects gone.
                Part::Definition => Found::Foreign(
                    "DefinitionMissing",
                    "it does not exist: run `fhpa install` to have it back".to_owned(),
                ),
                _ => Found::Differs(vec!["all of it".to_owned()]),
            };
        };
        let places = differences(&wanted, live);
        let karmadas = matches!(part, Part::Definition | Part::SetAside(_));
        match &*places {
            [] => Found::Stands,
            _ if karmadas && !self.manage_karmada => {
                let sentence = format!(
                    "it is not as fhpa needs it ({}), and is not put right (--manage-karmada=false): run `fhpa install`",
                    places.join(", ")
                );
                Found::Foreign("NotManaged", sentence)
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
        Trouble(failures): Trouble,
    ) -> Result<Ended<Trouble>, LeaseLost> {
        let live = guarded.live.object();
        let now = (self.clock)();
        let contest = self.known().get(key).cloned().unwrap_or_default().contest;
        if let Step::Pause(until) = contest.step(now) {
            let sentence = format!(
                "{} changes it again each time it is put back ({} times in a row): keep one of the two from it; it is put back \
                 at {until} again",
                other(live),
                contest.acts()
            );
            self.metrics.contested(&name(key), true);
            self.report(leader, key, live, "Contested", sentence);
            return Ok(Ended { trouble: None, wake: Some(until), retry: None });
        }
        leader.check()?;
        let mode = Mode { dry_run: false, manage_karmada: self.manage_karmada };
        match apply(&self.client, &guarded.wanted, mode).await {
            Ok(Outcome::Created | Outcome::Changed(_)) => {
                self.metrics.put_back(&name(key));
                self.metrics.contested(&name(key), false);
                let known = Known { contest: contest.acted(now), reported: None };
                self.known().insert(key.clone(), known);
                let note = format!("{} had changed it ({}); it is put back", other(live), places.join(", "));
                info!(object = %name(key), "{note}");
                self.tell(leader, key, live, Severity::Normal, "PutBack", note);
                Ok(Ended::default())
            }
            // What the watch told was old, or the API server writes it in other words.
            Ok(Outcome::Unchanged | Outcome::Absent | Outcome::Left(_)) => {
                self.metrics.stands(&name(key), true);
                self.known().entry(key.clone()).or_default().reported = None;
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
    ) -> Ended<Trouble> {
        let failures = failures.saturating_add(1);
        let retry = Some(backoff::wait(failure.class, failures, key, failure.retry_after));
        self.report(leader, key, live, failure.reason, failure.message.clone());
        Ended { trouble: Some(Trouble(failures)), wake: None, retry }
    }

    /// Tells of something that stays wrong, once while it lasts.
    fn report(&self, leader: &Leader, key: &Key, live: Option<&Value>, reason: &'static str, sentence: String) {
        let before = self.known().entry(key.clone()).or_default().reported.replace(reason);
        if before != Some(reason) {
            warn!(object = %name(key), reason, "{sentence}");
            self.tell(leader, key, live, Severity::Warning, reason, sentence);
        }
    }

    fn tell(
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
        let at = (self.clock)();
        self.events.record(leader, Record { severity, reason, action: "Guard", note, at, regarding, related: None });
    }
}

/// Kind and name, as people and metrics see them.
fn name(key: &Key) -> String {
    key.to_string()
}

/// Who wrote the object last, beside us.
fn other(live: Option<&Value>) -> String {
    let shares = live.and_then(|live| live.pointer("/metadata/managedFields")).and_then(Value::as_array);
    let ours = |share: &&Value| {
        let manager = share.get("manager").and_then(Value::as_str).unwrap_or_default();
        !managers::ALL.contains(&manager) && share.get("subresource").is_none()
    };
    let text = |share: &Value, name: &str| share.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let last = shares.into_iter().flatten().filter(ours).max_by_key(|share| text(share, "time"));
    last.map_or_else(|| "somebody".to_owned(), |share| text(share, "manager"))
}
