//! Wire types shared with the Kubernetes HPA (`autoscaling/v2`). No I/O, no decisions.
//!
//! Decoding follows Go: a missing or null member is its zero value, so that a rule and not the decoder answers for it.

use decision::json::null_as_default;
use decision::limits::REFERENCE;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cel;
use super::quantity::Quantity;

/// Points to the object that is scaled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["kind", "name"]))]
#[schemars(extend("x-kubernetes-validations" = cel::object_reference()))]
pub struct CrossVersionObjectReference {
    /// API version of the referent, for example `apps/v1`.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    #[schemars(length(max = REFERENCE))]
    pub api_version: String,
    /// Kind of the referent, for example `Deployment`.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = REFERENCE))]
    pub kind: String,
    /// Name of the referent.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = REFERENCE))]
    pub name: String,
}

/// One metric to scale on. `type` names the one source that is set beside it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
#[schemars(extend("x-kubernetes-validations" = cel::metric_spec()))]
pub struct MetricSpec {
    /// `Resource`, `ContainerResource`, `Pods`, `Object` or `External`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    #[schemars(extend("enum" = ["Resource", "ContainerResource", "Pods", "Object", "External"]))]
    pub type_: String,
    /// A resource metric known to Kubernetes (`cpu`, `memory`), summed over the containers of each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<ResourceMetricSource>,
    /// A resource metric of one container in each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container_resource: Option<ContainerResourceMetricSource>,
    /// A metric that describes each pod; averaged over the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodsMetricSource>,
    /// A metric of one Kubernetes object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectMetricSource>,
    /// A metric from outside the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external: Option<ExternalMetricSource>,
}

/// A resource metric, as a share of the requests or as an absolute average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "target"]))]
#[schemars(extend("x-kubernetes-validations" = cel::resource_source()))]
pub struct ResourceMetricSource {
    /// Name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1))]
    pub name: String,
    /// Value to hold.
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget,
}

/// A resource metric of one container.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["container", "name", "target"]))]
#[schemars(extend("x-kubernetes-validations" = cel::container_resource_source()))]
pub struct ContainerResourceMetricSource {
    /// Name of the resource.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = 317))]
    pub name: String,
    /// Name of the container.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(max = 63))]
    pub container: String,
    /// Value to hold.
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget,
}

/// A metric of each pod.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["metric", "target"]))]
#[schemars(extend("x-kubernetes-validations" = cel::pods_source()))]
pub struct PodsMetricSource {
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Value to hold.
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget,
}

/// A metric of one Kubernetes object.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["describedObject", "metric", "target"]))]
#[schemars(extend("x-kubernetes-validations" = cel::object_source()))]
pub struct ObjectMetricSource {
    /// The object the metric describes.
    #[serde(deserialize_with = "null_as_default")]
    pub described_object: CrossVersionObjectReference,
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Value to hold.
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget,
}

/// A metric from outside the cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["metric", "target"]))]
#[schemars(extend("x-kubernetes-validations" = cel::external_source()))]
pub struct ExternalMetricSource {
    /// Which metric.
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier,
    /// Value to hold.
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget,
}

/// Names a metric and, by labels, the series of it that count.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name"]))]
pub struct MetricIdentifier {
    /// Name of the metric.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = REFERENCE))]
    pub name: String,
    /// Passed to the metrics server to narrow the series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
}

/// The value a metric is held at. Exactly the member that `type` names is set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["type"]))]
#[schemars(extend("x-kubernetes-validations" = cel::metric_target()))]
pub struct MetricTarget {
    /// `Utilization`, `Value` or `AverageValue`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    #[schemars(extend("enum" = ["Utilization", "Value", "AverageValue"]))]
    pub type_: String,
    /// Value of the metric as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 256))]
    pub value: Option<Quantity>,
    /// Value of the metric divided by the number of pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 256))]
    pub average_value: Option<Quantity>,
    /// Percent of the pods' requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub average_utilization: Option<i32>,
}

/// How fast the target may be scaled, per direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HorizontalPodAutoscalerBehavior {
    /// Rules for adding replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up: Option<HPAScalingRules>,
    /// Rules for removing replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_down: Option<HPAScalingRules>,
}

/// Rules of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = cel::scaling_rules()))]
pub struct HPAScalingRules {
    /// Seconds of past recommendations that are looked at, 0 to 3600. Default: 0 up, 300 down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 3600))]
    pub stabilization_window_seconds: Option<i32>,
    /// Which policy counts: `Max`, `Min` or `Disabled`. Default `Max`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Max", "Min", "Disabled"]))]
    pub select_policy: Option<String>,
    /// The policies; at least one, unless `selectPolicy` is left to its default with the list absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("x-kubernetes-list-type" = "atomic"))]
    pub policies: Option<Vec<HPAScalingPolicy>>,
    /// Relative distance from the target that causes no scaling. Default: what the member cluster uses (0.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 256))]
    pub tolerance: Option<Quantity>,
}

/// One policy: at most `value` (pods or percent) in `periodSeconds`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["periodSeconds", "type", "value"]))]
pub struct HPAScalingPolicy {
    /// `Pods` or `Percent`.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    #[schemars(extend("enum" = ["Pods", "Percent"]))]
    pub type_: String,
    /// Change that is allowed, greater than 0.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(range(min = 1))]
    pub value: i32,
    /// Seconds, 1 to 1800.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(range(min = 1, max = 1800))]
    pub period_seconds: i32,
}
