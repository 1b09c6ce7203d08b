//! Centralized mode: the load of all members decides, karmada-scheduler spreads, silence removes nothing, and a switch
//! of the mode moves no pod.

use std::time::Duration;

use serde_json::{Value, json};

use super::evicted::{placed, taint};
use super::moves::ready;
use crate::operator::JOBS;
use crate::stand::{MEMBERS, Stand};

const NAME: &str = "central";

async fn replicas(stand: &Stand) -> u64 {
    let deployment = stand.get("apps/v1", "Deployment", "deployments", NAME).await.unwrap();
    deployment["spec"]["replicas"].as_u64().unwrap()
}

async fn says(stand: &Stand, type_: &str) -> String {
    let hpa = stand.hpa(NAME).await.unwrap();
    let conditions = hpa["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|one| one["type"] == type_).unwrap_or_default();
    format!("{} {} {}", found["status"], found["reason"], found["message"])
}

/// Load that makes every member want so many replicas.
fn wants(stand: &Stand, each: u32) {
    for member in MEMBERS {
        stand.wants(member, NAME, each);
    }
}

async fn mode(stand: &Stand, mode: &str) {
    let change = json!({"spec": {"mode": mode}});
    stand.edit("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", NAME, change).await;
}

pub async fn one_computation_scales_over_all_clusters(stand: &mut Stand) {
    stand.workload(NAME, 3, &MEMBERS).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 1))).await;
    wants(stand, 1);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 30}});
    stand.federated(NAME, 1, 12, json!({"mode": "Centralized", "behavior": behavior})).await;
    stand.soon("it is active", async |stand| says(stand, "ScalingActive").await.contains("ValidMetricFound")).await;
    assert_eq!(replicas(stand).await, 3);

    wants(stand, 3);
    stand.soon("the replicas follow the load", async |stand| replicas(stand).await == 9).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 3))).await;
    let binding = stand.binding(NAME).await.unwrap();
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null, "karmada-scheduler stays in charge");
    for member in MEMBERS {
        assert_eq!(stand.bounds(member, NAME).await, None, "{member} has no HPA");
    }

    // A member does not answer: nothing shrinks, although the others have little to do.
    stand.lab.member("member2").hang();
    wants(stand, 1);
    stand.soon("it is said", async |stand| says(stand, "ScalingActive").await.contains("PartialMetrics")).await;
    assert!(says(stand, "ScalingActive").await.contains("member2 ("), "{}", says(stand, "ScalingActive").await);
    tokio::time::sleep(Duration::from_secs(75)).await;
    assert_eq!(replicas(stand).await, 9, "{}", says(stand, "ScalingActive").await);
    stand.lab.member_mut("member2").heal(true).await;
    stand.lab.cluster_is("member2", "True").await;
    wants(stand, 2);
    let shrinks = async |stand: &Stand| replicas(stand).await == 6;
    stand.later(Duration::from_secs(150), "it shrinks once all answer", shrinks).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 2))).await;

    // The mode is switched there and back: nothing moves.
    let before = stand.observer.note(NAME);
    mode(stand, "Distributed").await;
    let divided = async |stand: &Stand| says(stand, "Ready").await.contains("MemberHPAsReady");
    stand.later(Duration::from_secs(90), "it is taken over", divided).await;
    mode(stand, "Centralized").await;
    let back = async |stand: &Stand| says(stand, "Ready").await.contains("TargetReady");
    stand.later(Duration::from_secs(90), "it is handed back", back).await;
    assert_eq!((before, stand.observer.least(NAME)), (6, 6), "no pod was ended");
    assert_eq!(replicas(stand).await, 6);
    stand.clear(NAME).await;
}

