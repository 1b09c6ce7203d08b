//! Versions of one kind with one stored form: HPA v1 <-> v2, and the two groups of events. No I/O.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::super::{
    object::{as_map, at, metadata_mut, put_at, remove},
    resources::Resource,
};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const CURRENT: &str = "autoscaling.alpha.kubernetes.io/current-metrics";

/// Fields of core events and their names in events.k8s.io.
const EVENT_FIELDS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Whether the stored form of this kind is also the form of this version.
pub fn is_stored_form(resource: &Resource, version: &str) -> bool {
    resource.api_version(version) == resource.stored_as
}

/// A version of an object -> its stored form.
pub fn to_storage(resource: &Resource, version: &str, mut object: Value) -> Value {
    if is_stored_form(resource, version) {
        return object;
    }
    match (resource.group.as_str(), version) {
        ("autoscaling", "v1") => hpa_to_v2(&mut object),
        ("events.k8s.io", _) => rename(&mut object, |(old, new)| (new, old)),
        _ => {}
    }
    put_at(&mut object, &["apiVersion"], resource.stored_as.clone().into());
    object
}

/// The stored form of an object -> a version.
pub fn from_storage(resource: &Resource, version: &str, mut object: Value) -> Value {
    if is_stored_form(resource, version) {
        return object;
    }
    match (resource.group.as_str(), version) {
        ("autoscaling", "v1") => hpa_to_v1(&mut object),
        ("events.k8s.io", _) => rename(&mut object, |(old, new)| (old, new)),
        _ => {}
    }
    put_at(&mut object, &["apiVersion"], resource.api_version(version).into());
    object
}

/// As [`from_storage`], without a copy where the version has the stored form.
pub fn shown<'a>(resource: &Resource, version: &str, stored: &'a Value) -> Cow<'a, Value> {
    if is_stored_form(resource, version) {
        return Cow::Borrowed(stored);
    }
    Cow::Owned(from_storage(resource, version, stored.clone()))
}

/// An HPA of `autoscaling/v1` -> `autoscaling/v2`.
pub fn newer_autoscaler(object: &mut Value) {
    hpa_to_v2(object);
    put_at(object, &["apiVersion"], "autoscaling/v2".into());
}

/// An HPA of `autoscaling/v2` -> `autoscaling/v1`.
pub fn older_autoscaler(object: &mut Value) {
    hpa_to_v1(object);
    put_at(object, &["apiVersion"], "autoscaling/v1".into());
}

fn rename(object: &mut Value, direction: fn((&'static str, &'static str)) -> (&'static str, &'static str)) {
    for pair in EVENT_FIELDS {
        let (from, to) = direction(*pair);
        if let Some(value) = remove(object, from) {
            put_at(object, &[to], value);
        }
    }
}

fn annotation(object: &mut Value, key: &str) -> Option<Value> {
    let map = metadata_mut(object).get_mut("annotations")?.as_object_mut()?;
    let text = map.remove(key)?;
    if map.is_empty() {
        metadata_mut(object).remove("annotations");
    }
    serde_json::from_str(text.as_str()?).ok()
}

fn annotate(object: &mut Value, key: &str, value: &Value) {
    put_at(object, &["metadata", "annotations", key], Value::String(value.to_string()));
}

