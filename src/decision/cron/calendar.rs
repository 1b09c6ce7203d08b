//! The days of a month on which a schedule runs, as bits 1 to 31. Pure.

use super::schedule::Sets;

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

/// The values of a set, ascending.
pub(super) fn values(bits: u64) -> impl Iterator<Item = u32> {
    (0..64).filter(move |value| bits & (1 << value) != 0)
}
