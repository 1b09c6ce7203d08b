//! All rules of a CronFederatedHPA, in the order of its fields. Pure.

use std::collections::BTreeSet;

use super::bounds::Together;
use super::runnable::message_room;
use super::scale_target::{is_autoscaler, validate_autoscaler_kind};
use super::schedules::{self, NamedZones, Timing};
use super::{Subject, ValidationContext, bounds, conflicts, metadata, scale_target, sizes};
use crate::finding::{Cause, Findings, Violation};
use crate::limits::{self, HISTORY, RULE_NAME as NAME};
use crate::path::Path;
use crate::subject::{CronFederatedHPA, Rule, TargetRef};

/// All findings of `cron`.
#[must_use]
pub fn validate(cron: &CronFederatedHPA<'_>, around: &ValidationContext<'_>) -> Findings {
    let (mut findings, timings) = validate_each(cron, around);
    let path = Path::Root("spec").field("rules");
    let rules = &cron.spec.rules;
    schedules::warn_of_doubts(rules, &timings, around, &path, &mut findings);
    schedules::warn_of_clashes(rules, &timings, around, &path, &mut findings);
    let others = conflicts::on_the_same_target(cron, around);
    schedules::warn_of_meetings(rules, &timings, &others, around, &path, &mut findings);
    findings
}

/// The findings of `cron` without those that only warn of when rules run; and when they run.
fn validate_each(cron: &CronFederatedHPA<'_>, around: &ValidationContext<'_>) -> (Findings, Vec<Option<Timing>>) {
    let mut findings = Findings::default();
    metadata::validate(&cron.metadata, &mut findings);
    let spec = Path::Root("spec");
    let target = &cron.spec.scale_target_ref;
    let target_path = spec.field("scaleTargetRef");
    scale_target::validate(target, &target_path, &mut findings);
    validate_autoscaler_kind(target, &target_path, &mut findings);
    conflicts::of_cron_federated_hpa(cron, around, &mut findings);
    let timings = validate_rules(cron, around, &spec.field("rules"), &mut findings);
    (findings, timings)
}

fn validate_rules(
    cron: &CronFederatedHPA<'_>,
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Vec<Option<Timing>> {
    let rules = &cron.spec.rules;
    if rules.is_empty() {
        findings.required("rules", path, "must have at least one rule");
    }
    sizes::list("rules", rules, limits::RULES, path, findings);
    validate_size(cron, path, findings);
    let target = &cron.spec.scale_target_ref;
    let hpa = if is_autoscaler(target) && around.settings.names_others {
        around.related_objects.federated_hpa(&cron.metadata.namespace, &target.name)
    } else {
        None
    };
    let together = is_autoscaler(target).then(|| Together::of(rules));
    let (mut names, mut zones) = (BTreeSet::new(), NamedZones::default());
    let mut timings = Vec::with_capacity(rules.len());
    for (index, rule) in rules.iter().enumerate() {
        if findings.are_full() {
            break;
        }
        let path = path.index(index);
        validate_name(rule, &mut names, &path, findings);
        timings.push(Timing::of(rule, &mut zones, around, &path, findings));
        validate_replicas(rule, target, &path, findings);
        if let Some(together) = &together {
            together.warn_of_contradiction(rule, hpa.as_ref(), &path, findings);
        }
        validate_limits(rule, &path, findings);
        schedules::validate_delay(rule, timings.last().and_then(Option::as_ref), &path, findings);
    }
    timings
}

/// Rejects an object whose history could not be stored: each new leader would execute its last runs again.
fn validate_size(cron: &CronFederatedHPA<'_>, path: &Path<'_>, findings: &mut Findings) {
    if cron.spec.rules.len() <= limits::RULES && message_room(cron).is_none() {
        let detail = "with full histories the object would be too large to store: use fewer rules, or lower \
                      successfulHistoryLimit and failedHistoryLimit";
        findings.refuse("rules", path, Cause::Forbidden, detail);
    }
}

fn validate_replicas(rule: &Rule<'_>, target: &TargetRef<'_>, path: &Path<'_>, findings: &mut Findings) {
    let other_kind = is_autoscaler(target) && target.kind != "FederatedHPA";
    // The required fields of a rule depend on the target; with a rejected target they are unknown.
    if !other_kind {
        bounds::validate(rule, target, path, findings);
    }
}

fn validate_name<'a>(rule: &'a Rule<'_>, names: &mut BTreeSet<&'a str>, path: &Path<'_>, findings: &mut Findings) {
    let path = path.field("name");
    let name = &*rule.name;
    if name.is_empty() {
        findings.required("rule-name", &path, format!("must have 1 to {NAME} characters"));
    } else if name.chars().nth(NAME).is_some() {
        findings.invalid("rule-name", &path, name, format!("must have at most {NAME} characters"));
    }
    if !names.insert(name) {
        findings.refuse("rule-name", &path, Cause::Duplicate(name.into()), "each rule has a name of its own");
    }
}

fn validate_limits(rule: &Rule<'_>, path: &Path<'_>, findings: &mut Findings) {
    for (member, limit, least) in [
        ("successfulHistoryLimit", rule.successful_history_limit, 1),
        ("failedHistoryLimit", rule.failed_history_limit, 0),
    ] {
        if let Some(limit) = limit.filter(|limit| !(least..=HISTORY).contains(limit)) {
            let detail = format!("must be between {least} and {HISTORY}");
            findings.invalid("history-limit", &path.field(member), limit, detail);
        }
    }
}

impl Subject for CronFederatedHPA<'_> {
    fn findings(&self, around: &ValidationContext<'_>) -> Findings {
        validate(self, around)
    }
    fn violations(&self, around: &ValidationContext<'_>) -> Vec<Violation> {
        validate_each(self, around).0.violations
    }
    fn same_spec(&self, stored: &Self) -> bool {
        self.spec == stored.spec
    }
    fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }
}
