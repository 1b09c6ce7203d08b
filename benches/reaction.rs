//! How soon the controller answers a member HPA that is at its max and wants more: from the status that says so until
//! the donor's lower bound, and until the receiver's higher bound, are written. The controller and the embedded API
//! server run in this process in real time; a task plays Karmada and reports every write as applied. Beside it the
//! floor: the same writes by a client that decides nothing, in the same run and order: the status, the donor's bound, once
//! that is reported the receiver's bound. Elapsed times depend on what else
//! runs on the machine; the processor time of the whole process, and the requests of a reaction, do not.
//!
//! `FHPA_BENCH_OBJECTS` (300) FederatedHPAs over two clusters, first one after another, then all at once. Without
//! `--bench`, as when tests run, all is small.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    unreachable_pub
)]

#[allow(dead_code)]
#[path = "../tests/rig/proc.rs"]
mod proc;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use embedded_apiserver::ApiServer;
use fhpa::api::{self, FederatedHPA, Work};
use fhpa::controller::managers;
use fhpa::decision::lease::Timings;
use fhpa::decision::validation::Settings;
use fhpa::playground::karmada;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::reconcile::{Controller, Options};
use fhpa::runtime::control_plane::{Bounds, bounded};
use fhpa::runtime::leader::{Candidate, compete};
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Readers, Watches};
use fhpa::runtime::{clock, zones::ZoneDatabase};
use futures::StreamExt as _;
use jiff::SignedDuration;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const MEMBERS: [&str; 2] = ["member1", "member2"];
/// Of each cluster at first.
const MAX: i64 = 20;
/// Of the receiver in the end: its load is half above its target.
const RAISED: i64 = 30;
/// After the last reaction: its statuses and Events follow.
const REST: Duration = Duration::from_secs(3);
/// Nothing takes longer in a run that is worth a figure.
const PATIENCE: Duration = Duration::from_secs(60);

fn name(at: usize) -> String {
    format!("web-{at:04}")
}

/// What a member's HPA says.
#[derive(Clone, Copy)]
struct Said {
    replicas: i64,
    percent: i64,
}

/// What is known of an HPA on its way: the token of the last write, what its member says, and when its max was first
/// seen to be another one.
struct Sent {
    token: String,
    said: Said,
    max: i64,
    moved: Option<Instant>,
    told: Arc<Notify>,
    /// It is reported as applied.
    confirmed: Arc<Notify>,
}

/// Karmada, as far as it is needed: every HPA that is sent is applied at once.
#[derive(Clone)]
struct Karmada {
    client: kube::Client,
    sent: Arc<Mutex<HashMap<(String, String), Sent>>>,
}

impl Karmada {
    async fn run(self) {
        let works: Api<Work> = Api::all(self.client.clone());
        let events = watcher(works, watcher::Config::default()).default_backoff();
        futures::pin_mut!(events);
        while let Some(event) = events.next().await {
            if let Ok(watcher::Event::Apply(work) | watcher::Event::InitApply(work)) = event
                && let Some(key) = self.take(&work)
            {
                let karmada = self.clone();
                tokio::spawn(async move { karmada.report(&key).await });
            }
        }
    }

    /// Remembers a write that is new.
    fn take(&self, work: &Work) -> Option<(String, String)> {
        let manifest = &work.spec.workload.manifests[0];
        let token = manifest["metadata"]["annotations"]["fhpa.karmada.io/write-id"].as_str().unwrap();
        let key = (work.metadata.namespace.clone().unwrap(), work.metadata.name.clone().unwrap());
        let max = manifest["spec"]["maxReplicas"].as_i64().unwrap();
        let first = key.0.ends_with(MEMBERS[0]);
        let said = Said { replicas: if first { MAX } else { 1 }, percent: 50 };
        let mut all = self.sent.lock().unwrap();
        let new =
            || Sent { token: String::new(), said, max, moved: None, told: Arc::default(), confirmed: Arc::default() };
        let sent = all.entry(key.clone()).or_insert_with(new);
        if sent.token == token {
            return None;
        }
        if sent.max != max {
            sent.moved = Some(clock::monotonic());
            sent.told.notify_one();
        }
        (sent.token, sent.max) = (token.to_owned(), max);
        Some(key)
    }

