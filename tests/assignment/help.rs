//! Help across clusters: the worked examples (docs/design.md#worked-examples) by name, and what they leave open.

use fhpa::decision::plan::{
    Action, Assist, Cause, Cluster, Load, Memory, Plan, Policy, Reach, Reason, Request, Standing, Stuck, Why, plan,
};
use jiff::{SignedDuration, Timestamp};

use super::cases::{named, request, runs, settled, targets, to_zero, total};

const NOW: Timestamp = Timestamp::constant(1_000_000, 0);
const MINUTE: SignedDuration = SignedDuration::from_secs(60);
const WINDOW: SignedDuration = SignedDuration::from_secs(300);

const HALF: Load = Load { value: 50, target: 100 };
const TWICE: Load = Load { value: 200, target: 100 };

fn ago(seconds: i64) -> Option<Timestamp> {
    Some(NOW - SignedDuration::from_secs(seconds))
}

/// At rest with these bounds: name, min, max and replicas of each.
fn at_rest<const N: usize>(policy: Policy, clusters: [(Cluster<'static>, u32, u32); N]) -> Request<'static> {
    let sum = |of: fn(&(Cluster<'static>, u32, u32)) -> u32| clusters.iter().map(of).sum::<u32>();
    let total = total(sum(|(_, min, _)| *min), sum(|(.., max)| *max));
    let fleet = clusters.iter().map(|(cluster, ..)| *cluster).collect();
    let mut request = settled(request(total, policy, fleet));
    for (cluster, (before, min, max)) in request.clusters.iter_mut().zip(clusters) {
        let bounds = super::cases::total(min, max);
        let hpa = cluster.hpa.as_mut().unwrap();
        (cluster.target, hpa.written) = (Some(bounds), Some(bounds));
        (cluster.current, cluster.ready, cluster.entry) = (before.current, before.ready, before.entry);
        cluster.desired = before.desired.or(before.current);
    }
    (request.now, request.window) = (NOW, WINDOW);
    request
}

fn of<'p>(plan: &'p Plan<'_>, name: &str) -> &'p fhpa::decision::plan::Share<'p> {
    plan.shares.iter().find(|share| share.cluster == name).unwrap()
}

fn scales(plan: &Plan<'_>) -> Vec<(String, u32, Why)> {
    let scale = |step: &fhpa::decision::plan::Step<'_>| match step.action {
        Action::Scale { cluster, replicas } => Some((cluster.to_owned(), replicas, step.why)),
        _ => None,
    };
    plan.now().filter_map(scale).collect()
}

fn assists(plan: &Plan<'_>) -> Vec<(String, u32)> {
    let assist =
        |share: &fhpa::decision::plan::Share<'_>| Some((share.cluster.to_owned(), share.memory.assist?.replicas));
    plan.shares.iter().filter_map(assist).collect()
}

fn g8() -> Request<'static> {
    let m1 = Cluster { priority: Some(2), pending: 6, ready: 10, ..runs("m1", 16) };
    let m2 = Cluster { priority: Some(1), ..runs("m2", 0) };
    at_rest(Policy::Prioritized, [(m1, 8, 23), (m2, 1, 1)])
}

#[test]
fn g8_a_full_cluster_hands_its_headroom_to_the_next_priority() {
    let mut request = to_zero(g8());
    request.clusters[1].memory.zero = true;
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
    let since = of(&first, "m1").memory.stuck;
    assert_eq!(since, Some(Stuck { cause: Cause::Pending, since: NOW }));
    // Remembered, so that a restart does not begin anew.
    request.clusters[0].memory.stuck = since;
    request.now += request.delay;
    assert_eq!(targets(&plan(&request)), named([("m1", 8, 10), ("m2", 1, 14)]));
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
            desired: Some(replicas),
            ..runs(name, replicas)
        };
        let m3 = cluster("m3", 1, replicas);
        at_rest(Policy::Prioritized, [(cluster("m1", 3, 4), 1, 4), (cluster("m2", 2, 9), 1, 9), (m3, 1, 4)])
    };
    let held = |plan: &Plan<'_>| -> Vec<(String, bool)> {
        let held = |step: &fhpa::decision::plan::Step<'_>| match step.action {
            Action::ApplyHpa { cluster, held, .. } => Some((cluster.to_owned(), held)),
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
        cluster.hpa.as_mut().unwrap().held = true;
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
    assert!(matches!(held[..], [Action::ApplyHpa { cluster: "m1", held: true, .. }]), "{held:?}");
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
    assert_eq!(plan.next, Some(NOW + MINUTE));
    // Once in a period.
    request.divided = ago(30);
    let early = fhpa::decision::plan::plan(&request);
    assert_eq!(targets(&early), named([("m1", 1, 7), ("m2", 1, 8), ("m3", 1, 7)]));
    assert_eq!(early.next, Some(NOW + SignedDuration::from_secs(30)));
}

#[test]
fn while_nobody_says_how_much_room_there_is_nothing_is_divided_again() {
    let cluster = |name, available| Cluster { available, ..runs(name, 6) };
    let mut request = at_rest(Policy::DynamicWeighted, [(cluster("m1", Some(9)), 1, 7), (cluster("m2", None), 1, 12)]);
    request.period = Some(MINUTE);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 7), ("m2", 1, 12)]));
}

