//! Metrics and behavior in `autoscaling/v1`, for clusters below Kubernetes 1.23: one target for CPU in the spec, the rest in
//! annotations, in the words of the older API (design: On the wire). No I/O.

use serde_json::{Map, Value, json};

use crate::api::hpa::{HorizontalPodAutoscalerBehavior, MetricSpec, MetricTarget};

/// Annotation with the metrics that `spec` has no field for.
pub const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
/// Annotation with the behavior.
pub const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Adds metrics and behavior to annotations and spec.
pub fn express(
    metrics: &[MetricSpec],
    behavior: Option<&HorizontalPodAutoscalerBehavior>,
    annotations: &mut Map<String, Value>,
    spec: &mut Map<String, Value>,
) {
    let mut others = Vec::new();
    for metric in metrics {
        match cpu(metric) {
            Some(percent) if !spec.contains_key("targetCPUUtilizationPercentage") => {
                spec.insert("targetCPUUtilizationPercentage".to_owned(), json!(percent));
            }
            _ => others.push(older(metric)),
        }
    }
    if !others.is_empty() {
        annotations.insert(METRICS.to_owned(), json!(Value::Array(others).to_string()));
    }
    if let Some(behavior) = behavior {
        annotations.insert(BEHAVIOR.to_owned(), json!(json!(behavior).to_string()));
    }
}

/// The percentage, when the metric is the use of CPU.
fn cpu(metric: &MetricSpec) -> Option<i32> {
    let resource = metric.resource.as_ref().filter(|resource| metric.type_ == "Resource" && resource.name == "cpu")?;
    resource.target.average_utilization
}

fn older(metric: &MetricSpec) -> Value {
    let mut older = json!({"type": metric.type_});
    let mut put = |name: &str, mut source: Value| {
        prune(&mut source);
        if let Some(older) = older.as_object_mut() {
            older.insert(name.to_owned(), source);
        }
    };
    if let Some(resource) = &metric.resource {
        let MetricTarget { average_utilization, average_value, .. } = &resource.target;
        put(
            "resource",
            json!({"name": resource.name, "targetAverageUtilization": average_utilization, "targetAverageValue": average_value}),
        );
    }
    if let Some(resource) = &metric.container_resource {
        let MetricTarget { average_utilization, average_value, .. } = &resource.target;
        put(
            "containerResource",
            json!({"name": resource.name, "container": resource.container,
                "targetAverageUtilization": average_utilization, "targetAverageValue": average_value}),
        );
    }
    if let Some(pods) = &metric.pods {
        put(
            "pods",
            json!({"metricName": pods.metric.name, "selector": pods.metric.selector, "targetAverageValue": pods.target.average_value}),
        );
    }
    if let Some(object) = &metric.object {
        // The older API wants targetValue even beside averageValue.
        let value = object.target.value.as_ref().map_or(json!("0"), |value| json!(value));
        put(
            "object",
            json!({"target": object.described_object, "metricName": object.metric.name, "selector": object.metric.selector,
                "targetValue": value, "averageValue": object.target.average_value}),
        );
    }
    if let Some(external) = &metric.external {
        put(
            "external",
            json!({"metricName": external.metric.name, "metricSelector": external.metric.selector,
                "targetValue": external.target.value, "targetAverageValue": external.target.average_value}),
        );
    }
    older
}

/// Takes away what is null.
fn prune(source: &mut Value) {
    if let Some(members) = source.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_use_of_cpu_is_a_field_and_the_rest_is_an_annotation() {
        let metrics: Vec<MetricSpec> = serde_json::from_value(json!([
            {"type": "Resource", "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Gi"}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}},
        ]))
        .unwrap();
        let (mut annotations, mut spec) = (Map::new(), Map::new());
        express(&metrics, None, &mut annotations, &mut spec);
        assert_eq!(spec["targetCPUUtilizationPercentage"], 60);
        let said: Value = serde_json::from_str(annotations[METRICS].as_str().unwrap()).unwrap();
        assert_eq!(
            said,
            json!([
                {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "1Gi"}},
                {"type": "Pods", "pods": {"metricName": "rps", "targetAverageValue": "10"}},
                {"type": "External", "external": {"metricName": "queue", "targetValue": "30"}},
            ])
        );
        assert!(!annotations.contains_key(BEHAVIOR));
    }
}
