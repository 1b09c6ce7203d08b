//! A fleet with two replicas of the controller and the webhook, and the operations on it. Virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fhpa::api;
use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::json::{deleting, name, namespace};
use fhpa::playground::karmada::Timing;
use fhpa::playground::member::{Link, Profile};
use fhpa::playground::objects::{Kind, Objects};
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use jiff::SignedDuration;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::chance::WORKLOADS;
use super::flaky::Way;
use super::installation::{guard, install};
use super::objects::{hpa_policy, kind, policy};
use super::operation::Oddity;
use super::review::review;
use crate::bed::objects::deployment;
use crate::bed::role::{Role, limited};
use crate::install::DEFINITIONS;
use crate::laws::Terms;
use crate::laws::embedded::Watched;
use crate::stories::distributed::START;
use crate::stories::{Process, Wall};

/// One replica of the controller.
pub struct Replica {
    pub process: Option<Process>,
    pub way: Way,
    pub wall: Wall,
    births: u32,
    /// Keeps the installation.
    guards: JoinSet<()>,
}

impl Replica {
    /// SIGKILL.
    pub async fn kill(&mut self) {
        self.guards.shutdown().await;
        if let Some(process) = self.process.take() {
            process.kill().await;
        }
    }

    /// SIGTERM.
    pub async fn stop(&mut self) {
        if let Some(process) = self.process.take() {
            // A way that hangs keeps the Lease from being released.
            let _: Result<(), _> = tokio::time::timeout(Duration::from_secs(30), process.stop()).await;
        }
        self.guards.shutdown().await;
    }
}

/// All of it.
pub struct Scene {
    pub fleet: Arc<Fleet>,
    pub control: Objects,
    pub watched: Watched,
    pub wall: Wall,
    pub replicas: [Replica; 2],
    /// The webhook does not answer.
    pub silent: Arc<AtomicBool>,
    /// The installation is kept as it is to be.
    pub guarded: bool,
    /// Karmada's own controller ran each FederatedHPA before.
    pub migrated: bool,
    /// An operator has frozen the controllers.
    pub frozen: bool,
    /// fhpa is installed, and its replicas may run.
    pub installed: bool,
    /// What was found wrong beside the laws.
    pub found: Vec<String>,
    runs: JoinSet<()>,
}

impl Scene {
    /// So many clusters, each with room for some forty pods.
    pub async fn new(clusters: u32, guarded: bool) -> Self {
        Self::with(clusters, guarded, &BTreeMap::new()).await
    }

    /// As [`Self::new`], with clusters that are not like the others.
    pub async fn with(clusters: u32, guarded: bool, odd: &BTreeMap<u32, Oddity>) -> Self {
        let wall = Wall::new(START);
        let karmada = Timing { quota: true, ..Timing::default() };
        let clock = Clock::told(wall.clock());
        let profile = |oddity: &Oddity| match oddity {
            Oddity::Pulls => Profile { pulls: true, ..Profile::default() },
            Oddity::Old => Profile { kubernetes: "v1.22.17".into(), ..Profile::default() },
        };
        let profiles = odd.iter().map(|(number, oddity)| (format!("member{number}"), profile(oddity))).collect();
        let plan = Plan { clusters, nodes: 1, karmada, seed: Some(7), clock, profiles, ..Plan::new() };
        let fleet = Arc::new(Fleet::build(plan).await.unwrap());
        let watched = Watched::fleet(&fleet, Terms::default());
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
        fleet.control().create(&space).await.unwrap();
        let mut runs = JoinSet::new();
        let silent = Arc::default();
        install(&fleet, guarded).await;
        review(&fleet, &mut runs, &silent);
        let running = Arc::clone(&fleet);
        runs.spawn(async move { running.run().await });
        let replica =
            || Replica { process: None, way: Way::default(), wall: wall.ahead(0), births: 0, guards: JoinSet::new() };
        let control = Objects::new(fleet.control().client());
        let replicas = [replica(), replica()];
        let mut scene = Self {
            fleet,
            control,
            watched,
            wall,
            replicas,
            silent,
            guarded,
            migrated: false,
            frozen: false,
            installed: true,
            found: Vec::new(),
            runs,
        };
        scene.write(&hpa_policy()).await;
        for workload in WORKLOADS {
            scene.write(&policy(workload, &json!({}))).await;
            scene.write(&deployment(workload, 3)).await;
        }
        scene.start(0);
        scene.start(1);
        scene.pass(20).await;
        scene
    }

