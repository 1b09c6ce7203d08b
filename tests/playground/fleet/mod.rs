//! Stories of a control plane with members, in virtual time.

mod failure;
mod karmada;
mod live;
mod propagation;
mod recorded;
mod scaling;

use embedded_apiserver::ApiServer;
use fhpa::playground::clock::Clock;
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::json::{int, items, text};
use fhpa::playground::objects::{Kind, Objects, Written};
use fhpa::playground::{karmada as controllers, member};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::bed::objects;

/// A fleet whose clock the test moves.
pub struct Stage {
    pub fleet: Fleet,
    control: Objects,
}

pub fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

pub fn plan() -> Plan {
    Plan {
        clusters: 2,
        clock: Clock::standing(Timestamp::constant(1_800_000_000, 0)),
        seed: Some(7),
        karmada: controllers::Timing::default(),
        member: member::Timing { ready_delay: seconds(2), ..member::Timing::default() },
        ..Plan::new()
    }
}

impl Stage {
    pub async fn new(plan: Plan) -> Self {
        let fleet = Fleet::build(plan).await.unwrap();
        fleet.settle().await.unwrap();
        let control = Objects::new(fleet.control().client());
        Self { fleet, control }
    }

    pub async fn advance(&self, by: i64) {
        self.fleet.advance(seconds(by)).await.unwrap();
    }

    pub async fn settle(&self) {
        self.fleet.settle().await.unwrap();
    }

    pub async fn create(&self, object: Value) {
        self.fleet.control().create(&object).await.unwrap();
    }

    pub async fn patch(&self, kind: &str, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name, "namespace": "default"}});
        let written = self.control.merge(&self::kind(kind), &about, "", &patch).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    pub async fn get(&self, kind: &str, name: &str) -> Value {
        self.find(kind, name).await.unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    pub async fn find(&self, kind: &str, name: &str) -> Option<Value> {
        self.control.get(&self::kind(kind), "default", name).await.unwrap()
    }

    pub async fn list(&self, kind: &str, namespace: &str) -> Vec<Value> {
        self.control.list(&self::kind(kind), namespace).await.unwrap()
    }

    fn objects(&self, cluster: &str) -> Objects {
        Objects::new(self.fleet.member(cluster).unwrap().client())
    }

    pub async fn member(&self, cluster: &str, kind: &str, name: &str) -> Option<Value> {
        self.objects(cluster).get(&self::kind(kind), "default", name).await.unwrap()
    }

    pub async fn patch_member(&self, cluster: &str, kind: &str, name: &str, patch: Value) {
        let about = json!({"metadata": {"name": name, "namespace": "default"}});
        let written = self.objects(cluster).merge(&self::kind(kind), &about, "", &patch).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    pub async fn pods(&self, cluster: &str) -> Vec<Value> {
        self.objects(cluster).list(&kind("Pod"), "default").await.unwrap()
    }

    /// Replicas that each cluster's deployment asks for.
    pub async fn replicas(&self, name: &str) -> Vec<i64> {
        let mut found = Vec::new();
        for cluster in self.fleet.names() {
            let deployment = self.member(cluster, "Deployment", name).await;
            found.push(deployment.and_then(|deployment| int(&deployment, "/spec/replicas")).unwrap_or(-1));
        }
        found
    }

    /// The split of a binding.
    pub async fn split(&self, name: &str) -> Vec<(String, i64)> {
        let binding = self.get("ResourceBinding", &format!("{name}-deployment")).await;
        let targets = items(&binding, "/spec/clusters").iter();
        targets.map(|t| (text(t, "/name").to_owned(), int(t, "/replicas").unwrap_or_default())).collect()
    }
}

pub fn kind(kind: &str) -> Kind {
    match kind {
        "Pod" => Kind::regular("v1", kind, true),
        "Cluster" => Kind::regular("cluster.karmada.io/v1alpha1", kind, false),
        "ResourceBinding" => Kind::regular("work.karmada.io/v1alpha2", kind, true),
        "Work" => Kind::regular("work.karmada.io/v1alpha1", kind, true),
        "HorizontalPodAutoscaler" => Kind::regular("autoscaling/v2", kind, true),
        _ => Kind::regular("apps/v1", kind, true),
    }
}

/// A Deployment in `default` whose pods ask for so much of a core.
pub fn deployment(name: &str, replicas: i32, cpu: &str) -> Value {
    let mut deployment = objects::deployment(name, replicas);
    deployment["metadata"]["namespace"] = json!("default");
    deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
    deployment
}

/// Divides over the members by weight.
pub fn policy(weights: &[i64]) -> Value {
    let list: Vec<Value> = weights
        .iter()
        .enumerate()
        .map(|(at, weight)| json!({"targetCluster": {"clusterNames": [format!("member{}", at + 1)]}, "weight": weight}))
        .collect();
    policy_with(
        json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": list}}}),
    )
}

pub fn policy_with(placement: Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"placement": placement, "resourceSelectors": [
            {"apiVersion": "apps/v1", "kind": "Deployment"},
            {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}]},
    })
}

/// Status and reason of a condition.
pub fn condition(object: &Value, kind: &str) -> (String, String) {
    let all = items(object, "/status/conditions");
    let found = all.iter().find(|condition| text(condition, "/type") == kind);
    let found = found.unwrap_or_else(|| panic!("no condition {kind} in {}", object["status"]));
    (text(found, "/status").to_owned(), text(found, "/reason").to_owned())
}

pub fn holds(status: &str, reason: &str) -> (String, String) {
    (status.to_owned(), reason.to_owned())
}

/// The server itself, for requests that no other way says.
pub fn server(stage: &Stage) -> &ApiServer {
    stage.fleet.control()
}
