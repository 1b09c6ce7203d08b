//! An upgrade of Karmada: its definitions of both kinds are served for a while.

use std::collections::BTreeMap;

use fhpa::api;
use fhpa::convert::definition;
use fhpa::playground::json::{items, text};
use fhpa::playground::objects::{Kind, Written};
use serde_json::{Value, json};

use super::{Stage, deployment, hpa, kind, weights};
use crate::install::DEFINITIONS;
use crate::stories::Process;

/// Objects that somebody writes in the window.
const WRITTEN: usize = 40;

fn name(at: usize) -> String {
    format!("web{at:03}")
}

/// Who keeps our fields when other definitions are applied over ours.
#[derive(Clone, Copy, PartialEq)]
enum Guard {
    Nobody,
    TheWebhook,
}

impl Stage {
    fn definitions() -> Kind {
        Kind::regular("apiextensions.k8s.io/v1", "CustomResourceDefinition", false)
    }

    /// Applies definitions, as an upgrade of Karmada does, or ours.
    async fn define(&self, texts: &[String], guard: Guard) {
        for text in texts {
            let new: Value = serde_saphyr::from_str(text).unwrap();
            let named = new["metadata"]["name"].as_str().unwrap();
            let old = self.control.get(&Self::definitions(), "", named).await.unwrap().unwrap();
            let mut after = old.clone();
            after["spec"]["versions"] = new["spec"]["versions"].clone();
            if guard == Guard::TheWebhook {
                for addition in definition::kept(&old.to_string(), &after.to_string()) {
                    let add = json!([{"op": "add", "path": addition.pointer, "value": addition.value}]);
                    let add: json_patch::Patch = serde_json::from_value(add).unwrap();
                    json_patch::patch(&mut after, &add).unwrap();
                }
            }
            let patch = json!({"spec": {"versions": after["spec"]["versions"]}});
            let written = self.control.merge(&Self::definitions(), &old, "", &patch).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        }
    }

    async fn karmada_is_upgraded(&self, guard: Guard) {
        self.define(&DEFINITIONS.map(str::to_owned), guard).await;
    }

    async fn ours_are_back(&self) {
        let files = api::crd::files().unwrap().map(|(_, text)| text);
        self.define(&files, Guard::Nobody).await;
    }

    /// What users wrote, by name.
    async fn specs(&self) -> BTreeMap<String, Value> {
        let all = self.control.list(&kind("FederatedHPA"), "prod").await.unwrap();
        all.iter().map(|one| (text(one, "/metadata/name").to_owned(), one["spec"].clone())).collect()
    }

    /// What clusters were told, and how many pods they were asked to run.
    async fn everything(&self, objects: usize) -> Vec<String> {
        let mut all = Vec::new();
        for cluster in self.fleet.names() {
            for plural in ["HorizontalPodAutoscaler", "Deployment"] {
                for at in 0..objects {
                    let found = self.member(cluster, plural, &name(at)).await.unwrap_or_default();
                    let spec = &found["spec"];
                    all.push(format!(
                        "{cluster} {plural} {at}: {} {} {}",
                        spec["minReplicas"], spec["maxReplicas"], spec["replicas"]
                    ));
                }
            }
        }
        for binding in self.control.list(&kind("ResourceBinding"), "prod").await.unwrap() {
            all.push(format!(
                "{} {} {}",
                binding["metadata"]["name"], binding["spec"]["clusters"], binding["spec"]["suspension"]
            ));
        }
        all
    }

    /// Writes that are the controller's alone, since this was last asked.
    fn decided(&self) -> Vec<String> {
        let seen = self.fleet.control().faults().recorded();
        let writes = seen.into_iter().filter(|seen| matches!(&*seen.verb, "create" | "update" | "patch" | "delete"));
        let ours = writes.filter(|seen| {
            matches!(
                &*seen.resource,
                "federatedhpas" | "federatedhpas/status" | "deployments" | "deployments/scale" | "works"
            )
        });
        ours.map(|seen| format!("{} {} {}", seen.verb, seen.resource, seen.name)).collect()
    }

    async fn restored(&self) -> usize {
        let events = self.control.list(&kind("Event"), "prod").await.unwrap();
        events.iter().filter(|event| text(event, "/reason") == "Restored").count()
    }
}

fn shows(process: &Process, line: &str) {
    let text = process.metrics.text();
    assert!(text.lines().any(|known| known == line), "{line} not in {text}");
}

/// Workloads in two clusters, of which each FederatedHPA says what only fhpa knows.
async fn running(objects: usize) -> (Stage, Process) {
    let stage = Stage::new(2).await;
    let mut policy = super::policy(weights(&[1, 1]));
    policy["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment"}]);
    stage.create(policy).await;
    let mut one = stage.controller("one");
    one.leads().await;
    for at in 0..objects {
        stage.create(deployment(&name(at), 2)).await;
        let more = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name(at)},
            "clusterAffinity": {"clusterNames": ["member1", "member2"]}, "scaleAssist": false,
            "federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
                {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 1},
                {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 2, "autoscalingMaxThreshold": 5}]}});
        let mut object = hpa(2, 9, more);
        object["metadata"]["name"] = json!(name(at));
        stage.create(object).await;
    }
    stage.pass(50).await;
    (stage, one)
}

