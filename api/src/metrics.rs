//! Responses of the metrics APIs of Kubernetes: `metrics.k8s.io/v1beta1`, `custom.metrics.k8s.io/v1beta1` and
//! `v1beta2`, `external.metrics.k8s.io/v1beta1`. No I/O, no decisions.

use std::collections::BTreeMap;

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Deserialize;

use super::quantity::Quantity;

/// A list of `T`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct List<T: Default> {
    /// The items.
    #[serde(deserialize_with = "null_as_default", bound(deserialize = "T: Deserialize<'de>"))]
    pub items: Vec<T>,
}

/// Usage of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodMetrics {
    /// Metadata of the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata,
    /// End of the window.
    pub timestamp: Option<Time>,
    /// Its length, in Go's format of durations.
    #[serde(deserialize_with = "null_as_default")]
    pub window: String,
    /// Usage of each container.
    #[serde(deserialize_with = "null_as_default")]
    pub containers: Vec<ContainerMetrics>,
}

/// The used part of the metadata of an item.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// Name of the pod.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Its annotations.
    #[serde(deserialize_with = "null_as_default")]
    pub annotations: BTreeMap<String, String>,
}

/// The annotation by which karmada-metrics-adapter says from which cluster an item is.
pub const QUERY_SOURCE: &str = "resource.karmada.io/query-from-cluster";

/// Usage of a container.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ContainerMetrics {
    /// Name of the container.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Usage by name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub usage: BTreeMap<String, Quantity>,
}

/// One value of `custom.metrics.k8s.io`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricValue {
    /// The measured object.
    #[serde(deserialize_with = "null_as_default")]
    pub described_object: DescribedObject,
    /// Time of the measurement.
    pub timestamp: Option<Time>,
    /// Length of the window; absent: an instant.
    pub window_seconds: Option<i64>,
    /// The value.
    #[serde(deserialize_with = "null_as_default")]
    pub value: Quantity,
}

/// The object of a value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct DescribedObject {
    /// Its name.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
}

/// One value of `external.metrics.k8s.io`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct ExternalMetricValue {
    /// The value.
    #[serde(deserialize_with = "null_as_default")]
    pub value: Quantity,
}
