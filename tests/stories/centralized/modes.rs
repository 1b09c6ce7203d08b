//! An object that changes its mode, under load.

use fhpa::decision::defaults::Mode;
use fhpa::decision::validation::Settings;
use fhpa::playground::member::Link;
use serde_json::json;

use super::running;
use crate::stories::Process;
use crate::stories::distributed::{Stage, deployment, weights};

#[tokio::test(start_paused = true)]
async fn a_switch_of_the_mode_waits_three_minutes_for_a_member_that_does_not_answer() {
    let (stage, _one) = running(2, json!({"mode": "Distributed"})).await;
    stage.fleet.cut("member2", Link::Refused).unwrap();
    stage.pass(60).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(170).await;
    assert_eq!(stage.conditions().await[0], "Assigned=False HandingBack");
    assert!(!stage.bounds().await.contains('-'), "nobody loses its HPA before: {}", stage.bounds().await);
    stage.pass(70).await;
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(hpa["metadata"].get("finalizers"), None, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_leaves_the_replicas_that_it_set() {
    let (stage, _one) = running(2, json!({})).await;
    stage.load(500).await;
    stage.until_scale(10, 90).await;
    stage.delete("FederatedHPA", "web").await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    stage.load(50).await;
    stage.pass(900).await;
    assert_eq!(stage.scale().await, 10);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_karmada_ran_waits_until_somebody_says_its_mode() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({"mode": null, "scaleAssist": true})).await;
    let undecided = Settings { mode_is_chosen: false, ..Settings::default() };
    let mut one = Process::start_by(undecided, stage.fleet.control(), "one", &stage.wall);
    one.leads().await;
    stage.pass(60).await;
    assert_eq!(stage.conditions().await, ["Assigned=Unknown ModeUnknown", "Ready=False ModeUnknown"]);
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!((hpa["spec"].get("mode"), hpa["metadata"].get("annotations")), (None, None));
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("suspension"), None);
    one.stop().await;
    let settings = Settings { default_mode: Mode::Centralized, ..Settings::default() };
    let mut two = Process::start_by(settings, stage.fleet.control(), "two", &stage.wall);
    two.leads().await;
    stage.pass(60).await;
    assert_eq!(stage.get("FederatedHPA", "web").await["spec"]["mode"], "Centralized");
}

#[tokio::test(start_paused = true)]
async fn a_stored_field_that_only_distributed_has_decides_for_distributed() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({"mode": null, "scalingToZero": true})).await;
    let settings = Settings { default_mode: Mode::Centralized, ..Settings::default() };
    let mut one = Process::start_by(settings, stage.fleet.control(), "one", &stage.wall);
    one.leads().await;
    stage.pass(60).await;
    assert_eq!(stage.get("FederatedHPA", "web").await["spec"]["mode"], "Distributed");
}

#[tokio::test(start_paused = true)]
async fn what_was_recommended_for_one_workload_removes_no_replica_of_the_next() {
    let (stage, _one) = running(2, json!({})).await;
    stage.pass(300).await;
    stage.create(deployment("shop", 12)).await;
    stage.fleet.load().set("prod", "shop", 150);
    stage.pass(30).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": {"name": "shop"}}})).await;
    stage.pass(240).await;
    let shop = stage.get("Deployment", "shop").await;
    assert_eq!(shop["spec"]["replicas"], 12, "{:?}", stage.messages().await);
    stage.pass(120).await;
    assert_eq!(stage.get("Deployment", "shop").await["spec"]["replicas"], 3, "{:?}", stage.messages().await);
}
