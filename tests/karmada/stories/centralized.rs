//! Centralized mode: a metric that wakes, and evictions while karmada-scheduler is away.

use std::time::Duration;

use serde_json::json;

use crate::both::evicted::{placed, taint};
use crate::both::{MEMBERS, World as _};
use crate::operator::JOBS;
use crate::stand::Stand;

const NAME: &str = "central";

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
    stand
        .soon("it is active", async |stand| stand.said(NAME, "ScalingActive").await.contains("ValidMetricFound"))
        .await;
    assert_eq!(stand.asked(NAME).await, 3);

    waiting(stand, [0, 0, 0]);
    let sleeps = async |stand: &Stand| stand.asked(NAME).await == 0;
    stand.later(120, "it goes to zero", sleeps).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 0))).await;

    waiting(stand, [0, 40, 20]);
    let wakes = async |stand: &Stand| stand.asked(NAME).await == 6;
    stand.later(120, "it wakes", wakes).await;
    stand.runs(NAME, &MEMBERS.map(|member| (member, 2))).await;
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
    stand
        .soon("it is active", async |stand| stand.said(NAME, "ScalingActive").await.contains("ValidMetricFound"))
        .await;
    stand.lab.schedule(false);
    taint(stand, true).await;
    let evicts = async |stand: &Stand| placed(stand, NAME).await == (vec!["member2".to_owned()], 1);
    stand.soon("Karmada evicts member1", evicts).await;

    stand.wants("member1", NAME, 3);
    stand.wants("member2", NAME, 1);
    stand.soon("the replicas follow the load", async |stand| stand.asked(NAME).await < 12).await;
    for _ in 0..120 {
        assert_eq!((stand.asked(NAME).await, stand.spread(NAME)), (4, [6, 6, 0]));
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    assert!(evicts(stand).await, "it is under way");
    stand.wants("member2", NAME, 4);
    stand.lab.schedule(true);
    let moved = async |stand: &Stand| stand.asked(NAME).await == 4 && stand.spread(NAME) == [0, 4, 0];
    stand.later(120, "member2 runs what is needed", moved).await;
    taint(stand, false).await;
    stand.clear(NAME).await;
}
