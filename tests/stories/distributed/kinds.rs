//! Workloads of kinds that Kubernetes does not have: taken over, retained, and handed back.
//!
//! Facts about Argo Rollouts: `spec.replicas`, a `scale` subresource, and a `status.observedGeneration` that is a string
//! (their CustomResourceDefinition `rollouts.argoproj.io`). A Store has its replicas elsewhere.

use fhpa::install::kinds::{customizations, versions};
use fhpa::install::permissions::ScaledKind;
use fhpa::playground::json::{label, text};
use fhpa::playground::objects::{Kind, Objects, Written};
use serde_json::{Value, json};

use super::{Stage, hpa, policy, weights};
use crate::stories::Process;

/// A kind, and where its objects have their replicas.
struct Custom {
    group: &'static str,
    version: &'static str,
    kind: &'static str,
    replicas: &'static str,
}

const ROLLOUT: Custom =
    Custom { group: "argoproj.io", version: "v1alpha1", kind: "Rollout", replicas: "/spec/replicas" };
const STORE: Custom = Custom { group: "shop.example.com", version: "v1", kind: "Store", replicas: "/spec/size/count" };

impl Custom {
    fn resource(&self) -> Kind {
        Kind::regular(&format!("{}/{}", self.group, self.version), self.kind, true)
    }

    fn definition(&self) -> Value {
        let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let (kind, plural) = (self.kind, self.resource().plural);
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{}", self.group)}, "spec": {"group": self.group, "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": self.version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}},
                "subresources": {"status": {}, "scale": {"specReplicasPath": self.replicas.replace('/', "."),
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}}]}})
    }

    fn with_replicas(&self, replicas: i32) -> Value {
        let mut spec = json!({});
        let path: Vec<&str> = self.replicas.split('/').skip(1).collect();
        fhpa::playground::json::set(&mut spec, &path, json!(replicas));
        spec
    }

    fn workload(&self, replicas: i32) -> Value {
        let mut object = self.with_replicas(replicas);
        let labels = json!({"matchLabels": {"app": "web"}});
        fhpa::playground::json::set(&mut object, &["spec", "selector"], labels);
        object["apiVersion"] = json!(self.resource().api_version);
        object["kind"] = json!(self.kind);
        object["metadata"] = json!({"name": "web", "namespace": "prod"});
        object
    }

    /// Serves the kind everywhere, allows it, and propagates a workload of it with 2 replicas.
    async fn running(&self, mode: &str) -> (Stage, Process) {
        let stage = Stage::new(2).await;
        stage.create(self.definition()).await;
        for cluster in stage.fleet.names() {
            stage.fleet.member(cluster).unwrap().create(&self.definition()).await.unwrap();
        }
        let allowed = ScaledKind { group: self.group.into(), resource: self.resource().plural };
        let scaled = versions(&stage.fleet.control().client(), &allowed).await.unwrap();
        for customization in customizations(&scaled) {
            if text(&customization, "/spec/target/kind") == self.kind {
                stage.create(customization).await;
            }
        }
        let mut one = stage.controller("one");
        one.leads().await;
        let mut policy = policy(weights(&[1, 1]));
        let api_version = self.resource().api_version;
        policy["spec"]["resourceSelectors"] = json!([{"apiVersion": api_version, "kind": self.kind}]);
        stage.create(policy).await;
        stage.create(self.workload(2)).await;
        stage.pass(20).await;
        let target = json!({"apiVersion": api_version, "kind": self.kind, "name": "web"});
        stage.create(hpa(2, 10, json!({"mode": mode, "scaleTargetRef": target}))).await;
        stage.pass(30).await;
        (stage, one)
    }

    async fn template(&self, stage: &Stage) -> Value {
        stage.control.get(&self.resource(), "prod", "web").await.unwrap().unwrap()
    }

    /// What the controller of the kind does in a member.
    async fn report(&self, stage: &Stage, cluster: &str, more: Value) {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let found = objects.get(&self.resource(), "prod", "web").await.unwrap().unwrap();
        let replicas = found.pointer(self.replicas).cloned().unwrap_or_default();
        if !more.is_null() {
            let written = objects.merge(&self.resource(), &found, "", &json!({"spec": more})).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        }
        let status = json!({"status": {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "observedGeneration": found["metadata"]["generation"].to_string(), "selector": "app=web"}});
        let written = objects.merge(&self.resource(), &found, "status", &status).await.unwrap();
        assert!(matches!(written, Written::Done(_)), "{written:?}");
    }

    async fn member(&self, stage: &Stage, cluster: &str) -> Value {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        objects.get(&self.resource(), "prod", "web").await.unwrap().unwrap()
    }

    async fn is_taken_over_retained_and_handed_back(&self) {
        let (stage, one) = self.running("Distributed").await;
        assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
        let template = self.template(&stage).await;
        assert_eq!(label(&template, "resourcetemplate.karmada.io/retain-replicas"), "true");
        // The HPA of a member scales; its controller pauses it, and reports.
        let objects = Objects::new(stage.fleet.member("member1").unwrap().client());
        let found = self.member(&stage, "member1").await;
        objects.merge(&self.resource(), &found, "", &self.with_replicas(4)).await.unwrap();
        for cluster in ["member1", "member2"] {
            self.report(&stage, cluster, json!({"paused": true})).await;
        }
        stage.pass(20).await;
        let edit = json!({"spec": {"revisionHistoryLimit": 3, "paused": false}});
        stage.control.merge(&self.resource(), &template, "", &edit).await.unwrap();
        stage.pass(20).await;
        let kept = self.member(&stage, "member1").await;
        assert_eq!(kept["spec"]["revisionHistoryLimit"], 3, "the change arrived");
        assert_eq!(kept.pointer(self.replicas), Some(&json!(4)), "the replicas are the member's");
        assert_eq!(kept["spec"]["paused"], json!(self.kind == "Rollout"), "{kept}");
        assert!(!stage.messages().await.iter().any(|message| message.contains("cannot be read")));
        stage.delete("FederatedHPA", "web").await;
        stage.pass(240).await;
        assert!(stage.find("FederatedHPA", "web").await.is_none());
        let template = self.template(&stage).await;
        assert_eq!(label(&template, "resourcetemplate.karmada.io/retain-replicas"), "");
        assert_eq!(
            template.pointer(self.replicas),
            Some(&json!(4)),
            "no pod is removed: every cluster gets all replicas"
        );
        let binding = stage.get("ResourceBinding", &format!("web-{}", self.kind.to_lowercase())).await;
        assert_ne!(binding["spec"]["suspension"]["scheduling"], true);
        one.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollout_whose_observed_generation_is_a_string_is_taken_over_retained_and_handed_back() {
    ROLLOUT.is_taken_over_retained_and_handed_back().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_with_its_replicas_elsewhere_is_taken_over_retained_and_handed_back() {
    STORE.is_taken_over_retained_and_handed_back().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_the_users_own_is_scaled_in_centralized_mode_by_its_own_path() {
    let (stage, one) = STORE.running("Centralized").await;
    // Two replicas in each cluster ran when the user had asked for more than the FederatedHPA allows.
    let about = STORE.template(&stage).await;
    stage.control.merge(&STORE.resource(), &about, "", &STORE.with_replicas(14)).await.unwrap();
    stage.pass(60).await;
    let template = STORE.template(&stage).await;
    assert_eq!(template.pointer(STORE.replicas), Some(&json!(10)), "{:?}", stage.messages().await);
    one.stop().await;
}
