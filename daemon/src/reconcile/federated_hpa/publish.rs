//! Publishes a status: writes it when it changed, updates metrics, and reports worse conditions as Events. Talks to the
//! API server.

use std::borrow::Cow;

use jiff::Timestamp;

use super::cache::View;
use super::cache::entry::FederatedHpaEntry;
use super::observe::{Observed, PlacementSpec};
use super::progress::{Published, bound};
use super::status;
use super::worker::FederatedHpaWorker;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::failure::{Failure, WriteError, reason};
use crate::controller::key::Key;
use crate::convert::instant::stored;
use crate::decision::defaults::{MIN_REPLICAS, Mode};
use crate::decision::plan::{Plan, plan};
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ObjectFigures;

/// How often a status that is too large is made smaller, by a tenth of what was rejected, before it is given up.
const REDUCTIONS: usize = 8;

/// The numbers of an object, for metrics.
fn figures(mode: &'static str, entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> ObjectFigures {
    let spec = &entry.object.spec;
    let counts = status.clusters.unwrap_or_default();
    let (mut leaving, mut assigned) = (0_i64, 0_i64);
    for desired in status.cluster_hpa_desired.iter().flatten() {
        match desired.max_replicas {
            Some(max) => assigned = assigned.saturating_add(max.into()),
            None => leaving = leaving.saturating_add(1),
        }
    }
    let divided = mode == Mode::Distributed.name();
    let unassigned = if divided { i64::from(spec.max_replicas).saturating_sub(assigned).max(0) } else { 0 };
    let conditions = status.conditions.iter().flatten();
    ObjectFigures {
        mode,
        unassigned,
        replicas: [
            spec.min_replicas.unwrap_or(MIN_REPLICAS).into(),
            spec.max_replicas.into(),
            status.current_replicas.unwrap_or_default().into(),
            status.desired_replicas.into(),
        ],
        clusters: [
            counts.total.into(),
            counts.ready.into(),
            counts.limited.into(),
            counts.unknown.into(),
            counts.scaled_to_zero.into(),
            leaving,
        ],
        conditions: conditions.map(|condition| (condition.type_.clone(), condition.status.clone())).collect(),
    }
}

impl FederatedHpaWorker {
    /// Updates the metrics of an object.
    pub(crate) fn count(&self, entry: &FederatedHpaEntry, status: &FederatedHPAStatus) {
        let conditions = status.conditions.iter().flatten();
        let words = conditions
            .map(|condition| (&*condition.type_, &*condition.status, condition.reason.as_deref().unwrap_or_default()));
        let key = entry.key();
        self.reporter.metrics.conditions.set(&key.to_string(), words);
        let mode = self.mode(entry).map_or("", Mode::name);
        self.reporter.metrics.objects.set((&key.namespace, &key.name), &figures(mode, entry, status));
    }

    /// The status after a plan.
    pub(super) fn planned(
        &self,
        view: &View,
        observed: &Observed<'_>,
        plan: &Plan<'_>,
        failure: Option<&Failure>,
        now: Timestamp,
    ) -> FederatedHPAStatus {
        let required = self.live.failover.requires_cover(&view.federated_hpa);
        let covered = status::covered(&view.federated_hpa, &self.coverage, required, now);
        let mut status = status::planned(view, observed, plan, failure, now);
        status.conditions.get_or_insert_default().extend(covered);
        status
    }

    /// Writes only the status.
    pub(super) async fn publish_status(
        &self,
        leader: &Leader,
        view: &View,
        failure: Option<&Failure>,
    ) -> Result<(), WriteError> {
        let now = (self.clock)();
        let entry = &view.federated_hpa;
        let status = match bound(view) {
            _ if !self.serves(entry) => return Ok(()),
            // What is not taken over has no plan: its waits would pass before anything is written.
            Some(binding) if entry.held() && !entry.is_retargeted() => {
                let Ok(placement_spec) = PlacementSpec::of(view, binding) else { return Ok(()) };
                let placement_spec = placement_spec.admitting(Vec::new());
                let mut observed = self.observe(leader, view, binding, &placement_spec, now);
                observed.leave_promised(&self.live, &mut self.live.ledger.lock(), view, binding, now);
                let plan = plan(&observed.request);
                self.planned(view, &observed, &plan, failure, now)
            }
            _ => {
                let Some(failure) = failure else { return Ok(()) };
                let parts = ("False", failure.reason, failure.message.clone());
                // What fails of a hand-back does not end it.
                let hand_back_start_time = entry.hand_back_start().and_then(stored);
                FederatedHPAStatus { hand_back_start_time, ..status::unplanned(entry, parts.clone(), parts, now) }
            }
        };
        let status = self.too_large.fit(&entry.key(), status);
        self.count(entry, &status);
        if status::is_stored(entry, &status) {
            return Ok(());
        }
        // The failure was already reported.
        self.put(leader, entry, &status).await
    }

    /// Removes the metrics of an object that is gone, or no longer handled.
    pub(crate) fn forget(&self, key: &Key) {
        self.applier.forget(key);
        self.status_throttle.forget(key);
        self.too_large.forget(key);
        self.centralized.forget(key);
        self.pauses.forget(key);
        self.release_claims(key);
        self.queue.forget(&key.to_string());
        self.reporter.metrics.conditions.forget(&key.to_string());
        self.reporter.metrics.objects.forget((&key.namespace, &key.name));
    }

    /// What an object was promised, and the clusters that it was assigned, others may have.
    pub(super) fn release_claims(&self, key: &Key) {
        self.live.ledger.lock().forget(&key.to_string());
        self.live.cache.unassign(key);
    }

    /// Writes the status where it differs, updates the metrics, and reports conditions that became worse.
    pub(crate) async fn publish(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
    ) -> Result<(), WriteError> {
        self.count(entry, status);
        if !status::is_stored(entry, status) {
            self.put(leader, entry, status).await?;
            self.reporter.worsened(leader, entry, status);
        }
        Ok(())
    }

    /// Writes the status where it differs, and updates the metrics. Measurements and words alone are written at their
    /// pace. The caller reports what was written.
    pub(crate) async fn publish_throttled(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
        now: Timestamp,
    ) -> Result<Published, WriteError> {
        self.count(entry, status);
        if status::is_stored(entry, status) {
            return Ok(Published::Unchanged);
        }
        if let Some(later) = self.status_throttle.due(entry, status, now) {
            return Ok(Published::Later(later));
        }
        self.status_throttle.wrote(&entry.key(), now);
        self.put(leader, entry, status).await?;
        Ok(Published::Written)
    }

    /// Writes the status; where it is too large for the store, without information that is only shown, and then with a
    /// smaller ledger: stored state must be written before the steps that depend on it.
    pub(crate) async fn put(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
    ) -> Result<(), WriteError> {
        let key = entry.key();
        let mut written = status::write(&self.writer, leader, entry, status).await;
        let mut tried = Cow::Borrowed(status);
        for _ in 0..REDUCTIONS {
            match &written {
                Err(WriteError::Failed(failure)) if failure.reason == reason::TOO_LARGE => {}
                _ => break,
            }
            self.too_large.refuse(&key, &tried);
            let smaller = self.too_large.fit(&key, tried.clone().into_owned());
            if smaller == *tried {
                break;
            }
            written = status::write(&self.writer, leader, entry, &smaller).await;
            tried = Cow::Owned(smaller);
        }
        if written.is_ok() {
            self.reporter.status_written();
        }
        written
    }
}
