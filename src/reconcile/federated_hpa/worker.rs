//! What reconciles of FederatedHPAs work with, as a worker of the engine.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tracing::error;

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
use crate::convert::own;
use crate::decision::defaults::Mode;
use crate::reconcile::scale_target::Targets;
use crate::runtime::clock::WallClock;
use crate::runtime::leader::{Leader, LeaseLost};

/// What reconciles work with.
pub struct FederatedHpaWorker {
    /// What it looks at.
    pub live: LiveState,
    /// Writes.
    pub writer: Arc<Writer>,
    /// Takes workloads over.
    pub takeover: Takeover,
    /// Makes the steps of plans.
    pub applier: Applier,
    /// Mode of a FederatedHPA that names none.
    pub default_mode: Mode,
    /// The time of day.
    pub clock: WallClock,
    /// What was read before the first write.
    pub leader_resync: LeaderResync,
    /// Scales Centralized workloads.
    pub centralized: Centralized,
    /// Keeps measurements from being written all the time.
    pub status_throttle: StatusThrottle,
    /// Lets failovers through one after the other.
    pub queue: Queue,
    /// What the store would not take.
    pub too_large: TooLarge,
    /// Tells people.
    pub reporter: Reporter,
    /// Every workload is handed back, none taken over.
    retiring: bool,
}

/// What a worker is made of.
pub struct Parts {
    /// Speaks to the API server.
    pub client: Client,
    /// What it looks at.
    pub live: LiveState,
    /// Knows where kinds are.
    pub targets: Arc<Targets>,
    /// Mode of a FederatedHPA that names none.
    pub default_mode: Mode,
    /// The time of day.
    pub clock: WallClock,
    /// How Centralized workloads are scaled.
    pub centralized: centralized::Settings,
    /// Tells people.
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

    fn panicked(&self) {
        error!("a reconcile of a FederatedHPA panicked");
        self.reporter.metrics.panics.inc();
    }
}

impl FederatedHpaWorker {
    /// Puts the parts together.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        let Parts { client, live, targets, default_mode, clock, centralized, reporter } = parts;
        let centralized = Centralized::new(&client, centralized);
        let writer = Arc::new(Writer { client, cache: Arc::clone(&live.cache) });
        Self {
            live,
            takeover: Takeover::new(Arc::clone(&writer), Arc::clone(&targets)),
            applier: Applier { writer: Arc::clone(&writer), targets, clock: Arc::clone(&clock) },
            writer,
            default_mode,
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

    /// One that hands every workload back and takes none over.
    #[must_use]
    pub fn retiring(mut self) -> Self {
        self.retiring = true;
        self
    }

    /// Whether the object is as the user wrote it. It is no matter to one that is let go.
    pub(super) fn wholeness(&self, order: &FederatedHpaEntry) -> Wholeness {
        if self.retiring || order.deleting() { Wholeness::Whole } else { wholeness(order, self.default_mode) }
    }

    /// Whether the workload is to be taken over, or kept.
    pub(super) fn serves(&self, order: &FederatedHpaEntry) -> bool {
        !self.retiring && !order.deleting() && self.is_distributed(order)
    }

    /// Whether the workload is scaled as a whole.
    pub(super) fn centralizes(&self, order: &FederatedHpaEntry) -> bool {
        !self.retiring && !order.deleting() && !self.is_distributed(order)
    }

    /// Whether the object divides itself among clusters.
    pub(super) fn is_distributed(&self, order: &FederatedHpaEntry) -> bool {
        own::mode(&order.object, self.default_mode) == Mode::Distributed
    }
}
