//! A Pod of a member cluster, with the fields that an HPA reads. No I/O, no decisions.

use std::collections::BTreeMap;

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use serde::Deserialize;

use super::karmada::karmada_resource;
use super::quantity::Quantity;

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Name, labels, deletion.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// Its requests.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PodSpec,
    /// Its health.
    #[serde(deserialize_with = "null_as_default")]
    pub status: PodStatus,
}

karmada_resource!(Pod, "", "v1", "Pod", "pods", namespaced);

/// The used part of its spec.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodSpec {
    /// Its containers.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<Container>,
    /// Its init containers.
    #[serde(deserialize_with = "null_as_default")]
    pub init_containers: Vec<Container>,
    /// Resources of the pod as a whole.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Resources,
    /// What its runtime needs beside it, by name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub overhead: BTreeMap<String, Quantity>,
}

/// The used part of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Container {
    /// Name of the container.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// `Always`: an init container that runs beside the others.
    #[serde(deserialize_with = "null_as_default")]
    pub restart_policy: String,
    /// Its requests.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Resources,
}

/// `resources`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// Requests by name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub requests: BTreeMap<String, Quantity>,
}

/// The used part of its status.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub phase: String,
    /// When the kubelet accepted it.
    pub start_time: Option<Time>,
    /// Its conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<PodCondition>,
}

/// One condition.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodCondition {
    /// `Ready`, ...
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// Reason, for example `Unschedulable`.
    #[serde(deserialize_with = "null_as_default")]
    pub reason: String,
    /// When `status` last changed.
    pub last_transition_time: Option<Time>,
}
