//! Cache -> input of a plan (observe). No I/O.

pub mod capacity;
pub mod confirmation;
pub mod failover;
pub mod foreign_hpa;
pub mod foreign_hpas;
mod known;
pub mod live_state;
pub mod members;

use jiff::{SignedDuration, Timestamp};
use known::Known;

use super::cache::View;
use super::cache::entry::{Binding, MemberHpa};
use super::observe::capacity::{Requirements, Room};
use super::observe::live_state::{LiveState, can_be_asked};
use super::write_id;
use crate::api::federated_hpa::FederatedHPASpec;
use crate::api::resource_binding::WorkloadStatus;
use crate::convert;
use crate::convert::fleet::replicas;
use crate::convert::instant::stored;
use crate::decision::defaults::MIN_REPLICAS;
use crate::decision::fleet::candidates::{CandidateCluster, Candidates, Intent, candidates};
use crate::decision::fleet::placement::Placement;
use crate::decision::fleet::spread::Unmet;
use crate::decision::fleet::{Member, Readiness};
use crate::decision::hpa::behavior::DOWN_WINDOW_SECONDS;
use crate::decision::hpa::metric::is_outer;
use crate::decision::plan::{
    Bounds, Cause, Cluster, ClusterState, Memory, Plan, Purge, Reach, Request, UNCONFIRMED, UNREADY,
};
use crate::decision::split::Replicas;
use crate::decision::subject::federated_hpa::{Assignment, ClusterAffinity};
use crate::estimator::messages::ObjectReference;

/// Condition of an HPA whose controller scales to zero.
const SCALED_TO_ZERO: &str = "ScaledToZero";

/// Spec and placement, as input of the rules.
#[derive(Clone)]
pub struct Words<'a> {
    assignment: Option<Assignment<'a>>,
    affinity: Option<ClusterAffinity<'a>>,
    placement: Placement<'a>,
    group: &'a str,
    /// Clusters that may fail over now; `None`: all that failed.
    may_fail: Option<Vec<String>>,
}

