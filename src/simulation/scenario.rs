//! What is simulated: clusters, load, faults and one FederatedHPA. Pure.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Curve;
use crate::decision::fleet::Member;
use crate::decision::fleet::candidates::Intent;
use crate::decision::hpa::behavior::{Behavior, DOWN_WINDOW_SECONDS};
use crate::decision::hpa::metric::{Source, Target};
use crate::decision::plan::{Bounds, HpaVersion, Policy, REPLACEMENT, UNCONFIRMED, UNREADY};
use crate::decision::split::Replicas;

/// Seconds since the start.
pub type Second = i64;

/// A scenario.
#[derive(Clone, Debug)]
pub struct Scenario<'a> {
    /// `spec.minReplicas` and `spec.maxReplicas`.
    pub total: Bounds,
    /// What the user and the placement say of clusters.
    pub intent: Intent<'a>,
    /// The policy, where it is not the one that `intent` means.
    pub policy: Option<Policy>,
    /// `spec.scalingToZero`
    pub scaling_to_zero: bool,
    /// `spec.scaleAssist`
    pub scale_assist: bool,
    /// `spec.autoscaleMultiClusterDelay`
    pub delay: SignedDuration,
    /// Who moves bounds.
    pub driver: Driver,
    /// What the HPAs hold and how the pods serve.
    pub workload: Workload,
    /// The clusters; names are unique.
    pub sites: Vec<Site<'a>>,
    /// The load.
    pub load: Curve,
    /// Part of the load that each cluster gets, by name, where there is no one service for all.
    pub shares: BTreeMap<&'a str, u64>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// How long things take.
    pub timing: Timing,
    /// How long to simulate.
    pub duration: Second,
}

/// Who moves the bounds of member HPAs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// The controller.
    #[default]
    Controller,
    /// Nobody: plain HPAs whose bounds are divided once.
    Once,
}

/// What the HPAs hold, and what pods do.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// The metric in which the load shows.
    pub metric: (Source, Target),
    /// How fast HPAs may scale; absent: the rules from before there was `behavior`.
    pub behavior: Option<Behavior>,
    /// Load that a replica can serve, in thousandths of what it has at the target.
    pub saturation: u64,
    /// From the node to ready, where a cluster says nothing else.
    pub pod_start: Second,
}

/// A member cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Site<'a> {
    /// Name, labels, taints.
    pub member: Member<'a>,
    /// The API of its HPAs.
    pub version: HpaVersion,
    /// Replicas that fit on its nodes.
    pub capacity: Replicas,
    /// Nodes that come when pods do not fit.
    pub growth: Option<Growth>,
    /// From the node to ready, where it is not as elsewhere.
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
    /// Replicas that fit when all nodes are there.
    pub capacity: Replicas,
    /// Replicas that fit on a node.
    pub step: Replicas,
    /// From the first pod that does not fit to the node.
    pub delay: Second,
}

/// Something that goes wrong for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// First second.
    pub from: Second,
    /// First second after it.
    pub to: Second,
    /// What.
    pub trouble: Disruption,
}

/// What goes wrong. Clusters are meant by their place in [`Scenario::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disruption {
    /// A cluster is down: its pods are gone, and nobody hears of it.
    Down(usize),
    /// The control plane does nothing.
    ControlPlaneDown,
    /// Reports of a cluster, or of all, come late.
    Late(Option<usize>, Second),
}

/// How long things take, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two looks of a member HPA.
    pub hpa_sync: Second,
    /// The window of scaling down where the behavior says none.
    pub downscale_window: Second,
    /// From ready until a pod's CPU counts.
    pub metrics_window: Second,
    /// From a write on the control plane to the member.
    pub apply: Second,
    /// From the member to the control plane.
    pub report: Second,
    /// From a cluster's failure, or return, until its condition says so.
    pub detect: Second,
    /// Least time between two decisions.
    pub settle: Second,
    /// Between two optimizations; 0: never.
    pub optimize: Second,
    /// A cluster that has not confirmed a write for so long is waited for no longer.
    pub unconfirmed: Second,
    /// A cluster that leaves waits for so long until others run what it runs; 0: for ever.
    pub replacement: Second,
    /// A cluster whose replicas are not ready for so long is waited for no longer; evictions end after the same time.
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

/// The instant that a second stands for.
pub(super) fn instant(second: Second) -> Timestamp {
    Timestamp::from_second(second).unwrap_or(Timestamp::MAX)
}
