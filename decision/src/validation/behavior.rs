//! `behavior`: how fast to scale. Pure.

use std::cmp::Ordering;

use crate::finding::Findings;
use crate::path::Path;
use crate::subject::hpa::{Behavior, ScalingPolicy, ScalingRules};

const RULE: &str = "behavior";
/// Longest stabilization window.
const WINDOW_SECONDS: i32 = 3600;
/// Longest period of a policy.
const PERIOD_SECONDS: i32 = 1800;

/// Adds findings on the behavior.
pub(super) fn validate(behavior: &Behavior<'_>, path: &Path<'_>, findings: &mut Findings) {
    if let Some(rules) = &behavior.scale_up {
        validate_rules(rules, &path.field("scaleUp"), findings);
    }
    if let Some(rules) = &behavior.scale_down {
        validate_rules(rules, &path.field("scaleDown"), findings);
    }
}

fn validate_rules(rules: &ScalingRules<'_>, path: &Path<'_>, findings: &mut Findings) {
    if let Some(window) = rules.stabilization_window_seconds.filter(|window| !(0..=WINDOW_SECONDS).contains(window)) {
        let detail = format!("must be between 0 and {WINDOW_SECONDS} seconds");
        findings.invalid(RULE, &path.field("stabilizationWindowSeconds"), window, detail);
    }
    if let Some(policy) = rules.select_policy.as_deref() {
        let supported = ["Disabled", "Max", "Min"];
        if !supported.contains(&policy) {
            findings.not_supported(RULE, &path.field("selectPolicy"), policy, &supported);
        }
    }
    let policies = rules.policies.as_deref().unwrap_or_default();
    let policies_path = path.field("policies");
    if policies.is_empty() {
        let detail = "must have at least one policy, for example {type: Percent, value: 100, periodSeconds: 15}";
        findings.required(RULE, &policies_path, detail);
    }
    for (index, policy) in policies.iter().enumerate() {
        validate_policy(policy, &policies_path.index(index), findings);
    }
    // A text that is no quantity is told as a value of the wrong type.
    if let Some(tolerance) = rules.tolerance.as_ref().filter(|tolerance| tolerance.sign == Some(Ordering::Less)) {
        findings.invalid(RULE, &path.field("tolerance"), &*tolerance.text, "must not be negative");
    }
}

fn validate_policy(policy: &ScalingPolicy<'_>, path: &Path<'_>, findings: &mut Findings) {
    let supported = ["Pods", "Percent"];
    if !supported.contains(&&*policy.type_) {
        findings.not_supported(RULE, &path.field("type"), &policy.type_, &supported);
    }
    if policy.value <= 0 {
        findings.invalid(RULE, &path.field("value"), policy.value, "must be greater than 0");
    }
    if !(1..=PERIOD_SECONDS).contains(&policy.period_seconds) {
        let detail = format!("must be between 1 and {PERIOD_SECONDS} seconds");
        findings.invalid(RULE, &path.field("periodSeconds"), policy.period_seconds, detail);
    }
}
