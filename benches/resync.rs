//! What a leader does first: it looks at all FederatedHPAs. Observes and plans each of them in-process, and compares
//! its status with the stored one, from filled caches and without an API server. Says how much memory a FederatedHPA
//! takes in each of its clusters: its Work, its part of the binding, of the assignment and of the status, all at rest.
//!
//! `FHPA_BENCH_OBJECTS` (10000) objects over `FHPA_BENCH_CLUSTERS` (100) clusters. Without `--bench`, as when tests
//! run, all is small. Memory is counted in a fleet of a hundredth of the objects.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    unreachable_pub
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use fhpa::api::federated_hpa::FederatedHPAStatus;
use fhpa::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use fhpa::controller::key::Key;
use fhpa::decision::defaults::Mode;
use fhpa::decision::drill::FailureDomain;
use fhpa::decision::names;
use fhpa::decision::plan::{Bounds, HpaVersion, Plan, plan};
use fhpa::reconcile::federated_hpa::cache::View;
use fhpa::reconcile::federated_hpa::drill::Drill;
use fhpa::reconcile::federated_hpa::manifest::{Write, work_name, work_of};
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::reconcile::federated_hpa::observe::live_state::LiveState;
use fhpa::reconcile::federated_hpa::observe::{PlacementSpec, observe};
use fhpa::reconcile::federated_hpa::status;
use fhpa::runtime::clock;
use fhpa::runtime::watch::{Intakes, Readers};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
const TOKEN: &str = "1799999000000";

struct Size {
    objects: usize,
    clusters: usize,
}

/// What is assigned to every object: nothing changes any more.
#[derive(Clone, Default)]
struct Assigned {
    basis: Option<String>,
    bounds: Vec<Bounds>,
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn member(at: usize) -> String {
    format!("member-{at:04}")
}

fn cluster(at: usize) -> Cluster {
    let resources = |cpu: usize| json!({"cpu": cpu.to_string(), "memory": "4096Gi", "pods": "1100"});
    read(json!({
        "metadata": {"name": member(at), "uid": format!("cluster-{at}"), "resourceVersion": "1"},
        "spec": {"syncMode": "Push", "region": "r"},
        "status": {"kubernetesVersion": "v1.36.2", "conditions": [{"type": "Ready", "status": "True"}],
            "resourceSummary": {"allocatable": resources(640), "allocated": resources(300)}},
    }))
}

fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn uid(of: usize, at: usize) -> String {
    format!("{of:08x}-50a7-4c5f-9a57-{at:012x}")
}

fn name(at: usize) -> String {
    format!("web-{at:05}")
}

fn hpa(at: usize, clusters: usize, assigned: &Assigned) -> FederatedHPA {
    let desired =
        assigned.bounds.iter().enumerate().map(
            |(at, bounds)| json!({"clusterName": member(at), "minReplicas": bounds.min, "maxReplicas": bounds.max}),
        );
    let desired: Vec<Value> = desired.collect();
    read(json!({
        "status": {"assignmentHash": assigned.basis, "clusterHPADesired": desired},
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name(at), "namespace": "prod", "uid": uid(1, at), "resourceVersion": "1",
            "generation": 1, "finalizers": ["fhpa.karmada.io/finalizer"]},
        "spec": {"minReplicas": clusters, "maxReplicas": 8 * clusters, "mode": "Distributed",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name(at)},
            "metrics": [{"type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]},
    }))
}

fn binding(at: usize, clusters: usize) -> ResourceBinding {
    let weights: Vec<Value> = (0..clusters)
        .map(|at| json!({"targetCluster": {"clusterNames": [member(at)]}, "weight": at % 7 + 1}))
        .collect();
    let entries: Vec<Value> = (0..clusters).map(|at| json!({"name": member(at), "replicas": 2})).collect();
    let running: Vec<Value> = (0..clusters)
        .map(|at| {
            let status = json!({"replicas": 2, "readyReplicas": 2, "observedGeneration": 1});
            json!({"clusterName": member(at), "applied": true, "status": status})
        })
        .collect();
    let placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": weights}}});
    read(json!({
        "metadata": {"name": format!("{}-deployment", name(at)), "namespace": "prod", "uid": uid(2, at),
            "resourceVersion": "1", "generation": 1,
            "annotations": {"policy.karmada.io/applied-placement": placement.to_string()}},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name(at)},
            "replicas": 2 * clusters, "suspension": {"scheduling": true}, "clusters": entries,
            "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "64Mi"}},
            "placement": placement,
        },
        "status": {"schedulerObservedGeneration": 1, "aggregatedStatus": running},
    }))
}

