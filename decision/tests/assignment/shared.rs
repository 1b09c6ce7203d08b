//! Several objects that share clusters: what all are asked to run in place of a lost cluster fits into what is free
//! (docs/design.md#law-13-promise-capacity-once).

use std::cmp::Reverse;

use decision::capacity::Demand;
use decision::ledger::{Ledger, Rank, Standing};
use decision::plan::{ClusterState, Policy, REPLACEMENT, Request, plan};
use jiff::{SignedDuration, Timestamp};
use proptest::collection::vec;
use proptest::prelude::*;

use super::cases::{request, runs, settled, total};

const NAMES: [&str; 3] = ["a", "b", "c"];

/// An object: CPUs of each of its pods, what it runs in each cluster, its priority, and how it is divided.
#[derive(Clone, Debug)]
struct Object {
    cpus: u32,
    running: [u32; 3],
    priority: i32,
    policy: Policy,
}

fn object() -> impl Strategy<Value = Object> {
    let policies = [Policy::StaticWeighted, Policy::DynamicWeighted, Policy::Aggregated, Policy::Prioritized];
    let parts = (1_u32..4, [1_u32..6, 1..6, 1..6], 0..3_i32, 0..policies.len());
    parts.prop_map(move |(cpus, running, priority, at)| Object { cpus, running, priority, policy: policies[at] })
}

impl Object {
    /// At rest, and `a` is lost.
    fn lost(&self) -> Request<'static> {
        let clusters = NAMES.iter().zip(self.running).map(|(name, replicas)| runs(name, replicas)).collect();
        let mut request = settled(request(total(self.running.iter().sum(), 60), self.policy, clusters));
        for (cluster, replicas) in request.clusters.iter_mut().zip(self.running) {
            (cluster.current, cluster.ready, cluster.entry) = (Some(replicas), replicas, Some(replicas));
            (cluster.weight, cluster.priority) = (1, Some(0));
        }
        request.assignment_hash = Some(plan(&request).assignment_hash);
        (request.clusters[0].state, request.clusters[0].ready) = (ClusterState::Lost, 0);
        (request.replacement, request.now) = (Some(REPLACEMENT), at(1000));
        request
    }

    fn each(&self) -> Demand {
        Demand::read([("cpu", &*self.cpus.to_string())]).unwrap()
    }

    fn standing(&self, at: usize) -> Standing {
        Standing { rank: Rank::Replace, priority: Reverse(self.priority), created: None, name: at.to_string() }
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_all_objects_run_in_place_of_a_lost_cluster_fits_into_what_is_free(
        objects in vec(object(), 2..9),
        free in [0_u32..30, 0..30],
    ) {
        let mut ledger = Ledger::default();
        let mut asked = [0; 2];
        let mut short = 0;
        for (number, object) in objects.iter().enumerate() {
            let (standing, each) = (object.standing(number), object.each());
            let mut request = object.lost();
            for (cluster, free) in request.clusters[1..].iter_mut().zip(free) {
                let current = cluster.current.unwrap_or_default();
                let room = (free / object.cpus, None);
                let left = ledger.left(cluster.name, &standing, &each, current, room, request.now);
                cluster.available = Some(left);
            }
            prop_assert_eq!(request.rank(), Rank::Replace);
            let plan = plan(&request);
            ledger.ask(&standing, &each, plan.asks.iter().copied(), |_| None, request.now);
            for (at, name) in NAMES[1..].iter().enumerate() {
                let share = plan.shares.iter().find(|share| share.cluster == *name).unwrap();
                let more = share.memory.replacement_replicas().saturating_sub(object.running[at + 1]);
                asked[at] += more * object.cpus;
            }
            short += plan.shares[0].memory.lost.map_or(0, |lost| lost.uncovered);
        }
        for (asked, free) in asked.into_iter().zip(free) {
            prop_assert!(asked <= free, "{asked} of {free}");
        }
        let needed: u32 = objects.iter().map(|object| object.running[0] * object.cpus).sum();
        if objects.iter().all(|object| object.cpus == 1) && needed <= free.iter().sum() {
            prop_assert_eq!(short, 0, "there is room for all");
        }
    }
}
