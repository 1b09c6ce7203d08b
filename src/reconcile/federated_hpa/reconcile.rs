//! One reconcile of one FederatedHPA: observe -> plan -> status -> take over -> apply, until nothing is left to do now.
//! Talks to the API server.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;
use tracing::warn;

use super::cache::View;
use super::cache::entry::{Binding, FederatedHpaEntry};
use super::observe::confirmation;
use super::observe::foreign_hpas;
use super::observe::members::TIMES;
use super::observe::{Observed, Words, observe, workload};
use super::status::conditions;
use super::status::publish::Published;
use super::status::{self, Planned};
use super::wholeness::{UNDECIDED, Wholeness};
use super::worker::FederatedHpaWorker;
use super::write::apply::ApplyContext;
use super::write::{manifest, preflight};
use crate::controller::engine::Ended;
use crate::controller::failure::{Failure, WriteError};
use crate::controller::key::Key;
use crate::controller::managers;
use crate::decision::backoff::{self, ErrorClass};
use crate::decision::plan::{Action, HpaVersion, Plan, plan};
use crate::runtime::clock::steady;
use crate::runtime::leader::{Leader, LeaseLost};

/// Most passes of one reconcile; each but the last wrote something.
const PASSES: usize = 8;
/// Conflicts in a row that are not reported as errors, for about four seconds: the watch has not delivered the other
/// write yet.
const CONFLICTS: u32 = 12;
/// A missing object is looked up again after this time, if no event reports it.
pub(super) const LOOK_AGAIN: SignedDuration = SignedDuration::from_secs(60);

/// State of an object whose reconcile is incomplete.
#[derive(Debug, Default)]
pub struct FederatedHpaRetryState {
    failures: u32,
    failure: Option<Failure>,
    /// Reconciles in a row that did not converge.
    endless: u32,
    /// No reconcile happens before this time.
    rests_until: Option<Instant>,
}

/// Result of one pass of a reconcile.
pub(crate) enum Progress {
    /// It wrote: run the next pass at once.
    Wrote,
    /// Nothing is left to do now; reconcile again at this time, if no event happens.
    Settled(Option<Timestamp>),
}

impl FederatedHpaWorker {
    pub(super) async fn reconcile_object(
        &self,
        leader: &Leader,
        key: &Key,
        mut retry_state: FederatedHpaRetryState,
    ) -> Result<Ended<FederatedHpaRetryState>, LeaseLost> {
        if let Err(failure) = self.leader_resync.read(&self.writer.client, &self.live.cache, leader).await {
            warn!(%failure, "failed to list Works; nothing is written until that succeeds");
            retry_state.failures = retry_state.failures.saturating_add(1);
            self.reporter.retried(failure.class);
            let retry = Some(backoff::wait(failure.class, retry_state.failures, key, failure.retry_after));
            return Ok(Ended { retry_state: Some(retry_state), wake: None, retry });
        }
        if let Some(until) = retry_state.rests_until.filter(|until| *until > steady()) {
            let retry = Some(until.saturating_duration_since(steady()));
            return Ok(Ended { retry_state: Some(retry_state), wake: None, retry });
        }
        for _ in 0..PASSES {
            let view = self.live.cache.view(key);
            if view.is_none() {
                self.forget(key);
            }
            match self.look(leader, key, view.as_ref(), &retry_state).await {
                Ok(Progress::Wrote) => {}
                Ok(Progress::Settled(_)) if retry_state.failure.take().is_some() => retry_state.failures = 0,
                Ok(Progress::Settled(wake)) => return Ok(Ended { retry_state: None, wake, retry: None }),
                Err(WriteError::LeaseLost(lost)) => return Err(lost),
                Err(WriteError::Failed(failure)) => return self.failed(leader, key, failure, retry_state).await,
            }
        }
        Ok(self.restless(key, retry_state))
    }

