//! Members that fail.

use jiff::SignedDuration;
use serde_json::json;

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, text};

use super::{Stage, condition, deployment, holds, plan, policy};

/// Karmada as it is when its failover is switched on.
fn evicting() -> Plan {
    let mut plan = plan();
    plan.karmada.failover = true;
    plan
}

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
    let stage = Stage::new(evicting()).await;
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
    let stage = Stage::new(evicting()).await;
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

/// A suspended binding over three members, of which the first is left with a task of somebody else's.
async fn left_gracefully(purge: &str) -> Stage {
    let stage = Stage::new(Plan { clusters: 3, ..plan() }).await;
    stage.create(policy(&[1, 1, 1])).await;
    stage.create(deployment("web", 6, "100m")).await;
    stage.advance(5).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.settle().await;
    let begun = format!("{:.0}", stage.fleet.clock().now());
    let task = json!({"fromCluster": "member1", "replicas": 2, "purgeMode": purge, "producer": "user",
        "reason": "Leaves", "creationTimestamp": begun});
    let clusters = json!([{"name": "member2", "replicas": 2}, {"name": "member3", "replicas": 2}]);
    let left = json!({"spec": {"clusters": clusters, "gracefulEvictionTasks": [task]}});
    stage.patch("ResourceBinding", "web-deployment", left).await;
    stage
}

/// Says that the scheduler has seen the binding.
async fn observe(stage: &Stage) {
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let mut status = binding["status"].clone();
    status["schedulerObservedGeneration"] = binding["metadata"]["generation"].clone();
    assert!(stage.control.set_status(&super::kind("ResourceBinding"), &binding, &status).await.unwrap());
}

fn tasks(binding: &serde_json::Value) -> usize {
    items(binding, "/spec/gracefulEvictionTasks").len()
}

fn reporting(binding: &serde_json::Value) -> Vec<&str> {
    items(binding, "/status/aggregatedStatus").iter().map(|status| text(status, "/clusterName")).collect()
}

#[tokio::test]
async fn an_eviction_ends_as_soon_as_the_others_are_healthy_and_takes_the_status_of_its_cluster_along() {
    let stage = left_gracefully("Gracefully").await;
    stage.fleet.fail("member1", true).unwrap();
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(
        (tasks(&binding), reporting(&binding)),
        (1, vec!["member1", "member2", "member3"]),
        "nobody observed it"
    );
    assert_eq!(binding["status"]["aggregatedStatus"][0]["status"]["readyReplicas"], 2);
    observe(&stage).await;
    stage.settle().await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((tasks(&binding), reporting(&binding)), (0, vec!["member2", "member3"]), "no time has passed");
    let works = stage.list("Work", "karmada-es-member1").await;
    assert!(works[0]["metadata"]["deletionTimestamp"].is_string(), "it waits for its cluster");
    assert_eq!(condition(&binding, "FullyApplied"), holds("True", "FullyAppliedSuccess"));
}

#[tokio::test]
async fn an_eviction_waits_for_the_others_to_be_healthy_up_to_its_timeout() {
    let stage = left_gracefully("Gracefully").await;
    stage.patch_member("member2", "Deployment", "web", json!({"spec": {"replicas": 99}})).await;
    let label = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}});
    stage.patch("Deployment", "web", label).await;
    stage.patch_member("member2", "Deployment", "web", json!({"spec": {"replicas": 99}})).await;
    stage.settle().await;
    observe(&stage).await;
    stage.advance(590).await;
    assert_eq!((tasks(&stage.get("ResourceBinding", "web-deployment").await), stage.replicas("web").await[0]), (1, 2));
    stage.advance(20).await;
    assert_eq!((tasks(&stage.get("ResourceBinding", "web-deployment").await), stage.replicas("web").await[0]), (0, -1));
}

#[tokio::test]
async fn a_work_that_is_purged_directly_is_gone_before_any_other_is_written() {
    let stage = left_gracefully("Directly").await;
    stage.fleet.fail("member1", true).unwrap();
    let more = json!([{"name": "member2", "replicas": 5}, {"name": "member3", "replicas": 2}]);
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"clusters": more}})).await;
    stage.advance(60).await;
    let works = stage.list("Work", "karmada-es-member1").await;
    assert!(works[0]["metadata"]["deletionTimestamp"].is_string());
    assert_eq!(stage.replicas("web").await, [2, 2, 2], "member2 waits for the cluster that does not answer");
    stage.fleet.fail("member1", false).unwrap();
    stage.advance(200).await;
    assert_eq!(stage.replicas("web").await, [-1, 5, 2]);
}

#[tokio::test]
async fn a_deletion_for_a_cluster_that_does_not_answer_is_carried_out_minutes_after_it_is_back() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(5).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(60).await;
    let clusters = |names: &[&str]| -> serde_json::Value {
        let list: Vec<serde_json::Value> = names.iter().map(|name| json!({"name": name, "replicas": 2})).collect();
        json!({"spec": {"clusters": list}})
    };
    stage.patch("ResourceBinding", "web-deployment", clusters(&["member2"])).await;
    stage.advance(200).await;
    stage.fleet.fail("member1", false).unwrap();
    stage.advance(45).await;
    let cluster = stage.get("Cluster", "member1").await;
    assert_eq!(condition(&cluster, "Ready").0, "True");
    assert_eq!(stage.replicas("web").await, [2, 2], "tried at 163.8 s after the change, and again at 327.7 s");
    // Put back meanwhile, the cluster is not applied: its old Work is still going.
    stage.patch("ResourceBinding", "web-deployment", clusters(&["member1", "member2"])).await;
    stage.advance(30).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((condition(&binding, "FullyApplied").0, reporting(&binding)), ("False".into(), vec!["member2"]));
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [-1, 2], "deleted at 327.7 s, and not made yet");
    stage.advance(120).await;
    assert_eq!(stage.replicas("web").await, [2, 2], "the binding's own turn came again");
}

#[tokio::test]
async fn a_work_that_is_deleted_takes_the_workload_along_and_is_missed_when_its_binding_changes() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    let mut web = deployment("web", 4, "100m");
    web["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] = json!("true");
    stage.create(web).await;
    stage.advance(5).await;
    let works = stage.list("Work", "karmada-es-member1").await;
    stage.control.delete(&super::kind("Work"), &works[0]).await.unwrap();
    stage.advance(300).await;
    assert_eq!(stage.replicas("web").await, [-1, 2]);
    stage.patch("Deployment", "web", json!({"metadata": {"annotations": {"a": "b"}}})).await;
    stage.advance(5).await;
    assert_eq!(stage.replicas("web").await, [2, 2]);
}

#[tokio::test]
async fn a_toleration_holds_a_workload_for_its_time() {
    let stage = Stage::new(evicting()).await;
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
