//! Stories of a FederatedHPA in Distributed mode on the embedded Karmada with its members, in virtual time.

mod burst;
pub mod capacity;
mod conditions;
mod departures;
mod edits;
mod evictions;
mod failures;
mod fleets;
mod forecast;
mod full_writes;
mod help;
mod keeps_hold;
mod kinds;
mod label_left;
mod letting_go;
mod marks;
mod migrated;
mod nodes;
mod pace;
mod pending;
mod placements;
mod preflight;
mod profiles;
mod proxy;
mod quiet;
mod recovery;
mod recovery_refusals;
mod refusals;
mod release;
pub mod scalers;
mod shared;
mod simulated;
mod stale;
mod straight;
mod successors;
mod suspend;
mod tenants;
mod truth;
mod undecodable;
mod upgrade;
mod workload_affinity;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fhpa::api;
use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::json::{int, items, text};
use fhpa::playground::objects::{Objects, Written};
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use futures::StreamExt as _;
use k8s_openapi::api::autoscaling::v1::HorizontalPodAutoscaler;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::{Process, Wall, led};
pub use crate::bed::objects::{deployment, hpa, policy, weights};
pub use crate::both::kind;
use crate::laws::Terms;
use crate::laws::embedded::Watched;

pub const START: &str = "2026-11-20T08:00:00Z";

/// A control plane with members, all running.
pub struct Stage {
    pub fleet: Arc<Fleet>,
    pub control: Objects,
    pub wall: Wall,
    pub budget: Budget,
    runs: JoinSet<()>,
}

/// What the HPAs of the members allow together; watched at every event.
#[derive(Clone, Default)]
pub struct Budget(Arc<Mutex<Allowed>>);

#[derive(Default)]
struct Allowed {
    max: BTreeMap<String, i32>,
    /// Members that are given up: their share belongs to others.
    away: Vec<String>,
    most: i32,
    history: Vec<String>,
}

impl Budget {
    fn saw(&self, cluster: &str, max: i32) {
        let mut allowed = self.0.lock().unwrap();
        allowed.max.insert(cluster.to_owned(), max);
        let sum = allowed.max.iter().filter(|(name, _)| !allowed.away.contains(name)).map(|(_, max)| max).sum();
        allowed.most = allowed.most.max(sum);
        let line = format!("{:?} = {sum}", allowed.max);
        allowed.history.push(line);
    }

    /// The greatest sum since this was last asked.
    pub fn most(&self) -> i32 {
        let mut allowed = self.0.lock().unwrap();
        let now = allowed.max.iter().filter(|(name, _)| !allowed.away.contains(name)).map(|(_, max)| max).sum();
        std::mem::replace(&mut allowed.most, now)
    }

    pub fn history(&self) -> String {
        self.0.lock().unwrap().history.join("\n")
    }

    /// A member is given up, or counts again.
    pub fn give_up(&self, cluster: &str, away: bool) {
        let mut allowed = self.0.lock().unwrap();
        allowed.away.retain(|name| name != cluster);
        if away {
            allowed.away.push(cluster.to_owned());
        }
    }
}

pub fn plan(clusters: u32) -> Plan {
    Plan { clusters, seed: Some(7), ..Plan::new() }
}

impl Stage {
    pub async fn new(clusters: u32) -> Self {
        Self::with(plan(clusters)).await
    }

    pub async fn with(plan: Plan) -> Self {
        let wall = Wall::new(START);
        let fleet = Arc::new(Fleet::build(Plan { clock: Clock::told(wall.clock()), ..plan }).await.unwrap());
        prepare(&fleet).await;
        let mut stage = Self::around(fleet, wall);
        stage.run();
        stage
    }

    /// One whose every change the laws see.
    pub async fn watched(clusters: u32) -> (Self, Watched) {
        Self::watched_with(plan(clusters)).await
    }

    /// As [`Self::watched`].
    pub async fn watched_with(plan: Plan) -> (Self, Watched) {
        let wall = Wall::new(START);
        let plan = Plan { clock: Clock::told(wall.clock()), ..plan };
        let fleet = Arc::new(Fleet::build(plan).await.unwrap());
        let watched = Watched::fleet(&fleet, Terms::default());
        prepare(&fleet).await;
        let mut stage = Self::around(fleet, wall);
        stage.run();
        (stage, watched)
    }

