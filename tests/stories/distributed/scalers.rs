//! Other autoscalers of a workload, in karmada-apiserver and in members.

use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::playground::json::{items, text};
use fhpa::playground::objects::{Objects, Written};
use serde_json::{Value, json};

use super::{Stage, deployment, hpa, kind, policy, weights};
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
    let (stage, one) = Stage::divided(2, &[1, 1]).await;
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
    let (stage, _one) = running().await;
    stage.create(plain("old")).await;
    stage.pass(5).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False ConflictingScaler");
    assert!(message.contains(r#"HorizontalPodAutoscaler "old" scales this Deployment too"#), "{message}");
    assert_eq!(stage.bounds().await, "1..5 1..5", "members scale on");
    stage.delete("HorizontalPodAutoscaler", "old").await;
    stage.pass(5).await;
    assert_eq!(ready(&stage).await.0, "True MemberHPAsReady");
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
}

#[tokio::test(start_paused = true)]
async fn scaled_objects_stay_known_while_an_api_server_starts_and_go_with_keda() {
    let (stage, _one) = running().await;
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
}

#[tokio::test(start_paused = true)]
async fn a_members_hpa_of_another_name_is_named_and_taken_over_only_when_asked_for() {
    let (stage, _one) = running().await;
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
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_somebody_would_restore_is_reported_and_not_deleted() {
    let (stage, _one) = running().await;
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
}

/// The Deployment `web` with an HPA `web-local` of the users in each of the clusters, which keep their replicas.
async fn scaled_by_members(clusters: &[&str]) -> (Stage, Process) {
    let stage = Stage::new(2).await;
    let one = stage.leads("one").await;
    stage.create(policy(weights(&[1, 1]))).await;
    let mut web = deployment("web", 2);
    web["metadata"]["labels"]["resourcetemplate.karmada.io/retain-replicas"] = json!("true");
    stage.create(web).await;
    stage.pass(20).await;
    for cluster in clusters {
        let mut local = hpa(1, 6, json!({}));
        local["apiVersion"] = json!("autoscaling/v2");
        local["kind"] = json!("HorizontalPodAutoscaler");
        local["metadata"]["name"] = json!("web-local");
        local["spec"].as_object_mut().unwrap().remove("mode");
        stage.fleet.member(cluster).unwrap().create(&local).await.unwrap();
    }
    stage.pass(30).await;
    (stage, one)
}

/// The user deletes `web-local`.
async fn delete_local(stage: &Stage, cluster: &str) {
    let found = stage.member(cluster, "HorizontalPodAutoscaler", "web-local").await.unwrap();
    let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
    let written = objects.delete(&kind("HorizontalPodAutoscaler"), &found).await.unwrap();
    assert!(matches!(written, Written::Done(_)), "{written:?}");
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_members_scale_is_taken_over_only_when_their_hpas_are_gone() {
    let (stage, _one) = scaled_by_members(&["member1", "member2"]).await;
    stage.hpa(2, 20, json!({})).await;
    stage.pass(60).await;
    let (said, message) = ready(&stage).await;
    assert_eq!(said, "False AmbiguousSelector", "{message}");
    assert!(message.contains(r#""web-local" in member1, "web-local" in member2"#), "{message}");
    stage.fleet.load().set("prod", "web", 600);
    stage.pass(120).await;
    assert_eq!(
        (stage.bounds().await, stage.replicas().await),
        ("- -".into(), "6 6".into()),
        "the users' HPAs scale on"
    );
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"].get("suspension"), None, "{binding}");
    assert!(items(&stage.get("FederatedHPA", "web").await, "/metadata/finalizers").is_empty());
    delete_local(&stage, "member1").await;
    stage.pass(70).await;
    assert!(ready(&stage).await.1.contains(r#" "web-local" in member2"#), "{:?}", ready(&stage).await);
    delete_local(&stage, "member2").await;
    stage.pass(90).await;
    assert_eq!((ready(&stage).await.0, stage.bounds().await), ("True MemberHPAsReady".into(), "1..10 1..10".into()));
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_members_scale_is_taken_over_at_once_when_the_object_adopts() {
    let (stage, _one) = scaled_by_members(&["member1"]).await;
    stage.hpa(2, 20, json!({})).await;
    stage.pass(10).await;
    assert_eq!((ready(&stage).await.0, stage.bounds().await), ("False AmbiguousSelector".into(), "- -".into()));
    let adopt = json!({"metadata": {"annotations": {"fhpa.karmada.io/adopt-hpa": "true"}}});
    stage.patch("FederatedHPA", "web", adopt).await;
    stage.pass(10).await;
    assert_eq!(stage.bounds().await, "1..10 1..10");
    stage.pass(80).await;
    assert_eq!(stage.member("member1", "HorizontalPodAutoscaler", "web-local").await, None);
    assert_eq!(ready(&stage).await.0, "True MemberHPAsReady");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_does_not_answer_delays_a_takeover_by_seconds_only() {
    let (stage, _one) = scaled_by_members(&[]).await;
    let which = Which { verb: "get".into(), resource: "clusters/proxy".into(), name: "member1".into() };
    let _held = stage.fleet.control().faults().hold(which, Moment::Arriving);
    stage.hpa(2, 20, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..10 1..10");
}