    async fn report(&self, key: &(String, String)) {
        let (token, said) = {
            let all = self.sent.lock().unwrap();
            (all[key].token.clone(), all[key].said)
        };
        let current = json!({"averageUtilization": said.percent, "averageValue": format!("{}m", said.percent)});
        let status = json!({"writeID": token, "currentReplicas": said.replicas, "desiredReplicas": said.replicas,
            "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]});
        let identifier = json!({"ordinal": 0, "group": "autoscaling", "version": "v2", "resource": "",
            "kind": "HorizontalPodAutoscaler", "namespace": "prod", "name": key.1});
        let status = json!({"status": {
            "conditions": [{"type": "Applied", "status": "True", "reason": "AppliedSuccessful", "message": "",
                "lastTransitionTime": "2026-11-20T08:00:00Z"}],
            "manifestStatuses": [{"identifier": identifier, "status": status}]}});
        let works: Api<Work> = Api::namespaced(self.client.clone(), &key.0);
        works.patch_status(&key.1, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
        self.sent.lock().unwrap()[key].confirmed.notify_one();
    }

    /// The HPA of an object in the first cluster and in the second.
    fn keys(&self, object: usize) -> [(String, String); 2] {
        let all = self.sent.lock().unwrap();
        let about = format!("{}-", name(object));
        MEMBERS.map(|member| {
            all.keys().find(|(space, work)| space.ends_with(member) && work.starts_with(&about)).unwrap().clone()
        })
    }

    /// The first cluster of an object wants more; how long its donor and it waited for their bounds.
    async fn signal(&self, object: usize) -> [Duration; 2] {
        let keys = self.keys(object);
        for key in &keys {
            self.sent.lock().unwrap().get_mut(key).unwrap().moved = None;
        }
        let raised = {
            let mut all = self.sent.lock().unwrap();
            let receiver = all.get_mut(&keys[0]).unwrap();
            receiver.said.percent = 75;
            Arc::clone(&receiver.told)
        };
        let begun = clock::monotonic();
        self.report(&keys[0]).await;
        timeout(PATIENCE, raised.notified()).await.unwrap_or_else(|_| panic!("nobody helped {}", name(object)));
        let all = self.sent.lock().unwrap();
        assert_eq!(all[&keys[0]].max, RAISED);
        let [receiver, donor] = keys.each_ref().map(|key| all[key].moved.unwrap());
        [donor, receiver].map(|moved| moved.duration_since(begun))
    }
}

async fn control_plane(objects: usize) -> ApiServer {
    let server = ApiServer::builder().kept_changes(20_000).build();
    for (_, text) in api::crd::files().unwrap() {
        server.create(&serde_saphyr::from_str(&text).unwrap()).await.unwrap();
    }
    for definition in karmada::definitions().unwrap() {
        server.create(definition).await.unwrap();
    }
    for space in ["karmada-system", "prod", "karmada-es-member1", "karmada-es-member2"] {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}});
        server.create(&space).await.unwrap();
    }
    let allocatable = json!({"cpu": "640", "memory": "4096Gi", "pods": "1000"});
    let allocated = json!({"cpu": "300", "memory": "1024Gi", "pods": "300"});
    for member in MEMBERS {
        create(
            &server,
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": member},
                "spec": {"syncMode": "Push"}}),
            json!({"kubernetesVersion": "v1.36.2", "resourceSummary": {"allocatable": allocatable, "allocated": allocated},
                "conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m",
                    "lastTransitionTime": "2026-11-20T08:00:00Z"}]}),
        )
        .await;
    }
    for at in 0..objects {
        populate(&server, at).await;
    }
    server
}

/// Creates an object and then its status.
async fn create(server: &ApiServer, object: Value, status: Value) {
    let created = server.create(&object).await.unwrap();
    let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
    let space =
        created["metadata"]["namespace"].as_str().map(|space| format!("/namespaces/{space}")).unwrap_or_default();
    let (version, name) = (object["apiVersion"].as_str().unwrap(), created["metadata"]["name"].as_str().unwrap());
    let request = http::Request::patch(format!("/apis/{version}{space}/{plural}/{name}/status"))
        .header("content-type", "application/merge-patch+json")
        .body(json!({"status": status}).to_string().into_bytes());
    server.client().request::<Value>(request.unwrap()).await.unwrap();
}

async fn populate(server: &ApiServer, at: usize) {
    let name = name(at);
    let labels = json!({"app": name});
    let made = server
        .create(&json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "prod"},
            "spec": {"replicas": MAX + 1, "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}}))
        .await
        .unwrap();
    let runs = |member: &str, replicas: i64| {
        json!({"clusterName": member, "applied": true,
        "status": {"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 1}})
    };
    create(
        server,
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("{name}-deployment"), "namespace": "prod"},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name,
                    "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]},
                "replicas": MAX + 1, "placement": {}, "replicaRequirements": {"resourceRequest": {"cpu": "100m"}},
                "clusters": [{"name": MEMBERS[0], "replicas": MAX}, {"name": MEMBERS[1], "replicas": 1}]}}),
        json!({"aggregatedStatus": [runs(MEMBERS[0], MAX), runs(MEMBERS[1], 1)]}),
    )
    .await;
    server
        .create(&json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": name, "namespace": "prod"},
            "spec": {"minReplicas": 2, "maxReplicas": 2 * MAX, "mode": "Distributed",
                "federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"},
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]}}))
        .await
        .unwrap();
}

