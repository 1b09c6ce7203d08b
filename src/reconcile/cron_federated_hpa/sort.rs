//! Due runs of an object -> those to execute, and those that later runs on the same target supersede. A run waits for a
//! later one that is due, since that may be refused. No I/O.

use jiff::Timestamp;

use super::cache::CronCache;
use super::entry::Entry;
use super::execute::Run;
use super::observe;
use crate::controller::shared;
use crate::decision::cron::ledger::{Due, Rule};
use crate::decision::cron::settle::{Attempt, Outcome};
use crate::decision::cron::supersede::{Remainder, Standing};

/// Due runs of an object.
#[derive(Debug, Default)]
pub struct Sorted<'a> {
    /// Those to execute now.
    pub runs: Vec<Run<'a>>,
    /// What is known of the others.
    pub attempts: Vec<Attempt>,
    /// Whether one waits for a later run on its target.
    pub waits: bool,
}

/// Sorts the runs that the object of `entry` owes at `now`.
pub fn sort<'a>(
    cache: &CronCache,
    now: Timestamp,
    entry: &Entry,
    owed: &[&'a Due],
    rules: &'a [Rule<'a>],
) -> Sorted<'a> {
    let owed: Vec<(&Due, &Rule<'_>)> = owed.iter().filter_map(|due| Some((*due, rules.get(due.rule)?))).collect();
    let mut left: Vec<_> = owed.iter().map(|(due, rule)| Remainder::new(rule.action, due.scheduled)).collect();
    let shared = !left.is_empty() && cache.is_shared(entry);
    if shared {
        take_off(cache, now, entry, &mut left);
    }
    let mut sorted = Sorted::default();
    for ((due, rule), left) in owed.into_iter().zip(left) {
        let outcome = match left.standing() {
            Standing::Sets(action) => {
                sorted.runs.push(Run { due, rule, action });
                continue;
            }
            Standing::Superseded(later) => Outcome::Superseded(later.message()),
            Standing::Waits(later) => {
                sorted.waits = true;
                Outcome::Postponed(later.wait())
            }
        };
        sorted.attempts.push(Attempt { rule: shared::text(rule.name), scheduled: due.scheduled, at: now, outcome });
    }
    if shared && !sorted.waits {
        cache.wait(entry, false);
    }
    sorted
}

/// Takes off what later runs on the target set, newest first: the first of them most often sets all.
fn take_off(cache: &CronCache, now: Timestamp, entry: &Entry, left: &mut [Remainder]) {
    let target = entry.subject();
    for unknown in cache.unknown(&target, now) {
        cache.determined(&unknown, observe::newest(now, &unknown));
    }
    // Before the others are looked at, so that no change is missed.
    cache.wait(entry, true);
    let mut below = None;
    while let Some((newest, other, attempts)) = cache.newest_below(&target, below.as_ref())
        && left.iter().any(|left| left.is_open_to(newest))
    {
        let is_own = other.key == entry.key;
        // Due runs of one object are executed together.
        for later in observe::runs(now, &other, &attempts).iter().filter(|later| !is_own || later.executed) {
            for left in left.iter_mut() {
                left.beside(later);
            }
        }
        below = Some((newest, other.key.clone()));
    }
}