fn hpa_to_v2(object: &mut Value) {
    let mut metrics = Vec::new();
    let target = at(object, &["spec", "targetCPUUtilizationPercentage"]).filter(|value| !value.is_null()).cloned();
    let others = annotation(object, METRICS);
    metrics.extend(others.iter().filter_map(Value::as_array).flatten().map(metric_to_v2));
    if let Some(percent) = target {
        metrics.push(cpu_metric(&percent));
    }
    if let Some(behavior) = annotation(object, BEHAVIOR) {
        put_at(object, &["spec", "behavior"], first_letters(&behavior, char::to_ascii_lowercase));
    }
    let conditions = annotation(object, CONDITIONS);
    let current = annotation(object, CURRENT);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("targetCPUUtilizationPercentage");
        if !metrics.is_empty() {
            spec.insert("metrics".into(), metrics.into());
        }
    }
    let cpu = at(object, &["status", "currentCPUUtilizationPercentage"]).cloned();
    let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) else { return };
    status.remove("currentCPUUtilizationPercentage");
    let mut now: Vec<Value> = current.iter().filter_map(Value::as_array).flatten().map(current_to_v2).collect();
    if let Some(percent) = cpu.filter(|_| now.is_empty()) {
        now.push(json!({"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percent}}}));
    }
    if !now.is_empty() {
        status.insert("currentMetrics".into(), now.into());
    }
    if let Some(conditions) = conditions {
        status.insert("conditions".into(), conditions);
    }
}

/// The annotation spells the fields of a behavior as Go does, and includes unset ones.
fn first_letters(value: &Value, change: fn(&char) -> char) -> Value {
    match value {
        Value::Object(map) => {
            let pairs = map.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| {
                let mut letters = key.chars();
                let first: String = letters.next().iter().map(change).collect();
                (first + letters.as_str(), first_letters(value, change))
            });
            Value::Object(pairs.collect())
        }
        Value::Array(list) => list.iter().map(|value| first_letters(value, change)).collect(),
        other => other.clone(),
    }
}

fn with_all_fields(mut behavior: Value) -> Value {
    for direction in ["ScaleDown", "ScaleUp"] {
        let rules = as_map(&mut behavior).entry(direction).or_insert(Value::Null);
        for key in ["Policies", "SelectPolicy", "StabilizationWindowSeconds", "Tolerance"] {
            if let Some(rules) = rules.as_object_mut() {
                rules.entry(key).or_insert(Value::Null);
            }
        }
    }
    behavior
}

fn cpu_metric(percent: &Value) -> Value {
    json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}})
}

fn is_cpu_utilization(metric: &Value) -> Option<&Value> {
    if at(metric, &["type"])?.as_str()? != "Resource" || at(metric, &["resource", "name"])?.as_str()? != "cpu" {
        return None;
    }
    at(metric, &["resource", "target", "averageUtilization"]).filter(|value| !value.is_null())
}

fn hpa_to_v1(object: &mut Value) {
    let spec = object.get_mut("spec").and_then(Value::as_object_mut);
    let (mut target, mut others, mut behavior) = (None, Vec::new(), None);
    if let Some(spec) = spec {
        behavior = spec.remove("behavior").filter(|value| !value.is_null());
        for metric in spec.remove("metrics").iter().filter_map(Value::as_array).flatten() {
            match is_cpu_utilization(metric) {
                Some(percent) if target.is_none() => target = Some(percent.clone()),
                _ => others.push(metric_to_v1(metric)),
            }
        }
        if let Some(percent) = target {
            spec.insert("targetCPUUtilizationPercentage".into(), percent);
        }
    }
    let (mut current, mut conditions) = (None, None);
    if let Some(status) = object.get_mut("status").and_then(Value::as_object_mut) {
        status.entry("currentReplicas").or_insert_with(|| json!(0));
        current = status.remove("currentMetrics").filter(|value| !value.is_null());
        conditions = status.remove("conditions").filter(|value| !value.is_null());
        let percent = current.iter().filter_map(Value::as_array).flatten().find_map(|metric| {
            let resource = metric.get("resource").filter(|resource| resource.get("name") == Some(&"cpu".into()))?;
            at(resource, &["current", "averageUtilization"]).cloned()
        });
        if let Some(percent) = percent {
            status.insert("currentCPUUtilizationPercentage".into(), percent);
        }
    }
    if !others.is_empty() {
        annotate(object, METRICS, &others.into());
    }
    if let Some(behavior) = behavior {
        annotate(object, BEHAVIOR, &with_all_fields(first_letters(&behavior, char::to_ascii_uppercase)));
    }
    if let Some(current) = current {
        let metrics: Vec<Value> = current.as_array().into_iter().flatten().map(current_to_v1).collect();
        annotate(object, CURRENT, &metrics.into());
    }
    if let Some(conditions) = conditions {
        annotate(object, CONDITIONS, &conditions);
    }
}

/// The key under a metric that holds its source: `resource` for `Resource`.
fn source_key(metric: &Value) -> String {
    let kind = metric.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut letters = kind.chars();
    letters.next().map(|first| first.to_ascii_lowercase().to_string() + letters.as_str()).unwrap_or_default()
}

/// (name in v1's annotation, path in v2); the first that exists in the source is used.
type Names = &'static [(&'static str, &'static [&'static str])];

