//! Which runs of a rule are due, missed or upcoming, from its history (docs/cron.md#late-runs). Pure.
//!
//! `nextExecutionTime` is the ledger: the first run without a record. Every run ends as exactly one record, executed or
//! missed with its reason, across restarts, clock changes and changes of leader. An execution sets absolute values, so
//! it is safe to repeat one that was done but not recorded.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::Schedule;
use crate::limits;

/// A run that begins within this time of its instant is on time, regardless of `maxDelaySeconds`: many may be due at
/// once. A shorter `maxDelaySeconds` is not allowed.
pub const ON_TIME: SignedDuration = SignedDuration::from_secs(limits::LATENESS);
/// Greatest clock skew between machines. A record further in the future was written by a clock that was ahead.
pub const SKEW: SignedDuration = SignedDuration::from_mins(15);

/// The values that a rule sets. Absent members are not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Replicas of the `scale` subresource.
    pub replicas: Option<i32>,
    /// `minReplicas` of a FederatedHPA.
    pub min_replicas: Option<i32>,
    /// `maxReplicas` of a FederatedHPA.
    pub max_replicas: Option<i32>,
}

impl Action {
    /// This action with `later` on top: the result when they run one after the other.
    #[must_use]
    pub fn then(self, later: Self) -> Self {
        Self {
            replicas: later.replicas.or(self.replicas),
            min_replicas: later.min_replicas.or(self.min_replicas),
            max_replicas: later.max_replicas.or(self.max_replicas),
        }
    }

    /// The values of this action that `later` does not set.
    #[must_use]
    pub fn without(self, later: Self) -> Self {
        Self {
            replicas: self.replicas.filter(|_| later.replicas.is_none()),
            min_replicas: self.min_replicas.filter(|_| later.min_replicas.is_none()),
            max_replicas: self.max_replicas.filter(|_| later.max_replicas.is_none()),
        }
    }
}

/// A rule in parsed form.
#[derive(Clone, Debug)]
pub struct Rule<'a> {
    /// Its name.
    pub name: &'a str,
    /// When it runs.
    pub schedule: &'a Schedule,
    /// The zone of its schedule.
    pub zone: &'a TimeZone,
    /// Whether the rule is suspended.
    pub suspended: bool,
    /// How late a missed run may still be executed, at least [`ON_TIME`]; absent: until the next run is due.
    pub max_delay: Option<SignedDuration>,
    /// Number of executions kept in the history.
    pub successful_limit: usize,
    /// Number of failures kept in the history; may be 0.
    pub failed_limit: usize,
    /// What it sets.
    pub action: Action,
}

/// A run that was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// When it was due.
    pub scheduled: Timestamp,
    /// When it was executed.
    pub executed: Timestamp,
    /// What it set.
    pub applied: Action,
}

/// A run that was not executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRun {
    /// When it was due.
    pub scheduled: Timestamp,
    /// When it was abandoned.
    pub executed: Timestamp,
    /// Why.
    pub message: String,
}

/// History of one rule. Records are newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Name of the rule.
    pub rule: Arc<str>,
    /// The first run without a record; absent while the rule is suspended.
    pub next: Option<Timestamp>,
    /// Executed runs.
    pub executions: VecDeque<Execution>,
    /// Runs that were not executed.
    pub failures: VecDeque<FailedRun>,
}

impl History {
    /// The newest instant with a record.
    #[must_use]
    pub fn newest(&self) -> Timestamp {
        let executed = self.executions.iter().map(|execution| execution.scheduled);
        executed.chain(self.failures.iter().map(|failure| failure.scheduled)).max().unwrap_or(Timestamp::MIN)
    }

    /// When a run was last executed or abandoned.
    #[must_use]
    pub fn last(&self) -> Option<Timestamp> {
        let executed = self.executions.iter().map(|execution| execution.executed);
        executed.chain(self.failures.iter().map(|failure| failure.executed)).max()
    }

    /// Whether it was written by a clock ahead of `now`: such a record would keep the rule from running until then.
    fn ran_ahead(&self, now: Timestamp) -> bool {
        self.next.is_some_and(|next| next > now) && lies_ahead(self.newest(), now)
    }

