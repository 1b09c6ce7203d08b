//! Several objects on one target: one reconcile at a time, and a run sets only what no later run of any of them has set.
//! So they leave what they would have left in time, in whatever order late runs are executed. No I/O.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Mutex as Lane, OwnedMutexGuard};

use super::cache::CronCache;
use super::entry::{Entry, TargetKey};
use super::execute::Run;
use crate::controller::intern;
use crate::decision::cron::ledger::{Due, Rule, SKEW};
use crate::decision::cron::settle::{Attempt, Outcome};
use crate::decision::cron::supersede::{Later, what_stands};

/// Targets with several objects that are being reconciled.
#[derive(Debug, Default)]
pub struct Lanes(Mutex<BTreeMap<TargetKey, Weak<Lane<()>>>>);

impl Lanes {
    /// Waits until no other reconcile on the target is in progress, and blocks others until the returned guard is
    /// dropped.
    pub async fn enter(&self, subject: TargetKey) -> OwnedMutexGuard<()> {
        self.lane(subject).lock_owned().await
    }

    fn lane(&self, subject: TargetKey) -> Arc<Lane<()>> {
        let mut lanes = self.0.lock();
        // At most as many remain as there are reconciles in progress.
        lanes.retain(|_, lane| lane.strong_count() > 0);
        if let Some(lane) = lanes.get(&subject).and_then(Weak::upgrade) {
            return lane;
        }
        let lane = Arc::new(Lane::default());
        lanes.insert(subject, Arc::downgrade(&lane));
        lane
    }
}

/// The runs that the object of `entry` owes at `now`: those to execute, and those that later runs on its target
/// superseded.
pub fn sort<'a>(
    cache: &CronCache,
    now: Timestamp,
    entry: &Entry,
    owed: &[&'a Due],
    rules: &'a [Rule<'a>],
) -> (Vec<Run<'a>>, Vec<Attempt>) {
    let others = if owed.is_empty() || !cache.is_shared(entry) { Vec::new() } else { cache.on_target(entry) };
    let later: Vec<Later<'_>> = others.iter().flat_map(|other| executed(now, other)).collect();
    let (mut runs, mut attempts) = (Vec::new(), Vec::new());
    for due in owed {
        let Some(rule) = rules.get(due.rule) else { continue };
        match what_stands(rule.action, due.scheduled, &later) {
            Ok(action) => runs.push(Run { due, rule, action }),
            Err(why) => attempts.push(Attempt {
                rule: intern::text(rule.name),
                scheduled: due.scheduled,
                at: now,
                outcome: Outcome::Superseded(why),
            }),
        }
    }
    (runs, attempts)
}

/// The last execution of each rule of `entry`, and those without a record.
fn executed(now: Timestamp, entry: &Entry) -> impl Iterator<Item = Later<'_>> {
    let recorded = entry.remembered.histories.iter().filter_map(move |history| {
        // Before the object was last written it may have had another target; a clock may have been ahead.
        let last = history
            .executions
            .iter()
            .find(|execution| execution.executed >= entry.written && execution.scheduled.duration_since(now) <= SKEW)?;
        Some(Later { object: &entry.key, rule: &history.rule, scheduled: last.scheduled, action: last.applied })
    });
    let unrecorded = entry.unrecorded.iter().filter_map(|attempt| {
        let Outcome::Executed(action) = attempt.outcome else { return None };
        Some(Later { object: &entry.key, rule: &attempt.rule, scheduled: attempt.scheduled, action })
    });
    recorded.chain(unrecorded)
}
