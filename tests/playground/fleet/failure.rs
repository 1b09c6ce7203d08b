//! Members that fail.

use jiff::SignedDuration;
use serde_json::json;

use super::{Stage, condition, deployment, holds, plan, policy};

fn taints(cluster: &serde_json::Value) -> Vec<(String, String)> {
    let taints = cluster["spec"]["taints"].as_array().cloned().unwrap_or_default();
    taints.iter().map(|t| (t["key"].as_str().unwrap().to_owned(), t["effect"].as_str().unwrap().to_owned())).collect()
}

#[tokio::test]
async fn a_failed_member_is_tainted_and_keeps_its_replicas() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 2])).await;
    stage.create(deployment("web", 9, "100m")).await;
    stage.advance(5).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(34).await;
    let cluster = stage.get("Cluster", "member1").await;
    assert_eq!(condition(&cluster, "Ready"), holds("True", "ClusterReady"), "not noticed before the threshold");
    stage.advance(10).await;
    let cluster = stage.get("Cluster", "member1").await;
    assert_eq!(condition(&cluster, "Ready"), holds("False", "ClusterNotReachable"));
    assert_eq!(taints(&cluster), [("cluster.karmada.io/not-ready".into(), "NoSchedule".into())]);
    assert_eq!(cluster["status"]["resourceSummary"]["allocatable"]["cpu"], "8");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let stale = &binding["status"]["aggregatedStatus"][0];
    assert_eq!((&stale["health"], &stale["status"]["readyReplicas"]), (&json!("Healthy"), &json!(3)));
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 12}})).await;
    stage.settle().await;
    assert_eq!(stage.split("web").await, [("member1".into(), 4), ("member2".into(), 8)]);
    assert_eq!(stage.replicas("web").await, [3, 8], "the dead member gets nothing");

    stage.fleet.fail("member1", false).unwrap();
    stage.advance(35).await;
    let cluster = stage.get("Cluster", "member1").await;
    assert_eq!((condition(&cluster, "Ready").0.as_str(), taints(&cluster).len()), ("True", 0));
    assert_eq!(stage.replicas("web").await, [3, 8], "the Work waits for its next try");
    stage.advance(10).await;
    assert_eq!(stage.replicas("web").await, [4, 8]);
}

#[tokio::test]
async fn with_failover_the_replicas_move_and_the_eviction_ends() {
    let mut plan = plan();
    plan.karmada.failover = true;
    let stage = Stage::new(plan).await;
    stage.create(policy(&[1, 2])).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.advance(5).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(44).await;
    let cluster = stage.get("Cluster", "member1").await;
    assert_eq!(taints(&cluster)[1], ("cluster.karmada.io/not-ready".into(), "NoExecute".into()));
    assert_eq!(stage.split("web").await, [("member2".into(), 6)]);
    stage.advance(5).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("gracefulEvictionTasks"), None, "the replacement is healthy");
    let works = stage.list("Work", "karmada-es-member1").await;
    assert!(works[0]["metadata"]["deletionTimestamp"].is_string(), "it waits for the cluster");
    stage.fleet.fail("member1", false).unwrap();
    stage.advance(120).await;
    assert!(stage.list("Work", "karmada-es-member1").await.is_empty());
    assert_eq!(stage.replicas("web").await, [-1, 6], "the cluster is not given its replicas back");
}

#[tokio::test]
async fn a_suspended_binding_loses_the_cluster_but_nobody_redistributes() {
    let mut plan = plan();
    plan.karmada.failover = true;
    let stage = Stage::new(plan).await;
    stage.create(policy(&[1, 2])).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.advance(5).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(60).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(stage.split("web").await, [("member2".into(), 4)]);
    let task = &binding["spec"]["gracefulEvictionTasks"][0];
    assert_eq!(
        (&task["fromCluster"], &task["replicas"], &task["reason"]),
        (&json!("member1"), &json!(2), &json!("TaintUntolerated"))
    );
    stage.advance(600).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("gracefulEvictionTasks"), None, "it ends by its timeout");
}

#[tokio::test]
async fn a_toleration_holds_a_workload_for_its_time() {
    let stage = Stage::new(plan()).await;
    let mut policy = policy(&[1, 1]);
    policy["spec"]["placement"]["clusterTolerations"] =
        json!([{"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 120}]);
    stage.create(policy).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(5).await;
    let added = stage.fleet.clock().now();
    let taint = json!([{"key": "maintenance", "effect": "NoExecute", "timeAdded": format!("{added:.0}")}]);
    stage.patch("Cluster", "member1", json!({"spec": {"taints": taint}})).await;
    stage.advance(110).await;
    assert_eq!(stage.replicas("web").await, [2, 2]);
    stage.fleet.advance(SignedDuration::from_secs(20)).await.unwrap();
    assert_eq!(stage.replicas("web").await, [-1, 4]);
}

#[tokio::test]
async fn a_failed_member_does_not_answer_through_the_proxy() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.settle().await;
    let path = "/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy/apis/apps/v1/namespaces/default/deployments/web/scale";
    let client = super::server(&stage).client();
    let ask = || client.request::<serde_json::Value>(http::Request::get(path).body(Vec::new()).unwrap());
    assert_eq!(ask().await.unwrap()["spec"]["replicas"], 2);
    stage.fleet.fail("member1", true).unwrap();
    let kube::Error::Api(status) = ask().await.unwrap_err() else { panic!() };
    assert_eq!(status.code, 503);
}
