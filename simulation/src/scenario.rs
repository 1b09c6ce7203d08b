//! Input of a simulation: clusters, workloads with their FederatedHPAs and loads, and faults. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Curve, Second};
use decision::capacity::{Amounts, Demand};
use decision::fleet::Member;
use decision::fleet::candidates::Intent;
use decision::hpa::behavior::{Behavior, DOWN_WINDOW_SECONDS};
use decision::hpa::metric::{Source, Target};
use decision::ledger::{Rank, Standing};
use decision::plan::{HpaVersion, Policy, REPLACEMENT, Request, UNCONFIRMED, UNREADY};
use decision::split::Replicas;
use decision::subject::Text;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// The workloads, the oldest first; names must be unique.
    pub workloads: Vec<Workload<'a>>,
    /// What they know of each other's plans.
    pub sharing: Sharing,
    /// The clusters; names must be unique.
    pub sites: Vec<Site<'a>>,
    /// Faults.
    pub faults: Vec<Fault>,
    /// Durations.
    pub timing: Timing,
    /// How long to simulate.
    pub duration: Second,
}

/// What several workloads know of each other's plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// The controller promises capacity once (docs/design.md#law-13-promise-capacity-once).
    #[default]
    Ledger,
    /// karmada-scheduler takes from what clusters report what it scheduled and is not running yet: its feature gate
    /// `SchedulingOvercommitProtection`.
    Assumed,
    /// Nothing.
    Alone,
}

/// A workload and its FederatedHPA.
#[derive(Clone, Debug)]
pub struct Workload<'a> {
    /// Its name.
    pub name: Text<'a>,
    /// What `spec` asks for: no policy and no clusters. A suspended object is simulated as if it were not.
    pub asked: Request<'static>,
    /// Spec and placement.
    pub intent: Intent<'a>,
    /// The policy, where it differs from that of `intent`.
    pub policy: Option<Policy>,
    /// What moves bounds.
    pub driver: Driver,
    /// The metric of its HPAs, in which the load appears.
    pub metric: (Source, Target),
    /// How fast HPAs may scale; absent: the rules from before `behavior` existed.
    pub behavior: Option<Behavior>,
    /// Load that a replica can serve, in thousandths of its load at the target.
    pub saturation: u64,
    /// Time from the node to ready, where a cluster has none.
    pub pod_start: Second,
    /// What each replica requests.
    pub each: Demand,
    /// `schedulePriority` of its ResourceBinding.
    pub priority: i32,
    /// The load.
    pub load: Curve,
    /// Share of the load of each cluster, by name, where there is no common service.
    pub shares: BTreeMap<&'a str, u64>,
    /// What it has in each cluster, in the order of [`Scenario::sites`]; nothing where there is no entry.
    pub starts: Vec<Start>,
}

/// What a workload has in a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Start {
    /// Replicas at the start.
    pub replicas: Option<Replicas>,
    /// `maxResourceUsage` of `clusterHPAPreference`.
    pub usage: Option<f64>,
}

/// What moves the bounds of member HPAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The controller.
    #[default]
    Controller,
    /// One computation over all clusters, whose replicas karmada-scheduler divides: Centralized mode.
    Centralized,
    /// Nothing: plain HPAs whose bounds are divided once.
    Once,
}

/// A member cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Site<'a> {
    /// Name, labels, taints.
    pub member: Member<'a>,
    /// The API version of its HPAs.
    pub version: HpaVersion,
    /// What its nodes have for the pods of all workloads.
    pub capacity: Amounts,
    /// Nodes that are added when pods do not fit.
    pub growth: Option<Growth>,
    /// Time from the node to ready, where it differs.
    pub pod_start: Option<Second>,
    /// Whether its replicas can be written.
    pub writable: bool,
}

/// A cluster-autoscaler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// What all nodes have.
    pub capacity: Amounts,
    /// What a node has.
    pub step: Demand,
    /// Time from the first pod that does not fit to the new node.
    pub delay: Second,
}

/// What each replica requests where capacity is counted in replicas.
#[must_use]
pub fn one_pod() -> Demand {
    Demand::from_iter([])
}

/// A temporary fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// First second.
    pub from: Second,
    /// First second after it.
    pub to: Second,
    /// Kind of the fault.
    pub trouble: Disruption,
}

/// Kind of a fault. Clusters are given by their index in [`Scenario::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// A cluster is down: its pods are gone, and it sends no reports.
    Down(usize),
    /// The control plane is paused.
    ControlPlaneDown,
    /// Reports of a cluster, or of all, are delayed.
    Late(Option<usize>, Second),
}

/// Durations, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Interval of a member HPA.
    pub hpa_sync: Second,
    /// The default window of scaling down.
    pub downscale_window: Second,
    /// Time from ready until a pod's CPU counts.
    pub metrics_window: Second,
    /// Time from a write on the control plane to the member.
    pub apply: Second,
    /// Time from the member to the control plane.
    pub report: Second,
    /// Time from a cluster's failure, or recovery, until its condition changes.
    pub detect: Second,
    /// Least time between two decisions.
    pub settle: Second,
    /// Interval of rebalancing; 0: never.
    pub optimize: Second,
    /// Longest wait for a cluster to confirm a write.
    pub unconfirmed: Second,
    /// How long a leaving cluster waits until others run its replicas; 0: without limit.
    pub replacement: Second,
    /// Longest wait for the replicas of a cluster to become ready; evictions end after the same time.
    pub unready: Second,
    /// How often clusters report what is free; 0: with each change of the only workload.
    pub capacity_report: Second,
    /// Time between two failovers, over all workloads; 0: no limit.
    pub failover: Second,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            hpa_sync: 15,
            downscale_window: DOWN_WINDOW_SECONDS.into(),
            metrics_window: 15,
            apply: 2,
            report: 1,
            detect: 30,
            settle: 1,
            optimize: 60,
            unconfirmed: UNCONFIRMED.as_secs(),
            replacement: REPLACEMENT.as_secs(),
            unready: UNREADY.as_secs(),
            capacity_report: 0,
            failover: 0,
        }
    }
}

impl Workload<'_> {
    /// The stabilization window of scaling down.
    pub(super) fn window(&self, timing: Timing) -> SignedDuration {
        let own = self.behavior.as_ref().and_then(|behavior| behavior.down.window_seconds);
        SignedDuration::from_secs(own.map_or(timing.downscale_window, i64::from))
    }

    /// The replicas that keep this load at its target, within the bounds.
    #[must_use]
    pub fn wanted(&self, load: u64) -> Replicas {
        let wanted = Replicas::try_from(load.div_ceil(1000)).unwrap_or(Replicas::MAX);
        wanted.min(self.asked.total.max).max(self.asked.total.min)
    }

    /// What it has in a cluster.
    pub(super) fn start(&self, at: usize) -> Start {
        self.starts.get(at).copied().unwrap_or_default()
    }

    /// Who comes first: `age` is its place among all, the oldest first. Karmada's evictions know no priority.
    pub(super) fn standing(&self, rank: Rank, age: usize) -> Standing {
        let created = i64::try_from(age).ok().map(instant);
        let priority = if self.driver == Driver::Centralized { 0 } else { self.priority };
        Standing { rank, priority: Reverse(priority), created, name: self.name.to_string() }
    }
}

/// The timestamp of a second.
pub(super) fn instant(second: Second) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}
