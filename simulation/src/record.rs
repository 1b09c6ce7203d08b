//! Samples of a run, for tables and charts. Pure.

use super::{Event, FleetFrame, Frame, Second, Tally};
use decision::plan::Bounds;
use decision::split::Replicas;

/// State of a cluster in a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Whether it is up.
    pub up: bool,
    /// Replicas on nodes.
    pub placed: Replicas,
    /// Replicas that serve.
    pub ready: Replicas,
    /// Replicas without a node.
    pub pending: Replicas,
    /// Replicas that fit.
    pub capacity: Replicas,
    /// Bounds in effect, except those of a cluster whose share others have taken over.
    pub bounds: Option<Bounds>,
    /// Whether its HPA may not scale down.
    pub held: bool,
}

/// State at one moment, and the unserved load since the previous sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Time of the sample.
    pub second: Second,
    /// The load, in thousandths.
    pub load: u64,
    /// Unserved load since the previous sample, in thousandths of replica-seconds.
    pub unserved: u128,
    /// Greatest unserved load since the previous sample, in thousandths.
    pub unserved_peak: u64,
    /// Whether the control plane is paused.
    pub frozen: bool,
    /// Requested replicas of the workload as a whole, in Centralized mode.
    pub replicas: Option<Replicas>,
    /// The clusters, in the order of the scenario.
    pub rows: Vec<Row>,
}

/// Samples at regular intervals, and all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    step: Second,
    /// The samples, by time.
    pub samples: Vec<Sample>,
    /// The events, by time.
    pub events: Vec<Event>,
    unserved: u128,
    unserved_peak: u64,
}

impl Record {
    /// A record with a sample each `step` seconds.
    #[must_use]
    pub fn each(step: Second) -> Self {
        Self { step: step.max(1), ..Self::default() }
    }

    /// Adds a second.
    pub fn take(&mut self, frame: &Frame<'_, '_>) {
        self.events.extend(frame.events);
        self.unserved = self.unserved.saturating_add(frame.unserved.into());
        self.unserved_peak = self.unserved_peak.max(frame.unserved);
        if frame.second.checked_rem(self.step) != Some(0) {
            return;
        }
        let row = |seen: super::ClusterFrame<'_>| Row {
            up: seen.up,
            placed: seen.placed,
            ready: seen.ready,
            pending: seen.pending,
            capacity: seen.capacity,
            bounds: seen.bounds.filter(|_| !seen.given_away),
            held: seen.held,
        };
        self.samples.push(Sample {
            second: frame.second,
            load: frame.load,
            unserved: std::mem::take(&mut self.unserved),
            unserved_peak: std::mem::take(&mut self.unserved_peak),
            frozen: frame.frozen,
            replicas: frame.replicas,
            rows: frame.clusters().map(row).collect(),
        });
    }
}

/// All workloads at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetSample {
    /// Time of the sample.
    pub second: Second,
    /// The workloads, in the order of the scenario.
    pub workloads: Vec<Tally>,
}

impl FleetSample {
    /// The sum over all workloads.
    #[must_use]
    pub fn whole(&self) -> Tally {
        Tally::sum(&self.workloads)
    }
}

/// Samples of all workloads at regular intervals, and all events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetRecord {
    step: Second,
    /// The samples, by time.
    pub samples: Vec<FleetSample>,
    /// The events, by time.
    pub events: Vec<Event>,
}

impl FleetRecord {
    /// A record with a sample each `step` seconds.
    #[must_use]
    pub fn each(step: Second) -> Self {
        Self { step: step.max(1), ..Self::default() }
    }

    /// Adds a second.
    pub fn take(&mut self, frame: &FleetFrame<'_>) {
        self.events.extend(frame.events);
        if frame.second.checked_rem(self.step) == Some(0) {
            self.samples.push(FleetSample { second: frame.second, workloads: frame.workloads.to_vec() });
        }
    }
}
