//! The clusters that share in an assignment, with what bounds each share. Pure.

use super::{Cluster, ClusterState, Policy, Request};
use crate::decision::split::Replicas;

/// A cluster that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Participant<'a> {
    /// Its place in the sorted clusters.
    pub(super) at: usize,
    pub(super) cluster: &'a Cluster<'a>,
    /// What it weighs under the policy.
    pub(super) weight: u64,
    pub(super) capacity: Replicas,
    /// The most it can be given.
    pub(super) high: Replicas,
    /// What it has, where participants of about one size are to keep their order; nothing: their sizes alone decide.
    pub(super) kept: Option<Replicas>,
}

impl Participant<'_> {
    /// What its max may not go below when it is assigned afresh (docs/design.md#law-3-keep-ready-pods,
    /// docs/design.md#initial-assignment).
    ///
    /// Under StaticWeighted the split is the user's word: the target is the split, and the transition holds what runs
    /// until it shrinks by itself.
    pub(super) fn low(&self, policy: Policy) -> Replicas {
        let least = self.cluster.limits.least;
        let low = match policy {
            Policy::Duplicated | Policy::StaticWeighted => least,
            Policy::DynamicWeighted | Policy::Aggregated => least.max(self.cluster.running()),
            Policy::Prioritized => least.max(self.cluster.running()).max(1),
        };
        low.min(self.high)
    }
}

/// The clusters that take part: those that serve or are silent, but no silent one without an HPA, and none that comes
/// back while its eviction goes on.
pub(super) fn participants<'a>(request: &Request<'_>, sorted: &[&'a Cluster<'a>]) -> Vec<Participant<'a>> {
    let mut participants: Vec<Participant<'a>> = sorted
        .iter()
        .enumerate()
        .filter(|(_, cluster)| match cluster.state {
            ClusterState::Serving => cluster.target.is_some() || !cluster.evicting,
            ClusterState::Silent => cluster.hpa.is_some(),
            ClusterState::Leaving { .. } | ClusterState::Away => false,
        })
        .map(|(at, cluster)| Participant {
            at,
            cluster,
            weight: 0,
            capacity: cluster.capacity(),
            high: high(request, cluster),
            kept: None,
        })
        .collect();
    weigh(request.policy, &mut participants);
    participants
}

/// The user's threshold always holds. What the workload may take of the cluster is measured, so it changes by itself
/// and takes no running pods. A silent cluster gets nothing that it has not got.
fn high(request: &Request<'_>, cluster: &Cluster<'_>) -> Replicas {
    let cap = cluster.cap.map_or(Replicas::MAX, |cap| cap.max(cluster.running()));
    let silent = match (cluster.state, cluster.hpa) {
        (ClusterState::Silent, Some(hpa)) => hpa.ceiling(),
        _ => Replicas::MAX,
    };
    request.total.max.min(cluster.limits.most).min(cap).min(silent)
}

/// Where nobody has a static weight all weigh the same, as in Karmada.
fn weigh(policy: Policy, participants: &mut [Participant<'_>]) {
    let unweighted = participants.iter().all(|participant| participant.cluster.weight == 0);
    for participant in participants {
        participant.weight = match policy {
            Policy::StaticWeighted if unweighted => 1,
            Policy::StaticWeighted => participant.cluster.weight,
            Policy::DynamicWeighted => {
                let room = participant
                    .cluster
                    .cap
                    .map_or(Replicas::MAX, |cap| cap.saturating_sub(participant.cluster.running()));
                participant.cluster.available.unwrap_or_default().min(room).into()
            }
            Policy::Duplicated | Policy::Aggregated | Policy::Prioritized => participant.capacity.into(),
        };
    }
}
