//! Served kinds are looked up once, and again when they may have changed.

use std::time::Duration;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status;
use fhpa::reconcile::scale_target::{Done, Targets};
use serde_json::{Value, json};

use super::{DEPLOYMENT, definition, embedded_with, fleet, reference, replicas, requests, said, workload};
use crate::reconcile::control::Term;

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
