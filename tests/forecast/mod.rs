//! Previews of an assignment on a control plane with members: by dry runs and on the command line.

mod live;
pub mod preview;

use fhpa::api;
use fhpa::playground::fleet::{Fleet, Plan};
use serde_json::{Value, json};

use crate::bed::objects::deployment;

/// A control plane with three members of which all run the Deployment `web`, divided by weights 1, 2 and 3.
pub async fn fleet() -> Fleet {
    let fleet = Fleet::build(Plan { seed: Some(7), ..Plan::new() }).await.unwrap();
    for definition in api::crd::all().unwrap() {
        fleet.control().create(definition).await.unwrap();
    }
    let weight = |(at, weight): (usize, &i64)| json!({"targetCluster": {"clusterNames": [format!("member{}", at + 1)]}, "weight": weight});
    let list: Vec<Value> = [1, 2, 3].iter().enumerate().map(weight).collect();
    let placement = json!({"replicaScheduling": {"replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted", "weightPreference": {"staticWeightList": list}}});
    for object in [
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}}),
        json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
            "metadata": {"name": "shop", "namespace": "prod"},
            "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}],
                "placement": placement}}),
        deployment("web", 3),
    ] {
        fleet.control().create(&object).await.unwrap();
    }
    fleet.settle().await.unwrap();
    fleet
}

/// The FederatedHPA `web`.
pub fn hpa(max: i32, more: Value) -> Value {
    let mut spec = json!({"minReplicas": 2, "maxReplicas": max, "mode": "Distributed",
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}}]});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": spec})
}
