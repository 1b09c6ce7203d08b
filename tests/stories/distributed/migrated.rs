//! Objects that Karmada's own controller ran before: it owns fields of their status.

use fhpa::decision::validation::Settings;
use fhpa::playground::json::{items, text};
use serde_json::{Value, json};

use super::release::{PATIENCE, all_of_it, taken};
use super::{Stage, deployment, weights};
use crate::bed::upstream;
use crate::stories::Process;

impl Stage {
    /// Karmada's own controller writes the status of `web`.
    async fn karmada_writes(&self) {
        upstream::writes(self.fleet.control().client(), "web", 4).await.unwrap();
    }

    /// Managers of the status.
    async fn owners(&self) -> Vec<String> {
        let hpa = self.get("FederatedHPA", "web").await;
        let entries = items(&hpa, "/metadata/managedFields").iter();
        let of_status = entries.filter(|entry| text(entry, "/subresource") == "status");
        of_status.map(|entry| text(entry, "/manager").to_owned()).collect()
    }
}

/// An object that Karmada's controller ran until now, in two clusters, and its new controller.
async fn migrated() -> (Stage, Process) {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.karmada_writes().await;
    stage.pass(2).await;
    let one = stage.leads("one").await;
    stage.pass(10).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn the_status_of_karmadas_controller_is_replaced_as_a_whole() {
    let (stage, _one) = migrated().await;
    stage.pass(20).await;
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert_eq!(status.get("lastScaleTime"), None, "no member has scaled yet: {status}");
    assert_eq!(stage.all_conditions().await.len(), 5, "{:?}", stage.all_conditions().await);
    stage.pass(600).await;
    let quiet = stage.get("FederatedHPA", "web").await["metadata"]["resourceVersion"].clone();
    stage.pass(120).await;
    assert_eq!(stage.get("FederatedHPA", "web").await["metadata"]["resourceVersion"], quiet, "and is left alone then");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_karmada_ran_is_let_go_at_its_deletion_and_for_another_workload() {
    let (stage, _one) = migrated().await;
    stage.create(deployment("other", 1)).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": {"name": "other"}}})).await;
    stage.pass(30).await;
    let taken = |hpa: &Value| text(hpa, "/metadata/annotations/fhpa.karmada.io~1workload").to_owned();
    assert_eq!(taken(&stage.get("FederatedHPA", "web").await), "apps/v1 Deployment other");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    stage.karmada_writes().await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(30).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_karmada_ran_becomes_centralized() {
    let (stage, _one) = migrated().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(30).await;
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(hpa["metadata"].get("finalizers"), None, "{:?}", stage.conditions().await);
    assert_eq!(stage.condition("Ready").await.0, "True TargetReady");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_karmada_ran_keeps_no_uninstallation() {
    let (stage, _one) = migrated().await;
    let (hold, _) = taken(&stage).await;
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    hold.park().await.unwrap();
    assert_eq!(stage.conditions().await, ["Assigned=False HandedBack", "Ready=False HandedBack"]);
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert_eq!((status.get("currentReplicas"), status.get("currentMetrics")), (None, None), "{status}");
}

#[tokio::test(start_paused = true)]
async fn karmadas_controller_that_was_switched_off_before_is_no_reason_to_wait() {
    let (stage, _one) = migrated().await;
    assert!(stage.owners().await.contains(&"fhpa-status".to_owned()));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn karmadas_controller_counts_as_running_while_it_writes_and_for_two_of_its_periods() {
    let (stage, _one) = migrated().await;
    for _ in 0..8 {
        stage.karmada_writes().await;
        for _ in 0..3 {
            stage.pass(5).await;
            assert_eq!(stage.conditions().await[1], "Ready=False UpstreamControllersRunning");
        }
    }
    stage.pass(20).await;
    assert_eq!(stage.conditions().await[1], "Ready=True MemberHPAsReady");
}

#[tokio::test(start_paused = true)]
async fn the_next_leader_has_seen_that_karmadas_controller_writes() {
    let (stage, one) = migrated().await;
    let mut two = stage.controller("two");
    stage.pass(5).await;
    stage.karmada_writes().await;
    stage.pass(5).await;
    one.stop().await;
    two.leads().await;
    stage.pass(2).await;
    assert_eq!(stage.conditions().await[1], "Ready=False UpstreamControllersRunning", "{:?}", stage.messages().await);
    stage.pass(40).await;
    assert_eq!(stage.conditions().await[1], "Ready=True MemberHPAsReady");
}
