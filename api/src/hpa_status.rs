//! Wire types of the status of a Kubernetes HPA (`autoscaling/v2`). No I/O, no decisions.
//!
//! Decoding is as lenient as that of [`super::hpa`].

use std::cmp::Ordering;

use decision::json::null_as_default;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hpa::{CrossVersionObjectReference, MetricIdentifier};
use super::quantity::Quantity;

/// Status of one HPA.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HorizontalPodAutoscalerStatus {
    /// Generation of the HPA this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the number of replicas last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scale_time: Option<Time>,
    /// Replicas that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i32>,
    /// Replicas that are wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub desired_replicas: Option<i32>,
    /// The metrics as they were last read.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_metrics: Option<Vec<MetricStatus>>,
    /// Current conditions.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

impl Eq for HorizontalPodAutoscalerStatus {}

impl PartialOrd for HorizontalPodAutoscalerStatus {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Any order will do. The types of metrics have none, but their JSON has.
impl Ord for HorizontalPodAutoscalerStatus {
    fn cmp(&self, other: &Self) -> Ordering {
        let [one, other] = [self, other].map(|status| {
            let Self {
                observed_generation,
                last_scale_time,
                current_replicas,
                desired_replicas,
                current_metrics,
                conditions,
            } = status;
            let rest = (last_scale_time, conditions, current_replicas, desired_replicas, observed_generation);
            (rest, current_metrics)
        });
        one.0.cmp(&other.0).then_with(|| {
            let [one, other] = [one.1, other.1].map(|metrics| serde_json::to_string(metrics).unwrap_or_default());
            one.cmp(&other)
        })
    }
}

/// One aspect of the state of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["status", "type"]))]
pub struct Condition {
    /// Name of the aspect.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    #[serde(deserialize_with = "null_as_default")]
    pub status: String,
    /// When `status` last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_transition_time: Option<Time>,
    /// Cause in one word, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Cause in a sentence, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Generation of the spec the condition is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// One metric as it was last read. `type` names the one source that is set beside it.
// Caches have millions of these: the rare sources are boxed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
pub struct MetricStatus {
    /// `Resource`, `ContainerResource`, `Pods`, `Object` or `External`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: String,
    /// A resource metric of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetricStatus>,
    /// A resource metric of one container in each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_resource: Option<Box<ContainerResourceMetricStatus>>,
    /// A metric of each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<Box<PodsMetricStatus>>,
    /// A metric of one Kubernetes object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<Box<ObjectMetricStatus>>,
    /// A metric from outside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<Box<ExternalMetricStatus>>,
}

/// The value of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricValueStatus {
    /// The metric as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Quantity>,
    /// The metric divided by the number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_value: Option<Quantity>,
    /// Percent of the pods' requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_utilization: Option<i32>,
}

/// A resource metric of the pods.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["current", "name"]))]
pub struct ResourceMetricStatus {
    /// Name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Its value.
    #[serde(deserialize_with = "null_as_default")]
    pub current: MetricValueStatus,
}

/// A resource metric of one container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["container", "current", "name"]))]
pub struct ContainerResourceMetricStatus {
    /// Name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Name of the container.
    #[serde(deserialize_with = "null_as_default")]
    pub container: String,
    /// Its value.
    #[serde(deserialize_with = "null_as_default")]
    pub current: MetricValueStatus,
}

/// A metric of each pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["current", "metric"]))]
pub struct PodsMetricStatus {
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Its value.
    #[serde(deserialize_with = "null_as_default")]
    pub current: MetricValueStatus,
}

/// A metric of one Kubernetes object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["current", "describedObject", "metric"]))]
pub struct ObjectMetricStatus {
    /// The object the metric describes.
    #[serde(deserialize_with = "null_as_default")]
    pub described_object: CrossVersionObjectReference,
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Its value.
    #[serde(deserialize_with = "null_as_default")]
    pub current: MetricValueStatus,
}

/// A metric from outside the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["current", "metric"]))]
pub struct ExternalMetricStatus {
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Its value.
    #[serde(deserialize_with = "null_as_default")]
    pub current: MetricValueStatus,
}
