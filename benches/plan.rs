//! `plan` for 10, 100 and 1,000 clusters per policy: a first assignment, a fleet at rest, a failover, and an edit under
//! which everybody gives or gets; next to floors measured in the same run.
//!
//! Floors: `floor/sort` sorts references to the same clusters by name, `floor/sum` adds what they run. No plan that is
//! deterministic and keeps a sum can do without.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use fhpa::decision::plan::{Bounds, Cluster, ClusterState, Hpa, HpaVersion, Policy, Request, plan};

const COUNTS: [usize; 3] = [10, 100, 1_000];

fn names(count: usize) -> Vec<String> {
    // In no order, as maps and watches give them.
    (0..count).map(|at| format!("member-{:04}", at * 7919 % 10_007)).collect()
}

fn cluster((at, name): (usize, &String)) -> Cluster<'_> {
    Cluster {
        name,
        is_candidate: true,
        weight: (at % 7 + 1) as u64,
        priority: Some((at % 3) as i32),
        available: Some((at % 11 * 3) as u32),
        current: Some((at % 5) as u32),
        ready: (at % 5) as u32,
        entry: Some((at % 5) as u32),
        ..Cluster::default()
    }
}

fn fresh(names: &[String], policy: Policy) -> Request<'_> {
    let clusters: Vec<Cluster<'_>> = names.iter().enumerate().map(cluster).collect();
    let total = Bounds { min: clusters.len() as u32, max: clusters.len() as u32 * 20 };
    Request { total, policy, clusters, scale_assist: true, ..Request::default() }
}

fn at_rest(mut request: Request<'_>) -> Request<'_> {
    let planned = request.clone();
    let plan = plan(&planned);
    request.assignment_hash = Some(plan.assignment_hash);
    for cluster in &mut request.clusters {
        let share = plan.shares.iter().find(|share| share.cluster == cluster.name);
        cluster.target = share.map(|share| share.target);
        cluster.hpa = share.filter(|share| share.now.is_some()).map(|share| Hpa {
            written: Some(share.now),
            version: HpaVersion::V2,
            confirmed: true,
            pending_max: 0,
            scale_down_disabled: false,
        });
        cluster.entry = plan.binding.iter().find(|entry| entry.cluster == cluster.name).map(|entry| entry.replicas);
        cluster.current = cluster.entry;
        cluster.ready = cluster.entry.unwrap_or_default();
    }
    request
}

fn stories(names: &[String], policy: Policy) -> [(&'static str, Request<'_>); 4] {
    let rest = at_rest(fresh(names, policy));
    let mut failover = rest.clone();
    failover.clusters[5].state = ClusterState::Lost;
    let mut edit = rest.clone();
    edit.assignment_hash = None;
    for (at, cluster) in edit.clusters.iter_mut().enumerate() {
        cluster.weight = ((at + 3) % 7 + 1) as u64;
        cluster.priority = Some(((at + 1) % 3) as i32);
        cluster.available = Some(((at + 5) % 11 * 3) as u32);
    }
    [("fresh", fresh(names, policy)), ("at-rest", rest), ("failover", failover), ("edit", edit)]
}

fn plans(c: &mut Criterion) {
    for count in COUNTS {
        let names = names(count);
        let request = fresh(&names, Policy::StaticWeighted);
        let mut floor = c.benchmark_group("floor");
        floor.bench_function(BenchmarkId::new("sort", count), |b| {
            b.iter(|| {
                let mut clusters: Vec<&Cluster<'_>> = black_box(&request).clusters.iter().collect();
                clusters.sort_unstable_by_key(|cluster| cluster.name);
                clusters
            });
        });
        floor.bench_function(BenchmarkId::new("sum", count), |b| {
            b.iter(|| black_box(&request).clusters.iter().map(|cluster| u64::from(cluster.running())).sum::<u64>());
        });
        floor.finish();
        for policy in Policy::ALL {
            for (story, request) in stories(&names, policy) {
                let mut group = c.benchmark_group(format!("plan/{}/{story}", policy.name()));
                group.bench_function(BenchmarkId::from_parameter(count), |b| b.iter(|| plan(black_box(&request))));
                group.finish();
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .sample_size(20)
        .warm_up_time(std::time::Duration::from_millis(200))
        .measurement_time(std::time::Duration::from_millis(500));
    targets = plans
}
criterion_main!(benches);
