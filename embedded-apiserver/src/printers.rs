//! Columns of the built-in kinds, as in kube-apiserver. No I/O.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    age::age,
    object::{self, at, meta_str, text_at},
    resources::Resource,
    selectors::selector_text,
};

/// Name, type, and 1 for a column of `-o wide`.
pub type Heading = (&'static str, &'static str, i64);

const NAME: Heading = ("Name", "string", 0);
const AGE: Heading = ("Age", "date", 0);

#[rustfmt::skip]
const HEADINGS: &[(&str, &[Heading])] = &[
    ("ClusterRole", &[NAME, ("Created At", "date", 0)]),
    ("ClusterRoleBinding", &[NAME, ("Role", "string", 0), AGE]),
    ("ConfigMap", &[NAME, ("Data", "string", 0), AGE]),
    ("CustomResourceDefinition", &[NAME, ("Created At", "date", 0)]),
    ("DaemonSet", &[NAME, ("Desired", "integer", 0), ("Current", "integer", 0), ("Ready", "integer", 0), ("Up-to-date", "integer", 0), ("Available", "integer", 0), ("Node Selector", "string", 0), AGE]),
    ("Deployment", &[NAME, ("Ready", "string", 0), ("Up-to-date", "string", 0), ("Available", "string", 0), AGE, ("Containers", "string", 1), ("Images", "string", 1), ("Selector", "string", 1)]),
    ("Event", &[("Last Seen", "string", 0), ("Type", "string", 0), ("Reason", "string", 0), ("Object", "string", 0), ("Subobject", "string", 1), ("Source", "string", 1), ("Message", "string", 0), ("First Seen", "string", 1), ("Count", "string", 1), ("Name", "string", 1)]),
    ("HorizontalPodAutoscaler", &[NAME, ("Reference", "string", 0), ("Targets", "string", 0), ("MinPods", "string", 0), ("MaxPods", "string", 0), ("Replicas", "string", 0), AGE]),
    ("Lease", &[NAME, ("Holder", "string", 0), AGE]),
    ("MutatingWebhookConfiguration", &[NAME, ("Webhooks", "integer", 0), AGE]),
    ("Namespace", &[NAME, ("Status", "string", 0), AGE]),
    ("Node", &[NAME, ("Status", "string", 0), ("Roles", "string", 0), AGE, ("Version", "string", 0)]),
    ("Pod", &[NAME, ("Ready", "string", 0), ("Status", "string", 0), ("Restarts", "string", 0), AGE, ("IP", "string", 1), ("Node", "string", 1), ("Nominated Node", "string", 1), ("Readiness Gates", "string", 1)]),
    ("ReplicaSet", &[NAME, ("Desired", "integer", 0), ("Current", "integer", 0), ("Ready", "integer", 0), AGE, ("Containers", "string", 1), ("Images", "string", 1), ("Selector", "string", 1)]),
    ("Role", &[NAME, ("Created At", "date", 0)]),
    ("RoleBinding", &[NAME, ("Role", "string", 0), AGE]),
    ("Secret", &[NAME, ("Type", "string", 0), ("Data", "string", 0), AGE]),
    ("Service", &[NAME, ("Type", "string", 0), ("Cluster-IP", "string", 0), ("External-IP", "string", 0), ("Port(s)", "string", 0), AGE, ("Selector", "string", 1)]),
    ("ServiceAccount", &[NAME, ("Secrets", "string", 0), AGE]),
    ("StatefulSet", &[NAME, ("Ready", "string", 0), AGE, ("Containers", "string", 1), ("Images", "string", 1)]),
    ("ValidatingWebhookConfiguration", &[NAME, ("Webhooks", "integer", 0), AGE]),
];

/// Columns of a built-in kind.
pub fn headings(resource: &Resource) -> Option<&'static [Heading]> {
    if resource.behaviour.custom {
        return None;
    }
    HEADINGS.iter().find(|(kind, _)| *kind == resource.kind).map(|(_, headings)| *headings)
}

fn count(object: &Value, path: &[&str]) -> i64 {
    at(object, path).and_then(Value::as_i64).unwrap_or_default()
}

fn size(object: &Value, key: &str) -> usize {
    match object.get(key) {
        Some(Value::Object(map)) => map.len(),
        Some(Value::Array(list)) => list.len(),
        _ => 0,
    }
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>".to_owned() } else { text.to_owned() }
}

fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn joined(items: &[Value], key: &str) -> String {
    items.iter().map(|item| text_at(item, &[key])).collect::<Vec<_>>().join(",")
}

