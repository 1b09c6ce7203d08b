//! Headroom and mins over hours: what a cluster cannot use others get, and what it gave comes back.

use decision::load::Load;
use decision::plan::{Action, Bounds, Cluster, Hpa, Policy, Request, plan};
use jiff::{SignedDuration, Timestamp};

use super::cases::{cluster, request, runs, targets, total};
use super::world::World;
use crate::random::Random;

fn fleet(policy: Policy, bounds: Bounds, clusters: Vec<Cluster<'static>>) -> Request<'static> {
    let mut request = request(bounds, policy, clusters);
    (request.now, request.window) = (Timestamp::constant(1_000_000, 0), SignedDuration::from_secs(300));
    request.period = Some(SignedDuration::from_secs(60));
    request
}

/// What is seen so many seconds after the plan was carried out and confirmed; replicas stay as they are.
fn after(request: &Request<'static>, seconds: i64) -> Request<'static> {
    let planned = plan(request);
    let mut next = request.clone();
    (next.assignment_hash, next.last_rebalanced, next.idle_since) =
        (Some(planned.assignment_hash), planned.last_rebalanced, planned.idle_since);
    next.now = request.now + SignedDuration::from_secs(seconds);
    for cluster in &mut next.clusters {
        let share = planned.shares.iter().find(|share| share.cluster == cluster.name);
        cluster.target = share.and_then(|share| share.kept());
        cluster.memory = share.map(|share| share.memory).unwrap_or_default();
        for step in planned.now() {
            match &step.action {
                Action::ApplyHpa { cluster: name, bounds, scale_down_disabled: held, version, .. }
                    if *name == cluster.name =>
                {
                    let (written, outstanding) = (Some(*bounds), bounds.max);
                    cluster.hpa = Some(Hpa {
                        written,
                        version: *version,
                        confirmed: true,
                        pending_max: outstanding,
                        scale_down_disabled: *held,
                    });
                }
                Action::UpdateBinding { entries, .. } => {
                    let entry = entries.iter().find(|entry| entry.cluster == cluster.name);
                    cluster.entry = entry.map(|entry| entry.replicas).or(cluster.entry);
                }
                _ => {}
            }
        }
    }
    next
}

fn rounds(request: Request<'static>, rounds: usize, seconds: i64) -> Request<'static> {
    (0..rounds).fold(request, |request, _| after(&request, seconds))
}

/// Reconciles, and lets HPAs act.
fn turn(world: &mut World) {
    for _ in 0..8 {
        let writes = world.reconcile(usize::MAX);
        world.calm();
        if writes == 0 {
            break;
        }
    }
    world.pass(15);
    world.sync();
}

#[test]
fn a_min_that_a_cluster_lost_its_room_for_is_run_by_the_others() {
    for policy in [Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized] {
        let of = |name, room, priority| Cluster { available: Some(room), priority: Some(priority), ..cluster(name) };
        let mut world = World::new(fleet(policy, total(10, 12), vec![of("m1", 60, 2), of("m2", 40, 1)]));
        (world.members.get_mut("m1").unwrap().room, world.members.get_mut("m2").unwrap().room) = (Some(60), Some(40));
        world.work = Some(1_000);
        (0..60).for_each(|_| turn(&mut world));
        world.members.get_mut("m1").unwrap().room = Some(0);
        (0..240).for_each(|_| turn(&mut world));
        let m2 = &world.members["m2"];
        assert!(m2.ready() >= 10, "{policy:?}: {} ready, {:?}", m2.ready(), m2.hpa);
    }
}

#[test]
fn nobody_gives_a_min_up_that_no_other_has_room_for() {
    for policy in [Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized] {
        let of = |name| Cluster { available: Some(6), priority: Some(1), ..cluster(name) };
        let mut world = World::new(fleet(policy, total(10, 12), vec![of("m1"), of("m2")]));
        for name in ["m1", "m2"] {
            world.members.get_mut(name).unwrap().room = Some(6);
        }
        world.work = Some(2_000);
        (0..60).for_each(|_| turn(&mut world));
        for name in ["m1", "m2"] {
            world.members.get_mut(name).unwrap().room = Some(0);
        }
        (0..60).for_each(|_| turn(&mut world));
        let mins: u32 = world.members.values().map(|member| member.hpa.unwrap().min).sum();
        assert!(mins >= 10, "{policy:?}: {mins}");
        let writes: usize = (0..20).map(|_| world.reconcile(usize::MAX)).sum();
        assert_eq!(writes, 0, "{policy:?}");
    }
}

#[test]
fn idle_workloads_that_share_clusters_run_their_mins_and_no_more() {
    const NAMES: [&str; 3] = ["m1", "m2", "m3"];
    let of = |name| Cluster { available: Some(8), ..cluster(name) };
    let mut workloads: Vec<World> =
        (0..8).map(|_| World::new(fleet(Policy::Aggregated, total(2, 4), NAMES.map(of).to_vec()))).collect();
    let runs = |world: &World, name: &str| world.members[name].replicas.unwrap_or_default();
    for round in 0..240 {
        // Pods of others take a part of each cluster.
        let size = if round == 0 { 8 } else { 6 };
        for at in 0..workloads.len() {
            for name in NAMES {
                let taken: u32 = workloads.iter().map(|world| runs(world, name)).sum();
                let room = size - taken + runs(&workloads[at], name);
                workloads[at].members.get_mut(name).unwrap().room = Some(room);
            }
            workloads[at].work = Some(50);
            turn(&mut workloads[at]);
        }
        let run: u32 = workloads.iter().flat_map(|world| NAMES.map(|name| runs(world, name))).sum();
        assert_eq!(run, 16, "in round {round}");
    }
}

#[test]
fn a_cluster_that_gave_headroom_gets_its_split_back_while_it_is_busy() {
    let of = |name| Cluster { available: Some(90), ..runs(name, 2) };
    let mut request = fleet(Policy::StaticWeighted, total(2, 20), vec![of("m1"), of("m2")]);
    request = rounds(request, 10, 60);
    let m1 = &mut request.clusters[0];
    (m1.current, m1.ready, m1.pending, m1.available) = (Some(8), 5, 3, Some(0));
    m1.hpa_desired = Some(8);
    request = rounds(request, 3, 20);
    assert_eq!(targets(&plan(&request))[0].2, 5);
    for _ in 0..20 {
        let replicas = request.clusters[0].hpa.unwrap().written.unwrap().max.min(8);
        let m1 = &mut request.clusters[0];
        (m1.current, m1.hpa_current, m1.hpa_desired) = (Some(replicas), Some(replicas), Some(replicas));
        (m1.ready, m1.pending, m1.available) = (replicas, 0, Some(20));
        m1.load = Some(Load { value: 800 / u64::from(replicas), target: 100 });
        request = after(&request, 60);
    }
    assert_eq!(targets(&plan(&request))[0].2, 10);
}

#[test]
fn headroom_that_moves_keeps_no_idle_cluster_awake() {
    const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let of = |name: &&'static str| {
        let load = Some(Load { value: 20, target: 100 });
        Cluster { available: Some(20), load, ..runs(name, 1) }
    };
    let mut request = fleet(Policy::DynamicWeighted, total(1, 80), NAMES.iter().map(of).collect());
    request.scaling_to_zero = true;
    let mut random = Random(7_919);
    for _ in 0..60 {
        for cluster in &mut request.clusters {
            cluster.available = Some(5 + u32::try_from(random.below(31)).unwrap());
            (cluster.hpa_desired, cluster.hpa_current) = (Some(1), Some(1));
        }
        // The members confirm what moved after seconds.
        request = rounds(request, 1, 5);
        request = rounds(request, 1, 55);
    }
    assert!(plan(&request).shares.iter().any(|share| share.memory.scaled_to_zero));
}

#[test]
fn help_waits_for_the_max_that_it_needs() {
    let scaled = |late: i64| {
        let m2 = Cluster { available: Some(90), ..runs("m2", 2) };
        let clusters = vec![Cluster { weight: 9, ..runs("m1", 4) }, m2];
        let mut request = rounds(fleet(Policy::StaticWeighted, total(2, 20), clusters), 10, 60);
        let before = request.clusters[0].hpa.unwrap();
        let m1 = &mut request.clusters[0];
        (m1.current, m1.ready, m1.pending, m1.available, m1.hpa_desired) = (Some(10), 6, 4, Some(0), Some(10));
        request.clusters[1].hpa_desired = Some(2);
        (0..60).any(|round| {
            let scales = |action: &Action<'_>| matches!(action, Action::Scale { cluster: "m2", .. });
            let scaled = plan(&request).now().any(|step| scales(&step.action));
            request = after(&request, 5);
            let confirmed = round * 5 >= late;
            let m1 = &mut request.clusters[0];
            if let Some(hpa) = m1.hpa.as_mut().filter(|hpa| **hpa != before && !confirmed) {
                (hpa.confirmed, hpa.pending_max) = (false, before.pending_max);
            }
            if confirmed {
                m1.hpa.as_mut().unwrap().confirmed = true;
                (m1.current, m1.pending, m1.hpa_desired) = (Some(6), 0, Some(6));
                m1.load = Some(Load { value: 160, target: 100 });
            }
            scaled
        })
    };
    assert!(scaled(20));
    assert!(scaled(70));
}

#[test]
fn a_higher_priority_is_not_held_and_released_in_turns_with_each_write() {
    let loaded = |name, value, priority| {
        let mut cluster = runs(name, 2);
        (cluster.load, cluster.priority) = (Some(Load { value, target: 50 }), Some(priority));
        cluster
    };
    // The lower one wants what it runs, above its min.
    let clusters = vec![loaded("a", 10, 2), loaded("b", 50, 1)];
    let settled = rounds(fleet(Policy::Prioritized, total(3, 8), clusters), 4, 400);
    let held = |request: &Request<'static>| {
        let a = |next: &Request<'static>| next.clusters[0].hpa.is_some_and(|hpa| hpa.scale_down_disabled);
        (a(request), a(&after(request, 1)))
    };
    assert_eq!(held(&settled), (false, false));
    for disabled in [false, true] {
        let mut written = settled.clone();
        let hpa = written.clusters[0].hpa.as_mut().unwrap();
        (hpa.scale_down_disabled, hpa.confirmed) = (disabled, false);
        (written.clusters[0].load, written.clusters[0].hpa_desired) = (None, None);
        assert_eq!(held(&written), (disabled, disabled), "until its HPA measures with that");
    }
}
