//! Checks before a takeover; nothing of the workload is written when one fails.

use std::sync::Arc;

use embedded_apiserver::faults::ObservedRequest;
use fhpa::install::permissions::PermissionScope::ControlPlane;
use fhpa::playground::json::{annotation, items, label, text};
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use serde_json::{Value, json};

use super::{Stage, hpa, policy, weights};
use crate::bed::admission;
use crate::bed::role::Role;
use crate::stories::Process;

/// A DaemonSet `web` that is propagated.
async fn daemons(stage: &Stage) {
    let mut policy = policy(json!({}));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet"}]);
    stage.create(policy).await;
    let mut daemons = super::deployment("web", 1);
    daemons["kind"] = json!("DaemonSet");
    daemons["spec"].as_object_mut().unwrap().remove("replicas");
    stage.create(daemons).await;
}

fn on(kind: &str) -> Value {
    hpa(2, 10, json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": kind, "name": "web"}}))
}

/// Writes of the controller to anything but its own objects.
fn writes(stage: &Stage) -> Vec<String> {
    let ours = ["leases", "events", "federatedhpas", "federatedhpas/status", "cronfederatedhpas/status"];
    let written = |seen: &&ObservedRequest| {
        matches!(&*seen.verb, "create" | "update" | "patch" | "delete") && !ours.contains(&&*seen.resource)
    };
    let seen = stage.fleet.control().faults().recorded();
    seen.iter().filter(written).map(|seen| format!("{} {}", seen.verb, seen.resource)).collect()
}

async fn said(stage: &Stage) -> String {
    let ready = stage.conditions().await.get(1).cloned().unwrap_or_default();
    format!("{ready}: {}", stage.messages().await.get(1).cloned().unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn a_kind_without_replicas_is_neither_suspended_nor_held() {
    let stage = Stage::new(2).await;
    let _webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    stage.create(on("DaemonSet")).await;
    stage.pass(5).await;
    daemons(&stage).await;
    stage.pass(30).await;
    let binding = stage.get("ResourceBinding", "web-daemonset").await;
    assert_eq!(binding["spec"].get("suspension"), None, "{binding}");
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/metadata/finalizers").is_empty());
    let said = said(&stage).await;
    assert!(said.starts_with("Ready=False TargetNotScalable: DaemonSet of apps/v1: cannot be scaled"), "{said}");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(1).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_the_installation_does_not_name_is_not_touched_until_it_does() {
    let stage = Stage::new(2).await;
    stage.delete("ResourceInterpreterCustomization", "fhpa-statefulset-apps-v1").await;
    let _webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    stage.create(on("StatefulSet")).await;
    let mut policy = policy(weights(&[1, 1]));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet"}]);
    stage.create(policy).await;
    let mut sets = super::deployment("web", 4);
    sets["kind"] = json!("StatefulSet");
    sets["spec"]["serviceName"] = json!("web");
    stage.pass(2).await;
    stage.create(sets).await;
    stage.pass(30).await;
    let binding = stage.get("ResourceBinding", "web-statefulset").await;
    assert_eq!((binding["spec"].get("suspension"), stage.bounds().await), (None, "- -".into()));
    let told = said(&stage).await;
    assert!(told.starts_with("Ready=False KindNotAllowed: "), "{told}");
    assert!(told.contains("fhpa install --scale-kind apps/statefulsets"), "{told}");
    for customization in fhpa::install::kinds::customizations(&[]) {
        if text(&customization, "/metadata/name") == "fhpa-statefulset-apps-v1" {
            stage.create(customization).await;
        }
    }
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{}", said(&stage).await);
}

#[tokio::test(start_paused = true)]
async fn without_a_right_on_the_workload_nothing_of_it_is_written() {
    for (verb, resource) in [("get", "deployments"), ("patch", "deployments"), ("patch", "deployments/scale")] {
        let stage = Stage::new(2).await;
        let _webhook = admission::webhook(stage.fleet.control());
        let role = Role { without: Some((ControlPlane, verb, resource)) };
        let mut one = Process::start_as(role, stage.fleet.control(), "one", &stage.wall, Arc::new(Unknown));
        one.leads().await;
        stage.hpa(2, 10, json!({})).await;
        stage.pass(2).await;
        stage.web(4, weights(&[1, 1])).await;
        stage.pass(30).await;
        let told = said(&stage).await;
        assert!(told.starts_with("Ready=False Forbidden: "), "{told}");
        assert!(told.contains(&format!("allow it the verb \"{verb}\" on \"{resource}\"")), "{told}");
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null, "without {verb} {resource}");
        assert_eq!(annotation(&binding, "fhpa.karmada.io/suspended-for"), "");
        assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
        let web = stage.get("Deployment", "web").await;
        assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "");
        stage.delete("FederatedHPA", "web").await;
        stage.pass(1).await;
        assert!(stage.find("FederatedHPA", "web").await.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_cannot_be_read_is_said_and_nothing_is_decided_by_it() {
    let stage = Stage::still(2).await;
    let _one = stage.leads("one").await;
    stage.create(super::deployment("web", 4)).await;
    stage.hpa(2, 10, json!({})).await;
    let binding = |placement: Value| {
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": "web-deployment", "namespace": "prod"}, "spec": {"placement": placement, "replicas": 4,
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "web"}}})
    };
    stage.fleet.control().faults().record();
    let mut bare = binding(Value::Null);
    bare["spec"].as_object_mut().unwrap().remove("placement");
    stage.create(bare).await;
    stage.pass(10).await;
    let told = said(&stage).await;
    assert!(told.starts_with("Ready=False BindingUnreadable: "), "{told}");
    assert!(told.contains("it has no placement: no PropagationPolicy made it"), "{told}");
    let by_us: Vec<String> =
        writes(&stage).into_iter().filter(|write| !write.starts_with("create resourcebindings")).collect();
    assert_eq!(by_us, [""; 0]);
}

/// A customization of the users.
fn retention(kind: &str, script: &str) -> Value {
    json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "theirs"}, "spec": {"target": {"apiVersion": "apps/v1", "kind": kind},
        "customizations": {"retention": {"luaScript": script}}}})
}

