//! Runs -> JSON for programs. The format is stable: members are only added. No I/O.

use serde::Serialize;

use super::listing::{Listing, Refusal};
use super::rules::RuleLocation;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Runs<'a> {
    expression: &'a str,
    time_zone: &'a str,
    next: Vec<String>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    notes: &'a [String],
}

#[derive(Serialize)]
struct FailureLine<'a> {
    error: Cause<'a>,
}

#[derive(Serialize)]
struct Cause<'a> {
    field: &'a str,
    message: &'a str,
}

#[derive(Serialize)]
struct Listed<'a> {
    /// Absent for a schedule given as an argument.
    #[serde(flatten)]
    place: Option<&'a RuleLocation>,
    #[serde(flatten)]
    answer: Answer<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answer<'a> {
    Runs(Runs<'a>),
    FailureLine(FailureLine<'a>),
}

/// The result for a schedule given as an argument.
pub(super) fn one(listing: &Listing) -> String {
    pretty(&answer(listing))
}

/// The results for several schedules and rules, as one array.
pub(super) fn many(listings: &[Listing]) -> String {
    let listed = listings.iter().map(|listing| Listed { place: listing.place.as_ref(), answer: answer(listing) });
    pretty(&listed.collect::<Vec<_>>())
}

fn answer(listing: &Listing) -> Answer<'_> {
    match &listing.outcome {
        Ok(runs) => Answer::Runs(Runs {
            expression: &listing.expression,
            time_zone: &listing.time_zone,
            next: runs.next.iter().map(|run| run.at.to_string()).collect(),
            notes: &runs.notes,
        }),
        Err(Refusal { field, message }) => Answer::FailureLine(FailureLine { error: Cause { field, message } }),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
