//! Plans applied step by step, with losses, delays, edits and failures: invariants at every moment, and the final
//! state.

use decision::plan::{Action, Bounds, ClusterState, Policy, Request, Share, Wait, plan};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::fleet::fresh;
use super::world::World;
use crate::random::Random;

/// Rounds within which a fleet that answers comes to rest.
const ROUNDS: usize = 60;
/// Rounds after which mins are held for a cluster that waits for headroom alone.
const HELD: usize = 40;
/// Rounds in a row without a write at rest: the first plan after a new assignment looks at how it does, and mins that
/// are held end with a window of five minutes.
const STILL: usize = 7;
/// Time between two rounds.
const PASS: SignedDuration = SignedDuration::from_secs(60);

/// Lets everything answer until nothing is written.
pub fn settle(world: &mut World) -> Result<(), TestCaseError> {
    let mut still = 0;
    for round in 0..ROUNDS {
        world.calm();
        let request = world.observe();
        let planned = plan(&request);
        // Mins that are held for others fall by time alone; those of a cluster that waits for headroom stay. What is
        // missing is run as soon as somebody has room for it, for a while.
        let owes = |share: &Share<'_>| share.memory.replacement_min.is_some() || share.memory.lost.is_some();
        let holds = round < HELD && planned.shares.iter().any(owes);
        let waits = holds || planned.steps.iter().any(|step| step.wait == Wait::Replaced);
        still = if world.reconcile(usize::MAX) == 0 && !waits { still + 1 } else { 0 };
        // What nobody can replace leaves after a while.
        world.pass(PASS.as_secs());
        if still == STILL {
            return Ok(());
        }
        world.calm();
    }
    let request = world.observe();
    prop_assert!(false, "no rest: {:#?}\n{request:#?}", plan(&request).steps);
    Ok(())
}

/// On a fleet at rest: bounds are as planned, and nothing waits but for running replicas.
pub fn at_rest(world: &World) -> Result<(), TestCaseError> {
    let request = world.observe();
    let plan = plan(&request);
    prop_assert_eq!(plan.now().count(), 0, "{:#?} {:#?}", plan.steps, request);
    let held = plan.shares.iter().any(|share| share.hold.is_some());
    prop_assert!(plan.steps.is_empty() || held, "{:?} {:#?}", plan, request);
    prop_assert!(plan.steps.iter().all(|step| step.wait == Wait::Shrunk), "{:?} {:#?}", plan, request);
    if plan.notes.iter().any(|note| matches!(note.code(), "NoCandidates" | "AllClustersFailed")) {
        return Ok(());
    }
    for share in plan.shares.iter().filter(|share| share.kept().is_some()) {
        let member = &world.members[share.cluster];
        prop_assert_eq!(member.hpa.unwrap_or_default(), share.now, "{:?}", share);
        prop_assert_eq!(member.entry.is_some(), share.now.is_some(), "{:?}", share);
    }
    if request.policy.divides() {
        prop_assert!(world.in_effect() <= request.total.max.into());
    }
    Ok(())
}

