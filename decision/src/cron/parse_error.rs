//! Why a schedule is rejected, and what to write instead. Pure; the work is bounded by the length of the text.

use std::fmt;

use super::field::{Field, MONTHS, WEEKDAYS, number};

/// A schedule that is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The field at fault; absent when it is the whole text.
    pub field: Option<Field>,
    /// What is wrong and what to write.
    pub message: String,
}

impl ScheduleError {
    pub(super) fn at(field: Field, message: impl Into<String>) -> Self {
        Self { field: Some(field), message: message.into() }
    }

    pub(super) fn of_text(message: impl Into<String>) -> Self {
        Self { field: None, message: message.into() }
    }
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScheduleError {}

/// Characters of a rejected text that a message repeats.
pub(super) const EXCERPT_LENGTH: usize = 32;

/// The text as a message shows it: short and printable.
pub(super) fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let mut out: String = chars.by_ref().take(EXCERPT_LENGTH).flat_map(char::escape_debug).collect();
    if chars.next().is_some() {
        out.push_str("...");
    }
    out
}

pub(super) fn out_of_range(field: Field, text: &str) -> ScheduleError {
    let number = text.strip_prefix('+').unwrap_or(text).trim_start_matches('0');
    let number = if number.is_empty() { "0" } else { number };
    let (min, max) = (field.min(), field.max_written());
    ScheduleError::at(field, format!("{field} {} is out of range {min}-{max}", shown(number)))
}

pub(super) fn backwards(field: Field, item: &str, low: u64, high: u64) -> ScheduleError {
    let tail = format_range(low, field.max());
    let head = format_range(field.min(), high);
    let step = item.split_once('/').map(|(_, step)| shown(step));
    let hint = match step {
        Some(step) => {
            format!("list the values, or write two ranges: {low}-{}/{step},{}-{high}/{step}", field.max(), field.min())
        }
        None => format!("write {tail},{head}"),
    };
    ScheduleError::at(field, format!("{field} range {} runs backwards; {hint}", shown(item)))
}

fn format_range(low: u64, high: u64) -> String {
    if low >= high { low.to_string() } else { format!("{low}-{high}") }
}

pub(super) fn bad_step(field: Field, item: &str, text: &str) -> ScheduleError {
    let (range, _) = item.split_once('/').unwrap_or((item, ""));
    let range = if range.is_empty() { "*".to_owned() } else { shown(range) };
    let magnitude = number(text.trim_start_matches(['-', '+'])).unwrap_or(0);
    let message = if text.is_empty() {
        format!("{field} {} has no step after the slash; write {range}/N, for example {range}/5", shown(item))
    } else if text.contains('/') {
        format!("{field} {} has more than one slash; write {range}/N with a single step", shown(item))
    } else if text.starts_with('-') && magnitude > 0 {
        format!("{field} step {} is negative; write {range}/{}", shown(text), shown(text.trim_start_matches('-')))
    } else if number(text).is_some_and(|step| step > 0) {
        format!("{field} step {} is too large; write a step of at most {}", shown(text), field.max())
    } else if number(text.trim_start_matches('-')).is_some() {
        format!("{field} step {} never advances; write a step of at least 1", shown(text))
    } else {
        format!("{field} step {} is not a number; write {range}/N, for example {range}/5", shown(text))
    };
    ScheduleError::at(field, message)
}

pub(super) fn bad_value(field: Field, item: &str, text: &str) -> ScheduleError {
    let message = shape_message(field, item, text)
        .or_else(|| name_message(field, text))
        .or_else(|| quartz_message(field, text))
        .unwrap_or_else(|| format!("{field} {} is not {}", shown(text), wanted(field)));
    ScheduleError::at(field, message)
}

fn wanted(field: Field) -> String {
    let (min, max) = (field.min(), field.max_written());
    match field {
        Field::Month => format!("a number {min}-{max} or a name JAN-DEC"),
        Field::DayOfWeek => format!("a number {min}-{max} or a name SUN-SAT"),
        _ => format!("a number {min}-{max}"),
    }
}

/// Hyphens and slashes in the wrong place.
fn shape_message(field: Field, item: &str, text: &str) -> Option<String> {
    if text.contains('-') {
        return Some(format!("{field} {} has more than one hyphen; write a range as LOW-HIGH", shown(item)));
    }
    if !text.is_empty() {
        return None;
    }
    let positive = item.trim_start_matches('-');
    Some(if item.starts_with('/') {
        format!("{field} {} has a step without a range; write *{}", shown(item), shown(item))
    } else if item.starts_with('-') && !positive.is_empty() {
        format!("{field} {} is negative; write {}", shown(item), wanted(field))
    } else {
        format!("{field} range {} has no end; write LOW-HIGH", shown(item))
    })
}

/// Names that are too long or in the wrong field.
fn name_message(field: Field, text: &str) -> Option<String> {
    let starts = |name: &&&str| text.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(name));
    if text.len() > 9 || !text.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let weekday = WEEKDAYS.iter().find(starts);
    let month = MONTHS.iter().find(starts);
    let (name, home, kind) = match (weekday, month) {
        (Some(name), _) => (name, Field::DayOfWeek, "weekday"),
        (_, Some(name)) => (name, Field::Month, "month"),
        _ => return None,
    };
    let nth = if home == Field::Month { "fourth" } else { "fifth" };
    Some(if field == home {
        format!("{field} {} is not a known name; write {name}", shown(text))
    } else {
        format!("{field} cannot be the {kind} {name}; it belongs in the {nth} field, {home}")
    })
}

/// Extensions of Quartz and Jenkins.
fn quartz_message(field: Field, text: &str) -> Option<String> {
    let upper = text.to_ascii_uppercase();
    let digits_or = |extra: char| upper.chars().all(|c| c == extra || c.is_ascii_digit());
    let day_field = matches!(field, Field::DayOfMonth | Field::DayOfWeek);
    Some(if upper.contains('#') {
        let day = text.split('#').next().filter(|day| !day.is_empty()).unwrap_or("1");
        format!("{field} {}: # (n-th weekday) is not supported; write {} for every week", shown(text), shown(day))
    } else if day_field && (upper == "LW" || (upper.contains('W') && digits_or('W'))) {
        format!("{field} {}: W (nearest weekday) is not supported; write 1-5 as day-of-week for weekdays", shown(text))
    } else if field == Field::DayOfWeek && upper.contains('L') {
        format!(
            "{field} {}: L (last weekday of the month) is not supported; write the weekday for every week",
            shown(text)
        )
    } else if day_field && upper.contains('L') {
        format!("{field} {}: L (last day) is not supported; write a day, 28 occurs in every month", shown(text))
    } else if upper == "H" || upper.starts_with("H(") {
        format!("{field} {}: H (hashed) is not supported; write {}", shown(text), wanted(field))
    } else {
        return None;
    })
}
