//! Eviction tasks of failed clusters, and clusters that a taint makes leave.

use std::sync::Arc;

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, text};
use fhpa::playground::karmada;
use futures::StreamExt as _;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::departures::{ALL, OTHERS, least, ready, roomy, runs_unevenly, uneven};
use super::failures::unmoved;
use super::{Stage, weights};

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
        let (stage, _one) = unmoved(json!({})).await;
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
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_cluster_that_is_back_keeps_its_pods_until_others_run_as_many() {
    let (stage, _one) = uneven(30, json!({})).await;
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
}

#[tokio::test(start_paused = true)]
async fn a_ready_cluster_with_a_taint_that_is_not_tolerated_is_replaced_first_and_comes_back() {
    let (stage, _one) = uneven(30, json!({})).await;
    let taint = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    stage.patch_cluster("member1", taint).await;
    assert_eq!(least(&stage, &ALL, 180).await, 15, "{:?}", stage.messages().await);
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    assert_eq!((ready(&stage, &OTHERS).await, ready(&stage, &["member1"]).await), (15, 0));
    stage.patch_cluster("member1", json!({"spec": {"taints": []}})).await;
    assert_eq!(least(&stage, &ALL, 180).await, 15, "what runs elsewhere is not moved back");
    assert!(stage.entries().await.contains("member1"), "{}", stage.entries().await);
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_the_placement_tolerates_moves_nothing() {
    let (stage, _one) = uneven(30, json!({})).await;
    let mut placement = weights(&[10, 3, 2]);
    placement["clusterTolerations"] = json!([{"key": "maintenance", "operator": "Exists", "effect": "NoExecute"}]);
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
    stage.pass(20).await;
    stage.patch_cluster("member1", json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}})).await;
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "10 3 2", "{:?}", stage.messages().await);
}

/// A Karmada that evicts for taints.
fn evicts() -> karmada::Timing {
    karmada::Timing { failover: true, ..karmada::Timing::default() }
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
async fn an_eviction_for_a_taint_that_is_gone_is_taken_back_where_others_run_a_part_of_the_replicas() {
    let stage = Stage::with(Plan { karmada: evicts(), ..roomy() }).await;
    let _one = runs_unevenly(&stage, 30, json!({})).await;
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
}
