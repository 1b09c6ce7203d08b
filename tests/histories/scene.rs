//! A fleet with two replicas of the controller and the webhook in the path, and what happens to it. Virtual time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use fhpa::admission::body::Limits;
use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::registration::{self, Location};
use fhpa::admission::review::Reviewer;
use fhpa::admission::router::{Clock as Clocks, Desk, Observer, Reviewed, router};
use fhpa::api;
use fhpa::decision::validation::Settings;
use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::json::{items, set};
use fhpa::playground::objects::{Kind, Objects, Written};
use fhpa::reconcile::distributed::capacity::Rooms;
use fhpa::runtime::lifecycle::Readiness;
use fhpa::runtime::metrics::Metrics;
use fhpa::runtime::watch::{Index, Readers, Watches};
use fhpa::runtime::zones::ZoneDatabase;
use futures::FutureExt as _;
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tower::ServiceExt as _;

use super::chance::WORKLOADS;
use super::flaky::Way;
use super::operation::{Operation, Trouble};
use crate::bed::objects::deployment;
use crate::bed::role::{Role, limited};
use crate::laws::Terms;
use crate::laws::embedded::Watched;
use crate::stories::distributed::{self, START};
use crate::stories::{Process, Wall};

/// Where the webhook is, as far as the API server knows.
const BASE: &str = "https://fhpa.test:443";

/// One replica of the controller.
struct Replica {
    process: Option<Process>,
    way: Way,
    births: u32,
}

/// All of it.
pub struct Scene {
    pub fleet: Arc<Fleet>,
    pub control: Objects,
    pub watched: Watched,
    pub wall: Wall,
    replicas: [Replica; 2],
    runs: JoinSet<()>,
}

/// Is told of reviews and says nothing.
struct Silent;

