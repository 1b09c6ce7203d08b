//! The parts both kinds share with the Kubernetes HPA. Pure.

use std::collections::BTreeMap;

use super::Text;
use crate::quantity::Quantity;

/// Reference to the object that is scaled or described.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetRef<'a> {
    /// `apiVersion`
    pub api_version: Text<'a>,
    /// `kind`
    pub kind: Text<'a>,
    /// `name`
    pub name: Text<'a>,
}

/// One metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metric<'a> {
    /// `type`: names the one source that is set.
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

impl Metric<'_> {
    /// Whether every quantity can be parsed.
    #[must_use]
    pub fn quantities_are_sound(&self) -> bool {
        let targets = [
            self.resource.as_ref().map(|source| &source.target),
            self.container_resource.as_ref().map(|source| &source.target),
            self.pods.as_ref().map(|source| &source.target),
            self.object.as_ref().map(|source| &source.target),
            self.external.as_ref().map(|source| &source.target),
        ];
        let mut quantities = targets.iter().flatten().flat_map(|target| [target.value, target.average_value]).flatten();
        quantities.all(|quantity| quantity.sign.is_some())
    }
}

/// `resource`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResourceSource<'a> {
    /// `name`
    pub name: Text<'a>,
    /// `target`
    pub target: MetricTarget<'a>,
}

/// `containerResource`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ContainerResourceSource<'a> {
    /// `name`
    pub name: Text<'a>,
    /// `container`
    pub container: Text<'a>,
    /// `target`
    pub target: MetricTarget<'a>,
}

/// `pods` and `external`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricSource<'a> {
    /// `metric`
    pub metric: MetricIdentifier<'a>,
    /// `target`
    pub target: MetricTarget<'a>,
}

/// `object`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObjectSource<'a> {
    /// `describedObject`
    pub described_object: TargetRef<'a>,
    /// `metric`
    pub metric: MetricIdentifier<'a>,
    /// `target`
    pub target: MetricTarget<'a>,
}

/// `metric`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricIdentifier<'a> {
    /// `name`
    pub name: Text<'a>,
    /// `selector`
    pub selector: Option<LabelSelector<'a>>,
}

/// `target`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricTarget<'a> {
    /// `type`
    pub type_: Text<'a>,
    /// `value`
    pub value: Option<Quantity<'a>>,
    /// `averageValue`
    pub average_value: Option<Quantity<'a>>,
    /// `averageUtilization`
    pub average_utilization: Option<i32>,
}

/// `behavior`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behavior<'a> {
    /// `scaleUp`
    pub scale_up: Option<ScalingRules<'a>>,
    /// `scaleDown`
    pub scale_down: Option<ScalingRules<'a>>,
}

/// `scaleUp` and `scaleDown`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalingRules<'a> {
    /// `stabilizationWindowSeconds`
    pub stabilization_window_seconds: Option<i32>,
    /// `selectPolicy`
    pub select_policy: Option<Text<'a>>,
    /// `policies`
    pub policies: Option<Vec<ScalingPolicy<'a>>>,
    /// `tolerance`
    pub tolerance: Option<Quantity<'a>>,
}

/// One of `policies`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalingPolicy<'a> {
    /// `type`
    pub type_: Text<'a>,
    /// `value`
    pub value: i32,
    /// `periodSeconds`
    pub period_seconds: i32,
}

/// A label selector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabelSelector<'a> {
    /// `matchLabels`, by key.
    pub match_labels: BTreeMap<Text<'a>, Text<'a>>,
    /// `matchExpressions`
    pub match_expressions: Vec<SelectorRequirement<'a>>,
}

/// One of `matchExpressions`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SelectorRequirement<'a> {
    /// `key`
    pub key: Text<'a>,
    /// `operator`
    pub operator: Text<'a>,
    /// `values`; `None` where null stands for one.
    pub values: Vec<Option<Text<'a>>>,
}
