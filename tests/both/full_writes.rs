//! Writers who write a whole workload or FederatedHPA, without what fhpa put on it (docs/design.md#on-the-wire).

use fhpa::decision::names::{FINALIZER, RETAIN_REPLICAS, RETENTION_MANAGER};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::leaving::{FIFTEEN, fifteen};
use super::{MEMBERS, World, deployment, federated};

told! {
    a_workload_that_is_replaced_keeps_its_pods,
    a_federated_hpa_that_is_replaced_leaves_nothing_behind,
}

/// How often the workload is replaced, in seconds, and how many times.
const PACE: u64 = 3;
const TIMES: u32 = 20;

/// Writes a whole object as this manager; returns it as stored.
async fn replace<W: World>(world: &W, manager: &str, whole: Value) -> DynamicObject {
    let api = world.api("", whole["kind"].as_str().unwrap(), "prod");
    let name = whole["metadata"]["name"].as_str().unwrap().to_owned();
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    api.replace(&name, &params, &serde_json::from_value(whole).unwrap()).await.unwrap()
}

/// A workload that is replaced every three seconds for a minute keeps its pods: the webhook puts the label back. One
/// whose label is lost all the same, as while no webhook answers, keeps what ran a minute ago: the entries follow.
pub async fn a_workload_that_is_replaced_keeps_its_pods<W: World>(world: &mut W) {
    let name = "replaced";
    let label = |object: DynamicObject| object.metadata.labels.unwrap_or_default().remove(RETAIN_REPLICAS);
    fifteen(world, name, 30).await;
    for _ in 0..TIMES {
        let stored = replace(world, "user", deployment(name, 3)).await;
        assert_eq!(label(stored).as_deref(), Some("true"), "it is put back in the same request");
        world.pass(PACE).await;
    }
    assert_eq!(world.least(name), 15);
    // fhpa owns it, so that it can hand the workload back.
    let stored = world.api("", "Deployment", "prod").get(name).await.unwrap();
    let owns = |entry: &Value| entry["fieldsV1"]["f:metadata"]["f:labels"][format!("f:{RETAIN_REPLICAS}")].is_object();
    let owners = stored.metadata.managed_fields.unwrap_or_default();
    let owners = owners.iter().filter(|entry| owns(&serde_json::to_value(entry).unwrap()));
    assert_eq!(owners.filter_map(|entry| entry.manager.as_deref()).collect::<Vec<_>>(), [RETENTION_MANAGER]);
    let follow =
        async |world: &W| world.entries(name).await == FIFTEEN.map(|(member, runs)| (member.to_owned(), runs as u64));
    world.later(120, "the entries follow", follow).await;
    // The webhook is not asked about what the controller itself writes.
    assert_eq!(label(replace(world, RETENTION_MANAGER, deployment(name, 3)).await), None);
    world.soon("the controller puts it back", async |world| world.retained(name).await).await;
    world.pass(PACE).await;
    assert_eq!(world.least(name), 15, "the label was away for a moment");
    world.clear(name).await;
}

/// A full write of the FederatedHPA ends no pod. One that makes it Centralized at the same time, or points it to another
/// workload, leaves no HPA of the first one in a member.
pub async fn a_federated_hpa_that_is_replaced_leaves_nothing_behind<W: World>(world: &mut W) {
    let elsewhere = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "elsewhere"});
    world.apply(&deployment("elsewhere", 1)).await;
    for (name, change) in [
        ("rewritten", json!({})),
        ("recentralized", json!({"mode": "Centralized"})),
        ("redirected", json!({"scaleTargetRef": elsewhere})),
    ] {
        fifteen(world, name, 30).await;
        let mut whole = federated(name, 3, 30, change.clone());
        whole["metadata"]["resourceVersion"] = world.hpa(name).await.unwrap()["metadata"]["resourceVersion"].clone();
        whole["metadata"]["finalizers"] = json!(["example.com/keep"]);
        let stored = replace(world, "user", whole).await;
        let kept = ["example.com/keep", FINALIZER].map(str::to_owned);
        assert_eq!(stored.metadata.finalizers, Some(kept.to_vec()), "it is kept in the same request");
        let held = format!("apps/v1 Deployment {name}");
        assert_eq!(stored.metadata.annotations.unwrap_or_default().get("fhpa.karmada.io/workload"), Some(&held));
        if change == json!({}) {
            world.rests().await;
            assert!(world.retained(name).await && world.bounded(name).await == MEMBERS);
        } else {
            let back = async |world: &W| world.bounded(name).await.is_empty() && !world.retained(name).await;
            world.later(120, "it is handed back", back).await;
            world.rests().await;
            assert_eq!(world.asked(name).await, 15);
        }
        assert_eq!(world.least(name), 15, "no pod was ended");
        let left = if change == json!({}) { json!([FINALIZER]) } else { Value::Null };
        world.edit("FederatedHPA", name, json!({"metadata": {"finalizers": left}})).await;
        world.clear(name).await;
    }
    world.delete("Deployment", "elsewhere").await;
}
