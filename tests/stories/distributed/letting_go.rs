//! Hands back workloads that could not be taken over, could not run, or are not understood.

use std::sync::Arc;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::install::kinds::{ScaledType, customizations};
use fhpa::install::permissions::PermissionScope::ControlPlane;
use fhpa::playground::json::{self, items, label, text};
use fhpa::playground::objects::{Kind, Objects};
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use serde_json::{Value, json};

use crate::bed::role::Role;
use crate::stories::Process;

use super::{Stage, policy, weights};

/// The FederatedHPA is gone, and Karmada has the workload as the user wants it.
async fn is_let_go(stage: &Stage, replicas: i32) {
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "it is gone: {:?}", stage.conditions().await);
    let web = stage.get("Deployment", "web").await;
    assert_eq!(
        (label(&web, "resourcetemplate.karmada.io/retain-replicas"), &web["spec"]["replicas"]),
        ("", &json!(replicas))
    );
    assert!(!stage.suspended().await);
}

/// No more than so many pods can be made in a member, as under a quota.
fn forbid_pods(stage: &Stage, cluster: &str) {
    let which = Which { resource: "pods".into(), verb: "create".into(), ..Which::default() };
    let said = "pods \"web\" is forbidden: exceeded quota: q";
    stage.fleet.member(cluster).unwrap().faults().fail(which, usize::MAX, StatusError::plain(403, "Forbidden", said));
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_pods_cannot_be_made_keeps_what_is_asked_for() {
    let stage = Stage::new(2).await;
    for cluster in ["member1", "member2"] {
        forbid_pods(&stage, cluster);
    }
    let _one = stage.leads("one").await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.replicas().await, "2 2");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 4).await;
    assert_eq!((stage.entries().await, stage.replicas().await), ("member1=2 member2=2".into(), "2 2".into()));
}

#[tokio::test(start_paused = true)]
async fn replicas_that_one_cluster_could_not_make_are_asked_for_still() {
    let (stage, _one) =
        super::edits::running_with(json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}})).await;
    forbid_pods(&stage, "member3");
    for (cluster, replicas) in [("member2", 3), ("member3", 5)] {
        stage.scale_in(cluster, replicas).await;
    }
    stage.pass(8).await;
    let running = stage.member("member3", "Deployment", "web").await.unwrap();
    assert_eq!((&running["spec"]["replicas"], &running["status"]["replicas"]), (&json!(5), &json!(1)));
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 9).await;
    assert_eq!(stage.entries().await, "member1=1 member2=3 member3=5");
}

