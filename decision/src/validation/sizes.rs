//! Lengths and ranges: texts, lists and numbers beyond the limits of the API. Pure.

use std::ops::RangeInclusive;

use crate::finding::{Cause, Findings};
use crate::path::Path;

/// Rejects a text of more than `max` characters. Returns whether it is short enough.
pub(super) fn text(rule: &'static str, text: &str, max: usize, path: &Path<'_>, findings: &mut Findings) -> bool {
    let fits = text.chars().nth(max).is_none();
    if !fits {
        findings.refuse(rule, path, Cause::TooLong { max }, "");
    }
    fits
}

/// Rejects a list of more than `max` elements.
pub(super) fn list<T>(rule: &'static str, list: &[T], max: usize, path: &Path<'_>, findings: &mut Findings) {
    if list.len() > max {
        findings.refuse(rule, path, Cause::TooMany { count: list.len(), max }, "");
    }
}

/// Rejects a number outside `range`.
pub(super) fn number<N: Copy + PartialOrd + Into<i64>>(
    rule: &'static str,
    number: Option<N>,
    range: &RangeInclusive<N>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    if let Some(number) = number.filter(|number| !range.contains(number)) {
        let (least, most): (i64, i64) = ((*range.start()).into(), (*range.end()).into());
        findings.invalid(rule, path, number.into(), format!("must be between {least} and {most}"));
    }
}
