//! Targets of cron rules are set once, kept apart from other writers, and fail in words.

use std::sync::atomic::Ordering;
use std::time::Duration;

use fhpa::controller::failure::{Failure, WriteError};
use fhpa::decision::backoff::ErrorClass;
use fhpa::decision::cron::ledger::Action;
use fhpa::playground::apiserver::ApiServer;
use fhpa::playground::apiserver::faults::Which;
use fhpa::playground::apiserver::status;
use fhpa::reconcile::scale_target::{Done, TargetRef, Targets};
use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::control::{Term, before, impersonating};
use crate::bed::webhook::{Webhook, denied};
use crate::bed::{Bed, within};

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

#[tokio::test]
async fn workloads_and_custom_kinds_are_scaled_by_their_subresource() {
    Bed::same("scaling by the subresource", "target-scale", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        define(bed, &definition("scale.example.com", "Namespaced", true)).await;
        let rows = [
            ("apps/v1", "Deployment", "deployments", workload("Deployment", "web", 1)),
            ("apps/v1", "StatefulSet", "statefulsets", workload("StatefulSet", "web", 1)),
            ("scale.example.com/v1", "Fleet", "fleets", fleet("scale.example.com")),
        ];
        let mut lines = Vec::new();
        for (api_version, kind, plural, object) in rows {
            make(bed, plural, &object).await;
            let target = reference(&bed.namespace, api_version, kind, "web");
            for count in [5, 5, 0] {
                lines.push(said(&targets.set(&term.leader, &target, replicas(count)).await));
                let object = bed.get(&bed.path(api_version, &format!("{plural}/web"))).await.body;
                // kube-apiserver forgets who owns replicas that are 0.
                let owners = if count == 0 { Value::Null } else { owners(&object) };
                lines.push(json!([object["spec"]["replicas"], object["spec"]["size"], owners]));
            }
        }
        assert_eq!(lines[0..3].iter().step_by(2).collect::<Vec<_>>(), ["Written", "Unchanged"]);
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_scaled_says_why() {
    Bed::same("targets that cannot be scaled", "target-fixed", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        define(bed, &definition("wide.example.com", "Cluster", true)).await;
        define(bed, &definition("plain.example.com", "Namespaced", false)).await;
        let mut lines = Vec::new();
        for (api_version, kind) in [
            ("apps/v1", "Deployment"),
            ("v1", "ConfigMap"),
            ("v1", "Nothing"),
            ("apps/v9", "Deployment"),
            ("nowhere.example.com/v1", "Fleet"),
            ("wide.example.com/v1", "Fleet"),
            ("plain.example.com/v1", "Fleet"),
            (KARMADA, "CronFederatedHPA"),
            (KARMADA, "FederatedHPA"),
            ("autoscaling.karmada.io/v9", "FederatedHPA"),
        ] {
            let target = reference(&bed.namespace, api_version, kind, "absent");
            let action = if kind == "FederatedHPA" { bounds(Some(1), None) } else { replicas(2) };
            let outcome = targets.set(&term.leader, &target, action).await;
            lines.push(json!([kind, said(&outcome), failure(&outcome.unwrap_err()).message]));
        }
        let reasons: Vec<&Value> = lines.iter().map(|line| &line[1][1]).collect();
        assert_eq!(
            reasons,
            [
                "TargetNotFound",
                "TargetNotScalable",
                "TargetKindUnknown",
                "TargetKindUnknown",
                "TargetKindUnknown",
                "TargetNotScalable",
                "TargetNotScalable",
                "TargetNotScalable",
                "TargetNotFound",
                "TargetKindUnknown"
            ]
        );
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn nothing_is_set_on_what_is_being_deleted() {
    Bed::same("targets that go away", "target-deleted", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        let mut lines = Vec::new();
        for (api_version, plural, mut object, action) in [
            ("apps/v1", "deployments", workload("Deployment", "web", 1), replicas(5)),
            (KARMADA, "federatedhpas", fhpa("web", Some(1), 5), bounds(None, Some(9))),
        ] {
            object["metadata"]["finalizers"] = json!(["example.com/hold"]);
            let made = make(bed, plural, &object).await;
            let path = bed.path(api_version, &format!("{plural}/web"));
            assert_eq!(bed.delete(&path, &Value::Null).await.code, 200);
            let kind = made["kind"].as_str().unwrap();
            let outcome = targets.set(&term.leader, &reference(&bed.namespace, api_version, kind, "web"), action).await;
            lines.push(json!([said(&outcome), failure(&outcome.unwrap_err()).message]));
            assert_eq!(bed.get(&path).await.body["spec"], made["spec"]);
            bed.patch("merge", &path, &json!({"metadata": {"finalizers": null}})).await;
        }
        assert_eq!(lines[0][0], json!(["refused", "TargetBeingDeleted"]));
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn a_write_meets_only_the_object_that_was_read() {
    Bed::same("preconditions of writes", "target-uid", async |bed| {
        let mut lines = Vec::new();
        let other = json!({"metadata": {"uid": "00000000-0000-0000-0000-000000000000"}, "spec": {"replicas": 5}});
        let scale = bed.path("apps/v1", "deployments/web/scale");
        lines.push(bed.patch("merge", &scale, &other).await.refusal());
        let made = make(bed, "deployments", &workload("Deployment", "web", 1)).await;
        lines.push(bed.patch("merge", &scale, &other).await.refusal());
        let workload_uid = made["metadata"]["uid"].clone();
        let same = json!({"metadata": {"uid": workload_uid}, "spec": {"replicas": 5}});
        lines.push(bed.patch("merge", &scale, &same).await.code.into());
        let stale = json!({"metadata": {"uid": workload_uid, "resourceVersion": "1"}, "spec": {"replicas": 6}});
        lines.push(bed.patch("merge", &scale, &stale).await.refusal());
        define(bed, &definition("uid.example.com", "Namespaced", true)).await;
        make(bed, "fleets", &fleet("uid.example.com")).await;
        let scale = bed.path("uid.example.com/v1", "fleets/web/scale");
        lines.push(bed.patch("merge", &scale, &other).await.refusal());
        let stale = json!({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 5}});
        lines.push(bed.patch("merge", &scale, &stale).await.refusal());
        let apply = format!("{}?fieldManager=a&force=true", bed.path(KARMADA, "federatedhpas/web"));
        let wanted = |uid: &Value, version: &str| {
            json!({"apiVersion": KARMADA, "kind": "FederatedHPA", "spec": {"maxReplicas": 9},
                "metadata": {"name": "web", "uid": uid, "resourceVersion": version}})
        };
        lines.push(bed.patch("apply", &apply, &wanted(&other["metadata"]["uid"], "1")).await.refusal());
        let made = make(bed, "federatedhpas", &fhpa("web", Some(1), 5)).await;
        lines.push(bed.patch("apply", &apply, &wanted(&other["metadata"]["uid"], "1")).await.refusal());
        lines.push(bed.patch("apply", &apply, &wanted(&made["metadata"]["uid"], "1")).await.refusal());
        let text = Value::from(lines).to_string();
        json!(text.replace(workload_uid.as_str().unwrap(), "<uid>"))
    })
    .await;
}

/// Deletes an object and makes it anew, just before it is written.
async fn renewed_before_the_write(bed: &Bed, plural: &'static str, object: Value, action: Action) -> Value {
    let term = Term::begin().await;
    make(bed, plural, &object).await;
    let api_version = object["apiVersion"].as_str().unwrap().to_owned();
    let (kind, path) = (object["kind"].as_str().unwrap().to_owned(), bed.path(&api_version, plural));
    let other = bed.client.clone();
    let again = object.clone();
    let (client, met) = before(&bed.client, |request| request.method() == Method::PATCH, async move {
        let send = async |request: http::Request<Vec<u8>>| other.request::<Value>(request).await.unwrap();
        send(http::Request::delete(format!("{path}/web")).body(Vec::new()).unwrap()).await;
        let body = again.to_string().into_bytes();
        send(http::Request::post(path).header("content-type", "application/json").body(body).unwrap()).await;
    });
    let target = reference(&bed.namespace, &api_version, &kind, "web");
    let outcome = Targets::new(client).set(&term.leader, &target, action).await;
    let found = spec(bed, &api_version, &format!("{plural}/web")).await;
    json!([said(&outcome), met.load(Ordering::SeqCst), found["replicas"], found["minReplicas"], found["maxReplicas"]])
}

#[tokio::test]
async fn an_object_made_anew_is_read_again_before_it_is_written() {
    Bed::same("an object made anew", "target-anew", async |bed| {
        define(bed, &definition("anew.example.com", "Namespaced", true)).await;
        let scaled = renewed_before_the_write(bed, "deployments", workload("Deployment", "web", 1), replicas(5)).await;
        let custom = renewed_before_the_write(bed, "fleets", fleet("anew.example.com"), replicas(5)).await;
        let bound =
            renewed_before_the_write(bed, "federatedhpas", fhpa("web", Some(1), 5), bounds(None, Some(9))).await;
        assert_eq!(scaled, json!(["Written", 2, 5, null, null]));
        assert_eq!(bound, json!(["Written", 2, null, 1, 9]));
        assert_eq!(custom, json!(["Written", 2, null, null, null]));
        json!([scaled, custom, bound])
    })
    .await;
}

#[tokio::test]
async fn an_object_deleted_before_the_write_is_not_made_anew() {
    Bed::same("an object deleted before the write", "target-gone", async |bed| {
        define(bed, &definition("gone.example.com", "Namespaced", true)).await;
        let mut lines = Vec::new();
        for (plural, object, action) in [
            ("deployments", workload("Deployment", "web", 1), replicas(5)),
            ("fleets", fleet("gone.example.com"), replicas(5)),
            ("federatedhpas", fhpa("web", Some(1), 5), bounds(None, Some(9))),
        ] {
            let term = Term::begin().await;
            make(bed, plural, &object).await;
            let api_version = object["apiVersion"].as_str().unwrap();
            let path = bed.path(api_version, &format!("{plural}/web"));
            let (other, gone) = (bed.client.clone(), path.clone());
            let (client, _) = before(&bed.client, |request| request.method() == Method::PATCH, async move {
                let request = http::Request::delete(gone).body(Vec::new()).unwrap();
                other.request::<Value>(request).await.unwrap();
            });
            let target = reference(&bed.namespace, api_version, object["kind"].as_str().unwrap(), "web");
            let outcome = Targets::new(client).set(&term.leader, &target, action).await;
            lines.push(json!([said(&outcome), bed.get(&path).await.code]));
            assert_eq!(lines.last().unwrap(), &json!([["missing", "TargetNotFound"], 404]));
        }
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn only_the_named_bounds_change_and_other_writers_keep_their_fields() {
    Bed::same("fields of others", "target-fields", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        let made = make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let path = bed.path(KARMADA, "federatedhpas/web");
        let mut lines = Vec::new();
        for action in [
            bounds(None, Some(9)),
            bounds(Some(3), None),
            bounds(None, Some(8)),
            bounds(Some(1), Some(4)),
            bounds(Some(1), Some(4)),
        ] {
            lines.push(said(&targets.set(&term.leader, &target, action).await));
            let object = bed.get(&path).await.body;
            let mut expected = made["spec"].clone();
            expected["minReplicas"] = object["spec"]["minReplicas"].clone();
            expected["maxReplicas"] = object["spec"]["maxReplicas"].clone();
            assert_eq!(object["spec"], expected);
            assert_eq!(object["metadata"]["labels"], made["metadata"]["labels"]);
            assert_eq!(object["metadata"]["annotations"], made["metadata"]["annotations"]);
            lines.push(json!([expected["minReplicas"], expected["maxReplicas"], owners(&object)]));
        }
        assert_eq!((&lines[5][0], &lines[5][1]), (&json!(3), &json!(8)), "min stays when only max is set");
        assert_eq!(lines[8], "Unchanged");
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn an_absent_minimum_counts_as_one() {
    Bed::same("nil minReplicas", "target-nil", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        make(bed, "federatedhpas", &fhpa("web", None, 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let mut lines = Vec::new();
        for action in [bounds(Some(1), None), bounds(Some(1), Some(5)), bounds(None, Some(6)), bounds(Some(3), None)] {
            let outcome = said(&targets.set(&term.leader, &target, action).await);
            let found = spec(bed, KARMADA, "federatedhpas/web").await;
            lines.push(json!([outcome, found["minReplicas"], found["maxReplicas"]]));
        }
        let expected = json!([["Unchanged", null, 5], ["Unchanged", null, 5], ["Written", null, 6], ["Written", 3, 6]]);
        assert_eq!(Value::from(lines.clone()), expected);
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn bounds_that_contradict_are_named_and_not_sent() {
    Bed::same("contradicting bounds", "target-order", async |bed| {
        let term = Term::begin().await;
        let (client, writes) = before(&bed.client, |request| request.method() == Method::PATCH, async {});
        let targets = Targets::new(client);
        make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let mut lines = Vec::new();
        for action in [bounds(Some(8), None), bounds(None, Some(1)), bounds(Some(4), Some(3))] {
            let outcome = targets.set(&term.leader, &target, action).await;
            lines.push(json!([said(&outcome), failure(&outcome.unwrap_err()).message]));
        }
        assert_eq!(writes.load(Ordering::SeqCst), 0);
        assert_eq!(
            lines[0],
            json!([
                ["refused", "InvalidBounds"],
                "targetMinReplicas 8 of the rule is above the present maxReplicas 5 of FederatedHPA target-order/web; give \
                 the rule targetMaxReplicas too, or raise maxReplicas"
            ])
        );
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn what_the_schema_refuses_is_told_in_the_servers_words() {
    Bed::same("a schema's refusal", "target-schema", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        make(bed, "deployments", &workload("Deployment", "web", 1)).await;
        let bound = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let scaled = reference(&bed.namespace, "apps/v1", "Deployment", "web");
        let mut lines = Vec::new();
        for (target, action) in [(bound, bounds(Some(-1), None)), (scaled, replicas(-1))] {
            let outcome = targets.set(&term.leader, &target, action).await;
            lines.push(json!([said(&outcome), failure(&outcome.unwrap_err()).message]));
        }
        assert!(lines.iter().all(|line| line[0] == json!(["refused", "Rejected"])), "{lines:?}");
        lines.into()
    })
    .await;
}

#[tokio::test]
async fn a_bound_edited_between_read_and_write_is_read_again() {
    Bed::same("an edit in between", "target-edit", async |bed| {
        let term = Term::begin().await;
        make(bed, "federatedhpas", &fhpa("web", Some(2), 5)).await;
        let target = reference(&bed.namespace, KARMADA, "FederatedHPA", "web");
        let (other, path) = (bed.client.clone(), bed.path(KARMADA, "federatedhpas/web"));
        let (client, writes) = before(&bed.client, |request| request.method() == Method::PATCH, async move {
            let body = json!({"spec": {"maxReplicas": 7}}).to_string().into_bytes();
            let request = http::Request::patch(path).header("content-type", "application/merge-patch+json");
            other.request::<Value>(request.body(body).unwrap()).await.unwrap();
        });
        let outcome = Targets::new(client).set(&term.leader, &target, bounds(Some(6), Some(8))).await;
        let found = spec(bed, KARMADA, "federatedhpas/web").await;
        let line = json!([said(&outcome), found["minReplicas"], found["maxReplicas"], writes.load(Ordering::SeqCst)]);
        assert_eq!(line, json!(["Written", 6, 8, 2]));
        line
    })
    .await;
}

#[tokio::test]
async fn a_webhook_that_denies_is_quoted() {
    Bed::same("a denied write", "target-denied", async |bed| {
        let term = Term::begin().await;
        let targets = Targets::new(bed.client.clone());
        make(bed, "deployments", &workload("Deployment", "web", 1)).await;
        let freeze = json!({"code": 409, "message": "no changes on Fridays"});
        let hook = Webhook::start(move |review| denied(review, freeze.clone())).await;
        let mut entry = hook.entry("freeze.example.com", json!({}));
        entry["namespaceSelector"] = json!({"matchLabels": {"kubernetes.io/metadata.name": bed.namespace}});
        entry["rules"] = json!([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"],
            "resources": ["deployments", "deployments/scale"]}]);
        let configuration = json!({"metadata": {"name": format!("freeze.{}", bed.namespace)}, "webhooks": [entry]});
        let root = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        assert_eq!(bed.post(root, &configuration).await.code, 201);
        let path = bed.path("apps/v1", "deployments/web");
        for _ in 0..ATTEMPTS {
            if hook.calls() > 0 {
                break;
            }
            bed.patch("merge", &format!("{path}?dryRun=All"), &json!({"metadata": {"labels": {"a": "b"}}})).await;
        }
        let target = reference(&bed.namespace, "apps/v1", "Deployment", "web");
        let outcome = targets.set(&term.leader, &target, replicas(5)).await;
        let line = json!([said(&outcome), failure(&outcome.unwrap_err()).message]);
        assert_eq!(line[0], json!(["refused", "Rejected"]));
        assert!(line[1].as_str().unwrap().contains("no changes on Fridays"), "{line}");
        line
    })
    .await;
}

#[tokio::test]
async fn a_missing_role_is_told_with_the_verb_that_is_needed() {
    let shows = "a missing role";
    let Some(plane) = crate::cluster::control_plane::ControlPlane::shared(shows) else { return };
    let term = Term::begin().await;
    let namespace = plane.namespace("target-role");
    plane.apply(&workload("Deployment", "web", 1).to_string().replacen(
        "\"name\":\"web\"",
        "\"name\":\"web\",\"namespace\":\"target-role\"",
        1,
    ));
    let readers = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "reader", "namespace": namespace},
        "rules": [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]});
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "reader", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reader"}]});
    plane.apply(&readers.to_string());
    plane.apply(&binding.to_string());
    let target = reference(namespace, "apps/v1", "Deployment", "web");
    let client = plane.client().await;
    for (user, verb, resource) in [("nobody", "get", "deployments"), ("reader", "patch", "deployments/scale")] {
        let targets = Targets::new(impersonating(&client, user));
        let mut outcome = targets.set(&term.leader, &target, replicas(5)).await;
        for _ in 0..ATTEMPTS {
            // The authorizer learns of the binding by a watch.
            if outcome.as_ref().is_err_and(|error| failure(error).message.contains(resource)) {
                break;
            }
            outcome = targets.set(&term.leader, &target, replicas(5)).await;
        }
        let error = outcome.unwrap_err();
        let failure = failure(&error);
        assert_eq!((failure.class, failure.reason), (ErrorClass::Refused, "Forbidden"), "{failure}");
        let needed = format!("allow it the verb {verb:?} on {resource:?} in API group \"apps\"");
        assert!(failure.message.contains(&needed), "{failure}");
    }
}

async fn embedded_with(objects: &[Value]) -> ApiServer {
    let server = ApiServer::builder().seed(7).build();
    for (_, text) in fhpa::api::crd::files().unwrap() {
        server.create(&serde_saphyr::from_str::<Value>(&text).unwrap()).await.unwrap();
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

#[tokio::test(start_paused = true)]
async fn a_run_sends_just_these_requests() {
    let server = embedded_with(&[workload("Deployment", "web", 1), fhpa("web", Some(2), 5)]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    let cold = ["get /apis/apps/v1", "get deployments", "patch deployments/scale"];
    for (target, action, expected) in [
        (DEPLOYMENT, replicas(5), &cold[..]),
        (DEPLOYMENT, replicas(5), &cold[1..]),
        (DEPLOYMENT, replicas(6), &cold[1..]),
        (BOUNDS, bounds(Some(3), Some(6)), &["get federatedhpas", "patch federatedhpas"]),
        (BOUNDS, bounds(Some(3), Some(6)), &["get federatedhpas"]),
        (BOUNDS, replicas(3), &[]),
        (DEPLOYMENT, bounds(None, Some(3)), &[]),
    ] {
        server.faults().record();
        let outcome = targets.set(&term.leader, &target, action).await;
        assert_eq!(requests(&server), expected, "{outcome:?}");
        if expected.is_empty() {
            assert_eq!(failure(&outcome.unwrap_err()).reason, "RuleTargetMismatch");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn many_turns_ask_once_what_is_served() {
    let server = embedded_with(&[workload("Deployment", "web", 1)]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    server.faults().record();
    let turns = (0..64).map(|_| targets.set(&term.leader, &DEPLOYMENT, replicas(5)));
    let outcomes = futures::future::join_all(turns).await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(server.faults().count("get", "/apis/apps/v1"), 1);
}

#[tokio::test(start_paused = true)]
async fn turns_that_wait_for_a_read_that_fails_share_its_failure() {
    let server = embedded_with(&[workload("Deployment", "web", 1)]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    let discovery = Which { resource: "/apis/apps/v1".into(), ..Which::default() };
    server.faults().fail(discovery, 1, status::StatusError::plain(503, "ServiceUnavailable", "starting"));
    server.faults().record();
    let turns = (0..64).map(|_| targets.set(&term.leader, &DEPLOYMENT, replicas(5)));
    let outcomes = futures::future::join_all(turns).await;
    assert!(outcomes.iter().all(|outcome| said(outcome) == json!(["transient", "Unreachable"])), "{outcomes:?}");
    assert_eq!(requests(&server), ["get /apis/apps/v1"]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(targets.set(&term.leader, &DEPLOYMENT, replicas(5)).await, Ok(Done::Written));
}

#[tokio::test(start_paused = true)]
async fn a_kind_installed_later_is_found_within_a_minute_and_asked_for_no_more_often() {
    let server = embedded_with(&[]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    let target = reference("default", "late.example.com/v1", "Fleet", "web");
    server.faults().record();
    for _ in 0..50 {
        let outcome = targets.set(&term.leader, &target, replicas(5)).await;
        assert_eq!(said(&outcome), json!(["missing", "TargetKindUnknown"]));
    }
    assert_eq!(requests(&server), ["get /apis/late.example.com/v1"]);
    let definition = definition("late.example.com", "Namespaced", true);
    server.create(&definition).await.unwrap();
    let mut fleet = fleet("late.example.com");
    fleet["metadata"]["namespace"] = "default".into();
    server.create(&fleet).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(targets.set(&term.leader, &target, replicas(5)).await, Ok(Done::Written));

    // And one that goes away: known kinds are not looked up again until their path fails.
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/fleets.late.example.com";
    let request = http::Request::delete(definitions).body(Vec::new()).unwrap();
    server.client().request::<Value>(request).await.unwrap();
    tokio::time::sleep(Duration::from_mins(1)).await;
    server.faults().record();
    for _ in 0..50 {
        let outcome = targets.set(&term.leader, &target, replicas(5)).await;
        assert_eq!(said(&outcome), json!(["missing", "TargetKindUnknown"]));
    }
    assert_eq!(requests(&server), ["get fleets", "get /apis/late.example.com/v1"]);
}

#[tokio::test(start_paused = true)]
async fn without_the_lease_nothing_is_sent() {
    let server = embedded_with(&[workload("Deployment", "web", 1), fhpa("web", Some(2), 5)]).await;
    let targets = Targets::new(server.client());
    let leader = Term::begin().await.end().await;
    server.faults().record();
    for (target, action) in [(DEPLOYMENT, replicas(5)), (BOUNDS, bounds(None, Some(9)))] {
        let outcome = targets.set(&leader, &target, action).await;
        assert!(matches!(outcome, Err(WriteError::LeaseLost(_))), "{outcome:?}");
    }
    assert!(requests(&server).is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_lease_lost_while_reading_stops_the_write() {
    for (target, action) in [(DEPLOYMENT, replicas(5)), (BOUNDS, bounds(None, Some(9)))] {
        let server = embedded_with(&[workload("Deployment", "web", 1), fhpa("web", Some(2), 5)]).await;
        let term = Term::begin().await;
        let leader = term.leader.clone();
        let name = |request: &http::Request<_>| request.uri().path().ends_with("/web");
        let (client, _) = before(&server.client(), name, async move {
            term.end().await;
        });
        let outcome = Targets::new(client).set(&leader, &target, action).await;
        assert!(matches!(outcome, Err(WriteError::LeaseLost(_))), "{outcome:?}");
        assert_eq!(server.faults().count("patch", "deployments/scale"), 0);
        assert_eq!(server.faults().count("patch", "federatedhpas"), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn each_failure_of_a_write_has_its_class() {
    let user = "federatedhpas.autoscaling.karmada.io \"web\" is forbidden: User \"fhpa\" cannot patch resource \
                \"federatedhpas\" in API group \"autoscaling.karmada.io\" in the namespace \"default\"";
    let rows = [
        (status::StatusError::too_many_requests(7), ErrorClass::Transient, "Unreachable", Some(7)),
        (status::StatusError::internal("etcd"), ErrorClass::Transient, "Unreachable", None),
        (
            status::StatusError::plain(503, "ServiceUnavailable", "restarting"),
            ErrorClass::Transient,
            "Unreachable",
            None,
        ),
        (status::StatusError::plain(403, "Forbidden", user), ErrorClass::Refused, "Forbidden", None),
        (status::StatusError::plain(422, "Invalid", "is invalid"), ErrorClass::Refused, "Rejected", None),
        (status::StatusError::bad_request("no"), ErrorClass::Refused, "Rejected", None),
    ];
    let server = embedded_with(&[fhpa("web", Some(2), 5)]).await;
    let targets = Targets::new(server.client());
    let term = Term::begin().await;
    let writes = || Which { verb: "patch".into(), ..Which::default() };
    for (fault, class, reason, seconds) in rows {
        let code = fault.code;
        server.faults().fail(writes(), 1, fault);
        let error = targets.set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
        let failure = failure(&error);
        assert_eq!((failure.class, failure.reason), (class, reason), "{code}");
        assert_eq!(failure.retry_after, seconds.map(Duration::from_secs), "{code}");
    }
    server.faults().record();
    let raced =
        status::StatusError::modified(&status::StatusDetails::new("autoscaling.karmada.io", "federatedhpas", "web"));
    server.faults().fail(writes(), 4, raced);
    let error = targets.set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Conflict, "Conflict"));
    assert_eq!(requests(&server), ["get federatedhpas", "patch federatedhpas"].repeat(4));
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_silent_or_gone_is_unreachable() {
    let server = embedded_with(&[fhpa("web", Some(2), 5)]).await;
    let term = Term::begin().await;
    server.faults().pause(true);
    let error = Targets::new(server.client()).set(&term.leader, &BOUNDS, bounds(None, Some(9))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Transient, "Unreachable"));
    assert_eq!(
        failure(&error).message,
        "the API server did not answer within 10 s when asked to get FederatedHPA default/web"
    );
}

#[tokio::test]
async fn a_refused_connection_is_unreachable() {
    let term = Term::begin().await;
    let mut config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    config.default_retry = false;
    let targets = Targets::new(Client::try_from(config).unwrap());
    let error = within(targets.set(&term.leader, &BOUNDS, bounds(None, Some(9)))).await.unwrap_err();
    assert_eq!((failure(&error).class, failure(&error).reason), (ErrorClass::Transient, "Unreachable"));
    assert!(failure(&error).message.contains("refused"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_name_leads_nowhere_else() {
    let server = embedded_with(&[workload("Deployment", "web", 1)]).await;
    let term = Term::begin().await;
    let targets = Targets::new(server.client());
    server.faults().record();
    for name in ["../../default/deployments/web", "web?", "web/scale", "", ".."] {
        let target = TargetRef { name, ..DEPLOYMENT };
        let error = targets.set(&term.leader, &target, replicas(5)).await.unwrap_err();
        assert_eq!(failure(&error).reason, "TargetInvalid", "{name}");
    }
    assert!(requests(&server).is_empty());
}
