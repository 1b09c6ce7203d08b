//! Workloads of kinds that Kubernetes does not have: taken over, retained, and handed back.

use fhpa::install::kinds::{customizations, versions};
use fhpa::install::permissions::ScaledKind;
use fhpa::playground::json::{label, text};
use fhpa::playground::objects::{Kind, Objects, Written};
use serde_json::{Value, json};

use super::{Stage, hpa, policy, weights};
use crate::rig::kinds::{CLONE_SET, LEADER_WORKER_SET, REPLICA_SET, REPLICATION_CONTROLLER, ROLLOUT, STORE, Scalable};
use crate::stories::Process;

/// A kind on the stage.
struct Custom(Scalable);

impl Custom {
    fn resource(&self) -> Kind {
        Kind { plural: self.0.plural.into(), ..Kind::regular(&self.0.api_version(), self.0.kind, true) }
    }

    /// Serves the kind everywhere, allows it, and propagates a workload of it with 2 replicas.
    async fn running(&self, mode: &str) -> (Stage, Process) {
        let stage = Stage::new(2).await;
        if let Some(definition) = self.0.definition() {
            stage.create(definition.clone()).await;
            for cluster in stage.fleet.names() {
                stage.fleet.member(cluster).unwrap().create(&definition).await.unwrap();
            }
        }
        let allowed: ScaledKind = self.0.argument().parse().unwrap();
        let scaled = versions(&stage.fleet.control().client(), &allowed).await.unwrap();
        for customization in customizations(&scaled) {
            if text(&customization, "/spec/target/kind") == self.0.kind {
                stage.create(customization).await;
            }
        }
        let mut one = stage.controller("one");
        one.leads().await;
        let mut policy = policy(weights(&[1, 1]));
        let api_version = self.resource().api_version;
        policy["spec"]["resourceSelectors"] = json!([{"apiVersion": api_version, "kind": self.0.kind}]);
        stage.create(policy).await;
        stage.create(self.0.workload("web", 2)).await;
        stage.pass(20).await;
        let target = json!({"apiVersion": api_version, "kind": self.0.kind, "name": "web"});
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
        let replicas = found.pointer(self.0.replicas).cloned().unwrap_or_default();
        if !more.is_null() {
            let written = objects.merge(&self.resource(), &found, "", &json!({"spec": more})).await.unwrap();
            assert!(matches!(written, Written::Done(_)), "{written:?}");
        }
        let status = self.0.status(&found, &replicas, &replicas);
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
        objects.merge(&self.resource(), &found, "", &self.0.asking(4)).await.unwrap();
        for cluster in ["member1", "member2"] {
            self.report(&stage, cluster, json!({"paused": true})).await;
        }
        stage.pass(20).await;
        let edit = json!({"spec": {"minReadySeconds": 3, "paused": false}});
        stage.control.merge(&self.resource(), &template, "", &edit).await.unwrap();
        stage.pass(20).await;
        let kept = self.member(&stage, "member1").await;
        assert_eq!(kept["spec"]["minReadySeconds"], 3, "the change arrived");
        assert_eq!(kept.pointer(self.0.replicas), Some(&json!(4)), "the replicas are the member's");
        let paused = self.0.definition().map(|_| self.0.kind == "Rollout");
        assert_eq!(kept["spec"]["paused"], json!(paused), "{kept}");
        assert!(!stage.messages().await.iter().any(|message| message.contains("cannot be read")));
        stage.delete("FederatedHPA", "web").await;
        stage.pass(240).await;
        assert!(stage.find("FederatedHPA", "web").await.is_none());
        let template = self.template(&stage).await;
        assert_eq!(label(&template, "resourcetemplate.karmada.io/retain-replicas"), "");
        // Where Karmada does not divide the kind every cluster gets all replicas, so that no pod is removed.
        let all = if self.0.kind == "ReplicaSet" { 5 } else { 4 };
        assert_eq!(template.pointer(self.0.replicas), Some(&json!(all)), "{template}");
        let binding = stage.get("ResourceBinding", &format!("web-{}", self.0.kind.to_lowercase())).await;
        assert_ne!(binding["spec"]["suspension"]["scheduling"], true);
        one.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_rollout_whose_observed_generation_is_a_string_is_taken_over_retained_and_handed_back() {
    Custom(ROLLOUT).is_taken_over_retained_and_handed_back().await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_with_its_replicas_elsewhere_is_taken_over_retained_and_handed_back() {
    Custom(STORE).is_taken_over_retained_and_handed_back().await;
}

#[tokio::test(start_paused = true)]
async fn sets_of_clones_and_of_groups_are_taken_over_retained_and_handed_back() {
    for kind in [CLONE_SET, LEADER_WORKER_SET] {
        Custom(kind).is_taken_over_retained_and_handed_back().await;
    }
}

#[tokio::test(start_paused = true)]
async fn replica_sets_and_replication_controllers_are_taken_over_retained_and_handed_back() {
    for kind in [REPLICA_SET, REPLICATION_CONTROLLER] {
        Custom(kind).is_taken_over_retained_and_handed_back().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_the_users_own_is_scaled_in_centralized_mode_by_its_own_path() {
    let store = Custom(STORE);
    let (stage, one) = store.running("Centralized").await;
    // Two replicas in each cluster ran when the user had asked for more than the FederatedHPA allows.
    let about = store.template(&stage).await;
    stage.control.merge(&store.resource(), &about, "", &STORE.asking(14)).await.unwrap();
    stage.pass(60).await;
    let template = store.template(&stage).await;
    assert_eq!(template.pointer(STORE.replicas), Some(&json!(10)), "{:?}", stage.messages().await);
    one.stop().await;
}
