//! The clusters of a FederatedHPA: bounds from its status, replicas from the ResourceBinding. No I/O.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

use super::metric;
use super::model::ClusterView;
use crate::api::federated_hpa::{ClusterHPADesired, FederatedHPAStatus};
use crate::api::hpa_status::{Condition, HorizontalPodAutoscalerStatus};
use crate::api::replica_requirements::ReplicaRequirements;
use crate::api::resource_binding::WorkloadStatus;
use crate::api::{Cluster, FederatedHPA, ResourceBinding};
use crate::convert::capacity;
use crate::convert::fleet::readiness;
use crate::decision::capacity::Demand;
use crate::decision::fleet::Readiness;
use crate::decision::health::{ABLE_TO_SCALE, DISABLED, SCALING_ACTIVE};
use crate::decision::plan::{Cause, Hold, Reason};

/// All that is known of one cluster.
#[derive(Default)]
struct ClusterFacts<'a> {
    desired: Option<&'a ClusterHPADesired>,
    hpa: Option<&'a HorizontalPodAutoscalerStatus>,
    entry: Option<i32>,
    workload: Option<WorkloadStatus>,
    cluster: Option<&'a Cluster>,
}

/// What is not as it should be, or why a cluster has its bounds.
#[derive(Default)]
pub(super) struct ClusterHealth {
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) since: Option<Time>,
    pub(super) needs_attention: bool,
}

/// The clusters by name: those with bounds, and those of the binding.
#[must_use]
pub fn views(hpa: &FederatedHPA, binding: Option<&ResourceBinding>, clusters: &[&Cluster]) -> Vec<ClusterView> {
    views_of(hpa, binding, clusters, |_| true)
}

/// As [`views`], of the clusters whose name is wanted.
pub(super) fn views_of(
    hpa: &FederatedHPA,
    binding: Option<&ResourceBinding>,
    clusters: &[&Cluster],
    wanted: impl Fn(&str) -> bool,
) -> Vec<ClusterView> {
    let status = hpa.status.as_ref();
    let metrics = hpa.spec.metrics.as_deref().unwrap_or_default();
    let demand = binding.and_then(|binding| binding.spec.replica_requirements.as_ref()).and_then(demand);
    let mut known = known(status, binding, wanted);
    for cluster in clusters.iter().copied() {
        if let Some(known) = cluster.metadata.name.as_deref().and_then(|name| known.get_mut(name)) {
            known.cluster = Some(cluster);
        }
    }
    known
        .into_iter()
        .map(|(name, known)| {
            let current = known.hpa.and_then(|hpa| hpa.current_metrics.as_deref());
            let replicas = known.workload.map(|workload| workload.replicas);
            let ready = known.workload.map(|workload| workload.ready_replicas);
            // A cluster that runs less than its entry is about to start the rest.
            let pending = replicas.zip(ready).map(|(all, ready)| all.saturating_sub(ready).max(0));
            let ClusterHealth { reason, message, since, needs_attention } = health(&known, pending, status);
            ClusterView {
                name: name.to_owned(),
                min_replicas: known.desired.and_then(|desired| desired.min_replicas),
                max_replicas: known.desired.and_then(|desired| desired.max_replicas),
                replicas: replicas.or(known.hpa.and_then(|hpa| hpa.current_replicas)).or(known.entry),
                ready_replicas: ready,
                pending_replicas: pending,
                desired_replicas: known.hpa.and_then(|hpa| hpa.desired_replicas),
                available_replicas: known.cluster.zip(demand.as_ref()).and_then(|(cluster, demand)| {
                    capacity::summary(&cluster.status.resource_summary).map(|summary| summary.available(demand))
                }),
                metrics: current.map_or_else(Vec::new, |current| metric::views(metrics, current)),
                reason,
                message,
                since,
                needs_attention,
                blocked: known.desired.is_some_and(|desired| desired.scale_up_blocked_reason.is_some()),
            }
        })
        .collect()
}

/// What a replica asks for; `None` where it asks for nothing.
fn demand(requirements: &Value) -> Option<Demand> {
    let requirements: ReplicaRequirements = serde_json::from_value(requirements.clone()).ok()?;
    if requirements.resource_request.is_empty() { None } else { capacity::demand(&requirements) }
}

fn known<'a>(
    status: Option<&'a FederatedHPAStatus>,
    binding: Option<&'a ResourceBinding>,
    wanted: impl Fn(&str) -> bool,
) -> BTreeMap<&'a str, ClusterFacts<'a>> {
    let mut known: BTreeMap<&str, ClusterFacts<'_>> = BTreeMap::new();
    for desired in status.and_then(|status| status.cluster_hpa_desired.as_ref()).into_iter().flatten() {
        if wanted(&desired.cluster_name) {
            known.entry(&desired.cluster_name).or_default().desired = Some(desired);
        }
    }
    for member in status.and_then(|status| status.aggregated_status.as_ref()).into_iter().flatten() {
        if wanted(&member.cluster_name) {
            known.entry(&member.cluster_name).or_default().hpa = Some(&member.status);
        }
    }
    let Some(binding) = binding else { return known };
    for entry in binding.spec.clusters.iter().filter(|entry| wanted(&entry.name)) {
        known.entry(&entry.name).or_default().entry = Some(entry.replicas);
    }
    for report in &binding.status.aggregated_status {
        // A cluster that is not in the binding any more may leave its last report there.
        if let Some(cluster) = known.get_mut(report.cluster_name.as_str()) {
            cluster.workload = report.status;
        }
    }
    known
}

