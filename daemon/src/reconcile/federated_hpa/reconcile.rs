//! One reconcile of one FederatedHPA: observe -> plan -> status -> take over -> apply, until nothing is left to do now.
//! Talks to the API server.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tracing::warn;

use super::cache::View;
use super::cache::entry::Binding;
use super::crd_fields::FieldState;
use super::evictions::evicts_unreplaced;
use super::execute::{Outcome, execute};
use super::observe::confirmation;
use super::observe::foreign_hpas::{self, Found};
use super::observe::members::TIMES;
use super::observe::promised::standing;
use super::observe::upstream::upstream_until;
use super::observe::{Observed, PlacementSpec, observe, whole_seconds, workload};
use super::preflight::divided;
use super::progress::{LOOK_AGAIN, Progress, Published};
use super::status;
use super::worker::FederatedHpaWorker;
use super::write::apply::ApplyContext;
use super::write::binding_replicas::is_counted;
use super::write::resend;
use super::write::takeover::Taken;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::engine::Ended;
use crate::controller::failure::{Failure, WriteError};
use crate::controller::key::Key;
use crate::decision::backoff::{self, ErrorClass};
use crate::decision::ledger::Rank;
use crate::decision::phase::{ObjectPhase, phase};
use crate::decision::plan::Plan;
use crate::runtime::clock::steady;
use crate::runtime::leader::{Leader, LeaseLost};

/// Most passes of one reconcile; each but the last wrote something.
const PASSES: usize = 8;
/// Conflicts in a row that are not reported as errors, for about four seconds: the watch has not delivered the other
/// write yet.
const CONFLICTS: u32 = 12;
/// What is to be planned again soon is planned after this time at the latest, also where other writes wait longer.
const AGAIN: SignedDuration = SignedDuration::from_secs(1);

/// State of an object whose reconcile is incomplete.
#[derive(Debug, Default)]
pub struct FederatedHpaRetryState {
    failures: u32,
    failure: Option<Failure>,
    /// Reconciles in a row that did not converge.
    endless: u32,
    /// No reconcile happens before this time.
    backoff_until: Option<Instant>,
}

impl FederatedHpaWorker {
    pub(super) async fn reconcile_object(
        &self,
        leader: &Leader,
        key: &Key,
        mut retry_state: FederatedHpaRetryState,
    ) -> Result<Ended<FederatedHpaRetryState>, LeaseLost> {
        if let Err(failure) = self.leader_resync.read(&self.writer.client, &self.live.cache, leader).await {
            retry_state.failures = retry_state.failures.saturating_add(1);
            self.reporter.retried(failure.class);
            let retry = Some(backoff::wait(failure.class, retry_state.failures, key, failure.retry_after));
            return Ok(Ended { retry_state: Some(retry_state), wake: None, retry });
        }
        if let Some(until) = retry_state.backoff_until.filter(|until| *until > steady()) {
            let retry = Some(until.saturating_duration_since(steady()));
            return Ok(Ended { retry_state: Some(retry_state), wake: None, retry });
        }
        for _ in 0..PASSES {
            let view = self.live.cache.view(key);
            if view.is_none() {
                self.forget(key);
            }
            match self.run_pass(leader, key, view.as_ref(), &retry_state).await {
                Ok(Progress::Wrote) => {}
                Ok(Progress::Settled(_)) if retry_state.failure.take().is_some() => retry_state.failures = 0,
                Ok(Progress::Settled(wake)) => return Ok(Ended { retry_state: None, wake, retry: None }),
                Ok(Progress::Failed(failure, wake)) => {
                    let ended = self.failed(leader, key, failure, retry_state).await?;
                    return Ok(Ended { wake, ..ended });
                }
                Err(WriteError::LeaseLost(lost)) => return Err(lost),
                Err(WriteError::Failed(failure)) => return self.failed(leader, key, failure, retry_state).await,
            }
        }
        Ok(self.back_off(key, retry_state))
    }

