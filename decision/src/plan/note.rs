//! Remarks on a whole plan: a code for machines and a sentence for people. Pure.

use std::fmt;

use super::Obstacle;
use crate::split::Replicas;

/// A remark on the whole plan, for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The user suspends the object.
    Suspended,
    /// No cluster is selected.
    NoCandidates,
    /// All selected clusters failed.
    AllLost {
        /// Number of clusters.
        candidates: usize,
    },
    /// Part of `maxReplicas` is unassigned, because thresholds and caps do not allow it.
    Unassigned {
        /// Number of replicas.
        left: u64,
    },
    /// The sum of the lower thresholds is greater than `maxReplicas`.
    ThresholdsAboveBudget {
        /// Their sum.
        least: u64,
        /// `maxReplicas`.
        budget: Replicas,
    },
    /// Clusters that cannot be scaled to zero: their replicas cannot be written, and their HPAs do not scale to zero by
    /// themselves.
    ScaleToZeroUnsupported {
        /// Number of clusters.
        clusters: usize,
    },
    /// `scalingToZero` has no effect, because the policy gives every cluster the whole bounds.
    ScaleToZeroDuplicated,
    /// Clusters without replicas that need some, where replicas cannot be written.
    ScaleFromZeroUnsupported {
        /// Number of clusters.
        clusters: usize,
    },
    /// More than `maxReplicas` may be in effect: no bound is raised until it is less.
    AboveBudget {
        /// Number of replicas above it.
        by: u64,
    },
    /// Replicas of clusters that leave or failed do not run elsewhere yet.
    Missing {
        /// Number of replicas.
        missing: Replicas,
        /// Why.
        obstacle: Obstacle,
    },
    /// A cluster leaves now although its replicas do not run elsewhere.
    LeftUnreplaced {
        /// Number of replicas.
        missing: Replicas,
        /// Why.
        obstacle: Obstacle,
    },
}

impl Note {
    /// In one word.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Suspended => "Suspended",
            Self::NoCandidates => "NoCandidates",
            Self::AllLost { .. } => "AllClustersFailed",
            Self::Unassigned { .. } => "ReplicasUnassigned",
            Self::ThresholdsAboveBudget { .. } => "ThresholdsAboveMaxReplicas",
            Self::ScaleToZeroUnsupported { .. } => "ScaleToZeroUnsupported",
            Self::ScaleToZeroDuplicated => "ScaleToZeroDuplicated",
            Self::ScaleFromZeroUnsupported { .. } => "ScaleFromZeroUnsupported",
            Self::AboveBudget { .. } => "AboveMaxReplicas",
            Self::Missing { .. } => "ReplicasMissing",
            Self::LeftUnreplaced { .. } => "ReplacementTimedOut",
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspended => f.write_str("spec.suspend is true: bounds stay, nothing moves, and nothing fails over"),
            Self::NoCandidates => f.write_str(
                "no cluster is a candidate: check the placement of the workload, spec.clusterAffinity, and which \
                     clusters serve its kind",
            ),
            Self::AllLost { candidates } => {
                write!(f, "none of {candidates} candidate clusters is usable; keeping the last bounds")
            }
            Self::Unassigned { left } => {
                write!(f, "{left} of maxReplicas cannot be assigned; raise a threshold or add a cluster")
            }
            Self::ThresholdsAboveBudget { least, budget } => {
                write!(f, "autoscalingMinThresholds sum to {least}, above maxReplicas {budget}; raise maxReplicas")
            }
            Self::ScaleToZeroUnsupported { clusters } => write!(
                f,
                "{clusters} clusters that pull their work keep their min instead of going to zero: that needs a metric of \
                 type Object or External, and an HPA there that reports ScaledToZero (Kubernetes 1.37)"
            ),
            Self::ScaleToZeroDuplicated => f.write_str(
                "scalingToZero has no effect: replicas are duplicated, so that every cluster keeps minReplicas",
            ),
            Self::ScaleFromZeroUnsupported { clusters } => write!(
                f,
                "{clusters} clusters that pull their work run no replicas, and an HPA starts none from zero: scale the \
                 workload up there by hand"
            ),
            Self::AboveBudget { by } => {
                write!(f, "{by} more than maxReplicas may be in effect until all clusters have confirmed their bounds")
            }
            Self::Missing { missing, obstacle } => {
                write!(f, "{missing} replicas of leaving or failed clusters are not ready elsewhere: {obstacle}")
            }
            Self::LeftUnreplaced { missing, obstacle } => write!(
                f,
                "{missing} replicas of clusters that leave are not ready elsewhere in time: {obstacle}; the clusters leave \
                 all the same"
            ),
        }
    }
}