impl Observer for Silent {
    fn reviewed(&self, _: &Reviewed<'_>) {}
    fn entered(&self) {}
    fn left(&self) {}
}

impl Scene {
    /// So many clusters, each with room for some forty pods.
    pub async fn new(clusters: u32) -> Self {
        let wall = Wall::new(START);
        let plan = Plan { clusters, nodes: 1, seed: Some(7), clock: Clock::told(wall.clock()), ..Plan::new() };
        let fleet = Arc::new(Fleet::build(plan).await.unwrap());
        let watched = Watched::fleet(&fleet, Terms::default());
        for (_, definition) in api::crd::files().unwrap() {
            fleet.control().create(&serde_saphyr::from_str(&definition).unwrap()).await.unwrap();
        }
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}});
        fleet.control().create(&space).await.unwrap();
        for customization in fhpa::install::kinds::customizations(&[]) {
            fleet.control().create(&customization).await.unwrap();
        }
        let mut runs = JoinSet::new();
        review(&fleet, &mut runs).await;
        let running = Arc::clone(&fleet);
        runs.spawn(async move { running.run().await });
        let replica = || Replica { process: None, way: Way::default(), births: 0 };
        let control = Objects::new(fleet.control().client());
        let mut scene = Self { fleet, control, watched, wall, replicas: [replica(), replica()], runs };
        for workload in WORKLOADS {
            scene.write(&policy(workload, &json!({}))).await;
            scene.write(&deployment(workload, 3)).await;
        }
        scene.start(0);
        scene.start(1);
        scene.pass(20).await;
        scene
    }

    fn start(&mut self, number: usize) {
        let Some(replica) = self.replicas.get_mut(number).filter(|replica| replica.process.is_none()) else { return };
        replica.births += 1;
        let name = format!("replica-{number}-{}", replica.births);
        let client = limited(replica.way.over(self.fleet.control().client()), Role::default());
        replica.process = Some(Process::start_over(client, &name, &self.wall, Arc::new(Rooms::default())));
    }

    /// Lets time go by, and tells the laws whether somebody can act meanwhile.
    pub async fn pass(&self, seconds: u64) {
        for _ in 0..seconds.div_ceil(5) {
            self.watched.acts(self.somebody_acts());
            tokio::time::sleep(Duration::from_secs(5.min(seconds))).await;
        }
        self.watched.acts(self.somebody_acts());
    }

    fn somebody_acts(&self) -> bool {
        self.replicas.iter().any(|replica| {
            let leads = replica.process.as_ref().is_some_and(|process| process.leadership.borrow().is_some());
            leads && replica.way.is_well()
        })
    }

    /// Everything is well and runs from now on; inputs stay as they are.
    pub async fn heal(&mut self) {
        for number in 0..self.replicas.len() {
            self.replicas[number].way.heal();
            self.start(number);
        }
        let clusters: Vec<String> = self.fleet.names().map(str::to_owned).collect();
        for cluster in clusters {
            self.fleet.fail(&cluster, false).unwrap();
        }
        self.watched.acts(true);
    }

    pub async fn end(mut self) {
        for replica in &mut self.replicas {
            if let Some(process) = replica.process.take() {
                process.kill().await;
            }
        }
        self.runs.shutdown().await;
    }

    /// Whether cron rules run.
    pub async fn has_crons(&self) -> bool {
        !self.control.list(&kind("CronFederatedHPA"), "").await.unwrap().is_empty()
    }

    /// Objects of which the status says that something is yet to be done.
    pub fn waits(&self) -> Vec<String> {
        let laws = self.watched.laws();
        let waits = |reason: &str| reason.starts_with("WaitingFor");
        let federated = laws.world().federated.iter();
        let federated = federated.filter(|(_, hpa)| hpa.conditions.iter().any(|one| waits(&one.reason)));
        federated.map(|(name, _)| format!("FederatedHPA {name} waits")).collect()
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
            lines.push(format!("    binding {name} {:?} suspended {}", binding.entries, binding.suspended));
        }
        for (cluster, member) in &world.members {
            let hpas = member.hpas.iter().map(|(name, hpa)| format!("{name} {}", hpa.bounds));
            let runs = member.workloads.iter().map(|(target, runs)| format!("{target} {}/{}", runs.ready, runs.asked));
            let all = hpas.chain(runs).collect::<Vec<_>>().join(", ");
            lines.push(format!("    {cluster} answers {}: {all}", world.answers(cluster)));
        }
        lines.join("\n")
    }

    async fn write(&self, object: &Value) {
        let known = kind(object["kind"].as_str().unwrap());
        // The webhook may refuse it, and it may be there already.
        let _: Result<Written, kube::Error> = self.control.create(&known, object).await;
    }

    async fn find(&self, of: &str, name: &str) -> Option<Value> {
        let space = if kind(of).namespaced { "prod" } else { "" };
        self.control.get(&kind(of), space, name).await.unwrap()
    }

    async fn merge(&self, of: &str, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name, "namespace": "prod"}});
        let _: Result<Written, kube::Error> = self.control.merge(&kind(of), &about, "", &patch).await;
    }

    async fn remove(&self, of: &str, name: &str) {
        if let Some(found) = self.find(of, name).await {
            let _: Result<Written, kube::Error> = self.control.delete(&kind(of), &found).await;
        }
    }

    /// Something happens. What does not apply is passed over.
    pub async fn happen(&mut self, what: &Operation) {
        match what {
            Operation::Kill { replica } => {
                if let Some(process) = self.replicas[*replica].process.take() {
                    process.kill().await;
                }
            }
            Operation::Stop { replica } => {
                if let Some(process) = self.replicas[*replica].process.take() {
                    // A way that hangs keeps the Lease from being released.
                    let stop = process.stop();
                    let _: Result<(), _> = tokio::time::timeout(Duration::from_secs(30), stop).await;
                }
            }
            Operation::Start { replica } => self.start(*replica),
            Operation::Down { replica, on } => self.replicas[*replica].way.down(*on),
            Operation::Hang { replica, on } => self.replicas[*replica].way.hang(*on),
            Operation::Stale { replica, on } => self.replicas[*replica].way.stale(*on),
            Operation::Trouble { replica, what, count } => self.trouble(*replica, *what, *count),
            Operation::DropWatches => self.fleet.control().faults().drop_watches(),
            Operation::DropLease => self.drop_lease().await,
            _ => self.happen_to_world(what).await,
        }
    }

    fn trouble(&self, replica: usize, what: Trouble, count: u32) {
        self.replicas[replica].way.trouble(what, count);
    }

    async fn drop_lease(&self) {
        let leases = Kind::regular("coordination.k8s.io/v1", "Lease", true);
        if let Some(lease) = self.control.get(&leases, "karmada-system", "fhpa").await.unwrap() {
            let _: Result<Written, kube::Error> = self.control.delete(&leases, &lease).await;
        }
    }

    async fn happen_to_world(&self, what: &Operation) {
        match what {
            Operation::Load { workload, milli } => self.fleet.load().set("prod", workload, *milli),
            Operation::Fail { cluster, on } => {
                let _: Result<(), _> = self.fleet.fail(&format!("member{cluster}"), *on);
            }
            Operation::Nodes { cluster, by } => {
                let _: Result<usize, _> = self.fleet.change_nodes(&format!("member{cluster}"), *by).await;
            }
            Operation::DropHpa { workload, cluster } => {
                if let Some((objects, hpa)) = self.member_hpa(workload, *cluster).await {
                    let _: Result<Written, kube::Error> = objects.delete(&kind("HorizontalPodAutoscaler"), &hpa).await;
                }
            }
            Operation::BendHpa { workload, cluster, max } => {
                if let Some((objects, hpa)) = self.member_hpa(workload, *cluster).await {
                    let bent = json!({"spec": {"minReplicas": 1, "maxReplicas": max}});
                    let of = kind("HorizontalPodAutoscaler");
                    let _: Result<Written, kube::Error> = objects.merge(&of, &hpa, "", &bent).await;
                }
            }
            _ => self.users_do(what).await,
        }
    }

    async fn member_hpa(&self, workload: &str, cluster: u32) -> Option<(Objects, Value)> {
        let objects = Objects::new(self.fleet.member(&format!("member{cluster}")).ok()?.client());
        let hpa = objects.get(&kind("HorizontalPodAutoscaler"), "prod", workload).await.unwrap()?;
        Some((objects, hpa))
    }

    async fn users_do(&self, what: &Operation) {
        match what {
            Operation::Create { workload, spec } => self.write(&federated(workload, spec)).await,
            Operation::Delete { workload } => self.remove("FederatedHPA", workload).await,
            Operation::Edit { workload, field, value } => self.edit("FederatedHPA", workload, field, value).await,
            Operation::CreateCron { workload, bounds, rules } => self.write(&cron(workload, *bounds, rules)).await,
            Operation::EditCron { workload, field, value } => {
                self.edit("CronFederatedHPA", workload, field, value).await;
            }
            Operation::DeleteCron { workload } => self.remove("CronFederatedHPA", workload).await,
            Operation::Place { workload, placement } => {
                let mut whole = json!({"clusterAffinity": null, "clusterTolerations": null, "spreadConstraints": null});
                whole.as_object_mut().unwrap().extend(placement.as_object().cloned().unwrap());
                // A merge would keep what the old way of division said.
                self.merge("PropagationPolicy", workload, json!({"spec": {"placement": {"replicaScheduling": null}}}))
                    .await;
                self.merge("PropagationPolicy", workload, json!({"spec": {"placement": whole}})).await;
            }
            Operation::Label { cluster, value } => {
                let labels = json!({"metadata": {"labels": {"tier": value}}});
                self.merge("Cluster", &format!("member{cluster}"), labels).await;
            }
            Operation::Taint { cluster, effect } => self.taint(&format!("member{cluster}"), effect.as_deref()).await,
            Operation::Scale { workload, replicas } => {
                self.merge("Deployment", workload, json!({"spec": {"replicas": replicas}})).await;
            }
            Operation::RollOut { workload, image } => {
                let mut changed = deployment(workload, 1);
                let container = items(&changed, "/spec/template/spec/containers")[0].clone();
                let mut container = container;
                container["image"] = json!(image);
                set(&mut changed, &["spec", "template", "spec", "containers"], json!([container]));
                let template = changed["spec"]["template"].clone();
                self.merge("Deployment", workload, json!({"spec": {"template": template}})).await;
            }
            Operation::Remove { workload } => self.remove("Deployment", workload).await,
            Operation::Bring { workload, replicas } => {
                self.write(&deployment(workload, i32::try_from(*replicas).unwrap())).await;
            }
            _ => panic!("{what:?} is handled before"),
        }
    }

    async fn taint(&self, cluster: &str, effect: Option<&str>) {
        let Some(found) = self.find("Cluster", cluster).await else { return };
        let others = items(&found, "/spec/taints").iter().filter(|taint| taint["key"] != "tests");
        let own = effect.map(
            |effect| json!({"key": "tests", "value": "yes", "effect": effect, "timeAdded": self.fleet.control().now()}),
        );
        let taints: Vec<Value> = others.cloned().chain(own).collect();
        self.merge("Cluster", cluster, json!({"spec": {"taints": taints}})).await;
    }

    async fn edit(&self, of: &str, name: &str, field: &str, value: &Value) {
        let Some(mut found) = self.find(of, name).await else { return };
        let keys: Vec<&str> = std::iter::once("spec").chain(field.split('.')).collect();
        if value.is_null() {
            fhpa::playground::json::remove(&mut found, &keys);
        } else {
            set(&mut found, &keys, value.clone());
        }
        let _: Result<Written, kube::Error> = self.control.replace(&kind(of), &found).await;
    }
}

