//! A scrape of a leader that has series for each of 10,000 FederatedHPAs, and what a reconcile costs that changes its
//! numbers or does not.
//!
//! Floor: `floor/copy` copies the text of the same scrape.
//!
//! `FHPA_BENCH_LEADER=10000` runs `fhpa controller` instead, as a process, over so many FederatedHPAs in three clusters
//! on an embedded API server in this process, which also answers for Karmada. It prints memory, series and the time of
//! scrapes over HTTP.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used, clippy::indexing_slicing, clippy::cast_precision_loss)]

use std::hint::black_box;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use criterion::{Criterion, Throughput};
use embedded_apiserver::ApiServer;
use fhpa::api;
use fhpa::playground::karmada;
use fhpa::playground::objects::{Kind, Objects};
use fhpa::runtime::clock;
use fhpa::runtime::metrics::{Format, Metrics, ObjectFigures};
use serde_json::{Value, json};

#[allow(dead_code)]
#[path = "../tests/rig/proc.rs"]
mod proc;

const OBJECTS: usize = 10_000;
const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];

fn main() {
    if let Ok(objects) = std::env::var("FHPA_BENCH_LEADER") {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        return runtime.block_on(leader(objects.parse().unwrap()));
    }
    scrape(&mut Criterion::default().configure_from_args());
    Criterion::default().configure_from_args().final_summary();
}

fn figures(replicas: i64) -> ObjectFigures {
    let conditions = ["Assigned", "Ready", "ScalingActive", "AbleToScale", "ScalingLimited"];
    ObjectFigures {
        mode: "Distributed",
        replicas: [1, 40, replicas, replicas],
        clusters: [3, 3, 0, 0, 0, 0],
        unassigned: 0,
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

/// An object with its workload, its binding and three members.
async fn populate(server: &ApiServer, at: usize) {
    let name = format!("workload-{at:05}");
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    let container = json!({"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m"}}});
    let labels = json!({"app": name});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "production"},
        "spec": {"replicas": 6, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}});
    let made = server.create(&deployment).await.unwrap();
    let mut resource = target.clone();
    resource["namespace"] = "production".into();
    resource["uid"] = made["metadata"]["uid"].clone();
    resource["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    let weights = MEMBERS.map(|member| json!({"targetCluster": {"clusterNames": [member]}, "weight": 1}));
    let placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": weights}}});
    let entries = MEMBERS.map(|member| json!({"name": member, "replicas": 2}));
    let running = MEMBERS.map(|member| {
        json!({"clusterName": member, "applied": true, "health": "Healthy",
            "status": {"replicas": 2, "readyReplicas": 2, "observedGeneration": 1}})
    });
    let binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": format!("{name}-deployment"), "namespace": "production",
            "annotations": {"policy.karmada.io/applied-placement": placement.to_string()}},
        "spec": {"resource": resource, "replicas": 6, "clusters": entries, "placement": placement}});
    let made = server.create(&binding).await.unwrap();
    let bindings = Kind::regular("work.karmada.io/v1alpha2", "ResourceBinding", true);
    let status = json!({"status": {"schedulerObservedGeneration": 1, "aggregatedStatus": running}});
    Objects::new(server.client()).merge(&bindings, &made, "status", &status).await.unwrap();
    let metric = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "production"},
        "spec": {"mode": "Distributed", "minReplicas": 3, "maxReplicas": 40, "scaleTargetRef": target, "metrics": [metric]}});
    server.create(&hpa).await.unwrap();
}

async fn server(objects: usize) -> ApiServer {
    let server = ApiServer::builder().build();
    for definition in api::crd::all().unwrap().iter().chain(karmada::definitions().unwrap()) {
        server.create(definition).await.unwrap();
    }
    let spaces = MEMBERS.map(|member| format!("karmada-es-{member}"));
    for space in spaces.iter().map(String::as_str).chain(["karmada-system", "production"]) {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
        server.create(&space).await.unwrap();
    }
    let (control, clusters) =
        (Objects::new(server.client()), Kind::regular("cluster.karmada.io/v1alpha1", "Cluster", false));
    for member in MEMBERS {
        let cluster = json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": member}, "spec": {"syncMode": "Push"}});
        let made = server.create(&cluster).await.unwrap();
        let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "",
            "lastTransitionTime": "2026-11-20T08:00:00Z"});
        let status = json!({"status": {"kubernetesVersion": "v1.36.2", "conditions": [ready]}});
        control.merge(&clusters, &made, "status", &status).await.unwrap();
    }
    for at in 0..objects {
        populate(&server, at).await;
    }
    server
}