/// The metrics and times of the HPA of an object in a cluster: each has its own.
fn measured(object: usize, cluster: usize, status: &mut Value) {
    let percent = 40 + (object * 7 + cluster) % 12;
    status["currentMetrics"] = json!([{"type": "Resource", "resource": {"name": "cpu",
        "current": {"averageUtilization": percent, "averageValue": format!("{}m", percent * 10 + object % 10)}}}]);
    let time =
        |seconds: usize| json!(Timestamp::constant(1_799_000_000, 0) + SignedDuration::from_secs(seconds as i64));
    status["lastScaleTime"] = time(object * 61 + cluster * 7);
    for (at, condition) in status["conditions"].as_array_mut().unwrap().iter_mut().enumerate() {
        condition["lastTransitionTime"] = time(object * 59 + cluster * 5 + at);
    }
}

/// The Work of the first object in a cluster; those of the others differ in names and measurements only.
fn work(cluster: usize, assigned: &Assigned) -> Work {
    let bounds = assigned.bounds.get(cluster).copied().unwrap_or(Bounds { min: 1, max: 8 });
    let (version, held, token) = (HpaVersion::V2, false, TOKEN);
    let (hpa, cluster) = (hpa(0, assigned.bounds.len().max(1), assigned), member(cluster));
    let write = Write { cluster: &cluster, bounds, version, outstanding: 8, held, token };
    let mut work = work_of(&hpa, &work_name(&hpa), write);
    let at = "2026-11-20T08:00:00Z";
    let condition = |type_: &str, reason: &str, message: &str| json!({"type": type_, "status": "True", "reason": reason, "message": message, "lastTransitionTime": at});
    work["metadata"]["resourceVersion"] = json!("1");
    work["status"] = json!({
        "conditions": [{"type": "Applied", "status": "True", "message": "Manifest has been successfully applied"}],
        "manifestStatuses": [{"status": {
            "writeID": TOKEN, "currentReplicas": 2, "desiredReplicas": 2,
            "conditions": [
                condition("AbleToScale", "ReadyForNewScale", "recommended size matches current size"),
                condition("ScalingActive", "ValidMetricFound", "the HPA was able to successfully calculate a replica \
                    count from cpu resource utilization (percentage of request)"),
                condition("ScalingLimited", "DesiredWithinRange", "the desired count is within the acceptable range"),
            ],
        }}],
    });
    read(work)
}

fn bring<K>(intakes: &mut Intakes<K>, mut next: impl FnMut(&mut dyn FnMut(&K))) {
    for intake in intakes {
        intake.begin();
        next(&mut |object| intake.listed(object));
        intake.end();
    }
}

/// Caches as watches fill them.
fn filled(size: &Size, assigned: &Assigned) -> LiveState {
    let live = LiveState { capacity: Arc::new(Rooms::default()), ..LiveState::default() };
    let mut readers = Readers::default();
    live.cache.read_by(&mut readers);
    bring(&mut readers.federated_hpas, |take| (0..size.objects).for_each(|at| take(&hpa(at, size.clusters, assigned))));
    bring(&mut readers.resource_bindings, |take| (0..size.objects).for_each(|at| take(&binding(at, size.clusters))));
    bring(&mut readers.clusters, |take| (0..size.clusters).for_each(|at| take(&cluster(at))));
    bring(&mut readers.works, |take| {
        for cluster in 0..size.clusters {
            let mut work = work(cluster, assigned);
            for at in 0..size.objects {
                work.metadata.name = Some(names::work("HorizontalPodAutoscaler", "prod", &name(at)));
                work.spec.workload.manifests[0]["metadata"]["name"] = json!(name(at));
                let annotations = work.metadata.annotations.get_or_insert_default();
                annotations.insert("fhpa.karmada.io/federatedhpa".to_owned(), format!("prod/{}", name(at)));
                work.metadata.uid = Some(uid(cluster + 16, at));
                measured(at, cluster, &mut work.status.manifest_statuses[0].status);
                take(&work);
            }
        }
    });
    // With the status that this makes of it, each object is at rest.
    for at in 0..size.objects {
        let mut hpa = hpa(at, size.clusters, assigned);
        hpa.metadata.resource_version = Some("2".to_owned());
        look(&live, &Key::new("prod", &name(at)), |_, _, status| hpa.status = Some(status));
        readers.federated_hpas.iter_mut().for_each(|intake| intake.put(&hpa));
    }
    live
}

