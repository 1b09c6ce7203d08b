//! Clusters whose pods are not ready for a while, or never, or not reported: one rollout recreates them, they crash as soon
//! as they run, or Karmada tells of them late.

use decision::fleet::candidates::CandidateCluster;
use decision::fleet::observation::{HpaReport, Observation, Replicated, Room, Waits, WrittenHpa};
use decision::fleet::settings::Settings;
use decision::load::Load;
use decision::plan::{Action, Bounds, Cluster, ClusterState, Hpa, HpaVersion, Lost, Memory, Policy, Request, plan};
use jiff::{SignedDuration, Timestamp};

use super::cases::{request, runs, total};
use super::replacement::{leave, ready, running};

const NOW: Timestamp = Timestamp::constant(100_000, 0);

/// A cluster with an HPA that asks for so many replicas.
fn asks(name: &'static str, bounds: [u32; 2], replicas: u32) -> Cluster<'static> {
    let [min, max] = bounds;
    let written = Some(Bounds { min, max });
    let hpa = Hpa { written, version: HpaVersion::V2, confirmed: true, pending_max: max, scale_down_disabled: false };
    let (last, desired) = (Some(replicas), Some(replicas));
    let (target, available) = (written, Some(90));
    Cluster { hpa: Some(hpa), target, available, hpa_current: last, hpa_desired: desired, ..runs(name, replicas) }
}

/// A rollout ends its old pods before it starts new ones: its Deployment reports none.
fn recreates(cluster: Cluster<'static>) -> Cluster<'static> {
    let Cluster { name, is_candidate: chosen, deleted, state, entry, target, memory, .. } = cluster;
    let report = HpaReport { current: cluster.hpa_current, desired: cluster.hpa_desired, ..HpaReport::default() };
    let written = cluster.hpa.map(|hpa| WrittenHpa { hpa, since: None, report });
    let room = Room { available: cluster.available, whole: None };
    let replicated = Some(Replicated::default());
    let seen =
        Observation { answers: true, replicated, written, room, entry, target, memory, ..Observation::default() };
    let settings = Settings { weight: cluster.weight, ..Settings::default() };
    let candidate = CandidateCluster { name, chosen, deleted, state, settings };
    seen.cluster(&candidate, Waits::default(), NOW).0
}

fn asked(min: u32, max: u32, clusters: Vec<Cluster<'static>>) -> Request<'static> {
    let mut request = request(total(min, max), Policy::StaticWeighted, clusters);
    (request.now, request.window) = (NOW, SignedDuration::from_secs(300));
    request.replacement = Some(SignedDuration::from_mins(10));
    request.last_rebalanced = NOW.checked_sub(SignedDuration::from_secs(5_000)).ok();
    request.assignment_hash = Some(plan(&request).assignment_hash);
    request
}

#[test]
fn a_leaving_cluster_whose_pods_are_recreated_is_replaced_first() {
    let since = NOW - SignedDuration::from_secs(2);
    let memory = Memory { lost: Some(Lost { replicas: 8, uncovered: 8, since }), ..Memory::default() };
    let state = ClusterState::Leaving { evicted: false };
    let a = Cluster { is_candidate: false, state, target: None, memory, ..recreates(asks("a", [1, 8], 8)) };
    let request = asked(2, 20, vec![a, recreates(asks("b", [2, 20], 8))]);
    let plan = plan(&request);
    let keeps = |action: &Action<'_>| match action {
        Action::UpdateBinding { entries, .. } => entries.iter().any(|entry| entry.cluster == "a"),
        Action::DeleteHpa { cluster } => *cluster != "a",
        _ => true,
    };
    assert!(plan.now().all(|step| keeps(&step.action)), "{:#?}", plan.steps);
    let floors: Vec<_> =
        plan.shares.iter().map(|share| share.memory.replacement_min.map(|floor| floor.replicas)).collect();
    assert_eq!(floors, [None, Some(12)], "b is asked for what the max leaves");
}

#[test]
fn a_max_above_the_target_stays_while_pods_are_recreated() {
    let lowers = |recreated: bool| {
        let m1 = Cluster { target: Some(total(1, 5)), ..asks("m1", [1, 12], 12) };
        let m1 = if recreated { recreates(m1) } else { m1 };
        let m2 = Cluster { weight: 3, target: Some(total(1, 15)), ..asks("m2", [1, 8], 3) };
        let request = asked(2, 20, vec![m1, m2]);
        plan(&request).now().any(|step| matches!(step.action, Action::ApplyHpa { cluster: "m1", .. }))
    };
    assert!(!lowers(false));
    assert!(!lowers(true));
}

#[test]
fn a_candidate_that_never_gets_ready_does_not_keep_the_others_from_replacing() {
    let mut world = running(10, &[("a", 8), ("b", 1), ("c", 1)]);
    world.request.replacement = Some(SignedDuration::from_mins(10));
    leave(&mut world, "a");
    world.broken = Some("c");
    let mut least = u32::MAX;
    for _ in 0..1_200 {
        world.pass(1);
        least = least.min(ready(&world) - world.members["c"].ready());
        world.reconcile(usize::MAX);
        world.calm();
    }
    assert_eq!(world.members["a"].replicas, None);
    assert!(least >= 5, "{least} ready in a and b");
}

#[test]
fn a_broken_cluster_does_not_keep_the_others_asleep() {
    let wakes = |broken: bool| {
        let load = Some(Load { value: 300, target: 100 });
        let a = Cluster { load, ..asks("a", [1, 5], 5) };
        let b = Cluster { ready: u32::from(!broken), unresponsive: broken, ..asks("b", [1, 5], 1) };
        let c = Cluster { memory: Memory { scaled_to_zero: true, ..Memory::default() }, ..asks("c", [1, 5], 0) };
        let mut request = asked(1, 15, vec![a, b, c]);
        request.scaling_to_zero = true;
        !plan(&request).shares[2].memory.scaled_to_zero
    };
    assert!(wakes(true));
    assert!(wakes(false));
}

/// A cluster whose HPA is reported to run more than its workload.
fn grows(name: &'static str, bounds: [u32; 2], reported: u32, replicas: u32) -> Cluster<'static> {
    let cluster = asks(name, bounds, replicas);
    Cluster { current: Some(reported), ready: reported, entry: Some(reported), scaled_recently: true, ..cluster }
}

#[test]
fn what_an_hpa_asked_for_a_moment_ago_may_run() {
    let grown = grows("a", [1, 10], 5, 8);
    assert_eq!((grown.may_run(), grown.running()), (8, 5));
    assert_eq!(Cluster { scaled_recently: false, ..grown }.may_run(), 5);
    assert_eq!(Cluster { hpa_desired: Some(6), ..grown }.may_run(), 6, "it asks for fewer again");
    assert_eq!(Cluster { hpa_current: Some(5), ..grown }.may_run(), 8, "it has not counted them itself yet");
    assert_eq!(grows("a", [1, 7], 5, 8).may_run(), 7, "within its max");
    assert_eq!(Cluster { memory: Memory { scaled_to_zero: true, ..Memory::default() }, ..grown }.may_run(), 5);
}

#[test]
fn no_max_is_lowered_to_what_a_workload_ran_before_its_hpa_added_some() {
    let max_of_a = |scaled| {
        let a = Cluster { scaled_recently: scaled, available: Some(0), ..grows("a", [1, 10], 5, 10) };
        let b = Cluster { available: Some(20), ..asks("b", [1, 10], 5) };
        let mut request = asked(2, 20, vec![a, b]);
        (request.policy, request.period) = (Policy::DynamicWeighted, Some(SignedDuration::from_secs(60)));
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let planned = plan(&request);
        planned.shares.iter().find(|share| share.cluster == "a").unwrap().target.max
    };
    assert_eq!((max_of_a(false), max_of_a(true)), (5, 10));
}

#[test]
fn a_cluster_that_leaves_owes_what_its_hpa_added_a_moment_ago() {
    let mut request = asked(2, 40, vec![grows("a", [1, 20], 5, 12), asks("b", [1, 20], 3)]);
    (request.clusters[0].is_candidate, request.clusters[0].state) = (false, ClusterState::Leaving { evicted: false });
    let planned = plan(&request);
    let share = planned.shares.iter().find(|share| share.cluster == "a").unwrap();
    assert_eq!(share.memory.lost.map(|lost| lost.replicas), Some(12));
    let bounds = planned.steps.iter().find_map(|step| match step.action {
        Action::ApplyHpa { cluster: "a", bounds, .. } => Some(bounds.max),
        _ => None,
    });
    assert_eq!(bounds, Some(12));
}
