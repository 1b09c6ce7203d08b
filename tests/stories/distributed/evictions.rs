//! Eviction tasks of failed clusters, and clusters that a taint makes leave.

use std::sync::Arc;

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, label, text};
use fhpa::playground::karmada;
use futures::StreamExt as _;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::departures::{ALL, OTHERS, least, ready, roomy, runs_unevenly, uneven};
use super::failures::unmoved;
use super::{Stage, plan, weights};
use crate::stories::Process;

/// Eviction tasks as they are written: karmada-controller-manager removes them when the replacement is ready.
type Tasks = Arc<Mutex<Vec<Value>>>;

fn tasks(stage: &Stage) -> (Tasks, tokio::task::JoinHandle<()>) {
    let kind = GroupVersionKind::gvk("work.karmada.io", "v1alpha2", "ResourceBinding");
    let resource = ApiResource::from_gvk_with_plural(&kind, "resourcebindings");
    let api: Api<DynamicObject> = Api::all_with(stage.fleet.control().client(), &resource);
    let tasks = Tasks::default();
    let seen = Arc::clone(&tasks);
    let watch = tokio::spawn(async move {
        let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
        while let Some(event) = events.next().await {
            if let Ok(watcher::Event::Apply(binding) | watcher::Event::InitApply(binding)) = event {
                let mut seen = seen.lock();
                for task in items(&binding.data, "/spec/gracefulEvictionTasks") {
                    if !seen.contains(task) {
                        seen.push(task.clone());
                    }
                }
            }
        }
    });
    (tasks, watch)
}

