//! Three members with the pods of Centralized workloads, on which nothing of Karmada runs.

use embedded_apiserver::serve::Listening;
use fhpa::playground::fleet::{Fleet, Plan};
use fhpa::playground::objects::{Kind, Objects, Written};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

pub const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];
const NOW: &str = "2026-11-20T08:00:00Z";

#[derive(Clone, Copy)]
pub struct Size {
    pub objects: usize,
    pub namespaces: usize,
    /// Of each object, over all members.
    pub pods: usize,
}

pub struct World {
    pub fleet: Fleet,
    pub file: NamedTempFile,
    _listening: Listening,
}

pub fn namespace(at: usize) -> String {
    format!("shop{at}")
}

impl World {
    pub async fn new(size: Size) -> Self {
        let fleet = Fleet::build(Plan { nodes: 0, ..Plan::new() }).await.unwrap();
        let control = fleet.control();
        for definition in fhpa::api::crd::all().unwrap() {
            control.create(definition).await.unwrap();
        }
        fleet.settle().await.unwrap();
        for at in 0..size.namespaces {
            let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace(at)}});
            control.create(&space).await.unwrap();
            for member in MEMBERS {
                fleet.member(member).unwrap().create(&space).await.unwrap();
            }
        }
        for object in 0..size.objects {
            populate(&fleet, size, object).await;
        }
        let listening = control.listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let file = NamedTempFile::new().unwrap();
        std::fs::write(file.path(), listening.kubeconfig("fleet")).unwrap();
        Self { fleet, file, _listening: listening }
    }

    /// Waits until so many objects were computed.
    pub async fn computed(&self, objects: usize) {
        let kind = Kind::regular("autoscaling.karmada.io/v1alpha1", "FederatedHPA", true);
        let control = Objects::new(self.fleet.control().client());
        loop {
            let all = control.list(&kind, "").await.unwrap();
            let active = |hpa: &&Value| {
                let conditions = hpa["status"]["conditions"].as_array().into_iter().flatten();
                conditions.clone().any(|one| one["reason"] == "ValidMetricFound")
            };
            if all.iter().filter(active).count() >= objects {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        }
    }
}

async fn populate(fleet: &Fleet, size: Size, object: usize) {
    let (space, name) = (namespace(object % size.namespaces), format!("web{object}"));
    let labels = json!({"app": name});
    let container =
        json!({"name": "web", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    let replicas = size.pods;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": space},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}}},
    });
    let control = fleet.control();
    let made = control.create(&deployment).await.unwrap();
    let resource = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": space, "name": name,
        "uid": made["metadata"]["uid"], "resourceVersion": made["metadata"]["resourceVersion"]});
    let clusters: Vec<Value> = MEMBERS.iter().map(|member| json!({"name": member, "replicas": replicas / 3})).collect();
    let binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": format!("{name}-deployment"), "namespace": space},
        "spec": {"resource": resource, "replicas": replicas, "clusters": clusters,
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}},
    });
    control.create(&binding).await.unwrap();
    let hpa = json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": space},
        "spec": {"mode": "Centralized", "minReplicas": 1, "maxReplicas": replicas * 2,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]},
    });
    control.create(&hpa).await.unwrap();
    // Each pod exactly at its target, so that nothing is to be scaled. The pods have no owner: it would have to be
    // there.
    fleet.load().set(&space, "", 50);
    for (at, member) in MEMBERS.iter().enumerate() {
        let server = fleet.member(member).unwrap();
        let (objects, kind) = (Objects::new(server.client()), Kind::regular("v1", "Pod", true));
        for number in (at..replicas).step_by(MEMBERS.len()) {
            let pod = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": format!("{name}-5d8f7c9b6-{number:05}"), "namespace": space, "labels": labels},
                "spec": {"nodeName": "node1", "containers": [container]},
            });
            let made = server.create(&pod).await.unwrap();
            let status = json!({"status": {"phase": "Running", "startTime": NOW,
                "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": NOW}]}});
            let written = objects.merge(&kind, &made, "status", &status).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        }
    }
}
