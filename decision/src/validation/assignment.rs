//! Fields of a FederatedHPA that divide its bounds over the clusters; only fhpa has them
//! (docs/distributed.md#fields). Pure.

use super::{selectors, sizes};
use crate::defaults::Mode;
use crate::finding::{BadValue, Cause, Findings};
use crate::limits;
use crate::path::Path;
use crate::subject::federated_hpa::{Assignment, ClusterAutoscalingPreference, ClusterHPAPreference, FederatedHPASpec};

const RULE: &str = "assignment";
/// Most earlier entries that an entry is compared with.
const COMPARED: usize = 1000;
/// Values of `federatedHPAAssignmentType`.
const TYPES: [&str; 5] = ["Duplicated", "Aggregated", "StaticWeighted", "DynamicWeighted", "Prioritized"];

/// Adds findings on the fields that divide the bounds, in the order of the spec.
pub(super) fn validate(spec: &FederatedHPASpec<'_>, mode: Mode, path: &Path<'_>, findings: &mut Findings) {
    if let Some(assignment) = &spec.assignment {
        validate_assignment(assignment, spec.max_replicas, &path.field("federatedHPAAssignment"), findings);
    }
    if let Some(affinity) = &spec.cluster_affinity {
        selectors::validate_affinity(affinity, &path.field("clusterAffinity"), findings);
    }
    let delay = spec.autoscale_multi_cluster_delay;
    sizes::number(RULE, delay, &limits::DELAYS, &path.field("autoscaleMultiClusterDelay"), findings);
    if spec.scale_assist == Some(false) && delay.is_some_and(|delay| delay > 0) {
        findings.warn(RULE, &path.field("autoscaleMultiClusterDelay"), "has no effect while scaleAssist is false");
    }
    warn_of_zero(spec, &path.field("scalingToZero"), findings);
    if mode == Mode::Distributed && spec.min_replicas == Some(0) && spec.scaling_to_zero != Some(true) {
        let text = "0 has no effect: each cluster keeps a replica unless scalingToZero is true";
        findings.warn("scaling-to-zero", &path.field("minReplicas"), text);
    }
    validate_usage(&spec.cluster_hpa_preference, &path.field("clusterHPAPreference"), findings);
    let losses = &path.field("minCoveredLosses");
    sizes::number(RULE, spec.min_covered_losses, &limits::COVERED_LOSSES, losses, findings);
    if mode == Mode::Centralized {
        forbid_in_centralized(spec, path, findings);
    }
}

fn validate_assignment(
    assignment: &Assignment<'_>,
    max_replicas: Option<i32>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let type_path = path.field("federatedHPAAssignmentType");
    let type_ = &*assignment.type_;
    // Without it the placement says how to divide.
    if !type_.is_empty() && !TYPES.contains(&type_) {
        findings.not_supported(RULE, &type_path, type_, &TYPES);
    }
    let path = path.field("clusterAutoscalingPreference");
    sizes::list(RULE, &assignment.preferences, limits::CLUSTERS, &path, findings);
    for (index, preference) in assignment.preferences.iter().enumerate() {
        validate_preference(preference, type_, &path.index(index), findings);
        validate_thresholds(preference, max_replicas, &path.index(index), findings);
        let same = |other: &ClusterAutoscalingPreference<'_>| other.target_cluster == preference.target_cluster;
        if preference.target_cluster.is_some()
            && let Some(earlier) = assignment.preferences.iter().take(index.min(COMPARED)).position(same)
        {
            let value = BadValue::Json(format!("as in {}", path.index(earlier)));
            let detail = "each targetCluster must be unique";
            findings.refuse(RULE, &path.index(index).field("targetCluster"), Cause::Duplicate(value), detail);
        }
    }
    let has_priority = |preference: &ClusterAutoscalingPreference<'_>| preference.priority.is_some();
    if type_ == "Prioritized" && !assignment.preferences.iter().any(has_priority) {
        findings.warn(RULE, &path, "no cluster has a priority: all of them count as one, filled by capacity");
    }
    let weights = || assignment.preferences.iter().map(|preference| preference.static_weight.unwrap_or(0));
    if type_ == "StaticWeighted" && !assignment.preferences.is_empty() && weights().all(|weight| weight == 0) {
        findings.required(RULE, &path, "StaticWeighted needs a staticWeight greater than 0 for at least one cluster");
    }
}