#[tokio::test(start_paused = true)]
async fn a_failed_cluster_is_evicted_by_the_purge_mode_of_the_policy() {
    // Karmada before 1.15 calls it "Graciously" and refuses the newer name; absent means the same in every version.
    for (mode, purge) in [
        (None, None),
        (Some("Gracefully"), None),
        (Some("Graciously"), None),
        (Some("Directly"), Some("Directly")),
        (Some("Never"), Some("Never")),
    ] {
        let (stage, one) = unmoved(json!({})).await;
        if let Some(mode) = mode {
            let failover = json!({"cluster": {"purgeMode": mode}});
            stage.patch("PropagationPolicy", "web", json!({"spec": {"failover": failover}})).await;
            stage.pass(10).await;
        }
        let (tasks, watch) = tasks(&stage);
        stage.budget.give_up("member1", true);
        stage.fleet.fail("member1", true).unwrap();
        stage.pass(420).await;
        let seen = tasks.lock().clone();
        assert_eq!(seen.len(), 1, "{mode:?}: {seen:?}");
        let task = &seen[0];
        let words = ["/fromCluster", "/reason", "/producer"].map(|field| text(task, field));
        assert_eq!(words, ["member1", "TaintUntolerated", "fhpa"], "{mode:?}");
        assert_eq!(task.get("purgeMode").and_then(Value::as_str), purge, "{mode:?}: {task}");
        assert_eq!(task["replicas"], 4, "{mode:?}: {task}");
        let created: jiff::Timestamp = text(task, "/creationTimestamp").parse().unwrap();
        assert!(created <= stage.wall.now(), "{task}");
        assert!(!stage.entries().await.contains("member1"), "{mode:?}: {}", stage.entries().await);
        watch.abort();
        one.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_cluster_that_is_back_keeps_its_pods_until_others_run_as_many() {
    let (stage, one) = uneven(30, json!({})).await;
    for member in OTHERS {
        stage.fleet.hold_pods(member, true).unwrap();
    }
    stage.budget.give_up("member1", true);
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(360).await;
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    stage.fleet.fail("member1", false).unwrap();
    assert_eq!(least(&stage, &ALL, 120).await, 15, "{:?}", stage.messages().await);
    for member in OTHERS {
        stage.fleet.hold_pods(member, false).unwrap();
    }
    assert_eq!(least(&stage, &ALL, 120).await, 15, "{:?}", stage.messages().await);
    assert_eq!(ready(&stage, &OTHERS).await, 15, "{:?}", stage.messages().await);
    assert!(stage.entries().await.contains("member1"), "it takes part again: {}", stage.entries().await);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_ready_cluster_with_a_taint_that_is_not_tolerated_is_replaced_first_and_comes_back() {
    let (stage, one) = uneven(30, json!({})).await;
    let taint = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    stage.patch_cluster("member1", taint).await;
    assert_eq!(least(&stage, &ALL, 180).await, 15, "{:?}", stage.messages().await);
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    assert_eq!((ready(&stage, &OTHERS).await, ready(&stage, &["member1"]).await), (15, 0));
    stage.patch_cluster("member1", json!({"spec": {"taints": []}})).await;
    assert_eq!(least(&stage, &ALL, 180).await, 15, "what runs elsewhere is not moved back");
    assert!(stage.entries().await.contains("member1"), "{}", stage.entries().await);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_the_placement_tolerates_moves_nothing() {
    let (stage, one) = uneven(30, json!({})).await;
    let mut placement = weights(&[10, 3, 2]);
    placement["clusterTolerations"] = json!([{"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}]);
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
    stage.pass(20).await;
    stage.patch_cluster("member1", json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})).await;
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "10 3 2", "{:?}", stage.messages().await);
    one.stop().await;
}

/// A Karmada that evicts for taints.
fn evicts() -> karmada::Timing {
    karmada::Timing { failover: true, ..karmada::Timing::default() }
}

/// Three pods in the only cluster of their policy.
async fn alone() -> (Stage, Process) {
    let stage = Stage::with(Plan { karmada: evicts(), ..plan(2) }).await;
    let divided = json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"});
    stage.web(3, json!({"clusterAffinity": {"clusterNames": ["member1"]}, "replicaScheduling": divided})).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.hpa(3, 9, json!({})).await;
    stage.pass(30).await;
    assert_eq!((stage.entries().await, ready(&stage, &["member1"]).await), ("member1=3".into(), 3));
    (stage, one)
}

impl Stage {
    /// Puts a taint on the first member that nobody tolerates, or takes it away.
    async fn taint(&self, on: bool) {
        let taint = json!({"key": "maintenance", "effect": "NoExecute"});
        let taints = if on { json!([taint]) } else { json!([]) };
        self.patch_cluster("member1", json!({"spec": {"taints": taints}})).await;
    }

    /// How many evictions are under way.
    async fn evictions(&self) -> usize {
        items(&self.get("ResourceBinding", "web-deployment").await, "/spec/gracefulEvictionTasks").len()
    }
}

#[tokio::test(start_paused = true)]
async fn an_eviction_for_a_taint_that_is_gone_is_taken_back_where_nobody_runs_the_replicas() {
    let (stage, one) = alone().await;
    stage.taint(true).await;
    assert_eq!(least(&stage, &["member1"], 40).await, 3);
    assert_eq!((stage.entries().await, stage.evictions().await), (String::new(), 1), "Karmada evicts it");
    stage.taint(false).await;
    let least = least(&stage, &["member1"], 700).await;
    assert_eq!((least, stage.entries().await, stage.evictions().await), (3, "member1=3".into(), 0));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_eviction_for_a_taint_that_is_gone_is_taken_back_where_others_run_a_part_of_the_replicas() {
    let stage = Stage::with(Plan { karmada: evicts(), ..roomy() }).await;
    let one = runs_unevenly(&stage, 30, json!({})).await;
    stage.fleet.hold_pods("member2", true).unwrap();
    stage.taint(true).await;
    assert_eq!(least(&stage, &ALL, 60).await, 15);
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    assert!(ready(&stage, &["member3"]).await > 2, "{:?}", stage.messages().await);
    stage.taint(false).await;
    let least = least(&stage, &ALL, 700).await;
    assert!(least >= 15 && stage.evictions().await == 0, "{least}: {:?}", stage.messages().await);
    assert!(stage.entries().await.contains("member1="), "{}", stage.entries().await);
    assert!(stage.budget.most() <= 30, "{}", stage.budget.history());
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_suspended_while_all_its_replicas_are_evicted_keeps_its_workload() {
    let (stage, one) = alone().await;
    stage.taint(true).await;
    stage.pass(20).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    stage.pass(20).await;
    let held = async || {
        let (web, binding) =
            (stage.get("Deployment", "web").await, stage.get("ResourceBinding", "web-deployment").await);
        let retains = label(&web, "resourcetemplate.karmada.io/retain-replicas") == "true";
        (retains, binding["spec"]["suspension"]["scheduling"] == true)
    };
    assert_eq!(held().await, (true, true));
    stage.taint(false).await;
    let least = least(&stage, &["member1"], 700).await;
    assert_eq!((least, held().await, stage.entries().await), (3, (true, true), "member1=3".into()));
    one.stop().await;
}
