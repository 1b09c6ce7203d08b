//! The parts of Karmada's `PropagationPolicy` and `ClusterPropagationPolicy` (`policy.karmada.io/v1alpha1`) that fhpa
//! reads. No I/O, no decisions.

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A policy for the propagation of workloads; without a namespace a `ClusterPropagationPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PropagationPolicy {
    /// Name and namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: ObjectMeta,
    /// Its spec.
    #[serde(deserialize_with = "null_as_default")]
    pub spec: PropagationSpec,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PropagationSpec {
    /// Selects workloads.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// The placement, as it is copied to bindings.
    #[serde(deserialize_with = "null_as_default")]
    pub placement: Value,
    /// Priority among policies of one scope; the greatest wins.
    #[serde(deserialize_with = "null_as_default")]
    pub priority: i32,
}

/// One of `resourceSelectors`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceSelector {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: String,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: String,
    /// Namespace; empty: every namespace.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Name; empty: by label, or all.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Label selector.
    pub label_selector: Option<LabelSelector>,
}
