//! A dashboard of a large fleet: how long it lists, how long each page takes and how large it is, how much memory the
//! process takes, and what it asks the API server for. `fhpa dashboard` runs as a process, on a server that makes up
//! lists as they are asked for and holds watches open.
//!
//! Floors of the same run: the bare lists, read page by page and dropped, and a constant answer of the dashboard.
//!
//! `FHPA_BENCH_OBJECTS` (10000) objects over `FHPA_BENCH_CLUSTERS` (100) clusters. Without `--bench`, as when tests
//! run, all is small.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::string_slice,
    unreachable_pub
)]

#[allow(dead_code)]
#[path = "../tests/rig/proc.rs"]
mod proc;

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Goals of design.md's sizes.
const PAGE_TIME: Duration = Duration::from_secs(1);
const PAGE_BYTES: usize = 300_000;
const MEMORY_KIB: u32 = 150 << 10;

#[derive(Clone, Copy)]
struct Size {
    objects: usize,
    clusters: usize,
}

struct Server {
    size: Size,
    /// How often each verb and collection was asked for.
    asked: Mutex<BTreeMap<String, usize>>,
}

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn member(at: usize) -> String {
    format!("member-{at:04}")
}

fn name(at: usize) -> String {
    format!("web-{at:05}")
}

fn time(seconds: usize) -> Value {
    json!(Timestamp::constant(1_799_000_000, 0) + SignedDuration::from_secs(seconds as i64))
}

/// An object whose HPA in each cluster has measurements of its own; in every eighth cluster something is to be said.
fn hpa(at: usize, clusters: usize) -> Value {
    let share = |cluster: usize| {
        let mut share = json!({"clusterName": member(cluster), "minReplicas": 1 + at % 3, "maxReplicas": 8 + cluster % 5,
            "reason": "StaticWeighted"});
        if (at + cluster).is_multiple_of(8) {
            share["scaleUpBlockedReason"] = "Unschedulable".into();
            share["scaleUpBlockedTime"] = time(at * 31 + cluster);
        }
        share
    };
    let condition = |type_: &str, reason: &str, seconds: usize| {
        json!({"type": type_, "status": "True", "reason": reason,
        "message": "the HPA was able to successfully calculate a replica count", "lastTransitionTime": time(seconds)})
    };
    let status = |cluster: usize| {
        let percent = 40 + (at * 7 + cluster) % 12;
        json!({"clusterName": member(cluster), "status": {
            "currentReplicas": 2 + (at + cluster) % 6, "desiredReplicas": 2 + (at + cluster) % 7,
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current":
                {"averageUtilization": percent, "averageValue": format!("{}m", percent * 10 + at % 10)}}}],
            "conditions": [condition("AbleToScale", "ReadyForNewScale", at * 59 + cluster),
                condition("ScalingActive", "ValidMetricFound", at * 57 + cluster)]}})
    };
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name(at), "namespace": "prod", "uid": format!("{at:08x}-50a7-4c5f-9a57-000000000000"),
            "resourceVersion": (at + 1).to_string(), "generation": 1},
        "spec": {"minReplicas": 100, "maxReplicas": 800, "mode": "Distributed",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name(at)},
            "metrics": [{"type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]},
        "status": {"observedGeneration": 1, "currentReplicas": 200 + at % 600, "desiredReplicas": 210 + at % 600,
            "conditions": [condition("Ready", "MemberHPAsReady", at), condition("Assigned", "Assigned", at)],
            "clusters": {"total": clusters, "ready": clusters, "limited": clusters / 8, "unknown": 0, "scaledToZero": 0},
            "clusterHPADesired": (0..clusters).map(share).collect::<Vec<_>>(),
            "aggregatedStatus": (0..clusters).map(status).collect::<Vec<_>>()}})
}

fn binding(at: usize, clusters: usize) -> Value {
    let replicas = |cluster: usize| 2 + (at + cluster) % 6;
    let entry = |cluster: usize| json!({"name": member(cluster), "replicas": replicas(cluster)});
    let report = |cluster: usize| {
        json!({"clusterName": member(cluster), "applied": true, "status":
        {"replicas": replicas(cluster), "readyReplicas": replicas(cluster) - (at + cluster) % 2, "observedGeneration": 1}})
    };
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": format!("{}-deployment", name(at)), "namespace": "prod", "resourceVersion": (at + 1).to_string()},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name(at)},
            "replicaRequirements": {"resourceRequest": {"cpu": "100m", "memory": "64Mi"}},
            "clusters": (0..clusters).map(entry).collect::<Vec<_>>()},
        "status": {"aggregatedStatus": (0..clusters).map(report).collect::<Vec<_>>()}})
}