    pub fn start(&mut self, number: usize) {
        let Some(replica) = self.replicas.get_mut(number).filter(|replica| replica.process.is_none()) else { return };
        replica.births += 1;
        let name = format!("replica-{number}-{}", replica.births);
        let client = limited(replica.way.over(self.fleet.control().client()), Role::default());
        let process = Process::start_over(client.clone(), &name, &replica.wall, Arc::new(Rooms::default()));
        if self.guarded {
            replica.guards = guard(&process, client, &replica.wall, &name);
        }
        replica.process = Some(process);
    }

    /// Lets time go by, and tells the laws whether somebody can act meanwhile.
    pub async fn pass(&self, seconds: u64) {
        for _ in 0..seconds.div_ceil(5) {
            self.watched.acts(self.somebody_acts());
            tokio::time::sleep(Duration::from_secs(5.min(seconds))).await;
        }
        self.watched.acts(self.somebody_acts());
    }

    /// Whether our definitions are served.
    pub fn is_whole(&self) -> bool {
        self.watched.laws().world().definitions.values().all(|ours| *ours)
    }

    /// While Karmada's definitions are served, or the controllers are frozen, nobody may do anything.
    pub fn somebody_acts(&self) -> bool {
        self.is_whole()
            && !self.frozen
            && self.replicas.iter().any(|replica| {
                let leads = replica.process.as_ref().is_some_and(|process| process.leadership.borrow().is_some());
                leads && replica.way.is_well()
            })
    }

    /// Everything is well and runs from now on; inputs stay as they are.
    pub async fn heal(&mut self) {
        for number in 0..self.replicas.len() {
            self.replicas[number].way.heal();
            self.replicas[number].wall.correct();
        }
        let clusters: Vec<String> = self.fleet.names().map(str::to_owned).collect();
        for cluster in clusters {
            self.fleet.fail(&cluster, false).unwrap();
            self.fleet.cut(&cluster, Link::Up).unwrap();
            self.fleet.lose_metrics(&cluster, false).unwrap();
            // Two HPAs whose bounds exclude each other set the replicas in turns for ever, as on Kubernetes.
            for workload in WORKLOADS {
                self.other_hpa(workload, &cluster, false).await;
            }
        }
        for workload in WORKLOADS {
            self.plain_hpa(workload, false).await;
        }
        self.fleet.lag(SignedDuration::ZERO);
        self.silence(false);
        self.upgrade(false).await;
        self.freeze(false).await;
        self.install().await;
        self.watched.acts(true);
    }

    /// The webhook does not answer from now on, or does again.
    pub fn silence(&self, on: bool) {
        self.silent.store(on, Ordering::SeqCst);
        self.watched.reviews(!on);
    }

    /// Serves Karmada's definitions of both kinds, or ours.
    pub async fn upgrade(&mut self, on: bool) {
        let theirs = || DEFINITIONS.map(|text| serde_saphyr::from_str(text).unwrap());
        let served: [Value; 2] = if on { theirs() } else { api::crd::all().unwrap().clone() };
        let definitions = Kind::regular("apiextensions.k8s.io/v1", "CustomResourceDefinition", false);
        for new in served {
            let named = new["metadata"]["name"].as_str().unwrap();
            let old = self.control.get(&definitions, "", named).await.unwrap().unwrap();
            let versions = json!({"spec": {"versions": new["spec"]["versions"]}});
            self.control.merge(&definitions, &old, "", &versions).await.unwrap();
        }
        self.watched.acts(self.somebody_acts());
    }

    pub async fn end(mut self) {
        for replica in &mut self.replicas {
            replica.kill().await;
        }
        self.runs.shutdown().await;
    }

