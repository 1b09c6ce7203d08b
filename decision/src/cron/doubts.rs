//! What a valid schedule was probably not meant to say, and what to write instead, for its author. Pure.

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::field::Field;
use super::parser::{self, Steps};
use super::schedule::Schedule;
use super::sets::{Sets, holds};
use super::unsatisfiable::MONTH_NAMES;

/// Dates of the next runs that are named.
const DATES: usize = 3;
/// Years in which a date is searched that both day fields allow.
const YEARS: i16 = 5;
/// Ranges of values that are named one by one.
const RANGES: usize = 3;
/// Names of the weekdays, Sunday first.
const WEEKDAY_NAMES: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Said of a schedule with both day fields: it runs where either allows it, and most authors mean another thing.
#[must_use]
pub fn either_day(text: &str, schedule: &Schedule, zone: &TimeZone, now: Timestamp) -> Option<String> {
    let sets = &schedule.sets;
    if !sets.either_day() || sets.days == 0 || sets.weekdays == 0 {
        return None;
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = words.as_slice() else { return None };
    let days = match named(sets.days, &ordinal) {
        Some(days) => format!("the {days}"),
        None => format!("{} days of the month", sets.days.count_ones()),
    };
    let weekdays = match named(sets.weekdays, &weekday_name) {
        Some(weekdays) if sets.weekdays != Field::DayOfWeek.full() => format!("each {weekdays}"),
        _ => "each day of the week".to_owned(),
    };
    let months = match named(sets.months, &month_name) {
        _ if sets.months == Field::Month.full() => String::new(),
        Some(months) => format!(" in {months}"),
        None => format!(" in {} months", sets.months.count_ones()),
    };
    let next = dates(schedule, zone, now);
    let both = next.first().and_then(|first| both(sets, *first));
    let both = both.map(|date| format!(" (first {date})")).unwrap_or_default();
    let next: Vec<String> = next.iter().map(Date::to_string).collect();
    Some(format!(
        "runs on {days} and on {weekdays}{months} (next {}): write \"{minute} {hour} {day} {month} *\" for the date, \
         \"{minute} {hour} * {month} {weekday}\" for the weekday, a rule for each date that is both{both}",
        next.join(", ")
    ))
}

/// The days of the next runs.
fn dates(schedule: &Schedule, zone: &TimeZone, now: Timestamp) -> Vec<Date> {
    let mut after = now;
    let next = || {
        let at = schedule.next_after(zone, after)?;
        let date = zone.to_datetime(at).date();
        let end = date.at(23, 59, 59, 0).to_zoned(zone.clone()).ok()?.timestamp();
        after = end.max(at);
        Some(date)
    };
    std::iter::from_fn(next).take(DATES).collect()
}

/// The first date from `start` on that both day fields allow.
fn both(sets: &Sets, start: Date) -> Option<Date> {
    let dates = (0..=YEARS)
        .flat_map(|years| (1..=12_i8).flat_map(move |month| (1..=31_i8).map(move |day| (years, month, day))));
    dates
        .filter(|(_, month, day)| holds(sets.months, *month) && holds(sets.days, *day))
        .filter_map(|(years, month, day)| Date::new(start.year().checked_add(years)?, month, day).ok())
        .find(|date| *date >= start && holds(sets.weekdays, date.weekday().to_sunday_zero_offset()))
}

/// Said of the first step that does not divide the cycle of its field: the last interval differs.
#[must_use]
pub fn uneven_step(text: &str) -> Option<String> {
    let items = Field::ALL.into_iter().zip(text.split_whitespace());
    let mut items = items.flat_map(|(field, word)| word.split(',').map(move |item| (field, item)));
    items.find_map(|(field, item)| uneven(field, item, &parser::steps(field, item)?))
}

fn uneven(field: Field, item: &str, steps: &Steps) -> Option<String> {
    let Steps { low, high, step } = *steps;
    let last = high.checked_sub(low)?.checked_div(step)?.checked_mul(step)?.checked_add(low)?;
    let cycle = field.max().checked_sub(field.min())?.checked_add(1)?;
    // A range that ends before it would begin again is a part of the cycle that its author chose.
    let whole = low < field.min().saturating_add(step) && last.saturating_add(step) > field.max();
    let gap = low.checked_add(cycle)?.checked_sub(last)?;
    if !whole || gap == step {
        return None;
    }
    let unit = match field {
        Field::Minute => "minute",
        Field::Hour => "hour",
        Field::DayOfMonth | Field::DayOfWeek => "day",
        Field::Month => "month",
    };
    let plural = if gap == 1 { "" } else { "s" };
    let even = even_steps(field, cycle, step);
    let (last, low) = (value_name(field, last), value_name(field, low));
    Some(format!("{item} of {field} is uneven: {last} is followed by {low} after {gap} {unit}{plural}{even}"))
}

/// The nearest steps that divide the cycle. Months differ in their length, so that no step is even in all of them.
fn even_steps(field: Field, cycle: u64, step: u64) -> String {
    let divides = |candidate: &u64| cycle.checked_rem(*candidate) == Some(0);
    let below = (2..step.min(cycle)).rev().find(divides);
    let above = (step.saturating_add(1)..cycle).find(divides);
    let steps: Vec<String> = below.into_iter().chain(above).map(|step| step.to_string()).collect();
    if field == Field::DayOfMonth || steps.is_empty() {
        String::new()
    } else {
        format!("; even are {}", steps.join(" and "))
    }
}

fn value_name(field: Field, value: u64) -> String {
    match field {
        Field::Minute | Field::Hour => value.to_string(),
        Field::DayOfMonth => format!("the {}", ordinal(value)),
        Field::Month => month_name(value),
        Field::DayOfWeek => weekday_name(value),
    }
}

/// The values of a set as text, `3rd, 5th to 9th and 20th`; `None` where they are too many ranges.
fn named(set: u64, name: &dyn Fn(u64) -> String) -> Option<String> {
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for value in (0..64).filter(|value| set >> value & 1 == 1) {
        match ranges.last_mut() {
            Some((_, last)) if last.saturating_add(1) == value => *last = value,
            _ => ranges.push((value, value)),
        }
    }
    if ranges.len() > RANGES {
        return None;
    }
    let mut parts: Vec<String> = Vec::new();
    for (first, last) in ranges {
        match last.saturating_sub(first) {
            0 => parts.push(name(first)),
            1 => parts.extend([name(first), name(last)]),
            _ => parts.push(format!("{} to {}", name(first), name(last))),
        }
    }
    let last = parts.pop()?;
    Some(if parts.is_empty() { last } else { format!("{} and {last}", parts.join(", ")) })
}

fn ordinal(number: u64) -> String {
    let suffix = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{suffix}")
}

fn month_name(month: u64) -> String {
    name_of(&MONTH_NAMES, month.saturating_sub(1))
}

fn weekday_name(weekday: u64) -> String {
    name_of(&WEEKDAY_NAMES, weekday)
}

fn name_of(names: &[&str], index: u64) -> String {
    usize::try_from(index).ok().and_then(|index| names.get(index)).copied().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::{named, ordinal};

    #[test]
    fn values_are_named_as_people_say_them() {
        let name = |set| named(set, &ordinal);
        assert_eq!(name(1 << 24).as_deref(), Some("24th"));
        assert_eq!(name(0b1111_1110).as_deref(), Some("1st to 7th"));
        assert_eq!(name(1 << 1 | 1 << 2 | 1 << 15).as_deref(), Some("1st, 2nd and 15th"));
        assert_eq!(name(0xAAAA), None);
        assert_eq!([11, 12, 13, 21, 22, 23, 31].map(ordinal).join(" "), "11th 12th 13th 21st 22nd 23rd 31st");
    }
}
