//! What the guard over the installation counts. No I/O.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registered;

/// Kind and name; there are six at most.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ObjectLabels {
    object: String,
}

/// The guard's counters.
#[derive(Clone, Debug)]
pub struct GuardMetrics {
    stands: Family<ObjectLabels, Gauge>,
    contested: Family<ObjectLabels, Gauge>,
    put_back: Family<ObjectLabels, Counter>,
}

impl GuardMetrics {
    pub(super) fn new(r: &mut Registry) -> Self {
        Self {
            stands: registered(
                r,
                "guarded_object_stands",
                "Whether an object of the installation is as it is to be; seen by the leader",
            ),
            contested: registered(
                r,
                "guarded_object_contested",
                "Whether another writer changes it each time it is put back",
            ),
            put_back: registered(r, "guarded_object_put_back", "Times that it was put back"),
        }
    }

    /// Whether `object` is as it is to be.
    pub fn stands(&self, object: &str, stands: bool) {
        self.stands.get_or_create(&labels(object)).set(stands.into());
    }

    /// Whether another writer fights for `object`.
    pub fn contested(&self, object: &str, contested: bool) {
        self.contested.get_or_create(&labels(object)).set(contested.into());
    }

    /// `object` was put back.
    pub fn put_back(&self, object: &str) {
        self.put_back.get_or_create(&labels(object)).inc();
    }
}

fn labels(object: &str) -> ObjectLabels {
    ObjectLabels { object: object.to_owned() }
}
