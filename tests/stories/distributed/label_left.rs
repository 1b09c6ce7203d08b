//! What becomes of the label of a workload, and of a binding made anew, while the workload is handed back.

use fhpa::playground::json::{label, text};
use fhpa::playground::member::Link;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, deployment, hpa, kind};
use crate::bed::admission;

const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

/// Reasons and notes of the Events about releases.
async fn told(stage: &Stage) -> Vec<(String, String)> {
    let events = stage.control.list(&kind("Event"), "prod").await.unwrap();
    let said = |event: &Value| (text(event, "/reason").to_owned(), text(event, "/note").to_owned());
    events.iter().map(said).filter(|(reason, _)| reason.starts_with("Released")).collect()
}

async fn labelled(stage: &Stage) -> String {
    label(&stage.get("Deployment", "web").await, LABEL).to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_workload_without_a_binding_is_let_go_without_the_label() {
    let (stage, _one) = running().await;
    stage.delete("PropagationPolicy", "web").await;
    stage.pass(5).await;
    stage.delete("ResourceBinding", "web-deployment").await;
    stage.pass(5).await;
    assert!(stage.find("ResourceBinding", "web-deployment").await.is_none());
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    assert_eq!(labelled(&stage).await, "");
    let told = told(&stage).await;
    assert!(told.iter().all(|(reason, _)| reason == "Released"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_binding_somebody_else_resumed_says_that_the_label_stays() {
    let (stage, one) = running().await;
    one.stop().await;
    let marks = json!({"fhpa.karmada.io/suspended-for": null});
    let resumed = json!({"metadata": {"annotations": marks}, "spec": {"suspension": {"scheduling": null}}});
    stage.delete("FederatedHPA", "web").await;
    stage.patch("ResourceBinding", "web-deployment", resumed).await;
    let _one = stage.leads("two").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    assert_eq!(labelled(&stage).await, "true");
    let told = told(&stage).await;
    let (reason, note) = told.last().expect("an Event");
    assert_eq!(reason, "ReleasedIncompletely", "{told:?}");
    assert!(note.contains("Deployment prod/web keeps the label") && note.contains("remove it once"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_label_that_the_users_manifest_has_is_told_to_stay() {
    let (stage, _one) = running().await;
    let api: Api<Deployment> = Api::namespaced(stage.fleet.control().client(), "prod");
    let own =
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "labels": {LABEL: "true"}}});
    api.patch("web", &PatchParams::apply("argocd"), &Patch::Apply(&own)).await.unwrap();
    stage.pass(10).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    assert_eq!(labelled(&stage).await, "true", "it is the user's");
    assert!(!stage.suspended().await);
    let told = told(&stage).await;
    let (reason, note) = told.last().expect("an Event");
    assert_eq!(reason, "ReleasedIncompletely", "{told:?}");
    assert!(note.contains(LABEL) && note.contains("argocd") && note.contains("remove it"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_is_made_anew_while_its_workload_is_handed_back_is_kept_from_the_scheduler() {
    let elsewhere = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}});
    for change in [json!({"mode": "Centralized"}), elsewhere] {
        let (stage, one) = running().await;
        let _webhook = admission::webhook(stage.fleet.control());
        stage.create(deployment("other", 2)).await;
        // The hand-back waits for a member that does not answer.
        stage.fleet.cut("member3", Link::Refused).unwrap();
        stage.pass(60).await;
        stage.patch("FederatedHPA", "web", json!({"spec": change})).await;
        stage.pass(20).await;
        assert_eq!(stage.conditions().await[0], "Assigned=False HandingBack");
        // Nobody else suspends it.
        one.stop().await;
        stage.delete("ResourceBinding", "web-deployment").await;
        stage.pass(20).await;
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        assert_eq!(binding["spec"]["suspension"]["scheduling"], true, "{change}");
        assert_eq!(binding["metadata"]["annotations"]["fhpa.karmada.io/suspended-for"], "web", "{change}");
        let _one = stage.leads("two").await;
        stage.fleet.cut("member3", Link::Up).unwrap();
        stage.pass(600).await;
        assert!(!stage.suspended().await, "{change}: {:?}", stage.messages().await);
        assert_eq!(labelled(&stage).await, "", "{change}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_comes_for_a_workload_that_is_handed_back_is_told_to_wait() {
    let (stage, _one) = running().await;
    stage.create(deployment("other", 2)).await;
    let mut next = hpa(2, 10, json!({}));
    next["metadata"]["name"] = json!("next");
    stage.create(next).await;
    stage.fleet.cut("member3", Link::Refused).unwrap();
    stage.pass(60).await;
    let message = async || text(&stage.get("FederatedHPA", "next").await, "/status/conditions/0/message").to_owned();
    assert!(message().await.contains("scales this workload already: delete one of them"), "{}", message().await);
    let elsewhere = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}});
    stage.patch("FederatedHPA", "web", json!({"spec": elsewhere})).await;
    stage.pass(20).await;
    assert_eq!(message().await, "FederatedHPA prod/web hands this workload back first: wait, nothing is to be done");
    stage.fleet.cut("member3", Link::Up).unwrap();
    stage.pass(120).await;
    assert!(message().await.starts_with("member1 1..1"), "{}", message().await);
}
