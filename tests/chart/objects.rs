//! Every field of every rendered object is valid: by the typed API, by the schemas of cert-manager and the Prometheus
//! operator, and by a real API server where there is one.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::engine;
use crate::cluster::control_plane::ControlPlane;

/// What of `object` a type does not keep: unknown fields, and fields of another kind.
fn lost<T: DeserializeOwned + Serialize>(object: &Value) -> Result<(), String> {
    let typed: T = serde_json::from_value(object.clone()).map_err(|error| error.to_string())?;
    let kept = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    if &kept == object { Ok(()) } else { Err(format!("{object}\nis kept as\n{kept}")) }
}

fn fault(object: &Value) -> Result<(), String> {
    let kind = object["kind"].as_str().unwrap();
    match (object["apiVersion"].as_str().unwrap(), kind) {
        ("apps/v1", "Deployment") => lost::<Deployment>(object),
        ("batch/v1", "Job") => lost::<Job>(object),
        ("v1", "Service") => lost::<Service>(object),
        ("v1", "ServiceAccount") => lost::<ServiceAccount>(object),
        ("v1", "ConfigMap") => lost::<ConfigMap>(object),
        ("v1", "Pod") => lost::<Pod>(object),
        ("policy/v1", "PodDisruptionBudget") => lost::<PodDisruptionBudget>(object),
        ("rbac.authorization.k8s.io/v1", "Role") => lost::<Role>(object),
        ("rbac.authorization.k8s.io/v1", "RoleBinding") => lost::<RoleBinding>(object),
        ("networking.k8s.io/v1", "NetworkPolicy") => lost::<NetworkPolicy>(object),
        ("cert-manager.io/v1" | "monitoring.coreos.com/v1", _) => foreign(kind, object),
        (version, _) => Err(format!("no check for {version} {kind}")),
    }
}

/// By the schemas in `tests/fixtures/chart`.
fn foreign(kind: &str, object: &Value) -> Result<(), String> {
    let schemas: Value = serde_json::from_str(&super::text("tests/fixtures/chart/kinds.json")).unwrap();
    let schema = schemas.get(kind).ok_or_else(|| format!("no schema for {kind}"))?;
    let validator = jsonschema::draft202012::new(schema).map_err(|error| error.to_string())?;
    let errors: Vec<String> =
        validator.iter_errors(&object["spec"]).map(|error| format!("{}: {error}", error.instance_path())).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

#[test]
fn every_object_is_understood_to_its_last_field() {
    for (case, rendered) in engine::rendered("every field of every rendered object") {
        for object in &rendered.objects {
            let name = format!("{case}, {} {}", object["kind"], object["metadata"]["name"]);
            fault(object).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            let labels = object["metadata"]["labels"].as_object().unwrap_or_else(|| panic!("{name} has no labels"));
            assert!(labels.contains_key("app.kubernetes.io/instance"), "{name}");
            let long = labels.values().filter(|value| value.as_str().unwrap().len() > 63);
            assert_eq!(long.count(), 0, "{name}");
            assert!(object["metadata"]["name"].as_str().unwrap().len() <= 63, "{name}");
            assert!(object["metadata"]["namespace"].is_string(), "{name}");
        }
    }
}

#[test]
fn a_field_that_nobody_knows_is_seen() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
        "spec": {"backOffLimit": 3, "template": {"spec": {"containers": []}}}});
    assert!(fault(&job).unwrap_err().contains("is kept as"));
    let monitor = json!({"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "spec": {"endpoint": []}});
    assert!(fault(&monitor).unwrap_err().contains("endpoint"));
}

#[test]
fn an_api_server_takes_every_object_and_warns_of_none() {
    let shows = "the chart's objects on an API server, at the restricted Pod Security level";
    // Of the cases that differ in one value, one stands for all.
    let cases: Vec<_> = engine::rendered(shows).filter(|(case, _)| !case.starts_with("full but")).collect();
    if cases.is_empty() {
        return;
    }
    let Some(plane) = ControlPlane::shared(shows) else { return };
    let levels = ["enforce", "warn"].map(|way| format!("pod-security.kubernetes.io/{way}: restricted"));
    let namespace = "chart";
    plane.apply(&format!(
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n  labels:\n    {}\n",
        levels.join("\n    ")
    ));
    let mut items = Vec::new();
    for (at, (_, rendered)) in cases.iter().enumerate() {
        for object in &rendered.objects {
            let version = object["apiVersion"].as_str().unwrap();
            if version.starts_with("cert-manager") || version.starts_with("monitoring") {
                continue;
            }
            let mut object = object.clone();
            let name = format!("{}-{at}", object["metadata"]["name"].as_str().unwrap());
            object["metadata"]["name"] = json!(name);
            object["metadata"]["namespace"] = json!(namespace);
            items.push(object);
        }
    }
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let strict = ["create", "--dry-run=server", "--validate=strict", "-f", "-"];
    let (taken, said) = plane.kubectl(&strict, &list);
    assert!(taken, "{said}");
    assert!(!said.contains("Warning"), "{said}");
    assert_eq!(said.matches("created (server dry run)").count(), items.len(), "{said}");
}
