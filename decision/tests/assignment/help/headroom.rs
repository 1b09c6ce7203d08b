//! Headroom that a full cluster donates, and that returns.

use decision::hpa::behavior::Select;
use decision::plan::{
    Action, Bounds, Cause, Cluster, ClusterState, Hpa, HpaVersion, Memory, Moved, Plan, Policy, Reason, Request,
    ScaleUpBlock, Why, plan,
};
use jiff::SignedDuration;

use super::{HALF, MINUTE, NOW, REACTION, TWICE, WINDOW, ago, assists, at_rest, of, room, rules, scales};
use crate::assignment::cases::{named, runs, targets, to_zero};

pub(super) fn g8() -> Request<'static> {
    let m1 = Cluster { priority: Some(2), pending: 6, ready: 10, ..runs("m1", 16) };
    let m2 = Cluster { priority: Some(1), ..runs("m2", 0) };
    at_rest(Policy::Prioritized, [(m1, 8, 23), (m2, 1, 1)])
}

#[test]
fn g8_a_full_cluster_hands_its_headroom_to_the_next_priority() {
    let mut request = to_zero(g8());
    request.clusters[1].memory.scaled_to_zero = true;
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 8, 10), ("m2", 1, 14)]));
    assert_eq!(scales(&plan), [("m2".to_owned(), 1, Why::ScaledFromZero)]);
    assert_eq!((of(&plan, "m1").reason, of(&plan, "m2").reason), (Reason::ScaleUpBlocked, Reason::HeadroomReceived));
    // The donor is lowered first.
    assert!(matches!(plan.steps[0].action, Action::ApplyHpa { cluster: "m1", .. }), "{:?}", plan.steps);
}

#[test]
fn pods_that_wait_for_less_than_the_delay_move_nothing() {
    let mut request = g8();
    request.delay = SignedDuration::from_secs(90);
    let first = plan(&request);
    assert_eq!(targets(&first), named([("m1", 8, 23), ("m2", 1, 1)]));
    assert_eq!(first.next, Some(NOW + request.delay));
    let since = of(&first, "m1").memory.scale_up_blocked;
    assert_eq!(since, Some(ScaleUpBlock { cause: Cause::Pending, since: NOW }));
    // Remembered, so that a restart does not begin anew.
    request.clusters[0].memory.scale_up_blocked = since;
    request.now += request.delay;
    assert_eq!(targets(&plan(&request)), named([("m1", 8, 10), ("m2", 1, 14)]));
}

#[test]
fn where_no_nodes_come_nobody_waits_for_them() {
    let mut request = g8();
    request.delay = SignedDuration::from_secs(90);
    request.clusters[0].no_nodes = true;
    let first = plan(&request);
    assert_eq!(targets(&first), named([("m1", 8, 10), ("m2", 1, 14)]));
    let since = of(&first, "m1").memory.scale_up_blocked;
    assert_eq!(since, Some(ScaleUpBlock { cause: Cause::NoNodes, since: NOW }));
    // It has pods without a node since then, whatever is said of nodes.
    (request.clusters[0].memory.scale_up_blocked, request.clusters[0].no_nodes) = (since, false);
    request.now += SignedDuration::from_secs(30);
    let second = plan(&request);
    assert_eq!(targets(&second), named([("m1", 8, 23), ("m2", 1, 1)]));
    let since = of(&second, "m1").memory.scale_up_blocked;
    assert_eq!(since, Some(ScaleUpBlock { cause: Cause::Pending, since: NOW }));
    assert_eq!(second.next, Some(NOW + request.delay));
}

#[test]
fn without_assist_bounds_are_kept_and_nobody_is_helped() {
    let mut request = g8();
    request.scale_assist = false;
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 8, 23), ("m2", 1, 1)]));
    assert_eq!(assists(&plan), []);
    assert_eq!(plan.next, None);
}

