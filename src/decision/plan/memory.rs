//! What a plan remembers of a cluster from one time to the next, so that a restart forgets nothing. Pure.

use std::fmt;

use jiff::Timestamp;

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
}

/// Replicas that a cluster is to run at once (design: When a cluster cannot scale, assist).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assist {
    /// How many, with those it ran before.
    pub replicas: Replicas,
    /// When that was decided. After a while its HPA knows better.
    pub since: Timestamp,
}

/// A cluster that cannot scale (design: When a cluster cannot scale). It counts once this holds for `delay`.
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
            Self::Pending => "Pending",
            Self::AtMax => "AtMax",
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
