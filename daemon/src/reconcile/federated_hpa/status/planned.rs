//! The status after a plan. No I/O.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{ASSIGNED, FAILOVER_PAUSED, READY, condition, conditions, health, shown};
use crate::api::federated_hpa::{ClusterHPADesired, ClusterHPAStatus, FederatedHPAStatus};
use crate::api::hpa_status::MetricStatus;
use crate::controller::failure::Failure;
use crate::convert;
use crate::convert::fleet::number;
use crate::decision::plan::{Plan, Share};
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::observe::failover::{last_resumed, resumed};
use crate::reconcile::federated_hpa::observe::{Observed, is_silent};

/// The status after a plan.
#[must_use]
pub fn planned(
    view: &View,
    observed: &Observed<'_>,
    plan: &Plan<'_>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> FederatedHPAStatus {
    let members = health::members(view, observed, plan, now);
    let (mut current, mut wanted) = (0_i32, 0_i32);
    for cluster in observed.request.clusters.iter().filter(|cluster| cluster.entry.is_some()) {
        let has = number(cluster.current.unwrap_or_default());
        current = current.saturating_add(has);
        let wish = view
            .member_hpa(cluster.name)
            .filter(|member_hpa| !member_hpa.deleting())
            .and_then(|member_hpa| member_hpa.wish());
        let wish = wish.filter(|wish| *wish > 0);
        wanted = wanted.saturating_add(wish.unwrap_or(has));
    }
    let scaled = view
        .member_hpas
        .iter()
        .filter(|member_hpa| !member_hpa.deleting())
        .filter_map(|member_hpa| member_hpa.last_scale_time())
        .max();
    let own = [
        (ASSIGNED, conditions::assigned(view, observed, plan, failure)),
        (READY, conditions::ready(view, observed, plan, &members, failure, now)),
    ];
    let paused = conditions::paused(view, observed).map(|parts| (FAILOVER_PAUSED, parts));
    let conditions = own.into_iter().chain(conditions::scaling(&members)).chain(paused);
    let resumed = match observed.paused {
        None => resumed(&view.federated_hpa, now),
        Some(_) => last_resumed(&view.federated_hpa),
    };
    let (shown, omitted) = shown::hpas(view, &members);
    FederatedHPAStatus {
        observed_generation: view.federated_hpa.object.metadata.generation,
        last_scale_time: scaled.map(Time),
        current_replicas: Some(current),
        desired_replicas: wanted,
        current_metrics: metrics(view),
        conditions: Some(conditions.map(|(type_, parts)| condition(&view.federated_hpa, type_, parts, now)).collect()),
        cluster_hpa_desired: Some(desired(view, observed, plan)),
        assignment_hash: Some(plan.assignment_hash.to_string()),
        idle_start_time: plan.idle_since.and_then(convert::instant::stored),
        last_failover_resume_time: resumed.and_then(convert::instant::stored),
        hand_back_start_time: None,
        last_rebalance_time: plan.last_rebalanced.and_then(convert::instant::stored),
        clusters: Some(shown::counts(&members)),
        aggregated_status: Some(shown.into_iter().map(aggregated).collect()),
        aggregated_status_omitted: omitted,
    }
}

/// What the HPAs of clusters that answer measure.
fn metrics(view: &View) -> Option<Vec<MetricStatus>> {
    let member_hpas =
        view.member_hpas.iter().filter(|member_hpa| !member_hpa.deleting() && !is_silent(view, member_hpa.cluster()));
    convert::mean::mean(member_hpas.map(|member_hpa| (member_hpa.metrics(), member_hpa.current().unwrap_or_default())))
}

/// The entries of `clusterHPADesired`.
fn desired(view: &View, observed: &Observed<'_>, plan: &Plan<'_>) -> Vec<ClusterHPADesired> {
    let kept: HashMap<&str, &ClusterHPADesired> = view.federated_hpa.desired().collect();
    let write = |share: &Share<'_>| {
        let mut share = *share;
        share.memory.moved = share.moved(&observed.request);
        convert::memory::write(&share, kept.get(share.cluster).copied())
    };
    plan.shares.iter().map(write).collect()
}

fn aggregated(member_hpa: &MemberHpa) -> ClusterHPAStatus {
    ClusterHPAStatus { cluster_name: member_hpa.cluster().to_owned(), status: member_hpa.shown() }
}
