//! Runs -> text for users. No I/O.

use std::fmt::Write;

use super::super::terminal::printable;
use super::listing::{Listing, Question, Refusal};
use super::rules::RuleLocation;
use crate::decision::cron::Field;
use crate::decision::cron::upcoming::Run;

/// The result for a schedule given as an argument.
pub(super) fn one(listing: &Listing, question: &Question<'_>) -> String {
    match &listing.outcome {
        Ok(_) => {
            let head = format!("{} in {}, zone rules {}", listing.expression, listing.time_zone, question.zone_rules());
            format!("{}\n{}", printable(&head), runs(listing, question))
        }
        Err(refusal) => pointed(&listing.expression, refusal),
    }
}

/// The results for several schedules and rules.
pub(super) fn many(listings: &[Listing], question: &Question<'_>) -> String {
    let mut out = format!("zone rules {}\n", question.zone_rules());
    for listing in listings {
        let head = listing.place.as_ref().map(|place| title(place) + ": ").unwrap_or_default();
        let head = printable(&format!("{head}{} in {}", listing.expression, listing.time_zone));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{head}");
        out.push_str(&runs(listing, question));
    }
    out
}

fn title(place: &RuleLocation) -> String {
    let namespace = if place.namespace.is_empty() { String::new() } else { format!("{}/", place.namespace) };
    let suspended = if place.suspended { ", suspended" } else { "" };
    format!("{}:{} {namespace}{} rule {}{suspended}", place.file, place.line, place.object, place.rule)
}

fn runs(listing: &Listing, question: &Question<'_>) -> String {
    let runs = match &listing.outcome {
        Ok(runs) => runs,
        Err(refusal) => return format!("  error: {}\n", printable(&refusal.message)),
    };
    let mut out: String = runs.next.iter().map(line).collect();
    if runs.next.len() < question.count {
        out.push_str("  no further run within five years\n");
    }
    for note in &runs.notes {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  note: {}", printable(note));
    }
    out
}

fn line(run: &Run) -> String {
    let wall = run.wall().strftime("%a %Y-%m-%d %H:%M");
    let notes = if run.notes.is_empty() { String::new() } else { format!("  {}", run.notes.join("; ")) };
    format!("  {wall} {}  {}{notes}\n", run.offset_text(), run.at)
}

/// The message below the invalid field.
fn pointed(expression: &str, refusal: &Refusal) -> String {
    let position = Field::ALL.iter().position(|field| field.name() == refusal.field);
    let word = position.and_then(|index| expression.split_ascii_whitespace().nth(index).map(|word| (index, word)));
    let plain = !expression.chars().any(char::is_control) && expression.is_ascii() && expression.len() <= 100;
    match word.filter(|_| plain) {
        Some((index, word)) => {
            let before = start_of_word(expression, index);
            let marks = "^".repeat(word.len());
            format!("error: {}\n  {expression}\n  {}{marks}\n", printable(&refusal.message), " ".repeat(before))
        }
        None => format!("error: {}\n", printable(&refusal.message)),
    }
}

fn start_of_word(text: &str, index: usize) -> usize {
    let mut inside = false;
    let starts = text.bytes().enumerate().filter(|(_, byte)| {
        let was_inside = std::mem::replace(&mut inside, !byte.is_ascii_whitespace());
        inside && !was_inside
    });
    starts.map(|(at, _)| at).nth(index).unwrap_or(0)
}
