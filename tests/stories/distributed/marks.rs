//! Bindings that were suspended for a FederatedHPA that does not act on them are handed back.

use embedded_apiserver::status::StatusError;
use fhpa::decision::validation::Settings;
use fhpa::playground::json::{annotation, label};
use fhpa::run::hand_back::LeaseHold;
use fhpa::runtime::leader::activity::LeaseLocation;
use serde_json::{Value, json};

use super::{Stage, deployment, hpa, policy, weights};
use crate::bed::admission;
use crate::stories::which;

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(120);

const MARK: &str = "fhpa.karmada.io/suspended-for";

/// Everything but a controller: a FederatedHPA, then its workload, whose binding is suspended when it is made.
async fn suspended_at_birth() -> (Stage, tokio::task::JoinSet<()>) {
    let stage = Stage::new(2).await;
    let webhook = admission::webhook(stage.fleet.control());
    stage.pass(2).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(2).await;
    stage.web(4, weights(&[1, 1])).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((binding["spec"]["suspension"]["scheduling"].clone(), annotation(&binding, MARK)), (json!(true), "web"));
    assert_eq!(stage.replicas().await, "- -", "nobody schedules it");
    (stage, webhook)
}

/// The binding is scheduled by Karmada again, and nothing of ours is on it.
async fn is_karmadas(stage: &Stage) {
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((&binding["spec"]["suspension"]["scheduling"], annotation(&binding, MARK)), (&Value::Null, ""));
    let web = stage.get("Deployment", "web").await;
    assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "");
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
}

#[tokio::test(start_paused = true)]
async fn a_new_workload_that_cannot_be_checked_runs_by_karmada_after_a_minute() {
    let (stage, _webhook) = suspended_at_birth().await;
    let mut one = stage.controller("one");
    let faults = stage.fleet.control().faults();
    let down = StatusError::plain(500, "InternalError", "an admission webhook of somebody else does not answer");
    faults.fail(which("patch", "deployments"), usize::MAX, down);
    one.leads().await;
    stage.pass(20).await;
    assert_eq!(stage.replicas().await, "- -", "what fails for a moment divides nothing");
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
    assert_eq!(stage.conditions().await[1], "Ready=False Unreachable", "{:?}", stage.messages().await);
    faults.heal();
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..5 1..5".into(), "2 2".into()));
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_gives_back_what_nobody_served() {
    let (stage, _webhook) = suspended_at_birth().await;
    stage.delete("FederatedHPA", "web").await;
    let place = LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() };
    let client = stage.fleet.control().client();
    let hold = LeaseHold::take(client, place, "uninstall".into(), stage.wall.clock(), PATIENCE, |_| {}).await.unwrap();
    let back = hold.hand_back(Settings::default(), PATIENCE).await.unwrap();
    assert_eq!((back.done, back.left), (vec!["prod/web".to_owned()], Vec::new()));
    stage.pass(30).await;
    is_karmadas(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_turned_away_before_it_was_held_leaves_no_binding_suspended() {
    for turned in [
        json!({"mode": "Centralized"}),
        json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"}}),
    ] {
        let (stage, _webhook) = suspended_at_birth().await;
        stage.patch("FederatedHPA", "web", json!({"spec": turned})).await;
        let _one = stage.leads("one").await;
        stage.pass(30).await;
        is_karmadas(&stage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_knows_an_object_that_is_gone_suspends_nothing_for_long() {
    let stage = Stage::new(2).await;
    let webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(5).await;
    // It learns no more.
    drop(webhook);
    stage.delete("FederatedHPA", "web").await;
    stage.pass(5).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    stage.create(policy(weights(&[1, 1]))).await;
    stage.create(deployment("web", 4)).await;
    stage.pass(30).await;
    is_karmadas(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_loses_its_finalizer_by_force_leaves_neither_hpas_nor_a_suspended_binding() {
    let (stage, one) = Stage::divided(4, &[1, 1]).await;
    stage.hpa(2, 10, json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5");
    one.kill().await;
    stage.patch("FederatedHPA", "web", json!({"metadata": {"finalizers": null}})).await;
    stage.delete("FederatedHPA", "web").await;
    let _two = stage.leads("two").await;
    stage.pass(60).await;
    is_karmadas(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_comes_while_its_object_is_deleted_is_not_left_suspended() {
    let stage = Stage::new(2).await;
    let _webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    let mut held = hpa(2, 10, json!({}));
    held["metadata"]["finalizers"] = json!(["example.com/slow"]);
    stage.create(held).await;
    stage.create(policy(weights(&[1, 1]))).await;
    stage.pass(5).await;
    stage.create(deployment("web", 4)).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_karmadas(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_suspended_for_an_object_that_acts_stays_so() {
    let (stage, _webhook) = suspended_at_birth().await;
    let _one = stage.leads("one").await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((binding["spec"]["suspension"]["scheduling"].clone(), annotation(&binding, MARK)), (json!(true), "web"));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_suspended_before_it_took_its_workload_over_leaves_no_binding_suspended() {
    let (stage, _webhook) = suspended_at_birth().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    let _one = stage.leads("one").await;
    stage.pass(30).await;
    is_karmadas(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_yields_to_one_that_does_not_divide_leaves_no_binding_suspended() {
    for older in [json!({"mode": "Centralized"}), json!({"suspend": true})] {
        let stage = Stage::new(2).await;
        let _webhook = admission::webhook(stage.fleet.control());
        let _one = stage.leads("one").await;
        stage.hpa(2, 10, older).await;
        stage.pass(5).await;
        let mut younger = hpa(2, 10, json!({}));
        younger["metadata"]["name"] = json!("younger");
        stage.create(younger).await;
        stage.pass(5).await;
        stage.web(4, weights(&[1, 1])).await;
        stage.pass(30).await;
        is_karmadas(&stage).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_yields_to_one_that_divides_leaves_the_binding_to_it() {
    let (stage, _webhook) = suspended_at_birth().await;
    let mut younger = hpa(2, 10, json!({}));
    younger["metadata"]["name"] = json!("a-younger");
    stage.create(younger).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"metadata": {"annotations": {MARK: "a-younger"}}})).await;
    let _one = stage.leads("one").await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((binding["spec"]["suspension"]["scheduling"].clone(), annotation(&binding, MARK)), (json!(true), "web"));
}
