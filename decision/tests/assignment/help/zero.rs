//! Clusters that are scaled to zero and from zero.

use decision::load::Load;
use decision::plan::{Cluster, ClusterState, Lost, Memory, Policy, Reach, ReplacementMin, Request, Why, plan};

use decision::hpa::behavior::Select;

use super::{MINUTE, NOW, REACTION, TWICE, WINDOW, at_rest, of, rules, scales};
use crate::assignment::cases::{cluster, named, runs, targets, to_zero};

/// Two replicas each and half to do; one is enough.
fn idle(policy: Policy) -> Request<'static> {
    let cluster = |name, weight, replicas, priority| Cluster {
        weight,
        priority: Some(priority),
        load: Some(Load { value: 30, target: 100 }),
        ..runs(name, replicas)
    };
    let maxes = if policy == Policy::StaticWeighted { [12, 8, 4] } else { [8; 3] };
    let [m1, m2, m3] = [cluster("m1", 3, 2, 1), cluster("m2", 2, 1, 2), cluster("m3", 1, 3, 3)];
    let mut request = at_rest(policy, [(m1, 2, maxes[0]), (m2, 1, maxes[1]), (m3, 3, maxes[2])]);
    request.total.min = 2;
    request.assignment_hash = Some(plan(&request).assignment_hash);
    to_zero(request)
}

#[test]
fn an_idle_cluster_goes_to_zero_after_the_window_and_only_one() {
    for (policy, victim) in [(Policy::Aggregated, "m2"), (Policy::StaticWeighted, "m3"), (Policy::Prioritized, "m1")] {
        let mut request = idle(policy);
        let first = plan(&request);
        // By priority, the idle tier hands over its headroom first, and the others react to that.
        let next = NOW + if policy == Policy::Prioritized { REACTION } else { WINDOW };
        assert_eq!((first.idle_since, first.next), (Some(NOW), Some(next)), "{policy:?}");
        assert_eq!(scales(&first), []);
        request.idle_since = first.idle_since;
        request.now += WINDOW;
        let second = plan(&request);
        assert_eq!(scales(&second), [(victim.to_owned(), 0, Why::ScaledToZero)], "{policy:?}");
        assert_eq!(second.idle_since, Some(request.now));
    }
    let request = idle(Policy::Duplicated);
    assert_eq!(plan(&request).idle_since, None);
}

#[test]
fn a_cluster_that_was_to_go_to_zero_and_has_load_before_the_write_stays() {
    let scaled = |replicas: u32, value: u64| {
        let mut request = idle(Policy::StaticWeighted);
        let marked = &mut request.clusters[2];
        marked.memory.scaled_to_zero = true;
        (marked.current, marked.ready, marked.hpa_desired) = (Some(replicas), replicas, Some(replicas));
        marked.load = Some(Load { value, target: 100 });
        let plan = plan(&request);
        (scales(&plan).iter().any(|(_, replicas, _)| *replicas == 0), of(&plan, "m3").memory.scaled_to_zero)
    };
    assert_eq!(scaled(3, 30), (true, true), "it is as idle as it was");
    assert_eq!(scaled(3, 90), (false, false), "the others run less than load asks of all");
    assert_eq!(scaled(6, 30), (false, false), "its HPA added replicas");
}

#[test]
fn a_new_cluster_begins_at_zero_unless_it_may_run_something_or_should_run_the_replicas_of_others() {
    let begins = |new: Cluster<'static>| {
        let mut request = idle(Policy::StaticWeighted);
        request.total.max = 90;
        request.clusters.push(Cluster { weight: 1, reach: request.clusters[0].reach, ..new });
        request.assignment_hash = Some(plan(&request).assignment_hash);
        of(&plan(&request), "new").memory.scaled_to_zero
    };
    let new = cluster("new");
    assert!(begins(new));
    assert!(!begins(Cluster { entry: Some(3), ..new }), "its replicas are not known");
    let floor = Some(ReplacementMin { replicas: 3, uncovered: 0, since: NOW });
    assert!(!begins(Cluster { memory: Memory { replacement_min: floor, ..Memory::default() }, ..new }));
}

