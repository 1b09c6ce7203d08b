//! What would not run if clusters were lost, by given objects. Writes nothing.

use jiff::Timestamp;

use super::{Objects, Rooms};
use crate::api::FederatedHPA;
use crate::decision::defaults::Mode;
use crate::decision::fleet::tolerance::FailureTolerance;
pub use crate::reconcile::federated_hpa::drill::Drill;
use crate::reconcile::federated_hpa::observe::failover::Settings;
use crate::reconcile::federated_hpa::observe::live_state::LiveState;

impl Objects {
    /// A drill of these FederatedHPAs at `now`; `mode`: of those that name none; `tolerance`: of the leader.
    #[must_use]
    pub fn drill(&self, hpas: &[FederatedHPA], mode: Mode, tolerance: FailureTolerance, now: Timestamp) -> Drill {
        let failover = Settings { tolerance, ..Settings::default() };
        let live = LiveState { failover, ..self.live(hpas, Rooms::default()) };
        Drill::new(&live, Some(mode), now).promising()
    }
}
