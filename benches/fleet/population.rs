//! The objects of the fleet: a Deployment and a CronFederatedHPA each, as upstream's controller left them.

use embedded_apiserver::ApiServer;
use embedded_apiserver::store::{Expected, Key};
use fhpa::api;
use fhpa::playground::karmada;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// Namespaces over which the objects are spread.
const NAMESPACES: usize = 20;

/// How many objects of which shape.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub objects: usize,
    /// Of each object.
    pub rules: usize,
}

impl Size {
    pub fn all_rules(self) -> usize {
        self.objects * self.rules
    }
}

/// Namespace and name of an object, of its Deployment too.
pub fn place(index: usize) -> (String, String) {
    (format!("team-{}", index % NAMESPACES), format!("shop-frontend-{index:05}"))
}

pub async fn definitions(server: &ApiServer) {
    for (_, text) in api::crd::files().unwrap() {
        let definition: Value = serde_saphyr::from_str(&text).unwrap();
        server.create(&definition).await.unwrap();
    }
    for definition in karmada::definitions().unwrap() {
        server.create(definition).await.unwrap();
    }
    let namespaces = (0..NAMESPACES).map(|index| format!("team-{index}"));
    for name in namespaces.chain(["karmada-system".to_owned()]) {
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        server.create(&space).await.unwrap();
    }
}

/// Fills the server; the rules are due at `due` and once each day.
pub async fn populate(server: &ApiServer, size: Size, due: Timestamp) {
    let crons = bucket(server, "autoscaling.karmada.io", "cronfederatedhpas");
    for index in 0..size.objects {
        let (namespace, name) = place(index);
        server.create(&deployment(&namespace, &name)).await.unwrap();
        let made = server.create(&cron(&namespace, &name, size.rules, due)).await.unwrap();
        let key = Key::new(&crons, &namespace, &name);
        let mut left = made;
        left["status"] = status(size.rules, due);
        let version = server.store().get(&key).unwrap().version();
        server.store().put(&key, Expected::Version(version), left).unwrap();
    }
}

/// Where the store keeps a resource.
pub fn bucket(server: &ApiServer, group: &str, plural: &str) -> std::sync::Arc<str> {
    server.catalog().find(group, plural).unwrap().bucket.clone()
}

fn deployment(namespace: &str, name: &str) -> Value {
    let labels = json!({"app": name});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {"replicas": 99, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "shop", "image": "shop:1"}]}}}})
}

fn rule_name(index: usize) -> String {
    format!("scale-for-business-hours-{index}")
}

fn cron(namespace: &str, name: &str, rules: usize, due: Timestamp) -> Value {
    let schedule = due.strftime("%M %H * * *").to_string();
    let rule = |index: usize| json!({"name": rule_name(index), "schedule": schedule, "timeZone": "UTC", "targetReplicas": index + 1});
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": name, "namespace": namespace, "labels": {"team": namespace}},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "rules": (0..rules).map(rule).collect::<Vec<_>>()}})
}

/// Two runs of each rule are remembered.
fn status(rules: usize, due: Timestamp) -> Value {
    let day = SignedDuration::from_hours(24);
    let run = |at: Timestamp, replicas: usize| json!({"scheduleTime": at, "executionTime": at + SignedDuration::from_secs(23), "appliedReplicas": replicas});
    let history = |index: usize| {
        json!({"ruleName": rule_name(index), "nextExecutionTime": due,
            "successfulExecutions": [run(due - day, index + 1), run(due - day - day, index + 1)]})
    };
    json!({"executionHistories": (0..rules).map(history).collect::<Vec<_>>()})
}