pub async fn a_workload_at_zero_is_woken_by_an_external_metric(stand: &mut Stand) {
    let waiting = |stand: &Stand, jobs: [u32; 3]| {
        for (member, jobs) in MEMBERS.iter().zip(jobs) {
            stand.lab.member(member).pods.set_external(JOBS, jobs);
        }
    };
    stand.workload(NAME, 3, &MEMBERS).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 1))).await;
    waiting(stand, [30, 0, 0]);
    let target = json!({"type": "AverageValue", "averageValue": "10"});
    let metric = json!({"type": "External", "external": {"metric": {"name": JOBS}, "target": target}});
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 15}});
    let more = json!({"mode": "Centralized", "behavior": behavior, "metrics": [metric]});
    stand.federated(NAME, 0, 12, more).await;
    stand.soon("it is active", async |stand| says(stand, "ScalingActive").await.contains("ValidMetricFound")).await;
    assert_eq!(replicas(stand).await, 3);

    waiting(stand, [0, 0, 0]);
    let sleeps = async |stand: &Stand| replicas(stand).await == 0;
    stand.later(Duration::from_secs(120), "it goes to zero", sleeps).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 0))).await;

    waiting(stand, [0, 40, 20]);
    let wakes = async |stand: &Stand| replicas(stand).await == 6;
    stand.later(Duration::from_secs(120), "it wakes", wakes).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 2))).await;
    stand.clear(NAME).await;
}

/// The HPA of a member goes on while Karmada does not reach it: what it asked for outlives a switch of the mode.
pub async fn a_switch_of_the_mode_keeps_what_a_member_asked_for(stand: &mut Stand) {
    stand.workload(NAME, 8, &MEMBERS[..2]).await;
    stand.wants("member1", NAME, 4);
    stand.wants("member2", NAME, 4);
    stand.runs(NAME, &[("member1", 4), ("member2", 4)]).await;
    stand.federated(NAME, 2, 40, json!({})).await;
    let divided = async |stand: &Stand| says(stand, "Ready").await.contains("MemberHPAsReady");
    stand.later(Duration::from_secs(90), "it is taken over", divided).await;

    stand.lab.member("member2").link.cut();
    stand.lab.cluster_is("member2", "False").await;
    stand.wants("member2", NAME, 14);
    stand.runs(NAME, &[("member1", 4), ("member2", 14)]).await;
    let before = stand.observer.note(NAME);
    mode(stand, "Centralized").await;
    tokio::time::sleep(Duration::from_secs(40)).await;
    stand.lab.member("member2").link.mend();
    stand.lab.cluster_is("member2", "True").await;
    let back = async |stand: &Stand| says(stand, "Ready").await.contains("TargetReady");
    stand.later(Duration::from_secs(120), "it is handed back", back).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((before, stand.observer.least(NAME), replicas(stand).await), (18, 18, 18), "no pod was ended");
    stand.clear(NAME).await;
}

/// A cluster is evicted while karmada-scheduler is away: its pods serve until it is back, and count.
pub async fn pods_of_a_cluster_under_eviction_count(stand: &mut Stand) {
    stand.wants("member1", NAME, 6);
    stand.wants("member2", NAME, 6);
    stand.workload(NAME, 12, &MEMBERS[..2]).await;
    stand.runs(NAME, &[("member1", 6), ("member2", 6)]).await;
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    stand.federated(NAME, 1, 20, json!({"mode": "Centralized", "behavior": behavior})).await;
    stand.soon("it is active", async |stand| says(stand, "ScalingActive").await.contains("ValidMetricFound")).await;
    stand.lab.schedule(false);
    taint(stand, true).await;
    let evicts = async |stand: &Stand| placed(stand, NAME).await == (vec!["member2".to_owned()], 1);
    stand.soon("Karmada evicts member1", evicts).await;

    stand.wants("member1", NAME, 3);
    stand.wants("member2", NAME, 1);
    stand.soon("the replicas follow the load", async |stand| replicas(stand).await < 12).await;
    for _ in 0..120 {
        assert_eq!((replicas(stand).await, ready(stand, NAME)), (4, [6, 6, 0]));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(evicts(stand).await, "it is under way");
    stand.wants("member2", NAME, 4);
    stand.lab.schedule(true);
    let moved = async |stand: &Stand| replicas(stand).await == 4 && ready(stand, NAME) == [0, 4, 0];
    stand.later(Duration::from_secs(120), "member2 runs what is needed", moved).await;
    taint(stand, false).await;
    stand.clear(NAME).await;
}
