//! Tiers: a lower one gets headroom only when those above cannot run what is asked for.

use decision::load::Load;
use decision::plan::{Action, Bounds, Cluster, ClusterState, Hpa, Moved, Policy, Request, plan};

use super::headroom::g8;
use super::{MINUTE, TWICE, ago, at_rest, room};
use crate::assignment::cases::{named, runs, targets};

#[test]
fn pods_without_a_node_open_the_next_tier_at_once_whatever_moved_before() {
    let mut request = g8();
    request.clusters[0].memory.moved = ago(30).map(Moved::Received);
    request.clusters[1].memory.moved = ago(30).map(Moved::Donated);
    assert_eq!(targets(&plan(&request)), named([("m1", 8, 10), ("m2", 1, 14)]));
    let m2 = &mut request.clusters[1];
    (m2.current, m2.ready, m2.hpa_desired, m2.load) = (Some(1), 1, Some(1), Some(TWICE));
    assert_eq!(targets(&plan(&request)), named([("m1", 8, 10), ("m2", 1, 14)]), "at its max too");
}

#[test]
fn the_next_tier_opens_when_every_cluster_above_is_at_its_max_and_wants_more() {
    let opened = |peer: Cluster<'static>| {
        let peer = Cluster { priority: Some(2), load: Some(TWICE), ..peer };
        let m1 = Cluster { priority: Some(2), load: Some(TWICE), ..runs("m1", 8) };
        let m3 = Cluster { priority: Some(1), available: Some(40), ..runs("m3", 1) };
        let mut request = at_rest(Policy::Prioritized, [(m1, 1, 8), (peer, 1, 4), (m3, 1, 1)]);
        for (cluster, most) in request.clusters.iter_mut().zip([8, 4, 60]) {
            (cluster.limits.most, cluster.available) = (most, cluster.available.or(Some(0)));
        }
        request.total.max = 40;
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        assert!(plan.notes.is_empty(), "{:?}", plan.notes);
        targets(&plan)
    };
    assert_eq!(opened(runs("m2", 4)), named([("m1", 1, 8), ("m2", 1, 4), ("m3", 1, 28)]));
    let mut idle = room("m2", 20);
    (idle.current, idle.ready) = (Some(0), 0);
    assert_eq!(opened(idle), named([("m1", 1, 8), ("m2", 1, 4), ("m3", 1, 28)]), "four of eight missing ones fit");
}

#[test]
fn the_next_tier_stays_closed_while_a_cluster_above_can_run_what_is_asked_for() {
    let m1 = Cluster { priority: Some(2), pending: 2, ready: 10, ..runs("m1", 12) };
    let m2 = |room| Cluster { priority: Some(2), available: Some(room), ..runs("m2", 4) };
    let m3 = Cluster { priority: Some(1), available: Some(40), ..runs("m3", 1) };
    let moved = |room| targets(&plan(&at_rest(Policy::Prioritized, [(m1, 1, 30), (m2(room), 1, 5), (m3, 1, 1)])));
    assert_eq!(moved(3), named([("m1", 1, 10), ("m2", 1, 25), ("m3", 1, 1)]));
    assert_eq!(moved(1), named([("m1", 1, 10), ("m2", 1, 5), ("m3", 1, 21)]), "one of two");
}

#[test]
fn a_rebalance_a_return_and_a_failure_give_a_lower_tier_no_headroom_that_nothing_asks_for() {
    let own = |name, replicas, room| Cluster { priority: Some(2), available: Some(room), ..runs(name, replicas) };
    let cloud = Cluster { priority: Some(1), available: Some(40), ..runs("m3", 1) };
    let fleet = |room| {
        let clusters = [(own("m1", 12, 0), 3, 36), (own("m2", 8, room), 1, 23), (cloud, 1, 1)];
        Request { period: Some(MINUTE), ..at_rest(Policy::Prioritized, clusters) }
    };
    let closed = named([("m1", 3, 36), ("m2", 1, 23), ("m3", 1, 1)]);
    assert_eq!(targets(&plan(&fleet(0))), closed);
    let mut back = fleet(0);
    let m3 = &mut back.clusters[2];
    (m3.target, m3.hpa, m3.entry, m3.current, m3.ready) = (None, None, None, None, 0);
    (back.clusters[0].target, back.period) = (Some(Bounds { min: 3, max: 37 }), None);
    assert_eq!(targets(&plan(&back)), closed);
    let failed = |room| {
        let mut request = fleet(room);
        (request.clusters[0].state, request.clusters[0].ready) = (ClusterState::Lost, 0);
        targets(&plan(&request))
    };
    assert_eq!(failed(12), named([("m2", 4, 59), ("m3", 1, 1)]), "all that ran fits");
    assert_eq!(failed(2), named([("m2", 4, 23), ("m3", 1, 37)]));
}