fn within(world: &World, before: u64) -> Result<(), TestCaseError> {
    if world.request.policy.divides() {
        let sum = world.in_effect();
        prop_assert!(sum <= before.max(world.budget), "{sum} in effect of {}: {:#?}", world.budget, world.members);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_new_fleet_comes_to_rest_and_planning_again_is_empty(request in fresh()) {
        let mut world = World::new(request);
        settle(&mut world)?;
        at_rest(&world)?;
    }

    #[test]
    fn the_budget_holds_at_every_moment_whatever_is_lost(request in fresh(), seed in any::<u64>()) {
        let mut world = World::new(request);
        let mut random = Random(seed | 1);
        for _ in 0..60 {
            let before = world.in_effect();
            let names = world.names();
            let name = names[random.below(names.len())];
            match random.below(8) {
                0 => world.happen(&mut random),
                1 | 2 => { world.reconcile(random.below(4)); }
                3 => { world.reconcile(usize::MAX); }
                4 => world.scale(name, Some(random.below(30) as u32)),
                _ => world.deliver(name),
            }
            within(&world, before)?;
        }
        for cluster in &mut world.request.clusters {
            cluster.unresponsive = false;
            if cluster.state == ClusterState::Silent {
                cluster.state = ClusterState::Serving;
            }
        }
        settle(&mut world)?;
        at_rest(&world)?;
    }

    #[test]
    fn a_restart_between_any_two_writes_ends_in_the_same_state(request in fresh(), breaks in prop::collection::vec(0..3_usize, 40)) {
        let mut whole = World::new(request.clone());
        settle(&mut whole)?;
        let mut broken = World::new(request);
        for breaks in breaks {
            broken.reconcile(breaks);
            broken.calm();
        }
        settle(&mut broken)?;
        at_rest(&broken)?;
        let bounds = |world: &World| -> Vec<(&str, Option<Bounds>)> {
            world.members.iter().map(|(name, member)| (*name, member.hpa)).collect()
        };
        let held = |request: &Request<'_>| plan(request).shares.iter().any(|share| share.hold.is_some());
        if !held(&whole.observe()) && !held(&broken.observe()) {
            prop_assert_eq!(bounds(&whole), bounds(&broken));
        }
    }

    #[test]
    fn a_cluster_that_fails_and_returns_stops_nothing(request in fresh(), at in 0..12_usize) {
        let mut world = World::new(request);
        settle(&mut world)?;
        let at = at % world.request.clusters.len();
        world.request.clusters[at].state = ClusterState::Lost;
        settle(&mut world)?;
        at_rest(&world)?;
        let before = world.clone();
        world.request.clusters[at].state = ClusterState::Serving;
        settle(&mut world)?;
        at_rest(&world)?;
        // Nobody lost a replica to it.
        for (name, member) in &world.members {
            if let (Some(now), Some(then)) = (member.replicas, before.members[name].replicas)
                && *name != world.request.clusters[at].name && before.members[name].entry.is_some() && member.entry.is_some()
            {
                prop_assert!(now >= then || !world.request.policy.divides(), "{name} {then} -> {now}");
            }
        }
    }

    #[test]
    fn a_fleet_at_rest_is_still_while_replicas_and_capacity_move(mut request in fresh(), seed in any::<u64>()) {
        // Who is at zero is woken by load elsewhere.
        request.scaling_to_zero = false;
        for cluster in &mut request.clusters {
            // A cap below what runs comes into force as replicas shrink.
            cluster.usage_limit = None;
        }
        let mut world = World::new(request);
        settle(&mut world)?;
        let mut random = Random(seed | 1);
        if plan(&world.observe()).shares.iter().any(|share| share.hold.is_some()) {
            return Ok(());
        }
        for _ in 0..8 {
            for name in world.names() {
                world.scale(name, Some(random.below(40) as u32));
            }
            for cluster in &mut world.request.clusters {
                cluster.available = Some(random.below(30) as u32);
            }
            let request = world.observe();
            for step in plan(&request).steps {
                // Which tier may shrink follows the replicas; bounds do not.
                let Action::ApplyHpa { cluster, bounds, .. } = step.action else { panic!("{step:?}") };
                prop_assert_eq!(world.members[cluster].hpa, Some(bounds));
                prop_assert_eq!(request.policy, Policy::Prioritized);
            }
        }
    }

    #[test]
    fn what_is_held_ends_once_the_replicas_have_shrunk(request in fresh()) {
        let mut world = World::new(request);
        for _ in 0..4 {
            settle(&mut world)?;
            for name in world.names() {
                world.scale(name, Some(0));
            }
        }
        settle(&mut world)?;
        let request = world.observe();
        let plan = plan(&request);
        prop_assert!(plan.steps.is_empty(), "{:?}", plan.steps);
        for share in &plan.shares {
            prop_assert_eq!(share.now, share.target);
            prop_assert_eq!(world.members[share.cluster].hpa.unwrap_or_default(), share.target);
        }
    }
}
