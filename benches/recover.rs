//! `fhpa recover` after a restore: a control plane whose Works, all of them, say less than the members have. The command
//! runs in a process of its own and speaks over HTTP on the loopback to the embedded API servers in this one: first it
//! plans only, then it writes, then it finds nothing left. Says how long each took, how many requests it sent, and how
//! much memory it had at most.
//!
//! `FHPA_BENCH_OBJECTS` (1000) FederatedHPAs in `FHPA_BENCH_CLUSTERS` (20) clusters each. Without `--bench`, as when
//! tests run, all is small.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    unreachable_pub
)]

#[allow(dead_code)]
#[path = "../tests/rig/proc.rs"]
mod proc;

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use embedded_apiserver::ApiServer;
use embedded_apiserver::store::{Expected, Key};
use fhpa::api;
use fhpa::cli::recover::Run;
use fhpa::decision::names::{RETAIN_REPLICAS, execution_space};
use fhpa::decision::plan::{Bounds, HpaVersion};
use fhpa::playground::karmada;
use fhpa::reconcile::federated_hpa::manifest::{Write, work_name, work_of};
use fhpa::reconcile::federated_hpa::names;
use fhpa::recovery::Recovery;
use fhpa::runtime::clock;
use fhpa::runtime::control_plane::{Origin, connect_once};
use fhpa::runtime::leader::activity::LeaseLocation;
use futures::FutureExt as _;
use serde_json::{Value, json};

/// Bounds of every HPA as restored, and as its member has it.
const RESTORED: Bounds = Bounds { min: 1, max: 6 };
const THERE: Bounds = Bounds { min: 1, max: 10 };
const SPACE: &str = "prod";

#[derive(Clone, Copy)]
struct Size {
    objects: usize,
    clusters: usize,
}

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("recover") => runtime.block_on(recover(Path::new(&arguments[2]), arguments[3] == "plan")),
        _ => runtime.block_on(measure(arguments.iter().any(|argument| argument == "--bench"))),
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// The command in its process; it prints its last line, and its figures.
async fn recover(kubeconfig: &Path, dry_run: bool) {
    let client = connect_once(Origin::find(Some(kubeconfig.to_owned()), None, None).unwrap()).await.unwrap();
    let recovery = Recovery {
        client,
        members: Default::default(),
        without: Default::default(),
        lease: LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() },
        clock: Arc::new(clock::wall),
    };
    let begun = clock::monotonic();
    let out = Box::new(std::io::sink());
    assert!(Run { recovery, dry_run, yes: true, out }.run().await, "something was left");
    let (took, own) = (begun.elapsed().as_secs_f64(), std::process::id());
    let (cpu, peak) = (proc::cpu(own).as_secs_f64(), f64::from(proc::memory(own, proc::PEAK)) / 1024.0);
    println!("{took:>8.1} s, {cpu:>6.1} s of a core, {peak:>6.0} MiB at most");
}

async fn measure(whole: bool) {
    let (objects, clusters) = if whole { (1_000, 20) } else { (4, 3) };
    let size =
        Size { objects: setting("FHPA_BENCH_OBJECTS", objects), clusters: setting("FHPA_BENCH_CLUSTERS", clusters) };
    println!("{} FederatedHPAs in {} clusters each", size.objects, size.clusters);
    let control = control_plane(size).await;
    let listening = control.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), listening.kubeconfig("fleet")).unwrap();
    for (what, how) in [("plans only", "plan"), ("writes", "write"), ("finds nothing left", "write")] {
        control.faults().record();
        let path = file.path().to_owned();
        let said = tokio::task::spawn_blocking(move || child(&path, how)).await.unwrap();
        let (mut reads, mut writes) = (0, 0);
        for ((verb, _), count) in control.faults().counts() {
            *(if matches!(&*verb, "get" | "list") { &mut reads } else { &mut writes }) += count;
        }
        println!("{what:<20} {} in {reads} reads, {writes} writes", said.trim_end());
        assert_eq!(writes > 0, what == "writes", "{what}: {writes} writes");
    }
}

