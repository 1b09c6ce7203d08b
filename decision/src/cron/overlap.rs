//! The first instant at which two schedules run together. Pure; the work is bounded.

use std::cell::OnceCell;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::calendar;
use super::field::Field;
use super::run::first_instant;
use super::schedule::Schedule;
use super::sets::Sets;

/// Months searched when both schedules are in one zone: a leap day is among them.
const MONTHS: u32 = 5 * 12;
/// Wall times tried when both schedules are in one zone.
const WALLS: usize = 256;
/// Days and times of day searched when the zones differ.
const STEPS: usize = 4096;
/// Clock changes searched when the zones differ: those of a year with two in each zone, and one more.
const CHANGES: usize = 5;

/// The clock of a zone from an instant on, for about a year. Built once for all comparisons in that zone.
#[derive(Clone, Debug)]
pub struct Outlook<'a> {
    zone: &'a TimeZone,
    from: Timestamp,
    /// Asked for only where rules of another zone are compared.
    periods: OnceCell<Periods>,
}

/// The offsets of a clock.
#[derive(Clone, Debug)]
struct Periods {
    offset: Offset,
    changes: Vec<(Timestamp, Offset)>,
}

impl<'a> Outlook<'a> {
    /// The clock of `zone` later than `from`.
    pub fn new(zone: &'a TimeZone, from: Timestamp) -> Self {
        Self { zone, from, periods: OnceCell::new() }
    }

    /// As [`Self::new`], where no schedule of another zone is compared: times of day are taken as this clock shows them.
    pub fn alone(zone: &'a TimeZone, from: Timestamp) -> Self {
        let periods = Periods { offset: Offset::UTC, changes: Vec::new() };
        Self { periods: periods.into(), ..Self::new(zone, from) }
    }

    fn periods(&self) -> &Periods {
        self.periods.get_or_init(|| {
            let following = self.zone.following(self.from).take(CHANGES);
            let changes = following.map(|change| (change.timestamp(), change.offset()));
            Periods { offset: self.zone.to_offset(self.from), changes: changes.collect() }
        })
    }

    fn is_of_the_zone_of(&self, other: &Self) -> bool {
        self.zone.iana_name() == other.zone.iana_name() && self.zone == other.zone
    }
}

/// The first instant at which both schedules run, later than the start of the outlooks. The search covers five years in
/// one zone and about a year in two. In one zone a run that a clock change moves onto a time of the other schedule is
/// not an overlap.
pub fn first_overlap(a: &Schedule, in_a: &Outlook<'_>, b: &Schedule, in_b: &Outlook<'_>) -> Option<Timestamp> {
    first_overlap_before(Timestamp::MAX, &Prospect::new(a, in_a), &Prospect::new(b, in_b))
}

/// As [`first_overlap`], when it is earlier than `limit`.
pub fn first_overlap_before(limit: Timestamp, a: &Prospect<'_>, b: &Prospect<'_>) -> Option<Timestamp> {
    let (in_a, in_b) = (a.outlook, b.outlook);
    let one_clock = std::ptr::eq(in_a, in_b);
    // Two clocks of one zone have the same offsets from the same instant on, so this holds for them, too.
    if !one_clock && in_a.from == in_b.from && !a.minutes().meet(b.minutes()) {
        return None;
    }
    if one_clock || in_a.is_of_the_zone_of(in_b) {
        return in_one_zone(a.schedule, b.schedule, in_a.zone, in_a.from, limit);
    }
    in_two_zones(&mut Clock::new(a.schedule, in_a), &mut Clock::new(b.schedule, in_b), limit)
}

/// A schedule on the clock of its zone, ready to be compared with many others.
#[derive(Clone, Debug)]
pub struct Prospect<'a> {
    schedule: &'a Schedule,
    outlook: &'a Outlook<'a>,
    minutes: OnceCell<Minutes>,
}

impl<'a> Prospect<'a> {
    /// `schedule` in the zone of `outlook`.
    pub fn new(schedule: &'a Schedule, outlook: &'a Outlook<'a>) -> Self {
        Self { schedule, outlook, minutes: OnceCell::new() }
    }

    /// The minutes of a day at which it may run. Two schedules whose outlooks begin together and that have none in common
    /// never run together.
    pub fn minutes(&self) -> &Minutes {
        self.minutes.get_or_init(|| Minutes::of(self.schedule, self.outlook.periods()))
    }
}

/// Minutes of a day in UTC, one bit for each in each hour. Most schedules have none in common, and need no search.
#[derive(Clone, Debug, Default)]
pub struct Minutes([u64; 24]);

