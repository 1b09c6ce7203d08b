//! How a clock change affects a run, for people who read a list of runs. Pure.

use std::fmt;

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::run::ambiguity;
use super::schedule::Schedule;

/// Why a run is not exactly at its wall-clock time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DstEffect {
    /// The time is skipped on that day; the run is at the end of the gap.
    Moved {
        /// The first skipped time that the schedule names.
        skipped: DateTime,
    },
    /// The time occurs twice on that day; the run is at the first.
    RunsOnce,
    /// The hour occurs twice and the schedule runs in both; this is the first.
    FirstPass,
    /// The hour occurs twice and the schedule runs in both; this is the second.
    SecondPass,
}

impl fmt::Display for DstEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Moved { skipped } => {
                write!(f, "{:02}:{:02} is skipped by a clock change, runs at its end", skipped.hour(), skipped.minute())
            }
            Self::RunsOnce => f.write_str("the time occurs twice, runs the first time only"),
            Self::FirstPass => f.write_str("the hour occurs twice, first pass"),
            Self::SecondPass => f.write_str("the hour occurs twice, second pass"),
        }
    }
}

impl Schedule {
    /// How a clock change affects the run at `at`; `None` when it does not.
    pub fn dst_effect(&self, zone: &TimeZone, at: Timestamp) -> Option<DstEffect> {
        let wall = zone.to_datetime(at);
        match ambiguity(zone, wall) {
            AmbiguousOffset::Fold { .. } if !self.has_wildcard_hour() => Some(DstEffect::RunsOnce),
            AmbiguousOffset::Fold { before, .. } if before == zone.to_offset(at) => Some(DstEffect::FirstPass),
            AmbiguousOffset::Fold { .. } => Some(DstEffect::SecondPass),
            _ if self.has_wildcard_hour() => None,
            _ => self.skipped_until(zone, at, wall).map(|skipped| DstEffect::Moved { skipped }),
        }
    }

    /// The first wall time of this schedule in the gap that ends at `at`.
    fn skipped_until(&self, zone: &TimeZone, at: Timestamp, wall: DateTime) -> Option<DateTime> {
        let offset = zone.to_offset(at.checked_sub(SignedDuration::from_nanos(1)).ok()?);
        let gap = offset.to_datetime(at);
        if gap >= wall {
            return None;
        }
        self.stepper()?.not_before(gap, wall.year()).filter(|skipped| *skipped < wall)
    }
}