fn names_of(key: &str) -> Names {
    match key {
        "object" => &[
            ("target", &["describedObject"]),
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("averageValue", &["target", "averageValue"]),
        ],
        "pods" => &[
            ("metricName", &["metric", "name"]),
            ("selector", &["metric", "selector"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
        "external" => &[
            ("metricName", &["metric", "name"]),
            ("metricSelector", &["metric", "selector"]),
            ("targetValue", &["target", "value"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
        _ => &[
            ("name", &["name"]),
            ("container", &["container"]),
            ("targetAverageUtilization", &["target", "averageUtilization"]),
            ("targetAverageValue", &["target", "averageValue"]),
        ],
    }
}

fn metric_to_v1(metric: &Value) -> Value {
    let key = source_key(metric);
    let mut source = Map::new();
    for (flat, path) in names_of(&key) {
        if let Some(value) = metric.get(&key).and_then(|source| at(source, path)).filter(|value| !value.is_null()) {
            source.insert((*flat).to_owned(), value.clone());
        }
    }
    json!({"type": metric.get("type"), key: source})
}

fn metric_to_v2(metric: &Value) -> Value {
    let key = source_key(metric);
    let mut source = json!({});
    let mut kind = "Value";
    for (flat, path) in names_of(&key) {
        if let Some(value) = metric.get(&key).and_then(|source| source.get(flat)) {
            match path.last() {
                Some(&"averageUtilization") => kind = "Utilization",
                Some(&"averageValue") => kind = "AverageValue",
                _ => {}
            }
            put_at(&mut source, path, value.clone());
        }
    }
    put_at(&mut source, &["target", "type"], kind.into());
    json!({"type": metric.get("type"), key: source})
}

const CURRENT_NAMES: &[(&str, &str)] = &[
    ("currentAverageUtilization", "averageUtilization"),
    ("currentAverageValue", "averageValue"),
    ("currentValue", "value"),
];

fn current_to_v1(metric: &Value) -> Value {
    let key = source_key(metric);
    let mut source = Map::new();
    for (flat, path) in names_of(&key).iter().filter(|(_, path)| path.first() != Some(&"target")) {
        if let Some(value) = metric.get(&key).and_then(|source| at(source, path)) {
            source.insert((*flat).to_owned(), value.clone());
        }
    }
    for (flat, name) in CURRENT_NAMES {
        if let Some(value) = metric.get(&key).and_then(|source| at(source, &["current", name])) {
            source.insert((*flat).to_owned(), value.clone());
        }
    }
    json!({"type": metric.get("type"), key: source})
}

fn current_to_v2(metric: &Value) -> Value {
    let key = source_key(metric);
    let mut source = json!({});
    for (flat, path) in names_of(&key).iter().filter(|(_, path)| path.first() != Some(&"target")) {
        if let Some(value) = metric.get(&key).and_then(|source| source.get(flat)) {
            put_at(&mut source, path, value.clone());
        }
    }
    for (flat, name) in CURRENT_NAMES {
        if let Some(value) = metric.get(&key).and_then(|source| source.get(flat)) {
            put_at(&mut source, &["current", name], value.clone());
        }
    }
    json!({"type": metric.get("type"), key: source})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::Catalog;

    #[test]
    fn an_hpa_survives_the_way_to_v1_and_back() {
        let catalog = Catalog::builtin();
        let hpa = catalog.find("autoscaling", "horizontalpodautoscalers").unwrap();
        let v2 = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"},
            "spec": {"maxReplicas": 3, "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}}, "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
                {"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}}}]},
            "status": {"currentReplicas": 1, "desiredReplicas": 1, "conditions": [{"type": "AbleToScale"}], "currentMetrics": [
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 12, "averageValue": "1m"}}}]}});
        let v1 = from_storage(hpa, "v1", v2.clone());
        assert_eq!(at(&v1, &["spec", "targetCPUUtilizationPercentage"]), Some(&json!(70)));
        assert_eq!(at(&v1, &["status", "currentCPUUtilizationPercentage"]), Some(&json!(12)));
        let mut back = to_storage(hpa, "v1", v1);
        // The CPU metric comes last, as on a real server.
        back["spec"]["metrics"].as_array_mut().unwrap().reverse();
        assert_eq!(back, v2);
    }
}
