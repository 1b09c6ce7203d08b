//! Entry + time -> due, missed and next runs (observe). No I/O.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::entry::Entry;
use crate::decision::cron::ledger::{Agenda, Due, History, Rule};
use crate::decision::cron::settle::{Attempt, attempt, settle};
use crate::decision::cron::size;
use crate::decision::validation::runnable::{RunnableRule, RunnableTiming};

/// Runs of one object at one moment.
#[derive(Debug)]
pub struct Observed {
    /// The moment of the observation.
    pub now: Timestamp,
    /// Due, missed and next runs. Its rules are those of [`Self::rules`].
    pub agenda: Agenda,
    /// Index of each rule that can run.
    running: Vec<usize>,
}

impl Observed {
    /// The rules that can run, in their order.
    pub fn rules<'a>(&'a self, entry: &'a Entry) -> Vec<Rule<'a>> {
        rules(&self.running, entry)
    }

    /// The history after `attempts`: one entry for each rule of the object.
    pub fn settled(&self, entry: &Entry, attempts: &[Attempt]) -> Vec<History> {
        let histories = &entry.remembered.histories;
        let mut settled = settle(self.now, &self.rules(entry), histories, &self.agenda, attempts).into_iter();
        let mut running = self.running.iter().copied().peekable();
        let history = |(index, rule): (usize, &RunnableRule)| {
            if running.next_if_eq(&index).is_some() {
                return settled.next().unwrap_or_default();
            }
            // A rule that cannot run keeps its history until it is fixed.
            let kept = histories.iter().find(|history| *history.rule == *rule.name).cloned();
            History { rule: Arc::clone(&rule.name), next: None, ..kept.unwrap_or_default() }
        };
        let mut histories: Vec<History> = entry.runnable.rules.iter().enumerate().map(history).collect();
        for failure in histories.iter_mut().flat_map(|history| history.failures.iter_mut()) {
            failure.message.truncate(size::fit(&failure.message, entry.runnable.message_room).len());
        }
        histories
    }

    /// Due runs that have not been attempted yet.
    pub fn owed<'a>(&'a self, rules: &[Rule<'_>], attempts: &[Attempt]) -> Vec<&'a Due> {
        let is_owed = |due: &&Due| {
            let known = rules.get(due.rule).and_then(|rule| attempt(attempts, rule.name, due.scheduled));
            known.is_none_or(|attempt| attempt.outcome.is_retried())
        };
        self.agenda.due.iter().filter(is_owed).collect()
    }

    /// When to reconcile again, if no event happens: at the next run, or when an owed run becomes too late.
    pub fn wake(&self, owed: &[&Due]) -> Option<Timestamp> {
        let too_late = |deadline: Timestamp| deadline.checked_add(SignedDuration::from_nanos(1)).ok();
        let deadlines = owed.iter().filter_map(|due| due.deadline).filter_map(too_late);
        self.agenda.wake().into_iter().chain(deadlines).min()
    }
}

/// Observes `entry` at `now`.
pub fn observe(now: Timestamp, entry: &Entry) -> Observed {
    let can_run = |(index, rule): (usize, &RunnableRule)| {
        (rule.timing.is_ok() && entry.runnable.refusal.is_none()).then_some(index)
    };
    let running: Vec<_> = entry.runnable.rules.iter().enumerate().filter_map(can_run).collect();
    let agenda = Agenda::at(now, &rules(&running, entry), &entry.remembered.histories, entry.baseline(now));
    Observed { now, agenda, running }
}

fn rules<'a>(running: &[usize], entry: &'a Entry) -> Vec<Rule<'a>> {
    let rule = |index: &usize| {
        let rule = entry.runnable.rules.get(*index)?;
        let RunnableTiming { zone, schedule } = rule.timing.as_ref().ok()?;
        Some(rule.ledger(schedule, zone))
    };
    running.iter().filter_map(rule).collect()
}
