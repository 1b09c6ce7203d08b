//! Text -> the sets of a schedule: the five-field syntax of Kubernetes CronJob, and 7 for Sunday. Pure.
//!
//! Accepts the same texts as robfig's `ParseStandard`, odd corners included (`*-5` is `*`, empty list items are
//! dropped). Only texts that are not tied to a clock time or that have a zone of their own are rejected
//! (docs/cron.md#schedules).

use super::field::{Field, number};
use super::parse_error::{self, ScheduleError};
use super::sets::Sets;

/// Reads `text`; `None` where it is neither five fields nor a macro.
pub(super) fn parse(text: &str) -> Option<Result<Sets, ScheduleError>> {
    five_fields(text).or_else(|| macro_sets(text).map(Ok))
}

/// The sets when the text has exactly five fields.
pub(super) fn five_fields(text: &str) -> Option<Result<Sets, ScheduleError>> {
    let mut words = text.split_whitespace();
    let fields = [words.next()?, words.next()?, words.next()?, words.next()?, words.next()?];
    // A zone prefix in front of four fields makes five words too. One character is found sooner than three.
    let has_zone = text.contains('=') && text.contains("TZ=");
    if words.next().is_some() || text.starts_with('@') || has_zone { None } else { Some(sets(fields)) }
}

fn sets([minute, hour, day, month, weekday]: [&str; 5]) -> Result<Sets, ScheduleError> {
    let (minutes, _) = set(Field::Minute, minute)?;
    let (hours, _) = set(Field::Hour, hour)?;
    let (days, any_day) = set(Field::DayOfMonth, day)?;
    let (months, _) = set(Field::Month, month)?;
    let (weekdays, any_weekday) = set(Field::DayOfWeek, weekday)?;
    Ok(Sets { minutes, hours, days, months, weekdays, any_day, any_weekday })
}

/// The macros, case-sensitive.
fn macro_sets(text: &str) -> Option<Sets> {
    let five = match text {
        "@yearly" | "@annually" => ["0", "0", "1", "1", "*"],
        "@monthly" => ["0", "0", "1", "*", "*"],
        "@weekly" => ["0", "0", "*", "*", "0"],
        "@daily" | "@midnight" => ["0", "0", "*", "*", "*"],
        "@hourly" => ["0", "*", "*", "*", "*"],
        _ => return None,
    };
    sets(five).ok()
}

/// The values of one field, one bit each, and whether it is a star: it restricts nothing.
fn set(field: Field, text: &str) -> Result<(u64, bool), ScheduleError> {
    // Most fields are one star or number.
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*') {
        return range_set(field, text, text, None, None);
    }
    let mut values = 0;
    let mut star = false;
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let (some, item_star) = item_set(field, item)?;
        values |= some;
        star |= item_star;
    }
    Ok((values, star))
}

/// The values of one list item: `value`, `value-value`, `*`, each with or without `/step`.
fn item_set(field: Field, item: &str) -> Result<(u64, bool), ScheduleError> {
    let (first, last, step) = parts(field, item)?;
    range_set(field, item, first, last, step)
}

/// The parts of a list item: `first-last/step`.
fn parts(field: Field, item: &str) -> Result<(&str, Option<&str>, Option<u64>), ScheduleError> {
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(positive_step(field, item, step)?)),
        None => (item, None),
    };
    Ok(match range.split_once('-') {
        Some((first, last)) => (first, Some(last), step),
        None => (range, None, step),
    })
}

/// Every `step`-th value from `low` to `high`.
pub(super) struct Steps {
    pub(super) low: u64,
    pub(super) high: u64,
    pub(super) step: u64,
}

/// The steps of a list item that has some.
pub(super) fn steps(field: Field, item: &str) -> Option<Steps> {
    let (first, last, step) = parts(field, item).ok()?;
    range(field, item, first, last, step).ok().map(|(steps, _)| steps).filter(|steps| steps.step > 1)
}

/// The values of the list item `item`, taken apart.
fn range_set(
    field: Field,
    item: &str,
    first: &str,
    last: Option<&str>,
    step: Option<u64>,
) -> Result<(u64, bool), ScheduleError> {
    let (Steps { low, high, step }, star) = range(field, item, first, last, step)?;
    Ok((every(field, low, high, step), star))
}

/// The steps of the list item `item`, taken apart, and whether it is a star.
fn range(
    field: Field,
    item: &str,
    first: &str,
    last: Option<&str>,
    step: Option<u64>,
) -> Result<(Steps, bool), ScheduleError> {
    let every = step.unwrap_or(1);
    if first == "*" || first == "?" {
        // `*/1` restricts nothing, `*/2` does; the text after a hyphen is ignored.
        return Ok((Steps { low: field.min(), high: field.max(), step: every }, every == 1));
    }
    let low = value(field, item, first)?;
    let high = match (last, step) {
        (Some(last), _) => value(field, item, last)?,
        // `5/10` runs from 5 to the end of the field.
        (None, Some(_)) => field.max().max(low),
        (None, None) => low,
    };
    if low > high {
        return Err(parse_error::backwards(field, item, low, high));
    }
    Ok((Steps { low, high, step: every }, false))
}

/// Every `step`-th value from `low` to `high`; 7 of a week folds to 0.
fn every(field: Field, low: u64, high: u64, step: u64) -> u64 {
    let all = (u64::MAX << low) & (u64::MAX >> 63_u64.saturating_sub(high));
    let mut bits = if step == 1 { all } else { 0 };
    let mut value = low;
    while step > 1 && value <= high {
        bits |= 1 << value;
        value = value.saturating_add(step);
    }
    if field == Field::DayOfWeek && bits & (1 << 7) != 0 { (bits | 1) & field.full() } else { bits }
}

fn value(field: Field, item: &str, text: &str) -> Result<u64, ScheduleError> {
    let value = match number(text) {
        Some(value) => value,
        None => field.named(text).ok_or_else(|| parse_error::bad_value(field, item, text))?,
    };
    if (field.min()..=field.max_written()).contains(&value) {
        Ok(value)
    } else {
        Err(parse_error::out_of_range(field, text))
    }
}

fn positive_step(field: Field, item: &str, text: &str) -> Result<u64, ScheduleError> {
    // The reference implementation also rejects a step that does not fit its integer.
    number(text)
        .filter(|step| (1..=i64::MAX.unsigned_abs()).contains(step))
        .ok_or_else(|| parse_error::bad_step(field, item, text))
}
