//! Steps on wall-clock time, by the `cron` crate, as if the zone were UTC. Pure.
//!
//! The crate never sees the user's text: it gets canonical lists of numbers, so that its different syntax (weekdays
//! 1-7, `?`, names in steps) does not matter. It requires both day fields to match; where either suffices, two steppers
//! run side by side. It knows the years 1970-2100; any other year uses an equal calendar of that range.
//!
//! `chrono` is here because the `cron` crate uses its types; no other file names it. With our parser before it, this
//! crate gives the same runs as Go; other crates for cron do not.

use std::fmt::Write;
use std::str::FromStr;

use chrono::{DateTime as ChronoDateTime, Datelike, NaiveDate, Timelike, Utc};
use jiff::ToSpan;
use jiff::civil::{Date, DateTime};

use super::field::Field;
use super::sets::Sets;

const FIRST_YEAR: i16 = 1970;
const LAST_YEAR: i16 = 2100;

/// The schedules of the `cron` crate that together are equal to one [`super::Schedule`].
#[derive(Clone, Debug)]
pub(super) struct Stepper {
    one: cron::Schedule,
    other: Option<cron::Schedule>,
}

impl Stepper {
    /// `None` if the crate rejects the canonical text.
    pub(super) fn new(sets: &Sets) -> Option<Self> {
        let all_days = Field::DayOfMonth.full();
        let all_weekdays = Field::DayOfWeek.full();
        if !sets.either_day() {
            return Some(Self { one: canonical(sets, sets.days, sets.weekdays)?, other: None });
        }
        let by_day = (sets.days != 0).then(|| canonical(sets, sets.days, all_weekdays));
        let by_weekday = (sets.weekdays != 0).then(|| canonical(sets, all_days, sets.weekdays));
        match (by_day, by_weekday) {
            (Some(one), Some(other)) => Some(Self { one: one?, other: Some(other?) }),
            (Some(one), None) | (None, Some(one)) => Some(Self { one: one?, other: None }),
            (None, None) => None,
        }
    }

    /// The first wall time later than `wall`, up to the end of `last_year`.
    pub(super) fn after(&self, wall: DateTime, last_year: i16) -> Option<DateTime> {
        self.from(whole_minute(wall).checked_add(1.minute()).ok()?, last_year)
    }

    /// The first wall time that is not earlier than `wall`, up to the end of `last_year`.
    pub(super) fn not_before(&self, wall: DateTime, last_year: i16) -> Option<DateTime> {
        let minute = whole_minute(wall);
        if minute == wall { self.from(wall, last_year) } else { self.after(wall, last_year) }
    }

    fn from(&self, wall: DateTime, last_year: i16) -> Option<DateTime> {
        let one = step(&self.one, wall, last_year, Direction::Forward);
        let Some(other) = &self.other else { return one };
        let last = one.map_or(last_year, DateTime::year);
        let other = step(other, wall, last, Direction::Forward);
        one.into_iter().chain(other).min()
    }

    /// The last wall time earlier than `wall`, down to the start of `first_year`.
    pub(super) fn before(&self, wall: DateTime, first_year: i16) -> Option<DateTime> {
        let minute = whole_minute(wall);
        let wall = if minute == wall { minute.checked_sub(1.minute()).ok()? } else { minute };
        let one = step(&self.one, wall, first_year, Direction::Backward);
        let Some(other) = &self.other else { return one };
        let first = one.map_or(first_year, DateTime::year);
        let other = step(other, wall, first, Direction::Backward);
        one.into_iter().chain(other).max()
    }
}

fn whole_minute(wall: DateTime) -> DateTime {
    wall.date().at(wall.hour(), wall.minute(), 0, 0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// Seven fields of numbers: second, minute, hour, day, month, weekday from 1, year.
fn canonical(sets: &Sets, days: u64, weekdays: u64) -> Option<cron::Schedule> {
    let mut text = String::from("0");
    let fields = [
        (Field::Minute, sets.minutes),
        (Field::Hour, sets.hours),
        (Field::DayOfMonth, days),
        (Field::Month, sets.months),
        (Field::DayOfWeek, weekdays),
    ];
    for (field, set) in fields {
        text.push(' ');
        if set == field.full() {
            text.push('*');
            continue;
        }
        let shift = u64::from(field == Field::DayOfWeek);
        for value in (field.min()..=field.max()).filter(|value| set & (1 << value) != 0) {
            let comma = if text.ends_with(' ') { "" } else { "," };
            write!(text, "{comma}{}", value + shift).ok()?;
        }
    }
    text.push_str(" *");
    cron::Schedule::from_str(&text).ok()
}

/// The nearest wall time of `schedule` from the whole minute `at` on, `at` included, no further than `limit`'s year.
fn step(schedule: &cron::Schedule, at: DateTime, limit: i16, direction: Direction) -> Option<DateTime> {
    let mut at = at;
    while direction.reaches(at.year(), limit) {
        let year = at.year();
        let known = (FIRST_YEAR..=LAST_YEAR).contains(&year);
        let like = if known { year } else { like_year(year)? };
        let found = query(schedule, at, like, direction).filter(|found| known || found.year() == i32::from(like));
        if let Some(found) = found {
            let found = to_civil(&found, year - like)?;
            return direction.reaches(found.year(), limit).then_some(found);
        }
        // No further time in the years that the crate knows, or in the substitute year.
        at = match direction {
            Direction::Forward => start_of(if known { LAST_YEAR } else { year }.checked_add(1)?)?.at(0, 0, 0, 0),
            Direction::Backward => end_of(if known { FIRST_YEAR } else { year }.checked_sub(1)?)?.at(23, 59, 0, 0),
        };
    }
    None
}

impl Direction {
    const fn reaches(self, year: i16, limit: i16) -> bool {
        match self {
            Self::Forward => year <= limit,
            Self::Backward => year >= limit,
        }
    }
}

fn query(schedule: &cron::Schedule, at: DateTime, year: i16, direction: Direction) -> Option<ChronoDateTime<Utc>> {
    let second = chrono::TimeDelta::seconds(1);
    let day = NaiveDate::from_ymd_opt(year.into(), number(at.month())?, number(at.day())?)?;
    let at = day.and_hms_opt(number(at.hour())?, number(at.minute())?, 0)?.and_utc();
    match direction {
        Direction::Forward => schedule.after(&(at - second)).next(),
        Direction::Backward => schedule.after(&(at + second)).next_back(),
    }
}

fn number(part: i8) -> Option<u32> {
    u32::try_from(part).ok()
}

fn to_civil(found: &ChronoDateTime<Utc>, years: i16) -> Option<DateTime> {
    let part = |part: u32| i8::try_from(part).ok();
    let year = i16::try_from(found.year()).ok()?.checked_add(years)?;
    let day = Date::new(year, part(found.month())?, part(found.day())?).ok()?;
    Some(day.at(part(found.hour())?, part(found.minute())?, 0, 0))
}

/// `None` beyond the last year of the calendar, 9999.
fn start_of(year: i16) -> Option<Date> {
    Date::new(year, 1, 1).ok()
}

fn end_of(year: i16) -> Option<Date> {
    Date::new(year, 12, 31).ok()
}

/// A year within the range of the crate with the same calendar: the same length and the same first weekday.
fn like_year(year: i16) -> Option<i16> {
    let start = start_of(year)?;
    (1972..2000).find(|like| {
        start_of(*like)
            .is_some_and(|like| like.in_leap_year() == start.in_leap_year() && like.weekday() == start.weekday())
    })
}
