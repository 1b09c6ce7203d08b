//! Dependencies of reconciles of FederatedHPAs, as a worker of the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;

use super::cache::entry::FederatedHpaEntry;
use super::centralized::{self, Centralized};
use super::observe::failover::Queue;
use super::observe::live_state::LiveState;
use super::reconcile::FederatedHpaRetryState;
use super::status::report::Reporter;
use super::status::shown::TooLarge;
use super::status::throttle::StatusThrottle;
use super::wholeness::{Wholeness, wholeness};
use super::write::apply::Applier;
use super::write::leader_resync::LeaderResync;
use super::write::takeover::Takeover;
use super::write::writer::Writer;
use crate::controller::engine::{Ended, QueueStats, Worker};
use crate::controller::key::Key;
use crate::decision::defaults::Mode;
use crate::reconcile::scale_target::Targets;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};
use crate::runtime::metrics::ReconcileResult;

/// Dependencies of reconciles.
pub struct FederatedHpaWorker {
    /// Input of reconciles.
    pub live: LiveState,
    /// Writer to the API server.
    pub writer: Arc<Writer>,
    /// Takes workloads over.
    pub takeover: Takeover,
    /// Applies the steps of plans.
    pub applier: Applier,
    /// The mode of objects that are stored without one; `None`: such an object is left as it is.
    pub stored_mode: Option<Mode>,
    /// The time of day.
    pub clock: WallClock,
    /// Whether Works were read before the first write.
    pub leader_resync: LeaderResync,
    /// Scales Centralized workloads.
    pub centralized: Centralized,
    /// Limits writes of measurements.
    pub status_throttle: StatusThrottle,
    /// Limits the rate of failovers.
    pub queue: Queue,
    /// Sizes that the store rejected.
    pub too_large: TooLarge,
    /// Reports to users.
    pub reporter: Reporter,
    /// Whether to hand back every workload and take over none.
    retiring: bool,
}

/// Parts of a worker.
pub struct Parts {
    /// Client of the API server.
    pub client: Client,
    /// Input of reconciles.
    pub live: LiveState,
    /// Knows the resource paths of kinds.
    pub targets: Arc<Targets>,
    /// The mode of objects that are stored without one; `None`: such an object is left as it is.
    pub stored_mode: Option<Mode>,
    /// The time of day.
    pub clock: WallClock,
    /// Settings of Centralized mode.
    pub centralized: centralized::Settings,
    /// Reports to users.
    pub reporter: Reporter,
}

impl Worker for FederatedHpaWorker {
    type RetryState = FederatedHpaRetryState;

    async fn news(&self) {
        self.live.news().await;
    }

    fn changed(&self) -> BTreeSet<Key> {
        self.live.changed()
    }

    fn keys(&self) -> Vec<Key> {
        self.live.cache.keys()
    }

    async fn reconcile(
        &self,
        leader: &Leader,
        key: &Key,
        retry_state: FederatedHpaRetryState,
    ) -> Result<Ended<FederatedHpaRetryState>, LeaseLost> {
        self.reconcile_object(leader, key, retry_state).await
    }

    fn queue_stats(&self, queue_stats: QueueStats<'_>) {
        queue_stats.show(&self.reporter.metrics.distributed);
    }

    fn dequeued(&self, waited: Duration) {
        self.reporter.metrics.dequeued(waited);
    }

    fn ended(&self, result: ReconcileResult, took: Duration) {
        let metrics = &self.reporter.metrics;
        if result == ReconcileResult::Panic {
            metrics.panics.inc();
        }
        metrics.distributed.reconciled(result, took);
    }
}

impl FederatedHpaWorker {
    /// Builds the worker.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { client, live, targets, stored_mode, clock, centralized, reporter } = parts;
        let centralized = Centralized::new(&client, centralized);
        let writer = Arc::new(Writer { client, cache: Arc::clone(&live.cache) });
        Self {
            live,
            takeover: Takeover::new(Arc::clone(&writer), Arc::clone(&targets)),
            applier: Applier { writer: Arc::clone(&writer), targets, clock: Arc::clone(&clock) },
            writer,
            stored_mode,
            clock,
            centralized,
            leader_resync: LeaderResync::default(),
            status_throttle: StatusThrottle::default(),
            queue: Queue::default(),
            too_large: TooLarge::default(),
            reporter,
            retiring: false,
        }
    }

    /// Makes the worker hand back every workload and take over none.
    #[must_use]
    pub fn retiring(mut self) -> Self {
        self.retiring = true;
        self
    }

    /// The state of the object. It does not matter for an object whose workload is handed back.
    pub(super) fn wholeness(&self, order: &FederatedHpaEntry) -> Wholeness {
        if self.retiring || order.deleting() { Wholeness::Whole } else { wholeness(order, self.stored_mode) }
    }

    /// Whether to take over or keep the workload.
    pub(super) fn serves(&self, order: &FederatedHpaEntry) -> bool {
        !self.retiring && !order.deleting() && self.mode(order) == Some(Mode::Distributed)
    }

    /// Whether the object is in Centralized mode and its workload is to be scaled.
    pub(super) fn centralizes(&self, order: &FederatedHpaEntry) -> bool {
        !self.retiring && !order.deleting() && self.mode(order) == Some(Mode::Centralized)
    }

    /// Whether the user suspends the object. Deletion and uninstall release a suspended one, too.
    pub(super) fn suspends(&self, order: &FederatedHpaEntry) -> bool {
        !self.retiring && !order.deleting() && order.suspended()
    }

    pub(super) fn mode(&self, order: &FederatedHpaEntry) -> Option<Mode> {
        order.mode().or(self.stored_mode)
    }
}
