//! Hands a workload back to Karmada and shows the progress (docs/design.md#on-the-wire). Talks to the API server.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tracing::debug;

use super::cache::View;
use super::cache::entry::FederatedHpaEntry;
use super::observe::observe;
use super::preflight::divided;
use super::progress::{LOOK_AGAIN, Progress};
use super::status;
use super::worker::FederatedHpaWorker;
use super::write::release::{Release, Released};
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::controller::failure::WriteError;
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::{Cluster, ClusterState};
use crate::runtime::leader::Leader;

impl FederatedHpaWorker {
    /// Whether clusters that leave are replaced before the workload of an object that became Centralized is handed back. A
    /// change of mode moves no pod, and karmada-scheduler removes at once what runs in a cluster that is no candidate. The
    /// plan ends each wait after `--replacement-timeout`; where its writes are refused, this does.
    pub(super) fn replaces_first(&self, view: &View) -> bool {
        let entry = &view.federated_hpa;
        if !entry.held() || !self.centralizes(entry) || self.suspends(entry) || entry.is_retargeted() {
            return false;
        }
        let Some((binding, placement_spec)) = divided(view) else { return false };
        let none = placement_spec.admitting(Vec::new());
        let request = observe(view, binding, &none, &self.live, (self.clock)()).request;
        let leaves = |cluster: &Cluster<'_>| matches!(cluster.state, ClusterState::Leaving { .. });
        let runs = |cluster: &Cluster<'_>| leaves(cluster) && cluster.may_run() > 0;
        // Without a candidate karmada-scheduler finds none either, and removes nothing.
        let stays = |cluster: &Cluster<'_>| matches!(cluster.state, ClusterState::Serving | ClusterState::Silent);
        let replaces = request.clusters.iter().any(runs) && request.clusters.iter().any(stays);
        replaces && self.takeover.releases.waits(&entry.key(), request.replacement)
    }

    /// Whether the hand-back of the workload has begun, by its status or as this process knows.
    pub(super) fn has_begun(&self, view: &View) -> bool {
        let entry = &view.federated_hpa;
        let gone = || view.member_hpas.iter().all(|member_hpa| member_hpa.deleting());
        entry.hand_back_start().is_some() || self.takeover.releases.has_begun(&entry.key()) && gone()
    }

    /// Hands the workload back, one step each pass.
    pub(super) async fn release(&self, leader: &Leader, view: &View) -> Result<Progress, WriteError> {
        let entry = &view.federated_hpa;
        let now = (self.clock)();
        let key = entry.key();
        let waited = waited(entry, now);
        let (takeover, applier, retires) = (&self.takeover, &self.applier, self.retires());
        let release = Release { takeover, applier, leader, view, key: &key, waited, retires };
        let undone = match release.go_on().await? {
            Released::Partly => return Ok(Progress::Wrote),
            Released::Waits(time) => {
                let wrote = self.show(leader, entry, &status::handing_back(entry, now)).await?;
                let later = SignedDuration::try_from(time).unwrap_or(LOOK_AGAIN);
                return Ok(if wrote { Progress::Wrote } else { Progress::Settled(now.checked_add(later).ok()) });
            }
            Released::Wholly(undone) => undone,
        };
        if !entry.goes() && self.show(leader, entry, &status::handed_back(entry, now)).await? {
            return Ok(Progress::Wrote);
        }
        self.takeover.let_go(leader, entry).await?;
        self.reporter.released(leader, entry, &undone);
        Ok(Progress::Wrote)
    }

    /// Writes a status for information only: when it is rejected the release continues. Returns whether it was written.
    async fn show(
        &self,
        leader: &Leader,
        entry: &FederatedHpaEntry,
        status: &FederatedHPAStatus,
    ) -> Result<bool, WriteError> {
        self.count(entry, status);
        if status::is_stored(entry, status) {
            return Ok(false);
        }
        match self.put(leader, entry, status).await {
            Err(WriteError::Failed(failure)) if failure.class != ErrorClass::Conflict => {
                debug!(object = %entry.key(), %failure, "failed to write the status while handing the workload back");
                Ok(false)
            }
            written => written.map(|()| true),
        }
    }
}

/// For how long the workload of a deleted object has been handed back, also by earlier leaders.
fn waited(entry: &FederatedHpaEntry, now: Timestamp) -> Duration {
    let begun = entry.hand_back_start().filter(|_| entry.deleting());
    begun.and_then(|begun| Duration::try_from(now.duration_since(begun)).ok()).unwrap_or_default()
}
