//! Cache -> input of a plan (observe). No I/O.

pub mod capacity;
pub mod confirmation;
pub mod failover;
pub mod foreign_hpa;
pub mod foreign_hpas;
mod known;
pub mod live_state;
pub mod member_reads;
pub mod members;
pub mod promised;
pub mod retention;
pub mod upstream;

use std::sync::Arc;

use jiff::Timestamp;
use known::KnownClusters;

use super::cache::View;
use super::cache::entry::{Binding, MemberHpa};
use super::observe::capacity::Requirements;
use super::observe::live_state::{LiveState, can_be_asked};
use super::write_id;
use crate::api::resource_binding::WorkloadStatus;
use crate::controller::failure::Failure;
use crate::convert;
use crate::convert::fleet::replicas;
use crate::convert::instant::stored;
use crate::decision::fleet::api_enablements::GroupVersionKind;
use crate::decision::fleet::candidates::{CandidateCluster, Candidates, Intent, candidates};
use crate::decision::fleet::nodes::{self, NodeOutlook};
use crate::decision::fleet::observation::{HpaReport, Observation, Replicated, Room, Waits, WrittenHpa};
use crate::decision::fleet::placement::Placement;
use crate::decision::fleet::spread::Unmet;
use crate::decision::fleet::workload_affinity::Neighbours;
use crate::decision::hpa::metric::is_outer;
use crate::decision::plan::{Cluster, ClusterState, Plan, Purge, Reach, Request};
use crate::decision::split::Replicas;
use crate::decision::subject::federated_hpa::{Assignment, ClusterAffinity};
use crate::estimator::messages::ObjectReference;

/// Spec and placement, as input of the rules.
#[derive(Clone)]
pub struct PlacementSpec<'a> {
    assignment: Option<Assignment<'a>>,
    kind: GroupVersionKind<'a>,
    affinity: Option<ClusterAffinity<'a>>,
    placement: &'a Placement<'a>,
    group: &'a str,
    neighbours: Neighbours<'a>,
    /// Clusters that may fail over now; `None`: all that failed.
    may_fail: Option<Vec<String>>,
}

impl<'a> PlacementSpec<'a> {
    /// Reads a view.
    ///
    /// # Errors
    /// Why the binding cannot be parsed: no plan may be based on it.
    pub fn of(view: &'a View, binding: &'a Binding) -> Result<Self, &'a str> {
        let spec = &view.federated_hpa.object.spec;
        Ok(Self {
            assignment: spec.federated_hpa_assignment.as_ref().map(convert::fleet::assignment),
            kind: binding.kind(),
            affinity: spec.cluster_affinity.as_ref().map(convert::fleet::affinity),
            placement: binding.placement()?,
            group: &binding.object.status.scheduler_observing_affinity_name,
            neighbours: view.neighbours.neighbours(),
            may_fail: None,
        })
    }

    /// The clusters that it selects.
    pub(super) fn intent(&self) -> Intent<'_> {
        Intent {
            assignment: self.assignment.as_ref(),
            kind: self.kind,
            affinity: self.affinity.as_ref(),
            placement: self.placement,
            observed_group: self.group,
            neighbours: self.neighbours,
        }
    }

    /// Allows only these clusters to fail over now.
    #[must_use]
    pub fn admitting(self, clusters: Vec<String>) -> Self {
        Self { may_fail: Some(clusters), ..self }
    }
}