fn kind(of: &str) -> Kind {
    match of {
        "CronFederatedHPA" => Kind::regular("autoscaling.karmada.io/v1alpha1", of, true),
        _ => distributed::kind(of),
    }
}

/// The webhook, served without a socket.
async fn review(fleet: &Fleet, runs: &mut JoinSet<()>) {
    let index = Arc::new(Index::default());
    let settings = Settings::default();
    let readers = Readers::default().with_index(&index, settings.default_mode);
    let watches = Watches::new(readers, &Readiness::default());
    let client = fleet.control().client();
    runs.spawn(watches.run(client, Arc::new(Metrics::new())));
    let zones = Arc::new(ZoneDatabase::bundled());
    let reviewer = Reviewer { neighbours: index, zones, settings, preview: None, frozen: None };
    let judge: fhpa::admission::router::Judge =
        Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now));
    #[allow(clippy::disallowed_methods)]
    let clocks = Clocks { wall: || START.parse().unwrap(), monotonic: std::time::Instant::now };
    let router = router(&Arc::new(Desk::new(judge, clocks, Arc::new(Silent), Limits::default(), 64)));
    let answer: fhpa::playground::apiserver::admission::Inside = Arc::new(move |path, review| {
        let request = Request::post(path).header("content-type", "application/json");
        let request = request.body(Body::from(review.to_string())).unwrap();
        let router = router.clone();
        async move {
            let response = router.oneshot(request).await.map_err(|error| error.to_string())?;
            let body = response.into_body().collect().await.map_err(|error| error.to_string())?.to_bytes();
            serde_json::from_slice(&body).map_err(|error| error.to_string())
        }
        .boxed()
    });
    fleet.control().answer_webhooks(BASE, &answer);
    let location = Location { base_url: BASE.to_owned(), ca_bundle: Vec::new() };
    let configurations = [
        json!(registration::mutating(&location, &Endpoint::ALL)),
        json!(registration::validating(&location, &Endpoint::ALL)),
    ];
    for configuration in configurations {
        fleet.control().create(&configuration).await.unwrap();
    }
}

fn federated(workload: &str, more: &Value) -> Value {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload},
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}}]});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": workload, "namespace": "prod"}, "spec": spec})
}

fn cron(workload: &str, bounds: bool, rules: &Value) -> Value {
    let target = if bounds {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": workload})
    } else {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": workload})
    };
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": workload, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": rules}})
}

fn policy(workload: &str, placement: &Value) -> Value {
    let selector = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": workload});
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": workload, "namespace": "prod"},
        "spec": {"resourceSelectors": [selector], "placement": placement}})
}