/// The controller, by a clock that can be set forward; its tasks end when they are dropped.
fn controller(server: &ApiServer, ahead: &Arc<AtomicI64>) -> JoinSet<()> {
    let metrics = Arc::new(Metrics::new());
    let client = bounded(server.client(), Bounds::default(), metrics.requests());
    let ahead = Arc::clone(ahead);
    let options = Options {
        client: client.clone(),
        zones: Arc::new(ZoneDatabase::bundled()),
        settings: Settings::default(),
        clock: Arc::new(move || clock::wall() + SignedDuration::from_secs(ahead.load(Ordering::SeqCst))),
        metrics: metrics.controller(),
        identity: "reaction".into(),
        concurrency: 64,
        rebalance_period: None,
        failover: fhpa::reconcile::federated_hpa::observe::failover::Settings::default(),
        centralized: fhpa::reconcile::federated_hpa::centralized::Settings::default(),
        freeze: None,
    };
    let controller = Controller::with_capacity(options, Arc::new(Rooms::default()));
    let mut readers = Readers::default();
    let idle = controller.read_by(&mut readers);
    let readiness = Readiness::default();
    let mut tasks = JoinSet::new();
    tasks.spawn(Watches::new(readers, &readiness).run(client, metrics));
    let (told, leadership) = watch::channel(None);
    let candidate = Candidate { lease: "fhpa".into(), identity: "reaction".into(), timings: Timings::default() };
    let (end, ended) = watch::channel(false);
    tasks.spawn(compete(Api::namespaced(server.client(), "karmada-system"), candidate, told, ended));
    let (stop, stopped) = watch::channel(false);
    tasks.spawn(async move {
        idle.run(leadership, stopped).await;
        drop((stop, end));
    });
    tasks
}

async fn settled(karmada: &Karmada, objects: usize) {
    let begun = clock::monotonic();
    let hpas: Api<FederatedHPA> = Api::namespaced(karmada.client.clone(), "prod");
    loop {
        let list = hpas.list(&Default::default()).await.unwrap();
        let rests = |hpa: &FederatedHPA| {
            let conditions = hpa.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions.filter(|one| one.type_ == "Assigned" || one.type_ == "Ready").all(|one| one.status == "True")
                && hpa.status.is_some()
        };
        if list.items.iter().all(rests) && karmada.sent.lock().unwrap().len() == 2 * objects {
            return;
        }
        assert!(begun.elapsed() < 4 * PATIENCE, "the fleet does not come to rest: {:?}", list.items[0].status);
        sleep(Duration::from_millis(200)).await;
    }
}

/// p50, p99 and the greatest, in milliseconds.
fn figures(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100).saturating_sub(1)].as_secs_f64() * 1e3;
    format!("{:>8.1} {:>8.1} {:>8.1}", at(50), at(99), at(100))
}

fn row(what: &str, times: Vec<Duration>) {
    println!("{what:<58} {}", figures(times));
}

/// Processor time of this process, and its requests, since a moment.
struct Spent {
    cpu: Duration,
    counts: BTreeMap<(String, String), u64>,
}

impl Spent {
    fn so_far(server: &ApiServer) -> Self {
        Self { cpu: proc::cpu("self"), counts: server.faults().counts() }
    }

    /// A line for each of `reactions`: its share of the time, and its requests.
    fn show(&self, how: &str, server: &ApiServer, reactions: usize) {
        let now = Self::so_far(server);
        let each = (now.cpu - self.cpu).as_secs_f64() * 1e3 / reactions as f64;
        let more = now.counts.iter().filter_map(|(what, count)| {
            let more = count - self.counts.get(what).copied().unwrap_or_default();
            let (verb, resource) = what;
            (more > 0 && resource != "leases")
                .then(|| format!("{verb} {resource} {:.2}", more as f64 / reactions as f64))
        });
        println!("{how}: processor time of all for each, ms {each:>24.2}   {}", more.collect::<Vec<_>>().join(", "));
    }
}

/// What a client that decides nothing writes for a reaction.
struct Bare {
    karmada: Karmada,
    keys: [(String, String); 2],
    status: Value,
    works: [Value; 2],
    name: String,
}

