//! Summary of a run. Pure.

use super::Second;

/// Sums over a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Seconds simulated.
    pub seconds: u64,
    /// Unserved load, in thousandths of replica-seconds.
    pub unserved: u128,
    /// Seconds with unserved load.
    pub unserved_seconds: u64,
    /// Greatest unserved load, in thousandths.
    pub unserved_peak: u64,
    /// The whole load, in thousandths of replica-seconds.
    pub load: u128,
    /// Replicas on nodes, in replica-seconds.
    pub replica_seconds: u64,
    /// Most replicas on nodes at a time.
    pub peak_replicas: u64,
    /// Greatest sum of `maxReplicas` in effect.
    pub peak_max: u64,
    /// Decisions.
    pub decisions: u64,
    /// Bounds written to a cluster that already had some.
    pub reassignments: u64,
    /// All writes of the control plane.
    pub writes: u64,
    /// Most writes in one minute.
    pub busiest_minute: u64,
    /// Time of the last write.
    pub last_write: Option<Second>,
}

impl Figures {
    /// Share of the load that was served, in hundredths of a percent, rounded down.
    #[must_use]
    pub fn served(&self) -> u64 {
        let part = self.load.saturating_sub(self.unserved).saturating_mul(10_000);
        u64::try_from(part.checked_div(self.load).unwrap_or(10_000)).unwrap_or(u64::MAX)
    }
}
