//! Valid objects from which cases are made, and values as long as a limit.

use serde_json::{Value, json};

/// Sets each member to its value; null removes it.
pub(super) fn with(mut object: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        let parent = object.pointer_mut(parent).unwrap_or_else(|| panic!("{pointer} has no parent"));
        match (parent, value) {
            (Value::Object(members), Value::Null) => drop(members.remove(member).expect("it is there")),
            (Value::Object(members), value) => drop(members.insert(member.to_owned(), value.clone())),
            (Value::Array(items), value) if member == "-" => items.push(value.clone()),
            (parent, value) => parent[member.parse::<usize>().unwrap()] = value.clone(),
        }
    }
    object
}

pub(super) fn federated_hpa() -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 2, "maxReplicas": 10,
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}},
                {"type": "ContainerResource", "containerResource": {
                    "name": "memory", "container": "app", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
                {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": 5}}},
                {"type": "Object", "object": {
                    "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "web"},
                    "metric": {"name": "queue"}, "target": {"type": "Value", "value": "20"}}},
                {"type": "External", "external": {"metric": {"name": "lag"}, "target": {"type": "AverageValue", "averageValue": "30"}}},
            ],
            "behavior": {"scaleDown": {
                "stabilizationWindowSeconds": 300, "selectPolicy": "Max", "tolerance": "0.1",
                "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}},
            "mode": "Distributed", "autoscaleMultiClusterDelay": 30, "scaleAssist": true, "scalingToZero": false,
            "minCoveredLosses": 1,
            "federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
                {"targetCluster": {"clusterNames": ["m1"]}, "staticWeight": 2, "autoscalingMinThreshold": 1, "autoscalingMaxThreshold": 4},
                {"targetCluster": {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}},
                 "staticWeight": 1}]},
            "clusterHPAPreference": [{"clusterName": "m1", "maxResourceUsage": 0.5}, {"clusterName": "m2", "maxResourceUsage": 1}],
        },
    })
}

/// Without the fields that only Distributed mode has.
pub(super) fn centralized() -> Value {
    let mut object = federated_hpa();
    let spec = object["spec"].as_object_mut().unwrap();
    for field in ["federatedHPAAssignment", "autoscaleMultiClusterDelay", "clusterHPAPreference", "minCoveredLosses"] {
        spec.remove(field);
    }
    spec.insert("mode".into(), json!("Centralized"));
    object
}

pub(super) fn of_workload() -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": {"name": "nightly", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "rules": [
                {"name": "down", "schedule": "0 22 * * *", "targetReplicas": 0, "timeZone": "Europe/Berlin", "maxDelaySeconds": 600},
                {"name": "up", "schedule": "0 6 * * *", "targetReplicas": 4, "suspend": true,
                 "successfulHistoryLimit": 1, "failedHistoryLimit": 0}],
        },
    })
}

pub(super) fn of_federated_hpa() -> Value {
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": {"name": "nightly", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"},
            "rules": [
                {"name": "down", "schedule": "0 22 * * *", "targetMinReplicas": 1, "targetMaxReplicas": 2},
                {"name": "up", "schedule": "0 6 * * *", "targetMaxReplicas": 8}],
        },
    })
}

/// A text of so many characters.
pub(super) fn text(characters: usize) -> String {
    "a".repeat(characters)
}

/// So many names.
pub(super) fn many(count: usize) -> Vec<String> {
    (0..count).map(|index| format!("m{index}")).collect()
}

/// So many rules for a workload.
pub(super) fn named(count: usize) -> Value {
    let rule = |name: String| json!({"name": name, "schedule": "0 6 * * *", "targetReplicas": 4});
    many(count).into_iter().map(rule).collect()
}

/// So many labels.
pub(super) fn labels(count: usize) -> Value {
    Value::Object(many(count).into_iter().map(|name| (name, json!("a"))).collect())
}

/// So many preferences.
pub(super) fn preferences(count: usize) -> Value {
    let preference = |name: String| json!({"targetCluster": {"clusterNames": [name]}, "staticWeight": 1});
    many(count).into_iter().map(preference).collect()
}

/// So many shares of clusters.
pub(super) fn shares(count: usize) -> Value {
    many(count).into_iter().map(|name| json!({"clusterName": name, "maxResourceUsage": 0.5})).collect()
}
