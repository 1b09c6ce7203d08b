//! Input of a plan: the user's bounds and the observed state of each cluster (docs/design.md#distributed-mode). Pure.

use jiff::{SignedDuration, Timestamp};

use super::{AssignmentHash, Memory, Policy};
use crate::hpa::behavior::Rules;
use crate::load::Load;
use crate::split::Replicas;

/// Longest wait for a cluster to confirm a write ([`Cluster::unresponsive`]).
pub const UNCONFIRMED: SignedDuration = SignedDuration::from_secs(60);
/// Longest wait for the replicas of a cluster to become ready; Karmada ends evictions after the same time.
pub const UNREADY: SignedDuration = SignedDuration::from_secs(600);
/// Entries of the binding follow what runs no more often than this.
pub(super) const ENTRIES: SignedDuration = SignedDuration::from_secs(60);
/// Default of the longest wait of a leaving cluster until others run its replicas.
pub const REPLACEMENT: SignedDuration = SignedDuration::from_mins(10);
/// The effect of a move is not visible sooner: HPAs run every 15 seconds.
pub(super) const REACTION: SignedDuration = SignedDuration::from_secs(15);

/// `minReplicas` and `maxReplicas`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// `minReplicas`
    pub min: Replicas,
    /// `maxReplicas`; 0 means no HPA and no replicas.
    pub max: Replicas,
}

impl Bounds {
    /// No HPA and no replicas.
    pub const NONE: Self = Self { min: 0, max: 0 };

    /// Whether these bounds allow replicas.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.max > 0
    }
}

/// The thresholds of a cluster: `autoscalingMinThreshold` and `autoscalingMaxThreshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fewest replicas that it is assigned.
    pub least: Replicas,
    /// Most replicas that it is assigned; not below `least`.
    pub most: Replicas,
}

impl Default for Limits {
    fn default() -> Self {
        Self { least: 0, most: Replicas::MAX }
    }
}

/// State of a cluster for the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterState {
    /// Takes part.
    #[default]
    Serving,
    /// Does not answer, which is still tolerated: it keeps its bounds, and they are not raised.
    Silent,
    /// Answers but must leave: no longer a candidate, or `evicted` by a taint.
    Leaving {
        /// Whether a taint is the cause, not the rules.
        evicted: bool,
    },
    /// Failed, or excluded by a taint: its bounds are given to other clusters.
    Lost,
}

/// The API of member HPAs: `autoscaling/v2` from Kubernetes 1.23, below it `autoscaling/v1` with annotations
/// (docs/design.md#on-the-wire). The plan only passes it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HpaVersion {
    /// `autoscaling/v1`
    V1,
    /// `autoscaling/v2`
    #[default]
    V2,
}

/// Known state of the HPA that fhpa wrote in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hpa {
    /// The bounds last written; `None` when it is being deleted.
    pub written: Option<Bounds>,
    /// The API last written.
    pub version: HpaVersion,
    /// Whether exactly that write was observed in the cluster. Equal numbers do not prove it: an older write may still
    /// be in flight.
    pub confirmed: bool,
    /// Until it is confirmed: the greatest `maxReplicas` that may be in effect, from [`super::Action::ApplyHpa`] of
    /// that write.
    pub pending_max: Replicas,
    /// Whether it was last written without the user's scale-down ([`super::Action::ApplyHpa`]).
    pub scale_down_disabled: bool,
}

