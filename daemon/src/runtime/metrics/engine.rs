//! Metrics of a queue and its reconciles, by controller. No I/O.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::registered;

/// Upper bounds of the time of a reconcile, in seconds.
const RECONCILES: [f64; 13] = [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ControllerLabels {
    controller: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReconcileLabels {
    controller: &'static str,
    result: &'static str,
}

/// How a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Nothing needs a retry.
    Success,
    /// It is tried again.
    Error,
    /// It panicked.
    Panic,
}

/// Queue metrics of one controller.
#[derive(Clone, Debug)]
pub struct EngineMetrics {
    /// Objects with a later instant.
    pub delay_queue_depth: Gauge,
    /// Objects that wait to be reconciled.
    pub workqueue_depth: Gauge,
    /// Reconciles in progress.
    pub active_workers: Gauge,
    reconciles: [Counter; 3],
    reconcile_time: Histogram,
}

impl EngineMetrics {
    /// Counts a reconcile that ended, and its duration.
    pub fn reconciled(&self, result: ReconcileResult, took: Duration) {
        let [success, error, panic] = &self.reconciles;
        match result {
            ReconcileResult::Success => success,
            ReconcileResult::Error => error,
            ReconcileResult::Panic => panic,
        }
        .inc();
        self.reconcile_time.observe(took.as_secs_f64());
    }
}

/// The queue metrics of each controller.
pub(super) fn engines<const N: usize>(r: &mut Registry, controllers: [&'static str; N]) -> [EngineMetrics; N] {
    let depth: Family<ControllerLabels, Gauge> = registered(r, "workqueue_depth", "Objects that wait to be reconciled");
    let workers: Family<ControllerLabels, Gauge> = registered(r, "controller_active_workers", "Reconciles that run");
    let delayed: Family<ControllerLabels, Gauge> =
        registered(r, "delay_queue_depth", "Objects that are due at a later time");
    let reconciles: Family<ReconcileLabels, Counter> =
        registered(r, "controller_reconcile", "Reconciles that ended, by result");
    let times = Family::<ControllerLabels, Histogram>::new_with_constructor(|| Histogram::new(RECONCILES));
    let help = "Time that a reconcile took, also until it panicked";
    r.register_with_unit("controller_reconcile_duration", help, Unit::Seconds, times.clone());
    controllers.map(|controller| EngineMetrics {
        delay_queue_depth: delayed.get_or_create(&ControllerLabels { controller }).clone(),
        workqueue_depth: depth.get_or_create(&ControllerLabels { controller }).clone(),
        active_workers: workers.get_or_create(&ControllerLabels { controller }).clone(),
        reconciles: ["success", "error", "panic"]
            .map(|result| reconciles.get_or_create(&ReconcileLabels { controller, result }).clone()),
        reconcile_time: times.get_or_create(&ControllerLabels { controller }).clone(),
    })
}
