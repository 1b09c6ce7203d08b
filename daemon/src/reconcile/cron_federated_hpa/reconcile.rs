//! Reconciles of one object: observe -> execute -> settle -> status, with at most one write to the target and one to the
//! status. A reconcile that executed runs leaves their records to another one, so that in a busy minute the targets of
//! all objects are written first. Talks to the API server.

use std::collections::BTreeSet;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::OwnedMutexGuard;
use tracing::{info, warn};

use super::cache::CronCache;
use super::crd_fields::FieldState;
use super::entry::Entry;
use super::execute::Executor;
use super::observe::{Observed, observe};
use super::read_before_run::Confirmer;
use super::report::Reporter;
use super::restore::make_whole;
use super::shared_target::{Lanes, sort};
use super::status::{self, Tried};
use crate::controller::engine::{Ended, QueueStats, Worker};
use crate::controller::failure::{Failure, WriteError};
use crate::controller::key::Key;
use crate::decision::backoff::{self, ErrorClass};
use crate::decision::cron::ledger::{Due, ON_TIME, Rule};
use crate::decision::cron::settle::{Attempt, Outcome, keep_newest, missed_runs};
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::ReconcileResult;

/// State of an object whose reconcile is incomplete; rebuilt when the process ends.
#[derive(Debug, Default)]
pub struct CronRetryState {
    /// Failures in a row.
    pub failures: u32,
    /// Runs that were attempted and have no record.
    pub attempts: Vec<Attempt>,
    /// Reason of the last failure.
    reason: Option<&'static str>,
    /// Whether only records are left, which can wait for the targets of other objects.
    records: bool,
}

impl CronRetryState {
    /// Whether there is nothing to retry.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.failures == 0 && self.attempts.is_empty()
    }

    /// The last try had no failure.
    fn recover(&mut self) {
        self.failures = 0;
        self.reason = None;
    }

    fn learn(&mut self, attempts: Vec<Attempt>) {
        // In a busy minute many objects wait for their record.
        self.attempts.reserve_exact(attempts.len());
        for attempt in attempts {
            self.attempts.retain(|known| known.rule != attempt.rule || known.scheduled != attempt.scheduled);
            self.attempts.push(attempt);
        }
    }
}

/// Dependencies of reconciles.
pub struct CronWorker {
    /// Client of the API server.
    pub client: Client,
    /// The objects.
    pub cache: Arc<CronCache>,
    /// Reads objects before the first runs of a term.
    pub confirmer: Confirmer,
    /// Writes to targets.
    pub executor: Executor,
    /// Serializes reconciles on one target.
    pub lanes: Lanes,
    /// The time of day.
    pub clock: WallClock,
    /// Reports to users and metrics.
    pub reporter: Reporter,
}

impl Worker for CronWorker {
    type RetryState = CronRetryState;

    async fn wait_for_change(&self) {
        self.cache.wait_for_change().await;
    }

    fn changed(&self) -> BTreeSet<Key> {
        self.reporter.known(self.cache.rules(), self.cache.unready());
        self.cache.changed()
    }

    fn keys(&self) -> Vec<Key> {
        self.cache.keys()
    }

    async fn reconcile(
        &self,
        leader: &Leader,
        key: &Key,
        retry_state: CronRetryState,
    ) -> Result<Ended<CronRetryState>, LeaseLost> {
        self.reconcile_object(leader, key, retry_state).await
    }

    fn can_wait(&self, retry_state: &CronRetryState) -> bool {
        retry_state.records
    }

    fn queue_stats(&self, queue_stats: QueueStats<'_>) {
        // The last record is not a change.
        self.reporter.known(self.cache.rules(), self.cache.unready());
        self.reporter.queue_stats(queue_stats);
    }

    fn dequeued(&self, waited: Duration) {
        self.reporter.dequeued(waited);
    }

    fn ended(&self, result: ReconcileResult, took: Duration) {
        self.reporter.ended(result, took);
    }
}