impl Bare {
    /// Reads what it needs for one of the reactions.
    async fn new(karmada: &Karmada, object: usize) -> Self {
        let (keys, name) = (karmada.keys(object), name(object));
        let hpas: Api<FederatedHPA> = Api::namespaced(karmada.client.clone(), "prod");
        let mut status = json!(hpas.get(&name).await.unwrap().status);
        status["currentReplicas"] = json!(7);
        let mut works = Vec::new();
        for (key, max) in keys.iter().zip([MAX + 1, 2 * MAX - RAISED - 1]) {
            let api: Api<Work> = Api::namespaced(karmada.client.clone(), &key.0);
            let known = api.get(&key.1).await.unwrap();
            let mut manifest = known.spec.workload.manifests[0].clone();
            manifest["metadata"]["annotations"]["fhpa.karmada.io/write-id"] = json!("floor");
            manifest["spec"]["maxReplicas"] = json!(max);
            works.push(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
                "metadata": {"name": key.1, "namespace": key.0, "annotations": known.metadata.annotations},
                "spec": {"workload": {"manifests": [manifest]}}}));
        }
        Self { karmada: karmada.clone(), keys, status, works: works.try_into().unwrap(), name }
    }

    async fn write(&self, at: usize) {
        let key = &self.keys[at];
        let works: Api<Work> = Api::namespaced(self.karmada.client.clone(), &key.0);
        let parameters = PatchParams::apply(managers::MEMBER_HPA).force();
        works.patch(&key.1, &parameters, &Patch::Apply(&self.works[at])).await.unwrap();
    }

    /// How long until both bounds are seen, as for the controller.
    async fn react(self) -> [Duration; 2] {
        let [receiver, donor] = self.keys.each_ref().map(|key| {
            let mut all = self.karmada.sent.lock().unwrap();
            let sent = all.get_mut(key).unwrap();
            (sent.moved, sent.told, sent.confirmed) = (None, Arc::default(), Arc::default());
            (Arc::clone(&sent.told), Arc::clone(&sent.confirmed))
        });
        let begun = clock::monotonic();
        self.karmada.report(&self.keys[0]).await;
        let hpas: Api<FederatedHPA> = Api::namespaced(self.karmada.client.clone(), "prod");
        let body =
            json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "status": self.status});
        let parameters = PatchParams::apply(managers::STATUS).force();
        hpas.patch_status(&self.name, &parameters, &Patch::Apply(&body)).await.unwrap();
        self.write(1).await;
        donor.1.notified().await;
        self.write(0).await;
        receiver.0.notified().await;
        let all = self.karmada.sent.lock().unwrap();
        [1, 0].map(|at| all[&self.keys[at]].moved.unwrap().duration_since(begun))
    }
}

async fn bare(karmada: &Karmada, objects: std::ops::Range<usize>) -> Vec<Bare> {
    let mut all = Vec::new();
    for object in objects {
        all.push(Bare::new(karmada, object).await);
    }
    all
}

#[tokio::main]
async fn main() {
    let whole = std::env::args().any(|argument| argument == "--bench");
    let objects = std::env::var("FHPA_BENCH_OBJECTS").ok().map(|text| text.parse().unwrap());
    let objects: usize = objects.unwrap_or(if whole { 300 } else { 6 });
    let server = control_plane(objects).await;
    let karmada = Karmada { client: server.client(), sent: Arc::default() };
    tokio::spawn(karmada.clone().run());
    let ahead = Arc::new(AtomicI64::new(0));
    let mut running = controller(&server, &ahead);
    settled(&karmada, objects).await;
    // Right after a new assignment nobody is moved.
    ahead.store(60, Ordering::SeqCst);
    let half = objects / 2;
    println!("{objects} FederatedHPAs over {} clusters {:>40} {:>8} {:>8}", MEMBERS.len(), "p50 ms", "p99", "most");
    let mut alone = Vec::new();
    let spent = Spent::so_far(&server);
    for object in 0..half {
        alone.push(karmada.signal(object).await);
    }
    sleep(REST).await;
    spent.show("one after another", &server, half);
    let spent = Spent::so_far(&server);
    let all = futures::future::join_all((half..objects).map(|object| karmada.signal(object))).await;
    spent.show("all at once, until the last is raised", &server, objects - half);
    sleep(REST).await;
    spent.show("all at once, with what follows", &server, objects - half);
    running.shutdown().await;
    let mut bare_alone = Vec::new();
    for one in bare(&karmada, 0..half).await {
        bare_alone.push(one.react().await);
    }
    let bares = bare(&karmada, half..objects).await;
    let spent = Spent::so_far(&server);
    let bare_all = futures::future::join_all(bares.into_iter().map(Bare::react)).await;
    spent.show("floor, all at once", &server, objects - half);
    let measured = [
        ("one after another", alone),
        ("floor, one after another", bare_alone),
        ("all at once", all),
        ("floor, all at once", bare_all),
    ];
    for (how, times) in measured {
        row(&format!("{how}: donor's bound written after"), times.iter().map(|[donor, _]| *donor).collect());
        row(&format!("{how}: receiver's bound written after"), times.iter().map(|[_, receiver]| *receiver).collect());
    }
}
