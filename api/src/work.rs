//! The parts of Karmada's `Work` (`work.karmada.io/v1alpha1`) that fhpa reads: objects to apply in a member cluster. No
//! I/O, no decisions.

use decision::json::null_as_default;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::karmada::karmada_resource;

/// A Work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Work {
    /// Name, labels, annotations, deletion.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// The desired objects.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: WorkSpec,
    /// Their reported state.
    #[serde(deserialize_with = "null_as_default")]
    pub status: WorkStatus,
}

karmada_resource!(Work, "work.karmada.io", "v1alpha1", "Work", "works", namespaced);

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkSpec {
    /// The objects.
    #[serde(deserialize_with = "null_as_default")]
    pub workload: Workload,
}

/// `spec.workload`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Workload {
    /// The objects.
    #[serde(deserialize_with = "null_as_default")]
    pub manifests: Vec<Value>,
}

/// `status`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkStatus {
    /// `Applied` and others.
    #[serde(deserialize_with = "null_as_default")]
    pub conditions: Vec<WorkCondition>,
    /// Reflected status of each object.
    #[serde(deserialize_with = "null_as_default")]
    pub manifest_statuses: Vec<ManifestStatus>,
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkCondition {
    /// `Applied`
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// Message for users.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
}

/// Reflected status of one object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ManifestStatus {
    /// The status that Karmada's interpreter reflects.
    #[serde(deserialize_with = "null_as_default")]
    pub status: Value,
}
