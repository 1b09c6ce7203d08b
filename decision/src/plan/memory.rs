//! State that a plan keeps for a cluster until the next plan, so that a restart forgets nothing. Pure.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::ScaleUps;
use crate::health::NO_NODES;
use crate::split::Replicas;

/// State that is kept with the target of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Why it cannot scale, and since when; `None` when it can.
    pub scale_up_blocked: Option<ScaleUpBlock>,
    /// How headroom last moved.
    pub moved: Option<Moved>,
    /// Replicas requested from other clusters since it cannot scale.
    pub covered_replicas: Replicas,
    /// Replicas that it should run at once because others cannot scale, until it does.
    pub assist: Option<Assist>,
    /// What fhpa itself added to it lately to answer load.
    pub scale_ups: ScaleUps,
    /// Whether it should have no replicas.
    pub scaled_to_zero: bool,
    /// Fewest replicas that it runs in place of clusters that leave or failed.
    pub replacement_min: Option<ReplacementMin>,
    /// Replicas that other clusters should run in its place, because it leaves or failed.
    pub lost: Option<Lost>,
    /// Replicas that the other clusters ran when it stopped answering.
    pub other_replicas: Option<Replicas>,
    /// When Karmada's own failover evicted the workload from it.
    pub evicted: Option<Timestamp>,
    /// How often it failed recently.
    pub failures: Option<Failed>,
}

impl Memory {
    /// Whether other clusters run replicas in its place or it was asked to run those of others: without it nobody would
    /// know of these, whether or not it holds anything.
    #[must_use]
    pub const fn owes(&self) -> bool {
        self.lost.is_some() || self.replacement_min.is_some()
    }

    /// Replicas that it should run at once, in place of others or because they cannot scale: what its min asks for is
    /// written to its scale, too.
    #[must_use]
    pub fn ordered(&self) -> Replicas {
        self.assist.map_or(0, |assist| assist.replicas).max(self.replacement_replicas())
    }

    /// When it donated headroom, where it received none since.
    #[must_use]
    pub fn donated(&self) -> Option<Timestamp> {
        self.moved.and_then(|moved| if let Moved::Donated(at) = moved { Some(at) } else { None })
    }

    /// When it received headroom, where it donated none since.
    #[must_use]
    pub fn received(&self) -> Option<Timestamp> {
        self.moved.and_then(|moved| if let Moved::Received(at) = moved { Some(at) } else { None })
    }
}

/// The last move of headroom from or to a cluster. Within the window of scaling down it does not move back; after that
/// only the direction counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// It donated some to others.
    Donated(Timestamp),
    /// It received some from others.
    Received(Timestamp),
}

impl Moved {
    /// When.
    #[must_use]
    pub const fn at(self) -> Timestamp {
        match self {
            Self::Donated(at) | Self::Received(at) => at,
        }
    }
}

/// A cluster that failed recently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// How often.
    pub times: u32,
    /// Time of the last failure.
    pub last: Timestamp,
}

/// The clocks of two leaders may differ by this much: what one noted further in the future, its clock ran ahead.
pub const CLOCK_SKEW: SignedDuration = SignedDuration::from_mins(1);

/// A failure counts for so long.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(1);

/// Whether a time lies so far in the future that the clock by which it was noted ran ahead, or this one is behind.
#[must_use]
pub fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.duration_since(now) > CLOCK_SKEW
}

impl Failed {
    /// Whether the last failure lies in the future: the clock of the leader that noted it ran ahead.
    #[must_use]
    pub fn ran_ahead(self, now: Timestamp) -> bool {
        is_ahead(self.last, now)
    }

    /// Whether the last failure no longer counts: it is long ago, or nobody knows when it was.
    #[must_use]
    pub fn is_forgotten(self, now: Timestamp) -> bool {
        self.ran_ahead(now) || self.last.checked_add(REMEMBERED).is_ok_and(|end| end <= now)
    }

