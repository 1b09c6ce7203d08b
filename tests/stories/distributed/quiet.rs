//! Load up and down, and the rest in between: no request without a reason.

use serde_json::json;

use super::edits::running;
use super::{Stage, deployment, hpa, policy, weights};

#[tokio::test(start_paused = true)]
async fn replicas_follow_the_load_within_the_bounds_and_the_status_sums_them() {
    let (stage, one) = running().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "1 4 5");
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert_eq!((&status["currentReplicas"], &status["desiredReplicas"]), (&json!(10), &json!(10)));
    assert_eq!(status["aggregatedStatus"][1]["status"]["conditions"][0]["type"], "AbleToScale", "{status}");
    assert!(status["aggregatedStatus"][1]["status"]["currentMetrics"][0]["resource"].is_object(), "{status}");
    stage.fleet.load().set("prod", "web", 100);
    stage.pass(600).await;
    assert_eq!(stage.replicas().await, "1 1 1");
    assert_eq!((stage.bounds().await, stage.budget.most()), ("1..1 1..4 1..5".into(), 10));
    one.stop().await;
}

fn asked(text: &str) -> u64 {
    let counts = text.lines().filter(|line| line.starts_with("fhpa_kube_requests_total{"));
    let counts = counts.filter(|line| !line.contains("verb=\"watch\"") && !line.contains("verb=\"list\""));
    counts.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
}

#[tokio::test(start_paused = true)]
async fn two_hundred_objects_at_rest_cost_no_request() {
    let stage = Stage::new(2).await;
    stage.create(policy(weights(&[1, 1]))).await;
    for number in 0..200 {
        let name = format!("web{number}");
        stage.create(deployment(&name, 0)).await;
        let mut object = hpa(1, 4, json!({}));
        object["metadata"]["name"] = json!(name);
        object["spec"]["scaleTargetRef"]["name"] = json!(name);
        stage.create(object).await;
    }
    let mut one = stage.controller("one");
    one.leads().await;
    stage.pass(60).await;
    let before = asked(&one.metrics.text());
    stage.pass(60).await;
    assert_eq!(asked(&one.metrics.text()) - before, 0, "{}", one.metrics.text());
    one.stop().await;
}