fn cluster(at: usize) -> Value {
    let resources = |cpu: usize| json!({"cpu": cpu.to_string(), "memory": "4096Gi", "pods": "1100"});
    json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": member(at), "resourceVersion": "1"}, "spec": {"syncMode": "Push", "region": "r"},
        "status": {"kubernetesVersion": "v1.36.2",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time(at)}],
            "resourceSummary": {"allocatable": resources(640), "allocated": resources(300)}}})
}

/// Two Events for each object.
fn event(at: usize) -> Value {
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "type": "Normal", "reason": "Reassigned", "action": "Assign",
        "metadata": {"name": format!("event-{at:06}"), "namespace": "prod", "resourceVersion": "1"},
        "note": format!("member-{:04} 1..4, member-{:04} 1..6: unused max was moved", at % 97, at % 89), "eventTime":
            "2026-11-20T08:00:00.000000Z", "regarding": {"kind": "FederatedHPA", "namespace": "prod", "name": name(at / 2)}})
}

impl Server {
    /// A page of a collection: its items, and where the next begins.
    fn page(&self, collection: &str, first: usize, limit: usize) -> (Vec<Value>, Option<usize>) {
        let Size { objects, clusters } = self.size;
        let (all, make): (usize, Box<dyn Fn(usize) -> Value>) = match collection {
            "federatedhpas" => (objects, Box::new(move |at| hpa(at, clusters))),
            "resourcebindings" => (objects, Box::new(move |at| binding(at, clusters))),
            "clusters" => (clusters, Box::new(cluster)),
            "events" => (objects * 2, Box::new(event)),
            _ => (0, Box::new(|_| Value::Null)),
        };
        let end = first.saturating_add(limit).min(all);
        ((first..end).map(make).collect(), (end < all).then_some(end))
    }
}

async fn answer(State(server): State<Arc<Server>>, request: Request) -> Response {
    let query: BTreeMap<String, String> =
        form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()).into_owned().collect();
    let collection = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
    let watch = query.get("watch").is_some_and(|watch| watch != "false" && watch != "0");
    let verb = if watch { "watch" } else { "list" };
    *server.asked.lock().unwrap().entry(format!("{} {verb} {collection}", request.method())).or_default() += 1;
    if watch {
        return Response::new(Body::from_stream(futures::stream::pending::<Result<Bytes, Infallible>>()));
    }
    let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
    let first = number("continue").unwrap_or_default();
    let (items, next) = server.page(&collection, first, number("limit").unwrap_or(usize::MAX));
    let next = next.map(|next| next.to_string());
    let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "1", "continue": next}, "items": items});
    Response::builder().header("content-type", "application/json").body(Body::from(list.to_string())).unwrap()
}

struct Dashboard {
    child: Child,
    _output: BufReader<ChildStdout>,
    host: String,
    cookie: String,
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Dashboard {
    fn start(server: SocketAddr) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kubeconfig");
        let kubeconfig = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{"name": "a", "cluster": {"server": format!("http://{server}")}}],
            "users": [{"name": "a", "user": {}}], "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}]});
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
        command.args(["dashboard", "--kubeconfig"]).arg(&file).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut url = String::new();
        output.read_line(&mut url).unwrap();
        let (host, path) = url.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).unwrap();
        let entered = fetch(host, &format!("/{path}"), "");
        let cookie = entered.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap().to_owned();
        Self { child, _output: output, host: host.to_owned(), cookie }
    }

    fn get(&self, path: &str) -> (Duration, usize, String) {
        let began = Instant::now();
        let answer = fetch(&self.host, path, &self.cookie);
        let took = began.elapsed();
        assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {}", answer.lines().next().unwrap_or_default());
        let body = answer.split_once("\r\n\r\n").unwrap().1.to_owned();
        (took, body.len(), body)
    }

    /// A figure of the memory of the process, in KiB.
    fn memory(&self, figure: &str) -> u32 {
        proc::memory(self.child.id(), figure)
    }

    fn print_memory(&self) {
        let [resident, peak] = [proc::RESIDENT, proc::PEAK].map(|figure| self.memory(figure) >> 10);
        println!("memory: {resident} MiB resident, {peak} MiB at most");
    }
}

