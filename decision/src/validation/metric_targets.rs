//! `target` of a metric: the value that it is held at. Pure.

use std::cmp::Ordering;

use crate::finding::{Cause, Findings};
use crate::hpa::metric;
use crate::path::Path;
use crate::quantity::Quantity;
use crate::subject::hpa::MetricTarget;

const RULE: &str = "metric";

/// Each type of a target, the member that it names, and whether the member is set.
type Values = [(&'static str, &'static str, bool); 3];

fn values(target: &MetricTarget<'_>) -> Values {
    [
        ("AverageValue", "averageValue", target.average_value.is_some()),
        ("Utilization", "averageUtilization", target.average_utilization.is_some()),
        ("Value", "value", target.value.is_some()),
    ]
}

/// Adds findings on the target of a `source` of which every autoscaler takes the one value that is set, whatever the
/// type says: Karmada's documentation has `type: Value` beside `averageValue`. A type that does not fit is a reason to
/// warn; members get the one that fits.
pub(super) fn validate_by_value(target: &MetricTarget<'_>, source: &str, path: &Path<'_>, findings: &mut Findings) {
    let (types, said) = (metric::types_by_value(source), &*target.type_);
    let values = values(target);
    validate_type(target, types, &values.map(|(type_, ..)| type_), path, findings);
    validate_numbers(target, path, findings);
    let counts = |type_: &str| types.contains(&type_);
    let mut given = values.iter().filter(|(type_, _, set)| *set && counts(type_));
    let Some((meant, member, _)) = given.next() else {
        require_one(said, types, &values, path, findings);
        return;
    };
    if let Some((_, second, _)) = given.next() {
        let surplus = if *meant == said { second } else { member };
        let detail = format!("a target has one value: remove {member} or {second}");
        findings.refuse(RULE, &path.field(surplus), Cause::Forbidden, detail);
    } else if *meant != said && values.iter().any(|(known, ..)| *known == said) {
        let text = format!("{said:?} does not fit: {member} is set, and counts; write {meant}");
        findings.warn(RULE, &path.field("type"), text);
    }
    for (_, idle, _) in values.iter().filter(|(type_, _, set)| *set && !counts(type_)) {
        findings.warn(RULE, &path.field(idle), format!("has no effect beside {member}"));
    }
}

/// Adds findings on a target of which an autoscaler takes the value that the type names: the member of that type must
/// be set (Karmada accepts `type: Value` with only `averageValue`, and its controller then crashes).
pub(super) fn validate_by_type(target: &MetricTarget<'_>, types: &[&str], path: &Path<'_>, findings: &mut Findings) {
    let (values, said) = (values(target), &*target.type_);
    validate_type(target, types, types, path, findings);
    validate_numbers(target, path, findings);
    let counts = |type_: &str| types.contains(&type_);
    let given = values.iter().find(|(type_, _, set)| *set && counts(type_));
    let chosen = values.iter().find(|(known, ..)| *known == said && counts(known));
    match (chosen, given) {
        (Some((_, _, true)), _) => {
            for (_, idle, _) in values.iter().filter(|(other, _, set)| *set && *other != said) {
                findings.warn(RULE, &path.field(idle), format!("has no effect in a target of type {said}"));
            }
        }
        (Some((_, member, false)), Some((fitting, given, _))) => {
            let detail = format!("{given} is set: write type {fitting}, or set {member}");
            findings.invalid(RULE, &path.field("type"), said, detail);
        }
        (None, Some(_)) => {}
        (_, None) => require_one(said, types, &values, path, findings),
    }
}

/// Requires the member that the type names, or any of those that count.
fn require_one(said: &str, types: &[&str], values: &Values, path: &Path<'_>, findings: &mut Findings) {
    let counting: Vec<_> = values.iter().filter(|(known, ..)| types.contains(known)).collect();
    if let Some((_, member, _)) = counting.iter().find(|(known, ..)| *known == said) {
        findings.required(RULE, &path.field(member), format!("a target of type {said} sets {member}"));
    } else {
        let members: Vec<_> = counting.iter().map(|(_, member, _)| *member).collect();
        findings.required(RULE, path, format!("must set {}", members.join(" or ")));
    }
}

/// Adds findings on the type: one of `known`; `types` are those to write.
fn validate_type(target: &MetricTarget<'_>, types: &[&str], known: &[&str], path: &Path<'_>, findings: &mut Findings) {
    let path = path.field("type");
    if target.type_.is_empty() {
        findings.required(RULE, &path, format!("must be {}", types.join(" or ")));
    } else if !known.contains(&&*target.type_) {
        findings.not_supported(RULE, &path, &target.type_, types);
    }
}

fn validate_numbers(target: &MetricTarget<'_>, path: &Path<'_>, findings: &mut Findings) {
    validate_positive(target.value.as_ref(), &path.field("value"), findings);
    validate_positive(target.average_value.as_ref(), &path.field("averageValue"), findings);
    if let Some(percent) = target.average_utilization.filter(|percent| *percent < 1) {
        findings.invalid(RULE, &path.field("averageUtilization"), percent, "must be greater than 0");
    }
}

/// A text that is no quantity is told as a value of the wrong type.
fn validate_positive(quantity: Option<&Quantity>, path: &Path<'_>, findings: &mut Findings) {
    if let Some(quantity) = quantity.filter(|quantity| matches!(quantity.sign, Some(Ordering::Less | Ordering::Equal)))
    {
        findings.invalid(RULE, path, &*quantity.text, "must be positive");
    }
}