    /// Drops records of future instants that were written by a clock ahead of time.
    pub(super) fn set_right(&mut self, now: Timestamp) {
        if self.ran_ahead(now) {
            self.executions.retain(|execution| !lies_ahead(execution.scheduled, now));
            self.failures.retain(|failure| !lies_ahead(failure.scheduled, now));
        }
    }
}

/// How far the history is valid for the current rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The history was written for exactly these rules (`status.observedGeneration` is the generation).
    pub in_step: bool,
    /// When the rules last changed, as far as known; earlier runs are not owed. Not later than now.
    pub since: Timestamp,
}

/// A run that can still be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Index of the rule.
    pub rule: usize,
    /// When it was due.
    pub scheduled: Timestamp,
    /// Retries are allowed up to and including this instant; absent: without limit.
    pub deadline: Option<Timestamp>,
}

/// A run that was missed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Index of the rule.
    pub rule: usize,
    /// When it was due.
    pub scheduled: Timestamp,
    /// Why it was too late.
    pub cause: Lateness,
}

/// Why a missed run is not executed late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// Later than `maxDelaySeconds`.
    BeyondMaxDelay(SignedDuration),
    /// The next run was due already.
    Overtaken,
}

impl Lateness {
    /// One sentence for the record; `last_error` is the error of the last attempt, if there was one.
    #[must_use]
    pub fn message(self, last_error: Option<&str>) -> String {
        let late = match self {
            Self::BeyondMaxDelay(delay) => format!("later than maxDelaySeconds ({})", delay.as_secs()),
            Self::Overtaken => "the next run was due".to_owned(),
        };
        match last_error {
            Some(error) => format!("not executed, {late}; last error: {error}"),
            None => format!("missed, {late}: the controller was not running or could not reach the API server"),
        }
    }
}

/// Missed runs of one rule that are older than those to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Older {
    /// Index of the rule.
    pub rule: usize,
    /// None of them was due before this instant.
    pub from: Timestamp,
    /// When the last of them was due.
    pub last: Timestamp,
    /// Why they were too late.
    pub cause: Lateness,
}

impl Older {
    /// When they were due, the last one first.
    pub fn instants<'a>(&self, rule: &'a Rule<'_>) -> impl Iterator<Item = Timestamp> + use<'a> {
        let from = self.from;
        let earlier = |at: &Timestamp| rule.schedule.previous_before(rule.zone, *at);
        std::iter::successors(Some(self.last), earlier).take_while(move |at| *at >= from)
    }

    /// Whether a run of its rule that was due at `scheduled` is one of them.
    #[must_use]
    pub fn holds(&self, scheduled: Timestamp) -> bool {
        (self.from..=self.last).contains(&scheduled)
    }
}

/// Due, missed and next runs of all rules of one object at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agenda {
    /// Runs to execute now, ordered by instant; rules of one instant in the order of the object.
    pub due: Vec<Due>,
    /// Runs to record as missed, oldest first. At most as many of each rule as its failure limit keeps.
    pub missed: Vec<Missed>,
    /// Missed runs that are older than these.
    pub older: Vec<Older>,
    /// For each rule the first run after now; absent while it is suspended.
    pub next: Vec<Option<Timestamp>>,
}

