//! The fields of both kinds, from their schemas, with values to set: so that a field without an operation is detected.
//! No I/O.

use fhpa::api;
use serde_json::{Value, json};

/// Of which kind a field is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Federated,
    Cron,
}

/// A field of a spec that is edited at a time.
#[derive(Clone, Debug)]
pub struct Field {
    pub of: Meaning,
    /// `behavior`, `scaleTargetRef.name`.
    pub path: String,
    pub values: Vec<Value>,
}

/// Fields whose values have a meaning that no schema tells.
fn meanings() -> Vec<Field> {
    let federated = |path: &str, values: Value| field(Meaning::Federated, path, values);
    let cron = |path: &str, values: Value| field(Meaning::Cron, path, values);
    let cpu = |target: Value| json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    let rule = |more: Value| {
        let mut rule = json!({"name": "a", "schedule": "*/2 * * * *", "targetReplicas": 4});
        rule.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        json!([rule])
    };
    vec![
        federated("scaleTargetRef.name", json!(["web", "shop", "nowhere"])),
        federated("scaleTargetRef.kind", json!(["Deployment", "StatefulSet", "DaemonSet"])),
        federated("scaleTargetRef.apiVersion", json!(["apps/v1", "batch/v1"])),
        federated("minReplicas", json!([1, 2, 3, 5, 8])),
        federated("maxReplicas", json!([1, 2, 4, 6, 10, 20, 40])),
        federated("autoscaleMultiClusterDelay", json!([0, 5, 60])),
        federated(
            "metrics",
            json!([
                cpu(json!({"type": "Utilization", "averageUtilization": 50})),
                cpu(json!({"type": "Utilization", "averageUtilization": 90})),
                cpu(json!({"type": "AverageValue", "averageValue": "70m"})),
                [{"type": "External", "external": {"metric": {"name": "queue", "selector": {"matchLabels": {"of": "web"}}}, "target": {"type": "Value", "value": "300m"}}}],
                [{"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "target": {"type": "Utilization", "averageUtilization": 60}}}],
            ]),
        ),
        federated(
            "behavior",
            json!([
                {"scaleDown": {"stabilizationWindowSeconds": 30}},
                {"scaleDown": {"selectPolicy": "Disabled"}},
                {"scaleUp": {"selectPolicy": "Disabled"}},
                {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 30}], "stabilizationWindowSeconds": 0, "selectPolicy": "Max"}},
                {"scaleDown": {"policies": [{"type": "Percent", "value": 50, "periodSeconds": 15}], "selectPolicy": "Min"}},
                {"scaleUp": {"tolerance": "0.2"}, "scaleDown": {"tolerance": "0.05"}},
            ]),
        ),
        federated(
            "federatedHPAAssignment",
            json!([
                {"federatedHPAAssignmentType": "Duplicated"},
                {"federatedHPAAssignmentType": "Aggregated"},
                {"federatedHPAAssignmentType": "DynamicWeighted"},
                {"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
                    {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 3},
                    {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 1}]},
                {"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
                    {"targetCluster": {"labelSelector": {"matchLabels": {"tier": "gold"}}}, "staticWeight": 2, "autoscalingMaxThreshold": 3},
                    {"targetCluster": {"exclude": ["member1"]}, "staticWeight": 1, "autoscalingMinThreshold": 2}]},
                {"federatedHPAAssignmentType": "Prioritized", "clusterAutoscalingPreference": [
                    {"targetCluster": {"clusterNames": ["member2"]}, "priority": 5},
                    {"targetCluster": {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["playground"]}]}}, "priority": 1}]},
            ]),
        ),
        federated(
            "clusterAffinity",
            json!([
                {"clusterNames": ["member1"]},
                {"clusterNames": ["member1", "member2"]},
                {"exclude": ["member2"]},
                {"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["iron"]}]}},
                {"labelSelector": {"matchLabels": {"tier": "gold"}}},
                {"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["playground"]}]}},
            ]),
        ),
        federated(
            "clusterHPAPreference",
            json!([[{"clusterName": "member1", "maxResourceUsage": 0.1}], [{"clusterName": "member2", "maxResourceUsage": 1.0}]]),
        ),
        cron("scaleTargetRef.name", json!(["web", "shop"])),
        cron("scaleTargetRef.kind", json!(["Deployment", "FederatedHPA"])),
        cron("scaleTargetRef.apiVersion", json!(["apps/v1", "autoscaling.karmada.io/v1alpha1"])),
        cron(
            "rules",
            json!([
                rule(json!({"suspend": true, "timeZone": "Asia/Tokyo"})),
                rule(json!({"schedule": "*/1 * * * *", "successfulHistoryLimit": 2, "failedHistoryLimit": 1})),
                rule(json!({"targetReplicas": 7, "maxDelaySeconds": 30})),
                rule(json!({"targetReplicas": null, "targetMaxReplicas": 12, "targetMinReplicas": 2})),
            ]),
        ),
    ]
}

