//! Summary of a run. Pure.

use super::{Second, Tally};

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
    /// Seconds with fewer ready replicas than `minReplicas`; of several workloads the sum.
    pub below_min_seconds: u64,
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
    /// Writes of the current minute.
    minute: u64,
}

impl Figures {
    /// Share of the load that was served, in hundredths of a percent, rounded down.
    #[must_use]
    pub fn served(&self) -> u64 {
        let part = self.load.saturating_sub(self.unserved).saturating_mul(10_000);
        u64::try_from(part.checked_div(self.load).unwrap_or(10_000)).unwrap_or(u64::MAX)
    }

    /// Adds a second.
    pub(super) fn add(&mut self, tally: &Tally) {
        self.seconds = self.seconds.saturating_add(1);
        self.load = self.load.saturating_add(tally.load.into());
        self.unserved = self.unserved.saturating_add(tally.unserved.into());
        self.unserved_seconds = self.unserved_seconds.saturating_add(u64::from(tally.unserved > 0));
        self.unserved_peak = self.unserved_peak.max(tally.unserved);
        self.below_min_seconds = self.below_min_seconds.saturating_add(tally.below_min);
        self.replica_seconds = self.replica_seconds.saturating_add(tally.placed);
        self.peak_replicas = self.peak_replicas.max(tally.placed);
        self.peak_max = self.peak_max.max(tally.in_effect);
    }

    /// Counts the writes of a second; `all`: those since the start.
    pub(super) fn written(&mut self, all: u64, second: Second) {
        let written = all.saturating_sub(self.writes);
        self.minute = if second % 60 == 0 { written } else { self.minute.saturating_add(written) };
        self.busiest_minute = self.busiest_minute.max(self.minute);
        if written > 0 {
            self.last_write = Some(second);
        }
        self.writes = all;
    }
}
