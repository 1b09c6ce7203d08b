//! The status after a plan. Its lists of clusters are made only where they differ from the stored ones: of a fleet at
//! rest all are equal. No I/O.

use std::collections::HashMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::{ASSIGNED, FAILOVER_PAUSED, READY, condition, conditions, head_is_stored, health, shown};
use crate::api::federated_hpa::{ClusterHPADesired, ClusterHPAStatus, FederatedHPAStatus};
use crate::api::hpa_status::{Condition, MetricStatus};
use crate::controller::failure::Failure;
use crate::convert;
use crate::convert::fleet::number;
use crate::decision::plan::Plan;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::MemberHpa;
use crate::reconcile::federated_hpa::observe::failover::{last_resumed, resumed};
use crate::reconcile::federated_hpa::observe::{Observed, is_silent};

/// The status after a plan.
pub struct Planned<'a> {
    view: &'a View,
    observed: &'a Observed<'a>,
    plan: &'a Plan<'a>,
    head: FederatedHPAStatus,
    shown: Vec<&'a MemberHpa>,
}

/// The status after a plan.
#[must_use]
pub fn planned<'a>(
    view: &'a View,
    observed: &'a Observed<'a>,
    plan: &'a Plan<'a>,
    failure: Option<&Failure>,
    now: Timestamp,
) -> Planned<'a> {
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
    let head = FederatedHPAStatus {
        observed_generation: view.federated_hpa.object.metadata.generation,
        last_scale_time: scaled.map(Time),
        current_replicas: Some(current),
        desired_replicas: wanted,
        current_metrics: metrics(view),
        conditions: Some(conditions.map(|(type_, parts)| condition(&view.federated_hpa, type_, parts, now)).collect()),
        cluster_hpa_desired: None,
        assignment_hash: Some(plan.assignment_hash.to_string()),
        idle_start_time: plan.idle_since.and_then(convert::instant::stored),
        last_failover_resume_time: resumed.and_then(convert::instant::stored),
        hand_back_start_time: None,
        last_rebalance_time: plan.last_rebalanced.and_then(convert::instant::stored),
        clusters: Some(shown::counts(&members)),
        aggregated_status: None,
        aggregated_status_omitted: omitted,
    };
    Planned { view, observed, plan, head, shown }
}

/// What the HPAs of clusters that answer measure.
fn metrics(view: &View) -> Option<Vec<MetricStatus>> {
    let member_hpas =
        view.member_hpas.iter().filter(|member_hpa| !member_hpa.deleting() && !is_silent(view, member_hpa.cluster()));
    let folded: Vec<_> = member_hpas.map(|member_hpa| member_hpa.folded()).collect();
    convert::mean::mean(
        folded.iter().map(|status| (status.measurements(), status.current_replicas.unwrap_or_default())),
    )
}

impl<'a> Planned<'a> {
    /// The same with another condition.
    #[must_use]
    pub fn with(mut self, condition: Option<Condition>) -> Self {
        self.head.conditions.get_or_insert_default().extend(condition);
        self
    }

    /// The status without its lists of clusters.
    #[must_use]
    pub const fn head(&self) -> &FederatedHPAStatus {
        &self.head
    }

    /// Whether it is equal to the stored status.
    #[must_use]
    pub fn is_stored(&self) -> bool {
        let entry = &self.view.federated_hpa;
        head_is_stored(entry, &self.head) && entry.desires(self.desired()) && entry.shows(&self.shown)
    }

    /// The status.
    #[must_use]
    pub fn whole(self) -> FederatedHPAStatus {
        let desired = self.desired().map(|(cluster, desired)| named(cluster, desired)).collect();
        let part = |member_hpa: &&MemberHpa| ClusterHPAStatus {
            cluster_name: member_hpa.cluster().to_owned(),
            status: member_hpa.shown(),
        };
        let shown = self.shown.iter().map(part).collect();
        FederatedHPAStatus { cluster_hpa_desired: Some(desired), aggregated_status: Some(shown), ..self.head }
    }

    /// The clusters and their entries, which do not name them.
    fn desired(&self) -> impl Iterator<Item = (&'a str, ClusterHPADesired)> {
        let kept: HashMap<&str, &ClusterHPADesired> = self.view.federated_hpa.desired().collect();
        let request = &self.observed.request;
        self.plan.shares.iter().map(move |share| {
            let mut share = *share;
            share.memory.last_received = share.received(request);
            (share.cluster, convert::memory::unnamed(&share, kept.get(share.cluster).copied()))
        })
    }
}

fn named(cluster: &str, desired: ClusterHPADesired) -> ClusterHPADesired {
    ClusterHPADesired { cluster_name: cluster.to_owned(), ..desired }
}
