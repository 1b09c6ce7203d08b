//! Due runs of an object -> those to execute, and those that later runs on the same target supersede. No I/O.

use jiff::Timestamp;

use super::cache::CronCache;
use super::entry::Entry;
use super::execute::Run;
use super::observe;
use crate::controller::shared;
use crate::decision::cron::ledger::{Due, Rule};
use crate::decision::cron::settle::{Attempt, Outcome};
use crate::decision::cron::supersede::Remainder;

/// Splits the runs that the object of `entry` owes at `now`.
pub fn sort<'a>(
    cache: &CronCache,
    now: Timestamp,
    entry: &Entry,
    owed: &[&'a Due],
    rules: &'a [Rule<'a>],
) -> (Vec<Run<'a>>, Vec<Attempt>) {
    let owed: Vec<(&Due, &Rule<'_>)> = owed.iter().filter_map(|due| Some((*due, rules.get(due.rule)?))).collect();
    let mut left: Vec<_> = owed.iter().map(|(due, rule)| Remainder::new(rule.action, due.scheduled)).collect();
    if !left.is_empty() && cache.is_shared(entry) {
        take_off(cache, now, entry, &mut left);
    }
    let (mut runs, mut superseded) = (Vec::new(), Vec::new());
    for ((due, rule), left) in owed.into_iter().zip(left) {
        match left.result() {
            Ok(action) => runs.push(Run { due, rule, action }),
            Err(later) => superseded.push(Attempt {
                rule: shared::text(rule.name),
                scheduled: due.scheduled,
                at: now,
                outcome: Outcome::Superseded(later.message()),
            }),
        }
    }
    (runs, superseded)
}

/// Takes off what later runs of other objects set, newest first: the first of them most often sets all.
fn take_off(cache: &CronCache, now: Timestamp, entry: &Entry, left: &mut [Remainder]) {
    let target = entry.subject();
    for unknown in cache.unknown(&target, now) {
        cache.determined(&unknown, observe::newest(now, &unknown));
    }
    let mut below = None;
    while let Some((newest, other)) = cache.newest_below(&target, below.as_ref())
        && left.iter().any(|left| left.is_open_to(newest))
    {
        if other.key != entry.key {
            for later in observe::runs(now, &other) {
                for left in left.iter_mut() {
                    left.beside(&later);
                }
            }
        }
        below = Some((newest, other.key.clone()));
    }
}
