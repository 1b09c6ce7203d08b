//! Metrics and behavior in `autoscaling/v1`, for clusters below Kubernetes 1.23: one target for CPU in the spec, the
//! rest in annotations, in the format of the older API (docs/design.md#on-the-wire). No I/O.

use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::api::hpa::{HorizontalPodAutoscalerBehavior, MetricSpec, MetricTarget};
use crate::api::hpa_status::HorizontalPodAutoscalerStatus;

/// Annotation with the metrics for which `spec` has no field.
pub const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
/// Annotation with the behavior.
pub const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Annotation with the last measured metrics.
pub const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
/// Annotation with the conditions.
pub const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";

/// Status of an HPA of the older API, without its replicas.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reported<'a> {
    /// [`CURRENT`]
    pub current: Option<&'a str>,
    /// [`CONDITIONS`]
    pub conditions: Option<&'a str>,
    /// `status.currentCPUUtilizationPercentage`
    pub cpu: Option<i32>,
}

impl Reported<'_> {
    /// Adds it to a status of the newer API. Values that cannot be parsed are left out.
    pub fn complete(&self, status: &mut HorizontalPodAutoscalerStatus) {
        let mut metrics = list(self.current).iter().map(|metric| newer(metric, "current")).collect::<Vec<_>>();
        if let Some(percent) = self.cpu.filter(|_| metrics.is_empty()) {
            let current = json!({"averageUtilization": percent});
            metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": current}}));
        }
        let conditions = list(self.conditions);
        status.current_metrics = read(metrics).or_else(|| status.current_metrics.take());
        status.conditions = read(conditions).or_else(|| status.conditions.take());
    }
}

/// The metrics that [`express`] wrote into an HPA.
#[must_use]
pub fn metrics(hpa: &Value) -> Vec<MetricSpec> {
    let annotations = hpa.pointer("/metadata/annotations");
    let others = list(annotations.and_then(|all| all.get(METRICS)).and_then(Value::as_str));
    let mut metrics: Vec<Value> = others.iter().map(|metric| newer(metric, "target")).collect();
    if let Some(percent) = hpa.pointer("/spec/targetCPUUtilizationPercentage").filter(|percent| !percent.is_null()) {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    read(metrics).unwrap_or_default()
}

fn list(text: Option<&str>) -> Vec<Value> {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn read<T: DeserializeOwned>(list: Vec<Value>) -> Option<Vec<T>> {
    if list.is_empty() { None } else { Vec::deserialize(Value::Array(list)).ok() }
}

/// Converts a metric to the newer API; `about` is its `target`, or its `current` value.
fn newer(metric: &Value, about: &str) -> Value {
    let type_ = metric.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut letters = type_.chars();
    let key: String = letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect();
    let source = metric.get(&key).unwrap_or(&Value::Null);
    let member = |name: &str| source.get(name).filter(|value| !value.is_null());
    let utilization = member(&format!("{about}AverageUtilization"));
    let average = member(&format!("{about}AverageValue")).or_else(|| member("averageValue"));
    let kind = match (utilization, average) {
        (Some(_), _) => "Utilization",
        (None, Some(_)) => "AverageValue",
        (None, None) => "Value",
    };
    let mut value = json!({"type": kind, "averageUtilization": utilization, "averageValue": average,
        "value": member(&format!("{about}Value"))});
    prune(&mut value);
    let selector = member("selector").or_else(|| member("metricSelector"));
    let named = member("metricName").map(|name| json!({"name": name, "selector": selector}));
    let mut newer = json!({"name": member("name"), "container": member("container"), "metric": named,
        "describedObject": member("target"), about: value});
    prune(&mut newer);
    json!({"type": type_, key: newer})
}

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

/// The percentage, when the metric is CPU utilization.
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
        // The older API requires targetValue even beside averageValue.
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

/// Removes null members.
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

    #[test]
    fn what_was_said_in_older_words_is_read_back() {
        let metrics: Vec<MetricSpec> = serde_json::from_value(json!([
            {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"type": "AverageValue", "averageValue": "10"}}},
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}},
            {"type": "Object", "object": {"metric": {"name": "hits"}, "describedObject": {"kind": "Ingress", "name": "a"},
                "target": {"type": "AverageValue", "averageValue": "7"}}},
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
        ]))
        .unwrap();
        let (mut annotations, mut spec) = (Map::new(), Map::new());
        express(&metrics, None, &mut annotations, &mut spec);
        let read = super::metrics(&json!({"metadata": {"annotations": annotations}, "spec": spec}));
        let of = |metrics: &[MetricSpec]| crate::convert::scaling::metrics(metrics, "shop");
        assert_eq!(of(&read), of(&metrics));
    }

    #[test]
    fn what_an_older_cluster_measures_is_read() {
        let current = json!([
            {"type": "Resource", "resource": {"name": "cpu", "currentAverageUtilization": 12, "currentAverageValue": "1m"}},
            {"type": "External", "external": {"metricName": "queue", "metricSelector": null, "currentValue": "30"}},
        ])
        .to_string();
        let conditions = json!([{"type": "ScalingLimited", "status": "True", "lastTransitionTime": null}]).to_string();
        let mut status = HorizontalPodAutoscalerStatus::default();
        let reported = Reported { current: Some(&current), conditions: Some(&conditions), cpu: Some(12) };
        reported.complete(&mut status);
        let said = serde_json::to_value(&status).unwrap();
        assert_eq!(
            said["currentMetrics"][0]["resource"]["current"],
            json!({"averageValue": "1m", "averageUtilization": 12})
        );
        assert_eq!(said["currentMetrics"][1]["external"]["current"], json!({"value": "30"}));
        assert_eq!(said["conditions"][0]["type"], "ScalingLimited");
        let mut bare = HorizontalPodAutoscalerStatus::default();
        Reported { current: Some("not JSON"), conditions: None, cpu: Some(40) }.complete(&mut bare);
        let said = serde_json::to_value(&bare).unwrap();
        assert_eq!(said["currentMetrics"][0]["resource"]["current"]["averageUtilization"], 40);
        assert_eq!(said["conditions"], Value::Null);
    }
}
