//! What a FederatedHPA's status says in Distributed mode: made here, compared with what stands, and written only when it
//! differs (status). Talks to the API server.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::observe::{Observed, answers};
use super::says;
use super::seen::View;
use super::seen::entry::{Order, Sent};
use super::writer::Writer;
use crate::api::FederatedHPA;
use crate::api::federated_hpa::{ClusterHPADesired, ClusterHPAStatus, FederatedHPAStatus};
use crate::api::hpa_status::Condition;
use crate::convert;
use crate::convert::fleet::number;
use crate::decision::plan::Plan;
use crate::reconcile::condition::{self, Said};
use crate::reconcile::failure::{Failure, WriteError};
use crate::reconcile::managers;
use crate::runtime::leader::Leader;

/// Type of the condition that says whether every cluster has the bounds it is to have.
pub const ASSIGNED: &str = "Assigned";
/// Type of the condition that says whether anything stands in the way.
pub const READY: &str = "Ready";

/// The status after a plan.
#[must_use]
pub fn planned(
    view: &View,
    observed: &Observed<'_>,
    plan: &Plan<'_>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> FederatedHPAStatus {
    let known = view.order.object.status.as_ref();
    let kept = known.and_then(|status| status.cluster_hpa_desired.as_ref()).into_iter().flatten();
    let kept: HashMap<&str, &ClusterHPADesired> = kept.map(|kept| (kept.cluster_name.as_str(), kept)).collect();
    let desired = plan.shares.iter().map(|share| convert::memory::write(share, kept.get(share.cluster).copied()));
    let parts: Vec<ClusterHPAStatus> = view.sent.iter().filter(|sent| !sent.deleting).map(|sent| part(sent)).collect();
    let wish = |part: &'_ ClusterHPAStatus| part.status.desired_replicas.filter(|wanted| *wanted > 0);
    let wishes: HashMap<&str, i32> =
        parts.iter().filter_map(|part| Some((part.cluster_name.as_str(), wish(part)?))).collect();
    let (mut current, mut wanted) = (0_i32, 0_i32);
    for cluster in observed.request.clusters.iter().filter(|cluster| cluster.entry.is_some()) {
        let has = number(cluster.current.unwrap_or_default());
        current = current.saturating_add(has);
        wanted = wanted.saturating_add(wishes.get(cluster.name).copied().unwrap_or(has));
    }
    let scaled = parts.iter().filter_map(|part| part.status.last_scale_time.as_ref()).map(|time| time.0).max();
    let conditions =
        [(ASSIGNED, says::assigned(observed, plan)), (READY, says::ready(view, observed, plan, failure, now))];
    FederatedHPAStatus {
        observed_generation: view.order.object.metadata.generation,
        last_scale_time: scaled.map(Time),
        current_replicas: Some(current),
        desired_replicas: wanted,
        current_metrics: None,
        conditions: Some(conditions.map(|(type_, said)| condition(&view.order, type_, said, now)).to_vec()),
        cluster_hpa_desired: Some(desired.collect()),
        assignment_basis: Some(plan.basis.to_string()),
        idle_since: plan.idle.and_then(convert::instant::stored),
        last_division_time: plan.divided.and_then(convert::instant::stored),
        aggregated_status: Some(parts),
    }
}

/// The status while nothing can be planned: what was assigned stays.
#[must_use]
pub fn unplanned(order: &Order, assigned: Said, ready: Said, now: Timestamp) -> FederatedHPAStatus {
    let before = order.object.status.clone().unwrap_or_default();
    let conditions = [(ASSIGNED, assigned), (READY, ready)];
    FederatedHPAStatus {
        observed_generation: order.object.metadata.generation,
        conditions: Some(conditions.map(|(type_, said)| condition(order, type_, said, now)).to_vec()),
        ..before
    }
}

/// The status while the workload is being handed back.
#[must_use]
pub fn handing_back(order: &Order, now: Timestamp) -> FederatedHPAStatus {
    let message = "the workload is being handed back to Karmada with the replicas that its clusters ask for";
    let said = ("False", says::HANDING_BACK, message.to_owned());
    unplanned(order, said.clone(), said, now)
}

