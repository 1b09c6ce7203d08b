//! Clusters that do not answer for a while, while others leave, begin or have no nodes.

use decision::plan::{
    Action, Bounds, Cause, Cluster, ClusterState, Failed, Hpa, HpaVersion, Limits, Memory, Note, Plan, Policy, Reach,
    plan,
};
use jiff::SignedDuration;

use super::cases::{cluster, confirmed, request, runs, targets, to_zero, total};
use super::world::World;

/// The bounds that are written to `b` now.
fn applied(plan: &Plan<'_>) -> Option<Bounds> {
    plan.now().find_map(|step| match step.action {
        Action::ApplyHpa { cluster: "b", bounds, .. } => Some(bounds),
        _ => None,
    })
}

#[test]
fn a_cluster_without_a_share_that_answers_is_nobody_to_be_asked() {
    let room = |(name, weight): (&'static str, u64)| Cluster { weight, available: Some(90), ..runs(name, 3) };
    let clusters = [("a", 3), ("b", 1), ("c", 0)].map(room).to_vec();
    let mut request = request(total(1, 9), Policy::StaticWeighted, clusters);
    request.replacement = Some(SignedDuration::from_mins(10));
    let mut world = World::new(request);
    world.reconcile(usize::MAX);
    for cluster in &mut world.request.clusters {
        if cluster.name != "c" {
            cluster.state = ClusterState::Silent;
        }
    }
    for _ in 0..30 {
        world.reconcile(usize::MAX);
        world.pass(60);
    }
    assert!(world.members["c"].entry.is_some(), "it waits until somebody can be asked");
}

#[test]
fn a_first_hpa_never_has_a_max_below_what_runs_while_an_old_one_waits_for_a_cluster_that_does_not_answer() {
    let old =
        Hpa { written: None, version: HpaVersion::V2, confirmed: false, pending_max: 11, scale_down_disabled: false };
    let a = Cluster { hpa: Some(old), state: ClusterState::Silent, ..runs("a", 3) };
    let bounds = |ran, max| {
        let clusters = vec![a, Cluster { available: Some(90), ..runs("b", ran) }];
        let request = request(total(1, max), Policy::Aggregated, clusters);
        applied(&plan(&request))
    };
    assert_eq!(bounds(3, 12), None, "of three, one would be left");
    assert_eq!(bounds(1, 12), Some(Bounds { min: 1, max: 1 }));
    assert_eq!(bounds(3, 14).map(|bounds| bounds.max), Some(3));
}

#[test]
fn the_sizes_of_clusters_of_which_a_share_may_be_used_are_looked_at_again() {
    for (period, seconds) in [(None, 60), (Some(SignedDuration::from_secs(20)), 20)] {
        let next = |cap| {
            let target = Some(total(2, 8));
            let a = Cluster { available: Some(90), target, ..runs("a", 2) };
            let clusters = vec![a, Cluster { usage_limit: cap, target, ..runs("b", 2) }];
            let mut request = request(total(2, 8), Policy::Duplicated, clusters);
            request.period = period;
            request.assignment_hash = Some(plan(&request).assignment_hash);
            plan(&request).next.map(|next| next.duration_since(request.now))
        };
        assert_eq!([None, Some(4)].map(next), [None, Some(SignedDuration::from_secs(seconds))]);
    }
}

#[test]
fn a_copy_that_is_to_go_is_not_what_serves_in_its_place() {
    let goes = |state, ready| {
        let cluster = |name, max, most| Cluster {
            hpa: confirmed(total(1, max)),
            limits: Limits { least: 0, most },
            ..runs(name, max)
        };
        let clusters = vec![Cluster { state, ready, ..cluster("a", 5, 90) }, cluster("b", 3, 0)];
        let mut request = request(total(1, 5), Policy::Duplicated, clusters);
        request.replacement = Some(SignedDuration::from_mins(10));
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        plan.now().any(|step| matches!(step.action, Action::DeleteHpa { cluster: "b" }))
    };
    assert!(goes(ClusterState::Serving, 5), "there is no room for more");
    assert!(!goes(ClusterState::Serving, 0), "nobody else is ready");
    assert!(!goes(ClusterState::Silent, 5), "nobody else answers");
}

#[test]
fn nothing_is_taken_from_a_failed_cluster_while_no_other_can_be_asked() {
    let failed = |other: Cluster<'static>| {
        let bounds = total(2, 10);
        let a = Cluster { hpa: confirmed(bounds), target: Some(bounds), hpa_current: Some(6), ..runs("a", 6) };
        let mut request = request(bounds, Policy::Aggregated, vec![a, other]);
        request.assignment_hash = Some(plan(&request).assignment_hash);
        request.clusters[0].state = ClusterState::Lost;
        request.clusters[0].ready = 0;
        let plan = plan(&request);
        (plan.now().count(), plan.notes.contains(&Note::AllLost { candidates: 2 }))
    };
    let none = Cluster { limits: Limits { least: 0, most: 0 }, target: Some(Bounds::NONE), ..cluster("b") };
    let silent =
        Cluster { hpa: confirmed(total(1, 1)), state: ClusterState::Silent, target: Some(total(1, 1)), ..runs("b", 1) };
    assert_eq!([none, silent].map(failed), [(0, true); 2]);
    let able = Cluster { hpa: confirmed(total(1, 1)), target: Some(total(1, 1)), available: Some(90), ..runs("b", 1) };
    let (steps, kept) = failed(able);
    assert!(steps > 0 && !kept, "another one runs what it ran");
}