/// Input of a plan, with further results.
pub struct Observed<'a> {
    /// Input of the plan.
    pub request: Request<'a>,
    /// Name of the affinity group in use.
    pub group: &'a str,
    /// When to plan again, if no event happens.
    pub next: Option<Timestamp>,
    /// Clusters with unknown free capacity, while the policy depends on it.
    pub unknown_capacity: Vec<&'a str>,
    /// Clusters of `clusterHPAPreference` whose share has no effect: they do not exist, or report no resources.
    pub uncapped: Vec<&'a str>,
    /// Requests of each replica.
    pub requirements: Requirements,
    /// Clusters in which some replicas are not ready: their unschedulable pods should be queried.
    pub unready: Vec<&'a str>,
    /// Clusters in which some find no node: whether nodes come should be queried.
    pub unplaced: Vec<&'a str>,
    /// Clusters whose autoscaler adds no nodes for these, and what it says.
    pub no_nodes: Vec<(&'a str, Arc<str>)>,
    /// Clusters that do not confirm their writes and reject queries, and the message of the first.
    pub unread: Option<(Vec<&'a str>, String)>,
    /// Why members do not keep the replicas that their HPAs set.
    pub unkept: Option<Failure>,
    /// HPAs of members that scale the workload too.
    pub foreign: Vec<foreign_hpas::Found>,
    /// What of the placement has no effect.
    pub unsupported: &'a [String],
    /// Spread constraints of the placement that cannot be satisfied.
    pub unmet: Vec<Unmet<'a>>,
    /// Candidates in which Karmada leaves a workload of another alone, with its messages.
    pub left_alone: Vec<(&'a str, &'a str)>,
    /// Failed clusters that may not fail over yet.
    pub waiting: Vec<&'a str>,
    /// Set while failover is paused: the number of clusters that are not Ready, and of all clusters.
    pub paused: Option<(usize, usize)>,
}

impl<'a> Observed<'a> {
    /// The clusters that the rules select, by name.
    #[must_use]
    pub fn selected(&self) -> Vec<&'a str> {
        self.request.clusters.iter().filter(|cluster| cluster.is_candidate).map(|cluster| cluster.name).collect()
    }

    /// Clusters whose free capacity affects the assignment of the plan; empty where the assignment is kept, or does not
    /// depend on it.
    #[must_use]
    pub fn asks(&self, plan: &Plan<'_>) -> Vec<&'a str> {
        let request = &self.request;
        let target = |name: &str| request.clusters.iter().find(|cluster| cluster.name == name)?.target;
        let stays = request.assignment_hash == Some(plan.assignment_hash)
            && plan.shares.iter().all(|share| target(share.cluster) == share.kept());
        if stays || !request.policy.depends_on_capacity() {
            return Vec::new();
        }
        let serving = |cluster: &&Cluster<'a>| cluster.is_candidate && cluster.state == ClusterState::Serving;
        request.clusters.iter().filter(serving).map(|cluster| cluster.name).collect()
    }
}

impl<'a> Observed<'a> {
    /// Notes what a candidate does not report.
    fn note_unknown(&mut self, view: &View, name: &'a str, room: Room, by_room: bool) {
        if by_room && room.available.is_none() {
            self.unknown_capacity.push(name);
        }
        if room.whole.is_none() && share(view, name).is_some() {
            self.uncapped.push(name);
        }
    }
}

impl<'a> Observed<'a> {
    /// Whether nodes come for the pods of a cluster that find none, where help depends on it.
    fn outlook(
        &mut self,
        name: &'a str,
        workload: &ObjectReference,
        unschedulable: Option<Replicas>,
        live: &LiveState,
    ) -> Option<NodeOutlook> {
        if !self.request.waits_for_nodes() || unschedulable.is_none_or(|pods| pods == 0) {
            return None;
        }
        self.unplaced.push(name);
        let outlook = nodes::outlook(&live.members.nodes(name, workload)?, self.request.delay, self.request.now);
        if let NodeOutlook::NotComing { message } = &outlook {
            self.no_nodes.push((name, Arc::clone(message)));
        }
        Some(outlook)
    }
}

/// Observes at `now`.
#[must_use]
pub fn observe<'a>(
    view: &'a View,
    binding: &'a Binding,
    placement_spec: &'a PlacementSpec<'a>,
    live: &LiveState,
    now: Timestamp,
) -> Observed<'a> {
    let by_name = KnownClusters::of(view, binding);
    let past = by_name.past(view, binding, placement_spec, now);
    let intent = placement_spec.intent();
    let Candidates { policy, group, clusters, next, unmet, waiting, paused } =
        candidates(&intent, &view.fleet.members, &past, &live.failover.tolerance, now);
    let spec = &view.federated_hpa.object.spec;
    let requirements = Requirements::read(binding.object.spec.replica_requirements.as_ref());
    let most = replicas(spec.max_replicas);
    let mut observed = Observed {
        request: asked(view, binding, live, now),
        group,
        next,
        unknown_capacity: Vec::new(),
        uncapped: unknown_clusters(view),
        requirements,
        unready: Vec::new(),
        unplaced: Vec::new(),
        no_nodes: Vec::new(),
        unread: confirmation::unread(live, view),
        unkept: retention::unfit(live, &view.federated_hpa),
        foreign: foreign_hpas::found(live, view, foreign_hpas::ambiguous(view)),
        unsupported: binding.unsupported(),
        unmet,
        left_alone: Vec::new(),
        waiting,
        paused,
    };
    let workload = workload(binding);
    let has_outer_metric = spec.metrics.iter().flatten().any(|metric| is_outer(&metric.type_));
    let look = |candidate: &CandidateCluster<'a>| {
        let name = candidate.name;
        let entry = view.cluster(name);
        let room = entry.map(|entry| live.room(entry, &observed.requirements, most)).unwrap_or_default();
        if candidate.chosen {
            observed.note_unknown(view, name, room, policy.depends_on_capacity());
            observed.left_alone.extend(by_name.left_alone.get(name).map(|why| (name, *why)));
        }
        let member_hpa = view.member_hpa(name);
        let own_zero = has_outer_metric && member_hpa.is_some_and(|member_hpa| member_hpa.scales_to_zero());
        let reach = Reach { scale: entry.is_none_or(|entry| can_be_asked(&entry.object)), own_zero };
        let mut known = Observation { reach, room, ..observation(view, &by_name, name, member_hpa, now) };
        if known.unready() > 0 {
            observed.unready.push(name);
            known.unschedulable = live.unschedulable(name, &workload);
            known.outlook = observed.outlook(name, &workload, known.unschedulable, live);
        }
        let (cluster, due) = known.cluster(candidate, Waits::default(), now);
        observed.next = [observed.next, due].into_iter().flatten().min();
        cluster
    };
    let clusters = clusters.iter().map(look).collect();
    observed.request = Request { policy, clusters, ..std::mem::take(&mut observed.request) };
    observed
}

