//! Stories of members with other properties: older ones, and ones in Pull mode.

use std::collections::BTreeMap;

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, text};
use fhpa::playground::member::Profile;
use serde_json::{Value, json};

use super::capacity::node;
use super::help::work;
use super::{Stage, plan, weights};
use crate::stories::Process;

const OLDER: &str = "v1.22.17";

fn older() -> Profile {
    Profile { kubernetes: OLDER.into(), pulls: false }
}

fn pulling(kubernetes: &str) -> Profile {
    Profile { kubernetes: kubernetes.into(), pulls: true }
}

/// Members of which the first ones are so, with room for so many replicas each.
async fn fleet(profiles: &[Profile], members: &[(i64, i64)]) -> (Stage, Process) {
    let profiles: BTreeMap<String, Profile> =
        profiles.iter().enumerate().map(|(at, profile)| (format!("member{}", at + 1), profile.clone())).collect();
    let count = u32::try_from(members.len()).unwrap();
    let stage = Stage::with(Plan { nodes: 0, profiles, ..plan(count) }).await;
    for (at, (_, fits)) in members.iter().enumerate() {
        node(&stage, &format!("member{}", at + 1), *fits).await;
    }
    let running: Vec<i64> = members.iter().map(|(running, _)| *running).collect();
    stage.web(i32::try_from(running.iter().sum::<i64>()).unwrap(), weights(&running)).await;
    let one = stage.leads_by_room("one").await;
    (stage, one)
}

fn by(type_: &str) -> Value {
    json!({"federatedHPAAssignmentType": type_})
}

