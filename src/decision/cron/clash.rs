//! The first instant at which two schedules run together. Pure; the work is bounded.

use std::cmp::Ordering;

use jiff::civil::{Date, DateTime};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::calendar;
use super::field::Field;
use super::run::first_instant;
use super::schedule::{Schedule, Sets};

/// Months looked at when both schedules live in one zone: a leap day is among them.
const MONTHS: u32 = 5 * 12;
/// Wall times tried when both schedules live in one zone.
const WALLS: usize = 256;
/// Runs looked at when the zones differ.
const STEPS: usize = 192;
/// Clock changes looked at when the zones differ: of a year where both have two, and one more.
const CHANGES: usize = 5;

/// The first instant later than `from` at which both schedules run, as far as the search goes: five years in one zone,
/// about a year and some hundred runs in two. In one zone a run that a clock change moves onto a time of the other schedule is no clash.
pub fn first_clash(
    a: &Schedule,
    zone_a: &TimeZone,
    b: &Schedule,
    zone_b: &TimeZone,
    from: Timestamp,
) -> Option<Timestamp> {
    if zone_a == zone_b { in_one_zone(a, b, zone_a, from) } else { in_two_zones(a, zone_a, b, zone_b, from) }
}

fn in_one_zone(a: &Schedule, b: &Schedule, zone: &TimeZone, from: Timestamp) -> Option<Timestamp> {
    let hours = a.sets.hours & b.sets.hours;
    let minutes = a.sets.minutes & b.sets.minutes;
    if hours == 0 || minutes == 0 {
        return None;
    }
    let start = zone.to_datetime(from);
    let times = move |day: Date| {
        calendar::values(hours)
            .flat_map(move |hour| calendar::values(minutes).map(move |minute| (hour, minute)))
            .filter_map(move |(hour, minute)| Some(day.at(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, 0, 0)))
    };
    days_of_both(&a.sets, &b.sets, start)
        .flat_map(times)
        .filter(|wall| *wall > start)
        .take(WALLS)
        .filter_map(|wall| first_instant(zone, wall))
        .find(|at| *at > from && a.fires_at(zone, *at) && b.fires_at(zone, *at))
}

/// The days from that of `start` on that are in both schedules.
fn days_of_both(a: &Sets, b: &Sets, start: DateTime) -> impl Iterator<Item = Date> {
    let (a, b) = (*a, *b);
    let mut first = Some(start.date().first_of_month());
    let months = (0..MONTHS).map_while(move |_| {
        let month = first?;
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

/// Goes from one clock change to the next: in between, both clocks keep their distance.
fn in_two_zones(
    a: &Schedule,
    zone_a: &TimeZone,
    b: &Schedule,
    zone_b: &TimeZone,
    from: Timestamp,
) -> Option<Timestamp> {
    let next_change = |zone: &TimeZone, from| zone.following(from).next().map(|change| change.timestamp());
    let mut from = from;
    let mut steps = STEPS;
    for _ in 0..CHANGES {
        let until = next_change(zone_a, from).into_iter().chain(next_change(zone_b, from)).min();
        if times_meet(&a.sets, zone_a.to_offset(from), &b.sets, zone_b.to_offset(from)) {
            let clash = leapfrog(a, zone_a, b, zone_b, from, until.unwrap_or(Timestamp::MAX), &mut steps);
            if clash.is_some() || steps == 0 {
                return clash;
            }
        }
        // A run may have been moved to the very end of a gap.
        from = until?;
        if a.fires_at(zone_a, from) && b.fires_at(zone_b, from) {
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

/// The hours of a day as a clock shows them that is `by` hours ahead.
const fn turned(hours: u64, by: u32) -> u64 {
    (hours << by | hours >> (24 - by)) & Field::Hour.full()
}

/// The first common run between `from` and `until`, both excluded.
fn leapfrog(
    a: &Schedule,
    zone_a: &TimeZone,
    b: &Schedule,
    zone_b: &TimeZone,
    from: Timestamp,
    until: Timestamp,
    steps: &mut usize,
) -> Option<Timestamp> {
    let just_before = |at: Timestamp| at.checked_sub(SignedDuration::from_nanos(1)).ok();
    let mut at_a = a.next_after(zone_a, from)?;
    let mut at_b = b.next_after(zone_b, from)?;
    while at_a.max(at_b) < until && *steps > 0 {
        *steps -= 1;
        match at_a.cmp(&at_b) {
            Ordering::Equal => return Some(at_a),
            Ordering::Less => at_a = a.next_after(zone_a, just_before(at_b)?)?,
            Ordering::Greater => at_b = b.next_after(zone_b, just_before(at_a)?)?,
        }
    }
    None
}
