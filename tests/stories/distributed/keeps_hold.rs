//! Who writes a whole FederatedHPA leaves no HPA behind in members: the object keeps its finalizer, or holds again what its
//! Works show (docs/design.md#on-the-wire).

use fhpa::api::FederatedHPA;
use fhpa::playground::json::{items, label};
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};

use super::edits::running;
use super::full_writes::fewest;
use super::{Stage, deployment, hpa};
use crate::bed::admission;
use crate::stories::Process;

const FINALIZER: &str = "fhpa.karmada.io/finalizer";
const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";
const FOREIGN: &str = "example.com/keep";
const MEMBERS: [&str; 3] = ["member1", "member2", "member3"];

/// Writes the whole FederatedHPA `web` as a user has it, with other fields of its spec.
async fn replace(stage: &Stage, more: Value, finalizers: &[&str]) -> Value {
    let mut whole = hpa(2, 10, more);
    whole["metadata"]["resourceVersion"] =
        stage.get("FederatedHPA", "web").await["metadata"]["resourceVersion"].clone();
    whole["metadata"]["finalizers"] = json!(finalizers);
    let whole: FederatedHPA = serde_json::from_value(whole).unwrap();
    let api: Api<FederatedHPA> = Api::namespaced(stage.fleet.control().client(), "prod");
    let parameters = PostParams { field_manager: Some("user".into()), ..PostParams::default() };
    serde_json::to_value(api.replace("web", &parameters, &whole).await.unwrap()).unwrap()
}

/// Ten replicas run.
async fn loaded() -> (Stage, Process) {
    let (stage, one) = running().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "1 4 5");
    (stage, one)
}

fn elsewhere() -> Value {
    json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}})
}

/// What scales `web` in members, and its label.
async fn left(stage: &Stage) -> (Vec<String>, String) {
    let mut scaled = Vec::new();
    for cluster in MEMBERS {
        let hpa = stage.member(cluster, "HorizontalPodAutoscaler", "web").await;
        let on = hpa.map(|hpa| hpa["spec"]["scaleTargetRef"]["name"].as_str().unwrap().to_owned());
        scaled.extend(on.filter(|name| name == "web"));
    }
    (scaled, label(&stage.get("Deployment", "web").await, LABEL).to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_object_that_lost_its_finalizer_ends_its_hpas_when_it_no_longer_scales_by_them() {
    for change in [json!({"mode": "Centralized"}), elsewhere()] {
        let (stage, _one) = loaded().await;
        stage.create(deployment("other", 2)).await;
        replace(&stage, change.clone(), &[]).await;
        assert_eq!(fewest(&stage, 120).await, 10, "{change}: {:?}", stage.messages().await);
        assert_eq!(left(&stage).await, (Vec::new(), String::new()), "{change}: {:?}", stage.messages().await);
        assert!(!stage.suspended().await, "{change}");
        let conditions = stage.all_conditions().await;
        assert!(conditions.iter().any(|said| said.starts_with("Ready=True")), "{change}: {conditions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_lost_its_finalizer_while_the_user_suspends_it_keeps_everything() {
    let (stage, _one) = loaded().await;
    replace(&stage, json!({"suspend": true}), &[]).await;
    assert_eq!(fewest(&stage, 120).await, 10, "{:?}", stage.messages().await);
    assert_eq!(left(&stage).await, (vec!["web".into(); 3], "true".into()));
    assert!(stage.suspended().await);
    stage.delete("FederatedHPA", "web").await;
    assert_eq!(fewest(&stage, 60).await, 10);
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert_eq!(left(&stage).await, (Vec::new(), String::new()));
}

#[tokio::test(start_paused = true)]
async fn an_object_whose_finalizer_is_forced_off_while_it_is_deleted_ends_its_hpas() {
    let (stage, one) = loaded().await;
    stage.patch("FederatedHPA", "web", json!({"metadata": {"finalizers": [FINALIZER, FOREIGN]}})).await;
    one.stop().await;
    let _webhook = admission::webhook(stage.fleet.control());
    stage.delete("FederatedHPA", "web").await;
    stage.patch("FederatedHPA", "web", json!({"metadata": {"finalizers": [FOREIGN]}})).await;
    let there = stage.get("FederatedHPA", "web").await;
    assert_eq!(items(&there, "/metadata/finalizers").len(), 1, "who deletes it may force it");
    let _one = stage.leads("two").await;
    assert_eq!(fewest(&stage, 120).await, 10);
    assert_eq!(left(&stage).await, (Vec::new(), String::new()));
    assert!(!stage.suspended().await);
}
