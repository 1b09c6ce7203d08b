//! Random fleets.

use decision::load::Load;
use decision::plan::{
    Assist, Bounds, Cause, Cluster, ClusterState, Hpa, Limits, Lost, Memory, Moved, Policy, REPLACEMENT, Reach,
    ReplacementMin, Request, ScaleUpBlock,
};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

/// Names that sort in another order than they stand.
pub const NAMES: [&str; 12] = ["g", "c", "a", "k", "e", "i", "b", "l", "d", "h", "f", "j"];

pub const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

pub fn policy() -> impl Strategy<Value = Policy> {
    prop::sample::select(Policy::ALL.to_vec())
}

pub fn total() -> impl Strategy<Value = Bounds> {
    (1..40_u32, 0..60_u32).prop_map(|(min, more)| Bounds { min, max: min + more })
}

fn limits() -> impl Strategy<Value = Limits> {
    let some = (0..6_u32, 0..12_u32).prop_map(|(least, more)| Limits { least, most: least + more });
    prop_oneof![4 => Just(Limits::default()), 1 => some]
}

fn rarely<T: std::fmt::Debug + Clone>(values: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.15, values)
}

/// A cluster that serves and has nothing of ours yet.
pub fn cluster(name: &'static str) -> impl Strategy<Value = Cluster<'static>> {
    let said = (0..6_u64, prop::option::of(-2..3_i32), limits(), rarely(0..9_u32));
    let seen = (prop::option::of(0..12_u32), 0..12_u32, prop::option::of(0..30_u32));
    (said, seen).prop_map(move |((weight, priority, limits, cap), (current, pending, available))| {
        let pending = pending.min(current.unwrap_or_default());
        Cluster {
            name,
            is_candidate: true,
            weight,
            priority,
            limits,
            usage_limit: cap,
            current,
            ready: current.unwrap_or_default() - pending,
            pending,
            available,
            entry: current,
            ..Cluster::default()
        }
    })
}

pub fn fresh() -> impl Strategy<Value = Request<'static>> {
    let clusters =
        (1..=NAMES.len()).prop_flat_map(|count| NAMES[..count].iter().map(|name| cluster(name)).collect::<Vec<_>>());
    (total(), policy(), any::<bool>(), clusters).prop_map(|(total, policy, scaling_to_zero, clusters)| Request {
        total,
        policy,
        scaling_to_zero,
        scale_assist: true,
        clusters,
        replacement: Some(REPLACEMENT),
        ..Request::default()
    })
}

fn bounds() -> impl Strategy<Value = Bounds> {
    (0..8_u32, 0..20_u32).prop_map(|(min, more)| Bounds { min: min.min(min + more), max: min + more })
}

fn hpa() -> impl Strategy<Value = Hpa> {
    (prop::option::weighted(0.9, bounds()), any::<bool>(), 0..25_u32).prop_map(|(written, confirmed, outstanding)| {
        Hpa {
            written: written.filter(|bounds| bounds.is_some()),
            version: decision::plan::HpaVersion::V2,
            confirmed,
            pending_max: outstanding,
            scale_down_disabled: false,
        }
    })
}

fn cluster_state() -> impl Strategy<Value = ClusterState> {
    prop_oneof![
        6 => Just(ClusterState::Serving),
        1 => Just(ClusterState::Silent),
        1 => any::<bool>().prop_map(|evicted| ClusterState::Leaving { evicted }),
        1 => Just(ClusterState::Lost),
    ]
}

fn ago() -> impl Strategy<Value = Option<Timestamp>> {
    prop::option::of((0..400_i64).prop_map(|seconds| NOW - SignedDuration::from_secs(seconds)))
}

fn floor() -> impl Strategy<Value = Option<ReplacementMin>> {
    rarely((0..20_u32, rarely(1..6_u32), 0..400_i64)).prop_map(|floor| {
        floor.map(|(replicas, uncovered, ago)| ReplacementMin {
            replicas,
            uncovered: uncovered.unwrap_or_default(),
            since: NOW - SignedDuration::from_secs(ago),
        })
    })
}

fn lost() -> impl Strategy<Value = Option<Lost>> {
    rarely((1..20_u32, 0..20_u32, 0..900_i64)).prop_map(|lost| {
        lost.map(|(ran, due, ago)| Lost {
            replicas: ran,
            uncovered: due.min(ran),
            since: NOW - SignedDuration::from_secs(ago),
        })
    })
}

fn memory() -> impl Strategy<Value = Memory> {
    let cause = prop::sample::select(vec![Cause::Pending, Cause::AtMax]);
    let stuck = (cause, ago()).prop_map(|(cause, since)| since.map(|since| ScaleUpBlock { cause, since }));
    let assist = prop::option::of((0..20_u32, 0..100_i64)).prop_map(|assist| {
        assist.map(|(replicas, ago)| Assist { replicas, since: NOW - SignedDuration::from_secs(ago) })
    });
    let now = (stuck, ago(), ago(), 0..9_u32, assist, any::<bool>());
    (now, floor(), lost()).prop_map(|((stuck, gave, got, helped, assist, zero), floor, lost)| Memory {
        scale_up_blocked: stuck,
        moved: if gave > got { gave.map(Moved::Donated) } else { got.map(Moved::Received) },
        covered_replicas: helped,
        assist,
        scaled_to_zero: zero,
        replacement_min: floor,
        lost,
        ..Memory::default()
    })
}

/// What its HPA says and what was decided before.
fn life() -> impl Strategy<Value = (Option<Load>, Option<u32>, Memory, Reach)> {
    let load = prop::option::of((0..300_u64).prop_map(|value| Load { value, target: 100 }));
    let reach = (prop::bool::weighted(0.8), prop::bool::weighted(0.2));
    let reach = reach.prop_map(|(scale, own_zero)| Reach { scale, own_zero });
    (load, prop::option::of(0..20_u32), memory(), reach)
}

/// Anything that may ever be seen, whether or not a plan led to it.
pub fn any_request() -> impl Strategy<Value = Request<'static>> {
    let odd = (cluster_state(), prop::option::of(hpa()), prop::option::of(bounds()), any::<[bool; 3]>());
    let lives = prop::collection::vec(life(), NAMES.len());
    let times = (any::<bool>(), 0..100_i64, prop::option::of(Just(SignedDuration::from_secs(60))), ago());
    let all = (fresh(), prop::collection::vec(odd, NAMES.len()), any::<bool>(), lives, times);
    all.prop_map(|(mut request, odd, known, lives, (scale_assist, delay, period, idle))| {
        for (cluster, (load, desired, memory, reach)) in request.clusters.iter_mut().zip(lives) {
            (cluster.load, cluster.hpa_desired, cluster.memory, cluster.reach) = (load, desired, memory, reach);
        }
        (request.scale_assist, request.period, request.idle_since) = (scale_assist, period, idle);
        (request.now, request.window, request.delay) =
            (NOW, SignedDuration::from_secs(300), SignedDuration::from_secs(delay));
        for (cluster, (state, hpa, target, [chosen, evicting, overdue])) in request.clusters.iter_mut().zip(odd) {
            cluster.is_candidate = matches!(state, ClusterState::Serving | ClusterState::Silent) || chosen;
            (cluster.state, cluster.hpa, cluster.target) = (state, hpa, target);
            (cluster.evicting, cluster.unresponsive) = (evicting, overdue && !evicting);
            cluster.eviction_ends = evicting.then_some(NOW + SignedDuration::from_secs(60));
        }
        if known {
            request.assignment_hash = Some(decision::plan::plan(&request.clone()).assignment_hash);
        }
        request
    })
}