#[tokio::test(start_paused = true)]
async fn what_a_release_may_not_write_does_not_keep_it() {
    let (stage, one) = super::edits::running().await;
    one.stop().await;
    let role = Role { without: Some((ControlPlane, "get", "deployments")) };
    let _one = Process::start_as(role, stage.fleet.control(), "two", &stage.wall, Arc::new(Unknown));
    stage.pass(30).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert!(!stage.suspended().await);
    let told = stage.event("ReleasedIncompletely").await;
    assert!(text(&told, "/note").contains("allow it the verb \"get\" on \"deployments\""), "{told}");
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_other_mode_does_not_say_that_its_members_scale() {
    let (stage, _one) = super::edits::running().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(120).await;
    let conditions = stage.all_conditions().await;
    assert!(conditions.iter().all(|said| !said.starts_with("Assigned=")), "{conditions:?}");
    assert!(conditions.contains(&"Ready=True TargetReady".to_owned()), "{conditions:?}");
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/status/clusterHPADesired").is_empty() && items(&hpa, "/status/aggregatedStatus").is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_was_remembered_of_one_workload_is_not_done_to_the_next() {
    let (stage, _one) = super::edits::running_with(json!({"scalingToZero": true})).await;
    // One cluster goes to zero.
    stage.pass(900).await;
    let before = stage.get("FederatedHPA", "web").await;
    let zero = |hpa: &Value| items(hpa, "/status/clusterHPADesired").iter().any(|one| one["scaledToZero"] == true);
    assert!(zero(&before), "{}", before["status"]);
    stage.create(super::deployment("shop", 9)).await;
    stage.fleet.load().set("prod", "shop", 3_000);
    stage.pass(20).await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"});
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": target}})).await;
    for _ in 0..60 {
        stage.pass(1).await;
        for cluster in ["member1", "member2", "member3"] {
            let shop = stage.member(cluster, "Deployment", "shop").await.unwrap();
            assert_ne!(shop["spec"]["replicas"], 0, "{cluster} is put to zero");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_a_namesake_is_no_reason_to_wait() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    stage.create(policy(weights(&[1, 1]))).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    assert_eq!(stage.conditions().await[0], "Assigned=False WorkloadNotFound");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(5).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_kind_whose_replicas_karmada_does_not_divide_is_let_go_with_the_most_that_a_cluster_asks_for() {
    let stage = Stage::new(2).await;
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "stores.shop.example.com"}, "spec": {"group": "shop.example.com", "scope": "Namespaced",
        "names": {"plural": "stores", "singular": "store", "kind": "Store", "listKind": "StoreList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
            "properties": {"spec": any, "status": any}}}, "subresources": {"status": {},
            "scale": {"specReplicasPath": ".spec.size.count", "statusReplicasPath": ".status.count"}}}]}});
    stage.create(definition.clone()).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.member(cluster).unwrap().create(&definition).await.unwrap();
    }
    let kept = ScaledType {
        api_version: "shop.example.com/v1".into(),
        kind: "Store".into(),
        replicas: ".spec.size.count".into(),
    };
    stage.create(customizations(&[kept]).pop().unwrap()).await;
    let _one = stage.leads("one").await;
    let mut policy = policy(weights(&[1, 1]));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "shop.example.com/v1", "kind": "Store"}]);
    stage.create(policy).await;
    let store = json!({"apiVersion": "shop.example.com/v1", "kind": "Store",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"size": {"count": 3}}});
    stage.create(store.clone()).await;
    let target = json!({"apiVersion": "shop.example.com/v1", "kind": "Store", "name": "web"});
    stage.hpa(2, 10, json!({"scaleTargetRef": target})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    let kind = Kind::regular("shop.example.com/v1", "Store", true);
    for (cluster, count) in [("member1", 4), ("member2", 2)] {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        objects.merge(&kind, &store, "", &json!({"spec": {"size": {"count": count}}})).await.unwrap();
        // A status in words of its own.
        let status = json!({"status": {"observedGeneration": "3", "replicas": "two"}});
        objects.merge(&kind, &store, "status", &status).await.unwrap();
    }
    stage.pass(20).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    let after = stage.control.get(&kind, "prod", "web").await.unwrap().unwrap();
    assert_eq!(after["spec"]["size"]["count"], 4);
    let binding = stage.get("ResourceBinding", "web-store").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null);
}

/// A workload that is taken over while somebody else suspends Karmada's scheduler for it.
async fn suspended_by_another() -> (Stage, Process) {
    let (stage, one) = Stage::divided(4, &[1, 1]).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(30).await;
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_somebody_else_suspended_stays_suspended_when_the_workload_is_let_go() {
    let (stage, _one) = suspended_by_another().await;
    assert_eq!(stage.bounds().await, "1..4 1..4", "{:?}", stage.messages().await);
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    let web = stage.get("Deployment", "web").await;
    assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], true);
    let ours =
        json::members(&binding, "/metadata/annotations").filter(|(name, _)| name.starts_with("fhpa.karmada.io/"));
    assert_eq!(ours.count(), 0, "{binding}");
}

#[tokio::test(start_paused = true)]
async fn a_suspension_that_its_owner_lifted_is_not_left_behind() {
    let (stage, _one) = suspended_by_another().await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": false}}})).await;
    stage.pass(10).await;
    assert!(stage.suspended().await, "fhpa's own");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 4).await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_somebody_else_holds_back_is_not_divided_before_they_let_it_go() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    let mut nowhere = weights(&[1, 1]);
    nowhere["clusterAffinity"] = json!({"clusterNames": ["nowhere"]});
    stage.web(4, nowhere).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": null}}})).await;
    stage.pass(5).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(60).await;
    assert_eq!((&*stage.entries().await, &*stage.bounds().await), ("", "- -"));
    assert_eq!(stage.conditions().await, ["Assigned=False SchedulingSuspended", "Ready=False SchedulingSuspended"]);
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": false}}})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..4 1..4", "{:?}", stage.messages().await);
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    assert!(!stage.suspended().await);
}
