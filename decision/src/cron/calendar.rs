//! The days of a month on which a schedule runs, as bits 1 to 31. Pure.

use jiff::civil::{Date, DateTime};

use super::sets::Sets;

/// Days of month `month` (from 1) of `year`.
pub(super) const fn length(year: i16, month: u8) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The days of a month of `length` days whose first day is weekday `first` (Sunday is 0).
pub(super) const fn days(sets: &Sets, month: u8, length: u32, first: u32) -> u64 {
    if sets.months & (1 << month) == 0 {
        return 0;
    }
    let all = ((1 << length) - 1) << 1;
    let mut by_weekday = 0;
    let mut day = 1;
    while day <= length {
        if sets.weekdays & (1 << ((first + day - 1) % 7)) != 0 {
            by_weekday |= 1 << day;
        }
        day += 1;
    }
    all & if sets.either_day() { sets.days | by_weekday } else { sets.days & by_weekday }
}

/// Whether a schedule runs on the day `day`.
pub(super) fn has_day(sets: &Sets, day: Date) -> bool {
    if !holds(sets.months, day.month()) {
        return false;
    }
    let by_day = holds(sets.days, day.day());
    let by_weekday = holds(sets.weekdays, day.weekday().to_sunday_zero_offset());
    if sets.either_day() { by_day || by_weekday } else { by_day && by_weekday }
}

/// Whether a schedule names the wall time `wall`.
pub(super) fn has_wall(sets: &Sets, wall: DateTime) -> bool {
    let whole = wall.second() == 0 && wall.subsec_nanosecond() == 0;
    whole && holds(sets.minutes, wall.minute()) && holds(sets.hours, wall.hour()) && has_day(sets, wall.date())
}

/// Whether `value` is in a set.
fn holds(set: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| set & (1 << value) != 0)
}

/// The values of a set, ascending.
pub(super) fn values(bits: u64) -> impl Iterator<Item = u32> {
    let mut left = bits;
    std::iter::from_fn(move || {
        let value = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (value < u64::BITS).then_some(value)
    })
}
