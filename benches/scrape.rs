//! A scrape of a leader that has series for each of 10,000 FederatedHPAs, and what a reconcile costs that changes its
//! numbers or does not.
//!
//! Floor: `floor/copy` copies the text of the same scrape.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fhpa::runtime::metrics::{Format, Metrics, ObjectFigures};

const OBJECTS: usize = 10_000;

fn figures(replicas: i64) -> ObjectFigures {
    let conditions = ["Assigned", "Ready", "ScalingActive", "AbleToScale", "ScalingLimited"];
    ObjectFigures {
        mode: "Distributed",
        replicas: [1, 40, replicas, replicas],
        clusters: [3, 3, 0, 0, 0, 0],
        conditions: conditions.map(|name| (name.to_owned(), "True".to_owned())).into(),
    }
}

fn scrape(c: &mut Criterion) {
    let metrics = Metrics::new();
    let objects = &metrics.controller().objects;
    objects.limit(OBJECTS);
    for number in 0..OBJECTS {
        objects.set(("production", &format!("workload-{number}")), &figures(12));
    }
    let text = metrics.scrape(Format::Text);
    let series = text.lines().filter(|line| line.starts_with("fhpa_federated_hpa")).count();
    println!("{series} series of {OBJECTS} objects, {} bytes", text.len());
    let mut group = c.benchmark_group("scrape");
    group.throughput(Throughput::Bytes(u64::try_from(text.len()).unwrap()));
    group.sample_size(20);
    group.bench_function("text", |b| b.iter(|| metrics.scrape(black_box(Format::Text))));
    group.bench_function("openmetrics", |b| b.iter(|| metrics.scrape(black_box(Format::OpenMetrics))));
    group.bench_function("floor/copy", |b| b.iter(|| black_box(&text).clone()));
    group.finish();

    let mut group = c.benchmark_group("object");
    group
        .bench_function("unchanged", |b| b.iter(|| objects.set(("production", "workload-7"), black_box(&figures(12)))));
    let mut replicas = 0;
    group.bench_function("changed", |b| {
        b.iter(|| {
            replicas = (replicas + 1) % 40;
            objects.set(("production", "workload-7"), &figures(replicas));
        });
    });
    group.bench_function("floor/figures", |b| b.iter(|| black_box(figures(12))));
    group.finish();
}

criterion_group!(benches, scrape);
criterion_main!(benches);