#[test]
fn where_all_begin_at_zero_and_no_hpa_comes_back_by_itself_one_is_started() {
    for (own_zero, starts) in [(false, 1), (true, 0)] {
        let cluster = |name| Cluster { available: Some(10), reach: Reach { scale: true, own_zero }, ..cluster(name) };
        let request = to_zero(request(total(0, 10), Policy::Aggregated, vec![cluster("a"), cluster("b")]));
        let plan = plan(&request);
        let awake = plan.shares.iter().filter(|share| share.target.is_some() && !share.memory.scaled_to_zero).count();
        assert_eq!(awake, starts, "{:?}", plan.shares);
    }
}

#[test]
fn a_first_entry_asks_for_no_more_than_the_max_that_is_written() {
    let old = Hpa {
        written: Some(total(4, 6)),
        version: HpaVersion::V2,
        confirmed: false,
        pending_max: 10,
        scale_down_disabled: false,
    };
    let target = Some(total(4, 6));
    let a = Cluster { hpa: Some(old), state: ClusterState::Silent, target, ..runs("a", 6) };
    let mut request =
        request(total(8, 12), Policy::StaticWeighted, vec![a, Cluster { available: Some(90), target, ..cluster("b") }]);
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    let entry = plan.now().find_map(|step| match &step.action {
        Action::UpdateBinding { entries, .. } => entries.iter().find(|entry| entry.cluster == "b"),
        _ => None,
    });
    assert_eq!((applied(&plan).map(|bounds| bounds.max), entry.map(|entry| entry.replicas)), (Some(2), Some(2)));
}

#[test]
fn a_cluster_that_is_woken_gets_no_more_than_the_max_that_is_written() {
    let reach = Reach { scale: true, own_zero: false };
    let a =
        Cluster { hpa: confirmed(total(1, 8)), target: Some(total(1, 8)), available: Some(90), reach, ..runs("a", 7) };
    let memory = Memory { scaled_to_zero: true, ..Memory::default() };
    let asleep = Cluster { available: Some(90), reach, memory, ..runs("b", 0) };
    let b = Cluster { hpa: confirmed(total(1, 2)), target: Some(total(1, 2)), ..asleep };
    let request = to_zero(request(total(8, 10), Policy::StaticWeighted, vec![a, b]));
    let scaled = plan(&request).now().find_map(|step| match step.action {
        Action::Scale { cluster: "b", replicas, .. } => Some(replicas),
        _ => None,
    });
    assert_eq!(scaled, Some(2));
}

