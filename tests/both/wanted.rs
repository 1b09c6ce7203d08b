//! Objects that users of both worlds write.

use fhpa::runtime::clock::wall;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::REQUEST;
use super::requests::{kind, resource};

/// A Deployment of pods that ask for [`REQUEST`].
pub fn deployment(name: &str, replicas: u32) -> Value {
    let container = json!({"name": "app", "image": "app", "resources": {"requests": {"cpu": format!("{REQUEST}m")}}});
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "prod", "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [container]}}}})
}

/// A policy that gives a Deployment to clusters by equal weights.
pub fn policy(name: &str, clusters: &[&str]) -> Value {
    let weights = clusters.iter().map(|cluster| json!({"targetCluster": {"clusterNames": [cluster]}, "weight": 1}));
    let weights: Vec<Value> = weights.collect();
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "placement": {"clusterAffinity": {"clusterNames": clusters},
                "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                    "weightPreference": {"staticWeightList": weights}}}}})
}

/// A policy that tolerates the absence of a cluster for so long.
pub fn tolerating(mut policy: Value, seconds: u64) -> Value {
    let tolerations = ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]
        .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}));
    policy["spec"]["placement"]["clusterTolerations"] = json!(tolerations);
    policy
}

/// A FederatedHPA of the Deployment of its name, with more fields of its spec.
pub fn federated(name: &str, min: u32, max: u32, more: Value) -> Value {
    let cpu = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": min, "maxReplicas": max, "metrics": [cpu]}});
    for (key, value) in more.as_object().into_iter().flatten() {
        object["spec"][key] = value.clone();
    }
    object
}

/// Makes `count` nodes with so many cores each, or changes those that are there.
pub async fn nodes(client: &Client, member: &str, count: usize, cores: u32) {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(&kind("Node")));
    for number in 0..count {
        let name = format!("{member}-{number}");
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name,
            "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}}});
        let node: DynamicObject = serde_json::from_value(node).unwrap();
        match api.create(&PostParams::default(), &node).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{name}: {error}"),
        }
        let size = json!({"cpu": cores.to_string(), "memory": "64Gi", "pods": "200"});
        let status = json!({"status": {"capacity": size, "allocatable": size,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "of the suite",
                "lastHeartbeatTime": wall(), "lastTransitionTime": wall()}]}});
        api.patch_status(&name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
    }
}
