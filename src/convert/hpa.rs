//! The parts that both kinds share with the Kubernetes HPA: JSON -> core. No I/O.

use crate::decision::subject::TargetRef;
use crate::decision::subject::hpa::{
    Behavior, ContainerResourceSource, LabelSelector, Metric, MetricIdentifier, MetricSource, MetricTarget,
    ObjectSource, ResourceSource, ScalingPolicy, ScalingRules, SelectorRequirement,
};

reads! {
    TargetRef<'de> {
        "apiVersion" => api_version,
        "kind" => kind,
        "name" => name,
    }
    Metric<'de> {
        "type" => type_,
        "resource" => resource,
        "containerResource" => container_resource,
        "pods" => pods,
        "object" => object,
        "external" => external,
    }
    ResourceSource<'de> {
        "name" => name,
        "target" => target,
    }
    ContainerResourceSource<'de> {
        "name" => name,
        "container" => container,
        "target" => target,
    }
    MetricSource<'de> {
        "metric" => metric,
        "target" => target,
    }
    ObjectSource<'de> {
        "describedObject" => described_object,
        "metric" => metric,
        "target" => target,
    }
    MetricIdentifier<'de> {
        "name" => name,
        "selector" => selector,
    }
    MetricTarget<'de> {
        "type" => type_,
        "value" => value,
        "averageValue" => average_value,
        "averageUtilization" => average_utilization,
    }
    Behavior<'de> {
        "scaleUp" => scale_up,
        "scaleDown" => scale_down,
    }
    ScalingRules<'de> {
        "stabilizationWindowSeconds" => stabilization_window_seconds,
        "selectPolicy" => select_policy,
        "policies" => policies,
        "tolerance" => tolerance,
    }
    ScalingPolicy<'de> {
        "type" => type_,
        "value" => value,
        "periodSeconds" => period_seconds,
    }
    LabelSelector<'de> {
        "matchLabels" => match_labels,
        "matchExpressions" => match_expressions,
    }
    SelectorRequirement<'de> {
        "key" => key,
        "operator" => operator,
        "values" => values,
    }
}
