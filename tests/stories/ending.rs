//! How a story or a history ended, for a comparison with another way to the same inputs.

use fhpa::playground::fleet::Fleet;
use fhpa::playground::json::{items, members, name, namespace, text};
use fhpa::playground::objects::{Kind, Objects};
use serde_json::{Value, json};

use super::distributed::kind;

/// What does not depend on the way there: one line for each object of the control plane and of the members.
pub async fn state(control: &Objects, fleet: &Fleet) -> Vec<String> {
    let mut lines = Vec::new();
    for of in ["FederatedHPA", "ResourceBinding", "Deployment"] {
        for object in control.list(&kind(of), "prod").await.unwrap() {
            lines.push(line("", &object, &described(of, &object)));
        }
    }
    for work in control.list(&kind("Work"), "").await.unwrap() {
        lines.push(line("", &work, &json!({"deleting": fhpa::playground::json::deleting(&work)})));
    }
    for cluster in fleet.names() {
        let objects = Objects::new(fleet.member(cluster).unwrap().client());
        for of in ["Deployment", "HorizontalPodAutoscaler"] {
            let of: Kind = kind(of);
            for object in objects.list(&of, "prod").await.unwrap() {
                let spec = object.get("spec").cloned().unwrap_or_default();
                let told = match &*of.kind {
                    "Deployment" => json!({"replicas": spec.get("replicas")}),
                    _ => json!({"spec": spec}),
                };
                lines.push(line(cluster, &object, &told));
            }
        }
    }
    lines
}

/// What of an object of the control plane is compared.
fn described(of: &str, object: &Value) -> Value {
    let at = |path: &str| object.pointer(path).cloned().unwrap_or_default();
    match of {
        "FederatedHPA" => {
            let condition = |one: &Value| {
                json!(format!("{}={} {}", text(one, "/type"), text(one, "/status"), text(one, "/reason")))
            };
            let conditions: Vec<Value> = items(object, "/status/conditions").iter().map(condition).collect();
            // One without bounds only remembers: for how long depends on the way.
            let shares: Vec<Value> = items(object, "/status/clusterHPADesired")
                .iter()
                .filter(|one| one["maxReplicas"].as_i64().is_some_and(|max| max > 0))
                .map(|one| json!([one["clusterName"], one["minReplicas"], one["maxReplicas"]]))
                .collect();
            json!({"spec": at("/spec"), "finalizers": at("/metadata/finalizers"), "conditions": conditions, "shares": shares})
        }
        "ResourceBinding" => json!({"clusters": at("/spec/clusters"), "suspension": at("/spec/suspension"),
            "tasks": at("/spec/gracefulEvictionTasks"), "observed":
            at("/status/schedulerObservedGeneration") == at("/metadata/generation")}),
        _ => {
            let labels: Vec<&str> = members(object, "/metadata/labels").map(|(key, _)| key).collect();
            json!({"replicas": at("/spec/replicas"), "labels": labels})
        }
    }
}

fn line(cluster: &str, object: &Value, told: &Value) -> String {
    format!("{cluster} {} {}/{} {told}", text(object, "/kind"), namespace(object), name(object))
}

/// What differs from the `reference`.
pub fn differences(reference: &[String], ending: &[String]) -> Vec<String> {
    let missing = reference.iter().filter(|line| !ending.contains(line)).map(|line| format!("- {line}"));
    let added = ending.iter().filter(|line| !reference.contains(line)).map(|line| format!("+ {line}"));
    missing.chain(added).collect()
}
