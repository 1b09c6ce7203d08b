//! A FederatedResourceQuota that Karmada enforces.

use std::time::Duration;

use serde_json::json;

use super::day2::VERSION;
use crate::stand::{MEMBERS, REQUEST, Stand};

const QUOTA: (&str, &str, &str) = ("policy.karmada.io/v1alpha1", "FederatedResourceQuota", "federatedresourcequotas");
const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

/// Members scale beyond what the quota allows Karmada to divide. A release that it refuses ends no pod.
pub async fn a_quota_holds_no_member_back_and_a_release_ends_no_pod(stand: &mut Stand) {
    let (name, limit) = ("counted", format!("{}m", 3 * REQUEST));
    let quota = json!({"apiVersion": QUOTA.0, "kind": QUOTA.1, "metadata": {"name": "limit", "namespace": "prod"},
        "spec": {"overall": {"cpu": limit}}});
    stand.apply(QUOTA.2, &quota).await;
    // Karmada's webhook learns of it.
    tokio::time::sleep(Duration::from_secs(3)).await;
    for member in MEMBERS {
        stand.wants(member, name, 2);
    }
    stand.workload(name, 3, &MEMBERS).await;
    stand.federated(name, 3, 12, json!({})).await;
    stand.runs(name, &MEMBERS.map(|member| (member, 2))).await;
    assert_eq!(stand.observer.note(name), 6);
    stand.delete(VERSION, "FederatedHPA", "federatedhpas", name).await;
    stand.later(Duration::from_secs(420), "the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(stand.observer.least(name), 6, "no pod was ended");
    let template = stand.get("apps/v1", "Deployment", "deployments", name).await.unwrap();
    let label = &template["metadata"]["labels"][LABEL];
    println!("  after the release: {} replicas, {LABEL}={label}", template["spec"]["replicas"]);
    assert_eq!(template["spec"]["replicas"], 6);
    let binding = stand.binding(name).await.unwrap();
    assert!(binding["spec"]["suspension"]["scheduling"] != true, "{}", binding["spec"]["suspension"]);
    // A new object takes it over as it is, and gives it back whole once there is room.
    stand.federated(name, 3, 12, json!({})).await;
    stand.soon("it is assigned", async |stand| stand.bounds("member1", name).await.is_some()).await;
    let room = json!({"spec": {"overall": {"cpu": format!("{}m", 30 * REQUEST)}}});
    stand.edit(QUOTA.0, QUOTA.1, QUOTA.2, "limit", room).await;
    stand.delete(VERSION, "FederatedHPA", "federatedhpas", name).await;
    stand.soon("the FederatedHPA goes", async |stand| stand.hpa(name).await.is_none()).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(stand.observer.least(name), 6, "no pod was ended");
    let template = stand.get("apps/v1", "Deployment", "deployments", name).await.unwrap();
    assert!(template["metadata"]["labels"][LABEL].is_null(), "{}", template["metadata"]["labels"]);
    stand.delete(QUOTA.0, QUOTA.1, QUOTA.2, "limit").await;
    stand.clear(name).await;
}
