//! The first instant at which two schedules run together, found by stepping both. Pure; the work is bounded.

use std::cell::OnceCell;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::schedule::Schedule;
use super::sets::{Sets, values};

/// Most steps to compare two schedules: daily ones that never meet are followed for a year, weekly ones for seven.
const STEPS: u32 = 800;
/// Half hours by which clock changes move one zone against another, in either direction: an hour in each hemisphere.
const SHIFTS: std::ops::RangeInclusive<i32> = -4..=4;

/// A schedule on the clock of its zone, ready to be compared with many others.
#[derive(Clone, Debug)]
pub struct Prospect<'a> {
    schedule: &'a Schedule,
    zone: &'a TimeZone,
    from: Timestamp,
    first: OnceCell<Option<Timestamp>>,
    /// Minutes that the clock is ahead of UTC.
    ahead: i32,
}

impl<'a> Prospect<'a> {
    /// The runs of `schedule` in `zone` that are later than `from`.
    pub fn new(schedule: &'a Schedule, zone: &'a TimeZone, from: Timestamp) -> Self {
        let ahead = zone.to_offset(from).seconds() / 60;
        Self { schedule, zone, from, first: OnceCell::new(), ahead }
    }

    /// The first run.
    fn first(&self) -> Option<Timestamp> {
        *self.first.get_or_init(|| self.schedule.next_after(self.zone, self.from))
    }

    /// The first run that is not earlier than `at`.
    fn not_before(&self, at: Timestamp) -> Option<Timestamp> {
        self.schedule.next_after(self.zone, at.checked_sub(SignedDuration::from_nanos(1)).ok()?)
    }

    fn is_in_the_zone_of(&self, other: &Self) -> bool {
        self.zone.iana_name().is_some_and(|name| other.zone.iana_name() == Some(name))
    }
}

/// The first instant before `limit` at which both run. `steps` are left for this comparison and all further ones.
///
/// A run that a clock change moves onto a time of the other schedule is found only where their times of day meet.
pub fn first_overlap(limit: Timestamp, a: &Prospect<'_>, b: &Prospect<'_>, steps: &mut u32) -> Option<Timestamp> {
    if !may_meet(a, b) {
        return None;
    }
    let least = steps.saturating_sub(STEPS);
    *steps = steps.checked_sub(2)?;
    let (mut at, mut other, mut later, mut earlier) = (a.first()?, b.first()?, a, b);
    loop {
        if at < other {
            (at, other) = (other, at);
            (later, earlier) = (earlier, later);
        }
        if at >= limit {
            return None;
        }
        if at == other {
            return Some(at);
        }
        *steps = steps.checked_sub(1).filter(|steps| *steps >= least)?;
        other = earlier.not_before(at)?;
    }
}

/// Whether some time of day of one is at the same moment as some of the other, and in one zone some day of both.
fn may_meet(a: &Prospect<'_>, b: &Prospect<'_>) -> bool {
    let (ours, theirs) = (&a.schedule.sets, &b.schedule.sets);
    if a.is_in_the_zone_of(b) {
        return times_meet(ours, theirs, 0) && days_meet(ours, theirs);
    }
    let ahead = b.ahead.saturating_sub(a.ahead);
    SHIFTS.into_iter().any(|half_hours| times_meet(ours, theirs, ahead.saturating_add(half_hours.saturating_mul(30))))
}

/// Whether the clock of `theirs`, which is `ahead` minutes ahead, shows one of its times at one of `ours`.
fn times_meet(ours: &Sets, theirs: &Sets, ahead: i32) -> bool {
    let ahead = ahead.rem_euclid(24 * 60).unsigned_abs();
    let (hours, minutes) = (ahead / 60, ahead % 60);
    // Most have no minute in common.
    let shown = ours.minutes << minutes | ours.minutes >> (60 - minutes);
    values(shown & theirs.minutes).any(|minute| {
        let passed = u32::from(minute < minutes);
        let by = hours.saturating_add(passed) % 24;
        let shown = ours.hours << by | ours.hours >> (24 - by);
        theirs.hours & shown != 0
    })
}

/// Whether no field keeps two schedules apart.
const fn days_meet(ours: &Sets, theirs: &Sets) -> bool {
    let either = ours.either_day() || theirs.either_day();
    ours.months & theirs.months != 0
        && (either || (ours.days & theirs.days != 0 && ours.weekdays & theirs.weekdays != 0))
}
