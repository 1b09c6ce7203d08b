//! An upgrade of Karmada: its CRDs of both kinds are served for a while.

use std::collections::BTreeMap;

use fhpa::api;
use fhpa::playground::json::{items, text};
use fhpa::playground::objects::{Kind, Written};
use serde_json::{Value, json};

use super::quiet::standing;
use super::{Stage, kind, weights};
use crate::install::DEFINITIONS;
use crate::stories::Process;

/// Objects of the story, and those that somebody writes in the window.
const OBJECTS: usize = 200;
const WRITTEN: usize = 40;

impl Stage {
    fn definitions() -> Kind {
        Kind::regular("apiextensions.k8s.io/v1", "CustomResourceDefinition", false)
    }

    /// Applies definitions, as an upgrade of Karmada does, or ours.
    async fn define(&self, texts: &[String]) {
        for text in texts {
            let new: Value = serde_saphyr::from_str(text).unwrap();
            let named = new["metadata"]["name"].as_str().unwrap();
            let old = self.control.get(&Self::definitions(), "", named).await.unwrap().unwrap();
            let patch = json!({"spec": {"versions": new["spec"]["versions"]}});
            let written = self.control.merge(&Self::definitions(), &old, "", &patch).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        }
    }

    async fn karmada_is_upgraded(&self) {
        self.define(&DEFINITIONS.map(str::to_owned)).await;
    }

    async fn ours_are_back(&self) {
        let files = api::crd::files().unwrap().map(|(_, text)| text);
        self.define(&files).await;
    }

    /// What users wrote, by name.
    async fn specs(&self) -> BTreeMap<String, Value> {
        let all = self.control.list(&kind("FederatedHPA"), "prod").await.unwrap();
        all.iter().map(|one| (text(one, "/metadata/name").to_owned(), one["spec"].clone())).collect()
    }

    /// What clusters are told, and how many pods they are asked to run.
    async fn told(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (of, fields) in [
            ("Work", &["/spec/workload/manifests/0/spec"][..]),
            ("ResourceBinding", &["/spec/clusters", "/spec/suspension"]),
            ("Deployment", &["/spec/replicas", "/metadata/labels"]),
        ] {
            for object in self.control.list(&kind(of), "").await.unwrap() {
                let told = fields.iter().map(|field| object.pointer(field).unwrap_or(&Value::Null).to_string());
                all.push(format!("{of} {} {}", text(&object, "/metadata/name"), told.collect::<Vec<_>>().join(" ")));
            }
        }
        all
    }

    /// Writes since they are recorded, but those of Karmada and for the Lease.
    fn written(&self) -> Vec<String> {
        let seen = self.fleet.control().faults().recorded();
        let writes = seen.into_iter().filter(|seen| matches!(&*seen.verb, "create" | "update" | "patch" | "delete"));
        let told = writes.filter(|seen| !["leases", "events", "works/status"].contains(&&*seen.resource));
        told.map(|seen| format!("{} {} {}", seen.verb, seen.resource, seen.name)).collect()
    }

    async fn restored(&self) -> usize {
        let events = self.control.list(&kind("Event"), "prod").await.unwrap();
        events.iter().filter(|event| text(event, "/reason") == "FieldsRestored").count()
    }
}

fn shows(process: &Process, line: &str) {
    let text = process.metrics.text();
    assert!(text.lines().any(|known| known == line), "{line} not in {text}");
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_with_a_change_of_leader_moves_nothing_and_loses_nothing() {
    let weights = json!([
        {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 1},
        {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 3, "autoscalingMaxThreshold": 3}]);
    let more = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}, "scaleAssist": false,
        "federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted",
            "clusterAutoscalingPreference": weights}});
    let stage = standing(OBJECTS, |_| more.clone()).await;
    let one = stage.leads("one").await;
    stage.pass(60).await;
    let (specs, before) = (stage.specs().await, stage.told().await);
    let bounds = before.iter().filter(|line| line.contains(r#""maxReplicas":3,"#)).count();
    assert_eq!((specs.len(), bounds), (OBJECTS, OBJECTS), "{:?}", &before[..3]);

    stage.karmada_is_upgraded().await;
    stage.pass(2).await;
    stage.fleet.control().faults().record();
    for at in 0..WRITTEN {
        let note = json!({"metadata": {"annotations": {"note": "somebody"}}});
        stage.patch("FederatedHPA", &format!("web{at}"), note).await;
    }
    let hidden = stage.specs().await.values().filter(|spec| spec.get("mode").is_none()).count();
    assert_eq!(hidden, OBJECTS);
    // The new leader has seen nothing but this.
    one.kill().await;
    let two = stage.leads("two").await;
    stage.pass(60).await;
    shows(&two, "fhpa_definitions_incomplete 1");
    let users = |line: &&String| line.starts_with("patch federatedhpas web");
    let written = stage.written();
    assert_eq!((written.len(), written.iter().filter(users).count()), (WRITTEN, WRITTEN), "{written:?}");
    assert_eq!(stage.told().await, before, "members go on, nothing moves");

    stage.ours_are_back().await;
    stage.pass(60).await;
    shows(&two, "fhpa_definitions_incomplete 0");
    assert_eq!(stage.specs().await, specs, "nothing is lost");
    assert_eq!(stage.told().await, before, "nothing moves");
    assert_eq!(stage.restored().await, WRITTEN);
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_sees_the_window_says_how_long_nothing_was_done() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}})).await;
    let _one = stage.leads("one").await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    stage.karmada_is_upgraded().await;
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
    let thawed: Vec<&Value> = events.iter().filter(|event| text(event, "/reason") == "DefinitionsRestored").collect();
    assert_eq!(thawed.len(), 2, "one for each definition");
    assert!(text(thawed[0], "/note").contains("for 120 s no FederatedHPA"), "{}", thawed[0]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_nobody_knows_the_mode_of_is_kept_as_it_stands() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    let _one = stage.leads("one").await;
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
    assert!(stage.suspended().await);
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
    let _one = stage.leads("one").await;
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

#[tokio::test(start_paused = true)]
async fn a_copy_restores_no_field_that_karmada_has_too() {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    let copy = json!({"maxReplicas": 100, "minReplicas": 50, "scaleTargetRef": {"name": "x"}, "rules": {}});
    let with_mode = json!({"maxReplicas": 100, "minReplicas": 50, "mode": "Distributed"});
    let _one = stage.leads("one").await;
    for copy in [copy, with_mode] {
        let mut object = super::hpa(2, 8, json!({}));
        object["spec"].as_object_mut().unwrap().remove("mode");
        object["metadata"]["annotations"] = json!({"fhpa.karmada.io/spec": copy.to_string()});
        let spec = object["spec"].clone();
        stage.create(object).await;
        stage.pass(30).await;
        let mut found = stage.get("FederatedHPA", "web").await["spec"].clone();
        assert_eq!(found.as_object_mut().unwrap().remove("mode"), Some(json!("Distributed")), "{copy}");
        assert_eq!(found, spec, "{copy}");
        assert_eq!(stage.bounds().await, "1..4 1..4", "{copy}");
        stage.delete("FederatedHPA", "web").await;
        stage.pass(60).await;
    }
}
