//! The shortest time between two runs. Pure.

use jiff::SignedDuration;

use super::calendar;
use super::schedule::Schedule;
use super::sets::Sets;

/// First and last year searched. The calendar repeats after 28 years; the further years close the last intervals. A
/// century without a leap day only lengthens intervals.
const YEARS: std::ops::RangeInclusive<i16> = 2000..=2032;
/// Weekday of the first day of the first year: Saturday.
const FIRST_WEEKDAY: u32 = 6;

const HOUR: u32 = 60;
const DAY: u32 = 24 * HOUR;

impl Schedule {
    /// The shortest time between two consecutive runs by the wall clock, where every day has 24 hours. Clock changes
    /// are ignored, so that the result is the same at every moment and in every zone: they may bring two runs closer
    /// together twice a year.
    pub fn shortest_interval(&self) -> SignedDuration {
        let minutes = within_a_day(&self.sets).unwrap_or(u32::MAX).min(over_midnight(&self.sets));
        SignedDuration::from_mins(minutes.into())
    }
}

/// In minutes; absent when there is one run a day.
fn within_a_day(sets: &Sets) -> Option<u32> {
    let within_an_hour = least_gap(sets.minutes);
    let over_the_hour = least_gap(sets.hours).map(|hours| hours * HOUR - span(sets.minutes));
    within_an_hour.into_iter().chain(over_the_hour).min()
}

/// In minutes, from the last run of a day to the first of the next day that has one.
fn over_midnight(sets: &Sets) -> u32 {
    day_gap(sets).saturating_mul(DAY).saturating_sub(span(sets.hours) * HOUR + span(sets.minutes))
}

/// Least number of days from one day with runs to the next.
fn day_gap(sets: &Sets) -> u32 {
    let mut least = u32::MAX;
    let mut first = FIRST_WEEKDAY;
    // Days from the last day with runs to the start of the month.
    let mut since = None;
    for (year, month) in YEARS.flat_map(|year| (1..=12).map(move |month| (year, month))) {
        let length = calendar::length(year, month);
        let days = calendar::days(sets, month, length, first);
        if days != 0 {
            let before = since.map(|since: u32| since + days.trailing_zeros());
            least = least_gap(days).into_iter().chain(before).fold(least, u32::min);
        }
        if least == 1 {
            break;
        }
        since = if days == 0 { since.map(|since| since + length) } else { Some(length - days.ilog2()) };
        first = (first + length) % 7;
    }
    least
}

/// Least distance of two values.
fn least_gap(bits: u64) -> Option<u32> {
    (1..64).find(|distance| bits & (bits >> distance) != 0)
}

/// Distance of the first and the last value.
fn span(bits: u64) -> u32 {
    bits.checked_ilog2().map_or(0, |last| last - bits.trailing_zeros())
}