    /// Every pass wrote, and the next would too: another client reverts the writes, so further events must not speed up
    /// the reconciles.
    fn restless(&self, key: &Key, mut retry_state: FederatedHpaRetryState) -> Ended<FederatedHpaRetryState> {
        retry_state.endless = retry_state.endless.saturating_add(1);
        let wait = backoff::wait(ErrorClass::Refused, retry_state.endless, key, None);
        retry_state.rests_until = steady().checked_add(wait);
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
                self.reporter.failed(leader, &view.order, failure);
            }
            if let Err(WriteError::LeaseLost(lost)) = self.tell(leader, &view, &retry_state).await {
                return Err(lost);
            }
        }
        Ok(Ended { retry_state: Some(retry_state), wake: None, retry })
    }

    /// First cleans up objects left behind, then reconciles.
    async fn look(
        &self,
        leader: &Leader,
        key: &Key,
        view: Option<&View>,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        let swept = match self.sweep(leader, key, view).await? {
            Progress::Wrote => return Ok(Progress::Wrote),
            Progress::Settled(wake) => wake,
        };
        let Some(view) = view else { return Ok(Progress::Settled(swept)) };
        Ok(match self.pass(leader, view, retry_state).await? {
            Progress::Settled(wake) => Progress::Settled([swept, wake].into_iter().flatten().min()),
            wrote @ Progress::Wrote => wrote,
        })
    }

    async fn pass(
        &self,
        leader: &Leader,
        view: &View,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        let order = &view.order;
        match self.wholeness(order) {
            Wholeness::Whole => {}
            Wholeness::Unknown(why) => return self.mode_unknown(leader, order, why).await,
            Wholeness::Undecided => return self.mode_unknown(leader, order, UNDECIDED).await,
            Wholeness::Lost(patch, fields) => {
                self.writer.order_as(managers::MIRROR, leader, order, patch).await?;
                self.reporter.restored(leader, order, &fields);
                return Ok(Progress::Wrote);
            }
            Wholeness::Uncopied(patch) => {
                self.writer.order_as(managers::MIRROR, leader, order, patch).await?;
                return Ok(Progress::Wrote);
            }
        }
        if self.suspends(order) && !self.stays(order) {
            return self.suspend(leader, view).await;
        }
        if !self.serves(order) && order.held() {
            return self.release(leader, view).await;
        }
        if !self.serves(order) && !self.centralizes(order) {
            self.forget(&order.key());
            return Ok(Progress::Settled(None));
        }
        // A new workload is taken over as by a new object, after the previous one is handed back.
        if order.held() && order.taken_target() != order.target {
            return self.release(leader, view).await;
        }
        // A FederatedHPA that hands the workload back does so first.
        let acts = |rival: &FederatedHpaEntry| !rival.deleting() || rival.held();
        if let Some(rival) = view.rivals.iter().find(|rival| acts(rival) && rival.goes_before(order)) {
            return self.stand_back(leader, view, rival).await;
        }
        if self.centralizes(order) {
            return self.centralize(leader, view).await;
        }
        self.centralized.forget(&order.key());
        if !order.held() {
            return self.begin(leader, view).await;
        }
        let Some(binding) = bound(view) else { return self.unbound(leader, view).await };
        match Words::of(view, binding) {
            Ok(words) => self.plan(leader, view, binding, &words, retry_state).await,
            Err(why) => {
                let failure = preflight::unreadable(binding, why);
                self.say_why(leader, view, failure.reason, failure.message).await?;
                Ok(Progress::Settled(self.later()))
            }
        }
    }

    pub(super) fn later(&self) -> Option<Timestamp> {
        (self.clock)().checked_add(LOOK_AGAIN).ok()
    }

    /// Writes the status before the steps that depend on it, so that it survives a crash.
    async fn plan(
        &self,
        leader: &Leader,
        view: &View,
        binding: &Binding,
        words: &Words<'_>,
        retry_state: &FederatedHpaRetryState,
    ) -> Result<Progress, WriteError> {
        let now = (self.clock)();
        if confirmation::take_in(&self.live, view, now) {
            return Ok(Progress::Wrote);
        }
        let nobody = words.clone().admitting(Vec::new());
        let mut observed = observe(view, binding, &nobody, &self.live, now);
        // A suspended object takes no turn of another one.
        let waiting = if observed.request.suspended { &[] } else { &*observed.waiting };
        let (admitted, turn) = self.queue.ask(&view.order.key(), waiting, self.live.failover.rate);
        let words = words.clone().admitting(admitted);
        if !observed.waiting.is_empty() {
            observed = observe(view, binding, &words, &self.live, now);
        }
        let first = plan(&observed.request);
        let asks = observed.asks(&first);
        let informed;
        let (observed, plan) = if asks.is_empty() {
            (&observed, first)
        } else {
            self.live.capacity.hear(&asks, &observed.requirements).await;
            informed = observe(view, binding, &words, &self.live, now);
            (&informed, plan(&informed.request))
        };
        let status = status::planned(view, observed, &plan, retry_state.failure.as_ref(), now);
        let later = self.record(leader, view, observed, &plan, status).await?;
        self.reporter.unreplaced(leader, &view.order, &plan);
        if may_suspend(view, binding) && self.takeover.take_over(leader, view, binding).await? {
            return Ok(Progress::Wrote);
        }
        self.adopt(leader, view, &observed.foreign).await?;
        let quiet = conditions::upstream_until(view, now);
        if self.carry_out(ApplyContext { leader, view, binding, group: observed.group }, &plan).await? {
            return Ok(Progress::Wrote);
        }
        let asked = self.ask(view, binding, observed, now);
        let turn = turn.and_then(|wait| now.checked_add(wait).ok());
        let next = [observed.next, plan.next, asked, later, quiet, turn].into_iter().flatten().min();
        Ok(Progress::Settled(next))
    }

    /// Writes the status and reports it. Returns when to write it, where that can wait.
    async fn record(
        &self,
        leader: &Leader,
        view: &View,
        observed: &Observed<'_>,
        plan: &Plan<'_>,
        status: Planned<'_>,
    ) -> Result<Option<Timestamp>, WriteError> {
        if self.stands(&view.order, &status) {
            return Ok(None);
        }
        let status = self.too_large.fit(&view.order.key(), status.whole());
        match self.pace(leader, &view.order, &status, observed.request.now).await? {
            Published::Written => {}
            Published::Unchanged => return Ok(None),
            Published::Later(later) => return Ok(Some(later)),
        }
        if status::reassigns(&view.order, &status) {
            self.reporter.assigned(leader, &view.order, plan);
        }
        self.reporter.helped(leader, &view.order, &observed.request, plan);
        self.reporter.worsened(leader, &view.order, &status);
        Ok(None)
    }

    /// Applies the due steps of a plan. Returns whether a write must be observed first.
    async fn carry_out(&self, about: ApplyContext<'_>, plan: &Plan<'_>) -> Result<bool, WriteError> {
        let mut wrote = false;
        let mut bound: BTreeSet<&str> = BTreeSet::new();
        let mut entries = false;
        for step in plan.now() {
            match &step.action {
                Action::ApplyHpa { cluster, .. } | Action::DeleteHpa { cluster } => {
                    bound.insert(*cluster);
                }
                Action::UpdateBinding { .. } => entries = true,
                Action::Scale { .. } => {}
            }
            self.applier.apply(about, &step.action).await?;
            // The watch reports the replicas of a member.
            wrote |= !matches!(step.action, Action::Scale { .. });
        }
        let suspended = about.view.order.suspended();
        if !suspended {
            wrote |= self.refresh(about, &bound).await?;
        }
        if !entries && !replaces_evicted(about.binding, plan, suspended) {
            wrote |= self.applier.follow(about).await?;
        }
        Ok(wrote)
    }

    /// Queries clusters in the background for state that is not reported. Returns when to query again.
    fn ask(&self, view: &View, binding: &Binding, observed: &Observed<'_>, now: Timestamp) -> Option<Timestamp> {
        let workload = workload(binding);
        for name in &observed.unready {
            if let Some(place) = self.live.cache.place(name) {
                self.live.look_for_pods(&place.object, &workload);
            }
        }
        let pods = (!observed.unready.is_empty()).then(|| now.checked_add(TIMES.fresh).ok()).flatten();
        let foreign = foreign_hpas::look(&self.live, view, now);
        confirmation::look(&self.live, view, now).into_iter().chain(pods).chain(foreign).min()
    }

    /// Writes the HPAs that differ from the spec, with their current bounds.
    async fn refresh(&self, about: ApplyContext<'_>, bound: &BTreeSet<&str>) -> Result<bool, WriteError> {
        let view = about.view;
        let contents = [HpaVersion::V1, HpaVersion::V2].map(|version| manifest::content(&view.order.object, version));
        let [older, newer] = &contents;
        let mut wrote = false;
        for sent in view.sent.iter().filter(|sent| !bound.contains(sent.cluster())) {
            let Some(bounds) = sent.hpa.written else { continue };
            let version = sent.hpa.version;
            let content = if version == HpaVersion::V1 { older } else { newer };
            if *sent.content == **content {
                continue;
            }
            let outstanding = sent.hpa.ceiling();
            let held = sent.hpa.held;
            let action = Action::ApplyHpa { cluster: sent.cluster(), bounds, version, outstanding, held };
            self.applier.apply(about, &action).await?;
            wrote = true;
        }
        Ok(wrote)
    }

    /// Writes only the status.
    async fn tell(&self, leader: &Leader, view: &View, retry_state: &FederatedHpaRetryState) -> Result<(), WriteError> {
        let now = (self.clock)();
        let order = &view.order;
        let status = match bound(view) {
            _ if !self.serves(order) => return Ok(()),
            Some(binding) => {
                let Ok(words) = Words::of(view, binding) else { return Ok(()) };
                let words = words.admitting(Vec::new());
                let observed = observe(view, binding, &words, &self.live, now);
                let plan = plan(&observed.request);
                status::planned(view, &observed, &plan, retry_state.failure.as_ref(), now).whole()
            }
            None => {
                let Some(failure) = &retry_state.failure else { return Ok(()) };
                let parts = ("False", failure.reason, failure.message.clone());
                status::unplanned(order, parts.clone(), parts, now)
            }
        };
        let status = self.too_large.fit(&order.key(), status);
        self.count(order, &status);
        if status::stands(order, &status) {
            return Ok(());
        }
        // The failure was already reported.
        self.put(leader, order, &status).await
    }
}

/// Whether Karmada's scheduler may be suspended: while the object itself is, nobody else would divide a new binding.
fn may_suspend(view: &View, binding: &Binding) -> bool {
    !view.order.suspended() || !binding.entries().is_empty()
}

/// The binding, unless it is being deleted.
pub(super) fn bound(view: &View) -> Option<&Binding> {
    view.binding.as_deref().filter(|binding| binding.object.metadata.deletion_timestamp.is_none())
}

/// Whether a cluster is to be added while others are evicted. Karmada ends an eviction when all clusters of a division
/// that counts as scheduled are healthy: until the addition is written, the division must not count as scheduled. While
/// the object is suspended nothing is added.
fn replaces_evicted(binding: &Binding, plan: &Plan<'_>, suspended: bool) -> bool {
    let spec = &binding.object.spec;
    let has = |cluster: &str| binding.entries().iter().any(|(name, _)| name == cluster);
    let adds = |action: &Action<'_>| match action {
        Action::UpdateBinding { entries, .. } => entries.iter().any(|entry| !has(entry.cluster)),
        _ => false,
    };
    !spec.graceful_eviction_tasks.is_empty() && (suspended || plan.steps.iter().any(|step| adds(&step.action)))
}
