//! What is seen of a run at one second. Pure.

use super::burden::Burden;
use super::member::Member;
use super::nodes::Nodes;
use super::{Event, Second, Workload};
use decision::plan::Bounds;
use decision::split::Replicas;

/// One second of a workload.
#[derive(Clone, Debug)]
pub struct Frame<'w, 'a> {
    /// Number of the second.
    pub second: Second,
    /// The load, in thousandths.
    pub load: u64,
    /// The unserved load, in thousandths.
    pub unserved: u64,
    /// Whether the control plane is paused.
    pub frozen: bool,
    /// Requested replicas of the workload as a whole, in Centralized mode.
    pub replicas: Option<Replicas>,
    /// Events in this second.
    pub events: &'w [Event],
    pub(super) workload: &'w Workload<'a>,
    pub(super) members: &'w [Member<'a>],
    pub(super) nodes: &'w [Nodes],
}

/// A workload in a cluster at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterFrame<'a> {
    /// The name of the cluster.
    pub name: &'a str,
    /// Whether it is up.
    pub up: bool,
    /// Requested replicas.
    pub spec: Replicas,
    /// Replicas on nodes.
    pub placed: Replicas,
    /// Replicas that serve.
    pub ready: Replicas,
    /// Replicas without a node.
    pub pending: Replicas,
    /// Replicas that fit on its nodes where no other workload runs.
    pub capacity: Replicas,
    /// Bounds in effect.
    pub bounds: Option<Bounds>,
    /// Whether its HPA may not scale down.
    pub held: bool,
    /// Whether its share was given to others while it did not answer, and it still has its HPA.
    pub given_away: bool,
}

/// A workload at one moment, over all clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The load, in thousandths.
    pub load: u64,
    /// The unserved load, in thousandths.
    pub unserved: u64,
    /// The replicas that keep the load at its target, within the bounds.
    pub wanted: u64,
    /// Replicas that serve.
    pub ready: u64,
    /// Replicas on nodes of clusters that are up.
    pub placed: u64,
    /// Replicas without a node in clusters that are up.
    pub pending: u64,
    /// How many workloads have fewer ready replicas than `minReplicas`.
    pub below_min: u64,
    /// The sum of `maxReplicas` in effect, without clusters whose share was given away.
    pub in_effect: u64,
}

/// One second of all workloads.
#[derive(Clone, Debug)]
pub struct FleetFrame<'w> {
    /// Number of the second.
    pub second: Second,
    /// Whether the control plane is paused.
    pub frozen: bool,
    /// Events in this second.
    pub events: &'w [Event],
    /// The workloads, in the order of the scenario.
    pub workloads: &'w [Tally],
}

impl Tally {
    /// The sum of several workloads.
    #[must_use]
    pub fn sum(tallies: &[Self]) -> Self {
        let add = |sum: Self, one: &Self| Self {
            load: sum.load.saturating_add(one.load),
            unserved: sum.unserved.saturating_add(one.unserved),
            wanted: sum.wanted.saturating_add(one.wanted),
            ready: sum.ready.saturating_add(one.ready),
            placed: sum.placed.saturating_add(one.placed),
            pending: sum.pending.saturating_add(one.pending),
            below_min: sum.below_min.saturating_add(one.below_min),
            in_effect: sum.in_effect.saturating_add(one.in_effect),
        };
        tallies.iter().fold(Self::default(), add)
    }

    /// Of a workload under a load.
    pub(super) fn of(workload: &Workload<'_>, burden: &Burden, members: &[Member<'_>]) -> Self {
        let up = || members.iter().filter(|member| member.up);
        let ready = up().map(|member| u64::from(member.pods.ready())).sum();
        Self {
            load: burden.load,
            unserved: burden.unserved,
            wanted: workload.wanted(burden.load).into(),
            ready,
            placed: up().map(|member| u64::from(member.pods.placed())).sum(),
            pending: up().map(|member| u64::from(member.pods.pending)).sum(),
            below_min: u64::from(ready < u64::from(workload.asked.total.min)),
            in_effect: in_effect(members),
        }
    }
}

fn in_effect(members: &[Member<'_>]) -> u64 {
    let counted = members.iter().filter(|member| !member.given_away);
    counted.filter_map(Member::bounds).map(|bounds| u64::from(bounds.max)).sum()
}

impl<'a> Frame<'_, 'a> {
    /// The clusters, in the order of the scenario.
    pub fn clusters(&self) -> impl Iterator<Item = ClusterFrame<'a>> {
        self.members.iter().zip(self.nodes).map(|(member, nodes)| self.seen(member, nodes))
    }

    /// The sum of `maxReplicas` in effect, without clusters whose share was given away.
    #[must_use]
    pub fn in_effect(&self) -> u64 {
        in_effect(self.members)
    }

    fn seen(&self, member: &Member<'a>, nodes: &Nodes) -> ClusterFrame<'a> {
        ClusterFrame {
            name: &member.site.member.name,
            up: member.up,
            spec: member.spec.unwrap_or_default(),
            placed: if member.up { member.pods.placed() } else { 0 },
            ready: member.serving(),
            pending: member.pods.pending,
            capacity: if member.up { nodes.whole(&self.workload.each) } else { 0 },
            bounds: member.bounds(),
            held: member.autoscaler.as_ref().is_some_and(|hpa| hpa.held),
            given_away: member.given_away,
        }
    }
}
