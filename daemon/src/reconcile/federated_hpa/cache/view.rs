//! View of one FederatedHPA and of the member clusters. No I/O.

use std::sync::Arc;

use jiff::Timestamp;

use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use super::groups::NeighbourClusters;
use crate::decision::fleet::{Member, Readiness};
use crate::decision::plan::HpaVersion;
use crate::decision::related_objects::KnownScaler;

/// The member clusters, by name.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Input of selection and failover.
    pub members: Vec<Member<'static>>,
    /// The API versions of their HPAs.
    versions: Vec<HpaVersion>,
}

impl Fleet {
    /// Takes members in order of their names, each with the API version of its HPAs.
    pub(super) const fn new(members: Vec<Member<'static>>, versions: Vec<HpaVersion>) -> Self {
        Self { members, versions }
    }

    /// As if the clusters that `lost` names had not answered since then.
    #[must_use]
    pub fn losing(&self, lost: impl Fn(&str) -> bool, since: Timestamp) -> Self {
        let mut members = self.members.clone();
        for member in members.iter_mut().filter(|member| lost(&member.name)) {
            (member.readiness, member.since) = (Readiness::NotReady(since), Some(since));
        }
        Self { members, versions: self.versions.clone() }
    }

    /// The cluster of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&Member<'static>, HpaVersion)> {
        let at = self.members.binary_search_by(|member| (*member.name).cmp(name)).ok()?;
        Some((self.members.get(at)?, *self.versions.get(at)?))
    }
}

/// All observed objects of one FederatedHPA, at one moment.
pub struct View {
    /// The FederatedHPA.
    pub federated_hpa: Arc<FederatedHpaEntry>,
    /// Others on the same workload.
    pub rivals: Vec<Arc<FederatedHpaEntry>>,
    /// The binding of its workload.
    pub binding: Option<Arc<Binding>>,
    /// The binding of the workload that it has taken over: differs only after an edit.
    pub taken_over_binding: Option<Arc<Binding>>,
    /// Its Works, in order of their clusters: they are sorted by namespace, which contains the name of the cluster.
    pub member_hpas: Vec<Arc<MemberHpa>>,
    /// The member clusters.
    pub fleet: Arc<Fleet>,
    /// The member clusters as they last reported, by name. They report every few seconds, which changes no `fleet`.
    pub(super) clusters: Arc<[Arc<ClusterEntry>]>,
    /// The other workloads of the groups of its workload.
    pub neighbours: NeighbourClusters,
    /// Autoscalers of its workload in karmada-apiserver that are not fhpa's.
    pub scalers: Vec<KnownScaler>,
}

impl View {
    /// The FederatedHPA that goes first on the workload.
    #[must_use]
    pub fn rival(&self) -> Option<&FederatedHpaEntry> {
        // One that hands the workload back does so first.
        let acts = |rival: &FederatedHpaEntry| !rival.deleting() || rival.held();
        let mut rivals = self.rivals.iter().map(|rival| &**rival);
        rivals.find(|rival| acts(rival) && rival.goes_before(&self.federated_hpa))
    }

    /// The Work for a cluster.
    #[must_use]
    pub fn member_hpa(&self, cluster: &str) -> Option<&Arc<MemberHpa>> {
        self.member_hpas.get(self.member_hpas.binary_search_by(|member_hpa| member_hpa.cluster().cmp(cluster)).ok()?)
    }

    /// The cluster of that name as it last reported.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&ClusterEntry> {
        self.clusters
            .get(self.clusters.binary_search_by(|cluster| (*cluster.member.name).cmp(name)).ok()?)
            .map(|cluster| &**cluster)
    }
}
