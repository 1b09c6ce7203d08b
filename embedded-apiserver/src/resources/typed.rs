//! Built-in kinds read by their types: unknown fields are dropped, wrong types are rejected. No I/O.

use std::{collections::HashMap, fmt::Write, sync::LazyLock};

use k8s_openapi::{
    api::{
        admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
        apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet},
        authorization::v1::SelfSubjectAccessReview,
        autoscaling::{v1::HorizontalPodAutoscaler as HpaV1, v2::HorizontalPodAutoscaler as HpaV2},
        coordination::v1::Lease,
        core::v1::{
            ConfigMap, Endpoints, Event, Namespace, Node, Pod, ReplicationController, Secret, Service, ServiceAccount,
        },
        events::v1::Event as NewEvent,
        rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding},
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use parking_lot::Mutex;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Reads an object by its type and writes it again.
pub type Normalise = fn(&Value) -> Result<Value, String>;

fn through<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let typed: T = serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        format!("json: cannot unmarshal {path}: {}", error.into_inner())
    })?;
    serde_json::to_value(&typed).map_err(|error| error.to_string())
}

/// Most definitions that are remembered.
const MOST_KNOWN: usize = 64;

/// A CustomResourceDefinition: they are large, and the same ones are created in each server of the process.
fn definition(value: &Value) -> Result<Value, String> {
    static KNOWN: LazyLock<Mutex<HashMap<Value, Value>>> = LazyLock::new(Mutex::default);
    if let Some(known) = KNOWN.lock().get(value) {
        return Ok(known.clone());
    }
    let read = through::<CustomResourceDefinition>(value)?;
    let mut known = KNOWN.lock();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(value.clone(), read.clone());
    Ok(read)
}

/// The reader of a built-in kind.
pub fn normaliser(group: &str, version: &str, kind: &str) -> Option<Normalise> {
    Some(match (group, version, kind) {
        ("", _, "ConfigMap") => through::<ConfigMap>,
        ("", _, "Endpoints") => through::<Endpoints>,
        ("", _, "Event") => through::<Event>,
        ("", _, "Namespace") => through::<Namespace>,
        ("", _, "Node") => through::<Node>,
        ("", _, "Pod") => through::<Pod>,
        ("", _, "ReplicationController") => through::<ReplicationController>,
        ("", _, "Secret") => through::<Secret>,
        ("", _, "Service") => through::<Service>,
        ("", _, "ServiceAccount") => through::<ServiceAccount>,
        ("admissionregistration.k8s.io", _, "MutatingWebhookConfiguration") => through::<MutatingWebhookConfiguration>,
        ("admissionregistration.k8s.io", _, "ValidatingWebhookConfiguration") => {
            through::<ValidatingWebhookConfiguration>
        }
        ("apiextensions.k8s.io", _, _) => definition,
        ("apps", _, "DaemonSet") => through::<DaemonSet>,
        ("apps", _, "Deployment") => through::<Deployment>,
        ("apps", _, "ReplicaSet") => through::<ReplicaSet>,
        ("apps", _, "StatefulSet") => through::<StatefulSet>,
        ("authorization.k8s.io", _, _) => through::<SelfSubjectAccessReview>,
        ("autoscaling", "v1", _) => through::<HpaV1>,
        ("autoscaling", _, _) => through::<HpaV2>,
        ("coordination.k8s.io", _, _) => through::<Lease>,
        ("events.k8s.io", _, _) => through::<NewEvent>,
        ("rbac.authorization.k8s.io", _, "ClusterRole") => through::<ClusterRole>,
        ("rbac.authorization.k8s.io", _, "ClusterRoleBinding") => through::<ClusterRoleBinding>,
        ("rbac.authorization.k8s.io", _, "Role") => through::<Role>,
        ("rbac.authorization.k8s.io", _, "RoleBinding") => through::<RoleBinding>,
        _ => return None,
    })
}

/// Paths of fields that are in `given` but not in `kept`, in the form `spec.containers[0].x`.
pub fn dropped(given: &Value, kept: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    collect(given, kept, &mut String::new(), &mut paths);
    paths
}

fn collect(given: &Value, kept: &Value, path: &mut String, paths: &mut Vec<String>) {
    let length = path.len();
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            for (key, value) in given {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(key);
                match kept.get(key) {
                    Some(other) => collect(value, other, path, paths),
                    // A null, or an empty value that the type omits, is not an unknown field.
                    None if value.is_null() => {}
                    None => paths.push(path.clone()),
                }
                path.truncate(length);
            }
        }
        (Value::Array(given), Value::Array(kept)) => {
            for (at, (value, other)) in given.iter().zip(kept).enumerate() {
                // Writing to text cannot fail.
                let _: std::fmt::Result = write!(path, "[{at}]");
                collect(value, other, path, paths);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn unknown_fields_fall_away_and_are_named() {
        let given = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "x": 1},
            "spec": {"selector": {}, "template": {"spec": {"containers": [{"name": "a", "imagee": "b"}]}}}});
        let kept = normaliser("apps", "v1", "Deployment").unwrap()(&given).unwrap();
        assert_eq!(dropped(&given, &kept), ["metadata.x", "spec.template.spec.containers[0].imagee"]);
    }
}
