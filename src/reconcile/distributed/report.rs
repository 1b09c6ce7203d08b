//! Tells people (Events, log) what turns did. Posts nothing itself.

use std::sync::Arc;

use tracing::info;

use super::seen::entry::Order;
use crate::decision::backoff::ErrorClass;
use crate::decision::plan::Plan;
use crate::reconcile::WallClock;
use crate::reconcile::events::{Events, Record, Severity};
use crate::reconcile::failure::Failure;
use crate::runtime::leader::Leader;
use crate::runtime::metrics::ControllerMetrics;

/// Tells what happened.
pub struct Reporter {
    /// The Events.
    pub events: Events,
    /// The counters.
    pub metrics: Arc<ControllerMetrics>,
    /// The time of day.
    pub clock: WallClock,
}

impl Reporter {
    /// The assignment changed.
    pub fn assigned(&self, leader: &Leader, order: &Order, plan: &Plan<'_>) {
        let share =
            |share: &crate::decision::plan::Share<'_>| format!("{} {} ({})", share.cluster, share.target, share.reason);
        let note = plan.shares.iter().map(share).collect::<Vec<_>>().join(", ");
        let first = order.object.status.as_ref().is_none_or(|status| status.assignment_basis.is_none());
        let reason = if first { "Assigned" } else { "Reassigned" };
        info!(object = %order.key(), "{reason}: {note}");
        self.tell(leader, order, Severity::Normal, reason, note);
    }

    /// The workload is handed back.
    pub fn released(&self, leader: &Leader, order: &Order) {
        let note = "the workload is handed back to Karmada with the replicas it has".to_owned();
        info!(object = %order.key(), "{note}");
        self.tell(leader, order, Severity::Normal, "Released", note);
    }

    /// Something fails, and is tried again.
    pub fn failed(&self, leader: &Leader, order: &Order, failure: &Failure) {
        info!(object = %order.key(), reason = failure.reason, "{failure}");
        self.tell(leader, order, Severity::Warning, failure.reason, failure.message.clone());
    }

    /// A turn is tried again.
    pub fn retried(&self, class: ErrorClass) {
        self.metrics.retried(class);
    }

    fn tell(&self, leader: &Leader, order: &Order, severity: Severity, reason: &'static str, note: String) {
        let key = order.key();
        let regarding = order.own(&key).reference();
        let at = (self.clock)();
        self.events.record(leader, Record { severity, reason, action: "Assign", note, at, regarding, related: None });
    }
}