    /// Every pass wrote, and the next would too: another client reverts the writes, so further events must not speed up
    /// the reconciles.
    fn back_off(&self, key: &Key, mut retry_state: FederatedHpaRetryState) -> Ended<FederatedHpaRetryState> {
        retry_state.endless = retry_state.endless.saturating_add(1);
        let wait = backoff::wait(ErrorClass::Refused, retry_state.endless, key, None);
        retry_state.backoff_until = steady().checked_add(wait);
        warn!(object = %key, seconds = wait.as_secs_f64(), "reconcile did not converge; backing off");
        self.reporter.retried(ErrorClass::Refused);
        Ended { retry_state: Some(retry_state), wake: None, retry: Some(wait) }
    }

    /// Reports a failure once, and returns when to retry.
    async fn failed(
        &self,
        leader: &Leader,
        key: &Key,
        failure: Failure,
        mut retry_state: FederatedHpaRetryState,
    ) -> Result<Ended<FederatedHpaRetryState>, LeaseLost> {
        retry_state.failures = retry_state.failures.saturating_add(1);
        self.reporter.retried(failure.class);
        let retry = Some(backoff::wait(failure.class, retry_state.failures, key, failure.retry_after));
        // Another client wrote first: not an error yet.
        if failure.class == ErrorClass::Conflict && retry_state.failures < CONFLICTS {
            return Ok(Ended { retry_state: Some(retry_state), wake: None, retry });
        }
        let new = retry_state.failure.as_ref().is_none_or(|known| known.reason != failure.reason);
        retry_state.failure = Some(failure);
        if let Some(view) = self.live.cache.view(key) {
            if let Some(failure) = retry_state.failure.as_ref().filter(|_| new) {
                self.reporter.failed(leader, &view.federated_hpa, failure);
            }
            if let Err(WriteError::LeaseLost(lost)) =
                self.publish_status(leader, &view, retry_state.failure.as_ref()).await
            {
                return Err(lost);
            }
        }
        Ok(Ended { retry_state: Some(retry_state), wake: None, retry })
    }

    /// First holds what was held, and cleans up objects left behind, then reconciles.
    async fn run_pass(
        &self,
        leader: &Leader,
        key: &Key,
        view: Option<&View>,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        if let Some(view) = view
            && self.hold_again(leader, view).await?
        {
            return Ok(Progress::Wrote);
        }
        let swept = match self.sweep(leader, key, view).await? {
            Progress::Settled(wake) => wake,
            unsettled => return Ok(unsettled),
        };
        let Some(view) = view else { return Ok(Progress::Settled(swept)) };
        let with = |wake: Option<Timestamp>| [swept, wake].into_iter().flatten().min();
        Ok(match self.pass(leader, view, retry_state).await? {
            Progress::Settled(wake) => Progress::Settled(with(wake)),
            Progress::Failed(failure, wake) => Progress::Failed(failure, with(wake)),
            Progress::Wrote => Progress::Wrote,
        })
    }

    async fn pass(
        &self,
        leader: &Leader,
        view: &View,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        let entry = &view.federated_hpa;
        let key = entry.key();
        let fields = self.field_state(entry);
        let phase = phase(&self.facts(view, matches!(fields, FieldState::Complete)));
        if !phase.hands_back() {
            // A hand-back that did not happen: the next one may wait as long.
            self.takeover.releases.forget(&key);
        }
        if !matches!(phase, ObjectPhase::Incomplete | ObjectPhase::HandingBack | ObjectPhase::Centralized) {
            // Afterwards it begins with the current replicas, as under a new leader.
            self.centralized.forget(&key);
        }
        if !phase.plans() {
            self.release_claims(&key);
            if phase != ObjectPhase::Incomplete {
                self.pauses.pause(&key);
            }
        }
        match phase {
            ObjectPhase::Incomplete => self.complete(leader, entry, fields).await,
            ObjectPhase::Suspended => self.suspend(leader, view).await,
            ObjectPhase::HandingBack => self.release(leader, view).await,
            ObjectPhase::Released => {
                self.forget(&key);
                Ok(Progress::Settled(None))
            }
            ObjectPhase::Yielding => self.yield_to_rival(leader, view).await,
            ObjectPhase::Centralized => self.centralize(leader, view).await,
            ObjectPhase::TakingOver => self.begin(leader, view).await,
            ObjectPhase::Waiting => self.await_binding(leader, view).await,
            ObjectPhase::Replacing | ObjectPhase::Divided => self.divide(leader, view, retry_state).await,
        }
    }

