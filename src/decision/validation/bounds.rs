//! The replicas a cron rule sets: which fields go with which target, and the bounds of a FederatedHPA. Pure.

use super::ValidationContext;
use super::scale_target::is_autoscaler;
use crate::decision::api_version::GROUP;
use crate::decision::defaults::MIN_REPLICAS;
use crate::decision::finding::Findings;
use crate::decision::path::Path;
use crate::decision::related_objects::{KnownFederatedHPA, KnownRule, Target};
use crate::decision::subject::{FederatedHPA, Rule, TargetRef};

const RULE: &str = "target-replicas";
const CONTRADICTION: &str = "contradiction";

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
    let values = (rule.target_min_replicas, rule.target_max_replicas);
    let (min_now, max_now) = (hpa.min_replicas.unwrap_or(MIN_REPLICAS), hpa.max_replicas);
    if above_max(values, max_now).is_some() {
        let text = format!("above maxReplicas {max_now} of the FederatedHPA: set targetMaxReplicas too");
        findings.warn(CONTRADICTION, &path.field("targetMinReplicas"), text);
    }
    if below_min(values, min_now).is_some() {
        let text = format!("below minReplicas {min_now} of the FederatedHPA: set targetMinReplicas too");
        findings.warn(CONTRADICTION, &path.field("targetMaxReplicas"), text);
    }
}

/// Warns of bounds of a FederatedHPA that a rule of a CronFederatedHPA contradicts; once for each CronFederatedHPA and
/// bound.
pub(super) fn warn_of_rules(hpa: &FederatedHPA<'_>, around: &ValidationContext<'_>, findings: &mut Findings) {
    let Some(spec) = &hpa.spec else { return };
    let Some(max_now) = spec.max_replicas.filter(|_| !hpa.metadata.name.is_empty()) else { return };
    let min_now = spec.min_replicas.unwrap_or(MIN_REPLICAS);
    let target = Target {
        namespace: hpa.metadata.namespace.to_string(),
        group: GROUP.to_owned(),
        kind: "FederatedHPA".to_owned(),
        name: hpa.metadata.name.to_string(),
    };
    let path = Path::Root("spec");
    for cron in around.related_objects.cron_federated_hpas_on(&target).iter().filter(|cron| !cron.deleting) {
        let rules = || cron.rules.iter().filter(|rule| !rule.suspended);
        let values = || rules().map(|KnownRule { values: [_, min, max], .. }| (*min, *max));
        if let Some(min) = values().filter_map(|values| above_max(values, max_now)).max() {
            let text =
                format!("below targetMinReplicas {min} of CronFederatedHPA {:?}: that run would fail", cron.name);
            findings.warn(CONTRADICTION, &path.field("maxReplicas"), text);
        }
        if let Some(max) = values().filter_map(|values| below_min(values, min_now)).min() {
            let text =
                format!("above targetMaxReplicas {max} of CronFederatedHPA {:?}: that run would fail", cron.name);
            findings.warn(CONTRADICTION, &path.field("minReplicas"), text);
        }
    }
}

/// The min of a rule that sets no max, where it is above the current max.
fn above_max((min, max): (Option<i32>, Option<i32>), max_now: i32) -> Option<i32> {
    min.filter(|min| max.is_none() && *min > max_now)
}

/// The max of a rule that sets no min, where it is below the current min.
fn below_min((min, max): (Option<i32>, Option<i32>), min_now: i32) -> Option<i32> {
    max.filter(|max| min.is_none() && *max < min_now)
}

/// Truncates a kind for a warning.
fn cut(kind: &str) -> &str {
    kind.char_indices().nth(30).and_then(|(end, _)| kind.get(..end)).unwrap_or(kind)
}
