//! Result of a plan: shares, entries of the binding, and steps. Pure.

use jiff::Timestamp;

use super::owed::unserved;
use super::row::{Row, Transition};
use super::transition::is_known;
use super::{
    AssignmentHash, Bounds, Cluster, ClusterState, Failed, Hold, HpaVersion, Lost, Memory, Moved, Note, Purge, Reason,
    Refusal, Request, Why,
};
use crate::ledger::Ask;
use crate::split::Replicas;

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'a> {
    /// Must be stored with the targets, for the next plan.
    pub assignment_hash: AssignmentHash,
    /// The share of each cluster, by name. Clusters that do not take part are absent.
    pub shares: Vec<Share<'a>>,
    /// The final entries of the binding, by name.
    pub binding: Vec<Entry<'a>>,
    /// Steps to take, in this order. Empty on a settled fleet.
    pub steps: Vec<Step<'a>>,
    /// The entries of the binding as they are to follow what runs; `None`: they need not now, or a step writes them.
    /// Nothing waits for it, and it may be refused.
    pub followed: Option<Vec<Entry<'a>>>,
    /// Remarks on the whole plan.
    pub notes: Vec<Note>,
    /// Steps of now that would break a law, by what is known.
    pub refusals: Vec<Refusal<'a>>,
    /// What it asks of each cluster, by name.
    pub asks: Vec<(&'a str, Ask)>,
    /// When to plan again if no event happens.
    pub next: Option<Timestamp>,
    /// Must be stored: [`super::Request::idle_since`].
    pub idle_since: Option<Timestamp>,
    /// Must be stored: [`super::Request::last_rebalanced`].
    pub last_rebalanced: Option<Timestamp>,
}

impl<'a> Plan<'a> {
    /// The steps that need not wait.
    pub fn now(&self) -> impl Iterator<Item = &Step<'a>> {
        self.steps.iter().filter(|step| step.wait == Wait::Nothing)
    }
}

/// Share of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Its name.
    pub cluster: &'a str,
    /// Its final bounds (`status.clusterHPADesired`); [`Bounds::NONE`]: no HPA.
    pub target: Bounds,
    /// Its bounds for now.
    pub now: Bounds,
    /// Why it has this target.
    pub reason: Reason,
    /// Why `now` is not `target`.
    pub hold: Option<Hold>,
    /// Must be stored with the target.
    pub memory: Memory,
}

/// An entry of `spec.clusters` of the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<'a> {
    /// `name`
    pub cluster: &'a str,
    /// `replicas`
    pub replicas: Replicas,
}

/// A new eviction task of the binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eviction<'a> {
    /// `fromCluster`
    pub cluster: &'a str,
    /// `replicas`
    pub replicas: Replicas,
    /// `purgeMode`
    pub purge: Purge,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'a> {
    /// What to write.
    pub action: Action<'a>,
    /// What must be observed first.
    pub wait: Wait,
    /// Why.
    pub why: Why,
}

/// A write.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'a> {
    /// Write the HPA of a cluster.
    ApplyHpa {
        /// Name of the cluster.
        cluster: &'a str,
        /// New bounds.
        bounds: Bounds,
        /// API version of the HPA.
        version: HpaVersion,
        /// Must be stored in the same write as [`super::Hpa::pending_max`].
        pending_max: Replicas,
        /// Whether to write it without the user's scale-down: `behavior.scaleDown.selectPolicy: Disabled`
        /// (docs/design.md#scaling-down-under-prioritized). Must be stored in the same write as
        /// [`super::Hpa::scale_down_disabled`].
        scale_down_disabled: bool,
    },
    /// Write the entries of the binding, all in one write.
    UpdateBinding {
        /// All entries, by name.
        entries: Vec<Entry<'a>>,
        /// Tasks to add for clusters that failed or are evicted.
        evictions: Vec<Eviction<'a>>,
    },
    /// Write the scale subresource of the workload in a cluster.
    Scale {
        /// Name of the cluster.
        cluster: &'a str,
        /// New replicas.
        replicas: Replicas,
        /// The replicas that it reported. Where its HPA asks for more meanwhile, it is not scaled to zero.
        reported: Replicas,
    },
    /// Delete the HPA of a cluster.
    DeleteHpa {
        /// Name of the cluster.
        cluster: &'a str,
    },
}

/// What a step waits for. The next plan returns the step without a wait once that was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// No wait.
    Nothing,
    /// Clusters must apply their lower bounds.
    Lowered,
    /// The other clusters must have their bounds and run their min.
    Replaced,
    /// Running replicas above a target must shrink, or a leaving cluster must be gone.
    Shrunk,
    /// An HPA that is being deleted must be gone.
    Gone,
}