#[test]
fn nobody_goes_to_zero_while_clusters_are_replaced() {
    let slept = |lost: Option<Lost>| {
        let mut request = idle(Policy::StaticWeighted);
        let leaving = ClusterState::Leaving { evicted: false };
        let gone = Cluster {
            is_candidate: false,
            state: leaving,
            memory: Memory { lost, ..Memory::default() },
            ..runs("m0", 2)
        };
        if lost.is_some() {
            request.clusters.push(gone);
        }
        request.replacement = Some(MINUTE * 10);
        request.assignment_hash = Some(plan(&request).assignment_hash);
        (request.idle_since, request.now) = (Some(NOW), NOW + WINDOW);
        let plan = plan(&request);
        scales(&plan).iter().any(|(_, replicas, _)| *replicas == 0)
    };
    assert!(slept(None));
    assert!(!slept(Some(Lost { replicas: 2, uncovered: 0, since: NOW })));
}

#[test]
fn nobody_goes_to_zero_when_the_others_could_not_carry_it_or_cover_the_min() {
    let mut heavy = idle(Policy::Aggregated);
    for cluster in &mut heavy.clusters {
        cluster.load = Some(Load { value: 95, target: 100 });
    }
    assert_eq!(plan(&heavy).idle_since, None);
    let mut covered = idle(Policy::Aggregated);
    covered.total.min = 6;
    covered.assignment_hash = Some(plan(&covered).assignment_hash);
    assert_eq!(plan(&covered).idle_since, None);
    let mut unknown = idle(Policy::Aggregated);
    unknown.clusters[2].load = None;
    assert_eq!(plan(&unknown).idle_since, None);
}

#[test]
fn clusters_at_zero_come_back_when_one_that_runs_has_too_much_to_do() {
    let asleep = |policy| {
        let mut request = idle(policy);
        for cluster in &mut request.clusters[..2] {
            (cluster.current, cluster.ready, cluster.load, cluster.hpa_desired) = (Some(0), 0, None, None);
            cluster.memory.scaled_to_zero = true;
        }
        request
    };
    for policy in [Policy::Aggregated, Policy::StaticWeighted, Policy::Prioritized] {
        let mut request = asleep(policy);
        assert_eq!(scales(&plan(&request)), [], "{policy:?}");
        request.clusters[2].load = Some(TWICE);
        let woken = scales(&plan(&request));
        let all = [("m1".to_owned(), 2, Why::ScaledFromZero), ("m2".to_owned(), 1, Why::ScaledFromZero)];
        // By priority, one after the other.
        let expected = if policy == Policy::Prioritized { &all[1..] } else { &all[..] };
        assert_eq!(woken, expected, "{policy:?}");
    }
}

#[test]
fn a_cluster_at_zero_comes_back_by_the_users_tolerance_and_not_where_scaling_up_is_disabled() {
    let woken = |value, scale_up| {
        let mut request = Request { scale_up, ..idle(Policy::Aggregated) };
        (request.clusters[0].current, request.clusters[0].ready, request.clusters[0].load) = (Some(0), 0, None);
        request.clusters[0].memory.scaled_to_zero = true;
        request.clusters[2].load = Some(Load { value, target: 100 });
        scales(&plan(&request)).len()
    };
    assert_eq!((woken(110, None), woken(111, None)), (0, 1));
    assert_eq!((woken(105, rules(Select::Max, 4, Some(0.05))), woken(106, rules(Select::Max, 4, Some(0.05)))), (0, 1));
    assert_eq!((woken(140, rules(Select::Max, 4, Some(0.4))), woken(141, rules(Select::Max, 4, Some(0.4)))), (0, 1));
    assert_eq!(woken(200, rules(Select::Disabled, 4, None)), 0);
}

#[test]
fn an_hpa_that_scales_to_zero_itself_gets_zero_as_its_min() {
    let mut request = idle(Policy::StaticWeighted);
    request.clusters[2].reach = Reach { own_zero: true, ..Reach::BOUNDS };
    (request.idle_since, request.now) = (Some(NOW), NOW + WINDOW);
    let asleep = plan(&request);
    assert_eq!(scales(&asleep), []);
    assert_eq!(targets(&asleep)[2], ("m3".to_owned(), 0, 4));
    request.clusters[2].reach = Reach::BOUNDS;
    assert_eq!(scales(&plan(&request)), [("m2".to_owned(), 0, Why::ScaledToZero)]);
}

#[test]
fn the_min_of_a_cluster_at_zero_goes_to_those_that_run() {
    let cluster = |name, replicas| Cluster { available: Some(10), ..runs(name, replicas) };
    let mut request = to_zero(at_rest(Policy::DynamicWeighted, [(cluster("m1", 5), 3, 8), (cluster("m2", 0), 3, 8)]));
    request.total.min = 4;
    request.assignment_hash = Some(plan(&request).assignment_hash);
    request.clusters[1].memory.scaled_to_zero = true;
    request.period = Some(MINUTE);
    assert_eq!(targets(&plan(&request)), named([("m1", 3, 10), ("m2", 1, 6)]));
}