/// Scales to zero by the length of a queue.
fn by_queue(type_: &str) -> Value {
    let metric = json!([{"type": "External", "external": {"metric": {"name": "queue"},
        "target": {"type": "AverageValue", "averageValue": "50m"}}}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    json!({"scalingToZero": true, "federatedHPAAssignment": by(type_), "metrics": metric, "behavior": behavior})
}

#[tokio::test(start_paused = true)]
async fn a_member_below_1_23_is_told_the_same_in_older_words_and_follows_the_load_and_edits() {
    let (stage, _one) = fleet(&[older()], &[(2, 40), (2, 40)]).await;
    work(&stage, 4);
    stage.hpa(2, 20, json!({"federatedHPAAssignment": by("StaticWeighted")})).await;
    stage.pass(40).await;
    assert_eq!(stage.bounds().await, "1..10 1..10", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    let hpa = stage.autoscaler("member1").await.unwrap();
    assert_eq!(
        (&hpa["apiVersion"], &hpa["spec"]["targetCPUUtilizationPercentage"]),
        (&json!("autoscaling/v1"), &json!(50))
    );
    work(&stage, 12);
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "6 6");
    // What it measures comes back in the words of the newer API.
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    let first = &items(&status, "/aggregatedStatus")[0];
    assert_eq!(text(first, "/clusterName"), "member1");
    assert_eq!(first["status"]["currentMetrics"][0]["resource"]["current"]["averageUtilization"], 50, "{first}");
    assert!(items(first, "/status/conditions").iter().any(|one| text(one, "/type") == "AbleToScale"), "{first}");

    let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 25}}}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    stage
        .patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 30, "metrics": metric, "behavior": behavior}}))
        .await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..15 1..15", "{:?}", stage.messages().await);
    let hpa = stage.autoscaler("member1").await.unwrap();
    assert_eq!(hpa["spec"]["targetCPUUtilizationPercentage"], 25);
    let said = text(&hpa, "/metadata/annotations/autoscaling.alpha.kubernetes.io~1behavior");
    assert!(said.contains("tabilizationWindowSeconds\":60"), "{said}");
    assert_eq!(stage.replicas().await, "12 12");
    work(&stage, 1);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "1 1");
    assert_eq!(stage.budget.most(), 30, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_full_member_below_1_23_is_helped_like_any_other() {
    let (stage, _one) = fleet(&[Profile::default(), older()], &[(4, 30), (1, 30)]).await;
    work(&stage, 5);
    stage.hpa(2, 12, json!({"federatedHPAAssignment": by("Aggregated")})).await;
    stage.pass(40).await;
    assert_eq!(stage.bounds().await, "2..11 1..1", "{:?}", stage.messages().await);
    // The older one is at its max, and gets what the other does not want.
    work(&stage, 8);
    stage.pass(120).await;
    let bounds = stage.bounds().await;
    assert!(!bounds.ends_with(" 1..1"), "{bounds} {:?}", stage.messages().await);
    assert_eq!(stage.budget.most(), 12, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_member_that_becomes_1_23_gets_the_newer_hpa() {
    let (stage, _one) = fleet(&[older()], &[(2, 40), (2, 40)]).await;
    work(&stage, 4);
    stage.hpa(2, 20, json!({"federatedHPAAssignment": by("StaticWeighted")})).await;
    stage.pass(40).await;
    stage.fleet.upgrade("member1", "v1.23.17").unwrap();
    stage.pass(60).await;
    let hpa = stage.autoscaler("member1").await.unwrap();
    assert_eq!(hpa["apiVersion"], "autoscaling/v2");
    assert_eq!(hpa["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"], 50);
    assert_eq!(stage.bounds().await, "1..10 1..10", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    work(&stage, 12);
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "6 6");
}

/// Requests that went through the cluster proxy.
fn proxied(stage: &Stage) -> u64 {
    let faults = stage.fleet.control().faults();
    ["get", "list", "patch", "update"].iter().map(|verb| faults.count(verb, "clusters/proxy")).sum()
}

#[tokio::test(start_paused = true)]
async fn a_member_that_pulls_is_helped_and_helps_by_bounds_alone() {
    let (stage, _one) = fleet(&[pulling("v1.36.2"), pulling("v1.36.2")], &[(4, 6), (2, 40)]).await;
    work(&stage, 6);
    stage.hpa(2, 40, json!({"scalingToZero": true, "federatedHPAAssignment": by("Aggregated")})).await;
    stage.pass(40).await;
    let before = stage.bounds().await;
    assert_eq!(stage.conditions().await[0], "Assigned=True ScaleToZeroUnsupported", "{:?}", stage.messages().await);
    work(&stage, 30);
    stage.pass(120).await;
    // Its own HPA takes the load up within the bounds that it has, as far as its tolerance.
    let parts: Vec<i32> = stage.replicas().await.split(' ').map(|one| one.parse().unwrap()).collect();
    assert!(parts[1] >= 21, "{parts:?} {before} -> {}", stage.bounds().await);
    work(&stage, 1);
    stage.pass(1_200).await;
    assert_eq!(stage.replicas().await, "1 2", "nobody goes to zero: {:?}", stage.messages().await);
    assert_eq!(proxied(&stage), 0);
    assert!(stage.budget.most() <= 40, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_member_that_pulls_goes_to_zero_and_back_by_its_min_where_its_hpa_can() {
    goes_to_zero_by_its_min([pulling("v1.37.0"), pulling("v1.37.0")]).await;
}

#[tokio::test(start_paused = true)]
async fn a_member_that_can_be_written_to_is_left_to_its_own_hpa_too() {
    let newer = || Profile { kubernetes: "v1.37.0".into(), pulls: false };
    goes_to_zero_by_its_min([newer(), newer()]).await;
}

#[tokio::test(start_paused = true)]
async fn a_whole_workload_goes_to_zero_and_comes_back_by_the_hpas_of_its_members_alone() {
    let newer = |pulls: bool| Profile { kubernetes: "v1.37.0".into(), pulls };
    let (stage, _one) = fleet(&[newer(false), newer(true)], &[(1, 30), (1, 20)]).await;
    work(&stage, 6);
    stage.hpa(0, 30, by_queue("StaticWeighted")).await;
    stage.pass(120).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned", "{:?}", stage.messages().await);
    work(&stage, 0);
    stage.pass(900).await;
    assert_eq!(stage.replicas().await, "0 0", "{} {:?}", stage.bounds().await, stage.messages().await);
    let writes = stage.fleet.control().faults().count("patch", "works");
    stage.pass(600).await;
    assert_eq!(stage.replicas().await, "0 0", "it rests there");
    assert_eq!(stage.fleet.control().faults().count("patch", "works"), writes);
    work(&stage, 8);
    stage.pass(120).await;
    let parts: Vec<i32> = stage.replicas().await.split(' ').map(|one| one.parse().unwrap()).collect();
    assert!(parts.iter().sum::<i32>() >= 8, "{parts:?} {} {:?}", stage.bounds().await, stage.messages().await);
    assert!(stage.budget.most() <= 30, "{}", stage.budget.history());
}

async fn goes_to_zero_by_its_min(profiles: [Profile; 2]) {
    let pull = profiles[0].pulls;
    let (stage, _one) = fleet(&profiles, &[(1, 30), (1, 20)]).await;
    work(&stage, 2);
    stage.hpa(1, 30, by_queue("Aggregated")).await;
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "1 1", "{:?}", stage.messages().await);
    let before = if pull { "Assigned=True ScaleToZeroUnsupported" } else { "Assigned=True Assigned" };
    assert_eq!(stage.conditions().await[0], before, "no HPA has told yet");
    work(&stage, 6);
    stage.pass(60).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned", "both report the condition ScaledToZero");
    work(&stage, 0);
    stage.pass(600).await;
    let (bounds, replicas) = (stage.bounds().await, stage.replicas().await);
    assert!(bounds.contains("0.."), "{bounds} {replicas} {:?}", stage.messages().await);
    assert!(["0 1", "1 0"].contains(&&*replicas), "{bounds} {replicas}");
    work(&stage, 8);
    stage.pass(120).await;
    let (bounds, replicas) = (stage.bounds().await, stage.replicas().await);
    assert!(!bounds.contains("0.."), "{bounds} {replicas}");
    assert!(replicas.split(' ').all(|one| one != "0"), "{bounds} {replicas}");
    assert!(!pull || proxied(&stage) == 0);
}
