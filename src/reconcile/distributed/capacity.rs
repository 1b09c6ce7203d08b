//! How many replicas a cluster has room for: the interface that a plan asks. No I/O.

use serde_json::Value;

use crate::api::Cluster;
use crate::decision::split::Replicas;

/// What is known of the room for a workload in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// Further replicas that would fit; nothing while nobody said.
    pub available: Option<Replicas>,
    /// Replicas that would fit if the cluster were empty; nothing while nobody said.
    pub whole: Option<Replicas>,
}

/// Knows how much room clusters have. Answers at once, from what it has heard so far.
pub trait Capacity: Send + Sync + 'static {
    /// The room in `cluster` for replicas that ask for `requirements` (`spec.replicaRequirements` of the ResourceBinding).
    fn room(&self, cluster: &Cluster, requirements: Option<&Value>) -> Room;
}

/// Knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unknown;

impl Capacity for Unknown {
    fn room(&self, _: &Cluster, _: Option<&Value>) -> Room {
        Room::default()
    }
}