#[test]
fn g9_the_lowest_priority_shrinks_first_and_gives_back_what_it_does_not_need() {
    let fleet = |replicas: u32| {
        let cluster = |name, priority, replicas| Cluster {
            priority: Some(priority),
            load: Some(HALF),
            hpa_desired: Some(replicas),
            ..runs(name, replicas)
        };
        let m3 = cluster("m3", 1, replicas);
        at_rest(Policy::Prioritized, [(cluster("m1", 3, 4), 1, 4), (cluster("m2", 2, 9), 1, 9), (m3, 1, 4)])
    };
    let held = |plan: &Plan<'_>| -> Vec<(String, bool)> {
        let held = |step: &decision::plan::Step<'_>| match step.action {
            Action::ApplyHpa { cluster, scale_down_disabled: held, .. } => Some((cluster.to_owned(), held)),
            _ => None,
        };
        plan.now().filter_map(held).collect()
    };
    let all = fleet(4);
    let draining = plan(&all);
    assert_eq!(targets(&draining), named([("m1", 1, 4), ("m2", 1, 9), ("m3", 1, 4)]));
    assert_eq!(held(&draining), [("m1".to_owned(), true), ("m2".to_owned(), true)]);

    let mut drained = fleet(1);
    for cluster in &mut drained.clusters[..2] {
        cluster.hpa.as_mut().unwrap().scale_down_disabled = true;
    }
    let plan = plan(&drained);
    assert_eq!(targets(&plan), named([("m1", 1, 7), ("m2", 1, 9), ("m3", 1, 1)]));
    assert!(held(&plan).contains(&("m2".to_owned(), false)), "{:?}", plan.steps);
    assert_eq!(of(&plan, "m3").reason, Reason::PriorityDrained);
}

#[test]
fn clusters_of_one_tier_shrink_together() {
    let cluster = |name, priority, replicas| Cluster { priority: Some(priority), ..runs(name, replicas) };
    let request = at_rest(
        Policy::Prioritized,
        [(cluster("m1", 2, 4), 1, 5), (cluster("m2", 1, 3), 1, 5), (cluster("m3", 1, 1), 1, 5)],
    );
    let plan = plan(&request);
    let held: Vec<_> = plan.now().map(|step| &step.action).collect();
    assert!(matches!(held[..], [Action::ApplyHpa { cluster: "m1", scale_down_disabled: true, .. }]), "{held:?}");
}

#[test]
fn g10_headroom_is_divided_again_by_what_there_is_room_for() {
    let cluster = |name, available| Cluster { available: Some(available), ..runs(name, 6) };
    let mut request = at_rest(
        Policy::DynamicWeighted,
        [(cluster("m1", 2), 1, 7), (cluster("m2", 1), 1, 8), (cluster("m3", 1), 1, 7)],
    );
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 7), ("m2", 1, 8), ("m3", 1, 7)]));
    request.period = Some(MINUTE);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 1, 8), ("m2", 1, 7), ("m3", 1, 7)]));
    assert_eq!(plan.next, Some(NOW + REACTION), "clusters have reacted to what moved");
    // Once in a period.
    request.last_rebalanced = ago(30);
    let early = decision::plan::plan(&request);
    assert_eq!(targets(&early), named([("m1", 1, 7), ("m2", 1, 8), ("m3", 1, 7)]));
    assert_eq!(early.next, Some(NOW + SignedDuration::from_secs(30)));
}

#[test]
fn measurements_that_vary_by_a_pod_move_nothing_between_clusters_of_one_size() {
    let cluster = |name, available| Cluster { available: Some(available), ..runs(name, 1) };
    for rooms in [[40, 40, 41, 39], [39, 41, 40, 40], [41, 39, 39, 41]] {
        let [m1, m2, m3, m4] = rooms;
        let clusters = [("m1", m1), ("m2", m2), ("m3", m3), ("m4", m4)];
        let mut request =
            at_rest(Policy::DynamicWeighted, clusters.map(|(name, available)| (cluster(name, available), 1, 2)));
        request.period = Some(MINUTE);
        let kept = clusters.map(|(name, _)| (name, 1, 2));
        assert_eq!(targets(&plan(&request)), named(kept), "{rooms:?}");
    }
}

#[test]
fn a_rebalance_opens_no_cluster_and_raises_no_sum_of_mins() {
    for policy in [Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized] {
        let of = |name, replicas, room| Cluster { available: Some(room), ..runs(name, replicas) };
        let mut request = at_rest(policy, [(of("m1", 2, 0), 2, 4), (of("m2", 0, 9), 0, 0), (of("m3", 1, 2), 1, 2)]);
        let m2 = &mut request.clusters[1];
        (m2.target, m2.hpa, m2.entry, m2.current) = (Some(Bounds::NONE), None, None, None);
        request.period = Some(MINUTE);
        assert_eq!(targets(&plan(&request)), named([("m1", 2, 3), ("m2", 0, 0), ("m3", 1, 3)]), "{policy:?}");
    }
}

