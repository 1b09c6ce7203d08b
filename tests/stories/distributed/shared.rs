//! Stories of several workloads that need the same free capacity.

use fhpa::decision::defaults::Mode;
use fhpa::decision::drill::FailureDomain;
use fhpa::decision::fleet::tolerance::FailureTolerance;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{int, text};
use fhpa::playground::karmada::Timing;
use fhpa::run::forecast::live;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::capacity::node;
use super::help::EACH;
use super::{Stage, deployment, hpa, plan, policy, weights};
use crate::stories::Process;

/// Members with room for so many replicas, and workloads `w1`, `w2`, ... of two replicas each in these members.
async fn fleet(members: &[i64], workloads: &[usize]) -> Stage {
    fleet_with(plan(u32::try_from(members.len()).unwrap()), members, workloads).await
}

async fn fleet_with(plan: Plan, members: &[i64], workloads: &[usize]) -> Stage {
    let stage = Stage::with(Plan { nodes: 0, ..plan }).await;
    for (at, fits) in members.iter().enumerate() {
        node(&stage, &format!("member{}", at + 1), *fits).await;
    }
    for (at, member) in workloads.iter().enumerate() {
        let name = format!("w{}", at + 1);
        let mut weight = vec![0; *member];
        weight[member - 1] = 1;
        let mut placed = policy(weights(&weight));
        placed["metadata"]["name"] = json!(name);
        placed["spec"]["resourceSelectors"][0]["name"] = json!(name);
        stage.create(placed).await;
        stage.create(deployment(&name, 2)).await;
    }
    stage.pass(30).await;
    stage
}

/// A FederatedHPA for each workload.
async fn scaled(stage: &Stage, workloads: usize, min: i32, max: i32, more: &Value) {
    for at in 1..=workloads {
        let name = format!("w{at}");
        let mut object = hpa(min, max, more.clone());
        object["metadata"]["name"] = json!(name);
        object["spec"]["scaleTargetRef"]["name"] = json!(name);
        stage.create(object).await;
    }
}

/// Eight workloads with FederatedHPAs, at rest, and their leader: without the first member there is room for exactly two
/// replicas of each.
async fn eight(plan: Plan) -> (Stage, Process) {
    let stage = fleet_with(plan, &[16, 8, 8], &[1, 1, 1, 1, 1, 1, 2, 2]).await;
    let one = stage.leads_by_room("one").await;
    let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
    scaled(&stage, 8, 2, 4, &aggregated).await;
    stage.pass(120).await;
    (stage, one)
}

/// Ready replicas of each workload in clusters that answer.
async fn ready(stage: &Stage, workloads: usize, away: &[&str]) -> Vec<i64> {
    let mut all = Vec::new();
    for at in 1..=workloads {
        let mut sum = 0;
        for cluster in stage.fleet.names().filter(|cluster| !away.contains(cluster)) {
            let found = stage.member(cluster, "Deployment", &format!("w{at}")).await;
            sum += found.and_then(|found| int(&found, "/status/readyReplicas")).unwrap_or_default();
        }
        all.push(sum);
    }
    all
}

/// What each workload would lack if a cluster were lost.
pub async fn drilled(stage: &Stage, cluster: &str) -> Vec<(String, u32)> {
    drilled_at(stage, cluster, "1x").await
}

/// The same at another load.
async fn drilled_at(stage: &Stage, cluster: &str, load: &str) -> Vec<(String, u32)> {
    let (hpas, objects) = live::fleet(&stage.fleet.control().client()).await.unwrap();
    let drill = objects.drill(&hpas, Mode::Distributed, FailureTolerance::default(), stage.wall.now());
    let drill = drill.at_load(load.parse().unwrap());
    let loss = drill.loss(FailureDomain::of_clusters(vec![cluster.to_owned()]));
    let short = loss.objects.into_iter().filter(|object| object.short > 0);
    short.map(|object| (object.name, object.short)).collect()
}

/// Pods that find no node.
async fn pending(stage: &Stage, away: &[&str]) -> usize {
    let mut pending = 0;
    for cluster in stage.fleet.names().filter(|cluster| !away.contains(cluster)) {
        let objects = fhpa::playground::objects::Objects::new(stage.fleet.member(cluster).unwrap().client());
        let pods = objects.list(&super::kind("Pod"), "prod").await.unwrap();
        pending += pods.iter().filter(|pod| text(pod, "/spec/nodeName").is_empty()).count();
    }
    pending
}

