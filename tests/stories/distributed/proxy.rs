//! Without fhpa's interpreter customization, members are read through the cluster proxy.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, weights};
use crate::stories::Process;

/// Three members that run, whose writes nobody reports any more.
async fn unreported() -> (Stage, Process) {
    let (stage, one) = running().await;
    stage.delete("ResourceInterpreterCustomization", "fhpa-horizontalpodautoscaler-v2").await;
    stage.pass(30).await;
    stage.budget.most();
    (stage, one)
}

fn reads(stage: &Stage) -> u64 {
    stage.fleet.control().faults().count("get", "clusters/proxy")
}

async fn divide(stage: &Stage, by: &[i64]) {
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(by)}})).await;
}

#[tokio::test(start_paused = true)]
async fn members_that_report_are_not_read() {
    let (stage, _one) = running().await;
    assert_eq!(reads(&stage), 3, "before the takeover each was asked for other HPAs");
    divide(&stage, &[3, 2, 1]).await;
    stage.pass(600).await;
    assert_eq!((stage.bounds().await, reads(&stage)), ("1..5 1..4 1..1".into(), 3));
}

#[tokio::test(start_paused = true)]
async fn bounds_go_on_when_members_confirm_by_the_proxy() {
    let (stage, _one) = unreported().await;
    divide(&stage, &[3, 2, 1]).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..5 1..4 1..1", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert_eq!(status["aggregatedStatus"][0]["status"]["conditions"][0]["type"], "AbleToScale", "{status}");
    let before = reads(&stage);
    assert!((4..=15).contains(&before), "{before}");
    stage.pass(600).await;
    assert_eq!(reads(&stage), before, "what is confirmed is read no more");
}

#[tokio::test(start_paused = true)]
async fn what_an_hpa_says_is_read_again_when_its_replicas_change() {
    let (stage, _one) = unreported().await;
    let before = reads(&stage);
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "1 4 5");
    let status: Value = stage.get("FederatedHPA", "web").await["status"].clone();
    assert!(status["aggregatedStatus"][1]["status"]["lastScaleTime"].is_string(), "{status}");
    let after = reads(&stage);
    assert!((1..=12).contains(&(after - before)), "{before} {after}");
    stage.pass(600).await;
    assert_eq!(reads(&stage), after);
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_refuses_is_told_and_asked_rarely() {
    let (stage, _one) = running().await;
    let said =
        "clusters.cluster.karmada.io \"member1\" is forbidden: User \"fhpa\" cannot get resource \"clusters/proxy\"";
    let faults = stage.fleet.control().faults();
    let which = Which { verb: "get".into(), resource: "clusters/proxy".into(), ..Which::default() };
    faults.fail(which, usize::MAX, StatusError::plain(403, "Forbidden", said));
    stage.delete("ResourceInterpreterCustomization", "fhpa-horizontalpodautoscaler-v2").await;
    stage.pass(2).await;
    divide(&stage, &[3, 2, 1]).await;
    stage.pass(20).await;
    let conditions = stage.conditions().await;
    assert_eq!(conditions, ["Assigned=False WaitingForMembers", "Ready=False MemberStatusUnknown"]);
    let messages = stage.messages().await;
    assert!(messages[1].contains("did not confirm") && messages[1].contains("member3"), "{messages:?}");
    assert!(messages[1].contains("the verb \"get\" on \"clusters/proxy\""), "{messages:?}");
    let reads = reads(&stage);
    assert!((4..=19).contains(&reads), "{reads}");
    faults.heal();
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "1..5 1..4 1..1", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_lowered_maximum_is_confirmed_by_the_proxy_before_others_are_raised() {
    let (stage, _one) = unreported().await;
    for (most, bounds) in [(6, "1..1 1..2 1..3"), (9, "1..1 1..3 1..5")] {
        let before = stage.budget.most();
        stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": most}})).await;
        stage.pass(30).await;
        assert_eq!(stage.bounds().await, bounds, "{:?}", stage.messages().await);
        let seen = stage.budget.most();
        assert!(seen <= most.max(before), "{seen}: {}", stage.budget.history());
    }
    divide(&stage, &[1, 3, 2]).await;
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned");
    assert!(stage.budget.most() <= 9, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_dead_member_is_not_read() {
    let (stage, _one) = unreported().await;
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(60).await;
    let before = reads(&stage);
    stage.budget.give_up("member3", true);
    stage.pass(600).await;
    // The others are written and confirmed once.
    let others = reads(&stage) - before;
    assert!(others <= 6, "{others}");
}