#[allow(clippy::too_many_lines, reason = "one arm for each kind")]
/// Cells of an object of a built-in kind.
pub fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    headings(resource)?;
    let name = json!(object::name(object));
    let age = json!(age(meta_str(object, "creationTimestamp"), now));
    let status = |key: &str| json!(count(object, &["status", key]));
    let ready =
        || json!(format!("{}/{}", count(object, &["status", "readyReplicas"]), count(object, &["spec", "replicas"])));
    let template = list(object, &["spec", "template", "spec", "containers"]);
    let (containers, images) = (json!(joined(template, "name")), json!(joined(template, "image")));
    let selector = || json!(or_none(&at(object, &["spec", "selector"]).map(selector_text).unwrap_or_default()));
    Some(match resource.kind.as_str() {
        "CustomResourceDefinition" | "ClusterRole" | "Role" => vec![name, json!(meta_str(object, "creationTimestamp"))],
        "ClusterRoleBinding" | "RoleBinding" => {
            let role = format!("{}/{}", text_at(object, &["roleRef", "kind"]), text_at(object, &["roleRef", "name"]));
            vec![name, json!(role), age]
        }
        "ConfigMap" => vec![name, json!(size(object, "data") + size(object, "binaryData")), age],
        "Secret" => vec![name, json!(text_at(object, &["type"])), json!(size(object, "data")), age],
        "ServiceAccount" => vec![name, json!(size(object, "secrets")), age],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            vec![name, json!(size(object, "webhooks")), age]
        }
        "Namespace" => vec![name, json!(text_at(object, &["status", "phase"])), age],
        "Lease" => vec![name, json!(text_at(object, &["spec", "holderIdentity"])), age],
        "DaemonSet" => vec![
            name,
            status("desiredNumberScheduled"),
            status("currentNumberScheduled"),
            status("numberReady"),
            status("updatedNumberScheduled"),
            status("numberAvailable"),
            json!("<none>"),
            age,
        ],
        "Deployment" => vec![
            name,
            ready(),
            status("updatedReplicas"),
            status("availableReplicas"),
            age,
            containers,
            images,
            selector(),
        ],
        "ReplicaSet" => vec![
            name,
            json!(count(object, &["spec", "replicas"])),
            status("replicas"),
            status("readyReplicas"),
            age,
            containers,
            images,
            selector(),
        ],
        "StatefulSet" => vec![name, ready(), age, containers, images],
        "HorizontalPodAutoscaler" => autoscaler(object, name, age),
        "Node" => node(object, name, age),
        "Pod" => pod(object, name, age),
        "Service" => service(object, name, age),
        "Event" => event(object, now),
        _ => return None,
    })
}

fn service(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let port = |port: &Value| format!("{}/{}", count(port, &["port"]), text_at(port, &["protocol"]));
    let ports: Vec<String> = list(object, &["spec", "ports"]).iter().map(port).collect();
    let labels = at(object, &["spec", "selector"]).map(|labels| selector_text(&json!({"matchLabels": labels})));
    vec![
        name,
        json!(text_at(object, &["spec", "type"])),
        json!(or_none(text_at(object, &["spec", "clusterIP"]))),
        json!("<none>"),
        json!(or_none(&ports.join(","))),
        age,
        json!(or_none(&labels.unwrap_or_default())),
    ]
}

fn node(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let ready = list(object, &["status", "conditions"]).iter().find(|one| text_at(one, &["type"]) == "Ready");
    let mut state = match ready.map(|one| text_at(one, &["status"])) {
        Some("True") => "Ready".to_owned(),
        Some(_) => "NotReady".to_owned(),
        None => "Unknown".to_owned(),
    };
    if at(object, &["spec", "unschedulable"]) == Some(&Value::Bool(true)) {
        state.push_str(",SchedulingDisabled");
    }
    vec![name, json!(state), json!("<none>"), age, json!(text_at(object, &["status", "nodeInfo", "kubeletVersion"]))]
}