impl<'a> Words<'a> {
    /// Reads a view.
    ///
    /// # Errors
    /// Why the binding cannot be parsed: no plan may be based on it.
    pub fn of(view: &'a View, binding: &'a Binding) -> Result<Self, &'a str> {
        let spec = &view.federated_hpa.object.spec;
        Ok(Self {
            assignment: spec.federated_hpa_assignment.as_ref().map(convert::fleet::assignment),
            affinity: spec.cluster_affinity.as_ref().map(convert::fleet::affinity),
            placement: convert::fleet::placement(binding.placement()?),
            group: &binding.object.status.scheduler_observing_affinity_name,
            may_fail: None,
        })
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
    /// Clusters that do not confirm their writes and reject queries, and the message of the first.
    pub unread: Option<(Vec<&'a str>, String)>,
    /// HPAs of members that scale the workload too.
    pub foreign: Vec<foreign_hpas::Found>,
    /// What of the placement has no effect.
    pub unsupported: &'a [String],
    /// Spread constraints of the placement that cannot be satisfied.
    pub unmet: Vec<Unmet<'a>>,
    /// Failed clusters that may not fail over yet.
    pub waiting: Vec<&'a str>,
    /// Set while failover is paused: the number of clusters that are not Ready, and of all clusters.
    pub paused: Option<(usize, usize)>,
}

impl<'a> Observed<'a> {
    /// Clusters whose free capacity affects the assignment of the plan; empty where the assignment is kept, or does not
    /// depend on it.
    #[must_use]
    pub fn asks(&self, plan: &Plan<'_>) -> Vec<&'a str> {
        let request = &self.request;
        let target = |name: &str| request.clusters.iter().find(|cluster| cluster.name == name)?.target;
        let stays =
            request.basis == Some(plan.basis) && plan.shares.iter().all(|share| target(share.cluster) == share.kept());
        if stays || !request.policy.goes_by_room() {
            return Vec::new();
        }
        let serving = |cluster: &&Cluster<'a>| cluster.chosen && cluster.state == ClusterState::Serving;
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

    /// Unschedulable pods are part of the replicas that are not ready; the others may just be starting.
    fn count_pending(&mut self, cluster: &mut Cluster<'a>, live: &LiveState, workload: &ObjectReference) {
        let unready = cluster.current.unwrap_or_default().saturating_sub(cluster.ready);
        if unready > 0 {
            self.unready.push(cluster.name);
            let pends = cluster.memory.stuck.is_some_and(|stuck| stuck.cause == Cause::Pending);
            // Until a source responds, the previous state applies: a new leader has not queried yet.
            let before = if pends { unready } else { 0 };
            cluster.pending = live.unschedulable(cluster.name, workload).unwrap_or(before).min(unready);
        }
    }
}

/// Observes at `now`.
#[must_use]
pub fn observe<'a>(
    view: &'a View,
    binding: &'a Binding,
    words: &'a Words<'a>,
    live: &LiveState,
    now: Timestamp,
) -> Observed<'a> {
    let by_name = Known::of(view, binding);
    let past = by_name.past(view, words, now);
    let intent = Intent {
        assignment: words.assignment.as_ref(),
        affinity: words.affinity.as_ref(),
        placement: &words.placement,
        observed_group: words.group,
    };
    let Candidates { policy, group, clusters, next, unmet, waiting, paused } =
        candidates(&intent, &view.fleet.members, &past, &live.failover.patience, now);
    let spec = &view.federated_hpa.object.spec;
    let requirements = Requirements::read(binding.object.spec.replica_requirements.as_ref());
    let most = replicas(spec.max_replicas);
    let mut observed = Observed {
        request: Request::default(),
        group,
        next,
        unknown_capacity: Vec::new(),
        uncapped: unknown_clusters(view),
        requirements,
        unready: Vec::new(),
        unread: confirmation::unread(live, view),
        foreign: foreign_hpas::found(live, view, foreign_hpas::ambiguous(view)),
        unsupported: binding.unsupported(),
        unmet,
        waiting,
        paused,
    };
    let workload = workload(binding);
    let look = |candidate: &CandidateCluster<'a>| {
        let known = view.place(candidate.name);
        let room = known.map(|place| live.room(place, &observed.requirements, most)).unwrap_or_default();
        if candidate.chosen {
            observed.note_unknown(view, candidate.name, room, policy.goes_by_room());
        }
        let (mut cluster, due) = cluster(view, &by_name, candidate, room, now);
        observed.next = [observed.next, due].into_iter().flatten().min();
        if !is_silent(view, candidate.name) {
            observed.count_pending(&mut cluster, live, &workload);
        }
        let own_zero = view.member_hpa(candidate.name).is_some_and(|member_hpa| scales_to_zero(member_hpa))
            && has_outer_metric(spec);
        cluster.reach = Reach { scale: known.is_none_or(|place| can_be_asked(&place.object)), own_zero };
        cluster
    };
    let clusters = clusters.iter().map(look).collect();
    observed.request = Request { policy, clusters, ..asked(view, binding, live, now) };
    observed
}

/// What the object and its status say; the policy and the clusters follow.
fn asked(view: &View, binding: &Binding, live: &LiveState, now: Timestamp) -> Request<'static> {
    let spec = &view.federated_hpa.object.spec;
    let status = view.federated_hpa.object.status.as_ref();
    let behavior = spec.behavior.as_ref().map(convert::scaling::behavior);
    Request {
        total: Bounds { min: replicas(spec.min_replicas.unwrap_or(MIN_REPLICAS)), max: replicas(spec.max_replicas) },
        suspended: view.federated_hpa.suspended(),
        scaling_to_zero: spec.scaling_to_zero.unwrap_or_default(),
        scale_assist: spec.scale_assist.unwrap_or(true),
        scale_up: behavior.as_ref().map(|behavior| behavior.up.clone()),
        scale_down_tolerance: behavior.and_then(|behavior| behavior.down.tolerance),
        rescheduled: binding.object.spec.reschedule_triggered_at.as_ref().map(|time| time.0),
        basis: status.and_then(|status| status.assignment_hash.as_deref()).and_then(|text| text.parse().ok()),
        purge: purge(binding),
        // Whole seconds, because derived times are stored so.
        now: stored(now).map_or(now, |time| time.0),
        delay: SignedDuration::from_secs(spec.autoscale_multi_cluster_delay.unwrap_or_default().into()),
        window: window(spec),
        period: live.period,
        replacement: live.failover.replacement,
        idle: status.and_then(|status| status.idle_start_time.as_ref()).map(|since| since.0),
        divided: status.and_then(|status| status.last_rebalance_time.as_ref()).map(|time| time.0),
        ..Request::default()
    }
}