/// Fields that are set as part of a whole, and of which no history says more: they travel to members as they are.
const TRAVEL: &[&str] = &["metrics", "behavior"];
/// Parts of Kubernetes' own types, of which one use in one place is enough.
const SHARED: [&str; 2] = ["labelSelector.", "fieldSelector."];

fn field(of: Meaning, path: &str, values: Value) -> Field {
    let Value::Array(values) = values else { panic!("{path} has a list of values") };
    Field { of, path: path.to_owned(), values }
}

fn spec_schema(plural: &str) -> Value {
    let mut all = api::crd::all().unwrap().iter();
    let own = all.find(|crd| crd["spec"]["names"]["plural"] == plural).unwrap();
    own["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].clone()
}

/// All fields with operations.
pub fn all() -> Vec<Field> {
    let mut all = meanings();
    for (of, plural) in [(Meaning::Federated, "federatedhpas"), (Meaning::Cron, "cronfederatedhpas")] {
        for (path, schema) in leaves(&spec_schema(plural)) {
            let known = all.iter().any(|field| field.of == of && is_below(&path, &field.path));
            if let Some(values) = generic(&schema).filter(|_| !known && !path.contains("[]")) {
                all.push(Field { of, path, values });
            }
        }
    }
    all
}

/// Values that the schema alone tells.
fn generic(schema: &Value) -> Option<Vec<Value>> {
    if let Some(values) = schema["enum"].as_array() {
        return Some(values.clone());
    }
    match schema["type"].as_str()? {
        "boolean" => Some(vec![json!(true), json!(false)]),
        "integer" => {
            let least = schema["minimum"].as_i64().unwrap_or(0);
            let most = schema["maximum"].as_i64().unwrap_or(i64::from(i32::MAX));
            Some(
                [least, least + 1, least + 10]
                    .into_iter()
                    .filter(|value| *value <= most)
                    .map(|value| json!(value))
                    .collect(),
            )
        }
        _ => None,
    }
}

/// What of a schema holds a value itself: `rules[].schedule`.
fn leaves(schema: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    descend(schema, "", &mut found);
    found
}

fn descend(schema: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    if let Some(properties) = schema["properties"].as_object() {
        for (key, inner) in properties {
            let joint = if path.is_empty() { "" } else { "." };
            descend(inner, &format!("{path}{joint}{key}"), found);
        }
    } else if schema["items"].is_object() {
        descend(&schema["items"], &format!("{path}[]"), found);
    } else {
        found.push((path.to_owned(), schema.clone()));
    }
}

fn is_below(path: &str, whole: &str) -> bool {
    path == whole || path.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.') || rest.starts_with('['))
}

/// Whether a value says something at a path below it.
fn says(value: &Value, path: &str) -> bool {
    if path.is_empty() {
        return true;
    }
    if let Some(rest) = path.strip_prefix("[]") {
        let rest = rest.trim_start_matches('.');
        return value.as_array().is_some_and(|list| list.is_empty() || list.iter().any(|one| says(one, rest)));
    }
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (key, rest) = path.split_at(end);
    value.get(key).is_some_and(|inner| says(inner, rest.trim_start_matches('.')))
}

#[test]
fn every_field_of_both_schemas_has_an_operation() {
    let all = all();
    for (of, plural) in [(Meaning::Federated, "federatedhpas"), (Meaning::Cron, "cronfederatedhpas")] {
        for (path, _) in leaves(&spec_schema(plural)) {
            let set = all.iter().filter(|field| field.of == of && is_below(&path, &field.path)).any(|field| {
                let rest = path[field.path.len()..].trim_start_matches('.');
                field.values.iter().any(|value| says(value, rest))
            });
            let travels = TRAVEL.iter().any(|whole| is_below(&path, whole));
            let shared = SHARED.iter().any(|part| path.contains(part));
            assert!(set || travels || shared, "{plural}: no history sets spec.{path}: give it values in `meanings`");
        }
    }
    assert!(all.len() > 12, "{all:?}");
}
