//! Schedules that never fire. Pure.

use super::field::{Field, MONTHS};
use super::parse_error::ScheduleError;
use super::sets::Sets;

/// Names of the months, January first.
pub(super) const MONTH_NAMES: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
/// Days of each month, February of a leap year.
const MONTH_DAYS: [u64; 12] = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/// Why `sets` never fires; `None` when it does.
pub(super) fn reason(sets: &Sets) -> Option<ScheduleError> {
    if let Some(field) = empty_field(sets) {
        let example = if matches!(field, Field::DayOfMonth | Field::Month) { "1" } else { "0" };
        return Some(ScheduleError::at(
            field,
            format!("{field} names no value, so the schedule never fires; write * or a value such as {example}"),
        ));
    }
    // A weekday occurs in every month.
    if sets.any_day || (sets.either_day() && sets.weekdays != 0) {
        return None;
    }
    let longest =
        (1..).zip(MONTH_DAYS).filter(|(month, _)| sets.months & (1 << month) != 0).map(|(_, days)| days).max();
    let first = u64::from(sets.days.trailing_zeros());
    if longest.is_none_or(|longest| first > longest) { Some(no_such_day(sets, first)) } else { None }
}

fn empty_field(sets: &Sets) -> Option<Field> {
    let days_empty = sets.days == 0 && (!sets.either_day() || sets.weekdays == 0);
    let weekdays_empty = sets.weekdays == 0 && !sets.either_day();
    [
        (Field::Minute, sets.minutes == 0),
        (Field::Hour, sets.hours == 0),
        (Field::DayOfMonth, days_empty),
        (Field::Month, sets.months == 0),
        (Field::DayOfWeek, weekdays_empty),
    ]
    .into_iter()
    .find_map(|(field, empty)| empty.then_some(field))
}

fn no_such_day(sets: &Sets, first: u64) -> ScheduleError {
    let months: Vec<&str> = (1..=MONTHS.len())
        .zip(MONTH_NAMES)
        .filter(|(month, _)| sets.months & (1 << month) != 0)
        .map(|(_, name)| name)
        .collect();
    let (last, others) = months.split_last().map_or(("the year", [].as_slice()), |(last, others)| (*last, others));
    let which = match others {
        [] => format!("{last} has no day {first}"),
        [one] => format!("neither {one} nor {last} has a day {first}"),
        many => format!("none of {} and {last} has a day {first}", many.join(", ")),
    };
    ScheduleError::at(Field::DayOfMonth, format!("never fires: {which}"))
}
