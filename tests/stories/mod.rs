//! Whole stories of the controller on the embedded control plane, in virtual time.
//!
//! A [`Stage`] is an API server, a time of day that runs with tokio's clock, and any number of controllers, each with a
//! watch, a lease and an engine of its own; killing one drops all of it between two polls, as SIGKILL does.

mod centralized;
mod cron;
pub mod distributed;
mod documented;
pub mod ending;
mod examples;
mod failures;
mod fleet;
mod freeze;
mod interleavings;
mod perturbation;
mod restore;
mod several;
mod upgrade;
mod upstream;
mod wall;
pub mod world;

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::{ObservedRequest, Which};
use embedded_apiserver::status::StatusError;
use fhpa::admission::review::Idle;
use fhpa::api::{self, CronFederatedHPA, FederatedHPA};
use fhpa::decision::lease::Timings;
use fhpa::decision::validation::Settings;
use fhpa::reconcile::federated_hpa::centralized::MetricsSource;
use fhpa::reconcile::federated_hpa::observe::capacity::{Capacity, Unknown};
use fhpa::reconcile::federated_hpa::observe::failover;
use fhpa::reconcile::federated_hpa::observe::live_state::LiveState;
use fhpa::reconcile::{Controller, Options};
use fhpa::runtime::control_plane::{Bounds, bounded};
use fhpa::runtime::leader::{Candidate, Leader, Presence, compete_seen};
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Readers, Watches};
use fhpa::runtime::zones::ZoneDatabase;
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

pub use self::wall::Wall;
use crate::bed::objects::deployment;
use crate::bed::role::{Role, limited};

/// Requests by verb and resource, whatever their object.
pub fn which(verb: &str, resource: &str) -> Which {
    Which { verb: verb.into(), resource: resource.into(), ..Which::default() }
}

pub fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub struct Stage {
    pub server: ApiServer,
    pub wall: Wall,
}

/// The FederatedHPA `web` as the target of cron rules.
pub fn federated_web() -> Value {
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"})
}

impl Stage {
    /// A control plane at a time of day.
    pub async fn at(start: &str) -> Self {
        Self::with_definitions(start, |_| {}).await
    }

    /// A control plane whose CRDs are changed before they are installed.
    pub async fn with_definitions(start: &str, change: impl Fn(&mut Value)) -> Self {
        let wall = Wall::new(start);
        let server = ApiServer::builder().clock(wall.clock()).seed(7).build();
        for mut definition in api::crd::all().unwrap().clone() {
            change(&mut definition);
            server.create(&definition).await.unwrap();
        }
        for definition in fhpa::playground::karmada::definitions().unwrap() {
            server.create(definition).await.unwrap();
        }
        for name in ["karmada-system", "prod"] {
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
            server.create(&space).await.unwrap();
        }
        Self { server, wall }
    }

    /// A stage with a Deployment `web` of 2 replicas.
    pub async fn with_web(start: &str) -> Self {
        let stage = Self::at(start).await;
        stage.deployment("web", 2).await;
        stage
    }

    pub async fn deployment(&self, name: &str, replicas: i32) {
        self.server.create(&deployment(name, replicas)).await.unwrap();
    }

