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

use super::departures::{OTHERS, ready, uneven};
use super::{Stage, hpa, kind, policy, weights};

/// The FederatedHPA is gone, and Karmada has the workload as the user wants it.
async fn is_let_go(stage: &Stage, replicas: i32) {
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "it is gone: {:?}", stage.conditions().await);
    let web = stage.get("Deployment", "web").await;
    assert_eq!(
        (label(&web, "resourcetemplate.karmada.io/retain-replicas"), &web["spec"]["replicas"]),
        ("", &json!(replicas))
    );
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null);
}

/// No more than so many pods can be made in a member, as under a quota.
fn forbid_pods(stage: &Stage, cluster: &str) {
    let which = Which { resource: "pods".into(), verb: "create".into(), ..Which::default() };
    let said = "pods \"web\" is forbidden: exceeded quota: q";
    stage.fleet.member(cluster).unwrap().faults().fail(which, usize::MAX, StatusError::plain(403, "Forbidden", said));
}

#[tokio::test(start_paused = true)]
async fn a_workload_without_any_cluster_keeps_the_users_replicas_and_is_let_go() {
    let stage = Stage::new(2).await;
    let mut one = stage.controller("one");
    one.leads().await;
    let mut nowhere = weights(&[1, 1]);
    nowhere["clusterAffinity"] = json!({"clusterNames": ["nowhere"]});
    stage.web(3, nowhere).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[0], "Assigned=False NoCandidates");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(30).await;
    is_let_go(&stage, 3).await;
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_pods_cannot_be_made_keeps_what_is_asked_for() {
    let stage = Stage::new(2).await;
    for cluster in ["member1", "member2"] {
        forbid_pods(&stage, cluster);
    }
    let mut one = stage.controller("one");
    one.leads().await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.replicas().await, "2 2");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 4).await;
    assert_eq!((stage.entries().await, stage.replicas().await), ("member1=2 member2=2".into(), "2 2".into()));
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn replicas_that_one_cluster_could_not_make_are_asked_for_still() {
    let (stage, one) =
        super::edits::running_with(json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}})).await;
    forbid_pods(&stage, "member3");
    for (cluster, replicas) in [("member2", 3), ("member3", 5)] {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
        objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": replicas}})).await.unwrap();
    }
    stage.pass(8).await;
    let running = stage.member("member3", "Deployment", "web").await.unwrap();
    assert_eq!((&running["spec"]["replicas"], &running["status"]["replicas"]), (&json!(5), &json!(1)));
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 9).await;
    assert_eq!(stage.entries().await, "member1=1 member2=3 member3=5");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_release_may_not_write_does_not_keep_it() {
    let (stage, one) = super::edits::running().await;
    one.stop().await;
    let role = Role { without: Some((ControlPlane, "get", "deployments")) };
    let one = Process::start_as(role, stage.fleet.control(), "two", &stage.wall, Arc::new(Unknown));
    stage.pass(30).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null);
    let events = stage.control.list(&kind("Event"), "prod").await.unwrap();
    let told = events.iter().find(|event| text(event, "/reason") == "ReleasedIncompletely").expect("an Event");
    assert!(text(told, "/note").contains("allow it the verb \"get\" on \"deployments\""), "{told}");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_karmada_that_does_not_follow_keeps_nobody_for_ever() {
    let (mut stage, one) = super::edits::running().await;
    let objects = Objects::new(stage.fleet.member("member2").unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": 3}})).await.unwrap();
    stage.pass(8).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(2).await;
    // The controllers of Karmada stop.
    stage.runs.shutdown().await;
    stage.pass(300).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    // Karmada is back, and finds nothing to scale.
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let web = stage.get("Deployment", "web").await;
    assert_eq!(binding["spec"]["replicas"], web["spec"]["replicas"]);
    one.stop().await;
}

/// Karmada no longer copies what its template asks for, and its scheduler would divide what the binding asked for last.
#[tokio::test(start_paused = true)]
async fn a_workload_whose_policy_is_gone_keeps_its_replicas_when_it_is_let_go() {
    let (stage, one) =
        super::edits::running_with(json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}})).await;
    let objects = Objects::new(stage.fleet.member("member2").unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": 4}})).await.unwrap();
    stage.pass(8).await;
    let before = stage.replicas().await;
    assert!(before.contains('4'), "{before}");
    stage.delete("PropagationPolicy", "web").await;
    stage.pass(30).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(label(&binding, "propagationpolicy.karmada.io/permanent-id"), "");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(30).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none(), "{:?}", stage.conditions().await);
    is_let_go(&stage, 6).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["replicas"], 6, "what the template asks for");
    stage.pass(300).await;
    assert_eq!(stage.replicas().await, before);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_of_the_other_mode_does_not_say_that_its_members_scale() {
    let (stage, one) = super::edits::running().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(120).await;
    let conditions = stage.all_conditions().await;
    assert!(conditions.iter().all(|said| !said.starts_with("Assigned=")), "{conditions:?}");
    assert!(conditions.contains(&"Ready=True TargetReady".to_owned()), "{conditions:?}");
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/status/clusterHPADesired").is_empty() && items(&hpa, "/status/aggregatedStatus").is_empty());
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn two_objects_that_swap_places_never_meet_on_a_workload() {
    let (stage, one) = super::edits::running().await;
    let mut shop = super::deployment("shop", 6);
    shop["metadata"]["name"] = json!("shop");
    stage.create(shop).await;
    stage.pass(10).await;
    // `web` goes on to `shop`, and another comes for what it leaves; admission cannot see them both.
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"});
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": target}})).await;
    let mut other = hpa(2, 10, json!({}));
    other["metadata"]["name"] = json!("next");
    stage.create(other).await;
    for _ in 0..120 {
        stage.pass(1).await;
        let mut scaled = Vec::new();
        for own in ["web", "next"] {
            let hpa = stage.member("member2", "HorizontalPodAutoscaler", own).await;
            scaled.extend(hpa.map(|hpa| text(&hpa, "/spec/scaleTargetRef/name").to_owned()));
        }
        scaled.sort();
        assert_ne!(scaled, ["web", "web"], "two HPAs on one workload");
    }
    let web = stage.get("Deployment", "web").await;
    assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "true", "the newcomer's label stays");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], true, "the newcomer's suspension stays");
    for own in ["web", "next"] {
        let hpa = stage.get("FederatedHPA", own).await;
        let ready = items(&hpa, "/status/conditions").iter().find(|one| text(one, "/type") == "Ready").unwrap();
        assert_eq!(text(ready, "/status"), "True", "{own}: {ready}");
    }
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_was_remembered_of_one_workload_is_not_done_to_the_next() {
    let (stage, one) = super::edits::running_with(json!({"scalingToZero": true})).await;
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
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_policy_without_a_namesake_is_no_reason_to_wait() {
    let stage = Stage::new(2).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.create(policy(weights(&[1, 1]))).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    assert_eq!(stage.conditions().await[0], "Assigned=False WorkloadNotFound");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(5).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    one.stop().await;
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
    let mut one = stage.controller("one");
    one.leads().await;
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
    one.stop().await;
}

/// A workload that is taken over while somebody else suspends Karmada's scheduler for it.
async fn suspended_by_another() -> (Stage, Process) {
    let stage = Stage::new(2).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.web(4, weights(&[1, 1])).await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": true}}})).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(30).await;
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_scheduler_that_somebody_else_suspended_stays_suspended_when_the_workload_is_let_go() {
    let (stage, one) = suspended_by_another().await;
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
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_suspension_that_its_owner_lifted_is_not_left_behind() {
    let (stage, one) = suspended_by_another().await;
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"suspension": {"scheduling": false}}})).await;
    stage.pass(10).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], true, "fhpa's own");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    is_let_go(&stage, 4).await;
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_somebody_else_holds_back_is_not_divided_before_they_let_it_go() {
    let stage = Stage::new(2).await;
    let mut one = stage.controller("one");
    one.leads().await;
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
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_after_its_policy_was_narrowed_leaves_no_pod_outside_the_policy() {
    // Nobody leads meanwhile, or the first cluster is being replaced.
    for led in [false, true] {
        let (stage, mut one) = uneven(30, json!({})).await;
        if led {
            stage.fleet.hold_pods("member2", true).unwrap();
        } else {
            one.kill().await;
            one = stage.controller("two");
        }
        let mut placement = weights(&[10, 3, 2]);
        placement["clusterAffinity"] = json!({"clusterNames": OTHERS});
        stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement}})).await;
        stage.pass(3).await;
        stage.delete("FederatedHPA", "web").await;
        one.leads().await;
        stage.fleet.hold_pods("member2", false).unwrap();
        stage.pass(120).await;
        // While it is replaced both are asked for.
        is_let_go(&stage, if led { 25 } else { 15 }).await;
        assert!(!stage.entries().await.contains("member1"), "led {led}: {}", stage.entries().await);
        let running = (ready(&stage, &["member1"]).await, ready(&stage, &OTHERS).await);
        assert!(running.0 == 0 && running.1 >= 15, "led {led}: {running:?}");
        one.stop().await;
    }
}
