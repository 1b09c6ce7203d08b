//! Reasons for every share and step: a code for machines and a sentence for people. Pure.

use std::fmt;

use super::Bounds;
use crate::split::Replicas;

/// Why a cluster has its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Every cluster has the whole bounds.
    Duplicated,
    /// Its share of `maxReplicas` is by `staticWeight`.
    Weighted {
        /// Its weight.
        weight: u64,
        /// Sum of all weights.
        weights: u64,
    },
    /// Its share is by the replicas that would still fit.
    Available {
        /// Number in the cluster.
        available: u64,
        /// Number in all clusters.
        availables: u64,
    },
    /// Clusters are filled by capacity, the largest first.
    Filled {
        /// Its capacity.
        capacity: Replicas,
    },
    /// Clusters are filled by priority.
    Priority {
        /// Its priority.
        priority: Option<i32>,
        /// Its capacity.
        capacity: Replicas,
    },
    /// As assigned before.
    Unchanged,
    /// It took over bounds that other clusters no longer have.
    ReplicasTakenOver {
        /// Number of replicas.
        more: Replicas,
    },
    /// It released headroom to other clusters.
    HeadroomReleased {
        /// Number of replicas.
        less: Replicas,
    },
    /// It recovered: it has its min at once, and gets headroom at the next rebalance.
    ClusterRecovered,
    /// Its pods are unschedulable: its unused max was moved to other clusters.
    ScaleUpBlocked,
    /// It received headroom that other clusters cannot use or do not need.
    HeadroomReceived,
    /// It is at its max and wants more: its max was raised by what other clusters do not want.
    RaisedAtMax,
    /// It donated headroom that it does not want to clusters at their max.
    HeadroomDonated,
    /// It has the lowest priority and little load: its headroom was moved to higher priorities.
    PriorityDrained,
    /// Headroom was rebalanced by free capacity.
    HeadroomRebalanced,
    /// It leaves or failed: other clusters run what it ran.
    Replaced,
}

impl Reason {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Duplicated => "Duplicated",
            Self::Weighted { .. } => "StaticWeighted",
            Self::Available { .. } => "DynamicWeighted",
            Self::Filled { .. } => "Aggregated",
            Self::Priority { .. } => "Prioritized",
            Self::Unchanged => "Unchanged",
            Self::ReplicasTakenOver { .. } => "ReplicasTakenOver",
            Self::HeadroomReleased { .. } => "HeadroomReleased",
            Self::ClusterRecovered => "ClusterRecovered",
            Self::ScaleUpBlocked => "ScaleUpBlocked",
            Self::HeadroomReceived => "HeadroomReceived",
            Self::RaisedAtMax => "RaisedAtMax",
            Self::HeadroomDonated => "HeadroomDonated",
            Self::PriorityDrained => "PriorityDrained",
            Self::HeadroomRebalanced => "HeadroomRebalanced",
            Self::Replaced => "Replaced",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicated => f.write_str("every cluster has the whole bounds"),
            Self::Weighted { weight, weights } => write!(f, "weight {weight} of {weights}"),
            Self::Available { available, availables } => {
                write!(f, "capacity for {available} of {availables} more replicas")
            }
            Self::Filled { capacity } => write!(f, "capacity for {capacity} replicas, the largest cluster first"),
            Self::Priority { priority: Some(priority), capacity } => {
                write!(f, "priority {priority}, capacity for {capacity} replicas")
            }
            Self::Priority { priority: None, capacity } => write!(f, "no priority, capacity for {capacity} replicas"),
            Self::Unchanged => f.write_str("as assigned before"),
            Self::ReplicasTakenOver { more } => write!(f, "takes over {more} that no other cluster can run"),
            Self::HeadroomReleased { less } => write!(f, "releases {less} to other clusters"),
            Self::ClusterRecovered => f.write_str("recovered: min restored now, headroom at the next rebalance"),
            Self::ScaleUpBlocked => f.write_str("pods are unschedulable: unused max was moved to other clusters"),
            Self::HeadroomReceived => f.write_str("receives headroom that other clusters cannot use"),
            Self::RaisedAtMax => {
                f.write_str("at max and above target: receives headroom that other clusters do not need")
            }
            Self::HeadroomDonated => {
                f.write_str("needs less than its max: the rest was moved to clusters at their max")
            }
            Self::PriorityDrained => {
                f.write_str("lowest priority and mostly idle: headroom moved to higher priorities")
            }
            Self::HeadroomRebalanced => f.write_str("headroom rebalanced by free capacity"),
            Self::Replaced => f.write_str("leaving or failed: other clusters run its replicas"),
        }
    }
}

