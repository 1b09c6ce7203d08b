//! Metrics of the drift controller of the installation. No I/O.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registered;

/// Kind and name; at most six.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    object: String,
}

/// The metrics of the guard.
#[derive(Clone, Debug)]
pub struct GuardMetrics {
    in_sync: Family<ObjectLabels, Gauge>,
    drift_conflict: Family<ObjectLabels, Gauge>,
    drift_corrected: Family<ObjectLabels, Counter>,
    reviews_optional: Family<ObjectLabels, Gauge>,
}

impl GuardMetrics {
    pub(super) fn new(r: &mut Registry) -> Self {
        Self {
            in_sync: registered(
                r,
                "managed_object_in_sync",
                "Whether an object of the installation is as fhpa needs it, as the leader sees it",
            ),
            drift_conflict: registered(
                r,
                "managed_object_drift_conflict",
                "Whether another writer changes the object each time it is corrected",
            ),
            drift_corrected: registered(r, "managed_object_drift_corrected", "Times that the object was corrected"),
            reviews_optional: registered(
                r,
                "managed_object_reviews_optional",
                "Whether an operator lets writes pass unreviewed while the webhook does not answer",
            ),
        }
    }

    /// Withdraws what only a leader knows.
    pub fn withdraw(&self) {
        for gauges in [&self.in_sync, &self.drift_conflict, &self.reviews_optional] {
            gauges.clear();
        }
    }

    /// Sets whether `object` is in sync.
    pub fn in_sync(&self, object: &str, in_sync: bool) {
        self.in_sync.get_or_create(&labels(object)).set(in_sync.into());
    }

    /// Sets whether another writer changes `object` each time it is corrected.
    pub fn drift_conflict(&self, object: &str, conflict: bool) {
        self.drift_conflict.get_or_create(&labels(object)).set(conflict.into());
    }

    /// Sets whether writes pass unreviewed while the webhook of `object` does not answer.
    pub fn reviews_optional(&self, object: &str, optional: bool) {
        self.reviews_optional.get_or_create(&labels(object)).set(optional.into());
    }

    /// Counts a correction of `object`.
    pub fn drift_corrected(&self, object: &str) {
        self.drift_corrected.get_or_create(&labels(object)).inc();
    }
}

fn labels(object: &str) -> ObjectLabels {
    ObjectLabels { object: object.to_owned() }
}
