//! A whole controller under random load for a long time: its memory and its open files must stay as they are. It runs in
//! a process of its own and speaks over HTTP on the loopback to an embedded Karmada with three members in this one, in
//! real time. Load changes, users edit, delete and create objects, cron rules run each minute, members fail and come back,
//! metrics are lost, watches end, Karmada restarts.
//!
//! `FHPA_BENCH_SECONDS` (3600) in all, `FHPA_BENCH_OBJECTS` (24) workloads, `FHPA_BENCH_SEED` (1). The first third is for
//! caches to fill; then the median of the last third must not be above that of the middle one by more than a twentieth
//! and 1 MiB, nor the number of open files by more than 8. Without `--bench`, as when tests run, it takes three seconds.
#![allow(
    missing_docs,
    clippy::pedantic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    unreachable_pub
)]

#[path = "fleet/controller.rs"]
mod controller;
#[allow(dead_code)]
#[path = "fleet/process.rs"]
mod process;
#[allow(dead_code)]
#[path = "../tests/random.rs"]
mod random;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::json::text;
use fhpa::playground::objects::{Kind, Objects};
use fhpa::runtime::clock;
use serde_json::{Value, json};
use tempfile::NamedTempFile;
use tokio::time::sleep;

use process::Process;
use random::Random;

/// What one replica does at its target, in thousandths of a core.
const EACH: i64 = 50;
const POLICIES: [&str; 5] = ["Duplicated", "StaticWeighted", "DynamicWeighted", "Aggregated", "Prioritized"];
/// Between two changes.
const PAUSE: Duration = Duration::from_millis(500);

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("controller") => runtime.block_on(controller::run(arguments[2].clone().into(), 0, 8)),
        _ => runtime.block_on(soak(arguments.iter().any(|argument| argument == "--bench"))),
    }
}

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

fn name(at: usize) -> String {
    format!("web-{at:03}")
}

/// The figures of the controller at one moment.
struct Sample {
    resident: f64,
    files: usize,
}

struct Soak {
    fleet: Arc<Fleet>,
    control: Objects,
    objects: usize,
    random: Random,
    /// What was done, and how often.
    done: BTreeMap<&'static str, usize>,
    /// A member that does not answer, and one without metrics, each with the moment at which that ends.
    failed: Option<(String, Instant)>,
    blind: Option<(String, Instant)>,
}

fn kind(kind: &str) -> Kind {
    match kind {
        "Deployment" => Kind::regular("apps/v1", kind, true),
        _ => Kind::regular("autoscaling.karmada.io/v1alpha1", kind, true),
    }
}

fn policy(name: &str) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}}})
}