#[test]
fn an_hpa_that_scales_to_zero_itself_is_left_to_it_also_where_replicas_could_be_written() {
    let own = Reach { own_zero: true, ..Reach::default() };
    let mut request = idle(Policy::StaticWeighted);
    request.clusters[2].reach = own;
    (request.idle_since, request.now) = (Some(NOW), NOW + WINDOW);
    let asleep = plan(&request);
    assert_eq!((scales(&asleep), targets(&asleep)[2].clone()), (vec![], ("m3".to_owned(), 0, 4)));
    // It has started again: it keeps its min from now on.
    let cluster = &mut request.clusters[2];
    (cluster.memory.scaled_to_zero, cluster.current, cluster.load) = (true, Some(1), Some(TWICE));
    request.idle_since = None;
    assert_eq!(targets(&plan(&request))[2], ("m3".to_owned(), 3, 4));
}

#[test]
fn the_last_cluster_goes_to_zero_only_where_its_own_hpa_starts_it_again() {
    let last = |own_zero| {
        let mut request = idle(Policy::Aggregated);
        request.total.min = 0;
        request.assignment_hash = Some(plan(&request).assignment_hash);
        for cluster in &mut request.clusters {
            cluster.load = Some(Load { value: 0, target: 100 });
            cluster.reach.own_zero = own_zero;
        }
        for cluster in &mut request.clusters[..2] {
            (cluster.current, cluster.ready, cluster.memory.scaled_to_zero) = (Some(0), 0, true);
        }
        (request.idle_since, request.now) = (Some(NOW), NOW + WINDOW);
        targets(&plan(&request))[2].1
    };
    assert_eq!((last(true), last(false)), (0, 3));
}

#[test]
fn clusters_are_scaled_from_zero_to_what_a_burst_needs() {
    let burst = |policy, value, scale_up| {
        let mut request = Request { scale_up, ..idle(policy) };
        for cluster in &mut request.clusters[..2] {
            (cluster.current, cluster.ready, cluster.load, cluster.hpa_desired) = (Some(0), 0, None, None);
            (cluster.memory.scaled_to_zero, cluster.available) = (true, Some(20));
        }
        request.clusters[2].load = Some(Load { value, target: 100 });
        let woken = scales(&plan(&request));
        assert!(woken.iter().all(|(.., why)| *why == Why::ScaledFromZero));
        woken.into_iter().map(|(name, replicas, _)| (name, replicas)).collect::<Vec<_>>()
    };
    let named = |m1, m2| vec![("m1".to_owned(), m1), ("m2".to_owned(), m2)];
    assert_eq!(burst(Policy::StaticWeighted, 120, None), named(2, 1), "no more than their mins");
    // Three run; the load asks for twelve, and they have no room for one more.
    assert_eq!(burst(Policy::StaticWeighted, 400, None), named(6, 3));
    assert_eq!(burst(Policy::StaticWeighted, 4_000, None), named(12, 8), "up to their max");
    assert_eq!(burst(Policy::StaticWeighted, 4_000, rules(Select::Max, 3, None)), named(3, 3), "as policies allow");
    assert_eq!(burst(Policy::Prioritized, 400, None), [("m2".to_owned(), 8)]);
}

#[test]
fn the_users_tolerance_says_which_load_is_idle() {
    let idle_at = |tolerance| {
        let request = Request { scale_down_tolerance: tolerance, ..idle(Policy::Aggregated) };
        plan(&request).idle_since
    };
    assert_eq!((idle_at(None), idle_at(Some(0.5)), idle_at(Some(0.7))), (Some(NOW), Some(NOW), None));
}

#[test]
fn clusters_divided_by_room_go_to_zero_and_back_too() {
    let mut request = idle(Policy::DynamicWeighted);
    for (cluster, available) in request.clusters.iter_mut().zip([9, 6, 3]) {
        cluster.available = Some(available);
    }
    request.assignment_hash = Some(plan(&request).assignment_hash);
    (request.idle_since, request.now) = (Some(NOW), NOW + WINDOW);
    assert_eq!(scales(&plan(&request)), [("m3".to_owned(), 0, Why::ScaledToZero)], "the smallest weight");
    for cluster in &mut request.clusters[1..] {
        (cluster.current, cluster.ready, cluster.load, cluster.memory.scaled_to_zero) = (Some(0), 0, None, true);
    }
    request.clusters[0].load = Some(Load { value: 130, target: 100 });
    let woken: Vec<String> = scales(&plan(&request)).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(woken, ["m2", "m3"], "all of them");
}
