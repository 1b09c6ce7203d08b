//! Clusters that are scaled to zero and from zero.

use fhpa::decision::plan::{Cluster, Load, Policy, Reach, Request, Why, plan};

use fhpa::decision::hpa::behavior::Select;

use super::{MINUTE, NOW, TWICE, WINDOW, at_rest, rules, scales};
use crate::assignment::cases::{named, runs, targets, to_zero};

/// Two replicas each and half to do; one is enough.
fn idle(policy: Policy) -> Request<'static> {
    let cluster = |name, weight, replicas, priority| Cluster {
        weight,
        priority: Some(priority),
        load: Some(Load { value: 30, target: 100 }),
        ..runs(name, replicas)
    };
    let m1 = (cluster("m1", 3, 2, 1), 2, 8);
    let mut request = at_rest(policy, [m1, (cluster("m2", 2, 1, 2), 1, 8), (cluster("m3", 1, 3, 3), 3, 8)]);
    request.total.min = 2;
    request.basis = Some(plan(&request).basis);
    to_zero(request)
}

#[test]
fn an_idle_cluster_goes_to_zero_after_the_window_and_only_one() {
    for (policy, victim) in [(Policy::Aggregated, "m2"), (Policy::StaticWeighted, "m3"), (Policy::Prioritized, "m1")] {
        let mut request = idle(policy);
        let first = plan(&request);
        assert_eq!((first.idle, first.next), (Some(NOW), Some(NOW + WINDOW)), "{policy:?}");
        assert_eq!(scales(&first), []);
        request.idle = first.idle;
        request.now += WINDOW;
        let second = plan(&request);
        assert_eq!(scales(&second), [(victim.to_owned(), 0, Why::ScaledToZero)], "{policy:?}");
        assert_eq!(second.idle, Some(request.now));
    }
    let request = idle(Policy::Duplicated);
    assert_eq!(plan(&request).idle, None);
}

#[test]
fn nobody_goes_to_zero_when_the_others_could_not_carry_it_or_cover_the_min() {
    let mut heavy = idle(Policy::Aggregated);
    for cluster in &mut heavy.clusters {
        cluster.load = Some(Load { value: 95, target: 100 });
    }
    assert_eq!(plan(&heavy).idle, None);
    let mut covered = idle(Policy::Aggregated);
    covered.total.min = 6;
    covered.basis = Some(plan(&covered).basis);
    assert_eq!(plan(&covered).idle, None);
    let mut unknown = idle(Policy::Aggregated);
    unknown.clusters[2].load = None;
    assert_eq!(plan(&unknown).idle, None);
}

#[test]
fn clusters_at_zero_come_back_when_one_that_runs_has_too_much_to_do() {
    let asleep = |policy| {
        let mut request = idle(policy);
        for cluster in &mut request.clusters[..2] {
            (cluster.current, cluster.ready, cluster.load, cluster.desired) = (Some(0), 0, None, None);
            cluster.memory.zero = true;
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
        request.clusters[0].memory.zero = true;
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
    request.clusters[2].reach = Reach::Bounds { zero: true };
    (request.idle, request.now) = (Some(NOW), NOW + WINDOW);
    let asleep = plan(&request);
    assert_eq!(scales(&asleep), []);
    assert_eq!(targets(&asleep)[2], ("m3".to_owned(), 0, 8));
    request.clusters[2].reach = Reach::Bounds { zero: false };
    assert_eq!(scales(&plan(&request)), [("m2".to_owned(), 0, Why::ScaledToZero)]);
}

#[test]
fn the_min_of_a_cluster_at_zero_goes_to_those_that_run() {
    let cluster = |name, replicas| Cluster { available: Some(10), ..runs(name, replicas) };
    let mut request = to_zero(at_rest(Policy::DynamicWeighted, [(cluster("m1", 5), 3, 8), (cluster("m2", 0), 3, 8)]));
    request.total.min = 4;
    request.basis = Some(plan(&request).basis);
    request.clusters[1].memory.zero = true;
    request.period = Some(MINUTE);
    assert_eq!(targets(&plan(&request)), named([("m1", 3, 10), ("m2", 1, 6)]));
}