impl Minutes {
    /// The minutes at which `schedule` may run, with each offset that the clock will have.
    fn of(schedule: &Schedule, periods: &Periods) -> Self {
        let mut minutes = Self::default();
        let offset = periods.offset.seconds();
        let changes = || periods.changes.iter().map(|(at, offset)| (at.as_second(), offset.seconds()));
        if offset % 60 != 0 || changes().any(|(_, offset)| offset % 60 != 0) {
            return Self([u64::MAX; 24]);
        }
        minutes.insert_behind(&schedule.sets, offset / 60);
        // Most clocks change between two offsets.
        let (mut before, mut other) = (offset, offset);
        for (at, after) in changes() {
            if after != offset && after != other {
                minutes.insert_behind(&schedule.sets, after / 60);
                other = after;
            }
            // A run that the change skips is moved there.
            let minute = at.div_euclid(60);
            let skipped = after.saturating_sub(before) / 60;
            if skipped > 0 && has_time_within(&schedule.sets, minute.saturating_add((before / 60).into()), skipped) {
                let minute = minute_of_day(minute);
                minutes.put(minute / 60, 1 << (minute % 60));
            }
            before = after;
        }
        minutes
    }

    /// Inserts the times of day of a clock that is `ahead` minutes ahead.
    fn insert_behind(&mut self, sets: &Sets, ahead: i32) {
        let ahead = minute_of_day(ahead.into());
        let (hours, minutes) = (ahead / 60, ahead % 60);
        // Of an hour of that clock the last minutes are in one hour here, and the first ones in the hour before it.
        let last = sets.minutes >> minutes;
        let first = (sets.minutes << (60 - minutes)) & Field::Minute.full();
        for hour in calendar::values(sets.hours) {
            let here = u64::from(hour) + 24 - hours;
            self.put(here % 24, last);
            self.put((here + 23) % 24, first);
        }
    }

    fn put(&mut self, hour: u64, minutes: u64) {
        if let Some(of_hour) = usize::try_from(hour).ok().and_then(|hour| self.0.get_mut(hour)) {
            *of_hour |= minutes;
        }
    }

    /// Adds those of another schedule.
    pub fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one |= other);
    }

    /// Whether both have a minute in common.
    #[must_use]
    pub fn meet(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }
}

fn minute_of_day(minute: i64) -> u64 {
    minute.rem_euclid(24 * 60).unsigned_abs()
}

/// Whether a time of day of `sets` is within so many minutes from `minute` on.
fn has_time_within(sets: &Sets, minute: i64, minutes: i32) -> bool {
    let first = minute_of_day(minute);
    let end = first.saturating_add(minutes.unsigned_abs().into());
    (first / 60..=end / 60).any(|hour| {
        let before = |minute: u64| !(u64::MAX << minute.saturating_sub(hour * 60).min(60));
        sets.hours & (1 << (hour % 24)) != 0 && sets.minutes & before(end) & !before(first) != 0
    })
}

fn in_one_zone(a: &Schedule, b: &Schedule, zone: &TimeZone, from: Timestamp, limit: Timestamp) -> Option<Timestamp> {
    let hours = a.sets.hours & b.sets.hours;
    let minutes = a.sets.minutes & b.sets.minutes;
    if hours == 0 || minutes == 0 {
        return None;
    }
    let start = zone.to_datetime(from);
    let both = Sets { minutes, hours, ..a.sets };
    days_of_both(&a.sets, &b.sets, start, last_day(zone, limit))
        .flat_map(|day| times_of(&both, day))
        .filter(|wall| *wall > start)
        .take(WALLS)
        .filter_map(|wall| first_instant(zone, wall))
        .take_while(|at| *at < limit)
        .find(|at| *at > from && a.fires_at(zone, *at) && b.fires_at(zone, *at))
}

/// The last day on which a run may be before `limit`. A repeated hour may begin on the day after.
fn last_day(zone: &TimeZone, limit: Timestamp) -> Date {
    zone.to_datetime(limit).date().tomorrow().unwrap_or(Date::MAX)
}

/// The days, beginning with that of `start` and up to the month of `last`, that are in both schedules.
fn days_of_both(a: &Sets, b: &Sets, start: DateTime, last: Date) -> impl Iterator<Item = Date> {
    let (a, b) = (*a, *b);
    let mut first = Some(start.date().first_of_month());
    let months = (0..MONTHS).map_while(move |_| {
        let month = first.filter(|first| *first <= last)?;
        first = month.last_of_month().tomorrow().ok();
        Some(month)
    });
    months
        .flat_map(move |month| {
            let number = u8::try_from(month.month()).unwrap_or_default();
            let weekday = u32::try_from(month.weekday().to_sunday_zero_offset()).unwrap_or_default();
            let length = calendar::length(month.year(), number);
            let days = calendar::days(&a, number, length, weekday) & calendar::days(&b, number, length, weekday);
            calendar::values(days)
                .filter_map(move |day| Date::new(month.year(), month.month(), i8::try_from(day).ok()?).ok())
        })
        .filter(move |day| *day >= start.date())
}

/// A schedule on the clock of its zone, one period of equal offset after the other.
struct Clock<'a> {
    schedule: &'a Schedule,
    outlook: &'a Outlook<'a>,
    offset: Offset,
    changes: std::slice::Iter<'a, (Timestamp, Offset)>,
}

