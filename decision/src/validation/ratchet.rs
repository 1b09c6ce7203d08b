//! Updates are judged by their changes (docs/validation.md#reviews). Pure.
//!
//! A violation that the stored object already has in the same form becomes a warning. List elements may move: a finding
//! is recognized by its path without indexes, its value and its message.

use super::{Subject, ValidationContext};
use crate::finding::{Findings, Violation, Warning};

/// The findings of an update to `new`. The object that it replaces matters only where `new` has violations, so `stored`
/// is asked for it only then; `None`: there is none, or it cannot be read.
#[must_use]
pub fn validate_update<S: Subject>(
    new: &S,
    stored: impl FnOnce() -> Option<S>,
    around: &ValidationContext<'_>,
) -> Findings {
    let mut findings = new.findings(around);
    if findings.violations.is_empty() {
        return findings;
    }
    let Some(stored) = stored() else { return findings };
    let for_all = if new.is_being_deleted() {
        Some("let through, as the object is being deleted")
    } else if new.same_spec(&stored) {
        Some("let through, as the spec is unchanged")
    } else {
        None
    };
    // With so many errors some are not known, and an unknown violation cannot be let through.
    if findings.are_full() && for_all.is_none() {
        return findings;
    }
    let mut known = if for_all.is_some() { Vec::new() } else { stored.findings(around).violations };
    let (kept, spared): (Vec<_>, Vec<_>) = std::mem::take(&mut findings.violations)
        .into_iter()
        .partition(|violation| for_all.is_none() && !take_match(&mut known, violation));
    findings.violations = kept;
    let why = for_all.unwrap_or(STORED_BEFORE);
    findings.warnings.extend(spared.into_iter().map(|violation| spare(violation, why)));
    findings
}

/// Why an error that the stored object has in the same form does not deny its update.
pub const STORED_BEFORE: &str = "stored before and let through";

/// Takes one violation like `violation` out of `known`.
fn take_match(known: &mut Vec<Violation>, violation: &Violation) -> bool {
    let same = |other: &Violation| {
        other.rule == violation.rule
            && other.cause == violation.cause
            && other.detail == violation.detail
            && places_agree(&other.path, &violation.path)
    };
    match known.iter().position(same) {
        Some(index) => {
            known.swap_remove(index);
            true
        }
        None => false,
    }
}

/// Whether two paths are equal, list indexes aside.
fn places_agree(one: &str, other: &str) -> bool {
    let steps = |path: &str| -> Vec<String> {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        path.split(['[', ']']).filter(|step| step.is_empty() || !is_number(step)).map(str::to_owned).collect()
    };
    one == other || steps(one) == steps(other)
}

/// A violation that is let through, and why.
fn spare(violation: Violation, why: &str) -> Warning {
    let text = format!("{why}: {}", violation.message());
    Warning::shortened(violation.path, text, violation.rule)
}
