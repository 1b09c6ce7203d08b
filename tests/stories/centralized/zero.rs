//! A Centralized workload whose `minReplicas` is 0: it sleeps and wakes by a metric that is there without its pods.

use fhpa::playground::json::items;
use serde_json::{Value, json};

use super::super::Process;
use super::super::distributed::Stage;
use super::faults::per_pod;

/// 10 of an External metric for each pod of `web`. `web-orders` is summed over the members, others are read from
/// karmada-apiserver.
fn external(metric: &str) -> Value {
    json!({"metrics": [{"type": "External", "external": {"metric": {"name": metric},
        "target": {"type": "AverageValue", "averageValue": "10"}}}]})
}

/// Two members with `web`, which is asleep.
async fn asleep(metrics: Value) -> (Stage, Process) {
    let (stage, one) = Stage::divided(2, &[1, 1]).await;
    stage.load(0).await;
    let mut spec = json!({"mode": "Centralized"});
    spec.as_object_mut().unwrap().extend(metrics.as_object().cloned().unwrap());
    stage.hpa(0, 30, spec).await;
    stage.until_scale(0, 400).await;
    stage.pass(60).await;
    assert_eq!((stage.scale().await, stage.replicas().await.as_str()), (0, "0 0"), "{:?}", stage.messages().await);
    assert_eq!(stage.condition("ScalingActive").await.0, "True ValidMetricFound");
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(!hpa["status"]["currentMetrics"].to_string().contains("9223372036854775"), "{hpa}");
    (stage, one)
}

async fn wakes(stage: &Stage) {
    for _ in 0..60 {
        if stage.scale().await > 0 {
            return;
        }
        stage.pass(1).await;
    }
    panic!("asleep: {:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_may_sleep_is_woken_by_each_metric_that_needs_no_pods() {
    for metrics in [external("web-jobs"), external("web-orders"), per_pod()] {
        let (stage, _one) = asleep(metrics.clone()).await;
        stage.load(80_000).await;
        wakes(&stage).await;
        stage.pass(60).await;
        assert!(stage.scale().await >= 8, "{metrics}: {:?}", stage.messages().await);
        assert_ne!(stage.replicas().await, "0 0");
    }
}

#[tokio::test(start_paused = true)]
async fn the_clusters_of_the_placement_are_asked_where_the_binding_names_none() {
    let (stage, _one) = asleep(external("web-orders")).await;
    // As karmada-scheduler leaves it for a workload with requests; the playground's lists clusters without replicas.
    let without = json!({"spec": {"clusters": [], "suspension": {"scheduling": true}}});
    stage.patch("ResourceBinding", "web-deployment", without).await;
    stage.pass(60).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert!(items(&binding, "/spec/clusters").is_empty(), "{binding}");
    assert_eq!(stage.condition("ScalingActive").await.0, "True ValidMetricFound", "{:?}", stage.messages().await);
    stage.load(80_000).await;
    wakes(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_the_condition_says_so_and_the_workload_stays() {
    let (stage, _one) = asleep(external("web-orders")).await;
    let mut nowhere = stage.get("ResourceBinding", "web-deployment").await["spec"]["placement"].clone();
    nowhere["clusterAffinity"] = json!({"clusterNames": ["elsewhere"]});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": nowhere}})).await;
    stage.pass(30).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"clusters": []}})).await;
    stage.load(80_000).await;
    stage.pass(60).await;
    let (said, message) = stage.condition("ScalingActive").await;
    assert_eq!(said, "False FailedGetExternalMetric", "{message}");
    assert!(message.contains("no cluster is there that can be asked for it"), "{message}");
    assert_eq!(stage.scale().await, 0);
}