impl<'a> Clock<'a> {
    fn new(schedule: &'a Schedule, outlook: &'a Outlook<'a>) -> Self {
        let Periods { offset, changes } = outlook.periods();
        Self { schedule, outlook, offset: *offset, changes: changes.iter() }
    }

    /// The end of the period.
    fn until(&self) -> Option<Timestamp> {
        self.changes.as_slice().first().map(|(at, _)| *at)
    }

    /// Advances to the period that contains `at`. Returns whether it begins at the end of a gap, onto which a run may
    /// have been moved.
    fn pass(&mut self, at: Timestamp) -> bool {
        if self.until() != Some(at) {
            return false;
        }
        let before = self.offset;
        self.offset = self.changes.next().map_or(before, |(_, offset)| *offset);
        self.offset > before
    }

    /// Whether the clock shows a time of the schedule at `at`, which is within the period.
    fn shows_a_time_at(&self, at: Timestamp) -> bool {
        calendar::has_wall(&self.schedule.sets, self.offset.to_datetime(at))
    }

    fn fires_at(&self, at: Timestamp) -> bool {
        self.schedule.fires_at(self.outlook.zone, at)
    }
}

/// Advances from one clock change to the next: between them both clocks keep their distance.
fn in_two_zones(a: &mut Clock<'_>, b: &mut Clock<'_>, limit: Timestamp) -> Option<Timestamp> {
    let mut from = a.outlook.from;
    let mut steps = STEPS;
    for _ in 0..CHANGES {
        let change = a.until().into_iter().chain(b.until()).min();
        if times_meet(&a.schedule.sets, a.offset, &b.schedule.sets, b.offset) {
            let clash = in_one_stretch(a, b, from, change.unwrap_or(limit).min(limit), &mut steps);
            if clash.is_some() || steps == 0 {
                return clash;
            }
        }
        from = change.filter(|change| *change < limit)?;
        let (gap_a, gap_b) = (a.pass(from), b.pass(from));
        // A moved run, or a time that the clock shows from here on.
        let may_meet = (gap_a || a.shows_a_time_at(from)) && (gap_b || b.shows_a_time_at(from));
        if may_meet && a.fires_at(from) && b.fires_at(from) {
            return Some(from);
        }
    }
    None
}

/// Whether some time of day of one schedule is at the same moment as some time of day of the other.
fn times_meet(a: &Sets, offset_a: Offset, b: &Sets, offset_b: Offset) -> bool {
    let ahead = (offset_b.seconds() - offset_a.seconds()).div_euclid(60).rem_euclid(24 * 60).unsigned_abs();
    calendar::values(a.minutes).any(|minute| {
        let theirs = minute + ahead;
        b.minutes & (1 << (theirs % 60)) != 0 && turned(a.hours, theirs / 60 % 24) & b.hours != 0
    })
}

/// The hours of a day on a clock that is `by` hours ahead.
const fn turned(hours: u64, by: u32) -> u64 {
    (hours << by | hours >> (24 - by)) & Field::Hour.full()
}

/// The first common run between `from` and `until`, both excluded, while both clocks keep their offsets.
fn in_one_stretch(
    a: &Clock<'_>,
    b: &Clock<'_>,
    from: Timestamp,
    until: Timestamp,
    steps: &mut usize,
) -> Option<Timestamp> {
    let ahead = i64::from(b.offset.seconds() - a.offset.seconds());
    let (start, end) = (a.offset.to_datetime(from), a.offset.to_datetime(until));
    let mut day = start.date();
    while day.at(0, 0, 0, 0) < end {
        *steps = steps.checked_sub(1)?;
        if calendar::has_day(&a.schedule.sets, day) {
            let walls = times_of(&a.schedule.sets, day);
            for wall in walls.skip_while(|wall| *wall <= start).take_while(|wall| *wall < end) {
                *steps = steps.checked_sub(1)?;
                let theirs = wall.checked_add(SignedDuration::from_secs(ahead)).ok()?;
                if calendar::has_wall(&b.schedule.sets, theirs) {
                    let at = a.offset.to_timestamp(wall).ok()?;
                    // A repeated time runs once only, so check the instants around a clock change against the schedule
                    // itself.
                    if a.fires_at(at) && b.fires_at(at) {
                        return Some(at);
                    }
                }
            }
        }
        day = day.tomorrow().ok()?;
    }
    None
}

/// The wall times of a schedule on `day`, ascending, whether or not it runs on that day.
fn times_of(sets: &Sets, day: Date) -> impl Iterator<Item = DateTime> {
    let minutes = sets.minutes;
    calendar::values(sets.hours)
        .flat_map(move |hour| calendar::values(minutes).map(move |minute| (hour, minute)))
        .filter_map(move |(hour, minute)| Some(day.at(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0)))
}