impl CronWorker {
    async fn reconcile_object(
        &self,
        leader: &Leader,
        key: &Key,
        mut retry_state: CronRetryState,
    ) -> Result<Ended<CronRetryState>, LeaseLost> {
        retry_state.records = false;
        // An object that is gone or being deleted sets nothing any more.
        let Some((entry, _lane)) = self.begin(key).await else {
            self.reporter.overdue(key, 0, None);
            return Ok(Ended { retry_state: None, wake: None, retry: None });
        };
        match &entry.fields {
            FieldState::Complete => {}
            FieldState::Pruned(_) => return self.restore(leader, key, &entry, retry_state).await,
            // The watch delivers the restored object.
            FieldState::NeedsCopy(_) => {
                if self.copy(leader, key, &entry).await? {
                    let retry_state = (!retry_state.is_over()).then_some(retry_state);
                    return Ok(Ended { retry_state, wake: None, retry: None });
                }
            }
        }
        let now = (self.clock)();
        let observed = observe(now, &entry);
        let rules = observed.rules(&entry);
        if let Some(ended) = self.confirm(leader, &entry, &observed, &rules, &mut retry_state).await {
            return Ok(ended);
        }
        let mut failure = self.carry_out(leader, &entry, &observed, &rules, &mut retry_state).await?;
        let owed = observed.owed(&rules, &retry_state.attempts);
        self.reporter.overdue(key, owed.len(), owed.iter().map(|due| due.scheduled).min());
        let wake = observed.wake(&owed);
        if retry_state.records {
            retry_state.recover();
            return Ok(Ended { retry_state: Some(retry_state), wake, retry: None });
        }
        if let Some(failure) = &failure {
            self.postponed(leader, key, &entry, failure, &retry_state);
        }
        match self.record(leader, key, &entry, &observed, failure.as_ref(), &retry_state).await {
            Ok(()) => retry_state.attempts.retain(|attempt| attempt.outcome.is_retried()),
            Err(WriteError::LeaseLost(lost)) => return Err(lost),
            Err(WriteError::Failed(unrecorded)) => {
                warn!(object = %key, error = %unrecorded, "failed to write the status");
                failure = Some(unrecorded);
            }
        }
        forget(&mut retry_state.attempts, &observed, &entry);
        let retry = failure.as_ref().map(|failure| self.wait(key, failure, &mut retry_state));
        if failure.is_none() {
            retry_state.recover();
        }
        Ok(Ended { retry_state: (!retry_state.is_over()).then_some(retry_state), wake, retry })
    }

