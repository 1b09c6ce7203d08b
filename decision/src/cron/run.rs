//! Wall-clock times -> instants, by the clock-change rules (docs/cron.md#clock-changes). Pure.
//!
//! A schedule with fixed hours: a time that a clock change skips runs once at the first instant after the gap, even
//! when several of its times are in the gap; a time that occurs twice runs the first time only. Wall times then map to
//! instants in order, so the search steps on wall times and maps each.
//!
//! A schedule with a wildcard hour runs at every instant whose wall time is in the set: a repeated hour runs twice, a
//! skipped one not at all.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::local_time::Stepper;
use super::schedule::Schedule;

/// Calendar years that a search looks ahead, as in Kubernetes. Around 2100, where leap days are eight years apart, it
/// may not reach the next one.
const HORIZON_YEARS: i16 = 5;

impl Schedule {
    /// The first run later than `after`; `None` when there is none until the end of the fifth year after it.
    pub fn next_after(&self, zone: &TimeZone, after: Timestamp) -> Option<Timestamp> {
        let stepper = self.stepper()?;
        let start = zone.to_datetime(after.checked_add(SignedDuration::from_secs(1)).ok()?);
        let last_year = start.year().checked_add(HORIZON_YEARS)?;
        if self.has_wildcard_hour() {
            next_elapsed(stepper, zone, after, last_year)
        } else {
            next_fixed(stepper, zone, after, last_year)
        }
    }

    /// The last run earlier than `before`; `None` when there is none back to the start of the fifth year before it.
    pub fn previous_before(&self, zone: &TimeZone, before: Timestamp) -> Option<Timestamp> {
        let stepper = self.stepper()?;
        let first_year = zone.to_datetime(before).year().checked_sub(HORIZON_YEARS)?;
        if self.has_wildcard_hour() {
            previous_elapsed(stepper, zone, before, first_year)
        } else {
            previous_fixed(stepper, zone, before, first_year)
        }
    }

    /// Whether a run is due at exactly `at`.
    pub fn fires_at(&self, zone: &TimeZone, at: Timestamp) -> bool {
        let offset = zone.to_offset(at);
        let wall = offset.to_datetime(at);
        if self.sets.has_wall(wall) {
            return self.has_wildcard_hour() || is_first_pass(zone, offset, wall);
        }
        !self.has_wildcard_hour() && self.skips_into(zone, at, wall)
    }

    /// Whether a time of the schedule lies in a gap that ends at `at`.
    fn skips_into(&self, zone: &TimeZone, at: Timestamp, end: DateTime) -> bool {
        let Ok(before) = at.checked_sub(SignedDuration::from_nanos(1)) else { return false };
        let mut wall = zone.to_offset(before).to_datetime(at);
        while wall < end {
            if self.sets.has_wall(wall) {
                return true;
            }
            let Ok(next) = wall.checked_add(SignedDuration::from_mins(1)) else { return false };
            wall = next;
        }
        false
    }
}

/// Whether `wall` occurs at `offset` for the first time.
fn is_first_pass(zone: &TimeZone, offset: Offset, wall: DateTime) -> bool {
    match ambiguity(zone, wall) {
        AmbiguousOffset::Fold { before, .. } => before == offset,
        AmbiguousOffset::Unambiguous { .. } | AmbiguousOffset::Gap { .. } => true,
    }
}

fn next_fixed(stepper: &Stepper, zone: &TimeZone, after: Timestamp, last_year: i16) -> Option<Timestamp> {
    let mut wall = zone.to_datetime(after);
    // Repeats only while `after` is in the second pass of a repeated time: at most the length of the fold in minutes.
    loop {
        wall = stepper.after(wall, last_year)?;
        let at = first_instant(zone, wall)?;
        if at > after {
            return Some(at);
        }
    }
}