/// The status once the workload is handed back: nothing is left of what was assigned and remembered.
#[must_use]
pub fn handed_back(order: &Order, now: Timestamp) -> FederatedHPAStatus {
    let said = ("False", says::HANDED_BACK, "the workload is Karmada's again: nothing scales it here".to_owned());
    let conditions = [(ASSIGNED, said.clone()), (READY, said)];
    FederatedHPAStatus {
        observed_generation: order.object.metadata.generation,
        conditions: Some(conditions.map(|(type_, said)| condition(order, type_, said, now)).to_vec()),
        ..FederatedHPAStatus::default()
    }
}

/// What one cluster reports. What a dead one said last is shown; nothing is decided by it.
fn part(sent: &Sent) -> ClusterHPAStatus {
    ClusterHPAStatus { cluster_name: sent.cluster.to_string(), status: sent.shown() }
}

fn condition(order: &Order, type_: &str, said: Said, now: Timestamp) -> Condition {
    let conditions = order.object.status.as_ref().and_then(|status| status.conditions.as_ref());
    let known = conditions.into_iter().flatten().find(|condition| condition.type_ == type_);
    condition::condition(type_, said, known, order.object.metadata.generation, now)
}

/// Whether the status of `order` says this already. Conditions of others are theirs.
#[must_use]
pub fn stands(order: &Order, status: &FederatedHPAStatus) -> bool {
    let Some(known) = &order.object.status else { return false };
    let ours = |condition: &&Condition| matches!(&*condition.type_, ASSIGNED | READY);
    let known_conditions = known.conditions.iter().flatten().filter(ours);
    let same = known_conditions.eq(status.conditions.iter().flatten());
    same && FederatedHPAStatus { conditions: None, ..known.clone() }
        == FederatedHPAStatus { conditions: None, ..status.clone() }
}

/// Whether the status of `order` says this already, but for what the HPAs of members measure.
#[must_use]
pub fn measures_only(order: &Order, status: &FederatedHPAStatus) -> bool {
    let replicas = |parts: &Option<Vec<ClusterHPAStatus>>| -> Vec<_> {
        let parts = parts.iter().flatten();
        parts
            .map(|ClusterHPAStatus { cluster_name, status }| {
                let time = status.last_scale_time.as_ref().map(|time| time.0);
                (cluster_name.clone(), status.current_replicas, status.desired_replicas, time)
            })
            .collect()
    };
    let Some(known) = &order.object.status else { return false };
    let shown = FederatedHPAStatus { aggregated_status: known.aggregated_status.clone(), ..status.clone() };
    replicas(&known.aggregated_status) == replicas(&status.aggregated_status) && stands(order, &shown)
}

/// Whether the assignment of `order` is another one than that of `status`.
#[must_use]
pub fn reassigns(order: &Order, status: &FederatedHPAStatus) -> bool {
    let bounds = |status: Option<&FederatedHPAStatus>| -> Vec<_> {
        let desired = status.and_then(|status| status.cluster_hpa_desired.as_deref()).unwrap_or_default();
        let bounds =
            |desired: &ClusterHPADesired| (desired.cluster_name.clone(), desired.min_replicas, desired.max_replicas);
        desired.iter().map(bounds).collect()
    };
    bounds(order.object.status.as_ref()) != bounds(Some(status))
}

/// Writes the status, provided that the object is as it was seen.
///
/// # Errors
/// When this process leads no more, the object changed or is gone, or the API server refuses or is not reached.
pub async fn write(
    writer: &Writer,
    leader: &Leader,
    order: &Order,
    status: &FederatedHPAStatus,
) -> Result<(), WriteError> {
    let key = order.key();
    let written: FederatedHPA = order.own(&key).write_status(&writer.client, leader, managers::STATUS, status).await?;
    writer.seen.wrote_order(&written);
    Ok(())
}

/// Whether a cluster that takes part does not answer.
#[must_use]
pub fn is_silent(view: &View, cluster: &str) -> bool {
    !view.fleet.get(cluster).is_some_and(|(member, _)| answers(member))
}
