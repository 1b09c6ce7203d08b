//! Runs -> JSON for programs. The format is stable: members are only added. No I/O.

use serde::Serialize;

use super::listing::{Listing, Refusal};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Runs<'a> {
    expression: &'a str,
    time_zone: &'a str,
    next: Vec<String>,
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
    file: &'a str,
    line: usize,
    namespace: &'a str,
    name: &'a str,
    rule: &'a str,
    suspended: bool,
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

/// The results for all rules, as one array.
pub(super) fn many(listings: &[Listing]) -> String {
    let rules: Vec<Listed<'_>> = listings
        .iter()
        .filter_map(|listing| {
            let place = listing.place.as_ref()?;
            Some(Listed {
                file: &place.file,
                line: place.line,
                namespace: &place.namespace,
                name: &place.object,
                rule: &place.rule,
                suspended: place.suspended,
                answer: answer(listing),
            })
        })
        .collect();
    pretty(&rules)
}

fn answer(listing: &Listing) -> Answer<'_> {
    match &listing.outcome {
        Ok(runs) => Answer::Runs(Runs {
            expression: &listing.expression,
            time_zone: &listing.time_zone,
            next: runs.iter().map(|run| run.at.to_string()).collect(),
        }),
        Err(Refusal { field, message }) => Answer::FailureLine(FailureLine { error: Cause { field, message } }),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