    /// A CronFederatedHPA `shop` on the Deployment `web`.
    pub async fn cron(&self, rules: Value) {
        self.cron_on("shop", json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}), rules).await;
    }

    pub async fn cron_on(&self, name: &str, target: Value, rules: Value) {
        let object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": name, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": rules}});
        self.server.create(&object).await.unwrap();
    }

    /// A FederatedHPA `web` on the Deployment of that name; `min` may be absent.
    pub async fn federated_hpa(&self, min: Option<i32>, max: i32) {
        let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
            "metadata": {"name": "web", "namespace": "prod"}, "spec": {"maxReplicas": max,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
        if let Some(min) = min {
            object["spec"]["minReplicas"] = json!(min);
        }
        self.server.create(&object).await.unwrap();
    }

    /// Starts a controller on a machine with the right time.
    pub fn controller(&self, name: &str) -> Process {
        self.controller_on(name, &self.wall)
    }

    /// One that leads.
    pub async fn leads(&self, name: &str) -> Process {
        led(self.controller(name)).await
    }

    pub fn controller_on(&self, name: &str, wall: &Wall) -> Process {
        Process::start(&self.server, name, wall)
    }

    /// Lets time go by until the time of day is `text`.
    pub async fn until(&self, text: &str) {
        let left = at(text).duration_since(self.wall.now());
        tokio::time::sleep(Duration::try_from(left).expect("a time to come")).await;
    }

    pub async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }

    /// All requests fail and watches end, until [`Self::up`].
    pub fn down(&self) {
        let failure = StatusError::plain(503, "ServiceUnavailable", "apiserver is shutting down");
        self.server.faults().fail(Which::default(), usize::MAX, failure);
        self.server.faults().drop_watches();
    }

    pub fn up(&self) {
        self.server.faults().heal();
    }

    pub fn crons(&self) -> Api<CronFederatedHPA> {
        Api::namespaced(self.server.client(), "prod")
    }

    pub fn hpas(&self) -> Api<FederatedHPA> {
        Api::namespaced(self.server.client(), "prod")
    }

    pub async fn replicas(&self, name: &str) -> i32 {
        let deployments: Api<Deployment> = Api::namespaced(self.server.client(), "prod");
        deployments.get(name).await.unwrap().spec.unwrap().replicas.unwrap()
    }

    /// The history of rule after rule: `up: next 09:00:00 | 08:30:00 executed 08:30:00 | 08:00:00 failed 08:10:00:
    /// why`.
    pub async fn history(&self) -> Vec<String> {
        self.history_of("shop").await
    }

    pub async fn history_of(&self, name: &str) -> Vec<String> {
        let status = self.crons().get(name).await.unwrap().status.unwrap_or_default();
        let day = self.wall.now().strftime("%Y-%m-%dT").to_string();
        let show = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
            let text = time.as_ref().map_or("-".to_owned(), |time| time.0.to_string());
            text.trim_start_matches(&day).trim_end_matches('Z').to_owned()
        };
        let line = |history: &api::cron_federated_hpa::ExecutionHistory| {
            let mut parts = vec![format!("{}: next {}", history.rule_name, show(&history.next_execution_time))];
            for run in history.successful_executions.iter().flatten() {
                parts.push(format!("{} executed {}", show(&run.schedule_time), show(&run.execution_time)));
            }
            for run in history.failed_executions.iter().flatten() {
                parts.push(format!(
                    "{} failed {}: {}",
                    show(&run.schedule_time),
                    show(&run.execution_time),
                    run.message
                ));
            }
            parts.join(" | ")
        };
        status.execution_histories.iter().flatten().map(line).collect()
    }

    /// `AbleToScale=False TargetNotFound: ...`, one line for each condition.
    pub async fn conditions(&self) -> Vec<String> {
        let status = self.crons().get("shop").await.unwrap().status.unwrap_or_default();
        let line = |condition: &api::hpa_status::Condition| {
            let (reason, message) = (condition.reason.as_deref(), condition.message.as_deref());
            let (reason, message) = (reason.unwrap_or_default(), message.unwrap_or_default());
            format!("{}={} {reason}: {message}", condition.type_, condition.status)
        };
        status.conditions.iter().flatten().map(line).collect()
    }

    /// `Normal RuleExecuted: note`, in the order of their times.
    pub async fn events(&self) -> Vec<String> {
        let events: Api<Event> = Api::namespaced(self.server.client(), "prod");
        let mut events = events.list(&kube::api::ListParams::default()).await.unwrap().items;
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        let line = |event: &Event| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            format!("{} {}: {}", text(&event.type_), text(&event.reason), text(&event.note))
        };
        events.iter().map(line).collect()
    }

    /// Writes of the controller since `faults().record()`: `patch deployments/scale prod/web`; leases and reads left
    /// out.
    pub fn writes(&self) -> Vec<String> {
        let is_write = |seen: &ObservedRequest| {
            matches!(&*seen.verb, "create" | "update" | "patch" | "delete")
                && seen.resource != "leases"
                && seen.resource != "events"
        };
        let seen = self.server.faults().recorded();
        seen.iter()
            .filter(|seen| is_write(seen))
            .map(|seen| format!("{} {} {}", seen.verb, seen.resource, seen.name))
            .collect()
    }
}

/// Waits until a process leads.
pub async fn led(mut process: Process) -> Process {
    process.leads().await;
    process
}

/// One replica of the controller. Dropped, it dies as by SIGKILL.
pub struct Process {
    pub metrics: Arc<Metrics>,
    pub leadership: watch::Receiver<Option<Leader>>,
    pub live: LiveState,
    /// Whether no controller acts, as the reviews of this process know.
    pub idle: Idle,
    stop: watch::Sender<bool>,
    works: JoinHandle<()>,
    /// Dropped, they end between two polls.
    tasks: JoinSet<()>,
}

