//! All that a reconcile looks at: what watches brought, and what was heard of clusters beside. Asks nobody by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;

use super::capacity::{Capacity, Requirements, Room, Unknown};
use super::failover;
use super::members::{Members, Question, TIMES};
use crate::api::Cluster;
use crate::controller::key::Key;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::cache::entry::ClusterEntry;

/// What is looked at. A clone looks at the same.
#[derive(Clone)]
pub struct LiveState {
    /// What watches brought.
    pub cache: Arc<Cache>,
    /// The room in clusters.
    pub capacity: Arc<dyn Capacity>,
    /// What members answered.
    pub members: Arc<Members>,
    /// How often headroom is divided again; nothing: never.
    pub period: Option<SignedDuration>,
    /// How long clusters are waited for.
    pub failover: failover::Settings,
}

impl Default for LiveState {
    fn default() -> Self {
        Self {
            cache: Arc::default(),
            capacity: Arc::new(Unknown),
            members: Arc::new(Members::unasked()),
            period: None,
            failover: failover::Settings::default(),
        }
    }
}

impl LiveState {
    /// The room in a cluster; `most` where nothing limits it.
    #[must_use]
    pub fn room(&self, place: &ClusterEntry, requirements: &Requirements, most: Replicas) -> Room {
        self.capacity.room(&place.member.name, place.summary.as_ref(), requirements, most)
    }

    /// Replicas of `workload` that cannot be scheduled in `cluster`: the smallest of what was heard; nothing while nobody
    /// said.
    #[must_use]
    pub fn unschedulable(&self, cluster: &str, workload: &ObjectReference) -> Option<Replicas> {
        let heard = [self.capacity.unschedulable(cluster, workload), self.members.unschedulable(cluster, workload)];
        heard.into_iter().flatten().min()
    }

    /// Asks for that in the background: the estimator of the cluster, or else the cluster.
    pub fn look_for_pods(&self, cluster: &Cluster, workload: &ObjectReference) {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        if !self.capacity.look(name, workload, TIMES.fresh) && can_be_asked(cluster) {
            self.members.look(name, &Question::Unschedulable(workload.clone()), TIMES.fresh);
        }
    }

    /// Waits until something changed.
    pub async fn news(&self) {
        tokio::select! {
            () = self.cache.news() => {}
            () = self.capacity.news() => {}
            () = self.members.news() => {}
        }
    }

    /// The FederatedHPAs that changes were about since this was last asked.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        let mut changed = self.cache.changed();
        for workload in self.capacity.changed() {
            changed.extend(self.cache.scaling(&workload));
        }
        for question in self.members.changed() {
            match question {
                Question::Hpa { key, .. } => {
                    changed.insert(key);
                }
                Question::Unschedulable(workload) => changed.extend(self.cache.scaling(&workload)),
            }
        }
        changed
    }
}

/// Whether a cluster is reached through the proxy: one that pulls is not, as far as is known.
#[must_use]
pub fn can_be_asked(cluster: &Cluster) -> bool {
    cluster.spec.sync_mode != "Pull"
}