fn deployment(name: &str) -> Value {
    let labels = json!({"app": name});
    let container =
        json!({"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "prod"},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}}})
}

/// Of six objects five are Distributed, one of each policy, and one is Centralized.
fn federated_hpa(at: usize) -> Value {
    let name = name(at);
    let mut hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"minReplicas": 3, "maxReplicas": 24, "mode": "Centralized",
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
    if let Some(policy) = POLICIES.get(at % 6) {
        hpa["spec"]["mode"] = json!("Distributed");
        let member =
            |member: i64| json!({"targetCluster": {"clusterNames": [format!("member{member}")]}, "priority": member});
        let preferences = if *policy == "Prioritized" { (1..=3).map(member).collect() } else { Vec::new() };
        hpa["spec"]["federatedHPAAssignment"] =
            json!({"federatedHPAAssignmentType": policy, "clusterAutoscalingPreference": preferences});
    }
    hpa
}

/// Bounds that change each minute.
fn cron(at: usize) -> Value {
    let rule = |number: usize| {
        json!({"name": format!("minute-{number}"), "schedule": format!("{number}-59/2 * * * *"),
            "targetMaxReplicas": 20 + 4 * number})
    };
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": name(at), "namespace": "prod"},
        "spec": {"rules": [rule(0), rule(1)],
            "scaleTargetRef": {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": name(at)}}})
}

impl Soak {
    async fn new(objects: usize, seed: u64) -> Self {
        let fleet = Arc::new(Fleet::build(Plan { nodes: 4, cpu: 16, ..Plan::new() }).await.unwrap());
        let control = fleet.control();
        for definition in fhpa::api::crd::all().unwrap() {
            control.create(definition).await.unwrap();
        }
        for customization in fhpa::install::kinds::customizations(&[]) {
            control.create(&customization).await.unwrap();
        }
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
        control.create(&space).await.unwrap();
        for at in 0..objects {
            control.create(&policy(&name(at))).await.unwrap();
            control.create(&deployment(&name(at))).await.unwrap();
            control.create(&federated_hpa(at)).await.unwrap();
            if at % 4 == 0 {
                control.create(&cron(at)).await.unwrap();
            }
            fleet.load().set("prod", &name(at), 6 * EACH);
        }
        let running = Arc::clone(&fleet);
        tokio::spawn(async move { running.run().await });
        let control = Objects::new(fleet.control().client());
        let random = Random(seed.max(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        Self { fleet, control, objects, random, done: BTreeMap::new(), failed: None, blind: None }
    }

    /// Does one thing that users or the world do.
    async fn change(&mut self) {
        let object = self.random.below(self.objects);
        let member = format!("member{}", 1 + self.random.below(3));
        let soon = clock::monotonic() + Duration::from_secs(5 + self.random.below(90) as u64);
        let what = match self.random.below(40) {
            0..=23 => {
                let replicas = self.random.below(40) as i64;
                self.fleet.load().set("prod", &name(object), replicas * EACH);
                "load"
            }
            24..=29 => {
                let max = 12 + self.random.below(30);
                self.merge("FederatedHPA", object, json!({"spec": {"maxReplicas": max}})).await;
                "edit"
            }
            30..=31 => {
                self.again("FederatedHPA", object, federated_hpa(object)).await;
                "delete and create"
            }
            32 if object.is_multiple_of(4) => {
                self.again("CronFederatedHPA", object, cron(object)).await;
                "delete and create a cron"
            }
            33 if self.failed.is_none() => {
                self.fleet.fail(&member, true).unwrap();
                self.failed = Some((member, soon));
                "member fails"
            }
            34 if self.blind.is_none() => {
                self.fleet.lose_metrics(&member, true).unwrap();
                self.blind = Some((member, soon));
                "metrics are lost"
            }
            35 => {
                self.fleet.control().faults().drop_watches();
                "watches end"
            }
            36 => {
                self.fleet.restart_karmada();
                "Karmada restarts"
            }
            37..=38 => {
                let image = format!("web:{}", self.random.below(1000));
                let container = json!({"name": "app", "image": image,
                    "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
                let patch = json!({"spec": {"template": {"spec": {"containers": [container]}}}});
                self.merge("Deployment", object, patch).await;
                "rollout"
            }
            _ => "nothing",
        };
        *self.done.entry(what).or_default() += 1;
        let now = clock::monotonic();
        if let Some((member, _)) = self.failed.take_if(|(_, until)| *until <= now) {
            self.fleet.fail(&member, false).unwrap();
        }
        if let Some((member, _)) = self.blind.take_if(|(_, until)| *until <= now) {
            self.fleet.lose_metrics(&member, false).unwrap();
        }
    }

    async fn merge(&self, of: &str, object: usize, patch: Value) {
        let about = json!({"metadata": {"name": name(object), "namespace": "prod"}});
        // An object that is being deleted is gone, and a conflict is another client's: both are no fault.
        let _ = self.control.merge(&kind(of), &about, "", &patch).await;
    }

    /// Deletes an object, and creates it once it is gone.
    async fn again(&self, of: &str, object: usize, anew: Value) {
        if let Ok(Some(found)) = self.control.get(&kind(of), "prod", &name(object)).await {
            self.control.delete(&kind(of), &found).await.unwrap();
        }
        let server = self.fleet.control().clone();
        tokio::spawn(async move {
            for _ in 0..600 {
                if server.create(&anew).await.is_ok() {
                    return;
                }
                sleep(Duration::from_millis(500)).await;
            }
        });
    }

    /// The FederatedHPAs that have a division or a computation in force.
    async fn served(&self) -> usize {
        let all = self.control.list(&kind("FederatedHPA"), "prod").await.unwrap();
        let serves = |hpa: &&Value| {
            let mut conditions = hpa["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|one| text(one, "/type") == "Ready" && text(one, "/status") == "True")
        };
        all.iter().filter(serves).count()
    }
}

async fn soak(whole: bool) {
    let all = Duration::from_secs(setting("FHPA_BENCH_SECONDS", if whole { 3600 } else { 3 }) as u64);
    let objects = setting("FHPA_BENCH_OBJECTS", if whole { 24 } else { 3 });
    let mut soak = Soak::new(objects, setting("FHPA_BENCH_SEED", 1) as u64).await;
    let listening = soak.fleet.control().listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), listening.kubeconfig("soak")).unwrap();
    let mut process = Process::start(&["controller", file.path().to_str().unwrap()]);
    process.told("listed").await;
    println!("{objects} workloads, {} s", all.as_secs());
    println!("{:>8} {:>12} {:>12} {:>10} {:>10}", "s", "MiB", "open files", "CPU", "ready");
    let (begun, cpu) = (clock::monotonic(), process.cpu());
    let interval = (all / 120).max(Duration::from_millis(100));
    let mut samples = Vec::new();
    while begun.elapsed() < all {
        soak.change().await;
        sleep(PAUSE.min(interval)).await;
        if begun.elapsed() < interval * (samples.len() as u32 + 1) {
            continue;
        }
        samples.push(Sample { resident: process.resident(), files: process.open_files() });
        if samples.len() % 10 == 0 {
            let (Sample { resident, files }, ready) = (samples.last().unwrap(), soak.served().await);
            let part = (process.cpu() - cpu).as_secs_f64() / begun.elapsed().as_secs_f64() * 100.0;
            println!("{:>8} {resident:>12.1} {files:>12} {part:>9.2}% {ready:>10}", begun.elapsed().as_secs());
        }
    }
    println!("{:?}", soak.done);
    judge(&samples, whole);
    process.stop().await;
}

/// Memory and open files of the last third beside those of the middle one.
fn judge(samples: &[Sample], whole: bool) {
    let third = samples.len() / 3;
    let parts = [&samples[third..2 * third], &samples[2 * third..]];
    let memory = parts.map(|part| median(part.iter().map(|sample| sample.resident)));
    let files = parts.map(|part| median(part.iter().map(|sample| sample.files as f64)));
    println!("median of the middle and the last third: MiB {memory:.1?}, open files {files:.0?}");
    if whole {
        assert!(memory[1] <= memory[0] * 1.05 + 1.0, "memory grows: {memory:?} MiB");
        assert!(files[1] <= files[0] + 8.0, "open files grow: {files:?}");
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