impl Process {
    pub fn start(server: &ApiServer, name: &str, wall: &Wall) -> Self {
        Self::start_with(server, name, wall, Arc::new(Unknown))
    }

    pub fn start_with(server: &ApiServer, name: &str, wall: &Wall, capacity: Arc<dyn Capacity>) -> Self {
        Self::start_as(Role::default(), server, name, wall, capacity)
    }

    /// It has the rights of the roles and no others.
    pub fn start_as(role: Role, server: &ApiServer, name: &str, wall: &Wall, capacity: Arc<dyn Capacity>) -> Self {
        Self::start_over(limited(server.client(), role), name, wall, capacity)
    }

    /// It speaks to the control plane by a client of the test's own.
    pub fn start_over(limited: kube::Client, name: &str, wall: &Wall, capacity: Arc<dyn Capacity>) -> Self {
        Self::start_whole(Settings::default(), MetricsSource::Members, limited, name, wall, capacity, None)
    }

    /// It reads metrics where it is told.
    pub fn start_reading(
        source: MetricsSource,
        limited: kube::Client,
        name: &str,
        wall: &Wall,
        capacity: Arc<dyn Capacity>,
    ) -> Self {
        Self::start_whole(Settings::default(), source, limited, name, wall, capacity, None)
    }

    /// With these settings of the operator.
    pub fn start_by(settings: Settings, server: &ApiServer, name: &str, wall: &Wall) -> Self {
        let limited = limited(server.client(), Role::default());
        Self::start_whole(settings, MetricsSource::Members, limited, name, wall, Arc::new(Unknown), None)
    }

    /// With `--freeze`.
    pub fn start_frozen(reason: &str, server: &ApiServer, name: &str, wall: &Wall) -> Self {
        let limited = limited(server.client(), Role::default());
        let freeze = Some(reason.to_owned());
        Self::start_whole(Settings::default(), MetricsSource::Members, limited, name, wall, Arc::new(Unknown), freeze)
    }

    fn start_whole(
        settings: Settings,
        metrics_source: MetricsSource,
        limited: kube::Client,
        name: &str,
        wall: &Wall,
        capacity: Arc<dyn Capacity>,
        freeze: Option<String>,
    ) -> Self {
        let metrics = Arc::new(Metrics::new());
        let counted = metrics.controller();
        let flag = freeze.is_some();
        let client = bounded(limited, Bounds::default(), metrics.requests());
        let options = Options {
            client: client.clone(),
            zones: Arc::new(ZoneDatabase::bundled()),
            settings,
            clock: wall.clock(),
            metrics: counted,
            identity: name.to_owned(),
            concurrency: 64,
            rebalance_period: Some(jiff::SignedDuration::from_mins(1)),
            failover: failover::Settings::default(),
            centralized: fhpa::reconcile::federated_hpa::centralized::Settings {
                external_sum: vec!["web-orders".to_owned()],
                metrics_source,
                ..Default::default()
            },
            freeze,
        };
        let controller = Controller::with_capacity(options, capacity);
        let live = controller.live();
        let mut readers = Readers::default();
        let idle = controller.read_by(&mut readers);
        let (stop, stopped) = watch::channel(false);
        let (told, leadership) = watch::channel(None);
        let readiness = Readiness::default();
        let mut tasks = JoinSet::new();
        let leases = Api::namespaced(client.clone(), "karmada-system");
        tasks.spawn(Watches::new(readers, &readiness).run(client, Arc::clone(&metrics)));
        let candidate = Candidate { lease: "fhpa".into(), identity: name.into(), timings: Timings::default() };
        let (end, ended) = watch::channel(false);
        let presence = Arc::new(Presence::default());
        tasks.spawn(compete_seen(leases, candidate, told, Arc::clone(&presence), ended));
        let nobody: Idle = Arc::new(move || flag || !presence.acts());
        let run = idle.run(leadership.clone(), stopped);
        let works = tokio::spawn(async move {
            run.await;
            end.send_replace(true);
        });
        Self { metrics, leadership, live, idle: nobody, stop, works, tasks }
    }

    pub async fn leads(&mut self) {
        self.leadership.wait_for(Option::is_some).await.unwrap();
    }

    /// SIGKILL.
    pub async fn kill(mut self) {
        self.works.abort();
        self.tasks.shutdown().await;
    }

    /// SIGTERM.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        if tokio::time::timeout(Duration::from_secs(10), &mut self.works).await.is_err() {
            self.works.abort();
        }
        // The lease is released before the watches end.
        tokio::time::sleep(Duration::from_millis(100)).await;
        self.tasks.shutdown().await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.works.abort();
    }
}
