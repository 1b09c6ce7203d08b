//! The status of a FederatedHPA in Distributed mode: built here, compared with the stored one, and written only when it
//! differs (status). Talks to the API server.

pub mod conditions;
mod covered;
pub mod health;
mod planned;
pub mod report;
pub mod shown;
pub mod throttle;

use jiff::Timestamp;

use super::cache::entry::FederatedHpaEntry;
use super::write::writer::Writer;
use crate::api::FederatedHPA;
use crate::api::federated_hpa::{ClusterHPAStatus, FederatedHPAStatus};
use crate::api::hpa_status::Condition;
use crate::controller::condition;
use crate::controller::condition::ConditionParts;
use crate::controller::failure::WriteError;
use crate::controller::managers;
use crate::convert::instant::stored;
use crate::decision::health::{ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED};
use crate::runtime::leader::Leader;

pub use super::cache::entry::ASSIGNED;
pub use super::observe::failover::FAILOVER_PAUSED;
pub use covered::covered;
pub use planned::planned;

/// Type of the condition that is true when everything is set up as it should be.
pub const READY: &str = "Ready";
/// Types of the conditions of an HPA, which here cover all members.
pub const SCALING: [&str; 3] = [SCALING_ACTIVE, ABLE_TO_SCALE, SCALING_LIMITED];

/// The status while no plan is possible: the assignment is kept. What another controller said before the first one is
/// not known to be true.
#[must_use]
pub fn unplanned(
    entry: &FederatedHpaEntry,
    assigned: ConditionParts,
    ready: ConditionParts,
    now: Timestamp,
) -> FederatedHPAStatus {
    let before = entry.status().filter(|_| entry.assigned()).unwrap_or_default();
    let mut conditions = unscaled(entry, assigned, ready, now);
    // The next plan must know whether failover is paused.
    conditions.extend(entry.condition(FAILOVER_PAUSED).cloned());
    FederatedHPAStatus {
        observed_generation: entry.object.metadata.generation,
        conditions: Some(conditions),
        hand_back_start_time: None,
        ..before
    }
}

/// All conditions while no member HPA can be judged: those of an HPA are unknown, with the reason of the problem.
fn unscaled(
    entry: &FederatedHpaEntry,
    assigned: ConditionParts,
    ready: ConditionParts,
    now: Timestamp,
) -> Vec<Condition> {
    let (_, reason, message) = ready.clone();
    let unknown = SCALING.map(|type_| (type_, ("Unknown", reason, message.clone())));
    let all = [(ASSIGNED, assigned), (READY, ready)].into_iter().chain(unknown);
    all.map(|(type_, parts)| condition(entry, type_, parts, now)).collect()
}

/// The status while the workload is being handed back.
#[must_use]
pub fn handing_back(entry: &FederatedHpaEntry, now: Timestamp) -> FederatedHPAStatus {
    let message = "the workload is being handed back to Karmada with the replicas that its clusters ask for";
    let parts = ("False", conditions::HANDING_BACK, message.to_owned());
    let start = entry.hand_back_start().unwrap_or(now);
    FederatedHPAStatus { hand_back_start_time: stored(start), ..unplanned(entry, parts.clone(), parts, now) }
}

/// The status once the workload is handed back: assignment and stored state are removed.
#[must_use]
pub fn handed_back(entry: &FederatedHpaEntry, now: Timestamp) -> FederatedHPAStatus {
    let parts = (
        "False",
        conditions::HANDED_BACK,
        "the workload was handed back to Karmada; fhpa does not scale it".to_owned(),
    );
    FederatedHPAStatus {
        observed_generation: entry.object.metadata.generation,
        conditions: Some(unscaled(entry, parts.clone(), parts, now)),
        ..FederatedHPAStatus::default()
    }
}

/// The condition `type_` of `entry` at `now`.
#[must_use]
pub fn condition(entry: &FederatedHpaEntry, type_: &str, parts: ConditionParts, now: Timestamp) -> Condition {
    condition::condition(type_, parts, entry.condition(type_), entry.object.metadata.generation, now)
}

