//! Targets of cron rules are set once, separately from other writers, and failures have a message.

mod bounds_of_hpas;
mod failures;
mod kinds;
mod of_each_kind;
mod workloads;

use embedded_apiserver::ApiServer;
use fhpa::controller::failure::{Failure, WriteError};
use fhpa::decision::cron::ledger::Action;
use fhpa::reconcile::scale_target::{Done, TargetRef};
use serde_json::{Value, json};

use crate::bed::Bed;

const KARMADA: &str = "autoscaling.karmada.io/v1alpha1";

/// How often the real server is asked until it has seen a registration.
const ATTEMPTS: usize = 2000;

fn replicas(count: i32) -> Action {
    Action { replicas: Some(count), ..Action::default() }
}

fn bounds(min: Option<i32>, max: Option<i32>) -> Action {
    Action { min_replicas: min, max_replicas: max, ..Action::default() }
}

fn reference<'a>(namespace: &'a str, api_version: &'a str, kind: &'a str, name: &'a str) -> TargetRef<'a> {
    TargetRef { namespace, api_version, kind, name }
}

fn workload(kind: &str, name: &str, count: i32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"replicas": count, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}})
}

fn fhpa(name: &str, min: Option<i32>, max: i32) -> Value {
    let mut object = json!({"apiVersion": KARMADA, "kind": "FederatedHPA",
        "metadata": {"name": name, "labels": {"team": "shop"}, "annotations": {"example.com/odd": "kept"}},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}, "maxReplicas": max,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}]}});
    if let Some(min) = min {
        object["spec"]["minReplicas"] = min.into();
    }
    object
}

fn failure(error: &WriteError) -> &Failure {
    match error {
        WriteError::Failed(failure) => failure,
        WriteError::LeaseLost(lost) => panic!("{lost}"),
    }
}

/// Outcome in the words of a test; messages of the server are left out.
fn said(outcome: &Result<Done, WriteError>) -> Value {
    match outcome {
        Ok(done) => json!(format!("{done:?}")),
        Err(WriteError::LeaseLost(_)) => json!("lease lost"),
        Err(WriteError::Failed(failure)) => json!([failure.class.label(), failure.reason]),
    }
}

async fn make(bed: &Bed, plural: &str, object: &Value) -> Value {
    let path = bed.path(object["apiVersion"].as_str().unwrap(), plural);
    let made = bed.post(&path, object).await;
    assert_eq!(made.code, 201, "{made:?}");
    made.body
}

async fn spec(bed: &Bed, api_version: &str, plural_and_name: &str) -> Value {
    bed.get(&bed.path(api_version, plural_and_name)).await.body["spec"].clone()
}

/// (manager, operation, subresource, bounds or replicas it owns).
fn owners(object: &Value) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let mut owners: Vec<String> = entries
        .iter()
        .filter(|entry| entry["manager"].as_str().is_some_and(|manager| manager.starts_with("fhpa-")))
        .map(|entry| {
            format!("{} {} {} {}", entry["manager"], entry["operation"], entry["subresource"], entry["fieldsV1"])
        })
        .collect();
    owners.sort();
    json!(owners)
}

/// A definition of a kind that keeps its replicas elsewhere.
fn definition(group: &str, scope: &str, scale: bool) -> Value {
    let number = json!({"type": "integer"});
    let mut version = json!({"name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "object", "properties": {"count": number}}}},
            "status": {"type": "object", "properties": {"count": number}}}}}});
    if scale {
        version["subresources"] =
            json!({"scale": {"specReplicasPath": ".spec.size.count", "statusReplicasPath": ".status.count"}});
    }
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("fleets.{group}")},
        "spec": {"group": group, "scope": scope, "names": {"plural": "fleets", "singular": "fleet", "kind": "Fleet", "listKind": "FleetList"},
            "versions": [version]}})
}

fn fleet(group: &str) -> Value {
    json!({"apiVersion": format!("{group}/v1"), "kind": "Fleet", "metadata": {"name": "web"}, "spec": {"size": {"count": 1}}})
}

async fn define(bed: &Bed, definition: &Value) {
    let made = bed.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition).await;
    assert_eq!(made.code, 201, "{made:?}");
    let path = format!("/apis/{}/v1", definition["spec"]["group"].as_str().unwrap());
    for _ in 0..ATTEMPTS {
        let served = bed.get(&path).await;
        if served.body["resources"].as_array().is_some_and(|list| !list.is_empty()) {
            return;
        }
    }
    panic!("{path} is never served");
}

async fn embedded_with(objects: &[Value]) -> ApiServer {
    let server = ApiServer::builder().seed(7).build();
    for definition in fhpa::api::crd::all().unwrap() {
        server.create(definition).await.unwrap();
    }
    for object in objects {
        let mut object = object.clone();
        object["metadata"]["namespace"] = "default".into();
        server.create(&object).await.unwrap();
    }
    server
}

/// `verb resource` of each request since `record`.
fn requests(server: &ApiServer) -> Vec<String> {
    server.faults().recorded().iter().map(|seen| format!("{} {}", seen.verb, seen.resource)).collect()
}

const DEPLOYMENT: TargetRef<'_> =
    TargetRef { namespace: "default", api_version: "apps/v1", kind: "Deployment", name: "web" };

const BOUNDS: TargetRef<'_> =
    TargetRef { namespace: "default", api_version: KARMADA, kind: "FederatedHPA", name: "web" };