impl Agenda {
    /// Computes the due, missed and next runs at `now`.
    #[must_use]
    pub fn at(now: Timestamp, rules: &[Rule<'_>], histories: &[History], baseline: Baseline) -> Self {
        let mut agenda = Self::default();
        for (index, rule) in rules.iter().enumerate() {
            agenda.add(now, index, rule, histories.iter().find(|history| *history.rule == *rule.name), baseline);
        }
        agenda.due.sort_by_key(|due| (due.scheduled, due.rule));
        agenda.missed.sort_by_key(|missed| (missed.scheduled, missed.rule));
        agenda
    }

    fn add(&mut self, now: Timestamp, index: usize, rule: &Rule<'_>, history: Option<&History>, baseline: Baseline) {
        if rule.suspended {
            self.next.push(None);
            return;
        }
        let owed = first_owed(now, rule, history, baseline);
        let Some(first) = owed.filter(|first| *first <= now) else {
            self.next.push(owed);
            return;
        };
        let next = rule.schedule.next_after(rule.zone, now);
        self.next.push(next);
        // A run of the previous rules, or under older zone rules, still counts at its own instant.
        let last = last_until(rule, now).filter(|last| *last > first).unwrap_or(first);
        let (deadline, cause) = match rule.max_delay {
            Some(delay) => (last.checked_add(delay.max(ON_TIME)).ok(), Lateness::BeyondMaxDelay(delay)),
            None => (next, Lateness::Overtaken),
        };
        let mut kept = rule.failed_limit;
        if deadline.is_none_or(|deadline| now <= deadline) {
            self.due.push(Due { rule: index, scheduled: last, deadline });
        } else {
            self.missed.push(Missed { rule: index, scheduled: last, cause });
            kept = kept.saturating_sub(1);
        }
        self.add_overtaken(index, rule, (first, last), cause, kept);
    }

    /// Adds the runs from `first` until before `before`: the newest `limit` one by one, and the others together.
    fn add_overtaken(
        &mut self,
        index: usize,
        rule: &Rule<'_>,
        (first, mut before): (Timestamp, Timestamp),
        cause: Lateness,
        limit: usize,
    ) {
        let mut left = limit;
        while let Some(earlier) = rule.schedule.previous_before(rule.zone, before).filter(|earlier| *earlier >= first) {
            if left == 0 {
                self.older.push(Older { rule: index, from: first, last: earlier, cause });
                return;
            }
            self.missed.push(Missed { rule: index, scheduled: earlier, cause });
            (left, before) = (left.saturating_sub(1), earlier);
        }
    }

    /// The combined result of all due runs, in their order; `None` when none is due.
    #[must_use]
    pub fn action(&self, rules: &[Rule<'_>]) -> Option<Action> {
        let actions = self.due.iter().filter_map(|due| rules.get(due.rule)).map(|rule| rule.action);
        actions.reduce(Action::then)
    }

    /// The first instant later than now at which a run becomes due or is abandoned.
    #[must_use]
    pub fn wake(&self) -> Option<Timestamp> {
        self.next.iter().flatten().copied().min()
    }
}

/// The first run without a record.
fn first_owed(now: Timestamp, rule: &Rule<'_>, history: Option<&History>, baseline: Baseline) -> Option<Timestamp> {
    if history.is_some_and(|history| history.ran_ahead(now)) {
        return rule.schedule.next_after(rule.zone, now);
    }
    let ledger = history.and_then(|history| history.next);
    let changed = history.map_or(baseline.since, |history| baseline.since.max(history.newest())).min(now);
    match ledger {
        Some(next) if baseline.in_step && (next <= now || is_next(rule, next, now)) => Some(next),
        // Changed zone rules move future runs; past runs have their record. A clock that ran ahead named a later one.
        Some(_) if baseline.in_step => rule.schedule.next_after(rule.zone, now),
        // The object was not reconciled since its rules changed: the entry is the run owed before the change.
        Some(next) if next <= changed && rule.schedule.fires_at(rule.zone, next) => Some(next),
        _ => rule.schedule.next_after(rule.zone, changed),
    }
}

/// Whether a clock that differs from `now` as clocks do may have named this instant as the next run.
fn is_next(rule: &Rule<'_>, next: Timestamp, now: Timestamp) -> bool {
    let latest = || rule.schedule.next_after(rule.zone, now.checked_add(SKEW).ok()?);
    rule.schedule.fires_at(rule.zone, next) && (!lies_ahead(next, now) || latest().is_none_or(|latest| next <= latest))
}

/// Whether `instant` is further in the future than clocks differ.
fn lies_ahead(instant: Timestamp, now: Timestamp) -> bool {
    instant.duration_since(now) > SKEW
}

/// The last run up to `now`, `now` included.
fn last_until(rule: &Rule<'_>, now: Timestamp) -> Option<Timestamp> {
    rule.schedule.previous_before(rule.zone, now.checked_add(SignedDuration::from_nanos(1)).ok()?)
}
