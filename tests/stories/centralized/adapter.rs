//! Metrics by karmada-metrics-adapter, which leaves out members that fail and says nothing of it.

use std::sync::Arc;

use fhpa::reconcile::federated_hpa::centralized::MetricsSource;
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use serde_json::{Value, json};

use super::super::Process;
use super::super::distributed::{Stage, deployment, policy, weights};

/// Two members with 4 replicas of `web` and the metrics adapter, by which the controller reads.
async fn adapted(kind: &str, more: Value) -> (Stage, Process) {
    let stage = Stage::new(2).await;
    stage.fleet.adapt_metrics();
    let mut rule = policy(weights(&[1, 1]));
    rule["spec"]["resourceSelectors"][0]["kind"] = json!(kind);
    stage.create(rule).await;
    let mut web = deployment("web", 4);
    web["kind"] = json!(kind);
    stage.create(web).await;
    stage.pass(60).await;
    let client = stage.fleet.control().client();
    let mut one = Process::start_reading(MetricsSource::Adapter, client, "one", &stage.wall, Arc::new(Unknown));
    one.leads().await;
    stage.load(200).await;
    let target = json!({"apiVersion": "apps/v1", "kind": kind, "name": "web"});
    let mut spec = json!({"mode": "Centralized", "scaleTargetRef": target});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    stage.hpa(1, 20, spec).await;
    stage.pass(45).await;
    (stage, one)
}

async fn asked(stage: &Stage, kind: &str) -> Value {
    stage.get(kind, "web").await["spec"]["replicas"].clone()
}

async fn until(stage: &Stage, kind: &str, replicas: i32) {
    for _ in 0..120 {
        if asked(stage, kind).await == replicas {
            return;
        }
        stage.pass(1).await;
    }
    panic!("{} replicas: {:?}", asked(stage, kind).await, stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn pods_of_all_clusters_are_measured_by_the_adapter_alone() {
    let (stage, _one) = adapted("Deployment", json!({})).await;
    stage.load(500).await;
    until(&stage, "Deployment", 10).await;
    assert_eq!(stage.condition("ScalingActive").await.0, "True ValidMetricFound");
    // One that fails is missing in the answer.
    stage.pass(60).await;
    stage.fleet.lose_metrics("member2", true).unwrap();
    stage.load(50).await;
    for _ in 0..60 {
        stage.pass(15).await;
        assert_eq!(asked(&stage, "Deployment").await, 10, "{:?}", stage.messages().await);
    }
    let (said, message) = stage.condition("ScalingActive").await;
    assert!(said == "True PartialMetrics" && message.contains("member2 (there are no metrics"), "{message}");
    stage.fleet.lose_metrics("member1", true).unwrap();
    stage.pass(45).await;
    assert_eq!(stage.condition("ScalingActive").await.0, "False FailedGetResourceMetric");
}

#[tokio::test(start_paused = true)]
async fn usage_of_pods_with_one_name_is_told_apart_by_the_cluster() {
    let (stage, _one) = adapted("StatefulSet", json!({})).await;
    assert_eq!(asked(&stage, "StatefulSet").await, 4);
    stage.load(300).await;
    until(&stage, "StatefulSet", 6).await;
    assert_eq!(stage.condition("ScalingActive").await.0, "True ValidMetricFound");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_stands_for_two_pods_removes_none() {
    let pods = json!({"type": "Pods", "pods": {"metric": {"name": "requests"},
        "target": {"type": "AverageValue", "averageValue": "50m"}}});
    let (stage, _one) = adapted("StatefulSet", json!({"metrics": [pods]})).await;
    stage.load(20).await;
    stage.pass(900).await;
    assert_eq!(asked(&stage, "StatefulSet").await, 4);
    let (said, message) = stage.condition("ScalingActive").await;
    assert!(said.starts_with("False FailedGetPodsMetric") && message.contains("the same name"), "{said}: {message}");
}

#[tokio::test(start_paused = true)]
async fn a_sum_that_may_lack_a_cluster_adds_replicas_and_removes_none() {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let metric = json!({"type": "Object", "object": {"describedObject": object, "metric": {"name": "load"},
        "target": {"type": "AverageValue", "averageValue": "50m"}}});
    let (stage, _one) = adapted("Deployment", json!({"metrics": [metric]})).await;
    stage.load(500).await;
    until(&stage, "Deployment", 10).await;
    stage.load(50).await;
    stage.pass(900).await;
    assert_eq!(asked(&stage, "Deployment").await, 10);
    let (said, message) = stage.condition("ScalingActive").await;
    assert!(said == "True PartialMetrics" && message.contains("karmada-metrics-adapter"), "{said}: {message}");
}
