//! Random fleets over simulated hours of load, full clusters and failures.

use decision::plan::{Action, Bounds, Cluster, Request, plan};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::fleet::{NAMES, NOW, fresh, policy};
use super::world::World;
use crate::random::Random;

const WINDOW: SignedDuration = SignedDuration::from_secs(300);
/// Seconds between two looks of the members' HPAs.
const SYNC: i64 = 15;

/// A fleet whose clusters have room for so many, with so much to do.
fn world(mut request: Request<'static>, rooms: &[u32], work: u64) -> World {
    (request.now, request.window, request.period) = (NOW, WINDOW, Some(SignedDuration::from_secs(60)));
    for cluster in &mut request.clusters {
        cluster.usage_limit = None;
    }
    let mut world = World::new(request);
    world.work = Some(work);
    for (member, room) in world.members.values_mut().zip(rooms) {
        member.room = Some(*room);
    }
    world
}

/// One look of everybody; returns the writes of the controller.
fn turn(world: &mut World) -> usize {
    let mut writes = 0;
    for _ in 0..16 {
        let wrote = world.reconcile(usize::MAX);
        world.calm();
        writes += wrote;
        if wrote == 0 {
            break;
        }
    }
    world.pass(SYNC);
    world.sync();
    writes
}

fn rooms() -> impl Strategy<Value = Vec<u32>> {
    prop::collection::vec(0..30_u32, 12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_quiet_fleet_becomes_still(request in fresh(), rooms in rooms(), work in 0..9_000_u64) {
        let mut world = world(request, &rooms, work);
        for _ in 0..4 * 60 {
            turn(&mut world);
        }
        let before = world.observe();
        let mut writes = 0;
        for _ in 0..4 * 20 {
            writes += turn(&mut world);
        }
        let after = world.observe();
        prop_assert_eq!(writes, 0, "{:#?}\n{:#?}", before, plan(&after).steps);
        let kept = |request: &Request<'static>| -> Vec<_> {
            request.clusters.iter().map(|cluster| (cluster.target, cluster.memory)).collect()
        };
        prop_assert_eq!(kept(&before), kept(&after));
    }

    #[test]
    fn the_budget_holds_through_load_full_clusters_and_failures(request in fresh(), rooms in rooms(), seed in any::<u64>()) {
        let mut world = world(request, &rooms, 1_000);
        let mut random = Random(seed | 1);
        for _ in 0..80 {
            let before = world.in_effect();
            let names = world.names();
            let name = names[random.below(names.len())];
            match random.below(10) {
                0 => world.happen(&mut random),
                1 => { world.reconcile(random.below(4)); }
                2 | 3 => { world.reconcile(usize::MAX); }
                4 => world.work = Some(random.below(9_000) as u64),
                5 => world.members.get_mut(name).unwrap().room = Some(random.below(30) as u32),
                6 => { world.pass(SYNC); world.sync(); }
                7 => world.pass(random.below(600) as i64),
                _ => world.deliver(name),
            }
            if world.request.policy.divides() {
                let sum = world.in_effect();
                prop_assert!(sum <= before.max(world.budget), "{sum} in effect of {}", world.budget);
            }
        }
    }

    #[test]
    fn running_replicas_are_never_taken_by_a_move(request in fresh(), rooms in rooms(), works in prop::collection::vec(0..9_000_u64, 20)) {
        let mut world = world(request, &rooms, 1_000);
        for _ in 0..8 {
            turn(&mut world);
        }
        for work in works {
            world.work = Some(work);
            for _ in 0..4 {
                let request = world.observe();
                for step in plan(&request).now() {
                    let Action::ApplyHpa { cluster: name, bounds, .. } = &step.action else { continue };
                    let cluster = request.clusters.iter().find(|cluster| cluster.name == *name).unwrap();
                    let within = cluster.hpa.and_then(|hpa| hpa.written).is_some_and(|written| cluster.ready <= written.max);
                    prop_assert!(!within || bounds.max >= cluster.ready || !request.policy.divides(), "{step:?} of {cluster:?}");
                }
                turn(&mut world);
            }
        }
    }

    #[test]
    fn help_comes_with_the_next_plan_after_the_delay(
        policy in policy(), said in prop::collection::vec((1..6_u64, 0..3_i32), 2..8), delay in 0..300_i64, at in 0..8_usize,
    ) {
        prop_assume!(policy.divides());
        let cluster = |(name, (weight, priority)): (&&'static str, &(u64, i32))| {
            Cluster { name, is_candidate: true, weight: *weight, priority: Some(*priority), ..Cluster::default() }
        };
        let clusters: Vec<Cluster<'static>> = NAMES.iter().zip(&said).map(cluster).collect();
        let total = Bounds { min: clusters.len() as u32, max: clusters.len() as u32 * 10 };
        let delay = SignedDuration::from_secs(delay);
        let request = Request { total, policy, clusters, delay, scale_assist: true, ..Request::default() };
        let mut world = world(request, &[40; 12], said.len() as u64 * 300);
        for _ in 0..40 {
            turn(&mut world);
        }
        let seen = world.observe();
        let stuck = &seen.clusters[at % said.len()];
        let (name, had) = (stuck.name, stuck.target.unwrap());
        let floor = stuck.running().max(had.min);
        prop_assume!(had.max > floor);
        // It runs as before, and one pod more does not fit.
        let member = world.members.get_mut(name).unwrap();
        (member.room, member.replicas) = (Some(stuck.running()), Some(stuck.running() + 1));
        world.pass(WINDOW.as_secs());
        world.reconcile(0);
        let target = |world: &World| world.observe().clusters[at % said.len()].target.unwrap();
        if delay.is_positive() {
            world.pass(delay.as_secs() - 1);
            world.reconcile(0);
            prop_assert_eq!(target(&world), had);
            world.pass(1);
            world.reconcile(0);
        }
        prop_assert_eq!(target(&world), Bounds { max: floor, ..had });
        // The others have it as soon as that is seen applied.
        for _ in 0..3 {
            world.reconcile(usize::MAX);
            world.calm();
        }
        prop_assert_eq!(world.in_effect(), u64::from(total.max));
    }

    #[test]
    fn nobody_goes_to_zero_within_the_window_after_it_was_woken(mut request in fresh(), rooms in rooms(), seed in any::<u64>()) {
        request.scaling_to_zero = true;
        let mut world = world(request, &rooms, 1_000);
        let mut random = Random(seed | 1);
        let mut woken = std::collections::BTreeMap::new();
        for _ in 0..240 {
            if random.below(12) == 0 {
                world.work = Some([50, 200, 800, 4_000][random.below(4)]);
            }
            let before: Vec<_> = world.members.iter().map(|(name, member)| (*name, member.memory.scaled_to_zero)).collect();
            let now = world.request.now;
            turn(&mut world);
            for (name, was) in before {
                let is = world.members[name].memory.scaled_to_zero;
                if was && !is {
                    woken.insert(name, now);
                } else if is && !was {
                    let since = woken.get(name).map(|since| now.duration_since(*since));
                    prop_assert!(since.is_none_or(|since| since >= WINDOW), "{name} after {since:?}");
                }
            }
        }
    }
}
