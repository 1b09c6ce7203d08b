//! Why a text is no schedule as a whole, and what to write instead. Pure; the work is bounded by the length of the text.

use super::field::number;
use super::parse_error::{EXCERPT_LENGTH, ScheduleError, shown};
use super::parser;

const FIVE: &str = "minute hour day-of-month month day-of-week";
const MACROS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

pub(super) fn too_long(length: usize, most: usize) -> ScheduleError {
    ScheduleError::of_text(format!("schedule has {length} bytes, at most {most} are allowed"))
}

/// Texts that are neither five fields nor a macro.
pub(super) fn error(text: &str) -> ScheduleError {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return ScheduleError::of_text(format!("schedule is empty; write {FIVE}, for example 0 8 * * 1-5"));
    }
    if text.contains("TZ=") {
        return zone_prefix(trimmed);
    }
    if trimmed.starts_with('@') {
        return ScheduleError::of_text(macro_message(text, trimmed));
    }
    field_count(trimmed)
}

fn zone_prefix(text: &str) -> ScheduleError {
    let (prefix, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let (_, zone) = prefix.split_once("TZ=").unwrap_or(("", prefix));
    let rest = rest.trim();
    let schedule = if rest.is_empty() { String::new() } else { format!("schedule: \"{}\" and ", shown(rest)) };
    let zone = if zone.is_empty() { "an IANA name".to_owned() } else { shown(zone) };
    ScheduleError::of_text(format!("a time zone does not belong in the schedule; write {schedule}timeZone: {zone}"))
}

fn macro_message(text: &str, trimmed: &str) -> String {
    let lower = trimmed.get(..EXCERPT_LENGTH.min(trimmed.len())).unwrap_or(trimmed).to_ascii_lowercase();
    if MACROS.contains(&trimmed) && text != trimmed {
        return format!("{trimmed} must be the whole schedule; write it without spaces around it");
    }
    if let Some(exact) = MACROS.iter().find(|name| ***name == *lower) {
        return format!("{} is not known, case counts; write {exact}", shown(trimmed));
    }
    if let Some(rest) = lower.strip_prefix("@every") {
        let instead = every_suggestion(rest.trim_matches(|c: char| c.is_whitespace() || c == '_' || c == '='))
            .unwrap_or_else(|| "*/N * * * * for every N minutes".to_owned());
        return format!("{} is tied to no clock time; write {instead}", shown(trimmed));
    }
    if let Some(instead) = lower.strip_prefix('@').and_then(every_suggestion) {
        return format!("{} is not supported; write {instead}", shown(trimmed));
    }
    if lower == "@reboot" {
        return format!("@reboot is tied to no clock time; write five fields: {FIVE}");
    }
    let near = MACROS.iter().map(|name| (strsim::osa_distance(name, &lower), name)).min();
    match near {
        Some((distance, name)) if distance <= 2 => format!("{} is not known; write {name}", shown(trimmed)),
        _ => format!("{} is not known; write one of {}, or five fields: {FIVE}", shown(trimmed), MACROS.join(", ")),
    }
}

/// `5m`, `5minutes`, `2h` ... as five fields, where an equal schedule exists.
fn every_suggestion(text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at_checked(digits)?;
    let count = number(count).or_else(|| count.is_empty().then_some(1))?;
    match (unit.trim(), count) {
        ("s" | "sec" | "second" | "seconds", _) => Some("* * * * *, a minute is the shortest interval".to_owned()),
        ("m" | "min" | "minute" | "minutes", 1) => Some("* * * * *".to_owned()),
        ("m" | "min" | "minute" | "minutes", 2..=59) => Some(format!("*/{count} * * * *")),
        ("m" | "min" | "minute" | "minutes", 60) | ("h" | "hour" | "hours" | "h0m0s", 1) => {
            Some("0 * * * *".to_owned())
        }
        ("h" | "hour" | "hours", 2..=23) => Some(format!("0 */{count} * * *")),
        ("h" | "hour" | "hours", 24) | ("d" | "day" | "days", 1) => Some("0 0 * * *".to_owned()),
        _ => None,
    }
}

fn field_count(text: &str) -> ScheduleError {
    // Words after the seventh are counted only.
    let count = text.split_whitespace().count();
    let words: Vec<&str> = text.split_whitespace().take(7).collect();
    let join = |words: &[&str]| words.join(" ");
    let fits = |candidate: &String| parser::five_fields(candidate).is_some_and(|sets| sets.is_ok());
    let (what, candidates) = match (count, words.as_slice()) {
        (6, [first @ .., _]) => {
            ("six fields; there is no seconds or year field", vec![words.get(1..).map(join), Some(join(first))])
        }
        (7, [_, middle @ .., _]) => ("seven fields; there is no seconds or year field", vec![Some(join(middle))]),
        _ => {
            let fields = if count == 1 { "field" } else { "fields" };
            return ScheduleError::of_text(format!("schedule has {count} {fields}, not five; write {FIVE}"));
        }
    };
    // A sixth field that is a year is dropped, otherwise the first is taken for seconds.
    let year_last = words.last().is_some_and(|word| word.len() >= 4 && number(word.get(..4).unwrap_or("")).is_some());
    let mut candidates: Vec<String> = candidates.into_iter().flatten().filter(fits).collect();
    if year_last {
        candidates.reverse();
    }
    match candidates.first() {
        Some(five) => ScheduleError::of_text(format!("schedule has {what}; write {}", shown(five))),
        None => ScheduleError::of_text(format!("schedule has {what}; write {FIVE}")),
    }
}
