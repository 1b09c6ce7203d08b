//! Result of one pass of a controller, and when the next is due. No I/O.
//!
//! The controllers of the playground are level-triggered: a pass reads all objects, writes the difference, and returns
//! when time alone will change its result. Passes are repeated until one writes nothing.

use jiff::Timestamp;

use super::objects::Written;

/// Result of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// Number of attempted writes.
    pub writes: usize,
    /// When to run again although nothing was written.
    pub due: Option<Timestamp>,
}

impl Pass {
    /// Counts a write.
    pub fn wrote(&mut self) {
        self.writes = self.writes.saturating_add(1);
    }

    /// Counts a write, unless it was rejected: the next pass would only repeat it.
    pub fn count(&mut self, written: &Written) {
        if !matches!(written, Written::Refused(_)) {
            self.wrote();
        }
    }

    /// Requests another pass at `time`.
    pub fn look_at(&mut self, time: Timestamp) {
        self.due = Some(self.due.map_or(time, |due| due.min(time)));
    }

    /// Adds another pass.
    pub fn join(&mut self, other: Self) {
        self.writes = self.writes.saturating_add(other.writes);
        if let Some(due) = other.due {
            self.look_at(due);
        }
    }
}
