//! Input of a simulation: clusters, load, faults and one FederatedHPA. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::{Curve, Second};
use crate::decision::fleet::Member;
use crate::decision::fleet::candidates::Intent;
use crate::decision::hpa::behavior::{Behavior, DOWN_WINDOW_SECONDS};
use crate::decision::hpa::metric::{Source, Target};
use crate::decision::plan::{HpaVersion, Policy, REPLACEMENT, Request, UNCONFIRMED, UNREADY};
use crate::decision::split::Replicas;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// What `spec` asks for: no policy and no clusters. A suspended object is simulated as if it were not.
    pub asked: Request<'static>,
    /// Spec and placement.
    pub intent: Intent<'a>,
    /// The policy, where it differs from that of `intent`.
    pub policy: Option<Policy>,
    /// What moves bounds.
    pub driver: Driver,
    /// Metric of the HPAs and behavior of the pods.
    pub workload: Workload,
    /// The clusters; names must be unique.
    pub sites: Vec<Site<'a>>,
    /// The load.
    pub load: Curve,
    /// Share of the load of each cluster, by name, where there is no common service.
    pub shares: BTreeMap<&'a str, u64>,
    /// Faults.
    pub faults: Vec<Fault>,
    /// Durations.
    pub timing: Timing,
    /// How long to simulate.
    pub duration: Second,
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

/// Metric of the HPAs, and behavior of the pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The metric in which the load appears.
    pub metric: (Source, Target),
    /// How fast HPAs may scale; absent: the rules from before `behavior` existed.
    pub behavior: Option<Behavior>,
    /// Load that a replica can serve, in thousandths of its load at the target.
    pub saturation: u64,
    /// Time from the node to ready, where a cluster has none.
    pub pod_start: Second,
}

/// A member cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Site<'a> {
    /// Name, labels, taints.
    pub member: Member<'a>,
    /// The API version of its HPAs.
    pub version: HpaVersion,
    /// Replicas that fit on its nodes.
    pub capacity: Replicas,
    /// Nodes that are added when pods do not fit.
    pub growth: Option<Growth>,
    /// Time from the node to ready, where it differs.
    pub pod_start: Option<Second>,
    /// Replicas at the start.
    pub replicas: Option<Replicas>,
    /// `maxResourceUsage` of `clusterHPAPreference`.
    pub usage: Option<f64>,
    /// Whether its replicas can be written.
    pub writable: bool,
}

/// A cluster-autoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Replicas that fit with all nodes.
    pub capacity: Replicas,
    /// Replicas that fit on a node.
    pub step: Replicas,
    /// Time from the first pod that does not fit to the new node.
    pub delay: Second,
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
        }
    }
}

impl Scenario<'_> {
    /// The stabilization window of scaling down.
    pub(super) fn window(&self) -> SignedDuration {
        let own = self.workload.behavior.as_ref().and_then(|behavior| behavior.down.window_seconds);
        SignedDuration::from_secs(own.map_or(self.timing.downscale_window, i64::from))
    }
}

/// The timestamp of a second.
pub(super) fn instant(second: Second) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}