    /// Reads the object before runs that an earlier leader may have executed; returns the end of the reconcile where it
    /// is not as it was known.
    async fn confirm(
        &self,
        leader: &Leader,
        entry: &Entry,
        observed: &Observed,
        rules: &[Rule<'_>],
        retry_state: &mut CronRetryState,
    ) -> Option<Ended<CronRetryState>> {
        let (key, owed) = (&entry.key, observed.owed(rules, &retry_state.attempts));
        if !self.confirmer.is_needed(leader, observed.now, rules, &owed, &retry_state.attempts) {
            return None;
        }
        let retry = match self.confirm_all(entry, observed.now, &owed).await {
            Ok(true) => return None,
            // The cache reports the change.
            Ok(false) => None,
            Err(failure) => {
                warn!(object = %key, error = %failure, "failed to read the object before the first run of this term");
                self.reporter.overdue(key, owed.len(), owed.iter().map(|due| due.scheduled).min());
                Some(self.wait(key, &failure, retry_state))
            }
        };
        let (retry_state, wake) = (mem::take(retry_state), observed.now.checked_add(ON_TIME).ok());
        Some(Ended { retry_state: (!retry_state.is_over()).then_some(retry_state), wake, retry })
    }

    /// Reads the object, and others on its target with a later run that the earlier leader may have executed. Returns
    /// whether the object is as it was known.
    async fn confirm_all(&self, entry: &Entry, now: Timestamp, owed: &[&Due]) -> Result<bool, Failure> {
        let first = owed.iter().map(|due| due.scheduled).min();
        for other in self.cache.on_target(entry).iter().filter(|other| other.key != entry.key) {
            if observe(now, other).agenda.due.iter().any(|due| Some(due.scheduled) > first) {
                self.confirmer.confirm(&self.client, &self.cache, other).await?;
            }
        }
        self.confirmer.confirm(&self.client, &self.cache, entry).await
    }

    /// Executes the runs that are owed; `retry_state` learns what became of each. Returns why some were not executed.
    async fn carry_out(
        &self,
        leader: &Leader,
        entry: &Arc<Entry>,
        observed: &Observed,
        rules: &[Rule<'_>],
        retry_state: &mut CronRetryState,
    ) -> Result<Option<Failure>, LeaseLost> {
        let owed = observed.owed(rules, &retry_state.attempts);
        let (runs, superseded) = sort(&self.cache, observed.now, entry, &owed, rules);
        retry_state.learn(superseded);
        let executed = self.executor.execute(leader, &entry.key, entry, &runs).await?;
        retry_state.records = executed.is_all_done();
        retry_state.learn(executed.attempts);
        if !runs.is_empty() {
            self.cache.attempted(entry, &retry_state.attempts);
        }
        Ok(executed.failure)
    }

    /// Copies the fields of a complete object into its annotation. Returns whether it did; runs need not wait for it.
    async fn copy(&self, leader: &Leader, key: &Key, entry: &Entry) -> Result<bool, LeaseLost> {
        match make_whole(&self.client, leader, key, entry).await {
            Ok(()) => Ok(true),
            Err(WriteError::LeaseLost(lost)) => Err(lost),
            Err(WriteError::Failed(failure)) => {
                warn!(object = %key, error = %failure, "failed to copy the object's fields into its annotation");
                Ok(false)
            }
        }
    }

    /// Restores lost fields before anything runs; the watch delivers the restored object.
    async fn restore(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Entry,
        mut retry_state: CronRetryState,
    ) -> Result<Ended<CronRetryState>, LeaseLost> {
        match make_whole(&self.client, leader, key, entry).await {
            Ok(()) => {
                self.reporter.restored(leader, key, entry, &entry.fields.lost());
                let retry_state = (!retry_state.is_over()).then_some(retry_state);
                Ok(Ended { retry_state, wake: None, retry: None })
            }
            Err(WriteError::LeaseLost(lost)) => Err(lost),
            Err(WriteError::Failed(failure)) => {
                warn!(object = %key, error = %failure, "failed to restore the fields that the object lost");
                let retry = Some(self.wait(key, &failure, &mut retry_state));
                Ok(Ended { retry_state: Some(retry_state), wake: None, retry })
            }
        }
    }

    /// The object, unless it is gone or being deleted. The guard blocks other reconciles on its target.
    async fn begin(&self, key: &Key) -> Option<(Arc<Entry>, Option<OwnedMutexGuard<()>>)> {
        let living = || self.cache.get(key).filter(|entry| !entry.deleting);
        let entry = living()?;
        if !self.cache.is_shared(&entry) {
            return Some((entry, None));
        }
        let lane = self.lanes.enter(entry.subject()).await;
        // The wait may have been long.
        Some((living()?, Some(lane)))
    }

    /// Writes the status when it changed, and reports the new records.
    async fn record(
        &self,
        leader: &Leader,
        key: &Key,
        entry: &Arc<Entry>,
        observed: &Observed,
        failure: Option<&Failure>,
        retry_state: &CronRetryState,
    ) -> Result<(), WriteError> {
        let histories = observed.settled(entry, &retry_state.attempts);
        let executed = retry_state.attempts.iter().any(|attempt| matches!(attempt.outcome, Outcome::Executed(_)));
        let tried = match failure {
            Some(failure) => Tried::Failed(failure),
            None if executed => Tried::Well,
            None => Tried::Not,
        };
        let remembered = status::remembered(entry, histories, tried, (self.clock)());
        if remembered == entry.remembered {
            return Ok(());
        }
        let written = status::write(&self.client, leader, key, entry, remembered).await?;
        self.reporter.recorded(leader, key, entry, &written, observed, &retry_state.attempts);
        self.cache.recorded(key, entry, written);
        Ok(())
    }

    /// Reports once that runs wait for their target.
    fn postponed(&self, leader: &Leader, key: &Key, entry: &Entry, failure: &Failure, retry_state: &CronRetryState) {
        if retry_state.reason == Some(failure.reason) {
            return;
        }
        let target = entry.target(key);
        if failure.class == ErrorClass::Transient {
            info!(object = %key, %target, reason = failure.reason, "{failure}");
        } else {
            warn!(object = %key, %target, reason = failure.reason, "{failure}");
        }
        self.reporter.postponed(leader, key, entry, failure);
    }

    fn wait(&self, key: &Key, failure: &Failure, retry_state: &mut CronRetryState) -> Duration {
        retry_state.failures = retry_state.failures.saturating_add(1);
        retry_state.reason = Some(failure.reason);
        self.reporter.retried(failure.class);
        backoff::wait(failure.class, retry_state.failures, key, failure.retry_after)
    }
}

/// Most attempts of a rule that are remembered while their status cannot be written.
const REMEMBERED: usize = 1000;

/// Drops attempts of runs that are no longer owed, and the oldest of too many.
fn forget(attempts: &mut Vec<Attempt>, observed: &Observed, entry: &Entry) {
    let rules = observed.rules(entry);
    let agenda = &observed.agenda;
    let due = agenda.due.iter().map(|due| (due.rule, due.scheduled));
    let missed = missed_runs(&rules, agenda, attempts);
    let owed: Vec<_> = due.chain(missed.iter().map(|missed| (missed.rule, missed.scheduled))).collect();
    let name = |index: usize| rules.get(index).map(|rule| rule.name);
    attempts.retain(|attempt| {
        owed.iter().any(|(rule, scheduled)| *scheduled == attempt.scheduled && name(*rule) == Some(&*attempt.rule))
    });
    keep_newest(attempts, REMEMBERED);
}
