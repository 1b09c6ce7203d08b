//! Clusters that fail, return and leave; late writes of the scheduler.

use embedded_apiserver::faults::Moment;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::items;
use fhpa::playground::karmada;
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, plan, weights};
use crate::stories::{Process, which};

#[tokio::test(start_paused = true)]
async fn a_failed_cluster_gives_its_share_to_the_others_and_gets_it_back() {
    let (stage, _one) = running().await;
    stage.budget.most();
    stage.budget.give_up("member3", true);
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(300).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "it is waited for: {:?}", stage.messages().await);
    stage.pass(100).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=2");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False MembersUnreachable"]);
    stage.fleet.fail("member3", false).unwrap();
    stage.pass(420).await;
    stage.budget.give_up("member3", false);
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=1 member3=1");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

/// Three members that run four each and whose HPAs do not scale by themselves.
pub async fn unmoved(more: Value) -> (Stage, Process) {
    let stage = Stage::new(3).await;
    stage.web(12, weights(&[1, 1, 1])).await;
    let one = stage.leads_by_room("one").await;
    stage.fleet.load().set("prod", "web", 600);
    let never = json!({"selectPolicy": "Disabled"});
    let mut spec = json!({"behavior": {"scaleUp": never, "scaleDown": never},
        "federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    stage.hpa(3, 30, spec).await;
    stage.pass(30).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..10 1..10 1..10".into(), "4 4 4".into()));
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_right_after_a_failure_is_followed_by_one_that_replaces_once() {
    let (stage, one) = unmoved(json!({})).await;
    let mut two = stage.controller_by_room("two");
    stage.fleet.fail("member3", true).unwrap();
    // It is silent, and then its time is over: what it ran is noted before anything else.
    stage.pass(300).await;
    let mut held = stage.fleet.control().faults().hold(which("patch", "federatedhpas/status"), Moment::Answered);
    held.reached().await;
    one.kill().await;
    drop(held);
    two.leads().await;
    stage.pass(90).await;
    assert_eq!(stage.replicas().await, "6 6 4", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn without_assist_what_a_failed_cluster_ran_is_replaced_all_the_same() {
    let (stage, _one) = unmoved(json!({"scaleAssist": false})).await;
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(400).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("6..15 6..15 1..10".into(), "6 6 4".into()));
}

#[tokio::test(start_paused = true)]
async fn karmadas_own_failover_beside_ours_ends_the_same_way() {
    let karmada = karmada::Timing { failover: true, ..karmada::Timing::default() };
    let stage = Stage::with(Plan { karmada, ..plan(3) }).await;
    stage.web(3, weights(&[1, 2, 3])).await;
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    stage.budget.give_up("member3", true);
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(90).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=2");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert!(items(&binding, "/spec/gracefulEvictionTasks").is_empty(), "the eviction ended: {binding}");
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_tolerated_keeps_its_bounds_while_it_is_silent() {
    let stage = Stage::new(2).await;
    let mut placement = weights(&[1, 1]);
    placement["clusterTolerations"] = json!([{"key": "cluster.karmada.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]);
    stage.web(2, placement).await;
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    stage.fleet.fail("member2", true).unwrap();
    stage.pass(120).await;
    assert_eq!(stage.entries().await, "member1=1 member2=1");
    assert_eq!(stage.bounds().await, "1..5 1..5");
    assert_eq!(stage.conditions().await[1], "Ready=False MembersUnreachable");
    stage.budget.give_up("member2", true);
    stage.pass(300).await;
    assert_eq!(stage.bounds().await, "2..10 1..5", "the toleration ended: {:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=2");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_deleted_gives_its_share_to_the_others() {
    let (stage, _one) = running().await;
    stage.budget.most();
    stage.budget.give_up("member3", true);
    stage.delete("Cluster", "member3").await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 -", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=2");
    assert!(stage.find("Cluster", "member3").await.is_none());
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn while_most_clusters_are_lost_at_once_nothing_fails_over() {
    let (stage, _one) = running().await;
    for cluster in ["member1", "member2", "member3"] {
        stage.fleet.fail(cluster, true).unwrap();
    }
    stage.pass(900).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5");
    assert_eq!(stage.entries().await, "member1=1 member2=1 member3=1");
    assert_eq!(stage.conditions().await[1], "Ready=False MembersUnreachable");
    let conditions = stage.all_conditions().await;
    assert!(conditions.contains(&"FailoverPaused=True TooManyClustersNotReady".to_owned()), "{conditions:?}");
    assert_eq!(stage.warnings("TooManyClustersNotReady").await, 1);
    for cluster in ["member1", "member2", "member3"] {
        stage.fleet.fail(cluster, false).unwrap();
    }
    stage.pass(120).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..1 1..4 1..5".into(), "1 1 1".into()));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert!(stage.all_conditions().await.contains(&"FailoverPaused=False ClustersReady".to_owned()), "it is over");
}

#[tokio::test(start_paused = true)]
async fn of_two_clusters_that_were_lost_at_once_the_second_to_return_is_waited_for_anew() {
    let (stage, _one) = Stage::divided(2, &[1, 1]).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.fail(cluster, true).unwrap();
    }
    stage.pass(900).await;
    let conditions = stage.all_conditions().await;
    assert!(conditions.contains(&"FailoverPaused=True TooManyClustersNotReady".to_owned()), "{conditions:?}");
    stage.fleet.fail("member1", false).unwrap();
    stage.pass(120).await;
    assert_eq!(stage.entries().await, "member1=1 member2=1", "{:?}", stage.messages().await);
    stage.fleet.fail("member2", false).unwrap();
    stage.pass(120).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..5 1..5".into(), "1 1".into()));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_pause_of_failover_is_known_to_the_next_leader() {
    let (stage, one) = running().await;
    for cluster in ["member1", "member2", "member3"] {
        stage.fleet.fail(cluster, true).unwrap();
    }
    stage.pass(900).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.fail(cluster, false).unwrap();
    }
    stage.pass(60).await;
    let resumed = stage.get("FederatedHPA", "web").await["status"]["lastFailoverResumeTime"].clone();
    assert!(resumed.is_string(), "{:?}", stage.messages().await);
    one.kill().await;
    let _two = stage.leads("two").await;
    stage.pass(60).await;
    assert_eq!(stage.entries().await, "member1=1 member2=1 member3=1", "{:?}", stage.messages().await);
    stage.pass(400).await;
    assert!(!stage.entries().await.contains("member3"), "{:?}", stage.messages().await);
    assert_eq!(stage.get("FederatedHPA", "web").await["status"]["lastFailoverResumeTime"], resumed);
}

#[tokio::test(start_paused = true)]
async fn the_late_word_of_the_scheduler_is_repaired() {
    let (stage, _one) = running().await;
    let clusters = json!([{"name": "member1", "replicas": 9}, {"name": "member3", "replicas": 1}]);
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"clusters": clusters}})).await;
    stage.pass(5).await;
    assert_eq!(stage.entries().await, "member1=1 member2=1 member3=1", "{:?}", stage.messages().await);
    stage.pass(30).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..1 1..4 1..5".into(), "1 1 1".into()));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_the_template_is_answered_like_the_scheduler_does() {
    let (stage, _one) = running().await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 30}, "metadata": {"annotations": {"a": "b"}}})).await;
    stage.pass(10).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["status"]["schedulerObservedGeneration"], binding["metadata"]["generation"]);
    assert_eq!(
        (stage.entries().await, stage.replicas().await),
        ("member1=1 member2=1 member3=1".into(), "1 1 1".into())
    );
}