async fn an_upgrade(guard: Guard, objects: usize) {
    let (stage, one) = running(objects).await;
    let (specs, before) = (stage.specs().await, stage.everything(objects).await);
    assert!(before.iter().any(|line| line == "member2 HorizontalPodAutoscaler 0: 2 5 null"), "{:?}", &before[..3]);
    stage.pass(10).await;
    assert_eq!(stage.everything(objects).await, before, "it is at rest");

    stage.karmada_is_upgraded(guard).await;
    stage.pass(2).await;
    stage.fleet.control().faults().record();
    for at in 0..WRITTEN {
        stage.patch("FederatedHPA", &name(at), json!({"metadata": {"annotations": {"note": "somebody"}}})).await;
    }
    let hidden = stage.specs().await.values().filter(|spec| spec.get("mode").is_none()).count();
    assert_eq!(hidden, if guard == Guard::Nobody { objects } else { 0 });
    // The leader changes in the window; the new one has seen nothing but this.
    one.kill().await;
    let mut two = stage.controller("two");
    two.leads().await;
    stage.pass(20).await;
    let decided = stage.decided();
    let others = decided.iter().filter(|line| line.starts_with("patch federatedhpas ")).count();
    if guard == Guard::Nobody {
        shows(&two, "fhpa_frozen 1");
        assert_eq!((decided.len(), others), (WRITTEN, WRITTEN), "what somebody wrote, and nothing else: {decided:?}");
    } else {
        shows(&two, "fhpa_frozen 0");
    }
    assert_eq!(stage.everything(objects).await, before, "members go on, nothing moves");

    stage.ours_are_back().await;
    stage.pass(30).await;
    shows(&two, "fhpa_frozen 0");
    assert_eq!(stage.specs().await, specs, "nothing is lost");
    assert_eq!(stage.everything(objects).await, before, "nothing moves");
    assert_eq!(stage.restored().await, if guard == Guard::Nobody { WRITTEN } else { 0 });
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_of_karmada_moves_nothing_and_loses_nothing() {
    an_upgrade(Guard::Nobody, 200).await;
}

#[tokio::test(start_paused = true)]
async fn with_definitions_that_keep_our_fields_an_upgrade_is_not_even_seen() {
    an_upgrade(Guard::TheWebhook, 40).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sees_the_window_says_how_long_nothing_was_done() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}})).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    stage.karmada_is_upgraded(Guard::Nobody).await;
    stage.pass(60).await;
    // What users do meanwhile is done afterwards.
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 12}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    stage.ours_are_back().await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..6 1..6");
    assert_eq!(stage.get("FederatedHPA", "web").await["spec"]["clusterAffinity"]["clusterNames"][1], "member2");
    let events = stage.control.list(&kind("Event"), "default").await.unwrap();
    let thawed: Vec<&Value> = events.iter().filter(|event| text(event, "/reason") == "Thawed").collect();
    assert_eq!(thawed.len(), 2, "one for each definition");
    assert!(text(thawed[0], "/note").contains("for 120 s no FederatedHPA"), "{}", thawed[0]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_nobody_knows_the_mode_of_is_kept_as_it_stands() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.pass(30).await;
    let (bounds, entries) = (stage.bounds().await, stage.entries().await);
    // As after an upgrade under an fhpa that made no copies.
    let nothing = json!({"spec": {"mode": null}, "metadata": {"annotations": {
        "fhpa.karmada.io/spec": null, "fhpa.karmada.io/mode": null}}});
    stage.patch("FederatedHPA", "web", nothing).await;
    stage.pass(60).await;
    let conditions = stage.conditions().await;
    for said in ["Assigned=Unknown ModeUnknown", "Ready=False ModeUnknown"] {
        assert!(conditions.contains(&said.to_owned()), "{conditions:?}");
    }
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], true);
    assert_eq!((stage.bounds().await, stage.entries().await), (bounds, entries));
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Distributed"}})).await;
    stage.pass(30).await;
    let conditions = stage.conditions().await;
    assert!(conditions.iter().any(|said| said.starts_with("Ready=True")), "{conditions:?}");
    // It can be deleted in that state, too.
    let nothing = json!({"spec": {"mode": null}, "metadata": {"annotations": {
        "fhpa.karmada.io/spec": null, "fhpa.karmada.io/mode": null}}});
    stage.patch("FederatedHPA", "web", nothing).await;
    stage.pass(10).await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_no_webhook_answers_is_no_loss() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "scaleAssist": false})).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.pass(30).await;
    stage
        .patch(
            "FederatedHPA",
            "web",
            json!({"spec": {"scaleAssist": null, "clusterAffinity": {"clusterNames": ["member1"]}}}),
        )
        .await;
    stage.pass(30).await;
    let object = stage.get("FederatedHPA", "web").await;
    assert_eq!(object["spec"].get("scaleAssist"), None);
    let copy = text(&object, "/metadata/annotations/fhpa.karmada.io~1spec");
    assert_eq!(copy, r#"{"clusterAffinity":{"clusterNames":["member1"]},"mode":"Distributed"}"#);
    assert_eq!(stage.restored().await, 0);
    assert!(items(&object, "/status/conditions").iter().all(|one| text(one, "/reason") != "ModeUnknown"));
}
