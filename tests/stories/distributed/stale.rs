//! A new leader whose watches lag behind what its predecessor knew (docs/controller.md#new-leaders).

use std::sync::Arc;

use fhpa::playground::json::items;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use serde_json::json;

use super::help::work;
use super::{Stage, weights};
use crate::histories::flaky::Way;
use crate::laws::embedded::Watched;
use crate::stories::Process;

fn duplicated() -> serde_json::Value {
    json!({"replicaScheduling": {"replicaSchedulingType": "Duplicated"}})
}

/// A leader, and one that stands by and reads the control plane on its own way.
async fn pair() -> (Stage, Watched, Way, [Process; 2]) {
    let (stage, watched) = Stage::watched(2).await;
    stage.web(3, duplicated()).await;
    let one = stage.leads("one").await;
    let way = Way::default();
    let client = way.over(stage.fleet.control().client());
    let two = Process::start_over(client, "two", &stage.wall, Arc::new(Rooms::default()));
    stage.hpa(2, 10, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Duplicated"}})).await;
    stage.pass(45).await;
    assert_eq!(stage.bounds().await, "2..10 2..10");
    way.stale(Some(""));
    (stage, watched, way, [one, two])
}

/// The second leads, still with the watches from before.
async fn follows(stage: &Stage, one: Process, two: &mut Process) {
    one.kill().await;
    two.leads().await;
    stage.pass(45).await;
}

/// `maxReplicas` of the members' HPAs.
async fn maxima(stage: &Stage) -> Vec<String> {
    let bounds = stage.bounds().await;
    bounds.split(' ').map(|bounds| bounds.rsplit("..").next().unwrap().to_owned()).collect()
}

/// The predecessor divides ten by three to two, and the second, which does not know why, leaves that.
async fn keeps_six_and_four(stage: &Stage, watched: &Watched, one: Process, mut two: Process) {
    stage.pass(45).await;
    assert_eq!(maxima(stage).await, ["6", "4"]);
    follows(stage, one, &mut two).await;
    assert_eq!(maxima(stage).await, ["6", "4"]);
    assert_eq!(watched.broken(), vec![]);
    two.kill().await;
}

#[tokio::test(start_paused = true)]
async fn it_writes_no_bounds_of_the_policy_from_before() {
    let (stage, watched, _way, [one, two]) = pair().await;
    let assignment = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
        {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 3},
        {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 2}]});
    stage.patch("FederatedHPA", "web", json!({"spec": {"federatedHPAAssignment": assignment}})).await;
    keeps_six_and_four(&stage, &watched, one, two).await;
}

#[tokio::test(start_paused = true)]
async fn it_divides_by_the_placement_that_its_predecessor_followed() {
    let (stage, watched, _way, [one, two]) = pair().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"federatedHPAAssignment": null}})).await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[3, 2])}})).await;
    keeps_six_and_four(&stage, &watched, one, two).await;
}

#[tokio::test(start_paused = true)]
async fn it_does_not_take_up_again_what_its_predecessor_handed_back() {
    let (stage, watched, way, [one, mut two]) = pair().await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(45).await;
    assert_eq!(stage.bounds().await, "- -");
    follows(&stage, one, &mut two).await;
    way.stale(None);
    for _ in 0..20 {
        stage.pass(1).await;
        assert_eq!(stage.bounds().await, "- -");
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        assert_ne!(binding["spec"]["suspension"]["scheduling"], true, "{binding}");
        assert!(items(&binding, "/metadata/finalizers").iter().all(|one| !one.to_string().contains("fhpa")));
    }
    assert_eq!(watched.broken(), vec![]);
    two.kill().await;
}

#[tokio::test(start_paused = true)]
async fn it_keeps_an_object_that_was_made_anew_when_its_watch_reports_the_deletion_of_the_first() {
    let (stage, watched, way, [one, mut two]) = pair().await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(45).await;
    stage.hpa(3, 8, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Duplicated"}})).await;
    stage.pass(45).await;
    assert_eq!(stage.bounds().await, "3..8 3..8");
    follows(&stage, one, &mut two).await;
    assert_eq!(stage.bounds().await, "3..8 3..8");
    way.stale(None);
    for _ in 0..20 {
        stage.pass(1).await;
        assert_eq!(stage.bounds().await, "3..8 3..8");
    }
    assert_eq!(watched.broken(), vec![]);
    two.kill().await;
}

/// The HPAs of members add pods, and their Works tell of it while the binding, which is late, does not.
#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_while_only_the_binding_is_late_keeps_what_its_hpa_added() {
    let (stage, watched) = Stage::watched(2).await;
    stage.web(4, weights(&[1, 1])).await;
    let way = Way::default();
    let client = way.over(stage.fleet.control().client());
    let mut one = Process::start_over(client, "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    work(&stage, 4);
    stage.hpa(2, 40, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted"}})).await;
    stage.pass(45).await;
    assert_eq!(stage.replicas().await, "2 2");
    way.stale(Some("resourcebindings"));
    work(&stage, 16);
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "8 8");
    stage.patch("FederatedHPA", "web", json!({"spec": {"clusterAffinity": {"clusterNames": ["member2"]}}})).await;
    for _ in 0..45 {
        stage.pass(1).await;
        let replicas = stage.replicas().await;
        assert!(replicas.starts_with("8 "), "{replicas} {}", stage.bounds().await);
    }
    way.stale(None);
    stage.pass(300).await;
    assert_eq!(stage.replicas().await, "- 16");
    assert_eq!(watched.broken(), vec![]);
    one.kill().await;
}
