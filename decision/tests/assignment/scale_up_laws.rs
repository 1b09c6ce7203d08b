//! The user's `behavior.scaleUp` bounds what fhpa itself adds to a cluster within any period, whatever plans add it.

use std::collections::BTreeMap;

use decision::hpa::behavior::{Policy, Rules, Select, Unit};
use decision::plan::{Bounds, Cluster, Reach, Request};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::fleet::{NAMES, NOW, policy};
use super::world::World;
use crate::random::Random;

/// Replicas that fhpa added, and those that the HPA removed, negative, and when: Kubernetes counts the replicas at the
/// start of a period so.
type Added = Vec<(Timestamp, i64)>;

pub fn rules() -> impl Strategy<Value = Rules> {
    let unit = prop::sample::select(vec![(Unit::Pods, 1), (Unit::Percent, 20)]);
    let policy = (unit, 1..8_i32, 5..200_i32).prop_map(|((unit, step), value, period_seconds)| Policy {
        unit,
        value: value * step,
        period_seconds,
    });
    (any::<bool>(), prop::collection::vec(policy, 1..3)).prop_map(|(least, policies)| {
        let select = if least { Select::Min } else { Select::Max };
        Rules { window_seconds: None, select, policies, tolerance: None }
    })
}

fn fleet() -> impl Strategy<Value = Request<'static>> {
    let said = prop::collection::vec((1..6_u64, 0..3_i32, prop::bool::weighted(0.7)), 2..6);
    (policy(), said, rules(), any::<bool>()).prop_map(|(policy, said, rules, scaling_to_zero)| {
        let cluster = |(name, (weight, priority, scale)): (&&'static str, &(u64, i32, bool))| Cluster {
            name,
            is_candidate: true,
            weight: *weight,
            priority: Some(*priority),
            reach: Reach { scale: *scale, own_zero: false },
            ..Cluster::default()
        };
        let clusters: Vec<Cluster<'static>> = NAMES.iter().zip(&said).map(cluster).collect();
        Request {
            total: Bounds { min: 1, max: said.len() as u32 * 40 },
            policy,
            clusters,
            scaling_to_zero,
            scale_assist: true,
            scale_up: Some(rules),
            window: SignedDuration::from_secs(60),
            now: NOW,
            ..Request::default()
        }
    })
}

/// The most replicas that the rules allow a cluster which is to have `replicas`, of which fhpa added `added`.
fn most(rules: &Rules, now: Timestamp, replicas: i64, added: &Added) -> i64 {
    let limits = rules.policies.iter().map(|policy| {
        let period = SignedDuration::from_secs(policy.period_seconds.into());
        let recent = added.iter().filter(|(at, _)| now.duration_since(*at) < period);
        let start = replicas - recent.map(|(_, more)| more).sum::<i64>();
        let value = i64::from(policy.value);
        match policy.unit {
            Unit::Pods => start + value,
            // With the rounding of Kubernetes: 25 and 120% are 56.
            Unit::Percent => (start as f64 * (1.0 + value as f64 / 100.0)).ceil() as i64,
        }
    });
    if rules.select == Select::Min { limits.min().unwrap() } else { limits.max().unwrap() }
}

fn replicas(world: &World) -> BTreeMap<&'static str, i64> {
    let running = |member: &super::world::Member| member.replicas.map(i64::from);
    world.members.iter().filter_map(|(name, member)| Some((*name, running(member)?))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Clusters are full or at their max, again and again; members' HPAs add and remove replicas meanwhile. A cluster's
    /// min is not bound, as for its HPA.
    #[test]
    fn what_is_added_in_any_period_is_within_the_policies_of_the_user(request in fleet(), seed in any::<u64>()) {
        let rules = request.scale_up.clone().unwrap();
        let mut world = World::new(request);
        let mut random = Random(seed | 1);
        world.work = Some(1_000);
        for member in world.members.values_mut() {
            member.room = Some(60);
        }
        let mut added: BTreeMap<&'static str, Added> = BTreeMap::new();
        for _ in 0..120 {
            let names = world.names();
            let name = names[random.below(names.len())];
            match random.below(6) {
                0 => world.work = Some([100, 1_000, 4_000, 12_000][random.below(4)]),
                1 => {
                    let ready = world.members[name].ready();
                    world.members.get_mut(name).unwrap().room = Some([ready, ready / 2 + 1, 60][random.below(3)]);
                }
                _ => {}
            }
            let before = replicas(&world);
            world.reconcile(if random.below(8) == 0 { random.below(3) } else { usize::MAX });
            for name in &names {
                // A min that arrives late brings back what the HPA removed since.
                let scale = world.request.clusters.iter().any(|cluster| cluster.name == *name && cluster.reach.scale);
                for _ in 0..if scale { random.below(3) } else { 9 } {
                    world.deliver(name);
                }
                // Its min alone.
                world.scale(name, None);
            }
            let mins: BTreeMap<_, _> = world.observe().clusters.iter().map(|cluster| {
                (cluster.name, i64::from(cluster.target.unwrap_or_default().min))
            }).collect();
            for (name, after) in replicas(&world) {
                let Some(before) = before.get(name).filter(|before| **before < after) else { continue };
                let more = after - before.max(&mins[name]);
                if more > 0 {
                    let added = added.entry(name).or_default();
                    added.push((world.request.now, more));
                    let most = most(&rules, world.request.now, after, added);
                    prop_assert!(after <= most, "{name} from {before} to {after}, may have {most}: {added:?} by {rules:?}");
                }
            }
            let before = replicas(&world);
            if random.below(3) > 0 {
                world.sync();
            }
            for (name, after) in replicas(&world) {
                let less = before.get(name).map_or(0, |before| before - after).max(0);
                if less > 0 {
                    added.entry(name).or_default().push((world.request.now, -less));
                }
            }
            world.request.now += SignedDuration::from_millis(random.below(20_000) as i64);
        }
    }
}
