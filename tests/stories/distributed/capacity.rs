//! Stories of policies that depend on the free capacity of clusters.

use std::sync::Arc;

use fhpa::playground::fleet::Plan;
use fhpa::playground::member::nodes;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use serde_json::{Value, json};

use super::{START, Stage, plan, weights};
use crate::stories::Process;

#[tokio::test(start_paused = true)]
async fn what_clusters_say_of_themselves_is_the_room_they_have() {
    let stage = Stage::new(2).await;
    let mut one = Process::start_with(stage.fleet.control(), "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    one.stop().await;
}

/// A member has one node, on which so many replicas fit.
pub async fn node(stage: &Stage, cluster: &str, fits: i64) {
    let mut node = nodes::node(&format!("{cluster}-node"), 1, "64Gi", START);
    node["status"]["allocatable"]["cpu"] = json!(format!("{}m", fits * 100));
    stage.fleet.member(cluster).unwrap().create(&node).await.unwrap();
}

/// Members that run so many replicas and have room for so many more, then the FederatedHPA 8..24.
async fn assigned(members: &[(i64, i64)], zero: bool, assignment: Value) -> (String, String) {
    let stage = Stage::with(Plan { nodes: 0, ..plan(u32::try_from(members.len()).unwrap()) }).await;
    let names: Vec<String> = stage.fleet.names().map(str::to_owned).collect();
    for (cluster, (running, available)) in names.iter().zip(members) {
        node(&stage, cluster, running + available).await;
    }
    let running: Vec<i64> = members.iter().map(|(running, _)| *running).collect();
    stage.web(i32::try_from(running.iter().sum::<i64>()).unwrap(), weights(&running)).await;
    let mut one = Process::start_with(stage.fleet.control(), "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    stage.hpa(8, 24, json!({"scalingToZero": zero, "federatedHPAAssignment": assignment})).await;
    stage.pass(15).await;
    let said = (stage.bounds().await, stage.entries().await);
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned");
    assert_eq!(stage.budget.most(), 24, "{}", stage.budget.history());
    one.stop().await;
    said
}

fn said(bounds: &str, entries: &str) -> (String, String) {
    (bounds.to_owned(), entries.to_owned())
}

#[tokio::test(start_paused = true)]
async fn g5_dynamic_weights() {
    let found =
        assigned(&[(0, 1), (0, 5), (0, 2)], false, json!({"federatedHPAAssignmentType": "DynamicWeighted"})).await;
    assert_eq!(found, said("1..3 5..15 2..6", "member1=1 member2=5 member3=2"));
}

#[tokio::test(start_paused = true)]
async fn g6_aggregated() {
    let found = assigned(&[(0, 8), (0, 2), (0, 2)], false, json!({"federatedHPAAssignmentType": "Aggregated"})).await;
    assert_eq!(found, said("8..20 1..2 1..2", "member1=8 member2=1 member3=1"));
}

#[tokio::test(start_paused = true)]
async fn g7_prioritized() {
    let before = |name: &str, priority: i32| json!({"targetCluster": {"clusterNames": [name]}, "priority": priority});
    let assignment = json!({"federatedHPAAssignmentType": "Prioritized",
        "clusterAutoscalingPreference": [before("member1", 2), before("member2", 1)]});
    for (zero, entries) in [(true, "member1=15 member2=0"), (false, "member1=15 member2=1")] {
        let found = assigned(&[(15, 20), (0, 1)], zero, assignment.clone()).await;
        assert_eq!(found, said("8..23 1..1", entries), "{zero}");
    }
}
