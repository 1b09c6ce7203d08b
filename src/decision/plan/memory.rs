//! What a plan remembers of a cluster from one time to the next, so that a restart forgets nothing. Pure.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use crate::decision::split::Replicas;

/// What is kept of a cluster with its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Why it cannot scale, where it cannot, and since when.
    pub stuck: Option<Stuck>,
    /// When it last gave headroom to others.
    pub gave: Option<Timestamp>,
    /// When it last got headroom from others.
    pub got: Option<Timestamp>,
    /// Replicas that others were asked to run in its place since it is stuck.
    pub helped: Replicas,
    /// What it is to run at once in the place of others; until it does.
    pub assist: Option<Assist>,
    /// Whether it is to have no replicas.
    pub zero: bool,
    /// The least that it runs, in the place of clusters that leave or failed.
    pub floor: Option<Floor>,
    /// What others are to run in its place, as it leaves or failed.
    pub lost: Option<Lost>,
    /// Replicas that the other clusters ran when it stopped to answer.
    pub others: Option<Replicas>,
    /// When Karmada's own failover took the workload away from it.
    pub evicted: Option<Timestamp>,
    /// How often it failed lately.
    pub failed: Option<Failed>,
}

impl Memory {
    /// The least that it runs in the place of others.
    #[must_use]
    pub fn floor(&self) -> Replicas {
        self.floor.map_or(0, |floor| floor.replicas)
    }
}

/// A cluster that failed lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// How often.
    pub times: u32,
    /// When it did last.
    pub last: Timestamp,
}

impl Failed {
    /// Whether that is so long ago that it is of no account.
    #[must_use]
    pub fn is_forgotten(self, now: Timestamp) -> bool {
        self.last.checked_add(SignedDuration::from_hours(1)).is_ok_and(|end| end <= now)
    }

    /// It failed once more.
    #[must_use]
    pub fn again(before: Option<Self>, now: Timestamp) -> Self {
        let times = before.filter(|before| !before.is_forgotten(now)).map_or(0, |before| before.times);
        Self { times: times.saturating_add(1), last: now }
    }
}

/// Replicas that a cluster runs at least, in the place of others, until its own HPA has seen their load
/// (docs/design.md#failover).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// How many, with its own.
    pub replicas: Replicas,
    /// When others were last seen to be replaced.
    pub since: Timestamp,
}

/// A cluster that leaves or failed, and that others replace (docs/design.md#failover, docs/design.md#clusters-that-leave).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// What it ran.
    pub ran: Replicas,
    /// What of this no cluster has been asked to run yet.
    pub due: Replicas,
    /// Since when.
    pub since: Timestamp,
}

/// Replicas that a cluster is to run at once (docs/design.md#clusters-that-cannot-scale).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assist {
    /// How many, with those it ran before.
    pub replicas: Replicas,
    /// When that was decided. After a while its HPA knows better.
    pub since: Timestamp,
}

/// A cluster that cannot scale (docs/design.md#clusters-that-cannot-scale). It counts once this holds for `delay`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stuck {
    /// Why.
    pub cause: Cause,
    /// Since when.
    pub since: Timestamp,
}

/// Why a cluster cannot scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Pods cannot be scheduled.
    Pending,
    /// Its HPA is at its max and wants more.
    AtMax,
}

impl Cause {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Pending => "Unschedulable",
            Self::AtMax => "TooManyReplicas",
        }
    }

    /// Reads [`Self::code`].
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        [Self::Pending, Self::AtMax].into_iter().find(|cause| cause.code() == code)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pods cannot be scheduled",
            Self::AtMax => "its HPA is at its max and wants more",
        })
    }
}
