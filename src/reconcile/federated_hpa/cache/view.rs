//! What is seen of one FederatedHPA, and of the member clusters. No I/O.

use std::sync::Arc;

use super::entry::{Binding, FederatedHpaEntry, MemberHpa};
use crate::decision::fleet::Member;
use crate::decision::plan::HpaVersion;

/// The member clusters, by name.
#[derive(Debug, Default)]
pub struct Fleet {
    /// What choosing and judging looks at.
    pub members: Vec<Member<'static>>,
    /// The API of their HPAs.
    versions: Vec<HpaVersion>,
}

impl Fleet {
    /// Of members in order of their names, each with the API of its HPAs.
    pub(super) const fn new(members: Vec<Member<'static>>, versions: Vec<HpaVersion>) -> Self {
        Self { members, versions }
    }

    /// The cluster of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&Member<'static>, HpaVersion)> {
        let at = self.members.binary_search_by(|member| (*member.name).cmp(name)).ok()?;
        Some((self.members.get(at)?, *self.versions.get(at)?))
    }
}

/// What is seen of one FederatedHPA, all at one moment.
pub struct View {
    /// The object.
    pub order: Arc<FederatedHpaEntry>,
    /// Others on the same workload.
    pub rivals: Vec<Arc<FederatedHpaEntry>>,
    /// The binding of its workload.
    pub binding: Option<Arc<Binding>>,
    /// The binding of the workload that it has taken over: another one only after an edit.
    pub taken: Option<Arc<Binding>>,
    /// Our HPAs, in order of their clusters: they are kept by namespace, which is named after the cluster.
    pub sent: Vec<Arc<MemberHpa>>,
    /// The member clusters.
    pub fleet: Arc<Fleet>,
}

impl View {
    /// Our HPA in a cluster.
    #[must_use]
    pub fn sent(&self, cluster: &str) -> Option<&Arc<MemberHpa>> {
        self.sent.get(self.sent.binary_search_by(|sent| (*sent.cluster).cmp(cluster)).ok()?)
    }
}