    /// Counts one more failure.
    #[must_use]
    pub fn again(before: Option<Self>, now: Timestamp) -> Self {
        let times = before.filter(|before| !before.is_forgotten(now)).map_or(0, |before| before.times);
        Self { times: times.saturating_add(1), last: now }
    }

    /// Counts an eviction by Karmada's own failover as a failure, once.
    #[must_use]
    pub fn with_eviction(before: Option<Self>, evicted: Option<Timestamp>) -> Option<Self> {
        let counts = |evicted: &Timestamp| before.is_none_or(|before| before.last < *evicted);
        evicted.filter(counts).map(|evicted| Self::again(before, evicted)).or(before)
    }
}

/// Fewest replicas that a cluster runs in place of others, until its own HPA has observed their load
/// (docs/design.md#failover).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacementMin {
    /// Number of replicas, including its own.
    pub replicas: Replicas,
    /// Further ones that are due and that no cluster has been asked to run yet, because none has room for them.
    pub uncovered: Replicas,
    /// When they were requested, or when the last cluster was replaced.
    pub since: Timestamp,
}

/// A cluster that leaves or failed and is being replaced (docs/design.md#failover, docs/design.md#clusters-that-leave).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Replicas that it ran.
    pub replicas: Replicas,
    /// The part of them that no cluster has been asked to run yet.
    pub uncovered: Replicas,
    /// Since when.
    pub since: Timestamp,
}

/// Replicas that a cluster should run at once (docs/design.md#clusters-that-cannot-scale).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assist {
    /// Number of replicas, including its own.
    pub replicas: Replicas,
    /// Time of the decision. After a while the own HPA has better data.
    pub since: Timestamp,
}

/// A cluster that cannot scale (docs/design.md#clusters-that-cannot-scale).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleUpBlock {
    /// Why.
    pub cause: Cause,
    /// Since when.
    pub since: Timestamp,
}

impl ScaleUpBlock {
    /// When others begin to help: after the delay, and at once where no nodes come that would be worth the wait.
    #[must_use]
    pub fn counts_from(self, delay: SignedDuration) -> Option<Timestamp> {
        match self.cause {
            Cause::NoNodes => Some(self.since),
            Cause::Pending | Cause::AtMax => self.since.checked_add(delay).ok(),
        }
    }
}

/// Why a cluster cannot scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Pods cannot be scheduled.
    Pending,
    /// Pods cannot be scheduled, and the autoscaler of its nodes adds none.
    NoNodes,
    /// Its HPA is at its max and wants more.
    AtMax,
}

impl Cause {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Pending => "Unschedulable",
            Self::NoNodes => NO_NODES,
            Self::AtMax => "TooManyReplicas",
        }
    }

    /// Reads [`Self::code`].
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        [Self::Pending, Self::NoNodes, Self::AtMax].into_iter().find(|cause| cause.code() == code)
    }

    /// Whether pods cannot be scheduled.
    #[must_use]
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::Pending | Self::NoNodes)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pending => "pods cannot be scheduled",
            Self::NoNodes => "pods cannot be scheduled, and the autoscaler of its nodes adds none",
            Self::AtMax => "its HPA is at its max and wants more",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_eviction_counts_as_one_failure() {
        let at = |second| Timestamp::constant(second, 0);
        let failed = |times, last| Some(Failed { times, last: at(last) });
        let with = |before, evicted| Failed::with_eviction(before, Some(at(evicted)));
        assert_eq!([with(None, 100), with(failed(1, 100), 100)], [failed(1, 100); 2]);
        assert_eq!(with(failed(1, 100), 500), failed(2, 500));
        assert_eq!(with(failed(2, 600), 500), failed(2, 600), "it failed after that");
        assert_eq!(with(failed(3, 100), 4_000), failed(1, 4_000), "that was long ago");
        assert_eq!(Failed::with_eviction(failed(1, 100), None), failed(1, 100));
    }
}
