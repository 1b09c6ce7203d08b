//! Laws for every fleet.

use std::collections::BTreeMap;

use decision::plan::{Action, Bounds, Cluster, ClusterState, Memory, Plan, Policy, Request, Step, Wait, plan};
use decision::split::{Part, by_weight};
use proptest::prelude::*;

use super::fleet::{any_request, fresh};

fn sum<'a>(shares: impl Iterator<Item = &'a u32>) -> u64 {
    shares.map(|share| u64::from(*share)).sum()
}

fn cluster<'a>(request: &'a Request<'_>, name: &str) -> &'a Cluster<'a> {
    request.clusters.iter().find(|cluster| cluster.name == name).unwrap()
}

fn maxes(plan: &Plan<'_>) -> u64 {
    plan.shares.iter().map(|share| u64::from(share.target.max)).sum()
}

/// The most that a cluster may be assigned.
fn most(request: &Request<'_>, cluster: &Cluster<'_>) -> u32 {
    let cap = cluster.usage_limit.map_or(u32::MAX, |cap| cap.max(cluster.running()));
    request.total.max.min(cluster.limits.most).min(cap)
}

fn parts(of: &[(u64, u32, u32, u32)]) -> Vec<Part<'static>> {
    let part = |(at, (weight, current, low, more)): (usize, &(u64, u32, u32, u32))| Part {
        name: super::fleet::NAMES[at % super::fleet::NAMES.len()],
        current: *current,
        weight: *weight,
        kept: 0,
        low: *low,
        high: low + more,
    };
    of.iter().enumerate().map(part).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn a_split_sums_exactly_and_keeps_every_quota(
        total in 0..100_000_u32, weights in prop::collection::vec((0..1000_u64, 0..9_u32), 1..12),
    ) {
        let free: Vec<Part<'_>> = weights.iter().enumerate().map(|(at, (weight, current))| Part {
            name: super::fleet::NAMES[at], current: *current, weight: *weight, kept: 0, low: 0,
            high: u32::MAX,
        }).collect();
        let shares = by_weight(total, &free);
        let all: u64 = free.iter().map(|part| part.weight).sum();
        prop_assert_eq!(sum(shares.iter()), if all == 0 { 0 } else { total.into() });
        for (part, share) in free.iter().zip(&shares) {
            let product = u64::from(total) * part.weight;
            let (floor, ceiling) = (product / all.max(1), product.div_ceil(all.max(1)));
            prop_assert!((floor..=ceiling).contains(&u64::from(*share)));
            prop_assert!(part.weight > 0 || *share == 0);
        }
        // What is left goes to the heaviest of those that were cut.
        for (a, share_a) in free.iter().zip(&shares) {
            for (b, share_b) in free.iter().zip(&shares) {
                let floor = |part: &Part<'_>| (u64::from(total) * part.weight).checked_div(all).unwrap_or_default();
                let cut = |part: &Part<'_>| (u64::from(total) * part.weight).checked_rem(all).unwrap_or_default() > 0;
                if cut(a) && cut(b) && u64::from(*share_a) > floor(a) && u64::from(*share_b) == floor(b) {
                    prop_assert!((a.weight, a.current) >= (b.weight, b.current));
                }
            }
        }
    }

    #[test]
    fn a_split_by_weights_that_vary_a_little_changes_nothing(
        total in 0..60_u32, weights in prop::collection::vec((1..1000_u64, 0..20_u64), 1..12),
    ) {
        let part = |(at, (weight, kept)): (usize, (u64, u32))| Part {
            name: super::fleet::NAMES[at], current: 0, weight, kept, low: 0, high: u32::MAX,
        };
        let before: Vec<Part<'_>> = weights.iter().map(|(weight, _)| (*weight * 100, 0)).enumerate().map(part).collect();
        let kept = by_weight(total, &before);
        let now = weights.iter().map(|(weight, more)| *weight * 100 + more).zip(kept.iter().copied());
        let now: Vec<Part<'_>> = now.enumerate().map(part).collect();
        let all: u64 = now.iter().map(|part| part.weight).sum();
        let near = |part: &Part<'_>| (u64::from(total) * part.weight).abs_diff(u64::from(part.kept) * all) < all;
        prop_assume!(now.iter().all(near));
        prop_assert_eq!(by_weight(total, &now), kept);
    }

    #[test]
    fn a_split_keeps_bounds_and_gives_all_it_can(
        total in 0..300_u32, of in prop::collection::vec((0..9_u64, 0..9_u32, 0..12_u32, 0..40_u32), 1..12),
    ) {
        let parts = parts(&of);
        let shares = by_weight(total, &parts);
        let lows: u64 = parts.iter().map(|part| u64::from(part.low)).sum();
        let enough = lows <= total.into();
        let highs: u64 = parts.iter().map(|part| u64::from(if part.weight > 0 { part.high } else { part.low })).sum();
        prop_assert_eq!(sum(shares.iter()), u64::from(total).min(highs.max(if enough { lows } else { total.into() })));
        for (part, share) in parts.iter().zip(&shares) {
            let kept = if enough { (part.low..=part.high).contains(share) } else { *share <= part.low };
            prop_assert!(kept, "{part:?} {share}");
        }
        if enough {
            // No two could trade: who is above its low has no more per weight than who is below its high, but for one.
            for (a, share_a) in parts.iter().zip(&shares).filter(|(part, share)| part.weight > 0 && **share > part.low) {
                for (b, share_b) in parts.iter().zip(&shares).filter(|(part, share)| part.weight > 0 && **share < part.high) {
                    let level = |share: u32, part: &Part<'_>| u64::from(share) * if part.weight == a.weight { b.weight } else { a.weight };
                    prop_assert!(u64::from(*share_a - 1) * b.weight <= u64::from(*share_b + 1) * a.weight, "{} {}", level(*share_a, a), level(*share_b, b));
                }
            }
        }
    }

    #[test]
    fn targets_stay_within_the_budget_and_their_bounds(request in fresh()) {
        let plan = plan(&request);
        let least: u64 = request.clusters.iter().map(|cluster| u64::from(cluster.limits.least)).sum();
        for share in &plan.shares {
            let (cluster, target) = (cluster(&request, share.cluster), share.target);
            prop_assert!(target.max <= most(&request, cluster), "{share:?}");
            prop_assert!(target.min <= target.max);
            prop_assert_eq!(target.min > 0, target.max > 0);
            let owed = cluster.limits.least.min(most(&request, cluster));
            let running: u64 = request.clusters.iter().map(|cluster| u64::from(cluster.running().max(cluster.limits.least).max(1))).sum();
            if !request.policy.divides() || least <= request.total.max.into() && running <= request.total.max.into() {
                prop_assert!(target.max >= owed, "{share:?} {owed}");
                prop_assert!(target.min >= owed.min(target.max) || least > request.total.min.into(), "{share:?} {owed}");
            }
        }
        if request.policy.divides() {
            prop_assert!(maxes(&plan) <= request.total.max.into());
            let mins: u64 = plan.shares.iter().map(|share| u64::from(share.target.min)).sum();
            prop_assert!(mins >= maxes(&plan).min(request.total.min.into()) || request.policy.divides() && zero_weight_holds_back(&request), "{mins}");
        }
    }

    #[test]
    fn without_bounds_everything_is_assigned(mut request in fresh()) {
        for cluster in &mut request.clusters {
            (cluster.usage_limit, cluster.limits) = (None, decision::plan::Limits::default());
        }
        let plan = plan(&request);
        if request.policy.divides() {
            prop_assert_eq!(maxes(&plan), u64::from(request.total.max));
            prop_assert!(plan.notes.iter().all(|note| note.code() != "ReplicasUnassigned"));
        }
    }

    #[test]
    fn the_order_of_the_clusters_does_not_matter(request in any_request(), seed in any::<u64>()) {
        let first = plan(&request);
        let mut other = request.clone();
        let mut random = crate::random::Random(seed | 1);
        for at in (1..other.clusters.len()).rev() {
            other.clusters.swap(at, random.below(at + 1));
        }
        prop_assert_eq!(first, plan(&other));
    }

    #[test]
    fn a_suspended_object_keeps_its_targets_and_only_takes_evictions_back(request in any_request()) {
        let request = Request { suspended: true, ..request };
        let plan = plan(&request);
        let owes = plan.shares.iter().any(|share| share.memory.lost.is_some());
        let is_back = request.clusters.iter().any(|cluster| cluster.evicting && cluster.entry.is_some());
        let binds = |step: &Step<'_>| matches!(&step.action, Action::UpdateBinding { evictions, .. } if evictions.is_empty());
        prop_assert!(plan.steps.iter().all(|step| is_back && binds(step)) && (owes || plan.next.is_none()));
        let kept = request.clusters.iter().filter_map(|cluster| Some((cluster.name, cluster.target?)));
        let kept: BTreeMap<&str, Bounds> = kept.collect();
        let shares = plan.shares.iter().filter_map(|share| Some((share.cluster, share.kept()?)));
        prop_assert_eq!(shares.collect::<BTreeMap<_, _>>(), kept);
        let memories = plan.shares.iter().filter(|share| share.kept().is_some());
        for share in memories {
            // Only the wait for a replacement may begin anew.
            let before = cluster(&request, share.cluster).memory;
            prop_assert_eq!(Memory { lost: before.lost, ..share.memory }, before);
            let owed = |memory: Memory| memory.lost.map(|lost| (lost.replicas, lost.uncovered));
            prop_assert_eq!(owed(share.memory), owed(before));
        }
        prop_assert_eq!((plan.idle_since, plan.last_rebalanced), (request.idle_since, request.last_rebalanced));
    }

    #[test]
    fn whatever_is_seen_the_steps_of_now_stay_within_the_budget(request in any_request()) {
        let plan = plan(&request);
        let mut after: BTreeMap<&str, u32> = request.clusters.iter()
            .filter(|cluster| cluster.state != ClusterState::Lost || plan.shares.iter().all(|share| share.cluster != cluster.name) && lost(&plan))
            .filter_map(|cluster| Some((cluster.name, cluster.hpa?.ceiling()))).collect();
        let before: u64 = sum(after.values());
        for step in plan.now() {
            if let Action::ApplyHpa { cluster: name, bounds, pending_max: outstanding, .. } = &step.action {
                let cluster = cluster(&request, name);
                let by_itself = cluster.reach.own_zero;
                prop_assert!((bounds.min >= 1 || by_itself) && bounds.min <= bounds.max, "{step:?}");
                prop_assert!(*outstanding >= bounds.max.max(cluster.hpa.map_or(0, |hpa| hpa.ceiling())));
                after.insert(name, *outstanding);
            }
        }
        if request.policy.divides() {
            prop_assert!(sum(after.values()) <= before.max(request.total.max.into()), "{before} {after:?}");
        }
    }

    #[test]
    fn no_step_takes_running_replicas_for_others(request in any_request()) {
        let plan = plan(&request);
        prop_assume!(!lost(&plan));
        let due: u64 = plan.shares.iter().map(|share| {
            u64::from(cluster(&request, share.cluster).running().max(share.target.min))
        }).sum();
        for share in plan.shares.iter().filter(|share| share.now.is_some()) {
            let cluster = cluster(&request, share.cluster);
            let protected = cluster.running().min(cluster.limits.most);
            if request.policy.divides() && due <= request.total.max.into() {
                prop_assert!(share.now.max >= protected, "{share:?} runs {protected}");
            }
        }
        let mut now: BTreeMap<&str, Bounds> = BTreeMap::new();
        for share in &plan.shares {
            now.insert(share.cluster, share.now);
        }
        for step in plan.now() {
            if let Action::ApplyHpa { cluster: name, bounds, .. } = &step.action {
                let share = now.get(name).copied().unwrap_or_default();
                let leaving = !share.is_some();
                let partly = step.why.code() == "MaxRaisedPartially";
                prop_assert!(leaving || *bounds == share || partly, "{step:?} {share}");
            }
        }
    }

    #[test]
    fn entries_stay_within_the_bounds(request in any_request()) {
        let plan = plan(&request);
        prop_assume!(!lost(&plan));
        for entry in &plan.binding {
            let Some(share) = plan.shares.iter().find(|share| share.cluster == entry.cluster) else { continue };
            if share.now.is_some() {
                let asleep = entry.replicas == 0 && request.may_be_zero();
                prop_assert!(asleep || (share.now.min..=share.now.max).contains(&entry.replicas), "{entry:?} {share:?}");
            }
        }
        for step in &plan.steps {
            if let Action::UpdateBinding { entries, .. } = &step.action {
                prop_assert!(entries.is_sorted_by_key(|entry| entry.cluster));
            }
            prop_assert!(step.wait != Wait::Nothing || plan.now().any(|now| now == step));
        }
    }
}

fn lost(plan: &Plan<'_>) -> bool {
    plan.notes.iter().any(|note| matches!(note.code(), "NoCandidates" | "AllClustersFailed"))
}

/// Under weights a cluster without weight takes no part of min, and one may hold a max for what it runs.
fn zero_weight_holds_back(request: &Request<'_>) -> bool {
    matches!(request.policy, Policy::StaticWeighted | Policy::DynamicWeighted)
}
