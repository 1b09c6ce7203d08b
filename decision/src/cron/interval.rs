//! The shortest time between two runs. Pure.

use jiff::SignedDuration;

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
        let length = length(year, month);
        let days = days(sets, month, length, first);
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

/// Days of month `month` (from 1) of `year`.
const fn length(year: i16, month: u8) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 => 29,
        2 => 28,
        _ => 31,
    }
}

/// The days, as bits 1 to 31, of a month of `length` days whose first day is weekday `first` (Sunday is 0).
fn days(sets: &Sets, month: u8, length: u32, first: u32) -> u64 {
    if sets.months & (1 << month) == 0 {
        return 0;
    }
    let all = ((1 << length) - 1) << 1;
    let has_weekday = |day: &u32| sets.weekdays & (1 << ((first + day - 1) % 7)) != 0;
    let by_weekday = (1..=length).filter(has_weekday).fold(0, |days, day| days | 1 << day);
    all & if sets.either_day() { sets.days | by_weekday } else { sets.days & by_weekday }
}

/// Least distance of two values.
fn least_gap(bits: u64) -> Option<u32> {
    (1..64).find(|distance| bits & (bits >> distance) != 0)
}

/// Distance of the first and the last value.
fn span(bits: u64) -> u32 {
    bits.checked_ilog2().map_or(0, |last| last - bits.trailing_zeros())
}