    /// As many members as parts, by which they run the Deployment `web`, and a leader.
    pub async fn divided(replicas: i32, parts: &[i64]) -> (Self, Process) {
        let stage = Self::new(u32::try_from(parts.len()).unwrap()).await;
        stage.web(replicas, weights(parts)).await;
        let one = stage.leads("one").await;
        (stage, one)
    }

    /// A control plane on which nothing of Karmada runs.
    pub async fn still(clusters: u32) -> Self {
        let wall = Wall::new(START);
        let clock = Clock::told(wall.clock());
        let fleet = Arc::new(Fleet::build(Plan { clock, ..plan(clusters) }).await.unwrap());
        prepare(&fleet).await;
        Self::around(fleet, wall)
    }

    fn around(fleet: Arc<Fleet>, wall: Wall) -> Self {
        let control = Objects::new(fleet.control().client());
        Self { fleet, control, wall, budget: Budget::default(), runs: JoinSet::new() }
    }

    fn run(&mut self) {
        let Self { fleet, budget, runs, .. } = self;
        let running = Arc::clone(fleet);
        runs.spawn(async move { running.run().await });
        for cluster in fleet.names() {
            // Every member serves the older API, too.
            let hpas: Api<HorizontalPodAutoscaler> = Api::all(fleet.member(cluster).unwrap().client());
            runs.spawn(audit(hpas, cluster.to_owned(), budget.clone()));
        }
    }

    pub fn controller(&self, name: &str) -> Process {
        Process::start(self.fleet.control(), name, &self.wall)
    }

    /// A controller that leads.
    pub async fn leads(&self, name: &str) -> Process {
        led(self.controller(name)).await
    }

    /// A controller that goes by what clusters report free.
    pub fn controller_by_room(&self, name: &str) -> Process {
        Process::start_with(self.fleet.control(), name, &self.wall, Arc::new(Rooms::default()))
    }

    /// Such a one that leads.
    pub async fn leads_by_room(&self, name: &str) -> Process {
        led(self.controller_by_room(name)).await
    }

    pub async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    pub async fn create(&self, object: Value) {
        self.fleet.control().create(&object).await.unwrap();
    }

