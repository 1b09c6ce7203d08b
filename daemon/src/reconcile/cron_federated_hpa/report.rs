//! Reports reconciles to users (Events, log) and metrics. Posts nothing itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tracing::{info, warn};

use super::entry::Entry;
use super::observe::Observed;
use super::status::{self, SCHEDULED};
use crate::controller::engine::QueueStats;
use crate::controller::events::{Events, NOTE, Record, Reference, Severity};
use crate::controller::failure::Failure;
use crate::controller::key::Key;
use crate::decision::backoff::ErrorClass;
use crate::decision::cron::ledger::{Action, Older, Rule};
use crate::decision::cron::settle::{Attempt, Outcome, attempt, missed_runs};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::{ControllerMetrics, ReconcileResult};

/// Reason of the Event of an executed run.
pub const EXECUTED: &str = "RuleExecuted";
/// Reason of the Event of a run that failed for good.
pub const FAILED: &str = "RuleFailed";
/// Reason of the Event of a run that a later run of another object superseded.
pub const SUPERSEDED: &str = "RuleSuperseded";
/// Reason of the Event of a missed run.
pub const MISSED: &str = "RuleMissed";
/// Reason of the Event about rules that cannot run.
pub const INVALID: &str = "InvalidRules";

/// Most missed runs of a rule that are counted beyond its records: one of each minute may have been missed for years.
const COUNTED: usize = 1000;

/// Reports events.
pub struct Reporter {
    /// The Events.
    pub events: Events,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
    /// The time of day.
    pub clock: WallClock,
}

/// The object of an Event.
#[derive(Clone, Copy)]
struct Regarding<'a> {
    leader: &'a Leader,
    key: &'a Key,
    entry: &'a Entry,
}