/// Four replicas are missing in c1.
fn short(policy: Policy, others: [Cluster<'static>; 2]) -> Request<'static> {
    let c1 = Cluster { pending: 4, ready: 6, priority: Some(3), ..runs("c1", 10) };
    let [c2, c3] = others;
    at_rest(policy, [(c1, 1, 10), (c2, 1, 60), (c3, 1, 60)])
}

fn room(name: &'static str, available: u32) -> Cluster<'static> {
    Cluster { available: Some(available), ..runs(name, 2) }
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
fn help_is_asked_for_once_and_again_only_for_more() {
    let mut request = short(Policy::Aggregated, [room("c2", 30), room("c3", 1)]);
    let first = plan(&request);
    let memories: Vec<Memory> = first.shares.iter().map(|share| share.memory).collect();
    assert_eq!((memories[0].helped, memories[1].assist), (4, Some(Assist { replicas: 6, since: NOW })));
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
fn help_is_not_asked_of_a_member_whose_workload_cannot_be_written() {
    let pull = Cluster { reach: Reach::Bounds { zero: false }, ..room("c2", 30) };
    let request = short(Policy::Aggregated, [pull, room("c3", 3)]);
    let plan = plan(&request);
    assert_eq!(assists(&plan), helped([("c3", 3)]));
    assert_eq!(scales(&plan).len(), 1);
}

/// c1 ran four replicas and is gone.
fn gone(policy: Policy, standing: Standing) -> Request<'static> {
    let others = [Cluster { weight: 3, ..room("c2", 50) }, Cluster { weight: 1, ..room("c3", 50) }];
    let [c2, c3] = others;
    let mut request = at_rest(policy, [(runs("c1", 4), 1, 10), (c2, 1, 60), (c3, 1, 60)]);
    (request.clusters[0].standing, request.clusters[0].ready) = (standing, 0);
    request
}

#[test]
fn what_a_failed_or_evicted_cluster_ran_others_run_at_once_and_that_is_asked_once() {
    for standing in [Standing::Away, Standing::Leaving { evicted: true }] {
        let mut request = gone(Policy::StaticWeighted, standing);
        let first = plan(&request);
        assert_eq!(assists(&first), helped([("c2", 3), ("c3", 1)]), "{standing:?}");
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
        assert_eq!(assists(&plan(&request)), helped([("c2", 3), ("c3", 1)]), "{standing:?}");
    }
    assert_eq!(assists(&plan(&gone(Policy::DynamicWeighted, Standing::Away))), helped([("c2", 2), ("c3", 2)]));
    assert_eq!(assists(&plan(&gone(Policy::StaticWeighted, Standing::Silent))), []);
}

#[test]
fn what_a_failed_cluster_ran_is_replaced_within_the_room_whoever_may_help() {
    let mut request = gone(Policy::Aggregated, Standing::Away);
    (request.clusters[1].available, request.clusters[2].available) = (Some(2), Some(1));
    assert_eq!(assists(&plan(&request)), helped([("c2", 2), ("c3", 1)]));
    let lost = plan(&request).shares[0].memory.lost.unwrap();
    assert_eq!((lost.ran, lost.due), (4, 1), "no room");
    // Replacement of what ran is not scaling.
    request.scale_assist = false;
    assert_eq!(assists(&plan(&request)), helped([("c2", 2), ("c3", 1)]));
    // What the others run more since it fell silent is not run twice.
    let mut grown = gone(Policy::StaticWeighted, Standing::Away);
    grown.clusters[0].memory.others = Some(1);
    assert_eq!(assists(&plan(&grown)), helped([("c2", 1)]));
    assert_eq!(assists(&plan(&gone(Policy::Duplicated, Standing::Away))), []);
}

/// m1 is at its max and wants twice as much; m2 wants less than it may have.
fn at_max(policy: Policy) -> Request<'static> {
    let m1 = Cluster { load: Some(TWICE), available: Some(5), ..runs("m1", 8) };
    let m2 = Cluster { desired: Some(4), available: Some(20), load: Some(HALF), ..runs("m2", 4) };
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
fn the_split_of_the_user_stands_when_a_cluster_is_at_its_max() {
    let request = at_max(Policy::StaticWeighted);
    let plan = plan(&request);
    assert_eq!(targets(&plan), named([("m1", 1, 8), ("m2", 1, 14)]));
    // Others run what it may not.
    assert_eq!(assists(&plan), [("m2".to_owned(), 12)]);
}

#[test]
fn within_the_window_nobody_gets_back_what_it_gave() {
    let mut request = at_max(Policy::Aggregated);
    request.clusters[0].memory.gave = ago(299);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]));
    request.clusters[0].memory.gave = ago(300);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 13), ("m2", 1, 9)]));
    request.clusters[1].memory.got = ago(299);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 8), ("m2", 1, 14)]));
}

#[test]
fn the_split_of_the_user_comes_back_when_the_full_cluster_has_room_again() {
    let m1 = Cluster { pending: 3, ready: 5, available: Some(0), ..runs("m1", 8) };
    let mut request = at_rest(Policy::StaticWeighted, [(m1, 1, 10), (room("m2", 20), 1, 10)]);
    let seen = request.clone();
    let full = plan(&seen);
    assert_eq!(targets(&full), named([("m1", 1, 5), ("m2", 1, 15)]));
    for (cluster, share) in request.clusters.iter_mut().zip(&full.shares) {
        cluster.memory = Memory { assist: None, stuck: None, ..share.memory };
        (cluster.target, cluster.hpa.as_mut().unwrap().written) = (Some(share.target), Some(share.target));
    }
    let m1 = &mut request.clusters[0];
    (m1.current, m1.ready, m1.pending, m1.desired) = (Some(5), 5, 0, Some(5));
    request.now += WINDOW;
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 5), ("m2", 1, 15)]));
    request.clusters[0].available = Some(1);
    request.now -= SignedDuration::from_secs(1);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 5), ("m2", 1, 15)]));
    request.now += SignedDuration::from_secs(1);
    assert_eq!(targets(&plan(&request)), named([("m1", 1, 10), ("m2", 1, 10)]));
}

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