fn pod(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let statuses = list(object, &["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|one| one.get("ready") == Some(&Value::Bool(true))).count();
    let restarts: i64 = statuses.iter().map(|one| count(one, &["restartCount"])).sum();
    let total = list(object, &["spec", "containers"]).len();
    let reason = text_at(object, &["status", "reason"]);
    let phase = if object::is_terminating(object) {
        "Terminating"
    } else if reason.is_empty() {
        text_at(object, &["status", "phase"])
    } else {
        reason
    };
    vec![
        name,
        json!(format!("{ready}/{total}")),
        json!(phase),
        json!(restarts.to_string()),
        age,
        json!(or_none(text_at(object, &["status", "podIP"]))),
        json!(or_none(text_at(object, &["spec", "nodeName"]))),
        json!(or_none(text_at(object, &["status", "nominatedNodeName"]))),
        json!("<none>"),
    ]
}

fn autoscaler(object: &Value, name: Value, age: Value) -> Vec<Value> {
    let target = |key: &str| text_at(object, &["spec", "scaleTargetRef", key]);
    let least = at(object, &["spec", "minReplicas"]).map_or_else(|| "<unset>".to_owned(), Value::to_string);
    vec![
        name,
        json!(format!("{}/{}", target("kind"), target("name"))),
        json!(targets(object)),
        json!(least),
        json!(count(object, &["spec", "maxReplicas"])),
        json!(count(object, &["status", "currentReplicas"])),
        age,
    ]
}

/// `cpu: 12%/70%, memory: <unknown>/1Gi`.
fn targets(object: &Value) -> String {
    if let Some(percent) = at(object, &["spec", "targetCPUUtilizationPercentage"]) {
        let now = at(object, &["status", "currentCPUUtilizationPercentage"]);
        return format!("cpu: {}/{percent}%", now.map_or_else(|| "<unknown>".to_owned(), |now| format!("{now}%")));
    }
    let current = list(object, &["status", "currentMetrics"]);
    let one = |(index, metric): (usize, &Value)| {
        let source = metric.as_object().into_iter().flatten().map(|(_, value)| value).find(|value| value.is_object());
        let source = source.cloned().unwrap_or_default();
        let name = at(&source, &["metric", "name"]).or_else(|| source.get("name")).and_then(Value::as_str);
        let now = current.get(index).and_then(Value::as_object).into_iter().flatten();
        let now = now.map(|(_, value)| value).find(|value| value.is_object()).and_then(|source| source.get("current"));
        let show = |from: Option<&Value>| {
            let from = from?;
            if let Some(percent) = from.get("averageUtilization").filter(|value| !value.is_null()) {
                return Some(format!("{percent}%"));
            }
            let average = from.get("averageValue").and_then(Value::as_str).map(|value| format!("{value} (avg)"));
            average.or_else(|| from.get("value").and_then(Value::as_str).map(str::to_owned))
        };
        let prefix = match text_at(metric, &["type"]) {
            "Resource" => format!("{}: ", name.unwrap_or_default()),
            _ => String::new(),
        };
        let unknown = || "<unknown>".to_owned();
        format!("{prefix}{}/{}", show(now).unwrap_or_else(unknown), show(source.get("target")).unwrap_or_else(unknown))
    };
    let all: Vec<String> = list(object, &["spec", "metrics"]).iter().enumerate().map(one).collect();
    if all.is_empty() { "<none>".to_owned() } else { all.join(", ") }
}

fn event(object: &Value, now: Timestamp) -> Vec<Value> {
    let text = |path: &[&str]| text_at(object, path);
    let pick = |paths: &[&[&'static str]]| {
        paths.iter().map(|path| text(path)).find(|text| !text.is_empty()).unwrap_or_default()
    };
    let created = meta_str(object, "creationTimestamp");
    let seen = |time: &str| age(if time.is_empty() { created } else { time }, now);
    let last =
        pick(&[&["series", "lastObservedTime"], &["lastTimestamp"], &["deprecatedLastTimestamp"], &["eventTime"]]);
    let first = pick(&[&["firstTimestamp"], &["deprecatedFirstTimestamp"], &["eventTime"]]);
    let kind = pick(&[&["involvedObject", "kind"], &["regarding", "kind"]]).to_lowercase();
    let about = pick(&[&["involvedObject", "name"], &["regarding", "name"]]);
    let source = pick(&[
        &["source", "component"],
        &["reportingComponent"],
        &["reportingController"],
        &["deprecatedSource", "component"],
    ]);
    let times = count(object, &["series", "count"]).max(count(object, &["count"])).max(1);
    let field = pick(&[&["involvedObject", "fieldPath"], &["regarding", "fieldPath"]]);
    vec![
        json!(seen(last)),
        json!(text(&["type"])),
        json!(text(&["reason"])),
        json!(format!("{kind}/{about}")),
        json!(field),
        json!(source),
        json!(pick(&[&["message"], &["note"]]).trim()),
        json!(seen(first)),
        json!(times),
        json!(object::name(object)),
    ]
}
