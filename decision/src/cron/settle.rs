//! The history of an object after a reconcile (docs/cron.md#late-runs). Pure.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::ledger::{Action, Agenda, Execution, FailedRun, History, Missed, Rule};

/// A run that was attempted and has no record yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Name of the rule.
    pub rule: Arc<str>,
    /// When it was due.
    pub scheduled: Timestamp,
    /// When it was last attempted.
    pub at: Timestamp,
    /// Result of the last attempt.
    pub outcome: Outcome,
}

/// Result of an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was executed and set these values.
    Executed(Action),
    /// It failed, and is retried until its deadline.
    Postponed(String),
    /// It failed and is not retried.
    GivenUp(String),
    /// It is not executed, or left nothing, because a later run has set the same values.
    Superseded(String),
}

impl Outcome {
    /// Whether the run is attempted again.
    #[must_use]
    pub const fn is_retried(&self) -> bool {
        matches!(self, Self::Postponed(_))
    }
}

/// The histories after the agenda of `now` was processed: one entry per rule, in the order of the rules; histories of
/// removed rules are dropped. A due run without an entry in `attempts` is still owed; a missed run was never attempted.
#[must_use]
pub fn settle(
    now: Timestamp,
    rules: &[Rule<'_>],
    histories: &[History],
    agenda: &Agenda,
    attempts: &[Attempt],
) -> Vec<History> {
    let missed = missed_runs(rules, agenda, attempts);
    let entry = |(index, rule): (usize, &Rule<'_>)| {
        let mut history = histories.iter().find(|history| *history.rule == *rule.name).cloned().unwrap_or_default();
        if *history.rule != *rule.name {
            history.rule = rule.name.into();
        }
        history.set_right(now);
        history.next = agenda.next.get(index).copied().flatten();
        for missed in missed.iter().filter(|missed| missed.rule == index) {
            match attempt(attempts, rule.name, missed.scheduled) {
                Some(Attempt { outcome: Outcome::Executed(action), at, .. }) => {
                    history.execute(*action, missed.scheduled, *at);
                }
                Some(Attempt { outcome: Outcome::Superseded(why), at, .. }) => {
                    history.fail(missed.scheduled, *at, why.clone());
                }
                Some(Attempt { outcome: Outcome::Postponed(error) | Outcome::GivenUp(error), .. }) => {
                    history.fail(missed.scheduled, now, missed.cause.message(Some(error)));
                }
                None => history.fail(missed.scheduled, now, missed.cause.message(None)),
            }
        }
        for due in agenda.due.iter().filter(|due| due.rule == index) {
            match attempt(attempts, rule.name, due.scheduled) {
                Some(Attempt { outcome: Outcome::Executed(action), at, .. }) => {
                    history.execute(*action, due.scheduled, *at);
                }
                Some(Attempt { outcome: Outcome::GivenUp(why) | Outcome::Superseded(why), at, .. }) => {
                    history.fail(due.scheduled, *at, why.clone());
                }
                Some(Attempt { outcome: Outcome::Postponed(_), .. }) | None => {
                    history.next = Some(due.scheduled);
                }
            }
        }
        history.executions.truncate(rule.successful_limit);
        history.failures.truncate(rule.failed_limit);
        // Kept until the next run, for many rules.
        history.executions.shrink_to_fit();
        history.failures.shrink_to_fit();
        history
    };
    rules.iter().enumerate().map(entry).collect()
}

/// The missed runs that are recorded or reported one by one, oldest first: those of the agenda, and before them older ones
/// that were attempted.
#[must_use]
pub fn missed_runs<'a>(rules: &[Rule<'_>], agenda: &'a Agenda, attempts: &[Attempt]) -> Cow<'a, [Missed]> {
    let attempted = agenda.older.iter().flat_map(|older| {
        let name = rules.get(older.rule).map(|rule| rule.name);
        let of_rule = attempts.iter().filter(move |attempt| Some(&*attempt.rule) == name);
        let held = of_rule.filter(|attempt| older.holds(attempt.scheduled));
        held.map(|attempt| Missed { rule: older.rule, scheduled: attempt.scheduled, cause: older.cause })
    });
    let mut missed: Vec<Missed> = attempted.collect();
    if missed.is_empty() {
        return Cow::Borrowed(&agenda.missed);
    }
    missed.sort_by_key(|missed| missed.scheduled);
    missed.extend_from_slice(&agenda.missed);
    Cow::Owned(missed)
}

/// Drops all but the newest `most` attempts of each rule.
pub fn keep_newest(attempts: &mut Vec<Attempt>, most: usize) {
    let mut kept: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    attempts.reverse();
    attempts.retain(|attempt| {
        let count = kept.entry(Arc::clone(&attempt.rule)).or_default();
        *count = count.saturating_add(1);
        *count <= most
    });
    attempts.reverse();
}

/// The recorded attempt of one run.
#[must_use]
pub fn attempt<'a>(attempts: &'a [Attempt], rule: &str, scheduled: Timestamp) -> Option<&'a Attempt> {
    attempts.iter().find(|attempt| *attempt.rule == *rule && attempt.scheduled == scheduled)
}

impl History {
    fn execute(&mut self, applied: Action, scheduled: Timestamp, executed: Timestamp) {
        self.executions.push_front(Execution { scheduled, executed, applied });
    }

    fn fail(&mut self, scheduled: Timestamp, executed: Timestamp, message: String) {
        self.failures.push_front(FailedRun { scheduled, executed, message });
    }
}