#[test]
fn while_nobody_says_how_much_room_there_is_nothing_is_divided_again() {
    let cluster = |name, available| Cluster { available, ..runs(name, 6) };
    let mut request = at_rest(Policy::DynamicWeighted, [(cluster("m1", Some(9)), 1, 7), (cluster("m2", None), 1, 12)]);
    request.period = Some(MINUTE);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 7), ("m2", 1, 12)]));
}

#[test]
fn a_cluster_that_does_not_tell_its_replicas_keeps_them_when_headroom_is_divided_again() {
    let cluster = |name| Cluster { available: Some(30), ..runs(name, 3) };
    let mut request = at_rest(
        Policy::Aggregated,
        [(cluster("m1"), 2, 3), (cluster("m2"), 1, 3), (Cluster { hpa_current: Some(3), ..cluster("m3") }, 1, 3)],
    );
    request.period = Some(MINUTE);
    let m3 = &mut request.clusters[2];
    (m3.current, m3.ready) = (None, 0);
    assert_eq!(targets(&plan(&request)), named([("m1", 2, 3), ("m2", 1, 3), ("m3", 1, 3)]));
    // Its template has changed, and it runs one by now.
    request.clusters[2].current = Some(1);
    assert_eq!(targets(&plan(&request)), named([("m1", 2, 5), ("m2", 1, 3), ("m3", 1, 1)]));
}

/// m1 is at its max and wants twice as much; m2 wants less than it may have.
fn at_max(policy: Policy) -> Request<'static> {
    let m1 = Cluster { load: Some(TWICE), available: Some(5), ..runs("m1", 8) };
    let m2 = Cluster { hpa_desired: Some(4), available: Some(20), load: Some(HALF), ..runs("m2", 4) };
    at_rest(policy, [(m1, 1, 8), (m2, 1, 14)])
}

#[test]
fn a_cluster_at_its_max_gets_what_it_needs_and_has_room_for() {
    for policy in [Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized] {
        let request = at_max(policy);
        let plan = plan(&request);
        assert_eq!(targets(&plan), named([("m1", 1, 13), ("m2", 1, 9)]), "{policy:?}");
        assert_eq!((of(&plan, "m1").reason, of(&plan, "m2").reason), (Reason::RaisedAtMax, Reason::HeadroomDonated));
    }
}

#[test]
fn the_max_of_a_cluster_is_not_raised_where_the_user_disables_scaling_up() {
    let request = Request { scale_up: rules(Select::Disabled, 4, None), ..at_max(Policy::Aggregated) };
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]));
    let request = Request { scale_up: rules(Select::Max, 4, Some(1.0)), ..at_max(Policy::Aggregated) };
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]), "twice the target is tolerated");
}

#[test]
fn the_split_of_the_user_stands_when_a_cluster_is_at_its_max() {
    let request = at_max(Policy::StaticWeighted);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 1, 8), ("m2", 1, 14)]));
    // Others run what it may not.
    assert_eq!(assists(&plan), [("m2".to_owned(), 12)]);
}

