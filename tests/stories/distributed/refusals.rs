//! What fails for a part of a workload holds back nothing else: its template, or one cluster.

use embedded_apiserver::status::StatusError;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, deployment, kind, plan, weights};
use crate::stories::which;

fn unconverted() -> StatusError {
    StatusError::plain(500, "InternalError", "conversion webhook for apps/v1, Kind=Deployment failed")
}

#[tokio::test(start_paused = true)]
async fn a_template_that_cannot_be_read_keeps_a_new_leader_from_no_failover() {
    let (stage, one) = running().await;
    let mut two = stage.controller("two");
    let faults = stage.fleet.control().faults();
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    one.stop().await;
    two.leads().await;
    stage.budget.most();
    stage.budget.give_up("member3", true);
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(420).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=2");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False Unreachable"]);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    faults.heal();
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[1], "Ready=False MembersUnreachable", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_hand_back_that_fails_for_a_while_goes_on_under_the_next_leader_also_when_its_object_is_suspended() {
    let (stage, one) = running().await;
    stage.create(deployment("other", 1)).await;
    stage.pass(5).await;
    let faults = stage.fleet.control().faults();
    stage.fleet.lag(SignedDuration::from_secs(20));
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": {"name": "other"}}})).await;
    stage.pass(5).await;
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    stage.pass(60).await;
    assert_eq!(stage.conditions().await, ["Assigned=False Unreachable", "Ready=False Unreachable"]);
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert!(status["handBackStartTime"].is_string(), "{status}");
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    one.kill().await;
    let _two = stage.leads("two").await;
    faults.heal();
    stage.pass(120).await;
    assert!(!stage.suspended().await, "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=False Suspended", "Ready=False Suspended"]);
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_label_was_refused_from_the_beginning_is_not_scaled() {
    let stage = Stage::with(plan(2)).await;
    stage.web(2, weights(&[1, 1])).await;
    let _one = stage.leads("one").await;
    let faults = stage.fleet.control().faults();
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    stage.hpa(2, 10, json!({})).await;
    stage.pass(120).await;
    assert_eq!((stage.bounds().await, stage.entries().await), ("- -".into(), "member1=1 member2=1".into()));
    assert_eq!(stage.conditions().await[1], "Ready=False Unreachable", "{:?}", stage.messages().await);
    faults.heal();
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
}

/// Longer than a cluster that leaves is waited for.
#[tokio::test(start_paused = true)]
async fn the_wait_for_a_replacement_begins_with_the_takeover() {
    let stage = Stage::with(plan(3)).await;
    stage.web(9, weights(&[1, 1, 1])).await;
    let _one = stage.leads("one").await;
    let faults = stage.fleet.control().faults();
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    let steady = json!({"selectPolicy": "Disabled"});
    let two = json!({"clusterNames": ["member1", "member2"]});
    stage.hpa(3, 9, json!({"behavior": {"scaleDown": steady}, "clusterAffinity": two})).await;
    stage.pass(700).await;
    assert_eq!(stage.conditions().await[1], "Ready=False Unreachable", "{:?}", stage.messages().await);
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert!(status["clusterHPADesired"].is_null(), "nothing is decided of what is not taken over: {status}");
    faults.heal();
    let mut least = 9;
    for _ in 0..60 {
        stage.pass(2).await;
        let replicas = stage.replicas().await;
        least = least.min(replicas.split(' ').filter_map(|replicas| replicas.parse::<i32>().ok()).sum());
    }
    assert!(least >= 8, "one at a time, where there is no headroom: {least}");
    assert!(!stage.entries().await.contains("member3"), "{:?}", stage.messages().await);
}

/// The Work with the HPA of a cluster.
async fn work(stage: &Stage, cluster: &str) -> Value {
    let works = stage.control.list(&kind("Work"), &format!("karmada-es-{cluster}")).await.unwrap();
    let is_hpa =
        |work: &&Value| work.pointer("/spec/workload/manifests/0/kind") == Some(&json!("HorizontalPodAutoscaler"));
    works.iter().find(is_hpa).cloned().unwrap()
}

/// Equal weights over these members.
fn over(clusters: &[&str]) -> Value {
    let mut placement = weights(&[1, 1, 1]);
    placement["clusterAffinity"] = json!({"clusterNames": clusters});
    placement
}

#[tokio::test(start_paused = true)]
async fn a_new_cluster_whose_namespace_is_missing_holds_back_no_other_one() {
    let stage = Stage::with(plan(3)).await;
    stage.web(4, over(&["member2", "member3"])).await;
    let _one = stage.leads("one").await;
    stage.hpa(3, 12, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "- 2..6 1..6", "{:?}", stage.messages().await);
    let faults = stage.fleet.control().faults();
    let details = json!({"kind": "namespaces", "name": "karmada-es-member1"});
    let mut missing = StatusError::plain(404, "NotFound", "namespaces \"karmada-es-member1\" not found");
    missing.details = Some(details);
    faults.fail(which("create", "works"), usize::MAX, missing);
    stage
        .patch("PropagationPolicy", "web", json!({"spec": {"placement": over(&["member1", "member2", "member3"])}}))
        .await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "- 1..4 1..4", "{:?}", stage.messages().await);
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 30}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "- 1..10 1..10", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member2=2 member3=2");
    assert_eq!(stage.conditions().await[1], "Ready=False NotFound", "{:?}", stage.messages().await);
    let said = "namespace karmada-es-member1 does not exist, and Work karmada-es-member1/";
    assert!(stage.messages().await[1].starts_with(said), "{:?}", stage.messages().await);
    faults.heal();
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..10 1..10 1..10", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_work_that_changes_meanwhile_holds_back_no_other_one_and_is_no_failure() {
    let (stage, _one) = running().await;
    let window = async |cluster: &str| {
        let spec = "/spec/workload/manifests/0/spec/behavior/scaleDown/stabilizationWindowSeconds";
        work(&stage, cluster).await.pointer(spec).cloned()
    };
    let frozen = stage.fleet.control().faults().freeze("works");
    let changed = work(&stage, "member1").await;
    let label = json!({"metadata": {"labels": {"example.com/seen": "true"}}});
    stage.control.merge(&kind("Work"), &changed, "", &label).await.unwrap();
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 77}});
    stage.patch("FederatedHPA", "web", json!({"spec": {"behavior": behavior}})).await;
    stage.pass(1).await;
    for (cluster, seconds) in [("member1", None), ("member2", Some(json!(77))), ("member3", Some(json!(77)))] {
        assert_eq!(window(cluster).await, seconds, "{cluster}");
    }
    drop(frozen);
    stage.pass(10).await;
    assert_eq!(window("member1").await, Some(json!(77)), "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert_eq!(stage.warnings("Conflict").await, 0);
}
