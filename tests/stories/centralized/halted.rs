//! Workloads whose controllers an operator halts: their replicas stay.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use serde_json::json;

use super::running;
use crate::stories::freeze::annotate;

#[tokio::test(start_paused = true)]
async fn in_a_freeze_replicas_stay_and_afterwards_they_rise_at_once_and_fall_after_the_window() {
    let (stage, _one) = running(2, json!({})).await;
    let server = stage.fleet.control();
    annotate(server, Some("incident")).await;
    stage.pass(5).await;
    stage.load(500).await;
    stage.pass(600).await;
    assert_eq!(stage.scale().await, 3);
    annotate(server, None).await;
    stage.until_scale(10, 60).await;
    annotate(server, Some("incident")).await;
    stage.pass(5).await;
    stage.load(50).await;
    stage.pass(900).await;
    assert_eq!(stage.scale().await, 10);
    // As a new leader it does not scale down before it has looked for a whole window.
    annotate(server, None).await;
    stage.pass(280).await;
    assert_eq!(stage.scale().await, 10, "{:?}", stage.messages().await);
    stage.until_scale(1, 90).await;
}

#[tokio::test(start_paused = true)]
async fn while_it_is_suspended_replicas_stay_and_the_status_says_so() {
    let (stage, _one) = running(2, json!({})).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    stage.load(500).await;
    stage.pass(300).await;
    assert_eq!(stage.scale().await, 3);
    assert_eq!(
        stage.all_conditions().await,
        [
            "AbleToScale=True SucceededGetScale",
            "ScalingActive=False Suspended",
            "ScalingLimited=False Suspended",
            "Ready=True Suspended"
        ]
    );
    assert!(stage.notes("Suspended").await.is_empty(), "the user asked for it");
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": false}})).await;
    stage.until_scale(10, 60).await;
    assert_eq!(stage.condition("Ready").await.0, "True TargetReady");
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    stage.load(50).await;
    stage.pass(900).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": false}})).await;
    stage.pass(280).await;
    assert_eq!(stage.scale().await, 10, "it looks for a whole window before it scales down");
    stage.until_scale(1, 90).await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_keeps_no_workload_waiting() {
    let (stage, _one) = running(2, json!({})).await;
    stage.wall.jump(3_600);
    stage.pass(60).await;
    stage.wall.jump(-3_600);
    stage.pass(5).await;
    stage.load(500).await;
    stage.until_scale(10, 60).await;
    stage.load(50).await;
    stage.pass(280).await;
    assert_eq!(stage.scale().await, 10, "{:?}", stage.messages().await);
    stage.until_scale(1, 90).await;
}

#[tokio::test(start_paused = true)]
async fn after_a_scale_that_could_not_be_read_for_long_replicas_fall_after_the_window() {
    let (stage, _one) = running(2, json!({})).await;
    stage.load(500).await;
    stage.until_scale(10, 60).await;
    let faults = stage.fleet.control().faults();
    let scales = Which { verb: "get".into(), resource: "deployments/scale".into(), name: String::new() };
    faults.fail(scales, usize::MAX, StatusError::internal("the store is away"));
    stage.load(50).await;
    stage.pass(600).await;
    assert_eq!(stage.condition("AbleToScale").await.0, "False FailedGetScale");
    faults.heal();
    stage.pass(280).await;
    assert_eq!(stage.scale().await, 10, "{:?}", stage.messages().await);
    stage.until_scale(1, 90).await;
}