fn previous_fixed(stepper: &Stepper, zone: &TimeZone, before: Timestamp, first_year: i16) -> Option<Timestamp> {
    let mut wall = zone.to_datetime(before);
    if let AmbiguousOffset::Fold { before: first, after: second } = ambiguity(zone, wall) {
        // In the second pass all wall times of the first one are past, also those later than `wall`.
        if zone.to_offset(before) == second {
            wall = wall.checked_add(second.duration_until(first)).ok()?;
        }
    }
    // Repeats while the wall times are not yet past: those added above, and those of a gap that ends at `before`.
    loop {
        wall = stepper.before(wall, first_year)?;
        let at = first_instant(zone, wall)?;
        if at < before {
            return Some(at);
        }
    }
}

/// The instant of a fixed wall time: the earlier of two, or the end of the gap that skips it.
fn first_instant(zone: &TimeZone, wall: DateTime) -> Option<Timestamp> {
    match ambiguity(zone, wall) {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => instant(offset, wall),
        AmbiguousOffset::Gap { before, after } => gap_end(zone, wall, before, after),
    }
}

/// The first instant after the gap in which `wall` lies.
fn gap_end(zone: &TimeZone, wall: DateTime, before: Offset, after: Offset) -> Option<Timestamp> {
    let earliest = instant(after, wall)?;
    let latest = instant(before, wall)?;
    zone.following(earliest)
        .map(|change| (change.timestamp(), change.offset()))
        .take_while(|(at, _)| *at <= latest)
        .find(|(_, offset)| *offset == after)
        .map_or(Some(latest), |(at, _)| Some(at))
}

fn next_elapsed(stepper: &Stepper, zone: &TimeZone, after: Timestamp, last_year: i16) -> Option<Timestamp> {
    let offset = zone.to_offset(after);
    let wall = stepper.after(offset.to_datetime(after), last_year)?;
    if same_stretch(zone, offset, offset.to_datetime(after)) && same_stretch(zone, offset, wall) {
        return instant(offset, wall);
    }
    // A clock change is near: check the periods of equal offset one by one.
    let mut offset = offset;
    let mut found = Some(wall);
    let mut changes = zone.following(after).map(|change| (change.timestamp(), change.offset()));
    loop {
        let at = found.and_then(|wall| instant(offset, wall));
        let change = changes.next();
        match (at, change) {
            (Some(at), Some((until, _))) if at < until => return Some(at),
            (at, None) => return at,
            (_, Some((from, next))) => {
                offset = next;
                let wall = offset.to_datetime(from);
                if wall.year() > last_year {
                    return None;
                }
                found = stepper.not_before(wall, last_year);
            }
        }
    }
}

fn previous_elapsed(stepper: &Stepper, zone: &TimeZone, before: Timestamp, first_year: i16) -> Option<Timestamp> {
    let offset = zone.to_offset(before);
    let wall = stepper.before(offset.to_datetime(before), first_year)?;
    if same_stretch(zone, offset, offset.to_datetime(before)) && same_stretch(zone, offset, wall) {
        return instant(offset, wall);
    }
    let mut end = before;
    loop {
        let change = zone.preceding(end).next().map(|change| change.timestamp());
        let offset = zone.to_offset(end.checked_sub(SignedDuration::from_nanos(1)).ok()?);
        let wall = offset.to_datetime(end);
        if wall.year() < first_year {
            return None;
        }
        let at = stepper.before(wall, first_year).and_then(|wall| instant(offset, wall));
        match (at, change) {
            (Some(at), Some(from)) if at >= from => return Some(at),
            (at, None) => return at,
            (_, Some(from)) => end = from,
        }
    }
}

/// Whether `wall` occurs once, at `offset`.
fn same_stretch(zone: &TimeZone, offset: Offset, wall: DateTime) -> bool {
    matches!(ambiguity(zone, wall), AmbiguousOffset::Unambiguous { offset: only } if only == offset)
}

pub(super) fn ambiguity(zone: &TimeZone, wall: DateTime) -> AmbiguousOffset {
    zone.to_ambiguous_timestamp(wall).offset()
}

fn instant(offset: Offset, wall: DateTime) -> Option<Timestamp> {
    offset.to_timestamp(wall).ok()
}
