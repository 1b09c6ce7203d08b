//! Karmada evicts what a cluster runs, and the policy changes while fhpa is away: what is to stay stays.

use std::time::Duration;

use kube::api::Patch;
use serde_json::{Value, json};

use crate::stand::{MEMBERS, Stand};

/// Puts a taint on the first member that nobody tolerates, or takes it away.
pub async fn taint(stand: &Stand, on: bool) {
    let taints = if on { json!([{"key": "maintenance", "effect": "NoExecute"}]) } else { Value::Null };
    let clusters = stand.lab.karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
    let change = json!({"spec": {"taints": taints}});
    clusters.patch("member1", &Default::default(), &Patch::Merge(&change)).await.unwrap();
}

/// The clusters with an entry, and how many evictions are under way.
pub async fn placed(stand: &Stand, name: &str) -> (Vec<String>, usize) {
    let binding = stand.binding(name).await.unwrap();
    let entries = binding["spec"]["clusters"].as_array().cloned().unwrap_or_default();
    let names = entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned());
    (names.collect(), binding["spec"]["gracefulEvictionTasks"].as_array().map_or(0, Vec::len))
}

/// Whether members keep their replicas, and Karmada's scheduler is suspended.
async fn held(stand: &Stand, name: &str) -> (bool, bool) {
    let template = stand.get("apps/v1", "Deployment", "deployments", name).await.unwrap();
    let retains = template["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] == "true";
    (retains, stand.binding(name).await.unwrap()["spec"]["suspension"]["scheduling"] == true)
}

async fn suspend(stand: &Stand, name: &str, suspend: bool) {
    let change = json!({"spec": {"suspend": suspend}});
    stand.edit("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name, change).await;
}

/// A taint on the only cluster of the policy, for a while: the eviction is taken back. Suspended or not.
pub async fn an_eviction_that_nobody_replaces_is_taken_back(stand: &mut Stand) {
    for suspended in [false, true] {
        let name = if suspended { "paused" } else { "tainted" };
        stand.wants("member1", name, 3);
        stand.workload(name, 3, &["member1"]).await;
        stand.federated(name, 3, 9, json!({})).await;
        stand.runs(name, &[("member1", 3)]).await;
        stand.soon("it is taken over", async |stand| stand.bounds("member1", name).await.is_some()).await;
        assert_eq!(stand.observer.note(name), 3);
        taint(stand, true).await;
        stand.soon("Karmada evicts it", async |stand| placed(stand, name).await == (Vec::new(), 1)).await;
        if suspended {
            suspend(stand, name, true).await;
        }
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!((held(stand, name).await, placed(stand, name).await), ((true, true), (Vec::new(), 1)));
        taint(stand, false).await;
        stand
            .soon("the eviction is taken back", async |stand| {
                placed(stand, name).await == (vec!["member1".to_owned()], 0)
            })
            .await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!((stand.observer.least(name), placed(stand, name).await.1), (3, 0));
        assert_eq!(held(stand, name).await, (true, true));
        suspend(stand, name, false).await;
        stand.clear(name).await;
    }
}

/// The policy is narrowed and the object deleted while fhpa is away: Karmada moves what is outside the policy.
pub async fn a_narrowed_policy_is_carried_out_after_the_release(stand: &mut Stand) {
    let name = "narrowed";
    super::leave::fifteen(stand, name, 30).await;
    stand.fhpa.kill_all();
    stand.policy(name, "Deployment", &MEMBERS[1..]).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    stand.delete("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name).await;
    stand.fhpa.run("one");
    stand.fhpa.run("two");
    stand.later(Duration::from_secs(120), "the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    stand
        .later(Duration::from_secs(60), "Karmada moves what member1 ran", async |stand| {
            stand.observer.ready_in("member1", name) == 0 && stand.observer.ready(name) == 15
        })
        .await;
    assert_eq!(placed(stand, name).await.0, MEMBERS[1..]);
    stand.clear(name).await;
}