/// A cluster that the rules select, or that still has an HPA or an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Cluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the rules select it, failed or not.
    pub is_candidate: bool,
    /// Whether its Cluster was deleted: nothing can be evicted from it.
    pub deleted: bool,
    /// Its state.
    pub state: ClusterState,
    /// Its weight for StaticWeighted.
    pub weight: u64,
    /// Its priority for Prioritized; greater first, `None` last.
    pub priority: Option<i32>,
    /// Its thresholds.
    pub limits: Limits,
    /// `clusterHPAPreference` in replicas: the share of the cluster that the workload may use ([`Self::usage_limit_of`]).
    pub usage_limit: Option<Replicas>,
    /// Reported replicas; `None` until reported.
    pub current: Option<Replicas>,
    /// Replicas that its HPA last reported, whether or not the cluster answers.
    pub hpa_current: Option<Replicas>,
    /// Ready replicas; 0 for a cluster that does not answer.
    pub ready: Replicas,
    /// Whether it still runs replicas of an older template.
    pub rolling: bool,
    /// Unschedulable replicas.
    pub pending: Replicas,
    /// Whether the autoscaler of its nodes adds none for them.
    pub no_nodes: bool,
    /// Further replicas that would fit; `None` while unknown, which counts as 0.
    pub available: Option<Replicas>,
    /// `desiredReplicas` of its HPA, as last reported, also within bounds that it had before.
    pub hpa_desired: Option<Replicas>,
    /// Load that its HPA measures; `None` while unknown.
    pub load: Option<Load>,
    /// How its replicas can be written.
    pub reach: Reach,
    /// The HPA of fhpa in this cluster; `None` when there is certainly none.
    pub hpa: Option<Hpa>,
    /// The required API version of its HPA.
    pub version: HpaVersion,
    /// Its replicas in the binding, where it has an entry, or gets it back from an eviction.
    pub entry: Option<Replicas>,
    /// Whether the binding has an eviction task for it, which an entry replaces.
    pub evicting: bool,
    /// When Karmada ends the eviction at the latest; `None` where it has no task, or one that waits for a user.
    pub eviction_ends: Option<Timestamp>,
    /// Whether the workload of that name there is not Karmada's, and fhpa has no HPA for it: none of it is scaled.
    pub not_karmadas: bool,
    /// Whether its last write has been unconfirmed for longer than the others should wait.
    pub unresponsive: bool,
    /// Whether its HPA scaled so short a time ago that the reported replicas may be those from before.
    pub scaled_recently: bool,
    /// Whether it has answered again for so short a time that what it runs may not be reported yet: it is not asked for
    /// more, because that is counted from what it runs.
    pub back_recently: bool,
    /// The target of the previous plan; `None` when it had none.
    pub target: Option<Bounds>,
    /// State kept by the previous plan.
    pub memory: Memory,
}

impl Cluster<'_> {
    /// The bounds last written to its HPA, where that is not being deleted.
    #[must_use]
    pub fn written(&self) -> Option<Bounds> {
        self.hpa?.written
    }

    /// Whether its HPA has not confirmed what was written last.
    #[must_use]
    pub fn is_unconfirmed(&self) -> bool {
        self.hpa.is_some_and(|hpa| !hpa.confirmed)
    }

    /// Whether it has the workload, and does not tell its replicas.
    #[must_use]
    pub const fn is_unknown(&self) -> bool {
        self.current.is_none() && self.entry.is_some()
    }

    /// Whether neither its workload nor the HPA that was written for it was ever reported: most likely both are yet to be
    /// there.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        self.is_unknown() && self.hpa_current.is_none() && self.written().is_some() && self.is_unconfirmed()
    }
}

/// How replicas of a cluster can be written (docs/design.md#on-the-wire).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// By the scale subresource of the workload; else only by the bounds of its HPA.
    pub scale: bool,
    /// Whether its HPA scales to zero and from zero by itself (Kubernetes 1.37).
    pub own_zero: bool,
}

impl Reach {
    /// Only by the bounds of its HPA, and not to zero.
    pub const BOUNDS: Self = Self { scale: false, own_zero: false };
}

impl Default for Reach {
    fn default() -> Self {
        Self { scale: true, own_zero: false }
    }
}

/// How the replicas of an evicted cluster are removed (Karmada's `purgeMode`). The plan only passes it on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purge {
    /// After the replacement runs.
    #[default]
    Gracefully,
    /// At once.
    Directly,
    /// Not at all.
    Never,
}

