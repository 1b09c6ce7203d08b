//! Dependencies of reconciles of FederatedHPAs, and which objects they serve.

use std::sync::Arc;

use kube::Client;

use super::cache::entry::FederatedHpaEntry;
use super::centralized::{self, Centralized};
use super::coverage::Coverage;
use super::crd_fields::{FieldState, field_state};
use super::observe::failover::Queue;
use super::observe::live_state::LiveState;
use super::pauses::Pauses;
use super::status::report::Reporter;
use super::status::shown::TooLarge;
use super::status::throttle::StatusThrottle;
use super::write::apply::Applier;
use super::write::leader_resync::LeaderResync;
use super::write::takeover::Takeover;
use super::write::writer::Writer;
use crate::decision::defaults::Mode;
use crate::reconcile::scale_target::Targets;
use crate::runtime::clock::WallClock;

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
    /// Pauses of plans.
    pub pauses: Pauses,
    /// Whether others would run what a loss takes away.
    pub coverage: Arc<Coverage>,
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
            applier: Applier::new(Arc::clone(&writer), targets, Arc::clone(&clock)),
            writer,
            stored_mode,
            clock,
            centralized,
            leader_resync: LeaderResync::default(),
            status_throttle: StatusThrottle::default(),
            queue: Queue::default(),
            too_large: TooLarge::default(),
            pauses: Pauses::default(),
            coverage: Arc::default(),
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

    /// Whether the installation goes after this.
    pub(super) const fn retires(&self) -> bool {
        self.retiring
    }

    /// The state of the object. It does not matter for an object whose workload is handed back.
    pub(super) fn field_state(&self, entry: &FederatedHpaEntry) -> FieldState {
        if self.retiring || entry.deleting() { FieldState::Complete } else { field_state(entry, self.stored_mode) }
    }

    /// Whether to take over or keep the workload.
    pub(super) fn serves(&self, entry: &FederatedHpaEntry) -> bool {
        !self.retiring && !entry.deleting() && self.mode(entry) == Some(Mode::Distributed)
    }

    /// Whether the object is in Centralized mode and its workload should be scaled.
    pub(super) fn centralizes(&self, entry: &FederatedHpaEntry) -> bool {
        !self.retiring && !entry.deleting() && self.mode(entry) == Some(Mode::Centralized)
    }

    /// Whether the user suspends the object. Deletion and uninstall release a suspended one, too.
    pub(super) fn suspends(&self, entry: &FederatedHpaEntry) -> bool {
        !self.retiring && !entry.deleting() && entry.suspended()
    }

    pub(super) fn mode(&self, entry: &FederatedHpaEntry) -> Option<Mode> {
        entry.mode().or(self.stored_mode)
    }
}