/// Observes and plans one object, and makes its status.
fn look(live: &LiveState, key: &Key, tell: impl FnOnce(&View, &Plan<'_>, FederatedHPAStatus)) {
    let view = live.cache.view(key).unwrap();
    let binding = view.binding.as_deref().unwrap();
    let placement_spec = PlacementSpec::of(&view, binding).unwrap();
    let mut observed = observe(&view, binding, &placement_spec, live, NOW);
    let mut ledger = live.ledger.lock();
    observed.leave_promised(live, &mut ledger, &view, binding, NOW);
    let (plan, _) = observed.promise(&mut ledger, &view, binding, NOW);
    tell(&view, &plan, status::planned(&view, &observed, &plan, None, NOW));
}

fn resync(live: &LiveState) -> (usize, usize) {
    let (mut objects, mut steps) = (0, 0);
    for key in live.cache.keys() {
        look(live, &key, |view, plan, status| {
            assert!(status::is_stored(&view.federated_hpa, &status), "the object is not at rest");
            steps += black_box(plan).steps.len();
        });
        objects += 1;
    }
    (objects, steps)
}

/// Processor time of this thread so far: beside other work on the machine, elapsed time says little.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// Processor times of the stages of one object, in microseconds.
fn stages(live: &LiveState, key: &Key) -> [f64; 4] {
    const ROUNDS: u32 = 200;
    let each = |time: Duration| time.as_secs_f64() * 1e6 / f64::from(ROUNDS);
    let view = live.cache.view(key).unwrap();
    let binding = view.binding.as_deref().unwrap();
    let placement_spec = PlacementSpec::of(&view, binding).unwrap();
    let observed = observe(&view, binding, &placement_spec, live, NOW);
    let planned = plan(&observed.request);
    let measure = |work: &dyn Fn()| {
        let start = processor();
        (0..ROUNDS).for_each(|_| work());
        each(processor() - start)
    };
    [
        measure(&|| drop(black_box(live.cache.view(key)))),
        measure(&|| drop(black_box(observe(&view, binding, &placement_spec, live, NOW).request))),
        measure(&|| drop(black_box(plan(&observed.request)))),
        measure(&|| {
            let status = status::planned(&view, &observed, &planned, None, NOW);
            assert!(status::is_stored(&view.federated_hpa, &status), "the object is not at rest");
        }),
    ]
}

/// Loses the first cluster, as the leader does; returns the replicas that ran there and those that would run nowhere.
fn drill(live: &LiveState) -> (u64, u64) {
    let drill = Drill::new(live, Some(Mode::Distributed), NOW);
    let loss = drill.loss(FailureDomain::of_clusters(vec![member(0)]));
    (loss.replicas, loss.short)
}

fn main() {
    let whole = std::env::args().any(|argument| argument == "--bench");
    let (objects, clusters) = if whole { (10_000, 100) } else { (20, 5) };
    let size =
        Size { objects: number("FHPA_BENCH_OBJECTS", objects), clusters: number("FHPA_BENCH_CLUSTERS", clusters) };
    let sample = Size { objects: (size.objects / 100).max(2), clusters: size.clusters };
    let mut assigned = Assigned::default();
    let key = Key::new("prod", &name(0));
    look(&filled(&Size { objects: 1, clusters: size.clusters }, &Assigned::default()), &key, |_, plan, _| {
        // Both are in order of their names.
        let bounds = plan.shares.iter().map(|share| share.target).collect();
        assigned = Assigned { basis: Some(plan.assignment_hash.to_string()), bounds };
    });
    let mut kept = None;
    let memory = allocation_counter::measure(|| kept = Some(filled(&sample, &assigned)));
    let pairs = sample.objects * sample.clusters;
    let bytes = memory.bytes_current / i64::try_from(pairs).unwrap();
    println!("memory      {bytes} bytes for each FederatedHPA in each cluster ({pairs} counted)");
    let one = allocation_counter::measure(|| {
        look(kept.as_ref().unwrap(), &key, |view, _, status| {
            black_box(status::is_stored(&view.federated_hpa, &status));
        })
    });
    println!("allocations {} of {} bytes for one look at {} clusters", one.count_total, one.bytes_total, size.clusters);
    let [view, observe, plan, status] = stages(kept.as_ref().unwrap(), &key);
    println!("one object  view {view:.0} us, observe {observe:.0} us, plan {plan:.0} us, status {status:.0} us");
    drop(kept);
    let start = clock::monotonic();
    let live = filled(&size, &assigned);
    println!("fill        {:.1} s for {} x {}", start.elapsed().as_secs_f64(), size.objects, size.clusters);
    for round in ["first", "second"] {
        let (start, used) = (clock::monotonic(), processor());
        let (objects, steps) = resync(&live);
        let (time, used) = (start.elapsed().as_secs_f64(), (processor() - used).as_secs_f64());
        let each = used * 1e6 / objects as f64;
        println!(
            "resync      {round}: {used:.2} s of a core in {time:.2} s, {objects} objects, {each:.0} us each, {steps} steps planned"
        );
    }
    let used = processor();
    let (replicas, short) = drill(&live);
    let used = (processor() - used).as_secs_f64();
    println!("drill       {used:.2} s of a core for the loss of a cluster with {replicas} replicas, {short} short");
}
