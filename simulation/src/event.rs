//! Events of a run, for tables and charts. Pure.

use super::Second;
use decision::split::Replicas;

/// An event to mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time of the event.
    pub second: Second,
    /// Index of the cluster in the scenario; `None`: all clusters.
    pub cluster: Option<usize>,
    /// Kind of the event.
    pub what: EventKind,
}

/// Kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The cluster went down.
    Down,
    /// The cluster recovered.
    Up,
    /// The control plane stopped.
    Paused,
    /// The control plane resumed.
    Resumed,
    /// Reports are delayed by this many seconds.
    Late(Second),
    /// Reports are on time again.
    Prompt,
    /// Nodes were added: for this many replicas of the only workload, or this many nodes for several.
    Nodes(Replicas),
}