/// m1 has bounds, and m2 and m3 none.
fn one_of_three(m1: Cluster<'static>) -> Request<'static> {
    let of = |name, replicas, room| Cluster { available: Some(room), ..runs(name, replicas) };
    let mut request = at_rest(Policy::Aggregated, [(m1, 2, 20), (of("m2", 0, 9), 0, 0), (of("m3", 0, 9), 0, 0)]);
    for cluster in &mut request.clusters[1..] {
        (cluster.target, cluster.hpa, cluster.entry, cluster.current) = (Some(Bounds::NONE), None, None, None);
    }
    request
}

#[test]
fn a_further_cluster_is_opened_when_those_that_are_open_cannot_run_what_is_asked_for() {
    let idle = Cluster { available: Some(0), ..runs("m1", 2) };
    let closed = named([("m1", 2, 20), ("m2", 0, 0), ("m3", 0, 0)]);
    let mut back = one_of_three(idle);
    back.clusters[1].target = None;
    assert_eq!(targets(&plan(&back)), closed);
    let pends = Cluster { ready: 2, ..runs("m1", 4) };
    assert_eq!(targets(&plan(&one_of_three(pends))), closed);
    let pends = Cluster { pending: 2, ..pends };
    let opened = named([("m1", 2, 2), ("m2", 1, 18), ("m3", 0, 0)]);
    assert_eq!(targets(&plan(&one_of_three(pends))), opened, "one of them");
}

#[test]
fn what_a_failed_cluster_had_opens_another_one_only_where_the_open_ones_have_no_room() {
    let failed = |room| {
        let mut request = one_of_three(runs("m1", 8));
        let m3 = Cluster { available: Some(room), ..runs("m3", 2) };
        let bounds = Bounds { min: 1, max: 4 };
        let hpa = request.clusters[0].hpa.map(|hpa| Hpa { written: Some(bounds), ..hpa });
        request.clusters[2] = Cluster { target: Some(bounds), hpa, ..m3 };
        request.total.max = 24;
        request.assignment_hash = Some(plan(&request).assignment_hash);
        (request.clusters[0].state, request.clusters[0].ready) = (ClusterState::Lost, 0);
        targets(&plan(&request))
    };
    assert_eq!(failed(8), named([("m2", 0, 0), ("m3", 2, 24)]));
    assert_eq!(failed(4), named([("m2", 1, 9), ("m3", 2, 15)]));
}

#[test]
fn a_tier_that_rounding_keeps_above_its_min_holds_nobody() {
    let held = |value, before| {
        let of = |name, priority, replicas| Cluster {
            priority: Some(priority),
            load: Some(Load { value, target: 100 }),
            ..runs(name, replicas)
        };
        let mut request = at_rest(Policy::Prioritized, [(of("own", 2, 98), 1, 98), (of("cloud", 1, 2), 1, 2)]);
        request.clusters[0].hpa.as_mut().unwrap().scale_down_disabled = before;
        let held = |step: &decision::plan::Step<'_>| match step.action {
            Action::ApplyHpa { cluster: "own", scale_down_disabled, .. } => Some(scale_down_disabled),
            _ => None,
        };
        plan(&request).now().find_map(held).unwrap_or(before)
    };
    assert_eq!([55, 50, 100].map(|value| held(value, true)), [false, true, true]);
    assert_eq!([55, 50, 100].map(|value| held(value, false)), [false, true, true]);
    assert_eq!([true, false].map(|before| held(95, before)), [true, false], "an HPA tolerates as much");
}
