//! Common properties of all targets: requests, preconditions, the Lease.

use std::sync::atomic::Ordering;

use fhpa::controller::failure::WriteError;
use fhpa::decision::cron::ledger::Action;
use fhpa::reconcile::scale_target::Targets;
use http::Method;
use serde_json::{Value, json};

use super::{
    BOUNDS, DEPLOYMENT, KARMADA, bounds, define, definition, embedded_with, failure, fhpa, fleet, make, reference,
    replicas, requests, said, spec, workload,
};
use crate::bed::Bed;
use crate::reconcile::control::{Term, before};

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