/// One cluster, and when the wait for it ends.
fn cluster<'a>(
    view: &View,
    known: &Known<'_>,
    candidate: &CandidateCluster<'a>,
    room: Room,
    now: Timestamp,
) -> (Cluster<'a>, Option<Timestamp>) {
    let CandidateCluster { name, chosen, state, settings } = *candidate;
    let place = view.fleet.get(name);
    let reported = known.reported.get(name).copied();
    let answers = place.is_some_and(|(member, _)| answers(member));
    let ready = reported.filter(|_| answers).map_or(0, |status| replicas(status.ready_replicas));
    let member_hpa = view.member_hpa(name);
    let hpa = member_hpa.map(|member_hpa| member_hpa.hpa);
    let answering = member_hpa.filter(|_| answers);
    let (target, memory) = known.kept.get(name).copied().unwrap_or_default();
    let memory = Memory { evicted: known.evicted.get(name).copied(), ..memory };
    let (overdue, due) = overdue(member_hpa.map(|member_hpa| &**member_hpa), ready, now);
    let cluster = Cluster {
        name,
        chosen,
        state,
        weight: settings.weight,
        priority: settings.priority,
        limits: settings.limits,
        cap: cap(view, name, room),
        current: reported.map(|status| replicas(status.replicas)),
        last: member_hpa.and_then(|member_hpa| member_hpa.status.current_replicas).map(replicas),
        ready,
        pending: 0,
        available: room.available,
        desired: answering.and_then(|member_hpa| member_hpa.desired()),
        load: answering.and_then(|member_hpa| member_hpa.load(now)),
        reach: Reach::default(),
        hpa,
        version: place.map(|(_, version)| version).unwrap_or_default(),
        entry: known.entries.get(name).copied(),
        evicting: known.leaving.contains(name),
        overdue,
        target,
        memory,
    };
    (cluster, due)
}

/// Whether the HPA scales to zero and from zero by itself. Its controller reports a condition about that where it does
/// (Kubernetes 1.37); a member whose API takes `minReplicas: 0` may still have a controller that does not.
fn scales_to_zero(member_hpa: &MemberHpa) -> bool {
    member_hpa.conditions().iter().any(|condition| condition.type_ == SCALED_TO_ZERO)
}

fn has_outer_metric(spec: &FederatedHPASpec) -> bool {
    spec.metrics.iter().flatten().any(|metric| is_outer(&metric.type_))
}

/// The stabilization window of scaling down.
fn window(spec: &FederatedHPASpec) -> SignedDuration {
    let rules = spec.behavior.as_ref().and_then(|behavior| behavior.scale_down.as_ref());
    let seconds = rules.and_then(|rules| rules.stabilization_window_seconds).unwrap_or(DOWN_WINDOW_SECONDS);
    SignedDuration::from_secs(seconds.into())
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

/// Whether the cluster answers. The last status of a failed one stays, and never counts as ready.
#[must_use]
pub fn answers(member: &Member<'_>) -> bool {
    member.readiness == Readiness::Ready && !member.deleting
}

/// Whether a cluster that takes part does not answer.
#[must_use]
pub fn is_silent(view: &View, cluster: &str) -> bool {
    !view.fleet.get(cluster).is_some_and(|(member, _)| answers(member))
}

fn cap(view: &View, name: &str, room: Room) -> Option<Replicas> {
    let share = share(view, name)?;
    Some(Cluster::cap(room.whole?, share))
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

/// Whether the wait for the cluster has ended, and else when it will.
fn overdue(member_hpa: Option<&MemberHpa>, ready: Replicas, now: Timestamp) -> (bool, Option<Timestamp>) {
    let Some(member_hpa) = member_hpa else { return (false, None) };
    let Some(written) = write_id::time(&member_hpa.token) else { return (false, None) };
    let patience = if !member_hpa.hpa.confirmed {
        UNCONFIRMED
    } else if ready < member_hpa.hpa.written.unwrap_or_default().min {
        UNREADY
    } else {
        return (false, None);
    };
    let due = written.checked_add(patience).unwrap_or(Timestamp::MAX);
    if due <= now { (true, None) } else { (false, Some(due)) }
}