fn validate_preference(
    preference: &ClusterAutoscalingPreference<'_>,
    type_: &str,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let target = path.field("targetCluster");
    if let Some(affinity) = &preference.target_cluster {
        selectors::validate_affinity(affinity, &target, findings);
    } else {
        let detail = "must say which clusters, for example {clusterNames: [member1]}; {} is all of them";
        findings.required(RULE, &target, detail);
    }
    sizes::number(RULE, preference.static_weight, &limits::WEIGHTS, &path.field("staticWeight"), findings);
    sizes::number(RULE, preference.priority, &limits::PRIORITIES, &path.field("priority"), findings);
    for (member, set, used_by) in [
        ("staticWeight", preference.static_weight.is_some(), "StaticWeighted"),
        ("priority", preference.priority.is_some(), "Prioritized"),
    ] {
        if set && type_ != used_by && TYPES.contains(&type_) {
            findings.warn(RULE, &path.field(member), format!("{type_} does not use it"));
        }
    }
}

/// Adds findings on the replicas that each cluster has at least and at most.
fn validate_thresholds(
    preference: &ClusterAutoscalingPreference<'_>,
    max_replicas: Option<i32>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let (min, max) = (preference.min_threshold, preference.max_threshold);
    sizes::number(RULE, min, &limits::THRESHOLDS, &path.field("autoscalingMinThreshold"), findings);
    sizes::number(RULE, max, &limits::THRESHOLDS, &path.field("autoscalingMaxThreshold"), findings);
    if let (Some(min), Some(max)) = (min, max)
        && limits::THRESHOLDS.contains(&max)
        && max < min
    {
        let detail = format!("must be greater than or equal to autoscalingMinThreshold ({min})");
        findings.invalid(RULE, &path.field("autoscalingMaxThreshold"), max, detail);
    }
    if let (Some(min), Some(most)) = (min, max_replicas)
        && limits::THRESHOLDS.contains(&min)
        && most >= 1
        && min > most
    {
        let text = format!("above maxReplicas {most}: not every cluster gets as many");
        findings.warn(RULE, &path.field("autoscalingMinThreshold"), text);
    }
    if max == Some(0) {
        findings.warn(
            RULE,
            &path.field("autoscalingMaxThreshold"),
            "these clusters run nothing: leave them out by clusterAffinity if that is meant",
        );
    }
}

fn warn_of_zero(spec: &FederatedHPASpec<'_>, path: &Path<'_>, findings: &mut Findings) {
    if spec.scaling_to_zero != Some(true) {
        return;
    }
    if spec.scale_assist == Some(false) {
        findings.warn("scaling-to-zero", path, "has no effect while scaleAssist is false");
    }
    if spec.assignment.as_ref().is_some_and(|assignment| assignment.type_ == "Duplicated") {
        findings.warn("scaling-to-zero", path, "has no effect with Duplicated: every cluster keeps minReplicas");
    }
}

fn validate_usage(preferences: &[ClusterHPAPreference<'_>], path: &Path<'_>, findings: &mut Findings) {
    sizes::list(RULE, preferences, limits::CLUSTERS, path, findings);
    let mut seen = std::collections::BTreeSet::new();
    for (index, preference) in preferences.iter().enumerate() {
        let path = path.index(index);
        let name = path.field("clusterName");
        if preference.cluster_name.is_empty() {
            findings.required(RULE, &name, "must be the name of a member cluster");
        } else if !sizes::text(RULE, &preference.cluster_name, limits::CLUSTER_NAME, &name, findings) {
            continue;
        } else if !seen.insert(&preference.cluster_name) {
            let value = BadValue::from(&*preference.cluster_name);
            findings.refuse(RULE, &name, Cause::Duplicate(value), "each cluster must be unique");
        }
        let usage = path.field("maxResourceUsage");
        match preference.max_resource_usage {
            None => findings.required(RULE, &usage, "must be a share greater than 0 and at most 1, for example 0.5"),
            Some(share) if share > 0.0 && share <= 1.0 => {}
            Some(share) => {
                let detail = "must be a share greater than 0 and at most 1, for example 0.5";
                findings.invalid(RULE, &usage, BadValue::Json(share.to_string()), detail);
            }
        }
    }
}

/// A field that does nothing would be a surprise: the author expects that it works.
fn forbid_in_centralized(spec: &FederatedHPASpec<'_>, path: &Path<'_>, findings: &mut Findings) {
    for field in spec.distributed_fields() {
        let detail = "only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed";
        findings.refuse("mode", &path.field(field), Cause::Forbidden, detail);
    }
}
