//! Karmada at its slowest: late queues, requests that hang, its own failover.

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, text};
use fhpa::playground::karmada::Timing;
use fhpa::playground::member::Link;
use serde_json::{Value, json};

use super::{Stage, condition, deployment, holds, plan, policy, policy_with, seconds};

async fn running(plan: Plan) -> Stage {
    let stage = Stage::new(plan).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(5).await;
    assert_eq!(stage.replicas("web").await, [2, 2]);
    stage
}

async fn ready(stage: &Stage, cluster: &str) -> String {
    condition(&stage.get("Cluster", cluster).await, "Ready").0
}

/// What the binding says of each cluster: name, whether it is applied, health.
async fn aggregated(stage: &Stage) -> Vec<(String, bool, String)> {
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let line = |status: &Value| {
        let own = |field: &str| text(status, field).to_owned();
        (own("/clusterName"), status["applied"] == true, own("/health"))
    };
    items(&binding, "/status/aggregatedStatus").iter().map(line).collect()
}

fn said(cluster: &str, applied: bool, health: &str) -> (String, bool, String) {
    (cluster.to_owned(), applied, health.to_owned())
}

#[tokio::test]
async fn works_are_applied_minutes_late_while_the_queue_is_long() {
    let stage = Stage::new(plan()).await;
    stage.fleet.lag(seconds(180));
    stage.create(policy(&[1, 1])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(170).await;
    assert_eq!(stage.replicas("web").await, [-1, -1]);
    let nothing = [said("member1", false, "Unknown"), said("member2", false, "Unknown")];
    assert_eq!(aggregated(&stage).await, nothing, "there are Works without a status");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(condition(&binding, "FullyApplied"), holds("False", "FullyAppliedFailed"));
    stage.advance(15).await;
    assert_eq!(stage.replicas("web").await, [2, 2]);
    stage.fleet.lag(seconds(0));
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 6}})).await;
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [3, 3]);
}

#[tokio::test]
async fn a_short_hang_is_not_noticed_and_what_was_written_meanwhile_arrives_after_it() {
    let stage = running(plan()).await;
    stage.fleet.cut("member1", Link::Hangs).unwrap();
    stage.advance(30).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 8}})).await;
    stage.advance(5).await;
    assert_eq!((ready(&stage, "member1").await, stage.replicas("web").await), ("True".into(), vec![2, 4]));
    assert_eq!(aggregated(&stage).await[0], said("member1", true, "Healthy"), "nobody knows");
    stage.fleet.cut("member1", Link::Up).unwrap();
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [4, 4]);
}

#[tokio::test]
async fn a_hang_fails_its_requests_and_is_known_when_looks_have_failed_for_long_enough() {
    let stage = running(plan()).await;
    stage.fleet.cut("member1", Link::Hangs).unwrap();
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 8}})).await;
    stage.advance(8).await;
    assert_eq!(aggregated(&stage).await[0], said("member1", true, "Healthy"));
    stage.advance(4).await;
    assert_eq!(
        aggregated(&stage).await[0],
        said("member1", false, "Unknown"),
        "its status is gone with the failed write"
    );
    stage.advance(50).await;
    assert_eq!(ready(&stage, "member1").await, "True");
    stage.advance(22).await;
    assert_eq!(ready(&stage, "member1").await, "False");
    // With the short times of a laboratory: 32 s and 10 s for the looks, 2 s between them.
    let karmada = Timing { status_period: seconds(2), failure_threshold: seconds(5), ..Timing::default() };
    let stage = running(Plan { karmada, ..plan() }).await;
    stage.fleet.cut("member1", Link::Hangs).unwrap();
    stage.advance(43).await;
    assert_eq!(ready(&stage, "member1").await, "True");
    stage.advance(4).await;
    assert_eq!(ready(&stage, "member1").await, "False");
}

#[tokio::test]
async fn a_quota_that_is_enforced_denies_what_exceeds_it_and_the_split_stays() {
    let quota = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
        "metadata": {"name": "limit", "namespace": "default"}, "spec": {"overall": {"cpu": "500m"}}});
    for enforced in [true, false] {
        let karmada = Timing { quota: enforced, ..Timing::default() };
        let stage = running(Plan { karmada, ..plan() }).await;
        stage.create(quota.clone()).await;
        stage.patch("Deployment", "web", json!({"spec": {"replicas": 6}})).await;
        stage.settle().await;
        assert_eq!(stage.replicas("web").await, if enforced { [2, 2] } else { [3, 3] });
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        assert_eq!(condition(&binding, "Scheduled").1, if enforced { "QuotaExceeded" } else { "Success" });
    }
}

