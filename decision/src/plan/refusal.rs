//! A write that would break a law, as the gate finds it. Pure.

use std::fmt;

use crate::split::Replicas;

/// The law that a write would break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Law {
    /// Law 2: the maxes that may be in effect stay within `spec.maxReplicas`.
    Budget,
    /// Law 3: a ready pod that is needed goes only after another one is ready.
    ReadyPods,
}

impl Law {
    /// All laws.
    pub const ALL: [Self; 2] = [Self::Budget, Self::ReadyPods];

    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Budget => "Budget",
            Self::ReadyPods => "ReadyPods",
        }
    }
}

/// A write that would break a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal<'a> {
    /// The law.
    pub law: Law,
    /// The cluster of the write.
    pub cluster: &'a str,
    /// By how many replicas all writes together break it.
    pub by: Replicas,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cluster, by, .. } = self;
        match self.law {
            Law::Budget => write!(f, "{cluster}: {by} more than maxReplicas might be in effect"),
            Law::ReadyPods => write!(f, "{cluster}: {by} ready replicas that are needed would go, and stay"),
        }
    }
}
