//! The replicas a cron rule sets: which fields go with which target, and the bounds of a FederatedHPA. Pure.

use super::scale_target::is_autoscaler;
use crate::decision::defaults::MIN_REPLICAS;
use crate::decision::finding::Findings;
use crate::decision::path::Path;
use crate::decision::related_objects::KnownFederatedHPA;
use crate::decision::subject::{Rule, TargetRef};

const RULE: &str = "target-replicas";

/// Adds findings on the replicas of one rule.
pub(super) fn validate(rule: &Rule<'_>, target: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    if is_autoscaler(target) {
        validate_bounds(rule, path, findings);
    } else {
        validate_replicas(rule, target, path, findings);
    }
}

fn validate_replicas(rule: &Rule<'_>, target: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    let kind = if target.kind.is_empty() { "workload" } else { &*target.kind };
    let replicas = path.field("targetReplicas");
    match rule.target_replicas {
        None => findings.required(RULE, &replicas, format!("a rule for a {kind} says how many replicas to set")),
        Some(number) if number < 0 => findings.invalid(RULE, &replicas, number, "must be 0 or more"),
        Some(_) => {}
    }
    for (member, set) in [
        ("targetMinReplicas", rule.target_min_replicas.is_some()),
        ("targetMaxReplicas", rule.target_max_replicas.is_some()),
    ] {
        if set {
            let text = format!("has no effect on a {}: only a FederatedHPA has bounds", cut(kind));
            findings.warn(RULE, &path.field(member), text);
        }
    }
}

fn validate_bounds(rule: &Rule<'_>, path: &Path<'_>, findings: &mut Findings) {
    if rule.target_replicas.is_some() {
        let text = "has no effect on a FederatedHPA: set targetMinReplicas or targetMaxReplicas";
        findings.warn(RULE, &path.field("targetReplicas"), text);
    }
    let (min, max) = (rule.target_min_replicas, rule.target_max_replicas);
    if min.is_none() && max.is_none() {
        let detail = "a rule for a FederatedHPA sets targetMinReplicas, targetMaxReplicas or both";
        findings.required(RULE, &path.field("targetMaxReplicas"), detail);
    }
    for (member, number) in [("targetMinReplicas", min), ("targetMaxReplicas", max)] {
        if let Some(number) = number.filter(|number| *number < 1) {
            findings.invalid(RULE, &path.field(member), number, "must be greater than 0");
        }
    }
    if let (Some(min), Some(max)) = (min, max)
        && max >= 1
        && max < min
    {
        let detail = format!("must be greater than or equal to targetMinReplicas ({min})");
        findings.invalid(RULE, &path.field("targetMaxReplicas"), max, detail);
    }
}

/// Warns of a rule that sets one bound beyond the other, current one of the FederatedHPA: the run would fail.
pub(super) fn warn_of_contradiction(
    rule: &Rule<'_>,
    hpa: &KnownFederatedHPA,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let min_now = hpa.min_replicas.unwrap_or(MIN_REPLICAS);
    match (rule.target_min_replicas, rule.target_max_replicas) {
        (Some(min), None) if min > hpa.max_replicas => {
            let text = format!("above maxReplicas {} of the FederatedHPA: set targetMaxReplicas too", hpa.max_replicas);
            findings.warn("contradiction", &path.field("targetMinReplicas"), text);
        }
        (None, Some(max)) if max < min_now => {
            let text = format!("below minReplicas {min_now} of the FederatedHPA: set targetMinReplicas too");
            findings.warn("contradiction", &path.field("targetMaxReplicas"), text);
        }
        _ => {}
    }
}

/// Truncates a kind for a warning.
fn cut(kind: &str) -> &str {
    kind.char_indices().nth(30).and_then(|(end, _)| kind.get(..end)).unwrap_or(kind)
}