#[tokio::test(start_paused = true)]
async fn room_is_promised_once_while_what_clusters_report_is_thirty_seconds_old() {
    let timing = Timing { status_period: SignedDuration::from_secs(30), ..Timing::default() };
    let (stage, _one) = eight(Plan { karmada: timing, ..plan(3) }).await;
    assert_eq!(drilled(&stage, "member1").await, []);
    stage.fleet.fail("member1", true).unwrap();
    for _ in 0..60 {
        stage.pass(10).await;
        assert_eq!(pending(&stage, &["member1"]).await, 0, "none is asked of a cluster that has no room for it");
    }
    assert_eq!(ready(&stage, 8, &["member1"]).await, [2; 8]);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_dies_between_two_failovers_leaves_no_room_promised_twice_or_lost() {
    let (stage, one) = eight(plan(3)).await;
    stage.fleet.fail("member1", true).unwrap();
    let whole = async |stage: &Stage| {
        let ready = ready(stage, 8, &["member1"]).await;
        ready.into_iter().filter(|ready| *ready == 2).count()
    };
    while whole(&stage).await == 2 {
        stage.pass(1).await;
    }
    assert!(whole(&stage).await < 8, "some are not replaced yet");
    one.kill().await;
    let _two = stage.leads_by_room("two").await;
    stage.pass(300).await;
    assert_eq!(ready(&stage, 8, &["member1"]).await, [2; 8], "pending: {}", pending(&stage, &["member1"]).await);
}

#[tokio::test(start_paused = true)]
async fn where_there_is_room_for_one_workload_the_greater_priority_is_replaced_first() {
    for first in ["w1", "w2"] {
        let stage = fleet(&[8, 2], &[1, 1]).await;
        let priority = json!({"spec": {"schedulePriority": {"priority": 1000}}});
        stage.patch("ResourceBinding", &format!("{first}-deployment"), priority).await;
        let _one = stage.leads_by_room("one").await;
        let weighted = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
        scaled(&stage, 2, 2, 4, &weighted).await;
        stage.pass(120).await;
        stage.fleet.fail("member1", true).unwrap();
        stage.pass(600).await;
        let expected = if first == "w1" { [2, 0] } else { [0, 2] };
        assert_eq!(ready(&stage, 2, &["member1"]).await, expected, "{first} comes first");
    }
}

#[tokio::test(start_paused = true)]
async fn a_drill_says_beforehand_what_the_loss_of_a_cluster_leaves_without_room() {
    let stage = fleet(&[16, 6, 6], &[1, 1, 1, 1, 1, 1, 2, 2]).await;
    let _one = stage.leads_by_room("one").await;
    let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
    scaled(&stage, 8, 2, 4, &aggregated).await;
    stage.pass(120).await;
    let told = drilled(&stage, "member1").await;
    assert_eq!(told, [("w5".to_owned(), 2), ("w6".to_owned(), 2)]);
    assert_eq!(drilled(&stage, "member3").await, [], "nothing runs there");
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(600).await;
    assert_eq!(ready(&stage, 8, &["member1"]).await, [2, 2, 2, 2, 0, 0, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_drill_at_another_load_counts_what_hpas_would_run_then() {
    let stage = fleet(&[9, 4], &[1]).await;
    let _one = stage.leads_by_room("one").await;
    let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
    scaled(&stage, 1, 2, 9, &aggregated).await;
    stage.fleet.load().set("prod", "w1", 3 * EACH);
    stage.pass(200).await;
    assert_eq!(ready(&stage, 1, &[]).await, [3]);
    assert_eq!(drilled(&stage, "member1").await, []);
    assert_eq!(drilled_at(&stage, "member1", "+30%").await, [], "four fit");
    assert_eq!(drilled_at(&stage, "member1", "2x").await, [("w1".to_owned(), 2)]);
    assert_eq!(drilled_at(&stage, "member1", "4x").await, [("w1".to_owned(), 5)], "no more than maxReplicas run");
}

/// The condition about a loss, with its message.
async fn covered(stage: &Stage, name: &str) -> Option<(String, String)> {
    let object = stage.get("FederatedHPA", name).await;
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == "FailoverCovered")?;
    let of = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    Some((format!("{} {}", of("status"), of("reason")), of("message")))
}

#[tokio::test(start_paused = true)]
async fn the_condition_says_while_the_loss_of_a_cluster_is_not_covered() {
    let stage = fleet(&[4, 4], &[1, 2]).await;
    stage.patch("Deployment", "w2", json!({"spec": {"replicas": 0}})).await;
    let _one = stage.leads_by_room("one").await;
    let aggregated =
        json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}, "minCoveredLosses": 1});
    scaled(&stage, 1, 2, 4, &aggregated).await;
    stage.pass(200).await;
    let (status, message) = covered(&stage, "w1").await.unwrap();
    assert_eq!(status, "True LossCovered", "{message}");
    // Another workload fills the cluster that would take over.
    stage.patch("Deployment", "w2", json!({"spec": {"replicas": 3}})).await;
    stage.pass(700).await;
    let (status, message) = covered(&stage, "w1").await.unwrap();
    assert_eq!(status, "False RoomMissing", "{message}");
    let expected = "if member1 were lost, 1 of its 2 replicas would run nowhere: room for 1 more pods";
    assert!(message.starts_with(expected), "{message}");
    stage.patch("Deployment", "w2", json!({"spec": {"replicas": 0}})).await;
    stage.pass(700).await;
    let (status, message) = covered(&stage, "w1").await.unwrap();
    assert_eq!(status, "True LossCovered", "{message}");
    stage.patch("FederatedHPA", "w1", json!({"spec": {"minCoveredLosses": null}})).await;
    stage.pass(30).await;
    assert_eq!(covered(&stage, "w1").await, None, "nobody asks");
}
