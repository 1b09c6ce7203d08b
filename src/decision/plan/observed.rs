//! What a plan starts from: the user's bounds and what was seen of each cluster (docs/design.md#distributed-mode).
//! Pure.

use jiff::{SignedDuration, Timestamp};

use super::adjust::{REACTION, within};
use super::{Basis, Load, Memory, Policy};
use crate::decision::split::Replicas;

/// A cluster that has not confirmed a write for so long is waited for no longer ([`Cluster::overdue`]).
pub const UNCONFIRMED: SignedDuration = SignedDuration::from_secs(60);
/// A cluster whose replicas are not ready for so long is waited for no longer; Karmada ends evictions after the same
/// time.
pub const UNREADY: SignedDuration = SignedDuration::from_secs(600);
/// A cluster that leaves waits for so long until others run what it runs, where nobody says another time.
pub const REPLACEMENT: SignedDuration = SignedDuration::from_mins(10);

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

    /// Whether there is something to run.
    #[must_use]
    pub const fn is_some(self) -> bool {
        self.max > 0
    }
}

/// The thresholds of a cluster: `autoscalingMinThreshold` and `autoscalingMaxThreshold`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Fewest replicas it is assigned.
    pub least: Replicas,
    /// Most replicas it is assigned; not below `least`.
    pub most: Replicas,
}

impl Default for Limits {
    fn default() -> Self {
        Self { least: 0, most: Replicas::MAX }
    }
}

/// What a cluster is to the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClusterState {
    /// Takes part.
    #[default]
    Serving,
    /// Does not answer, and that is tolerated still: it keeps what it has, and nobody is given more there.
    Silent,
    /// Answers but has to go: no candidate any more, or `evicted` by a taint.
    Leaving {
        /// By a taint, not by the rules.
        evicted: bool,
    },
    /// Failed, or is kept off by a taint: what it had is given to others.
    Away,
}

/// The API of member HPAs: `autoscaling/v2` from Kubernetes 1.23, below it `autoscaling/v1` with annotations
/// (docs/design.md#on-the-wire). The plan only carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HpaVersion {
    /// `autoscaling/v1`
    V1,
    /// `autoscaling/v2`
    #[default]
    V2,
}

/// What is known of our HPA in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hpa {
    /// The bounds last written; nothing when it is being deleted.
    pub written: Option<Bounds>,
    /// The API last written.
    pub version: HpaVersion,
    /// Whether that very write was seen applied in the cluster. Equal numbers do not say so: an older write may be on
    /// its way still.
    pub confirmed: bool,
    /// Until it is confirmed: the greatest `maxReplicas` that may be in effect, as [`super::Action::ApplyHpa`] said at
    /// the write.
    pub outstanding: Replicas,
    /// Whether it was last written without the user's scale-down ([`super::Action::ApplyHpa`]).
    pub held: bool,
}

impl Hpa {
    /// The greatest `maxReplicas` that may be in effect.
    #[must_use]
    pub fn ceiling(&self) -> Replicas {
        let written = self.written.unwrap_or_default().max;
        if self.confirmed { written } else { written.max(self.outstanding) }
    }
}

/// A cluster that the rules choose or that holds something still.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cluster<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether the rules choose it, failed or not.
    pub chosen: bool,
    /// What it is.
    pub state: ClusterState,
    /// Its weight for StaticWeighted.
    pub weight: u64,
    /// Its priority for Prioritized; greater first, none last.
    pub priority: Option<i32>,
    /// Its thresholds.
    pub limits: Limits,
    /// `clusterHPAPreference` in replicas: the share of the cluster that the workload may take ([`Self::cap`]).
    pub cap: Option<Replicas>,
    /// Replicas it was reported to have; nothing while nobody reported.
    pub current: Option<Replicas>,
    /// Replicas that its HPA last said it has, whether or not it answers.
    pub last: Option<Replicas>,
    /// Replicas that are ready. Those of a cluster that does not answer are not.
    pub ready: Replicas,
    /// Replicas that cannot be scheduled.
    pub pending: Replicas,
    /// Further replicas that would fit; nothing while nobody said, which counts as none.
    pub available: Option<Replicas>,
    /// `desiredReplicas` of its HPA, as confirmed; nothing while nobody said.
    pub desired: Option<Replicas>,
    /// What its HPA measures; nothing while nobody said.
    pub load: Option<Load>,
    /// How its replicas can be written.
    pub reach: Reach,
    /// Our HPA there; nothing when it is sure that there is none.
    pub hpa: Option<Hpa>,
    /// The API that its HPA must have.
    pub version: HpaVersion,
    /// Its replicas in the binding, where it has an entry.
    pub entry: Option<Replicas>,
    /// Whether the binding has an eviction task for it.
    pub evicting: bool,
    /// Whether what was last asked of it has been outstanding for longer than the others should wait.
    pub overdue: bool,
    /// The target of the previous plan; nothing when it had none.
    pub target: Option<Bounds>,
    /// What the previous plan remembered of it.
    pub memory: Memory,
}

