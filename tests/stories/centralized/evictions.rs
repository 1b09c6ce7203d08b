//! A workload that Karmada evicts from one of its clusters.

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::items;
use fhpa::playground::karmada;
use serde_json::json;

use crate::stories::distributed::{Stage, plan, weights};

#[tokio::test(start_paused = true)]
async fn pods_of_a_cluster_under_eviction_count_while_they_serve() {
    let karmada = karmada::Timing { failover: true, ..karmada::Timing::default() };
    // Ten pods fit into a member.
    let stage = Stage::with(Plan { nodes: 1, cpu: 1, karmada, ..plan(2) }).await;
    stage.web(12, weights(&[1, 1])).await;
    let _one = stage.leads("one").await;
    stage.load(600).await;
    let at_once = json!({"scaleDown": {"stabilizationWindowSeconds": 0}});
    stage.hpa(1, 20, json!({"mode": "Centralized", "behavior": at_once})).await;
    stage.pass(40).await;
    assert_eq!(stage.replicas().await, "6 6", "{:?}", stage.messages().await);
    let taint = json!({"key": "maintenance", "effect": "NoExecute"});
    stage.patch_cluster("member1", json!({"spec": {"taints": [taint]}})).await;
    stage.pass(20).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(items(&binding, "/spec/gracefulEvictionTasks").len(), 1, "not all fit elsewhere: {binding}");
    stage.load(150).await;
    let mut seen = Vec::new();
    for _ in 0..120 {
        stage.pass(1).await;
        seen.push(stage.scale().await);
    }
    assert_eq!((seen.iter().min(), seen.last()), (Some(&3), Some(&3)), "{seen:?}: {:?}", stage.messages().await);
    assert_eq!(stage.replicas().await, "- 3");
}
