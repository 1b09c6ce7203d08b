//! Stories of policies that depend on the free capacity of clusters.

use fhpa::playground::member::nodes;
use serde_json::json;

use super::{START, Stage, weights};

#[tokio::test(start_paused = true)]
async fn what_clusters_say_of_themselves_is_the_room_they_have() {
    let stage = Stage::new(2).await;
    stage.web(2, weights(&[1, 1])).await;
    let _one = stage.leads_by_room("one").await;
    stage.hpa(2, 10, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

/// A member has one node, on which so many replicas fit.
pub async fn node(stage: &Stage, cluster: &str, fits: i64) {
    let mut node = nodes::node(&format!("{cluster}-node"), 1, "64Gi", START);
    node["status"]["allocatable"]["cpu"] = json!(format!("{}m", fits * 100));
    stage.fleet.member(cluster).unwrap().create(&node).await.unwrap();
}