impl Share<'_> {
    /// How headroom last moved. What it received need not be stored when that affects no decision any more; a cluster
    /// that waits for its HPA receives with that.
    #[must_use]
    pub fn moved(&self, request: &Request<'_>) -> Option<Moved> {
        let waits = |cluster: &Cluster<'_>| cluster.name == self.cluster && cluster.written().is_none();
        self.memory.moved.filter(|moved| match *moved {
            Moved::Donated(_) => true,
            Moved::Received(at) => {
                request.still_matters(at) || self.target.is_some() && request.clusters.iter().any(waits)
            }
        })
    }

    /// The target that the next plan starts from; `None` for a cluster that does not take part.
    #[must_use]
    pub fn kept(&self) -> Option<Bounds> {
        (self.reason != Reason::Replaced).then_some(self.target)
    }
}

/// The share of each cluster that has a target, or a state to store.
pub(super) fn shares<'a>(rows: &[Row<'a>], now: Timestamp) -> Vec<Share<'a>> {
    let share = |row: &Row<'a>| {
        let Row { cluster, bounds: target, reason, memory, .. } = *row;
        if !row.is_assigned() {
            return replaced(cluster, memory.lost, now);
        }
        let (now_bounds, hold) = match row.transition {
            Transition::Have { bounds, hold, .. } => (bounds, hold),
            Transition::Leave(_) | Transition::Drop | Transition::Rest => (Bounds::NONE, None),
        };
        let failures = memory.failures.filter(|failures| !failures.is_forgotten(now));
        let replacement_min = memory.lost.map_or(memory.replacement_min, |lost| unserved(cluster, lost));
        let memory = Memory { replacement_min, evicted: None, failures, ..memory };
        Some(Share { cluster: cluster.name, target, now: now_bounds, reason, hold, memory })
    };
    let mut shares = Vec::with_capacity(rows.len());
    shares.extend(rows.iter().filter_map(share));
    shares
}

/// Clusters that get their first HPA now receive their headroom now: until then nothing shows whether they need it, and
/// one that is back waits for minutes until its old HPA is gone.
pub(super) fn receive(shares: &mut [Share<'_>], rows: &[Row<'_>], steps: &[Step<'_>], now: Timestamp) {
    for step in steps.iter().filter(|step| step.wait == Wait::Nothing) {
        let Action::ApplyHpa { cluster: name, .. } = step.action else { continue };
        let row = rows.binary_search_by_key(&name, |row| row.cluster.name);
        let first = row.ok().and_then(|at| rows.get(at)).is_some_and(|row| row.cluster.hpa.is_none());
        let share = shares.binary_search_by_key(&name, |share| share.cluster);
        if let Some(share) = share.ok().filter(|_| first).and_then(|at| shares.get_mut(at)) {
            share.memory.moved = share.memory.received().map(|_| Moved::Received(now)).or(share.memory.moved);
        }
    }
}

/// Notes the bounds that the steps write as those for now.
pub(super) fn follow(shares: &mut [Share<'_>], steps: &[Step<'_>]) {
    for step in steps {
        let Action::ApplyHpa { cluster: name, bounds, .. } = &step.action else { continue };
        shares
            .iter_mut()
            .filter(|share| share.cluster == *name && share.now.is_some())
            .for_each(|share| share.now = *bounds);
    }
}

/// The share with the state to store for a cluster that does not take part.
pub(super) fn replaced<'a>(cluster: &'a Cluster<'a>, lost: Option<Lost>, now: Timestamp) -> Option<Share<'a>> {
    let Memory { scale_ups, evicted, failures, lost: before, .. } = cluster.memory;
    let holds = cluster.written().is_some() && failures.is_none();
    let fails = cluster.state == ClusterState::Lost && before.is_none();
    let fails = fails && (lost.is_some() && is_known(cluster) || holds);
    let failures = if fails { Some(Failed::again(failures, now)) } else { failures };
    let failures = failures.filter(|failures| !failures.is_forgotten(now));
    let evicted = evicted.filter(|_| failures.is_some());
    if lost.is_none() && failures.is_none() {
        return None;
    }
    let replacement_min = lost.and_then(|lost| unserved(cluster, lost));
    let memory = Memory { scale_ups, replacement_min, lost, evicted, failures, ..Memory::default() };
    let (target, now) = (Bounds::NONE, Bounds::NONE);
    Some(Share { cluster: cluster.name, target, now, reason: Reason::Replaced, hold: None, memory })
}