/// Why a cluster does not have its target yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// More replicas run than the bounds allow; they are not removed for other clusters.
    Running {
        /// Number of running replicas.
        running: Replicas,
    },
    /// Other clusters still have the bounds that it waits for.
    Budget,
    /// It replaces clusters that leave or failed, and keeps at least the replicas that it was asked to run.
    Replaces {
        /// How many, with its own.
        replicas: Replicas,
    },
    /// The min of its HPA asks for replicas in place of clusters that cannot scale: its replicas cannot be written.
    Assists {
        /// How many, with its own.
        replicas: Replicas,
    },
}

impl Hold {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Running { .. } => "HeldByRunningReplicas",
            Self::Budget => "WaitingForBudget",
            Self::Replaces { .. } => "ReplacingOthers",
            Self::Assists { .. } => "AssistingOthers",
        }
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Running { running } => {
                write!(f, "{running} replicas are running and are not removed for other clusters")
            }
            Self::Budget => f.write_str("waiting for other clusters to release the replicas"),
            Self::Replaces { replicas } => {
                write!(f, "keeps at least {replicas} while it replaces leaving or failed clusters")
            }
            Self::Assists { replicas } => {
                write!(f, "asked for at least {replicas} by its min, in place of clusters that cannot scale")
            }
        }
    }
}

/// Why a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A cluster gets its first bounds.
    Assigned,
    /// Its max is lowered, so that other clusters can have the rest.
    MaxLowered {
        /// Previous bounds.
        from: Bounds,
    },
    /// Its max is raised.
    MaxRaised {
        /// Previous bounds.
        from: Bounds,
    },
    /// Its max is raised as far as `maxReplicas` allows while a cluster does not answer.
    MaxRaisedPartially {
        /// Its target.
        to: Replicas,
    },
    /// Its min or the API version of its HPA changes.
    BoundsChanged {
        /// Previous bounds.
        from: Bounds,
    },
    /// It leaves, and gives up the headroom that it does not use.
    ClusterLeaving,
    /// It leaves, and other clusters run what it ran.
    ClusterRemoved,
    /// It failed: other clusters have its share.
    ClusterFailed,
    /// The clusters of the ResourceBinding follow the bounds.
    BindingUpdated,
    /// It has no replicas and needs some.
    ScaledFromZero,
    /// It is idle and is scaled to zero.
    ScaledToZero,
    /// It runs replicas in place of clusters that cannot scale up.
    ScaleAssisted,
}

impl Why {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Assigned => "Assigned",
            Self::MaxLowered { .. } => "MaxLowered",
            Self::MaxRaised { .. } => "MaxRaised",
            Self::MaxRaisedPartially { .. } => "MaxRaisedPartially",
            Self::BoundsChanged { .. } => "BoundsChanged",
            Self::ClusterLeaving => "ClusterLeaving",
            Self::ClusterRemoved => "ClusterRemoved",
            Self::ClusterFailed => "ClusterFailed",
            Self::BindingUpdated => "BindingUpdated",
            Self::ScaledFromZero => "ScaledFromZero",
            Self::ScaledToZero => "ScaledToZero",
            Self::ScaleAssisted => "ScaleAssisted",
        }
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.min, self.max)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Assigned => f.write_str("receives its share"),
            Self::MaxLowered { from } => write!(f, "lowered from {from}"),
            Self::MaxRaised { from } => write!(f, "raised from {from}"),
            Self::MaxRaisedPartially { to } => {
                write!(f, "raised part of the way to {to} while a cluster does not respond")
            }
            Self::BoundsChanged { from } => write!(f, "changes from {from}"),
            Self::ClusterLeaving => f.write_str("leaving: releases unused headroom, its replicas follow"),
            Self::ClusterRemoved => f.write_str("removed once other clusters run its replicas"),
            Self::ClusterFailed => f.write_str("failed: its share was moved to other clusters"),
            Self::BindingUpdated => f.write_str("entries updated to match the bounds"),
            Self::ScaledFromZero => f.write_str("scaled from zero"),
            Self::ScaledToZero => f.write_str("idle, and the other clusters can carry the load"),
            Self::ScaleAssisted => f.write_str("runs replicas for clusters that cannot"),
        }
    }
}

/// Why a replacement is not ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// No cluster has free capacity or max for it.
    Room,
    /// Its pods are not ready.
    Unready,
    /// A cluster has not confirmed its bounds.
    Unconfirmed,
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Room => "no other cluster has free capacity for them",
            Self::Unready => "their pods are not ready",
            Self::Unconfirmed => "a cluster has not confirmed its new bounds",
        })
    }
}
