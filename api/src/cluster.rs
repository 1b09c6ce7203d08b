//! The parts of Karmada's `Cluster` (`cluster.karmada.io/v1alpha1`) that fhpa reads. No I/O, no decisions.

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::karmada::karmada_resource;

/// A member cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Cluster {
    /// Name, labels, deletion.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// Location and taints.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: ClusterSpec,
    /// Reported state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: ClusterStatus,
}

karmada_resource!(Cluster, "cluster.karmada.io", "v1alpha1", "Cluster", "clusters", cluster);

/// The used part of its spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterSpec {
    /// `Push` or `Pull`.
    #[serde(deserialize_with = "null_as_default")]
    pub sync_mode: String,
    /// Its provider.
    #[serde(deserialize_with = "null_as_default")]
    pub provider: String,
    /// Its region.
    #[serde(deserialize_with = "null_as_default")]
    pub region: String,
    /// Its zone, where it has only one.
    #[serde(deserialize_with = "null_as_default")]
    pub zone: String,
    /// Its zones.
    #[serde(deserialize_with = "null_as_default")]
    pub zones: Vec<String>,
    /// Its taints.
    #[serde(deserialize_with = "null_as_default")]
    pub taints: Vec<Taint>,
}

/// A taint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Taint {
    /// Key.
    #[serde(deserialize_with = "null_as_default")]
    pub key: String,
    /// Value.
    #[serde(deserialize_with = "null_as_default")]
    pub value: String,
    /// Effect.
    #[serde(deserialize_with = "null_as_default")]
    pub effect: String,
    /// When it was added.
    pub time_added: Option<Time>,
}

/// The used part of its status.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterStatus {
    /// For example `v1.31.2`.
    #[serde(deserialize_with = "null_as_default")]
    pub kubernetes_version: String,
    /// The kinds that it serves.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "Vec::is_empty")]
    pub api_enablements: Vec<ApiEnablement>,
    /// Conditions.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<ClusterCondition>,
    /// Resources of its nodes, and the used part of them.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_summary: Value,
}

/// A version of an API group that it serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ApiEnablement {
    /// For example `apps/v1`.
    #[serde(deserialize_with = "null_as_default")]
    pub group_version: String,
    /// The kinds in it.
    #[serde(deserialize_with = "null_as_default")]
    pub resources: Vec<ApiResource>,
}

/// A kind that it serves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ApiResource {
    /// For example `deployments`.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// For example `Deployment`.
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterCondition {
    /// `Ready` or `CompleteAPIEnablements`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// Time of its last change.
    pub last_transition_time: Option<Time>,
}