/// What two clusters that had half of 40 each get, one plan after another, while the second is as `limited` says and after
/// that.
fn limited(scale_assist: bool, limited: fn(&Cluster<'static>) -> Cluster<'static>) -> [[u32; 2]; 3] {
    let mut request = at_rest(Policy::StaticWeighted, [(room("m1", 50), 1, 20), (room("m2", 50), 1, 20)]);
    request.scale_assist = scale_assist;
    let m2 = request.clusters[1];
    [false, true, false].map(|is_limited| {
        let now = if is_limited { limited(&m2) } else { m2 };
        request.clusters[1] = Cluster { target: request.clusters[1].target, memory: request.clusters[1].memory, ..now };
        let seen = request.clone();
        let plan = plan(&seen);
        for (cluster, share) in request.clusters.iter_mut().zip(&plan.shares) {
            (cluster.target, cluster.memory) = (Some(share.target), share.memory);
        }
        request.now += MINUTE;
        ["m1", "m2"].map(|name| of(&plan, name).target.max)
    })
}

#[test]
fn what_limited_the_split_of_the_user_for_a_moment_limits_it_no_longer() {
    for scale_assist in [true, false] {
        let capped = limited(scale_assist, |m2| Cluster { usage_limit: Some(8), ..*m2 });
        assert_eq!(capped, [[20, 20], [32, 8], [20, 20]]);
        let silent = limited(scale_assist, |m2| {
            let written = Some(Bounds { min: 1, max: 5 });
            let hpa =
                Hpa { written, version: HpaVersion::V2, confirmed: true, pending_max: 5, scale_down_disabled: false };
            Cluster { state: ClusterState::Silent, hpa: Some(hpa), ..*m2 }
        });
        assert_eq!(silent, [[20, 20], [35, 5], [20, 20]]);
    }
}

#[test]
fn within_the_window_nobody_gets_back_what_it_gave() {
    let mut request = at_max(Policy::Aggregated);
    request.clusters[0].memory.moved = ago(299).map(Moved::Donated);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]));
    request.clusters[0].memory.moved = ago(300).map(Moved::Donated);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 13), ("m2", 1, 9)]));
    request.clusters[1].memory.moved = ago(299).map(Moved::Received);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]));
}

#[test]
fn a_cluster_that_is_back_receives_its_headroom_with_its_hpa() {
    let mut request = at_max(Policy::Aggregated);
    let m2 = &mut request.clusters[1];
    (m2.hpa, m2.hpa_desired, m2.load) = (None, None, None);
    m2.memory.moved = ago(400).map(Moved::Received);
    let mut waiting = request.clone();
    waiting.clusters[1].hpa = Some(Hpa {
        written: None,
        version: HpaVersion::V2,
        confirmed: false,
        pending_max: 1,
        scale_down_disabled: false,
    });
    let seen = plan(&waiting);
    assert_eq!(of(&seen, "m2").moved(&waiting).map(Moved::at), ago(400), "the old HPA is still there");
    let seen = plan(&request);
    let written = seen.now().any(|step| matches!(step.action, Action::ApplyHpa { cluster: "m2", .. }));
    assert!(written, "{:?}", seen.steps);
    assert_eq!(of(&seen, "m2").memory.received(), Some(NOW));

    let mut begun = at_max(Policy::Aggregated);
    begun.clusters[1].memory.moved = Some(Moved::Received(NOW));
    begun.now += WINDOW - SignedDuration::from_secs(1);
    assert_eq!(targets(&plan(&begun)), named([("m1", 1, 8), ("m2", 1, 14)]));
    begun.now += SignedDuration::from_secs(1);
    let later = plan(&begun);
    assert_eq!(targets(&later), named([("m1", 1, 13), ("m2", 1, 9)]));
    assert_eq!(of(&later, "m2").memory.donated(), Some(begun.now), "the window is over");
    let memory = Memory { moved: Some(Moved::Received(NOW)), ..Memory::default() };
    assert_eq!(decision::plan::Share { memory, ..*of(&later, "m2") }.moved(&begun), None, "and nobody needs the time");
}

#[test]
fn the_split_of_the_user_comes_back_when_the_full_cluster_has_room_again() {
    let m1 = Cluster { pending: 3, ready: 5, available: Some(0), ..runs("m1", 8) };
    let mut request = at_rest(Policy::StaticWeighted, [(m1, 1, 10), (room("m2", 20), 1, 10)]);
    let seen = request.clone();
    let full = plan(&seen);
    assert_eq!(targets(&full), named([("m1", 1, 5), ("m2", 1, 15)]));
    for (cluster, share) in request.clusters.iter_mut().zip(&full.shares) {
        cluster.memory = Memory { assist: None, scale_up_blocked: None, ..share.memory };
        (cluster.target, cluster.hpa.as_mut().unwrap().written) = (Some(share.target), Some(share.target));
    }
    let m1 = &mut request.clusters[0];
    (m1.current, m1.ready, m1.pending, m1.hpa_desired) = (Some(5), 5, 0, Some(5));
    request.now += WINDOW;
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 5), ("m2", 1, 15)]));
    request.clusters[0].available = Some(1);
    request.now -= SignedDuration::from_secs(1);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 5), ("m2", 1, 15)]));
    request.now += SignedDuration::from_secs(1);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 10), ("m2", 1, 10)]));
}
