//! Other autoscalers of a workload, in karmada-apiserver and in members.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::json::text;
use serde_json::{Value, json};

use super::{Stage, kind, weights};
use crate::stories::Process;

/// A plain HPA of the workload `web`.
pub fn plain(name: &str) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": name, "namespace": "prod"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
}

/// KEDA's definition, as far as it is needed.
pub fn keda() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "scaledobjects.keda.sh"},
        "spec": {"group": "keda.sh", "scope": "Namespaced",
            "names": {"kind": "ScaledObject", "plural": "scaledobjects", "singular": "scaledobject", "listKind": "ScaledObjectList"},
            "versions": [{"name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

pub fn scaled_object(name: &str) -> Value {
    json!({"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": {"name": name, "namespace": "prod"},
        "spec": {"scaleTargetRef": {"name": "web"}, "triggers": []}})
}

async fn running() -> (Stage, Process) {
    let stage = Stage::new(2).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    (stage, one)
}

async fn ready(stage: &Stage) -> (String, String) {
    let hpa = stage.get("FederatedHPA", "web").await;
    let mut found = fhpa::playground::json::items(&hpa, "/status/conditions").iter();
    let found = found.rfind(|one| text(one, "/type") == "Ready").cloned().unwrap_or_default();
    (format!("{} {}", text(&found, "/status"), text(&found, "/reason")), text(&found, "/message").to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_hpa_in_the_control_plane_is_reported_while_it_is_there() {
    let (stage, one) = running().await;
    stage.create(plain("old")).await;
    stage.pass(5).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False ConflictingScaler");
    assert!(message.contains(r#"HorizontalPodAutoscaler "old" scales this Deployment too"#), "{message}");
    assert_eq!(stage.bounds().await, "1..5 1..5", "members scale on");
    stage.delete("HorizontalPodAutoscaler", "old").await;
    stage.pass(5).await;
    assert_eq!(ready(&stage).await.0, "True MemberHPAsReady");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_scaled_object_is_reported_also_where_keda_is_installed_later() {
    let (stage, one) = running().await;
    assert!(!one.metrics.text().contains(r#"fhpa_watch_errors_total{kind="ScaledObject"}"#), "KEDA need not be there");
    stage.create(keda()).await;
    stage.create(scaled_object("web-keda")).await;
    stage.pass(700).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False ConflictingScaler");
    assert!(message.contains(r#"ScaledObject "web-keda" scales this Deployment too"#), "{message}");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn scaled_objects_stay_known_while_an_api_server_starts_and_go_with_keda() {
    let (stage, one) = running().await;
    stage.create(keda()).await;
    stage.create(scaled_object("web-keda")).await;
    stage.pass(700).await;
    let fails = |times| {
        let watches = Which { verb: "watch".into(), resource: "scaledobjects".into(), ..Which::default() };
        stage.fleet.control().faults().fail(watches, times, StatusError::no_such_resource());
        stage.fleet.control().faults().drop_watches();
    };
    fails(2);
    for _ in 0..20 {
        stage.pass(5).await;
        assert_eq!(ready(&stage).await.0, "False ConflictingScaler");
    }
    fails(5);
    stage.pass(60).await;
    assert_eq!(ready(&stage).await.0, "True MemberHPAsReady", "a kind that is not served has no objects");
    // The kind is listed again, not watched from where the watch ended.
    stage.pass(700).await;
    assert_eq!(ready(&stage).await.0, "False ConflictingScaler");
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_members_hpa_of_another_name_is_named_and_taken_over_only_when_asked_for() {
    let (stage, one) = running().await;
    stage.fleet.member("member2").unwrap().create(&plain("old")).await.unwrap();
    stage.pass(60).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False AmbiguousSelector");
    assert!(message.ends_with(r#"the other HPA is "old" in member2"#), "{message}");
    assert!(stage.member("member2", "HorizontalPodAutoscaler", "old").await.is_some());
    let adopt = json!({"metadata": {"annotations": {"fhpa.karmada.io/adopt-hpa": "true"}}});
    stage.patch("FederatedHPA", "web", adopt).await;
    stage.pass(90).await;
    assert_eq!(stage.member("member2", "HorizontalPodAutoscaler", "old").await, None);
    assert_eq!(ready(&stage).await.0, "True MemberHPAsReady");
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..5 1..5".into(), "1 1".into()));
    let events = stage.control.list(&kind("Event"), "prod").await.unwrap();
    assert_eq!(events.iter().filter(|event| text(event, "/reason") == "AdoptedHPA").count(), 1);
    one.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_somebody_would_restore_is_reported_and_not_deleted() {
    let (stage, one) = running().await;
    let mut owned = plain("keda-hpa-web");
    owned["metadata"]["labels"] = json!({"karmada.io/managed": "true"});
    stage.fleet.member("member2").unwrap().create(&owned).await.unwrap();
    let adopt = json!({"metadata": {"annotations": {"fhpa.karmada.io/adopt-hpa": "true"}}});
    stage.patch("FederatedHPA", "web", adopt).await;
    stage.pass(90).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False AmbiguousSelector");
    assert!(message.ends_with(r#""keda-hpa-web" in member2 (of a policy of Karmada)"#), "{message}");
    assert!(stage.member("member2", "HorizontalPodAutoscaler", "keda-hpa-web").await.is_some());
    one.stop().await;
}