fn child(kubeconfig: &Path, how: &str) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["recover".as_ref(), kubeconfig.as_os_str(), how.as_ref()]).stderr(Stdio::inherit());
    let done = command.output().unwrap();
    assert!(done.status.success());
    String::from_utf8(done.stdout).unwrap()
}

fn member(at: usize) -> String {
    format!("member{at:03}")
}

fn web(at: usize) -> String {
    format!("web-{at:05}")
}

/// Stores `object` as one like `sample`, which went through the server: with all that the server adds.
fn like(server: &ApiServer, bucket: &Arc<str>, sample: &Value, (namespace, name): (&str, &str), change: &Value) {
    let mut object = sample.clone();
    json_patch(&mut object, change);
    object["metadata"]["name"] = json!(name);
    object["metadata"]["uid"] = json!(format!("{namespace}-{name}"));
    server.store().put(&Key::new(bucket, namespace, name), Expected::Absent, object).unwrap();
}

/// Merges `change` into `object`.
fn json_patch(object: &mut Value, change: &Value) {
    match (object, change) {
        (Value::Object(object), Value::Object(change)) => {
            for (field, value) in change {
                json_patch(object.entry(field.clone()).or_insert(Value::Null), value);
            }
        }
        (object, change) => *object = change.clone(),
    }
}

/// Creates an object by a request, and takes it out of the store again.
async fn sample(server: &ApiServer, group: &str, plural: &str, object: Value) -> (Arc<str>, Value) {
    let made = server.create(&object).await.unwrap();
    let bucket = Arc::clone(&server.catalog().find(group, plural).unwrap().bucket);
    let text = |field: &str| made["metadata"][field].as_str().unwrap_or_default().to_owned();
    let key = Key::new(&bucket, &text("namespace"), &text("name"));
    let stored = server.store().get(&key).unwrap();
    server.store().remove(&key, stored.version(), stored.value().clone()).unwrap();
    (bucket, stored.value().clone())
}

async fn space(server: &ApiServer, name: &str) {
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    server.create(&space).await.unwrap();
}

