//! What users change while the controller runs: bounds, policy, candidates, metrics.

use serde_json::{Value, json};

use super::{Stage, weights};
use crate::stories::Process;

/// Three members by weights 1, 2, 3 and bounds 2..10: 1..1 1..4 1..5.
pub async fn running() -> (Stage, Process) {
    running_with(json!({})).await
}

pub async fn running_with(more: Value) -> (Stage, Process) {
    let stage = Stage::new(3).await;
    stage.web(3, weights(&[1, 2, 3])).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.hpa(2, 10, more).await;
    stage.pass(10).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn max_replicas_goes_up_and_down_within_the_budget() {
    let (stage, one) = running().await;
    for (max, bounds) in [(20, "1..3 1..7 1..10"), (6, "1..1 1..2 1..3"), (9, "1..1 1..3 1..5"), (3, "- 1..1 2..2")] {
        let before = stage.budget.most();
        stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": max}})).await;
        stage.pass(15).await;
        assert_eq!(stage.bounds().await, bounds, "{:?}", stage.messages().await);
        let most = stage.budget.most();
        assert!(most <= max.max(before), "{most}: {}", stage.budget.history());
    }
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_metrics_reaches_every_member_with_the_bounds_it_has() {
    let (stage, one) = running().await;
    let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    stage.patch("FederatedHPA", "web", json!({"spec": {"metrics": metric, "behavior": behavior}})).await;
    stage.pass(5).await;
    for cluster in ["member1", "member2", "member3"] {
        let hpa = stage.member(cluster, "HorizontalPodAutoscaler", "web").await.unwrap();
        assert_eq!(hpa["spec"]["metrics"], metric);
        assert_eq!(hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 60);
    }
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MembersScale"]);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn another_policy_divides_anew() {
    let (stage, one) = running().await;
    stage.budget.most();
    let even = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted"}});
    stage.patch("FederatedHPA", "web", json!({"spec": even})).await;
    stage.pass(15).await;
    assert_eq!(stage.bounds().await, "1..4 1..3 1..3", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    let all = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Duplicated"}});
    stage.patch("FederatedHPA", "web", json!({"spec": all})).await;
    stage.pass(15).await;
    assert_eq!(stage.bounds().await, "2..10 2..10 2..10");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_the_placement_goes_after_its_replacement() {
    let (stage, one) = running().await;
    stage.budget.most();
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[1, 2])}})).await;
    stage
        .patch(
            "PropagationPolicy",
            "web",
            json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}}}),
        )
        .await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 -", "{:?}", stage.messages().await);
    assert_eq!(stage.replicas().await, "1 2 -");
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": null}}})).await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[1, 2, 3])}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    one.stop().await;
}