#[tokio::test]
async fn a_refused_write_takes_the_status_of_its_cluster_along_before_the_cluster_is_known_to_fail() {
    let stage = running(plan()).await;
    stage.fleet.cut("member1", Link::Refused).unwrap();
    stage.advance(1).await;
    assert_eq!(aggregated(&stage).await[0], said("member1", true, "Healthy"));
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 8}})).await;
    stage.settle().await;
    assert_eq!(ready(&stage, "member1").await, "True");
    assert_eq!(aggregated(&stage).await[0], said("member1", false, "Unknown"));
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["status"]["aggregatedStatus"][0].get("status"), None);
}

#[tokio::test]
async fn a_member_that_is_cut_off_lives_on_and_one_that_fails_does_not() {
    let stage = running(plan()).await;
    stage.fleet.cut("member1", Link::Hangs).unwrap();
    stage.fleet.fail("member2", true).unwrap();
    for cluster in ["member1", "member2"] {
        let label = json!({"spec": {"replicas": 5}});
        stage.patch_member(cluster, "Deployment", "web", label).await;
    }
    stage.advance(20).await;
    assert_eq!((stage.pods("member1").await.len(), stage.pods("member2").await.len()), (5, 2));
}

#[tokio::test]
async fn a_cluster_in_which_a_workload_stays_unhealthy_is_left_by_karmadas_own_failover() {
    let stage = Stage::new(Plan { cpu: 1, nodes: 1, ..plan() }).await;
    let mut policy = policy(&[1, 1]);
    policy["spec"]["propagateDeps"] = json!(true);
    policy["spec"]["failover"] = json!({"application": {"decisionConditions": {"tolerationSeconds": 30}}});
    stage.create(policy).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(5).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    // Pods that find no node in the first member only.
    let label = json!({"metadata": {"labels": {"resourcetemplate.karmada.io/retain-replicas": "true"}}});
    stage.patch("Deployment", "web", label).await;
    stage.settle().await;
    stage.patch_member("member1", "Deployment", "web", json!({"spec": {"replicas": 50}})).await;
    stage.advance(25).await;
    assert_eq!(stage.split("web").await, [("member1".into(), 2), ("member2".into(), 2)]);
    stage.advance(10).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(stage.split("web").await, [("member2".into(), 2)], "suspended or not");
    let task = &binding["spec"]["gracefulEvictionTasks"][0];
    assert_eq!(
        (&task["fromCluster"], &task["reason"], &task["gracePeriodSeconds"], &task["replicas"]),
        (&json!("member1"), &json!("ApplicationFailure"), &json!(600), &json!(2))
    );
    assert!(task["creationTimestamp"].is_string());
}

#[tokio::test]
async fn a_taint_that_evicts_evicts_nothing_unless_that_is_switched_on() {
    let stage = running(plan()).await;
    let taint = json!([{"key": "maintenance", "effect": "NoExecute"}]);
    stage.patch("Cluster", "member1", json!({"spec": {"taints": taint}})).await;
    stage.advance(120).await;
    assert_eq!(stage.replicas("web").await, [2, 2]);
}

#[tokio::test]
async fn a_binding_is_gone_before_its_works_and_its_successor_waits_for_them() {
    let stage = Stage::new(plan()).await;
    stage.create(policy_with(json!({}))).await;
    stage.create(deployment("web", 2, "100m")).await;
    stage.advance(5).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(60).await;
    stage.control.delete(&super::kind("Deployment"), &stage.get("Deployment", "web").await).await.unwrap();
    stage.settle().await;
    assert!(stage.find("ResourceBinding", "web-deployment").await.is_none());
    assert_eq!(stage.list("Work", "karmada-es-member1").await.len(), 1, "it waits for its cluster");
    stage.create(deployment("web", 3, "100m")).await;
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [2, 3], "the old one runs on where nobody answers");
    stage.fleet.fail("member1", false).unwrap();
    stage.advance(400).await;
    assert_eq!(stage.replicas("web").await, [3, 3]);
}

#[tokio::test]
async fn a_restart_of_karmada_tries_everything_at_once() {
    let stage = running(plan()).await;
    stage.fleet.fail("member1", true).unwrap();
    stage.advance(60).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 8}})).await;
    stage.advance(200).await;
    stage.fleet.fail("member1", false).unwrap();
    stage.advance(45).await;
    assert_eq!((ready(&stage, "member1").await, stage.replicas("web").await), ("True".into(), vec![2, 4]));
    stage.fleet.restart_karmada();
    stage.settle().await;
    assert_eq!(stage.replicas("web").await, [4, 4]);
}
