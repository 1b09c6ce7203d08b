//! The replicas a cron rule sets: which fields go with which target, and the bounds of a FederatedHPA. Pure.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::ValidationContext;
use super::scale_target::is_autoscaler;
use crate::api_version::GROUP;
use crate::defaults::MIN_REPLICAS;
use crate::finding::Findings;
use crate::path::Path;
use crate::related_objects::{KnownFederatedHPA, KnownRule, Target};
use crate::subject::{FederatedHPA, Rule, TargetRef};

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

/// `targetMinReplicas` and `targetMaxReplicas`.
type Bounds = (Option<i32>, Option<i32>);

/// The bounds that rules set at one instant, by schedule and zone: the controller writes them at once.
fn instants<K: Ord>(rules: impl Iterator<Item = (K, Bounds)>) -> BTreeMap<K, Bounds> {
    let mut instants = BTreeMap::<K, Bounds>::new();
    for (instant, (min, max)) in rules {
        let bounds = instants.entry(instant).or_default();
        *bounds = (min.or(bounds.0), max.or(bounds.1));
    }
    instants
}

/// The rules of one object that are not suspended.
pub(super) struct Together<'a> {
    instants: BTreeMap<(&'a str, Option<&'a str>), Bounds>,
    /// The rule that sets the least min, and that of the greatest max.
    least_min: Option<(i32, &'a str)>,
    greatest_max: Option<(i32, &'a str)>,
}

impl<'a> Together<'a> {
    pub(super) fn of(rules: &'a [Rule<'_>]) -> Self {
        let running = || rules.iter().filter(|rule| rule.suspend != Some(true));
        let mins = running().filter_map(|rule| Some((rule.target_min_replicas?, &*rule.name)));
        let maxes = running().filter_map(|rule| Some((rule.target_max_replicas?, &*rule.name)));
        Self {
            instants: instants(
                running().map(|rule| (instant(rule), (rule.target_min_replicas, rule.target_max_replicas))),
            ),
            least_min: mins.min_by_key(|(min, _)| *min),
            greatest_max: maxes.min_by_key(|(max, _)| Reverse(*max)),
        }
    }

    /// Warns of a rule that sets one bound beyond the other one, of the FederatedHPA as it is or as all other rules
    /// leave it: the run would fail.
    pub(super) fn warn_of_contradiction(
        &self,
        rule: &Rule<'_>,
        hpa: Option<&KnownFederatedHPA>,
        path: &Path<'_>,
        findings: &mut Findings,
    ) {
        let Some((member, other)) = other_bound(rule).filter(|_| rule.suspend != Some(true)) else { return };
        let set = self.instants.get(&instant(rule)).copied().unwrap_or_default();
        let text = match (set, rule.target_min_replicas, rule.target_max_replicas) {
            ((Some(min), Some(max)), ..) => {
                (max < min).then(|| format!("would fail: this schedule sets min {min} and max {max}; set {other} too"))
            }
            (_, Some(min), _) => {
                let now = hpa.map(|hpa| hpa.max_replicas).filter(|max| min > *max);
                let after = self.greatest_max.filter(|(max, _)| min > *max);
                contradiction(now, after, ["above maxReplicas", "max", other])
            }
            (_, None, Some(max)) => {
                let now = hpa.map(|hpa| hpa.min_replicas.unwrap_or(MIN_REPLICAS)).filter(|min| max < *min);
                let after = self.least_min.filter(|(min, _)| max < *min);
                contradiction(now, after, ["below minReplicas", "min", other])
            }
            (_, None, None) => None,
        };
        if let Some(text) = text {
            findings.warn(CONTRADICTION, &path.field(member), text);
        }
    }
}

/// When a rule runs.
fn instant<'r>(rule: &'r Rule<'_>) -> (&'r str, Option<&'r str>) {
    (&rule.schedule, rule.time_zone.as_deref())
}

/// What contradicts a bound: the other bound as it is `now`, or `after` a rule that sets it.
fn contradiction(now: Option<i32>, after: Option<(i32, &str)>, [beyond, word, other]: [&str; 3]) -> Option<String> {
    let of_rule = |(bound, name)| format!("would fail after rule {name:?} ({word} {bound}): set {other} too");
    let of_object = |bound| format!("{beyond} {bound} of the FederatedHPA: set {other} too");
    now.map(of_object).or_else(|| after.map(of_rule))
}

/// The one bound that a rule sets, and the other one; `None` where it sets both or none.
fn other_bound(rule: &Rule<'_>) -> Option<(&'static str, &'static str)> {
    match (rule.target_min_replicas, rule.target_max_replicas) {
        (Some(_), None) => Some(("targetMinReplicas", "targetMaxReplicas")),
        (None, Some(_)) => Some(("targetMaxReplicas", "targetMinReplicas")),
        _ => None,
    }
}

/// Warns of bounds of a FederatedHPA that a rule of a CronFederatedHPA contradicts; once for each CronFederatedHPA and
/// bound.
pub(super) fn warn_of_rules(hpa: &FederatedHPA<'_>, around: &ValidationContext<'_>, findings: &mut Findings) {
    let Some(spec) = &hpa.spec else { return };
    let is_told = around.settings.names_others && !hpa.metadata.name.is_empty();
    let Some(max_now) = spec.max_replicas.filter(|_| is_told) else { return };
    let min_now = spec.min_replicas.unwrap_or(MIN_REPLICAS);
    let target = Target {
        namespace: hpa.metadata.namespace.to_string(),
        group: GROUP.to_owned(),
        kind: "FederatedHPA".to_owned(),
        name: hpa.metadata.name.to_string(),
    };
    let path = Path::Root("spec");
    for cron in around.related_objects.cron_federated_hpas_on(&target).iter().filter(|cron| !cron.deleting) {
        let running = cron.rules.iter().filter(|rule| !rule.suspended);
        let set = running
            .map(|KnownRule { schedule, time_zone, values: [_, min, max], .. }| ((schedule, time_zone), (*min, *max)));
        let instants = instants(set);
        let values = || instants.values().copied();
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
