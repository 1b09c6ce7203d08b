//! The parts both kinds share with the Kubernetes HPA. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Text;
use crate::json::{elements, entries, null_as_default, optional_elements};
use crate::quantity::Quantity;

/// Reference to the object that is scaled or described.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TargetRef<'a> {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: Text<'a>,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text<'a>,
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
}

/// One metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Metric<'a> {
    /// `type`: names the one source that is set.
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: Text<'a>,
    /// `resource`
    pub resource: Option<Box<ResourceSource<'a>>>,
    /// `containerResource`
    pub container_resource: Option<Box<ContainerResourceSource<'a>>>,
    /// `pods`
    pub pods: Option<Box<MetricSource<'a>>>,
    /// `object`
    pub object: Option<Box<ObjectSource<'a>>>,
    /// `external`
    pub external: Option<Box<MetricSource<'a>>>,
}

/// `resource`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ResourceSource<'a> {
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `target`
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget<'a>,
}

/// `containerResource`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerResourceSource<'a> {
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `container`
    #[serde(deserialize_with = "null_as_default")]
    pub container: Text<'a>,
    /// `target`
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget<'a>,
}

/// `pods` and `external`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricSource<'a> {
    /// `metric`
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier<'a>,
    /// `target`
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget<'a>,
}

/// `object`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ObjectSource<'a> {
    /// `describedObject`
    #[serde(deserialize_with = "null_as_default")]
    pub described_object: TargetRef<'a>,
    /// `metric`
    #[serde(deserialize_with = "null_as_default")]
    pub metric: MetricIdentifier<'a>,
    /// `target`
    #[serde(deserialize_with = "null_as_default")]
    pub target: MetricTarget<'a>,
}

/// `metric`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricIdentifier<'a> {
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `selector`
    pub selector: Option<LabelSelector<'a>>,
}

/// `target`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricTarget<'a> {
    /// `type`
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: Text<'a>,
    /// `value`
    pub value: Option<Quantity>,
    /// `averageValue`
    pub average_value: Option<Quantity>,
    /// `averageUtilization`
    pub average_utilization: Option<i32>,
}

/// `behavior`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Behavior<'a> {
    /// `scaleUp`
    pub scale_up: Option<ScalingRules<'a>>,
    /// `scaleDown`
    pub scale_down: Option<ScalingRules<'a>>,
}

/// `scaleUp` and `scaleDown`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalingRules<'a> {
    /// `stabilizationWindowSeconds`
    pub stabilization_window_seconds: Option<i32>,
    /// `selectPolicy`
    pub select_policy: Option<Text<'a>>,
    /// `policies`
    #[serde(deserialize_with = "optional_elements")]
    pub policies: Option<Vec<ScalingPolicy<'a>>>,
    /// `tolerance`
    pub tolerance: Option<Quantity>,
}

/// One of `policies`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalingPolicy<'a> {
    /// `type`
    #[serde(rename = "type", deserialize_with = "null_as_default")]
    pub type_: Text<'a>,
    /// `value`
    #[serde(deserialize_with = "null_as_default")]
    pub value: i32,
    /// `periodSeconds`
    #[serde(deserialize_with = "null_as_default")]
    pub period_seconds: i32,
}

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LabelSelector<'a> {
    /// `matchLabels`, by key.
    #[serde(deserialize_with = "entries")]
    pub match_labels: BTreeMap<Text<'a>, Text<'a>>,
    /// `matchExpressions`
    #[serde(deserialize_with = "elements")]
    pub match_expressions: Vec<SelectorRequirement<'a>>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct SelectorRequirement<'a> {
    /// `key`
    #[serde(deserialize_with = "null_as_default")]
    pub key: Text<'a>,
    /// `operator`
    #[serde(deserialize_with = "null_as_default")]
    pub operator: Text<'a>,
    /// `values`; `None` where null stands for one.
    #[serde(deserialize_with = "null_as_default")]
    pub values: Vec<Option<Text<'a>>>,
}