const ANNOTATIONS: &str = "function Retain(desiredObj, observedObj)\n  desiredObj.metadata.annotations = observedObj.metadata.annotations\n  return desiredObj\nend";

#[tokio::test(start_paused = true)]
async fn a_kind_whose_customization_keeps_no_replicas_is_not_taken_over() {
    let stage = Stage::new(2).await;
    stage.create(retention("Deployment", ANNOTATIONS)).await;
    let _one = stage.leads("one").await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 20, json!({})).await;
    stage.pass(30).await;
    stage.fleet.load().set("prod", "web", 800);
    stage.pass(120).await;
    let told = said(&stage).await;
    assert!(
        told.starts_with("Ready=False KindNotAllowed: Deployment of apps/v1: "),
        "{told} {}",
        stage.replicas().await
    );
    assert!(told.contains(r#"ResourceInterpreterCustomization "theirs""#), "{told}");
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "1 1".into()));
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("suspension"), None, "{binding}");
    assert!(items(&stage.get("FederatedHPA", "web").await, "/metadata/finalizers").is_empty());
    let script = fhpa::install::kinds::customizations(&[])
        .into_iter()
        .find(|one| text(one, "/spec/target/kind") == "StatefulSet");
    let script = text(&script.unwrap(), "/spec/customizations/retention/luaScript").to_owned();
    stage
        .patch(
            "ResourceInterpreterCustomization",
            "theirs",
            json!({"spec": {"customizations": {"retention": {"luaScript": script}}}}),
        )
        .await;
    stage.pass(120).await;
    assert_eq!(
        (stage.bounds().await, stage.replicas().await),
        ("1..10 1..10".into(), "8 8".into()),
        "{}",
        said(&stage).await
    );
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_members_no_longer_keep_replicas_of_says_so() {
    let (stage, _one) = Stage::divided(2, &[1, 1]).await;
    stage.hpa(2, 20, json!({})).await;
    stage.pass(30).await;
    assert!(said(&stage).await.starts_with("Ready=True MemberHPAsReady"));
    stage.create(retention("Deployment", ANNOTATIONS)).await;
    stage.pass(10).await;
    let told = said(&stage).await;
    assert!(told.starts_with("Ready=False KindNotAllowed: Deployment of apps/v1: "), "{told}");
    stage.delete("ResourceInterpreterCustomization", "theirs").await;
    stage.pass(10).await;
    assert!(said(&stage).await.starts_with("Ready=True MemberHPAsReady"));
}