fn fetch(host: &str, path: &str, cookie: &str) -> String {
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\ncookie: {cookie}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// The bare lists, page by page: as many bytes as there are.
fn read_all(server: SocketAddr, size: Size) -> (Duration, usize) {
    let began = Instant::now();
    let mut bytes = 0;
    for (path, all) in
        [("federatedhpas", size.objects), ("resourcebindings", size.objects), ("events", 2 * size.objects)]
    {
        for first in (0..all).step_by(20) {
            bytes += fetch(&server.to_string(), &format!("/apis/a/v1/{path}?limit=20&continue={first}"), "").len();
        }
    }
    (began.elapsed(), bytes)
}

fn main() {
    let measured = std::env::args().any(|argument| argument == "--bench");
    let (objects, clusters) = if measured { (10_000, 100) } else { (60, 12) };
    let size =
        Size { objects: number("FHPA_BENCH_OBJECTS", objects), clusters: number("FHPA_BENCH_CLUSTERS", clusters) };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let server = Arc::new(Server { size, asked: Mutex::default() });
    let socket = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = socket.local_addr().unwrap();
    let router = Router::new().fallback(answer).with_state(Arc::clone(&server));
    runtime.spawn(async move { axum::serve(socket, router).await });

    println!("{} objects in {} clusters", size.objects, size.clusters);
    let (bare, bytes) = read_all(address, size);
    println!("bare lists: {:.1} s, {} MiB", bare.as_secs_f64(), bytes >> 20);
    server.asked.lock().unwrap().clear();
    let began = Instant::now();
    let dashboard = Dashboard::start(address);
    println!("first page, while it lists: {:.1} ms", dashboard.get("/").0.as_secs_f64() * 1e3);
    while dashboard.get("/").2.contains("are being listed") {
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("listed: {:.1} s", began.elapsed().as_secs_f64());
    dashboard.print_memory();
    let asked = server.asked.lock().unwrap().clone();

    let floor = (0..9).map(|_| dashboard.get("/style.css").0).min().unwrap();
    println!("a constant answer: {:.2} ms", floor.as_secs_f64() * 1e3);
    let web = format!("/objects/prod/{}", name(size.objects / 2));
    let paths =
        ["/", "/?sort=pressure&state=attention", "/?page=3", &web, "/clusters", "/clusters/member-0001", "/cron"];
    let mut slow = Vec::new();
    for path in paths {
        let mut times: Vec<(Duration, usize)> =
            (0..5).map(|_| dashboard.get(path)).map(|(took, bytes, _)| (took, bytes)).collect();
        times.sort();
        let (took, bytes) = times[2];
        println!("{path}: {:.1} ms, {bytes} bytes", took.as_secs_f64() * 1e3);
        assert!(bytes < PAGE_BYTES, "{path} has {bytes} bytes");
        if took > PAGE_TIME {
            slow.push(path);
        }
    }
    dashboard.print_memory();
    let after = server.asked.lock().unwrap().clone();
    println!("requests: {after:?}");
    // A watch that ended meanwhile is begun again.
    let lists = |asked: &BTreeMap<String, usize>| -> Vec<(String, usize)> {
        let lists = asked.iter().filter(|(request, _)| !request.contains(" watch "));
        lists.map(|(request, count)| (request.clone(), *count)).collect()
    };
    assert_eq!(lists(&after), lists(&asked), "pages ask the API server for nothing");
    assert!(after.keys().all(|asked| asked.contains(" list ") || asked.contains(" watch ")), "{after:?}");
    let watches = after.keys().filter(|asked| asked.contains(" watch ")).count();
    assert_eq!(watches, 5, "a watch for each kind");
    if measured {
        assert!(slow.is_empty(), "above a second: {slow:?}");
        let resident = dashboard.memory(proc::RESIDENT);
        assert!(resident < MEMORY_KIB, "{resident} KiB are resident");
    }
}