impl Cluster<'_> {
    /// Replicas that run or are starting; these are never taken away for others (docs/design.md#law-3-keep-ready-pods).
    /// Pods that just restart count: a bound below them would stop one.
    #[must_use]
    pub fn running(&self) -> Replicas {
        self.ready.max(self.current.unwrap_or_default().saturating_sub(self.pending))
    }

    /// `current - pending + available`, within what the workload may take of the cluster.
    #[must_use]
    pub fn capacity(&self) -> Replicas {
        let settled = self.current.unwrap_or_default().saturating_sub(self.pending);
        settled.saturating_add(self.available.unwrap_or_default()).min(self.cap.unwrap_or(Replicas::MAX))
    }

    /// What `maxResourceUsage` of `clusterHPAPreference` allows where `whole` replicas would fit into an empty cluster.
    /// Rounded down; a share outside 0..=1 counts as the nearest.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn cap(whole: Replicas, share: f64) -> Replicas {
        // The least that is added repairs products such as 0.29 * 100 that come out just below a whole number.
        let replicas = (f64::from(whole) * share.clamp(0.0, 1.0) + 1e-9).floor();
        (replicas as Replicas).min(whole)
    }
}

/// How replicas of a cluster can be written (docs/design.md#on-the-wire).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// By the scale subresource of the workload.
    #[default]
    Scale,
    /// Only by the bounds of its HPA; and where that HPA scales to zero by itself (Kubernetes 1.37), zero too.
    Bounds {
        /// Whether it does.
        zero: bool,
    },
}

/// How the replicas of an evicted cluster go (Karmada's `purgeMode`). The plan only carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Purge {
    /// After their replacement runs.
    #[default]
    Gracefully,
    /// At once.
    Directly,
    /// Not at all.
    Never,
}

/// Everything that a plan looks at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request<'a> {
    /// `spec.minReplicas` and `spec.maxReplicas`.
    pub total: Bounds,
    /// How they are divided.
    pub policy: Policy,
    /// `spec.scalingToZero`
    pub scaling_to_zero: bool,
    /// `spec.scaleAssist`
    pub scale_assist: bool,
    /// The basis of the previous plan, with [`Cluster::target`] of each cluster.
    pub basis: Option<Basis>,
    /// The clusters.
    pub clusters: Vec<Cluster<'a>>,
    /// How evicted replicas go.
    pub purge: Purge,
    /// The time.
    pub now: Timestamp,
    /// `spec.autoscaleMultiClusterDelay`: how long a cluster must be unable to scale before others help.
    pub delay: SignedDuration,
    /// The stabilization window of scaling down: within it nobody gives what it got or gets what it gave, and load must
    /// be low for as long before a cluster goes to zero.
    pub window: SignedDuration,
    /// How often headroom is divided again; nothing: never.
    pub period: Option<SignedDuration>,
    /// How long a cluster that leaves waits until others run what it runs; nothing: for ever.
    pub replacement: Option<SignedDuration>,
    /// Since when a cluster could go to zero.
    pub idle: Option<Timestamp>,
    /// When bounds were last divided: assigned anew, or headroom by what was measured.
    pub divided: Option<Timestamp>,
}

impl Request<'_> {
    /// Whether it still matters that a cluster got headroom then; where it does not, it need not be kept.
    #[must_use]
    pub fn minds(&self, got: Timestamp) -> bool {
        within(Some(got), self.window.max(REACTION), self.now)
    }

    /// Whether a cluster may have no replicas while it has bounds (docs/design.md#api,
    /// docs/design.md#to-and-from-zero).
    #[must_use]
    pub fn may_be_zero(&self) -> bool {
        self.scaling_to_zero && self.scale_assist && self.policy.divides()
    }
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::{Cluster, Request};

    #[test]
    fn what_a_cluster_got_matters_for_the_window() {
        let got = Timestamp::constant(1_000, 0);
        let at = |second| Request {
            now: Timestamp::constant(second, 0),
            window: SignedDuration::from_secs(300),
            ..Request::default()
        };
        assert_eq!([1_000, 1_299, 1_300].map(|second| at(second).minds(got)), [true, true, false]);
    }

    #[test]
    fn a_share_of_a_cluster_is_rounded_down() {
        let caps = [(100, 0.29), (10, 0.25), (7, 1.0), (3, 0.1), (5, -1.0), (5, 2.0), (5, f64::NAN)];
        assert_eq!(caps.map(|(whole, share)| Cluster::cap(whole, share)), [29, 2, 7, 0, 0, 5, 0]);
    }

    #[test]
    fn capacity_is_what_runs_and_what_would_fit() {
        let cluster = Cluster { current: Some(10), pending: 4, available: Some(3), ..Cluster::default() };
        assert_eq!((cluster.capacity(), cluster.running()), (9, 6));
        assert_eq!(Cluster { cap: Some(7), ..cluster }.capacity(), 7);
        assert_eq!(Cluster { ready: 8, ..cluster }.running(), 8);
    }
}
