//! Replicas that other clusters run in place of a cluster that cannot scale.

use decision::load::Load;
use decision::plan::{
    Assist, Cause, Cluster, ClusterState, Memory, Plan, Policy, Reach, Reason, Request, ScaleUpBlock, Why, plan,
};

use decision::hpa::behavior::Select;

use super::{MINUTE, NOW, REACTION, TWICE, WINDOW, assists, at_rest, of, room, rules, scales};
use crate::assignment::cases::{confirmed, request, runs, total};

/// Four replicas are missing in c1.
fn short(policy: Policy, others: [Cluster<'static>; 2]) -> Request<'static> {
    let c1 = Cluster { pending: 4, ready: 6, priority: Some(3), ..runs("c1", 10) };
    let [c2, c3] = others;
    at_rest(policy, [(c1, 1, 10), (c2, 1, 60), (c3, 1, 60)])
}

fn helped<const N: usize>(by: [(&str, u32); N]) -> Vec<(String, u32)> {
    by.map(|(name, more)| (name.to_owned(), 2 + more)).to_vec()
}

#[test]
fn g11_help_goes_by_static_weight() {
    let request = short(
        Policy::StaticWeighted,
        [Cluster { weight: 3, ..room("c2", 50) }, Cluster { weight: 1, ..room("c3", 50) }],
    );
    let plan = plan(&request);
    assert_eq!(assists(&plan), helped([("c2", 3), ("c3", 1)]));
    assert_eq!(scales(&plan), [("c2".to_owned(), 5, Why::ScaleAssisted), ("c3".to_owned(), 3, Why::ScaleAssisted)]);
}

#[test]
fn g12_help_goes_by_room() {
    let request = short(Policy::DynamicWeighted, [room("c2", 50), room("c3", 50)]);
    assert_eq!(assists(&plan(&request)), helped([("c2", 2), ("c3", 2)]));
}

#[test]
fn g13_help_fills_the_clusters() {
    let request = short(Policy::Aggregated, [room("c2", 3), room("c3", 1)]);
    assert_eq!(assists(&plan(&request)), helped([("c2", 3), ("c3", 1)]));
    let [c2, c3] = [(room("c2", 3), 2), (room("c3", 1), 1)]
        .map(|(cluster, priority)| Cluster { priority: Some(priority), ..cluster });
    assert_eq!(assists(&plan(&short(Policy::Prioritized, [c2, c3]))), helped([("c2", 3), ("c3", 1)]));
}

#[test]
fn of_duplicated_clusters_the_one_with_most_room_helps() {
    let request = short(Policy::Duplicated, [room("c2", 9), room("c3", 30)]);
    let plan = plan(&request);
    assert_eq!(assists(&plan), helped([("c3", 4)]));
    assert!(plan.shares.iter().all(|share| share.reason == Reason::Duplicated));
}

#[test]
fn help_keeps_to_what_the_user_allows_members_to_add() {
    let asked = |scale_up| {
        let request = Request { scale_up, ..short(Policy::DynamicWeighted, [room("c2", 50), room("c3", 50)]) };
        assists(&plan(&request))
    };
    assert_eq!(asked(rules(Select::Max, 1, None)), helped([("c2", 1), ("c3", 1)]), "a step of each");
    assert_eq!(asked(rules(Select::Max, 9, None)), helped([("c2", 2), ("c3", 2)]));
    assert_eq!(asked(rules(Select::Disabled, 9, None)), []);
}

#[test]
fn replacement_is_not_scaling_and_is_not_bound() {
    let away = gone(Policy::Aggregated, ClusterState::Lost);
    let free = assists(&plan(&away));
    assert!(!free.is_empty());
    let bound = Request { scale_up: rules(Select::Disabled, 1, None), ..gone(Policy::Aggregated, ClusterState::Lost) };
    assert_eq!(assists(&plan(&bound)), free);
}

#[test]
fn help_is_asked_for_once_and_again_only_for_more() {
    let mut request = short(Policy::Aggregated, [room("c2", 30), room("c3", 1)]);
    let first = plan(&request);
    let memories: Vec<Memory> = first.shares.iter().map(|share| share.memory).collect();
    assert_eq!((memories[0].covered_replicas, memories[1].assist), (4, Some(Assist { replicas: 6, since: NOW })));
    for (cluster, memory) in request.clusters.iter_mut().zip(&memories) {
        cluster.memory = *memory;
    }
    assert_eq!(assists(&plan(&request)), helped([("c2", 4)]));
    // It runs them: nothing is asked again.
    (request.clusters[1].current, request.clusters[1].ready) = (Some(6), 6);
    assert_eq!(assists(&plan(&request)), []);
    (request.clusters[0].current, request.clusters[0].pending) = (Some(13), 7);
    assert_eq!(assists(&plan(&request)), [("c2".to_owned(), 9)]);
}

#[test]
fn help_that_brings_a_metric_within_the_tolerance_is_not_asked_for_anew_when_its_hpa_removes_it() {
    let at = |value| Some(Load { value, target: 100 });
    let c1 = |value| Cluster { available: Some(5), load: at(value), ..runs("c1", 6) };
    let remembered = |value| {
        let mut request = at_rest(Policy::StaticWeighted, [(c1(value), 1, 6), (room("c2", 20), 1, 3)]);
        request.clusters[0].memory.covered_replicas = 2;
        of(&plan(&request), "c1").memory.covered_replicas
    };
    assert_eq!([110, 101].map(remembered), [2, 2], "without the help it is at its max again");
    assert_eq!(remembered(100), 0, "it needs no more");
}

#[test]
fn a_member_whose_workload_cannot_be_written_is_asked_by_the_min_of_its_hpa() {
    let pull = Cluster { reach: Reach::BOUNDS, ..room("c2", 30) };
    let mut request = short(Policy::Aggregated, [pull, room("c3", 3)]);
    let first = plan(&request);
    assert_eq!((assists(&first), scales(&first)), (helped([("c2", 4)]), vec![]));
    assert_eq!(asked(&first, "c2"), 6);
    // It runs them: its min stays until its HPA wants as many by itself.
    let kept: Vec<_> = first.shares.iter().map(|share| (share.kept(), share.memory)).collect();
    for (cluster, kept) in request.clusters.iter_mut().zip(kept) {
        (cluster.target, cluster.memory) = kept;
    }
    let c2 = &mut request.clusters[1];
    (c2.current, c2.ready, c2.load) = (Some(6), 6, Some(Load { value: 40, target: 100 }));
    let holding = plan(&request);
    assert_eq!((asked(&holding, "c2"), holding.next), (6, Some(NOW + REACTION)), "headroom moved with it");
    request.now = NOW + REACTION;
    let holding = plan(&request);
    assert_eq!((asked(&holding, "c2"), holding.next), (6, Some(NOW + WINDOW)));
    request.clusters[1].load = Some(Load { value: 95, target: 100 });
    assert_eq!(asked(&plan(&request), "c2"), 1);
    request.clusters[1].load = Some(Load { value: 40, target: 100 });
    request.now = NOW + WINDOW;
    assert_eq!(asked(&plan(&request), "c2"), 1, "at most for the window");
}

#[test]
fn a_member_at_zero_whose_workload_cannot_be_written_is_not_asked() {
    let stopped = Cluster { reach: Reach::BOUNDS, current: Some(0), ready: 0, ..room("c2", 30) };
    assert_eq!(assists(&plan(&short(Policy::Aggregated, [stopped, room("c3", 3)]))), helped([("c3", 3)]));
}

/// The min that the HPA of a cluster has for now.
fn asked(plan: &Plan<'_>, name: &str) -> u32 {
    of(plan, name).now.min
}

#[test]
fn what_a_cluster_at_its_max_has_no_room_for_is_run_by_others() {
    for policy in [Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized] {
        let c1 = Cluster { load: Some(TWICE), priority: Some(3), available: Some(0), ..runs("c1", 10) };
        let others =
            [("c2", 2), ("c3", 1)].map(|(name, priority)| Cluster { priority: Some(priority), ..room(name, 5) });
        let [c2, c3] = others;
        let request = at_rest(policy, [(c1, 1, 10), (c2, 1, 60), (c3, 1, 60)]);
        let plan = plan(&request);
        assert_eq!(of(&plan, "c1").target.max, 10, "{policy:?}: more max would only be pending pods");
        assert_eq!(assists(&plan), helped([("c2", 5), ("c3", 5)]), "{policy:?}");
    }
}

#[test]
fn an_unconfirmed_write_does_not_make_a_cluster_ask_again() {
    let c1 = Cluster { ready: 10, load: Some(TWICE), priority: Some(3), ..runs("c1", 10) };
    let mut request = at_rest(Policy::StaticWeighted, [(c1, 1, 10), (room("c2", 50), 1, 60), (room("c3", 50), 1, 60)]);
    let first: Vec<Memory> = plan(&request).shares.iter().map(|share| share.memory).collect();
    assert_eq!(first[0].covered_replicas, 10);
    for (cluster, memory) in request.clusters.iter_mut().zip(&first) {
        cluster.memory = *memory;
    }
    // Its HPA was written again, and has not answered.
    let cluster = &mut request.clusters[0];
    (cluster.load, cluster.hpa_desired) = (None, None);
    cluster.hpa.as_mut().unwrap().confirmed = false;
    let memory = plan(&request).shares[0].memory;
    assert_eq!((memory.scale_up_blocked, memory.covered_replicas), (first[0].scale_up_blocked, 10));
}

/// c1 ran four replicas and is gone.
fn gone(policy: Policy, state: ClusterState) -> Request<'static> {
    let others = [Cluster { weight: 3, ..room("c2", 50) }, Cluster { weight: 1, ..room("c3", 50) }];
    let [c2, c3] = others;
    let mut request = at_rest(policy, [(runs("c1", 4), 1, 10), (c2, 1, 60), (c3, 1, 60)]);
    (request.clusters[0].state, request.clusters[0].ready) = (state, 0);
    request
}

#[test]
fn what_a_failed_or_evicted_cluster_ran_others_run_at_once_and_that_is_asked_once() {
    for state in [ClusterState::Lost, ClusterState::Leaving { evicted: true }] {
        let mut request = gone(Policy::StaticWeighted, state);
        let first = plan(&request);
        assert_eq!(assists(&first), helped([("c2", 3), ("c3", 1)]), "{state:?}");
        assert_eq!(
            scales(&first),
            [("c2".to_owned(), 5, Why::ScaleAssisted), ("c3".to_owned(), 3, Why::ScaleAssisted)]
        );
        // The status says now that c1 has nothing any more.
        let kept = |name: &str| first.shares.iter().find(|share| share.cluster == name);
        let kept = request.clusters.iter().map(|cluster| kept(cluster.name).map(|share| (share.kept(), share.memory)));
        let kept: Vec<_> = kept.collect();
        for (cluster, kept) in request.clusters.iter_mut().zip(kept) {
            (cluster.target, cluster.memory) = (kept.and_then(|kept| kept.0), kept.unwrap_or_default().1);
        }
        assert_eq!(assists(&plan(&request)), helped([("c2", 3), ("c3", 1)]), "{state:?}");
    }
    assert_eq!(assists(&plan(&gone(Policy::DynamicWeighted, ClusterState::Lost))), helped([("c2", 2), ("c3", 2)]));
    assert_eq!(assists(&plan(&gone(Policy::StaticWeighted, ClusterState::Silent))), []);
}

#[test]
fn what_a_failed_cluster_ran_is_replaced_within_the_room_whoever_may_help() {
    let mut request = gone(Policy::Aggregated, ClusterState::Lost);
    (request.clusters[1].available, request.clusters[2].available) = (Some(2), Some(1));
    assert_eq!(assists(&plan(&request)), helped([("c2", 2), ("c3", 1)]));
    let lost = plan(&request).shares[0].memory.lost.unwrap();
    assert_eq!((lost.replicas, lost.uncovered), (4, 1), "no room");
    // Replacement of what ran is not scaling.
    request.scale_assist = false;
    assert_eq!(assists(&plan(&request)), helped([("c2", 2), ("c3", 1)]));
    // What the others run more since it fell silent is not run twice.
    let mut grown = gone(Policy::StaticWeighted, ClusterState::Lost);
    grown.clusters[0].memory.other_replicas = Some(1);
    assert_eq!(assists(&plan(&grown)), helped([("c2", 1)]));
    assert_eq!(assists(&plan(&gone(Policy::Duplicated, ClusterState::Lost))), helped([("c2", 4)]));
}

/// The mins for now of `a` with `runs` replicas and `room`, and of `b`, whose only pod is unschedulable or runs.
fn mins(policy: Policy, (running, room): (u32, u32), pending: u32) -> Vec<u32> {
    let blocked = ScaleUpBlock { cause: Cause::Pending, since: NOW - MINUTE };
    let memory = Memory { scale_up_blocked: Some(blocked).filter(|_| pending > 0), ..Memory::default() };
    let a = Cluster { available: Some(room), ..runs("a", running) };
    let b = Cluster { available: Some(0), pending, ready: 1 - pending, memory, ..runs("b", 1) };
    let mut request = request(total(2, 6), policy, vec![a, b]);
    for (cluster, max) in request.clusters.iter_mut().zip([5, 1]) {
        (cluster.target, cluster.hpa) = (Some(total(1, max)), confirmed(total(1, max)));
        cluster.hpa_desired = cluster.current;
    }
    (request.now, request.window) = (NOW, WINDOW);
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    assert_eq!([of(&plan, "a").target.min, of(&plan, "b").target.min], [1, 1], "the targets are as before");
    plan.shares.iter().map(|share| share.now.min).collect()
}

#[test]
fn a_min_that_a_cluster_cannot_run_is_held_by_others_as_long() {
    for policy in [Policy::Prioritized, Policy::Aggregated, Policy::DynamicWeighted, Policy::StaticWeighted] {
        assert_eq!(mins(policy, (1, 3), 1), [2, 1], "{policy:?}");
        assert_eq!(mins(policy, (1, 3), 0), [1, 1], "{policy:?}: its pod has a node");
        assert_eq!(mins(policy, (1, 0), 1), [1, 1], "{policy:?}: there is no room");
        assert_eq!(mins(policy, (3, 0), 1), [2, 1], "{policy:?}: it runs already");
    }
}

#[test]
fn a_min_that_did_not_come_where_it_was_asked_for_is_held_by_another_cluster() {
    let blocked = Some(ScaleUpBlock { cause: Cause::Pending, since: NOW - MINUTE });
    let stuck = Memory { scale_up_blocked: blocked, ..Memory::default() };
    let held = |asked: i32| {
        let memory = Memory { assist: Some(Assist { replicas: 2, since: NOW - MINUTE * asked }), ..Memory::default() };
        // Its HPA wants the second one, and a quota refuses it.
        let a = Cluster { available: Some(0), hpa_desired: Some(2), memory, ..runs("a", 1) };
        let b = Cluster { available: Some(0), pending: 1, ready: 0, memory: stuck, ..runs("b", 1) };
        let c = Cluster { available: Some(5), ..runs("c", 1) };
        let mut request = request(total(3, 15), Policy::DynamicWeighted, vec![a, b, c]);
        for (cluster, max) in request.clusters.iter_mut().zip([5, 1, 9]) {
            (cluster.target, cluster.hpa) = (Some(total(1, max)), confirmed(total(1, max)));
        }
        (request.now, request.window) = (NOW, WINDOW);
        request.assignment_hash = Some(plan(&request).assignment_hash);
        plan(&request).shares.iter().map(|share| share.now.min).collect::<Vec<_>>()
    };
    assert_eq!(held(1), [2, 1, 1], "it may come yet");
    assert_eq!(held(6), [1, 1, 2]);
}
