//! Clusters that leave and clusters that fail: their replicas run elsewhere before they are removed.

use decision::load::Load;
use decision::plan::{
    Action, Bounds, Cluster, ClusterState, Hpa, HpaVersion, Lost, Memory, Note, Obstacle, Policy, ReplacementMin,
    Request, Share, Wait, plan,
};
use jiff::{SignedDuration, Timestamp};

use super::cases::{cluster, confirmed, request, runs, total};
use super::life::settle;
use super::world::World;
use crate::random::Random;

const LEAVES: ClusterState = ClusterState::Leaving { evicted: false };

/// A fleet at rest that is asked for what it runs.
pub fn running(max: u32, clusters: &[(&'static str, u32)]) -> World {
    let room = |(name, replicas): &(&'static str, u32)| Cluster { available: Some(90), ..runs(name, *replicas) };
    let mut request = request(total(3, max), Policy::StaticWeighted, clusters.iter().map(room).collect());
    request.window = SignedDuration::from_secs(300);
    let mut world = World::new(request);
    settle(&mut world).unwrap();
    world
}

pub(super) fn ready(world: &World) -> u32 {
    world.members.values().map(|member| member.ready()).sum()
}

pub(super) fn leave(world: &mut World, name: &str) {
    let cluster = world.request.clusters.iter_mut().find(|cluster| cluster.name == name).unwrap();
    (cluster.is_candidate, cluster.state) = (false, LEAVES);
}

/// Everything that the controller and the members do until nothing is left to do; the fewest that were ready meanwhile.
pub(super) fn least_ready(world: &mut World, random: &mut Random, steps: usize) -> u32 {
    let mut least = ready(world);
    for _ in 0..steps {
        let names = world.names();
        let name = names[random.below(names.len())];
        match random.below(6) {
            0 | 1 => {
                world.reconcile(random.below(5));
            }
            2 => world.scale(name, None),
            3 => world.pass(1),
            _ => world.deliver(name),
        }
        least = least.min(ready(world));
    }
    least
}

#[test]
fn ten_of_fifteen_leave_and_fifteen_stay_ready() {
    let mut world = running(30, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    assert_eq!(least_ready(&mut world, &mut Random(7), 600), 15);
    assert_eq!((world.members["a"].entry, world.members["a"].replicas), (None, None), "it went");
    assert_eq!(ready(&world), 15);
    // The others' own HPAs have not seen the load yet.
    assert_eq!(world.members["b"].hpa.unwrap().min + world.members["c"].hpa.unwrap().min, 15);
    world.pass(301);
    world.calm();
    world.reconcile(usize::MAX);
    world.calm();
    assert!(world.members["b"].hpa.unwrap().min < 3, "the floor ends: {:?}", world.members["b"].hpa);
}

#[test]
fn a_cluster_that_leaves_keeps_its_min_until_what_it_runs_is_ready_elsewhere() {
    let left = |min, max| {
        let a = Cluster { hpa: confirmed(total(min, max - 3)), is_candidate: false, state: LEAVES, ..runs("a", 10) };
        let b = Cluster { hpa: confirmed(total(3, 3)), available: Some(90), ..runs("b", 3) };
        let mut request = request(total(13, max), Policy::StaticWeighted, vec![a, b]);
        request.replacement = Some(SignedDuration::from_mins(10));
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        plan.now().find_map(|step| match step.action {
            Action::ApplyHpa { cluster: "a", bounds, .. } => Some(bounds),
            _ => None,
        })
    };
    assert_eq!(left(10, 30), Some(total(10, 10)), "its HPA would remove what the load does not need");
    assert_eq!(left(4, 30), Some(total(4, 10)));
    assert_eq!(left(0, 30), Some(total(1, 10)));
    assert_eq!(left(10, 13), Some(total(8, 8)), "a part is released first");
}

#[test]
fn what_replaces_a_cluster_is_held_as_long_as_karmada_evicts_it() {
    let mut world = running(40, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    assert_eq!(least_ready(&mut world, &mut Random(7), 400), 15);
    let held = |world: &World| world.members["b"].hpa.unwrap().min + world.members["c"].hpa.unwrap().min;
    // Its pods run on while another cluster is not healthy, and nothing of fhpa is there any more.
    world.request.clusters[0].state = ClusterState::Lost;
    let ends = Some(world.request.now + SignedDuration::from_secs(601));
    for _ in 0..10 {
        let member = world.members.get_mut("a").unwrap();
        (member.evicting, member.eviction_ends, member.replicas) = (true, ends, Some(10));
        world.pass(60);
        round(&mut world);
    }
    assert_eq!(held(&world), 15);
    let member = world.members.get_mut("a").unwrap();
    (member.evicting, member.replicas) = (false, None);
    world.pass(301);
    round(&mut world);
    assert!(held(&world) < 15, "{}", held(&world));
}

#[test]
fn an_eviction_that_waits_for_a_user_or_is_over_its_time_limit_holds_no_replacement() {
    let held = |world: &World| world.members["b"].hpa.unwrap().min + world.members["c"].hpa.unwrap().min;
    for limit in [None, Some(600)] {
        let mut world = running(40, &[("a", 10), ("b", 3), ("c", 2)]);
        leave(&mut world, "a");
        assert_eq!(least_ready(&mut world, &mut Random(7), 400), 15);
        // It is a candidate again, and takes no part as long as its pods are evicted.
        (world.request.clusters[0].is_candidate, world.request.clusters[0].state) = (true, ClusterState::Serving);
        let ends = limit.map(|seconds| world.request.now + SignedDuration::from_secs(seconds));
        let mut minutes = 0;
        while held(&world) == 15 && minutes < 60 {
            minutes += 1;
            let member = world.members.get_mut("a").unwrap();
            (member.evicting, member.eviction_ends, member.replicas) = (true, ends, Some(10));
            world.pass(60);
            round(&mut world);
        }
        // For the window since it was last held.
        let expected = if limit.is_none() { 4..=6 } else { 14..=16 };
        assert!(expected.contains(&minutes), "{limit:?}: {minutes} minutes");
    }
}

#[test]
fn what_replaces_a_cluster_is_held_before_a_greater_max_is_free() {
    let mut world = running(15, &[("a", 3), ("b", 3), ("c", 3)]);
    leave(&mut world, "a");
    // It does not answer, so that nobody knows that its bounds are lower.
    for _ in 0..20 {
        world.reconcile(usize::MAX);
        for name in ["b", "c"] {
            world.deliver(name);
        }
        world.pass(1);
    }
    let bounds = ["b", "c"].map(|name| world.members[name].hpa.unwrap());
    assert_eq!(bounds.iter().map(|bounds| bounds.min).sum::<u32>(), 9, "{bounds:?}");
    assert!(bounds.iter().all(|bounds| bounds.max <= 5), "{bounds:?}");
}

#[test]
fn what_a_leaving_cluster_adds_before_its_lower_max_arrives_is_replaced_first_too() {
    for answered in [false, true] {
        let mut world = running(20, &[("a", 3), ("b", 3), ("c", 3)]);
        leave(&mut world, "a");
        world.reconcile(usize::MAX);
        for name in ["b", "c"].into_iter().filter(|_| answered) {
            world.deliver(name);
            world.scale(name, None);
        }
        // The max of 3 is under way.
        world.scale("a", Some(5));
        world.reconcile(usize::MAX);
        world.deliver("a");
        world.deliver("a");
        assert_eq!(least_ready(&mut world, &mut Random(7), 900), 11);
        assert_eq!((world.members["a"].entry, world.members["a"].replicas), (None, None), "it went");
    }
}

#[test]
fn what_the_hpa_of_a_receiver_adds_by_what_it_measures_replaces_nothing() {
    for first in ["scaled", "asked"] {
        let mut world = running(20, &[("a", 1), ("b", 2), ("c", 2)]);
        leave(&mut world, "a");
        world.reconcile(usize::MAX);
        if first == "asked" {
            world.calm();
        }
        // Each replica does what its target says.
        for name in ["b", "c"] {
            world.scale(name, Some(7));
        }
        world.work = Some(1500);
        world.reconcile(usize::MAX);
        assert!(world.members["a"].entry.is_some(), "{first} first: one of 15 has nobody who does its work");
        assert_eq!(least_ready(&mut world, &mut Random(7), 600), 15, "{first} first");
        assert_eq!((world.members["a"].entry, world.members["a"].replicas), (None, None), "it went");
    }
}

#[test]
fn a_receiver_that_uses_up_the_budget_by_what_it_measures_takes_a_quarter_at_a_time() {
    let mut world = running(16, &[("a", 4), ("b", 3)]);
    leave(&mut world, "a");
    world.reconcile(usize::MAX);
    // Its pods do not run before its HPA wants more by what it measures.
    world.deliver("a");
    world.reconcile(usize::MAX);
    while world.members["b"].hpa.is_none_or(|bounds| bounds.max < 12) {
        world.deliver("b");
    }
    world.scale("b", Some(12));
    world.work = Some(1600);
    assert_eq!(ready(&world), 16);
    assert_eq!(least_ready(&mut world, &mut Random(7), 900), 15, "a quarter of four");
    assert_eq!((world.members["a"].entry, world.members["a"].replicas), (None, None), "it went");
}

#[test]
fn without_headroom_a_quarter_goes_at_a_time() {
    let mut world = running(15, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    let least = least_ready(&mut world, &mut Random(7), 3000);
    assert_eq!(least, 13, "a quarter of ten at most");
    assert_eq!((world.members["a"].entry, ready(&world)), (None, 15));
}

#[test]
fn without_headroom_many_small_ones_do_not_go_together() {
    let mut world = running(5, &[("a", 2), ("b", 1), ("c", 1), ("d", 1)]);
    for name in ["a", "c", "d"] {
        leave(&mut world, name);
    }
    let least = least_ready(&mut world, &mut Random(7), 6000);
    assert_eq!(least, 4, "one of four at most");
    assert_eq!((world.members["b"].entry, ready(&world)), (Some(5), 5));
}

#[test]
fn without_headroom_each_of_several_releases_a_quarter_of_its_own() {
    let mut world = running(12, &[("a", 2), ("b", 6), ("c", 4)]);
    for name in ["b", "c"] {
        leave(&mut world, name);
    }
    world.reconcile(usize::MAX);
    let max = ["b", "c"].map(|name| {
        world.deliver(name);
        world.members[name].hpa.unwrap().max
    });
    assert_eq!(max, [5, 3], "a quarter of six is one");
    assert_eq!(least_ready(&mut world, &mut Random(7), 6000), 10, "a quarter of ten at most");
    assert_eq!((world.members["a"].entry, ready(&world)), (Some(12), 12));
}

#[test]
fn with_headroom_for_some_none_is_lost_that_is_not_ready_elsewhere() {
    let mut world = running(18, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    assert_eq!(least_ready(&mut world, &mut Random(7), 3000), 15);
    assert_eq!((world.members["a"].entry, ready(&world)), (None, 15));
}

#[test]
fn several_leave_at_once() {
    let mut world = running(40, &[("a", 6), ("b", 4), ("c", 3), ("d", 2)]);
    leave(&mut world, "a");
    leave(&mut world, "b");
    assert_eq!(least_ready(&mut world, &mut Random(3), 800), 15);
    assert_eq!((world.members["a"].entry, world.members["b"].entry, ready(&world)), (None, None, 15));
}

/// Applies what the plan says now and lets it arrive.
pub(super) fn round(world: &mut World) {
    world.calm();
    world.reconcile(usize::MAX);
    world.calm();
}

/// Ten of fifteen leave, and no cluster has room for them.
fn without_room() -> World {
    let mut world = running(30, &[("a", 10), ("b", 3), ("c", 2)]);
    for name in ["b", "c"] {
        let member = world.members.get_mut(name).unwrap();
        member.room = Some(member.ready());
    }
    world.request.replacement = Some(SignedDuration::from_mins(10));
    leave(&mut world, "a");
    world
}

#[test]
fn where_nobody_has_room_it_is_waited_for_and_then_it_leaves_all_the_same() {
    let mut world = without_room();
    for _ in 0..9 {
        round(&mut world);
        world.pass(60);
    }
    assert_eq!(ready(&world), 15);
    let request = world.observe();
    let missing = Note::Missing { missing: 10, obstacle: Obstacle::Room };
    assert!(plan(&request).notes.contains(&missing), "{:?}", plan(&request).notes);
    world.pass(60);
    let request = world.observe();
    let late = plan(&request);
    assert!(late.notes.contains(&Note::LeftUnreplaced { missing: 10, obstacle: Obstacle::Room }), "{:?}", late.notes);
    round(&mut world);
    assert_eq!((world.members["a"].entry, ready(&world)), (None, 5));
    // It is said for as long again, and asked for when there is room.
    assert!(plan(&world.observe()).notes.contains(&missing));
    world.members.get_mut("b").unwrap().room = Some(9);
    (0..3).for_each(|_| round(&mut world));
    assert_eq!(ready(&world), 11);
    world.pass(601);
    assert!(plan(&world.observe()).notes.is_empty());
}

#[test]
fn the_time_in_which_no_controller_acts_is_not_part_of_the_wait() {
    let mut world = without_room();
    round(&mut world);
    let waits = |world: &World| {
        let request = world.observe();
        let late = plan(&request).notes.iter().any(|note| matches!(note, Note::LeftUnreplaced { .. }));
        !late
    };
    // Karmada is upgraded, or all replicas are down.
    world.pass(900);
    assert!(!waits(&world), "acted all the time");
    world.request.acts_since = Some(world.request.now);
    assert!(waits(&world));
    world.pass(599);
    assert!(waits(&world));
    world.pass(1);
    assert!(!waits(&world), "in vain for ten minutes");
}

#[test]
fn the_time_while_nobody_can_be_asked_is_not_part_of_the_wait() {
    for suspended in [false, true] {
        let mut world = running(10, &[("a", 4), ("b", 6)]);
        world.request.replacement = Some(SignedDuration::from_mins(10));
        leave(&mut world, "a");
        round(&mut world);
        let block = |world: &mut World, blocked: bool| {
            let cluster = world.request.clusters.iter_mut().find(|cluster| cluster.name == "b").unwrap();
            if suspended {
                world.request.suspended = blocked;
            } else {
                cluster.state = if blocked { ClusterState::Silent } else { ClusterState::Serving };
            }
        };
        block(&mut world, true);
        let mut begins = std::collections::BTreeSet::new();
        for _ in 0..29 {
            begins.extend(plan(&world.observe()).shares.iter().filter_map(|share| Some(share.memory.lost?.since)));
            round(&mut world);
            world.pass(60);
        }
        assert_eq!(begins.len(), 6, "each begin is stored: {begins:?}");
        block(&mut world, false);
        let least = least_ready(&mut world, &mut Random(7), 600);
        assert!(least >= 9, "a quarter of four at a time, where there is no headroom: {least}");
        assert_eq!((world.members["a"].entry, world.members["b"].entry.is_some()), (None, true), "it went");
    }
}

#[test]
fn it_waits_for_ever_where_that_is_asked_for() {
    let mut world = running(30, &[("a", 10), ("b", 3)]);
    world.members.get_mut("b").unwrap().room = Some(3);
    leave(&mut world, "a");
    for _ in 0..30 {
        round(&mut world);
        world.pass(600);
    }
    assert_eq!(ready(&world), 13);
}

#[test]
fn a_cluster_that_fails_while_it_leaves_is_not_replaced_twice() {
    let mut world = running(40, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    world.reconcile(usize::MAX);
    world.request.clusters[0].state = ClusterState::Lost;
    (0..6).for_each(|_| round(&mut world));
    let others: u32 = ["b", "c"].iter().map(|name| world.members[*name].ready()).sum();
    assert_eq!(others, 15);
}

#[test]
fn a_receiver_that_fails_owes_what_it_was_asked_to_run() {
    let mut world = running(60, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    world.reconcile(usize::MAX);
    world.request.clusters[1].state = ClusterState::Lost;
    (0..8).for_each(|_| round(&mut world));
    assert_eq!(world.members["c"].ready(), 15);
}

#[test]
fn a_failed_cluster_is_evicted_whether_or_not_it_is_a_candidate() {
    for (chosen, deleted, evicted) in [(true, false, true), (false, false, true), (false, true, false)] {
        let mut world = running(60, &[("a", 10), ("b", 5)]);
        let failed = &mut world.request.clusters[0];
        (failed.state, failed.is_candidate, failed.deleted) = (ClusterState::Lost, chosen, deleted);
        let request = world.observe();
        let evicts = |action: &Action<'_>| match action {
            Action::UpdateBinding { evictions, .. } => evictions.iter().any(|one| one.cluster == "a"),
            _ => false,
        };
        let planned = plan(&request).steps.iter().any(|step| evicts(&step.action));
        assert_eq!(planned, evicted, "candidate {chosen}, deleted {deleted}");
    }
}

#[test]
fn what_a_leaving_cluster_added_stays_whatever_others_were_asked_for_before() {
    // Its max of 7 is on its way while it runs 11; b was asked for 9 when it ran 7.
    let hpa = |written, confirmed, outstanding| {
        Some(Hpa {
            written: Some(written),
            version: HpaVersion::V2,
            confirmed,
            pending_max: outstanding,
            scale_down_disabled: false,
        })
    };
    let since = Timestamp::constant(1_000, 0);
    let memory = Memory { lost: Some(Lost { replicas: 7, uncovered: 4, since }), ..Memory::default() };
    let a = Cluster { state: ClusterState::Leaving { evicted: true }, memory, current: None, ready: 0, ..runs("a", 3) };
    let a = Cluster { hpa: hpa(total(1, 7), false, 13), hpa_current: Some(11), hpa_desired: Some(11), ..a };
    let memory =
        Memory { replacement_min: Some(ReplacementMin { replicas: 9, uncovered: 0, since }), ..Memory::default() };
    let b = Cluster { hpa: hpa(total(3, 3), true, 3), target: Some(total(1, 16)), memory, ..runs("b", 3) };
    let mut request = request(total(1, 16), Policy::StaticWeighted, vec![a, Cluster { available: Some(34), ..b }]);
    request.now = since;
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    let max = |name: &str| {
        plan.steps.iter().find_map(|step| match &step.action {
            Action::ApplyHpa { cluster, bounds, .. } if *cluster == name => Some(bounds.max),
            _ => None,
        })
    };
    assert_eq!((max("a"), max("b")), (Some(11), Some(5)));
}

/// Replicas that run after one of three clusters is gone, and another that should replace it leaves half way.
fn after_a_receiver_leaves(first: ClusterState, meanwhile: impl Fn(&mut World)) -> (u32, World) {
    let mut world = running(60, &[("a", 10), ("b", 3), ("c", 2)]);
    world.request.clusters[2].available = Some(0);
    (world.request.clusters[0].state, world.request.clusters[0].is_candidate) = (first, first == ClusterState::Lost);
    // The status is written and nothing else.
    world.reconcile(0);
    assert_eq!(world.members["b"].memory.replacement_min.map(|floor| floor.replicas), Some(13), "b is asked for all");
    if first == ClusterState::Lost {
        world.members.get_mut("a").unwrap().replicas = None;
    }
    world.request.clusters[2].available = Some(90);
    leave(&mut world, "b");
    meanwhile(&mut world);
    (0..12).for_each(|_| round(&mut world));
    (world.members["c"].ready(), world)
}

#[test]
fn a_receiver_that_leaves_owes_what_it_was_asked_to_run() {
    for first in [LEAVES, ClusterState::Lost] {
        assert_eq!(after_a_receiver_leaves(first, |_| ()).0, 15, "{first:?}");
    }
}

#[test]
fn a_receiver_that_leaves_for_a_cluster_that_is_down_owes_it_until_that_is_back() {
    for first in [LEAVES, ClusterState::Lost] {
        let (replicas, _) = after_a_receiver_leaves(first, |world| {
            world.request.clusters[2].state = ClusterState::Lost;
            (0..3).for_each(|_| round(world));
            world.request.clusters[2].state = ClusterState::Serving;
        });
        assert_eq!(replicas, 15, "{first:?}");
    }
}

#[test]
fn a_receiver_that_comes_back_is_asked_for_it_once_more() {
    let (_, world) = after_a_receiver_leaves(ClusterState::Lost, |world| {
        world.request.clusters[2].state = ClusterState::Lost;
        world.reconcile(0);
        (world.request.clusters[1].is_candidate, world.request.clusters[1].state) = (true, ClusterState::Serving);
    });
    assert_eq!(world.members["b"].ready(), 15);
}

#[test]
fn a_max_that_is_lowered_meanwhile_forgets_no_more_than_what_is_above_it() {
    let mut world = running(15, &[("a", 10), ("b", 3), ("c", 2)]);
    world.request.clusters[0].state = ClusterState::Lost;
    world.reconcile(0);
    world.members.get_mut("a").unwrap().replicas = None;
    world.request.total.max = 14;
    (0..6).for_each(|_| round(&mut world));
    assert_eq!(ready(&world), 14);
}

#[test]
fn one_that_comes_back_half_way_stays_and_nobody_shrinks_at_once() {
    let mut world = running(30, &[("a", 10), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    round(&mut world);
    (world.request.clusters[0].is_candidate, world.request.clusters[0].state) = (true, ClusterState::Serving);
    let least = least_ready(&mut world, &mut Random(5), 200);
    assert!(least >= 15, "{least}");
    assert!(world.members["a"].entry.is_some());
    let request = world.observe();
    assert!(plan(&request).shares.iter().all(|share| share.memory.lost.is_none()));
}

#[test]
fn what_a_failed_cluster_ran_is_noted_before_it_is_forgotten_and_until_it_runs() {
    let mut world = running(40, &[("a", 10), ("b", 3), ("c", 2)]);
    world.request.clusters[0].state = ClusterState::Lost;
    // The status is written and nothing else.
    world.reconcile(0);
    world.members.get_mut("a").unwrap().replicas = None;
    (0..4).for_each(|_| round(&mut world));
    let others: u32 = ["b", "c"].iter().map(|name| world.members[*name].ready()).sum();
    assert_eq!(others, 15);
    let request = world.observe();
    assert!(plan(&request).shares.iter().all(|share| share.memory.lost.is_none()), "the note falls");
}

#[test]
fn of_a_cluster_that_fails_while_it_scales_the_report_with_more_replicas_counts() {
    let lost = |current, last| {
        let world = running(40, &[("a", 10), ("b", 3), ("c", 2)]);
        let mut request = world.observe();
        let away = request.clusters.iter_mut().find(|cluster| cluster.name == "a").unwrap();
        (away.state, away.current, away.hpa_current) = (ClusterState::Lost, current, last);
        let share = plan(&request).shares.into_iter().find(|share| share.cluster == "a").unwrap();
        share.memory.lost.map(|lost| lost.replicas)
    };
    // The HPA was reported first, the workload was, and only one of them is known.
    assert_eq!([lost(Some(1), Some(10)), lost(Some(10), Some(1))], [Some(10), Some(10)]);
    assert_eq!([lost(None, Some(4)), lost(Some(4), None)], [Some(4), Some(4)]);
}

#[test]
fn headroom_follows_the_room_for_what_a_failed_cluster_ran() {
    let of = |(name, replicas, priority)| {
        let room = Some(90);
        Cluster { available: room, priority: Some(priority), ..runs(name, replicas) }
    };
    let fleet = [("a", 2, 2), ("b", 1, 1), ("c", 1, 1), ("d", 1, 1)].map(of).to_vec();
    let mut world = World::new(request(total(2, 7), Policy::Prioritized, fleet));
    // So little load that the lower priority gives its headroom to the higher one.
    world.work = Some(100);
    settle(&mut world).unwrap();
    for (name, room) in [("a", 2), ("b", 1), ("d", 2)] {
        world.members.get_mut(name).unwrap().room = Some(room);
    }
    world.request.clusters[2].state = ClusterState::Lost;
    world.members.get_mut("c").unwrap().replicas = None;
    (0..6).for_each(|_| round(&mut world));
    let member = &world.members["d"];
    assert_eq!((member.ready(), member.hpa.map(|hpa| hpa.min)), (2, Some(2)), "{:?}", world.members["a"].hpa);
}

#[test]
fn no_more_headroom_follows_the_room_than_is_due() {
    let maxima = |policy| {
        let clusters = ["a", "b", "c", "d", "lost"].map(|name| runs(name, 2)).to_vec();
        let mut request = request(total(2, 18), policy, clusters);
        for cluster in &mut request.clusters {
            (cluster.weight, cluster.priority, cluster.available) = (1, Some(1), Some(50));
            // Those that have free capacity are at their max.
            let bounds = Bounds { min: 1, max: if cluster.name == "a" { 12 } else { 2 } };
            (cluster.target, cluster.hpa) = (Some(bounds), confirmed(bounds));
        }
        let [a, .., lost] = &mut request.clusters[..] else { panic!() };
        a.available = Some(0);
        (lost.state, lost.target, lost.hpa) = (ClusterState::Lost, None, None);
        lost.memory.lost = Some(Lost { replicas: 2, uncovered: 2, since: request.now });
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let mut max: Vec<u32> = plan(&request).shares.iter().map(|share| share.target.max).collect();
        max.sort_unstable();
        max
    };
    assert_eq!(maxima(Policy::DynamicWeighted), [0, 2, 3, 3, 10]);
    assert_eq!(maxima(Policy::Aggregated), [0, 2, 2, 4, 10]);
}

/// A cluster that is back with one of five replicas, beside a full one: what the next plan starts from when its max is
/// `max` and it has `room`.
fn is_back(max: u32, room: u32, after: i64) -> Memory {
    let known = |name, replicas, max| {
        let bounds = Bounds { min: 1, max };
        Cluster { target: Some(bounds), hpa: confirmed(bounds), available: Some(0), ..runs(name, replicas) }
    };
    let owed = Lost { replicas: 5, uncovered: 5, since: Timestamp::UNIX_EPOCH };
    let memory = Memory { lost: Some(owed), ..Memory::default() };
    let back = Cluster { target: None, memory, ..known("b", 1, 1) };
    let mut request = request(total(2, 9), Policy::DynamicWeighted, vec![known("a", 2, 8), back]);
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let due = plan(&request).shares[1].memory;
    let since = request.now;
    assert_eq!(due.replacement_min, Some(ReplacementMin { replicas: 1, uncovered: 4, since }));
    request.now = request.now.checked_add(SignedDuration::from_secs(after)).unwrap();
    (request.clusters[0].target, request.clusters[0].hpa) = (Some(total(1, 9 - max)), confirmed(total(1, 9 - max)));
    request.clusters[1] = Cluster { memory: due, available: Some(room), ..known("b", 1, max) };
    plan(&request).shares[1].memory
}

#[test]
fn what_is_due_again_and_has_room_nowhere_waits_and_is_not_asked_for() {
    let told = |memory: Memory| (memory.replacement_replicas(), memory.replacement_uncovered());
    // A greater max is no room.
    assert_eq!(told(is_back(5, 0, 20)), (1, 4));
    assert_eq!(told(is_back(5, 3, 20)), (4, 1));
    assert_eq!(told(is_back(5, 9, 20)), (5, 0));
    // Its HPA had time to ask for them.
    assert_eq!(told(is_back(5, 9, 301)), (0, 0));
}

#[test]
fn what_is_due_again_is_asked_for_once() {
    let known = |name, replicas, max| {
        let bounds = Bounds { min: 1, max };
        Cluster { target: Some(bounds), hpa: confirmed(bounds), ..runs(name, replicas) }
    };
    let since = Timestamp::constant(1_000_000, 0);
    let min = ReplacementMin { replicas: 2, uncovered: 3, since };
    let memory = Memory { replacement_min: Some(min), ..Memory::default() };
    // One of its pods has no node, and one is not ready yet.
    let b = Cluster { ready: 1, pending: 1, available: Some(0), memory, ..known("b", 3, 3) };
    let clusters = vec![Cluster { available: Some(1), ..known("a", 2, 20) }, b];
    let mut request = request(total(2, 23), Policy::DynamicWeighted, clusters);
    (request.window, request.delay) = (SignedDuration::from_mins(5), SignedDuration::from_mins(10));
    request.now = since;
    request.assignment_hash = Some(plan(&request).assignment_hash);
    for _ in 0..9 {
        let kept: Vec<Memory> = plan(&request).shares.iter().map(|share| share.memory).collect();
        for (cluster, memory) in request.clusters.iter_mut().zip(kept) {
            cluster.memory = memory;
        }
        // What it was asked to run runs, and there is room for one more.
        let runs = request.clusters[0].memory.replacement_replicas().max(2);
        (request.clusters[0].current, request.clusters[0].ready) = (Some(runs), runs);
    }
    let [a, b] = &request.clusters[..] else { panic!() };
    let both = a.memory.replacement_replicas() - 2 + b.memory.replacement_total();
    assert_eq!((a.memory.replacement_replicas(), both), (6, 5), "{:?}", b.memory.replacement_min);
}

#[test]
fn one_that_runs_nothing_goes_at_once() {
    let mut world = running(30, &[("a", 0), ("b", 3), ("c", 2)]);
    world.members.get_mut("a").unwrap().replicas = Some(0);
    leave(&mut world, "a");
    (0..2).for_each(|_| round(&mut world));
    assert_eq!(world.members["a"].entry, None);
}

#[test]
fn one_that_answers_again_and_is_not_reported_yet_is_replaced_before_it_goes() {
    let mut world = running(30, &[("a", 3), ("b", 3), ("c", 2)]);
    leave(&mut world, "a");
    for (last, owes) in [(Some(4), 4), (None, 3)] {
        let mut request = world.observe();
        let a = request.clusters.iter_mut().find(|cluster| cluster.name == "a").unwrap();
        (a.current, a.ready, a.hpa_current) = (None, 0, last);
        let plan = plan(&request);
        let lost = plan.shares.iter().find(|share| share.cluster == "a").unwrap().memory.lost;
        assert_eq!(lost.map(|lost| lost.replicas), Some(owes));
        let keeps = |action: &Action<'_>| match action {
            Action::UpdateBinding { entries, .. } => entries.iter().any(|entry| entry.cluster == "a"),
            Action::ApplyHpa { cluster, bounds, .. } => *cluster != "a" || bounds.max >= owes,
            Action::DeleteHpa { cluster } => *cluster != "a",
            Action::Scale { .. } => true,
        };
        assert!(plan.now().all(|step| keeps(&step.action)), "{:?}", plan.steps);
    }
}

#[test]
fn what_the_hpa_of_a_receiver_is_about_to_add_leaves_less_headroom_for_the_replacement() {
    let hpa = Some(Hpa {
        written: Some(total(1, 8)),
        version: HpaVersion::V2,
        confirmed: true,
        pending_max: 8,
        scale_down_disabled: false,
    });
    let six = |name| Cluster { hpa, hpa_desired: Some(6), available: Some(30), ..runs(name, 6) };
    let stays = Cluster { hpa_desired: Some(8), ..six("a") };
    let leaves = Cluster { is_candidate: false, state: LEAVES, ..six("b") };
    let request = request(total(2, 16), Policy::StaticWeighted, vec![stays, leaves]);
    let plan = plan(&request);
    let floor = plan.shares.iter().find(|share| share.cluster == "a").unwrap().memory.replacement_min;
    assert_eq!(floor.map(|floor| floor.replicas), Some(10), "16 less the 6 that go on running meanwhile");
    let max = plan.steps.iter().find_map(|step| match step.action {
        Action::ApplyHpa { cluster: "b", bounds, .. } => Some(bounds.max),
        _ => None,
    });
    assert_eq!(max, Some(6), "it releases none: {:?}", plan.steps);
}

#[test]
fn what_the_hpa_of_a_receiver_may_remove_again_makes_no_room_for_more() {
    let hpa = |min, max, confirmed, outstanding| {
        Some(Hpa {
            written: Some(total(min, max)),
            version: HpaVersion::V2,
            confirmed,
            pending_max: outstanding,
            scale_down_disabled: false,
        })
    };
    let since = Timestamp::constant(1_000, 0);
    let asked = |confirmed| {
        let floor = Some(ReplacementMin { replicas: 10, uncovered: 0, since });
        let a = Cluster {
            hpa: hpa(10, 10, confirmed, 10),
            target: Some(total(2, 16)),
            memory: Memory { replacement_min: floor, ..Memory::default() },
            hpa_desired: Some(6),
            available: Some(30),
            ..runs("a", 10)
        };
        let lost = Some(Lost { replicas: 6, uncovered: 2, since });
        let b = Cluster {
            hpa: hpa(1, 6, true, 6),
            is_candidate: false,
            state: LEAVES,
            memory: Memory { lost, ..Memory::default() },
            ..runs("b", 6)
        };
        let mut request = request(total(2, 16), Policy::StaticWeighted, vec![a, b]);
        (request.now, request.assignment_hash) = (since, Some(plan(&request).assignment_hash));
        plan(&request).shares.iter().find(|share| share.cluster == "a").unwrap().memory.replacement_replicas()
    };
    assert_eq!(asked(false), 10, "all ten are ready, and its HPA does not ask for them yet");
    assert_eq!(asked(true), 12);
}

#[test]
fn a_cluster_leaves_once_the_hpas_of_the_receivers_have_acted_on_their_new_min() {
    let hpa = |min, max| {
        Some(Hpa {
            written: Some(total(min, max)),
            version: HpaVersion::V2,
            confirmed: true,
            pending_max: 0,
            scale_down_disabled: false,
        })
    };
    let since = Timestamp::constant(1_000, 0);
    let goes = |desired, load| {
        let a = Cluster {
            hpa: hpa(6, 7),
            target: Some(total(3, 10)),
            memory: Memory {
                replacement_min: Some(ReplacementMin { replicas: 6, uncovered: 0, since }),
                ..Memory::default()
            },
            hpa_desired: Some(desired),
            load,
            ..runs("a", 6)
        };
        let memory = Memory { lost: Some(Lost { replicas: 3, uncovered: 0, since }), ..Memory::default() };
        let b = Cluster { hpa: hpa(1, 3), is_candidate: false, state: LEAVES, memory, ..runs("b", 3) };
        let mut request = request(total(3, 10), Policy::StaticWeighted, vec![a, b]);
        (request.now, request.assignment_hash) = (since, Some(plan(&request).assignment_hash));
        plan(&request).now().any(|step| matches!(step.action, Action::DeleteHpa { cluster: "b" }))
    };
    let high = Some(Load { value: 172, target: 50 });
    assert!(!goes(5, high), "it reports what it wanted before its new bounds, by the load that is there");
    assert!(goes(6, high));
    assert!(goes(5, None), "without metrics it removes none");
}

#[test]
fn what_another_cluster_does_not_tell_for_a_moment_was_not_added_since() {
    let mut request = running(30, &[("a", 3), ("b", 3), ("c", 2)]).observe();
    for cluster in &mut request.clusters {
        match cluster.name {
            "a" => cluster.state = ClusterState::Silent,
            "b" => (cluster.current, cluster.ready, cluster.hpa_current) = (None, 0, Some(3)),
            _ => {}
        }
    }
    let plan = plan(&request);
    let others = plan.shares.iter().find(|share| share.cluster == "a").unwrap().memory.other_replicas;
    assert_eq!(others, Some(5));
}

#[test]
fn the_old_hpa_of_a_cluster_that_is_back_asks_for_nothing() {
    let hpa = |written, outstanding| {
        Some(Hpa {
            written,
            version: HpaVersion::V2,
            confirmed: written.is_some(),
            pending_max: outstanding,
            scale_down_disabled: false,
        })
    };
    let busy = |name| Cluster { hpa: hpa(Some(total(1, 6)), 6), available: Some(31), ..runs(name, 6) };
    let back =
        Cluster { hpa: hpa(None, 3), available: Some(34), hpa_desired: Some(3), hpa_current: Some(3), ..cluster("a") };
    let leaves = Cluster { is_candidate: false, state: LEAVES, ..busy("c") };
    let request = request(total(3, 12), Policy::DynamicWeighted, vec![back, busy("b"), leaves]);
    let plan = plan(&request);
    let max = plan.now().find_map(|step| match step.action {
        Action::ApplyHpa { cluster: "c", bounds, .. } => Some(bounds.max),
        _ => None,
    });
    assert_eq!(max, Some(5), "it releases a quarter: {:?}", plan.steps);
    let floor = plan.shares.iter().find(|share| share.cluster == "a").unwrap().memory.replacement_min;
    assert_eq!(floor.map(|floor| floor.replicas), Some(1));
}

#[test]
fn one_whose_hpa_is_being_deleted_and_that_is_not_reported_yet_is_replaced_before_it_goes() {
    let hpa = Some(Hpa {
        written: None,
        version: HpaVersion::V2,
        confirmed: true,
        pending_max: 3,
        scale_down_disabled: false,
    });
    let empty = Cluster { is_candidate: false, state: LEAVES, hpa, current: Some(0), ready: 0, ..runs("a", 3) };
    let goes = |a: Cluster<'static>| {
        let request = request(total(2, 6), Policy::StaticWeighted, vec![a, runs("b", 3)]);
        plan(&request).now().any(|step| match &step.action {
            Action::UpdateBinding { entries, .. } => entries.iter().all(|entry| entry.cluster != "a"),
            _ => false,
        })
    };
    assert!(goes(empty));
    assert!(!goes(Cluster { current: None, ..empty }), "its entry asks for 3");
    assert!(!goes(Cluster { current: None, hpa_current: Some(2), ..empty }), "its HPA reported 2");
    assert!(goes(Cluster { current: None, hpa_current: Some(0), ..empty }));
}

#[test]
fn extra_pods_of_a_rollout_take_no_place_of_a_cluster_that_leaves() {
    let keeps = |rolling| {
        let mut world = running(13, &[("a", 3), ("b", 4), ("c", 3), ("d", 3)]);
        leave(&mut world, "a");
        round(&mut world);
        let mut request = world.observe();
        // One pod more of the new template is ready in each of the others.
        for cluster in request.clusters.iter_mut().filter(|cluster| cluster.name != "a") {
            let replicas = cluster.current.unwrap();
            *cluster = Cluster {
                current: Some(replicas + 1),
                ready: replicas + 1,
                rolling,
                hpa_current: Some(replicas),
                ..*cluster
            };
        }
        let plan = plan(&request);
        let least = plan.now().filter_map(|step| match &step.action {
            Action::UpdateBinding { entries, .. } => entries.iter().all(|entry| entry.cluster != "a").then_some(0),
            Action::ApplyHpa { cluster: "a", bounds, .. } => Some(bounds.max),
            Action::DeleteHpa { cluster: "a" } => Some(0),
            _ => None,
        });
        least.min()
    };
    assert_eq!(keeps(true), None);
    assert_eq!(keeps(false), Some(0), "those that the others are to run have the budget");
}

#[test]
fn a_cluster_that_does_not_tell_its_replicas_is_asked_last_and_for_more_than_it_may_run() {
    let asked = |room| {
        let mut world = running(30, &[("a", 2), ("b", 3), ("c", 3)]);
        leave(&mut world, "a");
        let mut request = world.observe();
        let unknown = &mut request.clusters[1];
        (unknown.current, unknown.ready, unknown.hpa_current) = (None, 0, Some(5));
        request.clusters[2].available = Some(room);
        let shares = plan(&request).shares;
        ["b", "c"].map(|name| shares.iter().find(|share| share.cluster == name).unwrap().memory.replacement_replicas())
    };
    assert_eq!(asked(9), [0, 5]);
    assert_eq!(asked(0), [7, 0]);
}

#[test]
fn a_receiver_is_asked_for_more_than_its_hpa_wanted_within_bounds_that_are_being_replaced() {
    let asked = |wished| {
        let mut world = running(30, &[("a", 2), ("b", 4)]);
        leave(&mut world, "a");
        let mut request = world.observe();
        let receiver = &mut request.clusters[1];
        // It is to add some by itself, which nobody sees before its new bounds are confirmed.
        receiver.hpa_desired = wished;
        receiver.hpa.as_mut().unwrap().confirmed = false;
        plan(&request).shares.iter().find(|share| share.cluster == "b").unwrap().memory.replacement_replicas()
    };
    assert_eq!([Some(6), Some(3), None].map(asked), [8, 6, 6]);
}

#[test]
fn the_min_of_a_receiver_begins_to_end_when_all_are_replaced_and_is_not_stored_again_before() {
    let now = Timestamp::constant(1_790_000_000, 0);
    let since = now - SignedDuration::from_mins(30);
    let floor = Some(ReplacementMin { replicas: 3, uncovered: 0, since });
    let written = Some(Bounds { min: 3, max: 8 });
    let hpa =
        Some(Hpa { written, version: HpaVersion::V2, confirmed: true, pending_max: 8, scale_down_disabled: false });
    let b = Cluster { hpa, memory: Memory { replacement_min: floor, ..Memory::default() }, ..runs("b", 3) };
    let lost = Some(Lost { replicas: 2, uncovered: 0, since });
    let a =
        Cluster { is_candidate: false, state: LEAVES, memory: Memory { lost, ..Memory::default() }, ..runs("a", 2) };
    let stored = |a: Cluster<'static>, seconds| {
        let mut request = request(total(1, 10), Policy::StaticWeighted, vec![a, b]);
        (request.now, request.window) = (now + SignedDuration::from_secs(seconds), SignedDuration::from_secs(300));
        let plan = plan(&request);
        let share = plan.shares.iter().find(|share| share.cluster == "b").unwrap();
        share.memory.replacement_min.map(|floor| (floor.replicas, floor.since))
    };
    // Karmada rejects every division, for example.
    assert_eq!([0, 60, 86_400].map(|seconds| stored(a, seconds)), [Some((3, since)); 3]);
    let gone = Cluster { entry: None, current: None, ready: 0, ..a };
    assert_eq!(stored(gone, 7), Some((3, now + SignedDuration::from_secs(7))));
    let back = Cluster { is_candidate: true, state: ClusterState::Serving, ..a };
    assert_eq!(stored(back, 8), Some((3, now + SignedDuration::from_secs(8))));
    assert_eq!(stored(Cluster { memory: Memory::default(), ..gone }, 9), None);
}

#[test]
fn after_another_policy_no_max_rises_above_the_one_that_is_under_way() {
    let hpa = |written: Option<u32>, confirmed, outstanding| {
        let written = written.map(|max| Bounds { min: 1, max });
        Some(Hpa { written, version: HpaVersion::V2, confirmed, pending_max: outstanding, scale_down_disabled: false })
    };
    // Every copy might have ten; now they share ten, and the HPA of a is being deleted.
    let a = Cluster { is_candidate: false, state: LEAVES, entry: None, hpa: hpa(None, false, 2), ..runs("a", 2) };
    let target = Some(Bounds { min: 1, max: 5 });
    let b = Cluster { hpa: hpa(Some(5), true, 5), target, ..runs("b", 4) };
    let written = |a: Cluster<'static>, confirmed| {
        let state = if confirmed { ClusterState::Serving } else { ClusterState::Silent };
        let c = Cluster { state, hpa: hpa(Some(4), confirmed, 10), target, ..runs("c", 3) };
        let mut request = request(total(2, 10), Policy::StaticWeighted, vec![a, b, c]);
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        plan.now().find_map(|step| match step.action {
            Action::ApplyHpa { cluster: "c", bounds, .. } => Some(bounds.max),
            _ => None,
        })
    };
    assert_eq!(written(a, false), None, "4 may be in effect there, and 2 beside 5 elsewhere");
    assert_eq!(written(Cluster { hpa: None, ..a }, true), Some(5));
}

#[test]
fn after_another_policy_a_leaving_cluster_is_not_raised_before_the_others_are_down() {
    // The one that leaves was to keep the one that it ran, and has three by now: its HPA added two before that arrived.
    let raised = |in_effect: u32| {
        let target = Some(Bounds { min: 1, max: 5 });
        let hpa = |max: u32| {
            let (written, confirmed) = (Some(Bounds { min: 1, max }), max == in_effect);
            Some(Hpa {
                written,
                version: HpaVersion::V2,
                confirmed,
                pending_max: in_effect,
                scale_down_disabled: false,
            })
        };
        let a = Cluster { is_candidate: false, state: LEAVES, hpa: hpa(1), ..runs("a", 3) };
        let clusters =
            vec![a, Cluster { hpa: hpa(3), target, ..runs("b", 2) }, Cluster { hpa: hpa(3), target, ..runs("c", 2) }];
        let mut request = request(total(2, 10), Policy::StaticWeighted, clusters);
        request.replacement = Some(SignedDuration::from_mins(10));
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        plan.steps.iter().find_map(|step| match step.action {
            Action::ApplyHpa { cluster: "a", bounds, .. } => Some((bounds.max, step.wait)),
            _ => None,
        })
    };
    assert_eq!(raised(10), Some((3, Wait::Lowered)), "every copy might have ten yet");
    assert_eq!(raised(3), Some((3, Wait::Nothing)));
}

#[test]
fn what_was_asked_of_a_cluster_that_has_nothing_yet_is_asked_of_others_when_it_is_no_candidate_any_more() {
    let since = Timestamp::constant(1_000, 0);
    let memory = |replicas| Memory {
        replacement_min: Some(ReplacementMin { replicas, uncovered: 0, since }),
        ..Memory::default()
    };
    let nothing = Cluster { is_candidate: false, state: ClusterState::Lost, memory: memory(2), ..cluster("b") };
    let asked = |b: Cluster<'static>| {
        let a = Cluster { available: Some(90), ..runs("a", 3) };
        let mut request = request(total(3, 9), Policy::StaticWeighted, vec![a, b]);
        request.replacement = Some(SignedDuration::from_mins(10));
        request.assignment_hash = Some(plan(&request).assignment_hash);
        let plan = plan(&request);
        let of = |name: &str| plan.shares.iter().find(|share| share.cluster == name).map(|share| share.memory);
        (of("a").unwrap().replacement_replicas(), of("b").is_some_and(|memory| memory.failures.is_some()))
    };
    assert_eq!(asked(nothing), (5, false), "nothing of it failed");
    assert_eq!(asked(Cluster { memory: Memory::default(), ..nothing }), (0, false));
}

#[test]
fn a_lower_max_that_is_on_its_way_keeps_what_its_cluster_added_meanwhile_although_nobody_is_a_candidate() {
    let written = |max, confirmed, outstanding| {
        let written = Some(Bounds { min: 1, max });
        Some(Hpa { written, version: HpaVersion::V2, confirmed, pending_max: outstanding, scale_down_disabled: false })
    };
    let raised = |policy, (a, budget): (Cluster<'static>, u32), hpa: Option<Hpa>| {
        let b = Cluster { is_candidate: false, state: LEAVES, hpa: written(6, true, 6), ..runs("b", 6) };
        let a = Cluster { is_candidate: false, hpa, ..a };
        let request = request(total(2, budget), policy, vec![a, b]);
        let plan = plan(&request);
        let step = |step: &decision::plan::Step<'_>| match step.action {
            Action::ApplyHpa { cluster, bounds, pending_max: outstanding, .. } => {
                (cluster.to_owned(), bounds.min, bounds.max, outstanding)
            }
            _ => panic!("{step:?}"),
        };
        assert_eq!(plan.now().count(), plan.steps.len());
        plan.steps.iter().map(step).collect::<Vec<_>>()
    };
    let leaving = |replicas| Cluster { state: LEAVES, ..runs("a", replicas) };
    let away = Cluster { state: ClusterState::Lost, ..leaving(5) };
    for policy in [Policy::Prioritized, Policy::StaticWeighted, Policy::Duplicated] {
        let raised = |a, hpa| raised(policy, (a, 12), hpa);
        assert_eq!(raised(leaving(5), written(3, false, 6)), [("a".to_owned(), 1, 5, 6)], "{policy:?}");
        assert_eq!(raised(leaving(9), written(3, false, 6)), [("a".to_owned(), 1, 6, 6)], "no more may be in effect");
        assert_eq!(raised(leaving(3), written(3, false, 6)), []);
        assert_eq!(raised(leaving(5), written(3, true, 6)), [], "it has arrived");
        assert_eq!(raised(away, written(3, false, 6)), [], "it may run nothing");
    }
    let smaller = |policy| raised(policy, (leaving(5), 9), written(3, false, 6));
    assert_eq!(smaller(Policy::Prioritized), [], "maxReplicas is smaller than what may be in effect");
    assert_eq!(smaller(Policy::Duplicated), [("a".to_owned(), 1, 5, 6)], "each has its own");
}

/// The floors and dues of the plan after one of `clusters` that a plan of this policy knows, by name.
fn owed_by(policy: Policy, clusters: Vec<Cluster<'static>>) -> Vec<(String, u32, Option<u32>)> {
    let mut request = request(total(3, 60), policy, clusters);
    request.replacement = Some(SignedDuration::from_mins(10));
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    let share = |share: &decision::plan::Share<'_>| {
        (share.cluster.to_owned(), share.memory.replacement_replicas(), share.memory.lost.map(|lost| lost.uncovered))
    };
    plan.shares.iter().map(share).collect()
}

#[test]
fn what_others_run_in_place_of_one_cluster_replaces_no_second_one() {
    let since = Timestamp::constant(1_000, 0);
    let floor = Some(ReplacementMin { replicas: 18, uncovered: 0, since });
    let a = Cluster {
        available: Some(90),
        memory: Memory { replacement_min: floor, ..Memory::default() },
        ..runs("a", 10)
    };
    let c = Cluster { state: ClusterState::Silent, ready: 0, hpa: a.hpa, ..runs("c", 8) };
    let mut request = request(total(3, 60), Policy::StaticWeighted, vec![a, c]);
    let bounds = Bounds { min: 1, max: 30 };
    for cluster in &mut request.clusters {
        let hpa = Hpa {
            written: Some(bounds),
            version: cluster.version,
            confirmed: true,
            pending_max: 30,
            scale_down_disabled: false,
        };
        (cluster.hpa, cluster.target) = (Some(hpa), Some(bounds));
    }
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let others = plan(&request).shares.iter().find(|share| share.cluster == "c").unwrap().memory.other_replicas;
    assert_eq!(others, Some(18), "eight of them are about to run");
    // It fails once these run.
    let a = Cluster { current: Some(18), ready: 18, ..request.clusters[0] };
    let memory = Memory { other_replicas: others, ..Memory::default() };
    let c = Cluster { state: ClusterState::Lost, memory, ..request.clusters[1] };
    let owed = owed_by(Policy::StaticWeighted, vec![a, c]);
    assert_eq!(owed[0].1, 26, "{owed:?}");
}

#[test]
fn a_cluster_that_is_back_counts_once_in_what_replaces_another() {
    let memory = |lost, others| Memory { lost, other_replicas: others, ..Memory::default() };
    let own = Some(Lost { replicas: 4, uncovered: 4, since: Timestamp::UNIX_EPOCH });
    let back = Cluster { memory: memory(own, None), available: Some(90), ..runs("a", 4) };
    let failed = Cluster { state: ClusterState::Lost, memory: memory(None, Some(4)), ..runs("b", 3) };
    let owed = owed_by(Policy::StaticWeighted, vec![back, failed]);
    assert_eq!(owed[0], ("a".to_owned(), 7, None), "its own four, and the three of b");
}

#[test]
fn what_a_lower_max_on_its_way_removes_is_not_cut_from_another_cluster_as_well() {
    let kept = |policy, confirmed| {
        let of = |name, max| {
            let (written, outstanding) = (Some(total(1, max)), 14);
            let hpa = Hpa {
                written,
                version: HpaVersion::V2,
                confirmed,
                pending_max: outstanding,
                scale_down_disabled: false,
            };
            Cluster { hpa: Some(hpa), available: Some(if name == "b" { 90 } else { 3 }), ..runs(name, 9) }
        };
        let request = request(total(1, 14), policy, vec![of("a", 11), of("b", 3)]);
        plan(&request).shares.iter().map(|share| share.target.max).collect::<Vec<_>>()
    };
    for policy in [Policy::Aggregated, Policy::DynamicWeighted] {
        assert_eq!(kept(policy, false), [9, 5], "{policy:?}: b keeps three of nine, whatever is written now");
        assert_eq!(kept(policy, true).iter().sum::<u32>(), 14, "{policy:?}");
    }
}

#[test]
fn what_was_asked_of_a_cluster_that_stopped_to_answer_is_asked_of_others() {
    let since = Timestamp::constant(1_000, 0);
    let floor = Some(ReplacementMin { replicas: 7, uncovered: 0, since });
    let lost = Some(Lost { replicas: 5, uncovered: 0, since });
    let floors = |overdue: bool| {
        let a = Cluster { available: Some(90), ..runs("a", 2) };
        let l = Cluster {
            is_candidate: false,
            state: LEAVES,
            memory: Memory { lost, ..Memory::default() },
            ..runs("l", 5)
        };
        let memory = Memory { replacement_min: floor, ..Memory::default() };
        let c = Cluster { state: ClusterState::Silent, ready: 0, unresponsive: overdue, memory, ..runs("c", 2) };
        let mut clusters = vec![a, c, l];
        let bounds = Bounds { min: 1, max: 20 };
        for cluster in &mut clusters {
            let hpa = Hpa {
                written: Some(bounds),
                version: cluster.version,
                confirmed: true,
                pending_max: 20,
                scale_down_disabled: false,
            };
            (cluster.hpa, cluster.target) = (Some(hpa), Some(bounds));
        }
        owed_by(Policy::StaticWeighted, clusters).iter().map(|(_, floor, _)| *floor).collect::<Vec<_>>()
    };
    assert_eq!(floors(false), [0, 7, 0]);
    assert_eq!(floors(true), [7, 2, 0], "it keeps what it runs");
}

#[test]
fn the_extra_pods_of_a_rollout_take_no_max_from_others() {
    let bounds = |max| Bounds { min: 1, max };
    let hpa = |max| {
        let written = Some(bounds(max));
        Some(Hpa { written, version: HpaVersion::V2, confirmed: true, pending_max: max, scale_down_disabled: false })
    };
    let rolls = |name, replicas: u32, current: u32, ready: u32| Cluster {
        rolling: true,
        current: Some(current),
        ready,
        hpa_current: Some(replicas),
        hpa_desired: Some(replicas),
        hpa: hpa(replicas),
        target: Some(bounds(replicas)),
        ..runs(name, replicas)
    };
    let (a, b) = (rolls("a", 5, 6, 4), rolls("b", 4, 5, 5));
    let mut request = request(total(1, 9), Policy::Aggregated, vec![a, b]);
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let plan = plan(&request);
    assert_eq!(plan.shares.iter().map(|share| share.now.max).collect::<Vec<_>>(), [5, 4]);
    assert_eq!(plan.now().count(), 0, "{:?}", plan.steps);
}

#[test]
fn a_copy_goes_once_what_it_runs_is_ready_in_another() {
    let clusters = vec![runs("a", 4), Cluster { ready: 0, ..runs("b", 4) }];
    let mut request = request(total(2, 9), Policy::Duplicated, clusters);
    request.replacement = Some(SignedDuration::from_mins(10));
    (request.clusters[0].is_candidate, request.clusters[0].state) = (false, LEAVES);
    let goes = |request: &Request<'_>| {
        plan(request).now().any(
            |step| matches!(&step.action, Action::UpdateBinding { entries, .. } if entries.iter().all(|one| one.cluster != "a")),
        )
    };
    let bounds = Bounds { min: 8, max: 9 };
    let hpa = decision::plan::Hpa {
        written: Some(bounds),
        version: request.clusters[1].version,
        confirmed: true,
        pending_max: 9,
        scale_down_disabled: false,
    };
    (request.clusters[1].hpa, request.clusters[1].target) = (Some(hpa), Some(bounds));
    request.assignment_hash = Some(plan(&request).assignment_hash);
    let first = plan(&request);
    assert_eq!(first.shares[1].memory.replacement_replicas(), 8, "its own four, and those of a");
    let memories = first.shares.iter().map(|share| share.memory).collect::<Vec<_>>();
    for (cluster, memory) in request.clusters.iter_mut().zip(memories) {
        cluster.memory = memory;
    }
    for (ready, leaves) in [(0, false), (7, false), (8, true)] {
        (request.clusters[1].ready, request.clusters[1].current) = (ready, Some(8));
        assert_eq!(goes(&request), leaves, "{ready} ready");
    }
}

#[test]
fn a_cluster_that_gets_nothing_at_takeover_is_replaced_before_it_goes() {
    // Nothing was ever written to it, and it has no weight.
    let room = |(name, weight): (&'static str, u64)| Cluster { weight, available: Some(90), ..runs(name, 3) };
    let clusters = [("a", 3), ("b", 1), ("c", 0), ("d", 0)].map(room).to_vec();
    let mut request = request(total(3, 40), Policy::StaticWeighted, clusters);
    request.window = SignedDuration::from_secs(300);
    let mut world = World::new(request);
    assert_eq!(least_ready(&mut world, &mut Random(7), 1000), 12);
    let entries = ["a", "b", "c", "d"].map(|name| world.members[name].entry.is_some());
    assert_eq!((entries, ready(&world)), ([true, true, false, false], 12));
}

#[test]
fn a_cluster_that_has_just_returned_is_asked_for_no_replicas_of_others() {
    for returned in [false, true] {
        let mut world = running(60, &[("a", 10), ("b", 5)]);
        leave(&mut world, "a");
        let mut request = world.observe();
        request.clusters[1].back_recently = returned;
        let floor = |share: &Share<'_>| (share.cluster == "b").then_some(share.memory.replacement_min).flatten();
        let plan = plan(&request);
        let asked = plan.shares.iter().find_map(floor).map(|floor| floor.replicas);
        assert_eq!(asked, if returned { None } else { Some(15) });
        assert_eq!(
            plan.shares[0].memory.lost.map(|lost| lost.uncovered),
            Some(if returned { 10 } else { 0 }),
            "still owed"
        );
    }
}
