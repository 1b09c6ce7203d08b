//! The next runs of a schedule, with notes on clock changes, for people who read a list of runs. Pure.

use jiff::civil::DateTime;
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::schedule::Schedule;

/// A run to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// When.
    pub at: Timestamp,
    /// The offset of the zone at that instant.
    pub offset: Offset,
    /// Effects of a clock change on it.
    pub notes: Vec<String>,
}

impl Run {
    /// The time on the clocks of the zone.
    #[must_use]
    pub fn wall(&self) -> DateTime {
        self.offset.to_datetime(self.at)
    }

    /// The offset of the zone as `+01:00`.
    #[must_use]
    pub fn offset_text(&self) -> String {
        let minutes = self.offset.seconds() / 60;
        let sign = if minutes < 0 { '-' } else { '+' };
        format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60)
    }
}

/// The runs of `schedule` in `zone` that are later than `after`; they end where the schedule does not fire for years.
pub fn upcoming<'a>(schedule: &'a Schedule, zone: &'a TimeZone, after: Timestamp) -> impl Iterator<Item = Run> + 'a {
    let mut offset = zone.to_offset(after);
    std::iter::successors(schedule.next_after(zone, after), |at| schedule.next_after(zone, *at)).map(move |at| {
        let before = std::mem::replace(&mut offset, zone.to_offset(at));
        let mut notes: Vec<String> =
            schedule.dst_effect(zone, at).map(|effect| effect.to_string()).into_iter().collect();
        notes.extend(offset_change(before, offset));
        Run { at, offset, notes }
    })
}

/// The change of the offset since the previous run, as text.
fn offset_change(before: Offset, now: Offset) -> Option<String> {
    let by = before.duration_until(now);
    match by.cmp(&SignedDuration::ZERO) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(format!("clocks went forward by {by:#}")),
        std::cmp::Ordering::Less => Some(format!("clocks went back by {:#}", by.abs())),
    }
}
