//! Who writes a whole workload, or takes the label from it, ends no pod (docs/design.md#on-the-wire).

use fhpa::playground::json::label;
use fhpa::playground::member::Link;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, deployment};
use crate::bed::admission;

const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

/// Writes the whole Deployment `web` as a user has it, without the label.
async fn replace(stage: &Stage) {
    let api: Api<Deployment> = Api::namespaced(stage.fleet.control().client(), "prod");
    let whole: Deployment = serde_json::from_value(deployment("web", 3)).unwrap();
    api.replace("web", &PostParams { field_manager: Some("user".into()), ..PostParams::default() }, &whole)
        .await
        .unwrap();
}

/// The replicas of all members together.
async fn total(stage: &Stage) -> i32 {
    stage.replicas().await.split(' ').map(|one| one.parse().unwrap_or(0)).sum()
}

/// The fewest replicas of all members together within so many seconds.
pub async fn fewest(stage: &Stage, seconds: u64) -> i32 {
    let mut fewest = i32::MAX;
    for _ in 0..seconds * 5 {
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        fewest = fewest.min(total(stage).await);
    }
    fewest
}

/// The label of the template, and its owners.
async fn label_and_owners(stage: &Stage) -> (String, Vec<String>) {
    let web = stage.get("Deployment", "web").await;
    let owners = web["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let owns = |owner: &&Value| owner["fieldsV1"]["f:metadata"]["f:labels"][format!("f:{LABEL}")].is_object();
    let names = owners.iter().filter(owns).map(|owner| owner["manager"].as_str().unwrap().to_owned()).collect();
    (label(&web, LABEL).to_owned(), names)
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_was_replaced_is_handed_back_without_the_label() {
    let (stage, _one) = running().await;
    let _webhook = admission::webhook(stage.fleet.control());
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(60).await;
    replace(&stage).await;
    stage.delete("FederatedHPA", "web").await;
    assert_eq!(fewest(&stage, 60).await, 10);
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert_eq!(label_and_owners(&stage).await, (String::new(), Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_is_replaced_while_it_is_handed_back_keeps_its_pods() {
    let elsewhere = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}});
    for change in [json!({"mode": "Centralized"}), elsewhere] {
        let (stage, _one) = running().await;
        let _webhook = admission::webhook(stage.fleet.control());
        stage.create(deployment("other", 2)).await;
        stage.fleet.load().set("prod", "web", 3_000);
        stage.pass(60).await;
        // The hand-back waits for a member that does not answer.
        stage.fleet.cut("member3", Link::Refused).unwrap();
        stage.pass(60).await;
        stage.patch("FederatedHPA", "web", json!({"spec": change})).await;
        stage.pass(20).await;
        assert_eq!(stage.conditions().await[0], "Assigned=False HandingBack");
        for _ in 0..5 {
            replace(&stage).await;
            assert_eq!(label(&stage.get("Deployment", "web").await, LABEL), "true", "{change}");
            assert_eq!(fewest(&stage, 3).await, 10, "{change}");
        }
        stage.fleet.cut("member3", Link::Up).unwrap();
        assert_eq!(fewest(&stage, 120).await, 10, "{change}: {:?}", stage.messages().await);
        assert_eq!(label_and_owners(&stage).await, (String::new(), Vec::new()), "{change}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_nobody_scales_is_the_users_own() {
    let (stage, _one) = running().await;
    let _webhook = admission::webhook(stage.fleet.control());
    let mut other = deployment("other", 2);
    other["metadata"]["labels"] = json!({LABEL: "true"});
    stage.create(other).await;
    let api: Api<Deployment> = Api::namespaced(stage.fleet.control().client(), "prod");
    let unlabel = json!({"metadata": {"labels": {LABEL: null}}});
    api.patch("other", &PatchParams::default(), &Patch::Merge(&unlabel)).await.unwrap();
    assert_eq!(label(&stage.get("Deployment", "other").await, LABEL), "");
}

#[tokio::test(start_paused = true)]
async fn while_no_webhook_answers_no_more_is_lost_than_the_last_minute_brought() {
    let (stage, _one) = running().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    assert_eq!(
        (stage.replicas().await, stage.entries().await),
        ("1 4 5".into(), "member1=1 member2=4 member3=5".into())
    );
    replace(&stage).await;
    assert_eq!(fewest(&stage, 30).await, 10);
}

#[tokio::test(start_paused = true)]
async fn entries_follow_what_runs_once_a_minute_and_then_rest() {
    let (stage, _one) = running().await;
    stage.pass(120).await;
    let generation = async || stage.get("ResourceBinding", "web-deployment").await["metadata"]["generation"].clone();
    let before = generation().await.as_i64().unwrap();
    for load in [600, 1_200, 1_800, 2_400, 3_000, 3_000] {
        stage.fleet.load().set("prod", "web", load);
        stage.pass(20).await;
    }
    stage.pass(70).await;
    let after = generation().await.as_i64().unwrap();
    assert_eq!(stage.entries().await, "member1=1 member2=4 member3=5");
    assert!((1..=4).contains(&(after - before)), "{before} to {after} within 190 seconds");
    stage.pass(600).await;
    assert_eq!(generation().await.as_i64(), Some(after), "nothing changes, and nothing is written");
}
