//! Complete input of a reconcile: the cache, and the results of queries to clusters. Sends no queries by itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::SignedDuration;
use parking_lot::Mutex;

use super::capacity::{Capacity, Requirements, Unknown};
use super::failover;
use super::members::{MemberQuery, Members, NODES_FRESH, TIMES};
use crate::api::Cluster;
use crate::controller::key::Key;
use crate::decision::fleet::observation::Room;
use crate::decision::ledger::Ledger;
use crate::decision::split::Replicas;
use crate::estimator::messages::ObjectReference;
use crate::reconcile::federated_hpa::cache::Cache;
use crate::reconcile::federated_hpa::cache::entry::ClusterEntry;

/// Input of a reconcile. Clones share it.
#[derive(Clone)]
pub struct LiveState {
    /// Objects from watches.
    pub cache: Arc<Cache>,
    /// The free capacity of clusters.
    pub capacity: Arc<dyn Capacity>,
    /// Responses of members.
    pub members: Arc<Members>,
    /// What is promised of that capacity.
    pub ledger: Arc<Mutex<Ledger>>,
    /// How often headroom is rebalanced; `None`: never.
    pub period: Option<SignedDuration>,
    /// How long to wait for failed clusters.
    pub failover: failover::Settings,
}

impl Default for LiveState {
    fn default() -> Self {
        Self {
            cache: Arc::default(),
            capacity: Arc::new(Unknown),
            ledger: Arc::default(),
            members: Arc::new(Members::unasked()),
            period: None,
            failover: failover::Settings::default(),
        }
    }
}

impl LiveState {
    /// The free capacity of a cluster; `most` where there is no limit.
    #[must_use]
    pub fn room(&self, cluster: &ClusterEntry, requirements: &Requirements, most: Replicas) -> Room {
        self.capacity.room(&cluster.member.name, cluster.summary.as_ref(), requirements, most)
    }

    /// Unschedulable replicas of `workload` in `cluster`: the smallest reported value; `None` until one is reported.
    #[must_use]
    pub fn unschedulable(&self, cluster: &str, workload: &ObjectReference) -> Option<Replicas> {
        let reported = [self.capacity.unschedulable(cluster, workload), self.members.unschedulable(cluster, workload)];
        reported.into_iter().flatten().min()
    }

    /// Queries them in the background: from the estimator of the cluster, or else from the cluster.
    pub fn refresh_unschedulable(&self, cluster: &Cluster, workload: &ObjectReference) {
        let name = cluster.metadata.name.as_deref().unwrap_or_default();
        if !self.capacity.refresh_unschedulable(name, workload, TIMES.fresh) && can_be_asked(cluster) {
            self.members.refresh(name, &MemberQuery::Unschedulable(workload.clone()), TIMES.fresh);
        }
    }

    /// Queries in the background whether nodes come for the pods of `workload` that find none.
    pub fn refresh_nodes(&self, cluster: &Cluster, workload: &ObjectReference) {
        if can_be_asked(cluster) {
            let name = cluster.metadata.name.as_deref().unwrap_or_default();
            self.members.refresh(name, &MemberQuery::Nodes(workload.clone()), NODES_FRESH);
        }
    }

    /// Waits until an input changed.
    pub async fn wait_for_change(&self) {
        tokio::select! {
            () = self.cache.wait_for_change() => {}
            () = self.capacity.wait_for_change() => {}
            () = self.members.wait_for_change() => {}
        }
    }

    /// The FederatedHPAs that changed since the last call.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        let mut changed = self.cache.changed();
        for workload in self.capacity.changed() {
            changed.extend(self.cache.scaling(&workload));
        }
        for query in self.members.changed() {
            match query {
                MemberQuery::Hpa { key, .. } => {
                    changed.insert(key);
                }
                MemberQuery::Unschedulable(workload) | MemberQuery::Nodes(workload) => {
                    changed.extend(self.cache.scaling(&workload));
                }
                MemberQuery::ForeignHpas(namespace) => {
                    changed.extend(self.cache.in_namespace(&namespace).iter().map(|entry| entry.key()));
                }
            }
        }
        changed
    }
}

/// Whether a cluster is reachable through the proxy, as far as known: a cluster in Pull mode is not.
#[must_use]
pub fn can_be_asked(cluster: &Cluster) -> bool {
    cluster.spec.sync_mode != "Pull"
}
