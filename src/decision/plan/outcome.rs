//! What a plan says: shares, entries of the binding, and steps. Pure.

use jiff::Timestamp;

use super::assignment::{Target, Targets};
use super::transition::Transition;
use super::{Basis, Bounds, Cluster, ClusterState, Failed, Hold, HpaVersion, Lost, Memory, Note, Purge, Reason, Why};
use crate::decision::split::Replicas;

/// A plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan<'a> {
    /// To be kept together with the targets, for the next plan.
    pub basis: Basis,
    /// What each cluster gets, by name. Clusters that take no part are not in it.
    pub shares: Vec<Share<'a>>,
    /// The entries of the binding in the end, by name.
    pub binding: Vec<Entry<'a>>,
    /// What to do, in this order. Empty on a settled fleet.
    pub steps: Vec<Step<'a>>,
    /// Remarks on the whole.
    pub notes: Vec<Note>,
    /// When to plan again, if nothing happens.
    pub next: Option<Timestamp>,
    /// To be kept: [`super::Request::idle`].
    pub idle: Option<Timestamp>,
    /// To be kept: [`super::Request::divided`].
    pub divided: Option<Timestamp>,
}

impl<'a> Plan<'a> {
    /// The steps that wait for nothing.
    pub fn now(&self) -> impl Iterator<Item = &Step<'a>> {
        self.steps.iter().filter(|step| step.wait == Wait::Nothing)
    }
}

/// What a cluster gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Its name.
    pub cluster: &'a str,
    /// What it is to have in the end (`status.clusterHPADesired`); [`Bounds::NONE`]: no HPA.
    pub target: Bounds,
    /// What it can have now.
    pub now: Bounds,
    /// Why it has this target.
    pub reason: Reason,
    /// Why `now` is not `target`.
    pub hold: Option<Hold>,
    /// To be kept with the target.
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

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'a> {
    /// What.
    pub action: Action<'a>,
    /// What has to be seen first.
    pub wait: Wait,
    /// Why.
    pub why: Why,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Action<'a> {
    /// Write the HPA of a cluster.
    ApplyHpa {
        /// Whose.
        cluster: &'a str,
        /// With these bounds.
        bounds: Bounds,
        /// In this API.
        version: HpaVersion,
        /// To be stored in the same write as [`super::Hpa::outstanding`].
        outstanding: Replicas,
        /// Without the user's scale-down: `behavior.scaleDown.selectPolicy: Disabled`
        /// (docs/design.md#scaling-down-under-prioritized). To be stored in the same write as [`super::Hpa::held`].
        held: bool,
    },
    /// Write the entries of the binding, all in one write.
    UpdateBinding {
        /// All entries, by name.
        entries: Vec<Entry<'a>>,
        /// Tasks to add for those that failed or are evicted.
        evictions: Vec<Eviction<'a>>,
    },
    /// Write the scale subresource of the workload in a cluster.
    Scale {
        /// Where.
        cluster: &'a str,
        /// To.
        replicas: Replicas,
    },
    /// Delete the HPA of a cluster.
    DeleteHpa {
        /// Whose.
        cluster: &'a str,
    },
}

/// What a step waits for. The next plan gives it again, without a wait, once that was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing: do it now.
    Nothing,
    /// That clusters are seen to have applied their lower bounds.
    Lowered,
    /// That the others are seen to have their bounds and to run their min.
    Replaced,
    /// That running replicas above a target shrink, or that a leaving cluster has gone.
    Shrunk,
    /// That an HPA that is being deleted has gone.
    Gone,
}

impl Share<'_> {
    /// The target that the next plan starts from; nothing for a cluster that takes no part.
    #[must_use]
    pub fn kept(&self) -> Option<Bounds> {
        (self.reason != Reason::Replaced).then_some(self.target)
    }
}

pub(super) fn shares<'a>(
    clusters: &[&'a Cluster<'a>],
    targets: &Targets,
    transitions: &[Transition],
    lost: &[Option<Lost>],
    now: Timestamp,
) -> Vec<Share<'a>> {
    let shares = clusters.iter().zip(targets).zip(transitions).zip(lost).filter_map(
        |(((cluster, target), transition), lost)| {
            let Some(target) = *target else { return replaced(cluster, *lost, now) };
            let (as_is, hold) = match transition {
                Transition::Have { bounds, hold, .. } => (*bounds, *hold),
                Transition::Leave(_) | Transition::Drop | Transition::Rest => (Bounds::NONE, None),
            };
            let Target { bounds, reason, memory, .. } = target;
            let failed = memory.failed.filter(|failed| !failed.is_forgotten(now));
            let memory = Memory { lost: *lost, evicted: None, failed, ..memory };
            Some(Share { cluster: cluster.name, target: bounds, now: as_is, reason, hold, memory })
        },
    );
    shares.collect()
}

/// What is to be remembered of a cluster that takes no part.
pub(super) fn replaced<'a>(cluster: &'a Cluster<'a>, lost: Option<Lost>, now: Timestamp) -> Option<Share<'a>> {
    let Memory { evicted, failed, lost: before, .. } = cluster.memory;
    let holds = cluster.hpa.is_some_and(|hpa| hpa.written.is_some()) && failed.is_none();
    let fails = cluster.state == ClusterState::Away && before.is_none() && (lost.is_some() || holds);
    let failed = if fails { Some(Failed::again(failed, now)) } else { failed };
    let failed = failed.filter(|failed| !failed.is_forgotten(now));
    if lost.is_none() && evicted.is_none() && failed.is_none() {
        return None;
    }
    let memory = Memory { lost, evicted, failed, ..Memory::default() };
    let (target, now) = (Bounds::NONE, Bounds::NONE);
    Some(Share { cluster: cluster.name, target, now, reason: Reason::Replaced, hold: None, memory })
}
