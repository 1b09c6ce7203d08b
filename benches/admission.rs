//! Reviews per second in one thread, from the bytes of the request to the bytes of the answer, without a network.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    unreachable_pub
)]

mod corpus;

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fhpa::admission::body::Limits;
use fhpa::admission::router::{Clock, WebhookState, router};
use fhpa::admission::{envelope, response};
use fhpa::decision::related_objects::NoRelatedObjects;
use fhpa::decision::validation::Settings;
use fhpa::run::process::{ReviewDependencies, judge, review_slots};
use fhpa::run::review_log::ReviewLog;
use fhpa::run::review_metrics::ReviewMetrics;
use fhpa::runtime::zones::ZoneDatabase;
use fhpa::runtime::{clock, metrics::Metrics};
use http_body_util::BodyExt as _;
use tower::Service as _;

fn reviews(c: &mut Criterion) {
    let zones = Arc::new(ZoneDatabase::open());
    let judge = judge(Settings::default())(ReviewDependencies {
        related_objects: Arc::new(NoRelatedObjects),
        zones,
        preview: None,
        frozen: None,
        idle: None,
    });
    let clocks = Clock { wall: clock::wall, monotonic: clock::monotonic };
    let journal = Arc::new(ReviewLog::new(Arc::new(Metrics::with(ReviewMetrics::new).1)));
    let desk = Arc::new(WebhookState::new(
        judge.clone(),
        clocks,
        journal,
        Limits::default(),
        review_slots(64, &Limits::default()),
    ));
    let mut router = router(&desk);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for case in corpus::cases() {
        let mut group = c.benchmark_group(case.name);
        group.throughput(Throughput::Elements(1));
        group.bench_function("decode the envelope and its object", |b| {
            b.iter(|| black_box(envelope::decode(black_box(&case.body))).unwrap().dry_run);
        });
        group.bench_function("decode, judge, answer", |b| {
            let now = clock::wall();
            b.iter(|| {
                let request = envelope::decode(black_box(&case.body)).unwrap();
                let verdict = judge(case.endpoint, &request, now);
                response::write(case.endpoint, &request.uid, &request.name, &verdict)
            });
        });
        let body = Bytes::from(case.body.clone());
        group.bench_function("through the router", |b| {
            b.iter(|| {
                let request = http::Request::post(case.endpoint.path())
                    .header("content-type", "application/json")
                    .body(axum::body::Body::from(body.clone()))
                    .unwrap();
                runtime.block_on(async { router.call(request).await.unwrap().into_body().collect().await.unwrap() })
            });
        });
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(std::time::Duration::from_millis(500))
        .measurement_time(std::time::Duration::from_secs(2));
    targets = reviews
}
criterion_main!(benches);