/// Reports of each Work the HPA that it holds, as Karmada does. Returns whether there was something to report.
async fn report(control: &Objects) -> bool {
    let works = Kind::regular("work.karmada.io/v1alpha1", "Work", true);
    let mut reported = false;
    for (at, work) in control.list(&works, "").await.unwrap().iter().enumerate() {
        let manifest = &work["spec"]["workload"]["manifests"][0];
        let token = &manifest["metadata"]["annotations"][fhpa::reconcile::federated_hpa::names::WRITE_ID];
        if work["status"]["manifestStatuses"][0]["status"]["writeID"] == *token {
            continue;
        }
        let time = |seconds: usize| json!(format!("2026-11-20T08:{:02}:{:02}Z", at / 60 % 60, (at + seconds) % 60));
        let condition = |kind: &str, reason: &str, seconds| json!({"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": time(seconds)});
        let percent = 40 + at % 12;
        let status = json!({"status": {
            "conditions": [{"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "",
                "lastTransitionTime": time(0)}],
            "manifestStatuses": [{
                "identifier": {"ordinal": 0, "group": "autoscaling", "version": "v2", "kind": "HorizontalPodAutoscaler",
                    "resource": "horizontalpodautoscalers", "namespace": "production", "name": manifest["metadata"]["name"]},
                "status": {"writeID": token, "currentReplicas": 2, "desiredReplicas": 2, "lastScaleTime": time(7),
                    "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {
                        "averageUtilization": percent, "averageValue": format!("{percent}m")}}}],
                    "conditions": [condition("AbleToScale", "ReadyForNewScale", 3),
                        condition("ScalingActive", "ValidMetricFound", 5)]}}]}});
        control.merge(&works, work, "status", &status).await.unwrap();
        reported = true;
    }
    reported
}

/// A process that leads. Dropped, it ends.
struct Leader {
    child: Child,
    admin: String,
}

impl Leader {
    fn start(kubeconfig: &str, objects: usize) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        let own =
            ["controller", "--manage-karmada=false", "--health-probe-bind-address", "127.0.0.1:0", "--kubeconfig"];
        command.args(own).args([kubeconfig, "--object-metrics", &objects.to_string()]);
        let mut child = command.env_remove("KUBECONFIG").stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let admin = loop {
            let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
            if line["message"] == "serving" {
                break line["admin"].as_str().unwrap().to_owned();
            }
        };
        // Its log is read on, so that it can be written.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, admin }
    }

    /// `/metrics`, and how long it took.
    fn scrape(&self) -> (String, Duration) {
        let begun = clock::monotonic();
        let mut stream = TcpStream::connect(&self.admin).unwrap();
        let request = format!("GET /metrics HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.admin);
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        (text, begun.elapsed())
    }

    /// MiB.
    fn memory(&self, what: &str) -> f64 {
        f64::from(proc::memory(self.child.id(), what)) / 1024.0
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn leader(objects: usize) {
    let server = server(objects).await;
    let listening = server.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), listening.kubeconfig("karmada")).unwrap();
    println!("{objects} FederatedHPAs in {} clusters are stored", MEMBERS.len());
    let leader = Leader::start(file.path().to_str().unwrap(), objects);
    let control = Objects::new(server.client());
    let assigned = format!(
        "fhpa_federated_hpa_conditions{{condition=\"Assigned\",status=\"True\",reason=\"Assigned\"}} {objects}"
    );
    loop {
        let reported = report(&control).await;
        let (text, _) = leader.scrape();
        if !reported && text.lines().any(|line| line == assigned) {
            break;
        }
        if std::env::var_os("FHPA_BENCH_LOG").is_some() {
            text.lines()
                .filter(|line| line.starts_with("fhpa_federated_hpa_conditions"))
                .for_each(|line| println!("{line}"));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let mut times: Vec<Duration> = (0..20).map(|_| leader.scrape().1).collect();
    times.sort();
    let (text, _) = leader.scrape();
    let series = text.lines().filter(|line| line.starts_with("fhpa_")).count();
    println!(
        "{series} series, {:.1} MB; scrape {:?} (median), {:?} (longest of 20)",
        text.len() as f64 / 1e6,
        times[10],
        times[19]
    );
    println!("{:.0} MiB resident, {:.0} MiB at most", leader.memory(proc::RESIDENT), leader.memory(proc::PEAK));
}