#[test]
fn where_nobody_got_a_share_yet_the_first_division_goes_by_what_runs() {
    let b = |state| Cluster { available: Some(20), state, ..runs("b", 2) };
    let a = |state| Cluster { available: Some(0), state, ..runs("a", 10) };
    let both = |state| request(total(2, 12), Policy::DynamicWeighted, vec![a(state), b(state)]);
    let silent = both(ClusterState::Silent);
    let none = plan(&silent);
    let mut later = both(ClusterState::Serving);
    later.assignment_hash = Some(none.assignment_hash);
    assert_eq!(targets(&plan(&later)), targets(&plan(&both(ClusterState::Serving))));
}

#[test]
fn others_are_raised_part_of_the_way_beside_one_that_does_not_answer_and_gets_no_share_any_more() {
    let a = Cluster {
        hpa: confirmed(total(1, 6)),
        weight: 0,
        state: ClusterState::Silent,
        target: Some(total(1, 6)),
        ..runs("a", 6)
    };
    let b = Cluster { hpa: confirmed(total(1, 4)), target: Some(total(1, 4)), available: Some(90), ..runs("b", 4) };
    let request = request(total(2, 12), Policy::StaticWeighted, vec![a, b]);
    assert_eq!(applied(&plan(&request)).map(|bounds| bounds.max), Some(6));
}

#[test]
fn a_cluster_of_another_group_that_was_evicted_is_remembered_for_an_hour() {
    let kept = |later| {
        let mut request = request(total(1, 9), Policy::Aggregated, vec![runs("a", 3)]);
        let last = request.now;
        let memory = Memory { evicted: Some(last), failures: Some(Failed { times: 2, last }), ..Memory::default() };
        let b = Cluster { is_candidate: false, state: ClusterState::Lost, memory, ..cluster("b") };
        request.clusters.push(b);
        request.now += SignedDuration::from_secs(later);
        let kept = plan(&request).shares.iter().find(|share| share.cluster == "b").map(|share| share.memory);
        kept.map(|kept| kept == memory)
    };
    assert_eq!([3_599, 3_600].map(kept), [Some(true), None]);
}

#[test]
fn without_scale_assist_a_new_leader_knows_which_pods_cannot_be_scheduled() {
    let clusters = vec![runs("a", 3), Cluster { pending: 2, ready: 1, ..runs("b", 3) }];
    let mut request = request(total(1, 9), Policy::Aggregated, clusters);
    request.scale_assist = false;
    let stuck: Vec<_> =
        plan(&request).shares.iter().map(|share| share.memory.scale_up_blocked.map(|blocked| blocked.cause)).collect();
    assert_eq!(stuck, [None, Some(Cause::Pending)]);
}

#[test]
fn a_copy_that_nobody_has_seen_yet_is_cut_before_what_is_ready() {
    let written = |confirmed| {
        let hpa = Hpa {
            written: Some(total(4, 5)),
            version: HpaVersion::V2,
            confirmed,
            pending_max: 5,
            scale_down_disabled: false,
        };
        (Some(hpa), Some(total(4, 5)))
    };
    let of_a = |told: bool| {
        let ((hpa, target), (new, _)) = (written(true), written(false));
        let a = Cluster { hpa, target, weight: 2, hpa_current: Some(5), ..runs("a", 5) };
        let a = if told { a } else { Cluster { current: None, ready: 0, ..a } };
        let b = Cluster { hpa: new, target, weight: 2, entry: Some(4), ..cluster("b") };
        let request = request(total(1, 5), Policy::StaticWeighted, vec![a, b]);
        plan(&request).shares.iter().find(|share| share.cluster == "a").map(|share| share.now.max)
    };
    assert_eq!([true, false].map(of_a), [Some(4), Some(3)], "a kind whose replicas nobody reports");
}