    pub async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name, "namespace": "prod"}});
        let written = self.control.merge(&self::kind(kind), &about, "", &patch).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    pub async fn patch_cluster(&self, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name}});
        let written = self.control.merge(&self::kind("Cluster"), &about, "", &patch).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    pub async fn delete(&self, kind: &str, name: &str) {
        let found = self.get(kind, name).await;
        let written = self.control.delete(&self::kind(kind), &found).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    pub async fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).await.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    pub async fn find(&self, kind: &str, name: &str) -> Option<Value> {
        self.control.get(&self::kind(kind), "prod", name).await.unwrap()
    }

    pub async fn member(&self, cluster: &str, kind: &str, name: &str) -> Option<Value> {
        let objects = Objects::new(self.fleet.member(cluster).unwrap().client());
        objects.get(&self::kind(kind), "prod", name).await.unwrap()
    }

    /// The HPA of a member in the newest API that it serves.
    pub async fn autoscaler(&self, cluster: &str) -> Option<Value> {
        let objects = Objects::new(self.fleet.member(cluster).unwrap().client());
        for version in ["autoscaling/v2", "autoscaling/v1"] {
            let kind = objects.kind(version, "HorizontalPodAutoscaler").await.unwrap();
            if let Some(kind) = kind {
                return objects.get(&kind, "prod", "web").await.unwrap();
            }
        }
        None
    }

    /// Bounds of the members' HPAs: `1..4 2..6 -`.
    pub async fn bounds(&self) -> String {
        let mut all = Vec::new();
        for cluster in self.fleet.names() {
            let hpa = self.autoscaler(cluster).await;
            let bound = |hpa: &Value, field: &str| int(hpa, &format!("/spec/{field}")).unwrap_or_default();
            all.push(hpa.map_or("-".to_owned(), |hpa| {
                format!("{}..{}", bound(&hpa, "minReplicas"), bound(&hpa, "maxReplicas"))
            }));
        }
        all.join(" ")
    }

    /// Replicas that the members' deployments ask for: `1 4 -`.
    pub async fn replicas(&self) -> String {
        let mut all = Vec::new();
        for cluster in self.fleet.names() {
            let deployment = self.member(cluster, "Deployment", "web").await;
            let replicas = deployment.and_then(|deployment| int(&deployment, "/spec/replicas"));
            all.push(replicas.map_or("-".to_owned(), |replicas| replicas.to_string()));
        }
        all.join(" ")
    }

    /// The entries of the binding: `member1=1 member2=4`.
    pub async fn entries(&self) -> String {
        let binding = self.get("ResourceBinding", "web-deployment").await;
        let entries = items(&binding, "/spec/clusters").iter();
        let entries =
            entries.map(|entry| format!("{}={}", text(entry, "/name"), int(entry, "/replicas").unwrap_or_default()));
        entries.collect::<Vec<_>>().join(" ")
    }

    /// `Assigned=True Assigned`, for the two conditions of the FederatedHPA that no other HPA has.
    pub async fn conditions(&self) -> Vec<String> {
        self.all_conditions().await.into_iter().take(2).collect()
    }

    /// `Assigned=True Assigned`, one for each condition of the FederatedHPA.
    pub async fn all_conditions(&self) -> Vec<String> {
        let hpa = self.get("FederatedHPA", "web").await;
        let conditions = items(&hpa, "/status/conditions").iter();
        let line = |one: &Value| format!("{}={} {}", text(one, "/type"), text(one, "/status"), text(one, "/reason"));
        conditions.map(line).collect()
    }

    /// Messages of the conditions.
    pub async fn messages(&self) -> Vec<String> {
        let hpa = self.get("FederatedHPA", "web").await;
        items(&hpa, "/status/conditions").iter().map(|one| text(one, "/message").to_owned()).collect()
    }

    /// Whether Karmada's scheduler is suspended for `web`.
    pub async fn suspended(&self) -> bool {
        self.get("ResourceBinding", "web-deployment").await["spec"]["suspension"]["scheduling"] == true
    }

    /// Somebody scales the Deployment `web` in a member.
    pub async fn scale_in(&self, cluster: &str, replicas: i32) {
        let objects = Objects::new(self.fleet.member(cluster).unwrap().client());
        let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
        let written = objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": replicas}})).await;
        assert!(matches!(written, Ok(Written::Done(_))), "{written:?}");
    }

    /// The Event with this reason.
    pub async fn event(&self, reason: &str) -> Value {
        let events = self.control.list(&kind("Event"), "prod").await.unwrap();
        events.into_iter().find(|event| text(event, "/reason") == reason).expect("an Event")
    }

    /// How many Warning Events there are for this reason.
    pub async fn warnings(&self, reason: &str) -> usize {
        let events = self.control.list(&kind("Event"), "prod").await.unwrap();
        let warns = |event: &&Value| text(event, "/reason") == reason && text(event, "/type") == "Warning";
        events.iter().filter(warns).count()
    }

    /// Creates the Deployment `web`, its policy with weights, and waits until it runs.
    pub async fn web(&self, replicas: i32, placement: Value) {
        self.create(policy(placement)).await;
        self.create(deployment("web", replicas)).await;
        self.pass(20).await;
    }

    /// Creates the FederatedHPA `web`.
    pub async fn hpa(&self, min: i32, max: i32, more: Value) {
        self.create(hpa(min, max, more)).await;
    }
}

async fn prepare(fleet: &Fleet) {
    for definition in api::crd::all().unwrap() {
        fleet.control().create(definition).await.unwrap();
    }
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
    fleet.control().create(&space).await.unwrap();
    for customization in fhpa::install::kinds::customizations(&[]) {
        fleet.control().create(&customization).await.unwrap();
    }
}

async fn audit(hpas: Api<HorizontalPodAutoscaler>, cluster: String, budget: Budget) {
    let events = watcher(hpas, watcher::Config::default()).default_backoff();
    futures::pin_mut!(events);
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(hpa) | watcher::Event::InitApply(hpa)) => {
                budget.saw(&cluster, hpa.spec.map_or(0, |spec| spec.max_replicas));
            }
            Ok(watcher::Event::Delete(_)) => budget.saw(&cluster, 0),
            _ => {}
        }
    }
}
