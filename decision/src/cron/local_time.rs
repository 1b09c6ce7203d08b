//! Steps on wall-clock time, by the `cron` crate, as if the zone were UTC. Pure.
//!
//! The crate never sees the user's text, which it would read differently (docs/decisions/0014-own-cron-syntax.md): it gets
//! lists of numbers. It requires both day fields to match; where either suffices, two of its schedules run side by side.
//!
//! `chrono` is here because the `cron` crate uses its types; no other file names it.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::str::FromStr;

use chrono::{DateTime as ChronoDateTime, Datelike, TimeDelta, Utc};
use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

use super::field::Field;
use super::sets::{Sets, values};

/// The years of the `cron` crate. Any other has an equal calendar among them.
const YEARS: RangeInclusive<i16> = 1970..=2100;

/// The schedules of the `cron` crate that together are equal to one [`super::Schedule`].
#[derive(Clone, Debug)]
pub(super) struct Stepper(Vec<cron::Schedule>);

impl Stepper {
    /// `None` if the crate rejects the canonical text.
    pub(super) fn new(sets: &Sets) -> Option<Self> {
        let days = [(sets.days, Field::DayOfWeek.full()), (Field::DayOfMonth.full(), sets.weekdays)];
        let days = if sets.either_day() { days.to_vec() } else { vec![(sets.days, sets.weekdays)] };
        let days = days.into_iter().filter(|(days, weekdays)| *days != 0 && *weekdays != 0);
        days.map(|(days, weekdays)| canonical(sets, days, weekdays)).collect::<Option<_>>().map(Self)
    }

    /// The first wall time later than `wall`, up to the end of `last_year`.
    pub(super) fn after(&self, wall: DateTime, last_year: i16) -> Option<DateTime> {
        self.not_before(whole_minute(wall).checked_add(1.minute()).ok()?, last_year)
    }

    /// The first wall time that is not earlier than `wall`, up to the end of `last_year`.
    pub(super) fn not_before(&self, wall: DateTime, last_year: i16) -> Option<DateTime> {
        self.0.iter().filter_map(|schedule| first(schedule, wall, last_year)).min()
    }

    /// The last wall time earlier than `wall`, down to the start of `first_year`.
    pub(super) fn before(&self, wall: DateTime, first_year: i16) -> Option<DateTime> {
        self.0.iter().filter_map(|schedule| last(schedule, wall, first_year)).max()
    }
}

fn whole_minute(wall: DateTime) -> DateTime {
    wall.date().at(wall.hour(), wall.minute(), 0, 0)
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
        let shift = u32::from(field == Field::DayOfWeek);
        for value in values(set) {
            let comma = if text.ends_with(' ') { "" } else { "," };
            write!(text, "{comma}{}", value.saturating_add(shift)).ok()?;
        }
    }
    text.push_str(" *");
    cron::Schedule::from_str(&text).ok()
}

/// The first time of `schedule` that is not earlier than `from`, year by year.
fn first(schedule: &cron::Schedule, from: DateTime, last_year: i16) -> Option<DateTime> {
    (from.year()..=last_year).find_map(|year| {
        let start = from.max(Date::new(year, 1, 1).ok()?.at(0, 0, 0, 0));
        let like = like_year(year)?;
        // The crate takes whole seconds.
        let before = to_chrono(start, like)?.checked_sub_signed(TimeDelta::nanoseconds(1))?;
        of_year(schedule.after(&before).next()?, like, year)
    })
}

/// The last time of `schedule` that is earlier than `until`, year by year.
fn last(schedule: &cron::Schedule, until: DateTime, first_year: i16) -> Option<DateTime> {
    (first_year..=until.year()).rev().find_map(|year| {
        let end = until.min(Date::new(year, 12, 31).ok()?.at(23, 59, 59, 0));
        let like = like_year(year)?;
        of_year(schedule.after(&to_chrono(end, like)?).next_back()?, like, year)
    })
}

/// `wall` in the year `like`.
fn to_chrono(wall: DateTime, like: i16) -> Option<ChronoDateTime<Utc>> {
    let at = Offset::UTC.to_timestamp(wall.with().year(like).build().ok()?).ok()?;
    ChronoDateTime::from_timestamp(at.as_second(), at.subsec_nanosecond().unsigned_abs())
}

/// A time of the year `like` in `year`; `None` when it is of another one.
fn of_year(found: ChronoDateTime<Utc>, like: i16, year: i16) -> Option<DateTime> {
    let wall = Offset::UTC.to_datetime(Timestamp::from_second(found.timestamp()).ok()?);
    if found.year() == i32::from(like) { wall.with().year(year).build().ok() } else { None }
}

/// A year that the crate knows with the same calendar: the same length and the same first weekday.
fn like_year(year: i16) -> Option<i16> {
    let start = |year| Date::new(year, 1, 1).ok();
    let this = start(year)?;
    let is_like = |like: Date| like.in_leap_year() == this.in_leap_year() && like.weekday() == this.weekday();
    if YEARS.contains(&year) { Some(year) } else { (1972..2000).find(|like| start(*like).is_some_and(is_like)) }
}
