//! Fleets of which clusters leave, fail and come back in any order: no ready pod is lost, and what ran runs again.

use decision::plan::{Cluster, ClusterState, Request};
use proptest::prelude::*;

use super::fleet::fresh;
use super::life::{at_rest, settle};
use super::replacement::{least_ready, leave, ready, round};
use super::world::World;
use crate::random::Random;

/// State, replicas, max in effect and what is remembered of each cluster, in a line.
fn told(world: &World) -> String {
    let cluster = |cluster: &Cluster<'static>| {
        let member = &world.members[cluster.name];
        let memory = member.memory;
        let (lost, floor) =
            (memory.lost.map(|lost| lost.uncovered), memory.replacement_min.map(|floor| floor.replicas));
        let (runs, entry, max) = (member.replicas, member.entry, member.hpa.map(|hpa| hpa.max));
        let Cluster { name, state, .. } = cluster;
        format!("{name} {state:?}: runs {runs:?}, entry {entry:?}, max {max:?}, due {lost:?}, floor {floor:?}")
    };
    world.request.clusters.iter().map(cluster).collect::<Vec<_>>().join("; ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Random fleets of which some leave: pods go only after as many are ready elsewhere, a quarter before where the
    /// bounds leave no room for both.
    #[test]
    fn no_decision_takes_a_ready_pod_whose_replacement_is_not_ready(
        request in fresh(), leavers in prop::collection::vec(any::<bool>(), 12), seed in any::<u64>(),
    ) {
        let mut world = World::new(Request { scaling_to_zero: false, ..request });
        for cluster in &mut world.request.clusters {
            (cluster.usage_limit, cluster.limits) = (None, decision::plan::Limits::default());
        }
        settle(&mut world)?;
        at_rest(&world)?;
        prop_assume!(world.request.policy.divides());
        let before = ready(&world);
        let mut lost = 0;
        let count = world.request.clusters.len();
        world.request.replacement = None;
        for (at, leaves) in leavers.iter().take(count.saturating_sub(1)).enumerate() {
            if *leaves {
                let name = world.request.clusters[at].name;
                leave(&mut world, name);
                lost += (world.members[name].ready() / 4).max(1);
            }
        }
        let running: u32 = world.members.values().filter_map(|member| member.replicas).sum();
        let allowance = if world.request.total.max >= running * 2 { 0 } else { lost };
        let least = least_ready(&mut world, &mut Random(seed | 1), 400);
        prop_assert!(least + allowance >= before, "{least} of {before}, {allowance} may: {world:#?}");
    }

    /// Clusters fail, leave and come back in any order, and the controller dies between its writes: what ran before
    /// runs in the end, somewhere. Of one that comes back while it leaves, the part may be missing that it released
    /// already.
    #[test]
    fn what_ran_runs_again_whatever_happens_to_those_that_should_run_it(request in fresh(), seed in any::<u64>()) {
        let mut world = World::new(Request { scaling_to_zero: false, replacement: None, ..request });
        for cluster in &mut world.request.clusters {
            (cluster.usage_limit, cluster.limits) = (None, decision::plan::Limits::default());
            cluster.available = Some(90);
        }
        settle(&mut world)?;
        prop_assume!(world.request.policy.divides());
        let before = ready(&world);
        let (mut random, mut part) = (Random(seed | 1), 0);
        let mut story = vec![told(&world)];
        for _ in 0..2 + random.below(8) {
            let at = random.below(world.request.clusters.len());
            let name = world.request.clusters[at].name;
            match random.below(3) {
                0 => world.request.clusters[at].state = ClusterState::Lost,
                1 => {
                    leave(&mut world, name);
                    part += world.members[name].ready().div_ceil(4);
                }
                _ => (world.request.clusters[at].state, world.request.clusters[at].is_candidate) = (ClusterState::Serving, true),
            }
            world.reconcile(random.below(4));
            // A cluster that comes back starts what its entry says, as far as it has one still.
            let entry = world.members[name].entry.filter(|_| world.request.clusters[at].state != ClusterState::Lost);
            let member = world.members.get_mut(name).unwrap();
            member.replicas = entry.map(|entry| member.replicas.unwrap_or(entry));
            world.deliver(name);
            story.push(told(&world));
        }
        let last = random.below(world.request.clusters.len());
        (world.request.clusters[last].state, world.request.clusters[last].is_candidate) = (ClusterState::Serving, true);
        let member = world.members.get_mut(world.request.clusters[last].name).unwrap();
        member.replicas = member.replicas.or(member.entry);
        for _ in 0..30 {
            story.push(told(&world));
            round(&mut world);
            world.pass(20);
        }
        let serves = world.request.clusters.iter().filter(|cluster| cluster.state == ClusterState::Serving);
        let after: u32 = serves.map(|cluster| world.members[cluster.name].ready()).sum();
        prop_assert!(after + part >= before.min(world.request.total.max), "{after} and {part} of {before}: {story:#?}");
    }
}