fn deployment(replicas: i32) -> Value {
    let labels = json!({"app": "web"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "sample", "namespace": SPACE, "labels": {RETAIN_REPLICAS: "true"}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
            "spec": {"containers": [{"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}}]}}}})
}

fn federated(size: Size, name: &str) -> Value {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": SPACE, "finalizers": [names::FINALIZER],
            "annotations": {names::WORKLOAD: format!("apps/v1 Deployment {name}")}},
        "spec": {"minReplicas": size.clusters, "maxReplicas": size.clusters * RESTORED.max as usize, "mode": "Distributed",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
}

/// The Work with the HPA of a FederatedHPA.
fn sent(size: Size, name: &str, cluster: &str, bounds: Bounds) -> Value {
    let mut hpa = federated(size, name);
    hpa["metadata"]["uid"] = json!(format!("{SPACE}-{name}"));
    let write = Write {
        cluster,
        bounds,
        version: HpaVersion::V2,
        outstanding: bounds.max,
        held: false,
        token: "1799999000000",
    };
    let hpa = serde_json::from_value(hpa).unwrap();
    work_of(&hpa, &work_name(&hpa), write)
}

/// The Work with the workload.
fn workload(name: &str, cluster: &str) -> Value {
    let mut manifest = deployment(3);
    manifest["metadata"]["name"] = json!(name);
    json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
        "metadata": {"name": format!("{name}-work"), "namespace": execution_space(cluster),
            "annotations": {"resourcebinding.karmada.io/namespace": SPACE,
                "resourcebinding.karmada.io/name": format!("{name}-deployment")}},
        "spec": {"workload": {"manifests": [manifest]}}})
}

async fn control_plane(size: Size) -> ApiServer {
    let server = ApiServer::builder().kept_changes(1_000).build();
    for definition in api::crd::all().unwrap().iter().chain(karmada::definitions().unwrap()) {
        server.create(definition).await.unwrap();
    }
    for name in ["karmada-system", SPACE] {
        space(&server, name).await;
    }
    let mut members = std::collections::BTreeMap::new();
    for at in 0..size.clusters {
        let name = member(at);
        space(&server, &execution_space(&name)).await;
        let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
            "spec": {"syncMode": "Push"}, "status": {"kubernetesVersion": "v1.36.2"}});
        server.create(&cluster).await.unwrap();
        members.insert(name.clone(), member_server(size, &name).await);
    }
    workloads(&server, size).await;
    works(&server, size).await;
    let proxy: embedded_apiserver::Proxy = Arc::new(move |name: &str| {
        let found = members.get(name).cloned();
        async move { found }.boxed()
    });
    server.route_proxy("clusters.cluster.karmada.io", proxy);
    server
}

/// Templates, bindings and FederatedHPAs.
async fn workloads(server: &ApiServer, size: Size) {
    let (deployments, template) = sample(server, "apps", "deployments", deployment(3)).await;
    let entry = |at: usize| json!({"name": member(at), "replicas": 3});
    let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "sample", "namespace": SPACE},
        "spec": {"replicas": 3 * size.clusters, "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided",
                "replicaDivisionPreference": "Weighted"}}, "suspension": {"scheduling": true},
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": SPACE, "name": "sample"},
            "clusters": (0..size.clusters).map(entry).collect::<Vec<_>>()}});
    let (bindings, binding) = sample(server, "work.karmada.io", "resourcebindings", binding).await;
    let (hpas, hpa) = sample(server, "autoscaling.karmada.io", "federatedhpas", federated(size, "sample")).await;
    for at in 0..size.objects {
        let name = web(at);
        like(server, &deployments, &template, (SPACE, &name), &json!({}));
        let about =
            json!({"metadata": {"annotations": {names::SUSPENDED_FOR: name}}, "spec": {"resource": {"name": name}}});
        like(server, &bindings, &binding, (SPACE, &format!("{name}-deployment")), &about);
        like(server, &hpas, &hpa, (SPACE, &name), &federated(size, &name));
    }
}

/// All Works, as the backup has them.
async fn works(server: &ApiServer, size: Size) {
    for cluster in (0..size.clusters).map(member) {
        let space = execution_space(&cluster);
        let (works, hpa) = sample(server, "work.karmada.io", "works", sent(size, "sample", &cluster, RESTORED)).await;
        let (_, work) = sample(server, "work.karmada.io", "works", workload("sample", &cluster)).await;
        for at in 0..size.objects {
            let name = web(at);
            for (sample, made) in [(&hpa, sent(size, &name, &cluster, RESTORED)), (&work, workload(&name, &cluster))] {
                like(server, &works, sample, (&space, made["metadata"]["name"].as_str().unwrap()), &made);
            }
        }
    }
}

/// A member in which every workload has grown.
async fn member_server(size: Size, cluster: &str) -> ApiServer {
    let server = ApiServer::builder().kept_changes(1_000).build();
    server.become_kubernetes("v1.36.2");
    space(&server, SPACE).await;
    let (deployments, template) = sample(&server, "apps", "deployments", deployment(5)).await;
    let there = |name: &str| sent(size, name, cluster, THERE)["spec"]["workload"]["manifests"][0].take();
    let group = "autoscaling";
    let (hpas, hpa) = sample(&server, group, "horizontalpodautoscalers", there("sample")).await;
    for name in (0..size.objects).map(web) {
        like(&server, &deployments, &template, (SPACE, &name), &json!({}));
        like(&server, &hpas, &hpa, (SPACE, &name), &there(&name));
    }
    server
}
