//! Handing back.

use std::collections::BTreeSet;

use fhpa::playground::json::{items, label, name};
use fhpa::playground::objects::Objects;
use serde_json::{Value, json};

use super::{Stage, kind, weights};

async fn pods(stage: &Stage) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for cluster in stage.fleet.names() {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let found = objects.list(&kind("Pod"), "prod").await.unwrap();
        all.extend(found.iter().map(|pod| format!("{cluster}/{}", name(pod))));
    }
    all
}

async fn handed_back(stage: &Stage) {
    assert_eq!(stage.bounds().await, "- - -");
    let web = stage.get("Deployment", "web").await;
    assert_eq!((label(&web, "resourcetemplate.karmada.io/retain-replicas"), &web["spec"]["replicas"]), ("", &json!(6)));
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null);
    assert_eq!(stage.entries().await, "member1=1 member2=3 member3=2");
}

/// Three members whose replicas were moved by hand since: 1, 3 and 2.
async fn moved() -> (Stage, crate::stories::Process) {
    let steady = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
    let (stage, one) = super::edits::running_with(steady).await;
    for (cluster, replicas) in [("member2", 3), ("member3", 2)] {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
        objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": replicas}})).await.unwrap();
    }
    stage.pass(8).await;
    assert_eq!(stage.replicas().await, "1 3 2");
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_hands_its_workload_back_and_moves_no_pod() {
    let (stage, one) = moved().await;
    let before = pods(&stage).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(120).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert!(items(&binding, "/spec/gracefulEvictionTasks").is_empty());
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_centralized_hands_its_workload_back() {
    let (stage, one) = moved().await;
    let before = pods(&stage).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(120).await;
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/metadata/finalizers").is_empty());
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_never_taken_over_is_let_alone() {
    let stage = Stage::new(2).await;
    stage.web(3, weights(&[1, 2])).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.hpa(2, 10, json!({"mode": "Centralized"})).await;
    stage.pass(30).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((stage.bounds().await, &binding["spec"]["suspension"]), ("- -".to_owned(), &Value::Null));
    one.stop().await;
}