/// Whether `status` is equal to that of `entry`.
#[must_use]
pub fn is_stored(entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> bool {
    let Some(known) = &entry.object.status else { return false };
    // The list is a map by type: its order does not matter.
    let is_stored = |condition: &Condition| entry.condition(&condition.type_) == Some(condition);
    status.conditions.iter().flatten().all(is_stored)
        && entry.condition_count() == status.conditions.as_ref().map(Vec::len)
        && rest(known) == rest(status)
        && entry.lists(status)
}

/// A status without its conditions and its lists of clusters.
fn rest(status: &FederatedHPAStatus) -> FederatedHPAStatus {
    let FederatedHPAStatus {
        observed_generation,
        last_scale_time,
        current_replicas,
        desired_replicas,
        current_metrics,
        conditions: _,
        cluster_hpa_desired: _,
        assignment_hash,
        last_rebalance_time,
        idle_start_time,
        last_failover_resume_time,
        hand_back_start_time,
        clusters,
        aggregated_status: _,
        aggregated_status_omitted,
    } = status;
    FederatedHPAStatus {
        observed_generation: *observed_generation,
        last_scale_time: last_scale_time.clone(),
        current_replicas: *current_replicas,
        desired_replicas: *desired_replicas,
        current_metrics: current_metrics.clone(),
        assignment_hash: assignment_hash.clone(),
        last_rebalance_time: last_rebalance_time.clone(),
        idle_start_time: idle_start_time.clone(),
        last_failover_resume_time: last_failover_resume_time.clone(),
        hand_back_start_time: hand_back_start_time.clone(),
        clusters: *clusters,
        aggregated_status_omitted: *aggregated_status_omitted,
        ..FederatedHPAStatus::default()
    }
}

/// Whether `status` differs from that of `entry` at most in measurements of member HPAs.
#[must_use]
pub fn measures_only(entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> bool {
    let replicas = |parts: &Option<Vec<ClusterHPAStatus>>| -> Vec<_> {
        let parts = parts.iter().flatten();
        parts
            .map(|ClusterHPAStatus { cluster_name, status }| {
                let time = status.last_scale_time.as_ref().map(|time| time.0);
                (cluster_name.clone(), status.current_replicas, status.desired_replicas, time)
            })
            .collect()
    };
    let Some(known) = entry.status() else { return false };
    let measured = |condition: &Condition| {
        let known = entry.condition(&condition.type_).filter(|known| SCALING.contains(&&*known.type_));
        known.unwrap_or(condition).clone()
    };
    let shown = FederatedHPAStatus {
        conditions: status.conditions.as_ref().map(|conditions| conditions.iter().map(measured).collect()),
        clusters: known.clusters,
        aggregated_status: known.aggregated_status.clone(),
        current_metrics: known.current_metrics.clone(),
        ..status.clone()
    };
    replicas(&known.aggregated_status) == replicas(&status.aggregated_status) && is_stored(entry, &shown)
}

/// Whether `status` differs from that of `entry` at most in the messages of conditions: the progress of a step.
#[must_use]
pub fn words_only(entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> bool {
    let worded = |condition: &Condition| {
        let same = |known: &&Condition| {
            (&known.status, &known.reason, known.observed_generation)
                == (&condition.status, &condition.reason, condition.observed_generation)
        };
        entry.condition(&condition.type_).filter(same).unwrap_or(condition).clone()
    };
    let conditions = status.conditions.as_ref().map(|conditions| conditions.iter().map(worded).collect());
    is_stored(entry, &FederatedHPAStatus { conditions, ..status.clone() })
}

/// Whether all that later plans read in `status` is stored in `entry`: the rest is only shown.
#[must_use]
pub fn ledger_is_stored(entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> bool {
    let Some(known) = entry.status() else { return false };
    // Failover is resumed by what its condition says.
    let paused = status.conditions.iter().flatten().find(|condition| condition.type_ == FAILOVER_PAUSED);
    if paused != entry.condition(FAILOVER_PAUSED) {
        return false;
    }
    let remembered = FederatedHPAStatus {
        observed_generation: status.observed_generation,
        cluster_hpa_desired: status.cluster_hpa_desired.clone(),
        assignment_hash: status.assignment_hash.clone(),
        last_rebalance_time: status.last_rebalance_time.clone(),
        idle_start_time: status.idle_start_time.clone(),
        last_failover_resume_time: status.last_failover_resume_time.clone(),
        hand_back_start_time: status.hand_back_start_time.clone(),
        ..known
    };
    is_stored(entry, &remembered)
}

/// Whether the assignment of `entry` differs from that of `status`.
#[must_use]
pub fn reassigns(entry: &FederatedHpaEntry, status: &FederatedHPAStatus) -> bool {
    let known = entry.desired().map(|(cluster, desired)| (cluster, desired.min_replicas, desired.max_replicas));
    let desired = status.cluster_hpa_desired.iter().flatten();
    known.ne(desired.map(|desired| (&*desired.cluster_name, desired.min_replicas, desired.max_replicas)))
}

/// Writes the status, provided that the object is unchanged.
///
/// # Errors
/// When this process no longer leads, the object changed or is gone, or the API server rejects the request or is
/// unreachable.
pub async fn write(
    writer: &Writer,
    leader: &Leader,
    entry: &FederatedHpaEntry,
    status: &FederatedHPAStatus,
) -> Result<(), WriteError> {
    let key = entry.key();
    let written: FederatedHPA = entry.own(&key).write_status(&writer.client, leader, managers::STATUS, status).await?;
    writer.cache.wrote_federated_hpa(&written);
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An entry with this status.
    fn entry(status: &Value) -> FederatedHpaEntry {
        let object = json!({"metadata": {"name": "web", "namespace": "prod"}, "status": status,
            "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
        FederatedHpaEntry::of(&serde_json::from_value(object).unwrap())
    }

    fn parts() -> ConditionParts {
        ("False", "BindingUnreadable", String::new())
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::constant(second, 0)
    }

    #[test]
    fn whether_failover_is_paused_and_when_it_was_resumed_is_kept_while_no_plan_is_possible_and_not_after_a_release() {
        let paused = json!({"type": FAILOVER_PAUSED, "status": "True", "reason": "TooManyClustersNotReady",
            "message": "", "lastTransitionTime": "2026-11-20T08:00:00Z"});
        let entry = entry(&json!({"conditions": [paused], "assignmentHash": "1",
            "lastFailoverResumeTime": "2026-11-20T07:00:00Z"}));
        let kept = |status: &FederatedHPAStatus| {
            let paused = status.conditions.iter().flatten().find(|one| one.type_ == FAILOVER_PAUSED);
            (paused == entry.condition(FAILOVER_PAUSED), status.last_failover_resume_time.is_some())
        };
        assert_eq!(kept(&unplanned(&entry, parts(), parts(), at(0))), (true, true));
        assert_eq!(kept(&handed_back(&entry, at(0))), (false, false));
    }

    #[test]
    fn a_hand_back_has_the_time_of_its_start_until_another_status_follows() {
        let start = |status: &FederatedHPAStatus| status.hand_back_start_time.as_ref().map(|time| time.0);
        assert_eq!(start(&handing_back(&entry(&json!({})), at(10))), Some(at(10)));
        let begun = entry(&json!({"assignmentHash": "1", "handBackStartTime": "1970-01-01T00:00:10Z"}));
        assert_eq!(start(&handing_back(&begun, at(20))), Some(at(10)));
        assert_eq!(start(&unplanned(&begun, parts(), parts(), at(20))), None);
        assert_eq!(start(&handed_back(&begun, at(20))), None);
    }
}