    pub(super) fn later(&self) -> Option<Timestamp> {
        (self.clock)().checked_add(LOOK_AGAIN).ok()
    }

    /// Observes as the leader that acts.
    pub(super) fn observe<'a>(
        &self,
        leader: &Leader,
        view: &'a View,
        binding: &'a Binding,
        placement_spec: &'a PlacementSpec<'a>,
        now: Timestamp,
    ) -> Observed<'a> {
        let mut observed = observe(view, binding, placement_spec, &self.live, now);
        // Nobody was asked for anything while no plan was possible.
        let anew = self.pauses.end(&view.federated_hpa.key(), now);
        observed.request.acts_since = anew.max(Some(leader.acts_since())).map(whole_seconds);
        observed.request.entries_count = binding.divides() && is_counted(&binding.object);
        let ago = self.applier.followed_ago(&view.federated_hpa.key());
        observed.request.entries_followed = ago.and_then(|ago| now.checked_sub(ago).ok()).map(whole_seconds);
        observed
    }

    /// Divides a workload that is held, by its binding.
    async fn divide(
        &self,
        leader: &Leader,
        view: &View,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        if let Some((binding, placement_spec)) = divided(view) {
            return self.plan(leader, view, binding, &placement_spec, retry_state).await;
        }
        self.release_claims(&view.federated_hpa.key());
        self.await_binding(leader, view).await
    }

    /// Writes the status before the steps that depend on it, so that it survives a crash.
    async fn plan(
        &self,
        leader: &Leader,
        view: &View,
        binding: &Binding,
        placement_spec: &PlacementSpec<'_>,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        let now = (self.clock)();
        if confirmation::store_responses(&self.live, view, now) {
            return Ok(Progress::Wrote);
        }
        let none = placement_spec.clone().admitting(Vec::new());
        let mut observed = self.observe(leader, view, binding, &none, now);
        // A suspended object takes no turn of another one.
        let waiting = if observed.request.suspended { &[] } else { &*observed.waiting };
        let standing = standing(view, binding, Rank::Replace);
        let (admitted, turn) = self.queue.ask(&standing, waiting, self.live.failover.rate);
        let placement_spec = placement_spec.clone().admitting(admitted);
        if !observed.waiting.is_empty() {
            observed = self.observe(leader, view, binding, &placement_spec, now);
        }
        let (first, waits) = {
            let mut ledger = self.live.ledger.lock();
            observed.leave_promised(&self.live, &mut ledger, view, binding, now);
            observed.promise(&mut ledger, view, binding, now)
        };
        let asks = observed.asks(&first);
        let mut informed;
        let (observed, plan, waits) = if asks.is_empty() {
            (&observed, first, waits)
        } else {
            self.live.capacity.refresh(&asks, &observed.requirements).await;
            informed = self.observe(leader, view, binding, &placement_spec, now);
            let (plan, waits) = {
                let mut ledger = self.live.ledger.lock();
                informed.leave_promised(&self.live, &mut ledger, view, binding, now);
                informed.promise(&mut ledger, view, binding, now)
            };
            (&informed, plan, waits)
        };
        if !self.live.cache.assign(&view.federated_hpa.key(), binding, &view.neighbours, &plan) {
            return Ok(Progress::Settled(Some(now)));
        }
        let status = self.planned(view, observed, &plan, retry_state.failure.as_ref(), now);
        let later = self.record(leader, view, observed, &plan, status).await?;
        self.reporter.unreplaced(leader, &view.federated_hpa, &plan);
        self.reporter.refused(&view.federated_hpa, &plan);
        let Taken::Held(untaken) = self.begin_writes(leader, view, binding, &observed.foreign).await? else {
            return Ok(Progress::Wrote);
        };
        let quiet = upstream_until(&view.federated_hpa, now);
        let evicts = evicts_unreplaced(binding, &plan);
        let selected = observed.selected();
        let about = ApplyContext { leader, view, binding, group: observed.group, evicts, selected: &selected };
        let Outcome { wrote, failed, again } = execute(&self.applier, about, &plan).await?;
        let failed = failed.or(untaken);
        if wrote && failed.is_none() {
            return Ok(Progress::Wrote);
        }
        // What one cluster refuses keeps no other one from being asked.
        let asked = self.ask(view, binding, observed, now);
        let turn = turn.and_then(|wait| now.checked_add(wait).ok());
        let again = again.then(|| now.checked_add(AGAIN).ok()).flatten();
        let next = [observed.next, plan.next, waits, asked, later, quiet, turn, again].into_iter().flatten().min();
        Ok(failed.map_or(Progress::Settled(next), |failure| Progress::Failed(failure, next)))
    }

    /// Takes over the workload, and the HPAs of members that the object adopts. What fails of it for a workload that is
    /// held holds back no bounds.
    async fn begin_writes(
        &self,
        leader: &Leader,
        view: &View,
        binding: &Binding,
        foreign: &[Found],
    ) -> Result<Taken, WriteError> {
        let suspends = may_suspend(view, binding);
        let taken = if suspends { self.takeover.take_over(leader, view, binding).await? } else { Taken::Held(None) };
        let Taken::Held(unlabelled) = taken else { return Ok(taken) };
        match self.adopt(leader, view, foreign).await {
            Ok(()) => Ok(Taken::Held(unlabelled)),
            Err(WriteError::Failed(failure)) => Ok(Taken::Held(unlabelled.or(Some(failure)))),
            Err(lost) => Err(lost),
        }
    }

    /// Writes the status and reports it. Returns when to write it, where that can wait: with many objects at once, bounds
    /// are written before what is only shown.
    async fn record(
        &self,
        leader: &Leader,
        view: &View,
        observed: &Observed<'_>,
        plan: &Plan<'_>,
        status: FederatedHPAStatus,
    ) -> Result<Option<Timestamp>, WriteError> {
        let status = self.too_large.fit(&view.federated_hpa.key(), status);
        if self.reporter.metrics.is_busy()
            && !status::is_stored(&view.federated_hpa, &status)
            && status::ledger_is_stored(&view.federated_hpa, &status)
            && let Some(later) = self.status_throttle.behind(&view.federated_hpa.key(), observed.request.now)
        {
            self.count(&view.federated_hpa, &status);
            return Ok(Some(later));
        }
        match self.publish_throttled(leader, &view.federated_hpa, &status, observed.request.now).await? {
            Published::Written => {}
            Published::Unchanged => return Ok(None),
            Published::Later(later) => return Ok(Some(later)),
        }
        if status::reassigns(&view.federated_hpa, &status) {
            self.reporter.assigned(leader, &view.federated_hpa, plan);
        }
        self.reporter.helped(leader, &view.federated_hpa, &observed.request, plan);
        self.reporter.worsened(leader, &view.federated_hpa, &status);
        Ok(None)
    }

    /// Queries clusters in the background for state that is not reported. Returns when to query again.
    fn ask(&self, view: &View, binding: &Binding, observed: &Observed<'_>, now: Timestamp) -> Option<Timestamp> {
        let workload = workload(binding);
        for name in &observed.unready {
            if let Some(cluster) = self.live.cache.cluster(name) {
                self.live.refresh_unschedulable(&cluster.object, &workload);
            }
        }
        for name in &observed.unplaced {
            if let Some(cluster) = self.live.cache.cluster(name) {
                self.live.refresh_nodes(&cluster.object, &workload);
            }
        }
        let pods = (!observed.unready.is_empty()).then(|| now.checked_add(TIMES.fresh).ok()).flatten();
        let foreign = foreign_hpas::refresh(&self.live, view, now);
        let missed = resend::next(view, now);
        confirmation::refresh(&self.live, view, now).into_iter().chain(pods).chain(foreign).chain(missed).min()
    }
}

/// Whether Karmada's scheduler may be suspended: while the object itself is, nothing else would divide a new binding.
fn may_suspend(view: &View, binding: &Binding) -> bool {
    !view.federated_hpa.suspended() || binding.is_divided()
}
