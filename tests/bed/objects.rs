//! Objects that users write.

use serde_json::{Value, json};

/// A Deployment in `prod` whose pods ask for a tenth of a core.
pub fn deployment(name: &str, replicas: i32) -> Value {
    let container =
        json!({"name": "app", "image": "web:1", "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}},
    })
}

/// Divides by weight over members 1, 2, ...
pub fn weights(weights: &[i64]) -> Value {
    let list: Vec<Value> = weights
        .iter()
        .enumerate()
        .map(|(at, weight)| json!({"targetCluster": {"clusterNames": [format!("member{}", at + 1)]}, "weight": weight}))
        .collect();
    json!({"replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": list}}})
}

pub fn policy(placement: Value) -> Value {
    json!({
        "apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"placement": placement, "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]},
    })
}

pub fn hpa(min: i32, max: i32, more: Value) -> Value {
    let mut spec = json!({"minReplicas": min, "maxReplicas": max, "mode": "Distributed",
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": spec})
}