fn health(known: &ClusterFacts<'_>, pending: Option<i32>, status: Option<&FederatedHPAStatus>) -> ClusterHealth {
    if let Some(standing) = known.cluster.and_then(silent) {
        return standing;
    }
    let cannot = |desired| blocked(desired).or_else(|| lost(desired)).or_else(|| due(desired));
    if let Some(standing) = known.desired.and_then(cannot) {
        return standing;
    }
    if let Some(standing) = known.hpa.and_then(|hpa| broken(hpa, known.desired)) {
        return standing;
    }
    let Some(desired) = known.desired else {
        return ClusterHealth {
            needs_attention: pending.is_some_and(|pending| pending > 0),
            ..ClusterHealth::default()
        };
    };
    let complete = status.is_some_and(|status| status.aggregated_status_omitted.is_none());
    if known.hpa.is_none() && complete && desired.max_replicas.is_some_and(|max| max > 0) {
        let message = "the HPA of this cluster has not reported yet".to_owned();
        return ClusterHealth { reason: "NoStatus".into(), message, needs_attention: true, ..ClusterHealth::default() };
    }
    let zero = desired.scaled_to_zero.unwrap_or_default();
    ClusterHealth {
        reason: if zero { "ScaledToZero".to_owned() } else { desired.reason.clone().unwrap_or_default() },
        message: assists(desired).unwrap_or_default(),
        since: moved(desired),
        needs_attention: desired.assist_replicas.is_some() || pending.is_some_and(|pending| pending > 0),
    }
}

/// A cluster that does not answer: what is known of it is old.
pub(super) fn silent(cluster: &Cluster) -> Option<ClusterHealth> {
    let since = match readiness(cluster) {
        Readiness::Ready => return None,
        Readiness::NotReady(since) | Readiness::Unknown(since) => Some(Time(since)),
        Readiness::Unsaid | Readiness::Undecoded => None,
    };
    let message = "Karmada does not reach this cluster; its numbers are the last that are known".to_owned();
    Some(ClusterHealth { reason: "ClusterNotReady".into(), message, since, needs_attention: true })
}

/// A cluster that cannot scale up.
fn blocked(desired: &ClusterHPADesired) -> Option<ClusterHealth> {
    let reason = desired.scale_up_blocked_reason.clone()?;
    let message = match Cause::parse(&reason) {
        Some(Cause::Pending) => "its pods find no node",
        Some(Cause::NoNodes) => "its pods find no node, and its autoscaler adds none",
        Some(Cause::AtMax) => "it is at its max and wants more",
        None => "it cannot scale up",
    };
    let covered = desired.covered_replicas.unwrap_or_default();
    let covered = if covered > 0 { format!("; others run {covered} in its place") } else { String::new() };
    let since = desired.scale_up_blocked_time.clone();
    Some(ClusterHealth { reason, message: format!("{message}{covered}"), since, needs_attention: true })
}

/// A cluster that leaves or failed.
fn lost(desired: &ClusterHPADesired) -> Option<ClusterHealth> {
    let (lost, since) = (desired.lost_replicas?, desired.lost_time.clone());
    let due = desired.uncovered_replicas.unwrap_or_default();
    let message =
        format!("leaves or failed: other clusters should run its {lost} replicas, {due} of them are not placed yet");
    Some(ClusterHealth { reason: Reason::Replaced.code().to_owned(), message, since, needs_attention: true })
}

/// A cluster that stays, and with it replicas that wait for room.
fn due(desired: &ClusterHPADesired) -> Option<ClusterHealth> {
    let due = desired.uncovered_replicas.filter(|due| *due > 0)?;
    let message = format!("{due} replicas that leaving or failed clusters ran have no room in any cluster yet");
    let reason = Hold::Replaces { replicas: 0 }.code().to_owned();
    Some(ClusterHealth { reason, message, since: desired.replacement_time.clone(), needs_attention: true })
}

/// An HPA that does not scale.
fn broken(hpa: &HorizontalPodAutoscalerStatus, desired: Option<&ClusterHPADesired>) -> Option<ClusterHealth> {
    let zero = desired.and_then(|desired| desired.scaled_to_zero).unwrap_or_default();
    let reason = |condition: &Condition| condition.reason.clone().unwrap_or_default();
    let bad = |condition: &&Condition| {
        [SCALING_ACTIVE, ABLE_TO_SCALE].contains(&&*condition.type_)
            && condition.status != "True"
            && !(zero && reason(condition) == DISABLED)
    };
    let condition = hpa.conditions.iter().flatten().find(bad)?;
    Some(ClusterHealth {
        reason: reason(condition),
        message: condition.message.clone().unwrap_or_default(),
        since: condition.last_transition_time.clone(),
        needs_attention: true,
    })
}

fn assists(desired: &ClusterHPADesired) -> Option<String> {
    desired.assist_replicas.map(|replicas| format!("runs {replicas} replicas at once, in the place of other clusters"))
}

/// When its bounds last changed on account of other clusters.
fn moved(desired: &ClusterHPADesired) -> Option<Time> {
    let times = [&desired.last_donated_time, &desired.last_received_time, &desired.assist_time];
    times.into_iter().flatten().max_by_key(|time| time.0).cloned()
}
