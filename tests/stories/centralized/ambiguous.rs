//! Two workloads whose selectors take the same pods: Kubernetes scales neither, and neither do we.

use serde_json::{Value, json};

use super::running;
use crate::stories::Process;
use crate::stories::distributed::{Stage, deployment, hpa, kind};

/// A canary of `web` in each of two clusters: its pods are also selected by the selector of `web`.
async fn canary(stage: &Stage, mode: &str) {
    let mut workload = deployment("canary", 2);
    workload["metadata"]["name"] = json!("canary");
    workload["spec"]["selector"]["matchLabels"] = json!({"track": "canary"});
    workload["spec"]["template"]["metadata"]["labels"] = json!({"app": "web", "track": "canary"});
    stage.create(workload).await;
    let mut other = hpa(2, 10, json!({"mode": mode}));
    other["metadata"]["name"] = json!("canary");
    other["spec"]["scaleTargetRef"]["name"] = json!("canary");
    stage.create(other).await;
}

/// Lets the canary run, and puts load on `web` that asks for more.
async fn ambiguous(mode: &str) -> (Stage, Process) {
    let (stage, one) = running(2, json!({})).await;
    canary(&stage, mode).await;
    stage.pass(60).await;
    let (said, message) = stage.condition("ScalingActive").await;
    assert_eq!(said, "False AmbiguousSelector", "{message}");
    assert!(
        message
            .starts_with("pods by selector app=web are controlled by multiple HPAs: [prod/canary, prod/web]; nothing"),
        "{message}"
    );
    assert_eq!(stage.condition("Ready").await.0, "False AmbiguousSelector");
    stage.load(900).await;
    stage.pass(300).await;
    assert_eq!(stage.scale().await, 3, "{:?}", stage.messages().await);
    assert_eq!(stage.notes("AmbiguousSelector").await.iter().filter(|note| note.contains("app=web")).count(), 1);
    (stage, one)
}

fn replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_objects_that_take_the_same_pods_both_wait_until_one_is_gone() {
    let (stage, _one) = ambiguous("Centralized").await;
    assert_eq!(replicas(&stage.get("Deployment", "canary").await), 2, "neither is scaled");
    let found = stage.control.get(&kind("FederatedHPA"), "prod", "canary").await.unwrap().unwrap();
    assert!(found["status"]["conditions"].to_string().contains("AmbiguousSelector"), "{found}");
    stage.delete("FederatedHPA", "canary").await;
    stage.pass(20).await;
    assert_ne!(stage.condition("ScalingActive").await.0, "False AmbiguousSelector");
    stage.pass(120).await;
    assert!(stage.scale().await > 3, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_scales_neither_of_them() {
    let (stage, one) = ambiguous("Centralized").await;
    one.kill().await;
    let _two = stage.leads("two").await;
    stage.pass(120).await;
    assert_eq!((stage.scale().await, replicas(&stage.get("Deployment", "canary").await)), (3, 2));
    assert_eq!(stage.condition("ScalingActive").await.0, "False AmbiguousSelector");
}

#[tokio::test(start_paused = true)]
async fn the_pods_of_a_distributed_object_are_left_to_it() {
    let (stage, _one) = ambiguous("Distributed").await;
    stage.delete("FederatedHPA", "canary").await;
    stage.pass(200).await;
    assert!(stage.scale().await > 3, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_workload_without_replicas_keeps_no_other_from_being_scaled() {
    let (stage, _one) = ambiguous("Centralized").await;
    stage.patch("Deployment", "canary", json!({"spec": {"replicas": 0}})).await;
    stage.pass(120).await;
    assert_eq!(replicas(&stage.get("Deployment", "canary").await), 0);
    assert!(stage.scale().await > 3, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_scales_nothing_keeps_no_other_from_being_scaled() {
    for (mode, wait) in [("Centralized", 120), ("Distributed", 500)] {
        let (stage, _one) = ambiguous(mode).await;
        stage.delete("Deployment", "canary").await;
        stage.pass(wait).await;
        assert!(stage.scale().await > 3, "{mode}: {:?}", stage.messages().await);
    }
    let (stage, _one) = ambiguous("Centralized").await;
    stage.patch("FederatedHPA", "canary", json!({"spec": {"suspend": true}})).await;
    stage.pass(120).await;
    assert!(stage.scale().await > 3, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn one_that_yielded_for_a_while_begins_with_the_current_replicas() {
    let (stage, _one) = Stage::divided(3, &[1, 1]).await;
    stage.load(900).await;
    let mut older = hpa(18, 20, json!({"mode": "Centralized"}));
    older["metadata"]["name"] = json!("older");
    older["spec"]["scaleTargetRef"]["name"] = json!("nothing");
    stage.create(older).await;
    stage.pass(5).await;
    stage.hpa(1, 20, json!({"mode": "Centralized"})).await;
    stage.pass(120).await;
    assert_eq!(stage.scale().await, 18, "{:?}", stage.messages().await);
    stage.patch("FederatedHPA", "older", json!({"spec": {"scaleTargetRef": {"name": "web"}}})).await;
    stage.pass(30).await;
    assert_eq!(stage.condition("Ready").await.0, "False ConflictingFederatedHPA");
    stage.load(90).await;
    stage.pass(400).await;
    stage.delete("FederatedHPA", "older").await;
    stage.pass(90).await;
    assert_eq!(stage.scale().await, 18, "{:?}", stage.messages().await);
    assert_ne!(stage.condition("Ready").await.0, "False ConflictingFederatedHPA");
}