/// What the object and its status say; the policy and the clusters follow.
fn asked(view: &View, binding: &Binding, live: &LiveState, now: Timestamp) -> Request<'static> {
    let status = view.federated_hpa.object.status.as_ref();
    Request {
        rescheduled: binding.object.spec.reschedule_triggered_at.as_ref().map(|time| time.0),
        assignment_hash: status.and_then(|status| status.assignment_hash.as_deref()).and_then(|text| text.parse().ok()),
        purge: purge(binding),
        now: whole_seconds(now),
        period: live.period,
        replacement: live.failover.replacement,
        // Nobody is asked for anything before the takeover is complete.
        unplanned: !binding.suspended() || binding.marked() != Some(&view.federated_hpa.key().name),
        idle_since: status.and_then(|status| status.idle_start_time.as_ref()).map(|since| since.0),
        last_rebalanced: status.and_then(|status| status.last_rebalance_time.as_ref()).map(|time| time.0),
        ..convert::request::asked(&view.federated_hpa.object.spec)
    }
}

/// A time as plans have it: in whole seconds, as the times that are derived from it are stored.
pub fn whole_seconds(time: Timestamp) -> Timestamp {
    stored(time).map_or(time, |stored| stored.0)
}

/// What the objects of the control plane say of a cluster.
fn observation(
    view: &View,
    known: &KnownClusters<'_>,
    name: &str,
    member_hpa: Option<&Arc<MemberHpa>>,
    now: Timestamp,
) -> Observation {
    let cluster = view.fleet.get(name);
    let (target, memory) = known.kept.get(name).copied().unwrap_or_default();
    let written = |member_hpa: &MemberHpa| WrittenHpa {
        hpa: member_hpa.hpa,
        since: write_id::time(&member_hpa.token, now),
        report: HpaReport {
            current: member_hpa.status.current_replicas.map(replicas),
            desired: member_hpa.wish().map(replicas),
            load: member_hpa.load(now),
            scaled: member_hpa.last_scale_time(),
            disabled: member_hpa.is_disabled(),
        },
    };
    Observation {
        answers: cluster.is_some_and(|(member, _)| member.answers()),
        answers_since: cluster.and_then(|(member, _)| member.since),
        replicated: known.reported.get(name).map(|status| Replicated {
            replicas: replicas(status.replicas),
            ready: replicas(status.ready_replicas),
            updated: replicas(status.updated_replicas.unwrap_or(status.replicas)),
        }),
        written: member_hpa.map(|member_hpa| written(member_hpa)),
        version: cluster.map(|(_, version)| version).unwrap_or_default(),
        share: share(view, name),
        entry: known.entries.get(name).copied(),
        evicting: known.leaving.contains_key(name),
        eviction_ends: known.leaving.get(name).copied().flatten(),
        left_alone: known.left_alone.contains_key(name),
        target,
        memory,
        ..Observation::default()
    }
}

/// The workload of a binding.
#[must_use]
pub fn workload(binding: &Binding) -> ObjectReference {
    let resource = &binding.object.spec.resource;
    ObjectReference {
        api_version: resource.api_version.clone(),
        kind: resource.kind.clone(),
        namespace: resource.namespace.clone(),
        name: resource.name.clone(),
    }
}

/// The last status of the workload in the cluster; `None` before the controllers have observed it.
pub fn reported(binding: &Binding, cluster: &str) -> Option<WorkloadStatus> {
    observed(binding.reports().find(|(name, _)| *name == cluster)?.1)
}

fn observed(status: Option<WorkloadStatus>) -> Option<WorkloadStatus> {
    status.filter(|status| status.observed_generation > 0 || status.replicas > 0)
}

/// How the replicas of an evicted cluster are removed: by `spec.failover`, in its current and older form.
fn purge(binding: &Binding) -> Purge {
    match binding.object.spec.failover.pointer("/cluster/purgeMode").and_then(|mode| mode.as_str()) {
        Some("Directly" | "Immediately") => Purge::Directly,
        Some("Never") => Purge::Never,
        _ => Purge::Gracefully,
    }
}

/// Whether a cluster that takes part does not answer.
#[must_use]
pub fn is_silent(view: &View, cluster: &str) -> bool {
    !view.fleet.get(cluster).is_some_and(|(member, _)| member.answers())
}

/// The share of a cluster that the workload may use.
fn share(view: &View, name: &str) -> Option<f64> {
    let preferences = view.federated_hpa.object.spec.cluster_hpa_preference.iter().flatten();
    preferences.filter(|preference| preference.cluster_name == name).find_map(|own| own.max_resource_usage)
}

/// Clusters of `clusterHPAPreference` that do not exist.
fn unknown_clusters(view: &View) -> Vec<&str> {
    let preferences = view.federated_hpa.object.spec.cluster_hpa_preference.iter().flatten();
    let names = preferences.map(|preference| preference.cluster_name.as_str());
    names.filter(|name| view.fleet.get(name).is_none()).collect()
}
