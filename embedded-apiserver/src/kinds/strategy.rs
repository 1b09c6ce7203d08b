//! Restrictions on writes: system metadata, status isolation, generation. No I/O.

use serde_json::{Value, json};

use super::super::{
    object::{self, as_map, at, meta, metadata_mut, put_at, restore, set_meta, text_at},
    resources::{Resource, Version},
};

/// Metadata that only the server writes.
const SYSTEM: &[&str] =
    &["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"];

/// Removes the fields that a client may not set on a new object, and sets its uid, time and generation.
pub fn prepare_create(resource: &Resource, version: &Version, new: &mut Value, uid: String, now: &str) {
    let metadata = metadata_mut(new);
    for key in SYSTEM {
        metadata.remove(*key);
    }
    metadata.remove("resourceVersion");
    metadata.insert("uid".into(), uid.into());
    metadata.insert("creationTimestamp".into(), now.into());
    if resource.behaviour.generation {
        metadata.insert("generation".into(), json!(1));
    }
    if resource.behaviour.custom {
        if version.status {
            object::remove(new, "status");
        }
        return;
    }
    first_status(resource, new);
    match resource.kind.as_str() {
        "Namespace" => put_at(new, &["spec"], json!({"finalizers": ["kubernetes"]})),
        "CustomResourceDefinition" => establish(new, None, now),
        _ => {}
    }
}

fn first_status(resource: &Resource, new: &mut Value) {
    let status = match resource.kind.as_str() {
        "Namespace" => json!({"phase": "Active"}),
        "Pod" => json!({"phase": "Pending", "qosClass": quality(new)}),
        "Service" => json!({"loadBalancer": {}}),
        "HorizontalPodAutoscaler" => json!({"currentMetrics": null, "desiredReplicas": 0}),
        "ReplicaSet" => json!({"replicas": 0}),
        "StatefulSet" => json!({"availableReplicas": 0, "replicas": 0}),
        "DaemonSet" => {
            json!({"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0})
        }
        "Deployment" => json!({}),
        _ => return,
    };
    put_at(new, &["status"], status);
}

fn quality(pod: &Value) -> &'static str {
    let containers = at(pod, &["spec", "containers"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let set = |container: &Value, key: &str| {
        at(container, &["resources", key]).and_then(Value::as_object).cloned().unwrap_or_default()
    };
    let guaranteed = |container: &Value| {
        let (limits, requests) = (set(container, "limits"), set(container, "requests"));
        limits.contains_key("cpu") && limits.contains_key("memory") && limits == requests
    };
    if containers.iter().all(|one| set(one, "limits").is_empty() && set(one, "requests").is_empty()) {
        "BestEffort"
    } else if containers.iter().all(guaranteed) {
        "Guaranteed"
    } else {
        "Burstable"
    }
}

/// Restores the fields that this write may not change, and increments the generation.
pub fn prepare_update(
    resource: &Resource,
    version: &Version,
    subresource: &str,
    old: &Value,
    new: &mut Value,
    now: &str,
) {
    match subresource {
        "status" => only_status(resource, old, new),
        "finalize" => {
            let finalizers = at(new, &["spec"]).cloned();
            let given = new.clone();
            *new = old.clone();
            restore(new, "spec", finalizers);
            keep_given(new, &given, &["resourceVersion", "managedFields"]);
        }
        _ if version.status => restore(new, "status", old.get("status").cloned()),
        _ => {}
    }
    let metadata = metadata_mut(new);
    for key in SYSTEM {
        match meta(old, key) {
            Some(value) => metadata.insert((*key).to_owned(), value.clone()),
            None => metadata.remove(*key),
        };
    }
    if resource.kind == "CustomResourceDefinition" && subresource.is_empty() {
        establish(new, Some(old), now);
    }
    if resource.behaviour.generation && subresource != "status" && counts(resource, version, old, new) {
        set_meta(new, "generation", json!(object::generation(old) + 1));
    }
}

fn keep_given(new: &mut Value, given: &Value, keys: &[&str]) {
    for key in keys {
        set_meta(new, key, meta(given, key).cloned().unwrap_or_default());
    }
}

fn only_status(resource: &Resource, old: &Value, new: &mut Value) {
    let given = std::mem::take(new);
    *new = old.clone();
    restore(new, "status", given.get("status").cloned());
    keep_given(new, &given, &["resourceVersion", "managedFields"]);
    if !resource.behaviour.custom {
        keep_given(new, &given, &["annotations", "finalizers", "ownerReferences"]);
    }
}

/// Whether the write changes more than metadata and status.
fn counts(resource: &Resource, version: &Version, old: &Value, new: &Value) -> bool {
    let annotated = resource.kind == "Deployment" && meta(old, "annotations") != meta(new, "annotations");
    annotated || !rest(version, old).eq(rest(version, new))
}

/// The members beside metadata and status.
fn rest<'a>(version: &Version, object: &'a Value) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let status = version.status;
    let members = object.as_object().into_iter().flatten();
    members.filter(move |(key, _)| *key != "metadata" && !(*key == "status" && status))
}

/// Writes the status of a CustomResourceDefinition: its names are accepted, and it is served.
fn establish(new: &mut Value, old: Option<&Value>, now: &str) {
    let names = at(new, &["spec", "names"]).cloned().unwrap_or_default();
    let versions = at(new, &["spec", "versions"]).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut stored: Vec<Value> = old
        .and_then(|old| at(old, &["status", "storedVersions"]))
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for version in versions.iter().filter(|version| version.get("storage") == Some(&Value::Bool(true))) {
        let name = Value::from(text_at(version, &["name"]));
        if !stored.contains(&name) {
            stored.push(name);
        }
    }
    let conditions = old.and_then(|old| at(old, &["status", "conditions"]).cloned()).unwrap_or_else(|| {
        json!([
            {"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found", "lastTransitionTime": now},
            {"type": "Established", "status": "True", "reason": "InitialNamesAccepted", "message": "the initial names have been accepted", "lastTransitionTime": now}
        ])
    });
    let status = json!({"acceptedNames": names, "storedVersions": stored, "conditions": conditions});
    as_map(new).insert("status".into(), status);
}