    /// What was broken since this was last asked.
    pub fn broken(&self) -> Vec<String> {
        let broken = self.watched.broken();
        broken.iter().map(ToString::to_string).chain(self.found.iter().cloned()).collect()
    }

    /// Removes all cron objects: their rules write for ever.
    pub async fn remove_crons(&self) {
        let crons = kind("CronFederatedHPA");
        for cron in self.control.list(&crons, "").await.unwrap() {
            self.control.delete(&crons, &cron).await.unwrap();
        }
    }

    /// Whether a quota allows fewer replicas than there are.
    pub fn exceeds_quota(&self) -> bool {
        self.watched.laws().world().exceeds_quota("prod", None)
    }

    /// Whether something is scaled by a metric that settles nowhere.
    pub fn chases(&self) -> bool {
        self.watched.laws().world().federated.values().any(|hpa| hpa.held && hpa.chases)
    }

    /// Whether a cluster that answers is to be tried again, from which Karmada's own failover evicts what it runs: where it
    /// still cannot run it, it is evicted again, for ever.
    pub fn is_evicted_again(&self) -> bool {
        let laws = self.watched.laws();
        let world = laws.world();
        world.federated.values().any(|hpa| hpa.held && hpa.evicted.iter().any(|cluster| world.answers(cluster)))
    }

    /// Objects of which the status says that something is yet to be done.
    pub fn waits(&self) -> Vec<String> {
        let laws = self.watched.laws();
        let waits = |reason: &str| reason.starts_with("WaitingFor");
        let federated = laws.world().federated.iter();
        let federated = federated.filter(|(_, hpa)| hpa.conditions.iter().any(|one| waits(&one.reason)));
        federated.map(|(name, _)| format!("FederatedHPA {name} waits")).collect()
    }

    /// Works whose objects Karmada has yet to delete: after an outage it comes to them late. Of a cluster that has left the
    /// fleet it deletes none.
    pub async fn deletions(&self) -> Vec<String> {
        let works = self.control.list(&kind("Work"), "").await.unwrap();
        let laws = self.watched.laws();
        let joined = |work: &&Value| {
            let place =
                namespace(work).strip_prefix("karmada-es-").and_then(|cluster| laws.world().clusters.get(cluster));
            place.is_some_and(|place| !place.deleting)
        };
        let dying = works.iter().filter(|work| deleting(work)).filter(joined);
        dying.map(|work| format!("Work {} is deleted", name(work))).collect()
    }

    /// Requests that all API servers were asked.
    pub fn requests(&self) -> u64 {
        let servers = self.fleet.names().map(|name| self.fleet.member(name).unwrap()).chain([self.fleet.control()]);
        servers.map(|server| server.faults().counts().values().sum::<u64>()).sum()
    }

    /// Where everything stands, for whoever reads a history.
    pub async fn show(&self) -> String {
        let laws = self.watched.laws();
        let world = laws.world();
        let mut lines = Vec::new();
        for (name, hpa) in &world.federated {
            let conditions = hpa.conditions.iter().map(|one| format!("{}={} {}", one.kind, one.status, one.reason));
            let conditions = conditions.collect::<Vec<_>>().join(", ");
            lines.push(format!("    FederatedHPA {name} {} held {}: {conditions}", hpa.bounds, hpa.held));
        }
        for (name, binding) in &world.bindings {
            let (entries, evicting) = (&binding.entries, &binding.evicting);
            lines.push(format!("    binding {name} {entries:?} evicting {evicting:?} suspended {}", binding.suspended));
        }
        for (cluster, member) in &world.members {
            let hpas = member.hpas.iter().map(|(name, hpa)| format!("{name} {}", hpa.bounds));
            let runs = member.workloads.iter().map(|(target, runs)| format!("{target} {}/{}", runs.ready, runs.asked));
            let sent = world.sent.values().filter(|sent| sent.cluster == *cluster);
            let sent = sent.map(|sent| format!("Work of {} {}", sent.owner, sent.bounds));
            let all = hpas.chain(runs).chain(sent).collect::<Vec<_>>().join(", ");
            lines.push(format!("    {cluster} answers {}: {all}", world.answers(cluster)));
        }
        lines.join("\n")
    }
}
