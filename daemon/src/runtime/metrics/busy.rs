//! Whether the controllers have so much to do that what matters least waits. No I/O.

use super::{ControllerMetrics, EngineMetrics};

/// A controller that has more objects to reconcile is busy.
const MANY: i64 = 8;

impl ControllerMetrics {
    /// Whether a controller has many objects to reconcile.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        let objects = |engine: &EngineMetrics| engine.workqueue_depth.get().saturating_add(engine.active_workers.get());
        objects(&self.distributed).max(objects(&self.cron)) > MANY
    }
}