/// Complete input of a plan.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)]
pub struct Request<'a> {
    /// `spec.minReplicas` and `spec.maxReplicas`.
    pub total: Bounds,
    /// How they are divided.
    pub policy: Policy,
    /// `spec.suspend`: bounds stay, and nothing moves.
    pub suspended: bool,
    /// `spec.scalingToZero`
    pub scaling_to_zero: bool,
    /// `spec.scaleAssist`
    pub scale_assist: bool,
    /// `spec.behavior.scaleUp`; `None` without `spec.behavior`.
    pub scale_up: Option<Rules>,
    /// `spec.behavior.scaleDown.tolerance`
    pub scale_down_tolerance: Option<f64>,
    /// When a WorkloadRebalancer last asked for a new division.
    pub rescheduled: Option<Timestamp>,
    /// The hash of the previous plan, with [`Cluster::target`] of each cluster.
    pub assignment_hash: Option<AssignmentHash>,
    /// The clusters.
    pub clusters: Vec<Cluster<'a>>,
    /// How evicted replicas are removed.
    pub purge: Purge,
    /// Whether the entries of the binding count where members do not keep their replicas: Karmada divides the kind, and
    /// the placement divides it.
    pub entries_count: bool,
    /// When entries of the binding were last to follow what runs; `None`: not known.
    pub entries_followed: Option<Timestamp>,
    /// The current time.
    pub now: Timestamp,
    /// `spec.autoscaleMultiClusterDelay`: how long a cluster must be unable to scale before others help, unless no nodes
    /// come for its pods.
    pub delay: SignedDuration,
    /// The stabilization window of scaling down: within it no cluster donates headroom that it received or receives
    /// headroom that it donated, and load must be low for as long before a cluster is scaled to zero.
    pub window: SignedDuration,
    /// How often headroom is rebalanced; `None`: never.
    pub period: Option<SignedDuration>,
    /// How long a leaving cluster waits until others run its replicas; `None`: without limit.
    pub replacement: Option<SignedDuration>,
    /// Whether the takeover is not complete: nobody is asked for anything before.
    pub unplanned: bool,
    /// Since when this controller acts without a halt; `None`: always.
    pub acts_since: Option<Timestamp>,
    /// Since when a cluster could go to zero.
    pub idle_since: Option<Timestamp>,
    /// When bounds were last divided: by a new assignment or a rebalance.
    pub last_rebalanced: Option<Timestamp>,
}

impl Request<'_> {
    /// Whether help depends on whether nodes come.
    #[must_use]
    pub fn waits_for_nodes(&self) -> bool {
        self.scale_assist && self.delay > SignedDuration::ZERO
    }

    /// Whether headroom received at `got` still affects a decision.
    pub(super) fn still_matters(&self, got: Timestamp) -> bool {
        self.within(Some(got), self.window.max(REACTION))
    }

    /// When the wait for a replacement ends that began at `since`. Nobody was asked for one while no controller acted, and
    /// how long that was is not known: one that acts anew waits as long again.
    pub(super) fn waits_until(&self, since: Timestamp) -> Option<Timestamp> {
        self.acts_since.map_or(since, |acts| acts.max(since)).checked_add(self.replacement?).ok()
    }

    /// Whether less than `span` has passed since `since`.
    pub(super) fn within(&self, since: Option<Timestamp>, span: SignedDuration) -> bool {
        since.and_then(|since| since.checked_add(span).ok()).is_some_and(|end| self.now < end)
    }

    /// Whether a cluster may have no replicas while it has bounds (docs/design.md#to-and-from-zero).
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.scaling_to_zero && self.scale_assist && self.policy.divides()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::Request;

    #[test]
    fn what_a_cluster_got_matters_for_the_window() {
        let got = Timestamp::constant(1_000, 0);
        let at = |second| Request {
            now: Timestamp::constant(second, 0),
            window: SignedDuration::from_secs(300),
            ..Request::default()
        };
        assert_eq!([1_000, 1_299, 1_300].map(|second| at(second).still_matters(got)), [true, true, false]);
    }
}