/// Notes of one reconcile. Runs with the same result share an Event, as many as it holds.
#[derive(Default)]
struct Notes(Vec<(Severity, &'static str, String)>);

impl Notes {
    fn add(&mut self, severity: Severity, reason: &'static str, sentence: String) {
        const BETWEEN: &str = "; ";
        match self.0.last_mut() {
            Some((_, last, note))
                if *last == reason && note.len().saturating_add(BETWEEN.len() + sentence.len()) <= NOTE =>
            {
                note.push_str(BETWEEN);
                note.push_str(&sentence);
            }
            _ => self.0.push((severity, reason, sentence)),
        }
    }
}

impl Reporter {
    /// Reports each run that a status write recorded.
    pub fn recorded(
        &self,
        leader: &Leader,
        key: &Key,
        before: &Entry,
        written: &Entry,
        observed: &Observed,
        attempts: &[Attempt],
    ) {
        self.metrics.status_writes.inc();
        let about = Regarding { leader, key, entry: before };
        let rules = observed.rules(before);
        let due = observed.agenda.due.iter().map(|due| (due.rule, due.scheduled, None));
        let missed = missed_runs(&rules, &observed.agenda, attempts);
        let missed = missed.iter().map(|missed| (missed.rule, missed.scheduled, Some(missed.cause)));
        let mut notes = Notes::default();
        for older in &observed.agenda.older {
            if let Some(note) = rules.get(older.rule).and_then(|rule| self.older(rule, older, attempts)) {
                notes.add(Severity::Warning, MISSED, note);
            }
        }
        for (index, scheduled, missed) in missed.chain(due) {
            let Some(rule) = rules.get(index) else { continue };
            let known = attempt(attempts, rule.name, scheduled);
            match (known, missed) {
                (Some(Attempt { outcome: Outcome::Executed(action), at, .. }), _) => {
                    notes.add(Severity::Normal, EXECUTED, self.executed(about, rule, *action, (scheduled, *at)));
                }
                (Some(Attempt { outcome: Outcome::Superseded(why), .. }), _) => {
                    self.metrics.superseded();
                    notes.add(Severity::Normal, SUPERSEDED, format!("{}: {why}", run(rule.name, scheduled)));
                }
                (Some(Attempt { outcome: Outcome::GivenUp(error), .. }), _) => {
                    self.metrics.failed();
                    notes.add(Severity::Warning, FAILED, format!("{}: {error}", run(rule.name, scheduled)));
                }
                (Some(Attempt { outcome: Outcome::Postponed(error), .. }), Some(missed)) => {
                    self.metrics.failed();
                    let note = format!("{}: {}", run(rule.name, scheduled), missed.message(Some(error)));
                    notes.add(Severity::Warning, FAILED, note);
                }
                (None, Some(missed)) => {
                    self.metrics.missed_runs.inc();
                    let note = format!("{}: {}", run(rule.name, scheduled), missed.message(None));
                    notes.add(Severity::Warning, MISSED, note);
                }
                (Some(Attempt { outcome: Outcome::Postponed(_), .. }) | None, None) => {}
            }
        }
        for (severity, reason, note) in notes.0 {
            self.record_event(about, severity, reason, note);
        }
        self.rules_refused(about, written);
    }

    /// Counts missed runs that have no record, and reports those that were never attempted in one sentence.
    fn older(&self, rule: &Rule<'_>, older: &Older, attempts: &[Attempt]) -> Option<String> {
        let mut instants = older.instants(rule);
        let counted: Vec<Timestamp> = instants.by_ref().take(COUNTED).collect();
        let all = instants.next().is_none();
        let is_unknown = |at: &&Timestamp| attempt(attempts, rule.name, **at).is_none();
        let missed: Vec<&Timestamp> = counted.iter().filter(is_unknown).collect();
        let (last, first) = (missed.first()?, missed.last()?);
        self.metrics.missed_runs.inc_by(u64::try_from(missed.len()).unwrap_or(u64::MAX));
        let which = match (all, missed.len()) {
            (true, 1) => run(rule.name, **last),
            (true, count) => format!("rule {:?}: {count} runs from {first} to {last}", rule.name),
            (false, count) => format!("rule {:?}: more than {count} runs until {last}", rule.name),
        };
        Some(format!("{which}: {}", older.cause.message(None)))
    }

    /// Counts a run and reports the values that it set.
    fn executed(&self, about: Regarding<'_>, rule: &Rule<'_>, action: Action, times: (Timestamp, Timestamp)) -> String {
        let (scheduled, at) = times;
        let late = Duration::try_from(at.duration_since(scheduled)).unwrap_or_default();
        self.metrics.executed(late);
        info!(object = %about.key, rule = rule.name, %scheduled, late_seconds = late.as_secs_f64(), "executed");
        format!("{}: {} set to {}", run(rule.name, scheduled), about.entry.target(about.key), values(action))
    }

    /// Reports rules that cannot run, when this is new.
    fn rules_refused(&self, about: Regarding<'_>, written: &Entry) {
        let invalid = |entry: &Entry| status::condition_of(entry, SCHEDULED).filter(|c| c.status == "False").cloned();
        let before = invalid(about.entry).and_then(|condition| condition.message);
        if let Some(message) = invalid(written).and_then(|condition| condition.message)
            && before.as_ref() != Some(&message)
        {
            self.record_event(about, Severity::Warning, INVALID, message);
        }
    }

    /// Reports that due runs wait, because their target could not be set.
    pub fn postponed(&self, leader: &Leader, key: &Key, entry: &Entry, failure: &Failure) {
        let note = format!("due runs are delayed and will be retried: {failure}");
        self.record_event(Regarding { leader, key, entry }, Severity::Warning, failure.reason, note);
    }

    /// Reports that fields removed by a foreign CRD were restored.
    pub fn restored(&self, leader: &Leader, key: &Key, entry: &Entry, rules: &str) {
        let note = format!(
            "maxDelaySeconds of {rules}: restored from the annotation {}; another CustomResourceDefinition had made the API server \
             drop it",
            crate::decision::mirror::SPEC
        );
        info!(object = %key, "{note}");
        self.record_event(Regarding { leader, key, entry }, Severity::Warning, "FieldsRestored", note);
    }

    /// Counts a retry.
    pub fn retried(&self, class: ErrorClass) {
        self.metrics.retried(class);
    }

    /// Counts a reconcile that ended.
    pub fn ended(&self, result: ReconcileResult, took: Duration) {
        if result == ReconcileResult::Panic {
            self.metrics.panics.inc();
        }
        self.metrics.cron.reconciled(result, took);
    }

    /// Sets the runs of an object that wait for another attempt.
    pub fn overdue(&self, key: &Key, runs: usize, oldest: Option<Timestamp>) {
        self.metrics.overdue(&key.to_string(), runs, oldest);
    }

    /// Sets the number of rules, and of objects that are not ready, by reason.
    pub fn known(&self, rules: usize, unready: BTreeMap<String, usize>) {
        self.metrics.cron_rules.set(number(rules));
        for (reason, count) in unready {
            self.metrics.cron_unready(reason, number(count));
        }
    }

    /// Sets the state of the queue.
    pub fn queue_stats(&self, queue_stats: QueueStats<'_>) {
        self.metrics.next_due(queue_stats.delay_queue.next());
        queue_stats.show(&self.metrics.cron);
    }

    /// Observes that a reconcile begins for an object that waited for this long.
    pub fn dequeued(&self, waited: Duration) {
        self.metrics.dequeued(waited);
    }

    fn record_event(&self, about: Regarding<'_>, severity: Severity, reason: &'static str, note: String) {
        let Regarding { leader, key, entry } = about;
        if severity == Severity::Warning {
            warn!(object = %key, reason, "{note}");
        }
        let regarding = entry.own(key).reference();
        let target = entry.target(key);
        let related = Reference {
            api_version: target.api_version.to_owned().into(),
            kind: target.kind.to_owned().into(),
            namespace: target.namespace.into(),
            name: target.name.into(),
            uid: Box::default(),
        };
        let at = (self.clock)();
        let related = Some(related);
        self.events
            .record(leader, Record { severity, reason: reason.into(), action: "Scale", note, at, regarding, related });
    }
}

fn run(rule: &str, scheduled: Timestamp) -> String {
    format!("rule {rule:?} of {scheduled}")
}

/// The values of an action as text.
fn values(action: Action) -> String {
    let Action { replicas, min_replicas, max_replicas } = action;
    let named = [("replicas", replicas), ("minReplicas", min_replicas), ("maxReplicas", max_replicas)];
    let texts: Vec<String> =
        named.into_iter().filter_map(|(name, value)| value.map(|value| format!("{name} {value}"))).collect();
    texts.join(", ")
}

fn number(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
