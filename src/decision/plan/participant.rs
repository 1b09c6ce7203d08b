//! The clusters of an assignment, with the limits of each share. Pure.

use jiff::{SignedDuration, Timestamp};

use super::{Cluster, ClusterState, Policy, Request};
use crate::decision::split::Replicas;

/// How often the sizes of clusters are looked at where headroom is never rebalanced.
const SIZES: SignedDuration = SignedDuration::from_secs(60);

/// A cluster that takes part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Participant<'a> {
    /// Its index in the sorted clusters.
    pub(super) at: usize,
    pub(super) cluster: &'a Cluster<'a>,
    /// Its weight under the policy.
    pub(super) weight: u64,
    pub(super) capacity: Replicas,
    /// Its upper limit.
    pub(super) high: Replicas,
    /// Its current max, where participants of about one size should keep their order, and what they have of a share that
    /// is rounded; `None`: only their sizes count.
    pub(super) kept: Option<Replicas>,
}

impl Participant<'_> {
    /// Lower limit of its max in a new assignment (docs/design.md#law-3-keep-ready-pods,
    /// docs/design.md#initial-assignment).
    ///
    /// Under StaticWeighted the user decides: the target is the split, and the transition keeps running replicas until
    /// they shrink by themselves.
    pub(super) fn low(&self, policy: Policy) -> Replicas {
        let least = self.cluster.limits.least;
        let low = match policy {
            Policy::Duplicated | Policy::StaticWeighted => least,
            Policy::DynamicWeighted | Policy::Aggregated => least.max(settles(self.cluster)),
            Policy::Prioritized => least.max(settles(self.cluster)).max(1),
        };
        low.min(self.high)
    }
}

/// What stays of what it runs: a lower max that is on its way removes the rest, whatever is divided now. Replicas of
/// others are not cut for these.
fn settles(cluster: &Cluster<'_>) -> Replicas {
    let unconfirmed = cluster.hpa.filter(|hpa| !hpa.confirmed && cluster.state == ClusterState::Serving);
    let most = unconfirmed.and_then(|hpa| hpa.written).map_or(Replicas::MAX, |written| written.max);
    cluster.stays().min(most)
}

/// The clusters that take part: those that serve or are silent, except a silent one without an HPA, a returning one
/// with an eviction in progress, and one whose workload is not Karmada's.
pub(super) fn participants<'a>(request: &Request<'_>, sorted: &[&'a Cluster<'a>]) -> Vec<Participant<'a>> {
    let serves = sorted
        .iter()
        .enumerate()
        .filter(|(_, cluster)| match cluster.state {
            ClusterState::Serving if cluster.left_alone => false,
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
        });
    let mut participants = Vec::with_capacity(sorted.len());
    participants.extend(serves);
    weigh(request.policy, &mut participants);
    participants
}

/// The user's threshold always applies. The share that the workload may use is measured, so it changes by itself and
/// removes no running pods. A silent cluster gets no more than it has.
fn high(request: &Request<'_>, cluster: &Cluster<'_>) -> Replicas {
    let cap = cluster.cap.map_or(Replicas::MAX, |cap| cap.max(cluster.may_run()));
    let silent = match (cluster.state, cluster.hpa) {
        (ClusterState::Silent, Some(hpa)) => hpa.ceiling(),
        _ => Replicas::MAX,
    };
    request.total.max.min(cluster.limits.most).min(cap).min(silent)
}

/// When to look again at the sizes of clusters of which the workload may use a share: nobody tells that nodes came or
/// went.
pub(super) fn sizes_change_by(request: &Request<'_>, participants: &[Participant<'_>]) -> Option<Timestamp> {
    let shared = participants.iter().any(|participant| participant.cluster.cap.is_some());
    request.now.checked_add(request.period.unwrap_or(SIZES)).ok().filter(|_| shared)
}

/// Without any static weight all weigh the same, as in Karmada.
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
                    .map_or(Replicas::MAX, |cap| cap.saturating_sub(participant.cluster.may_run()));
                participant.cluster.available.unwrap_or_default().min(room).into()
            }
            Policy::Duplicated | Policy::Aggregated | Policy::Prioritized => participant.capacity.into(),
        };
    }
}
