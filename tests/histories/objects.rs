//! Objects that users write in a history. No I/O.

use fhpa::playground::objects::Kind;
use serde_json::{Value, json};

use crate::stories::distributed;

pub fn kind(of: &str) -> Kind {
    match of {
        "CronFederatedHPA" => Kind::regular("autoscaling.karmada.io/v1alpha1", of, true),
        "FederatedResourceQuota" => Kind::regular("policy.karmada.io/v1alpha1", of, true),
        _ => distributed::kind(of),
    }
}

pub fn federated(workload: &str, more: &Value) -> Value {
    let mut spec = json!({
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload},
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 50}}}]});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": workload, "namespace": "prod"}, "spec": spec})
}

pub fn cron(workload: &str, bounds: bool, rules: &Value) -> Value {
    let target = if bounds {
        json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": workload})
    } else {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": workload})
    };
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": workload, "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": rules}})
}

pub fn policy(workload: &str, placement: &Value) -> Value {
    let selector = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": workload});
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": workload, "namespace": "prod"},
        "spec": {"resourceSelectors": [selector], "placement": placement}})
}

/// Brings HPAs of users to all members.
pub fn hpa_policy() -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": "hpas", "namespace": "prod"},
        "spec": {"resourceSelectors": [{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}],
            "placement": {}}})
}

/// What the workloads together may be given.
pub fn quota(cpu: u32) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
        "metadata": {"name": "limit", "namespace": "prod"}, "spec": {"overall": {"cpu": format!("{cpu}m")}}})
}

/// An HPA of somebody else.
pub fn other_hpa(workload: &str, name: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": workload},
            "minReplicas": 1, "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
}

/// A Cluster as it joins.
pub fn cluster(number: u32) -> Value {
    let name = format!("member{number}");
    let secret = json!({"namespace": "karmada-cluster", "name": name});
    json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
        "metadata": {"name": name, "finalizers": ["karmada.io/cluster-controller"]},
        "spec": {"syncMode": "Push", "apiEndpoint": format!("https://{name}.playground"), "id": name,
            "region": "playground", "secretRef": secret, "impersonatorSecretRef": secret}})
}
