//! Workloads of kinds that Kubernetes does not have: taken over, retained, and handed back.

use fhpa::install::kinds::{customizations, versions};
use fhpa::install::permissions::ScaledKind;
use fhpa::playground::json::{items, label, text};
use fhpa::playground::objects::{Kind, Objects, Written};
use fhpa::recovery::Recovery;
use serde_json::{Value, json};

use super::recovery::{restore, run};
use super::{Stage, hpa, kind, policy, weights};
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
        self.running_in(Stage::new(2).await, &["member1", "member2"], mode).await
    }

    /// The same where only these clusters serve the kind.
    async fn running_in(&self, stage: Stage, serving: &[&str], mode: &str) -> (Stage, Process) {
        if let Some(definition) = self.0.definition() {
            stage.create(definition.clone()).await;
            for cluster in serving {
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
        let one = stage.leads("one").await;
        let mut policy = policy(weights(&[1, 1, 1][..stage.fleet.names().count()]));
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
        let (stage, _one) = self.running("Distributed").await;
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

impl Custom {
    /// The replicas that the Works of the workload say, and those that the members ask for.
    async fn replicas(&self, stage: &Stage) -> (Vec<Value>, Vec<Value>) {
        let works = stage.control.list(&kind("Work"), "").await.unwrap();
        let manifests = works.iter().filter_map(|work| work.pointer("/spec/workload/manifests/0"));
        let own = manifests.filter(|manifest| text(manifest, "/kind") == self.0.kind);
        let said = own.filter_map(|manifest| manifest.pointer(self.0.replicas).cloned()).collect();
        let mut there = Vec::new();
        for cluster in ["member1", "member2"] {
            there.push(self.member(stage, cluster).await.pointer(self.0.replicas).cloned().unwrap());
        }
        (said, there)
    }

    /// A backup with 2 replicas is restored, after 8 in each cluster were asked for.
    async fn goes_back(&self, mode: &str) -> Stage {
        let (stage, one) = self.running(mode).await;
        let backup = stage.fleet.control().backup();
        if mode == "Centralized" {
            let template = self.template(&stage).await;
            stage.control.merge(&self.resource(), &template, "", &self.0.asking(8)).await.unwrap();
        } else {
            for cluster in ["member1", "member2"] {
                let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
                let found = self.member(&stage, cluster).await;
                objects.merge(&self.resource(), &found, "", &self.0.asking(8)).await.unwrap();
            }
        }
        stage.pass(30).await;
        restore(&stage, &backup, one).await;
        assert_eq!(self.replicas(&stage).await, (vec![json!(2); 2], vec![json!(8); 2]));
        stage
    }

    /// Karmada's controllers start, and change nothing.
    async fn stays(&self, stage: &Stage) {
        stage.fleet.halt_karmada(false);
        for _ in 0..60 {
            stage.pass(1).await;
            assert_eq!(self.replicas(stage).await.1, [json!(8), json!(8)]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_restore_a_kind_with_its_replicas_elsewhere_is_corrected_where_it_has_them() {
    let store = Custom(STORE);
    let stage = store.goes_back("Centralized").await;
    let (done, said) = run(&stage, false, |_| {}).await;
    assert!(done && said.contains("template: replicas 2 -> 8"), "{said}");
    assert!(said.contains("member2: Work of the workload: 8 replicas"), "{said}");
    assert_eq!(store.replicas(&stage).await.0, [json!(8), json!(8)]);
    let (done, again) = run(&stage, false, |_| {}).await;
    assert!(done && again.starts_with("0 of 1 workloads differ"), "{again}");
    store.stays(&stage).await;
}

const CUSTOMIZATION: &str = "fhpa-store-shop.example.com-v1";

#[tokio::test(start_paused = true)]
async fn where_a_kind_has_its_replicas_is_said_to_be_unknown_after_a_restore_without_its_customization() {
    let store = Custom(STORE);
    let stage = store.goes_back("Centralized").await;
    stage.delete("ResourceInterpreterCustomization", CUSTOMIZATION).await;
    let (done, said) = run(&stage, false, |_| {}).await;
    let told = "FederatedHPA prod/web: it is not known where a Store has its replicas, so the Works of Store prod/web in \
                member1, member2 stay as the backup has them. Run `fhpa install --scale-kind shop.example.com/stores`";
    assert!(!done && said.contains(told) && said.contains("; 1 cannot be corrected"), "{said}");
    assert!(!said.contains("can start"), "{said}");
    assert_eq!(store.replicas(&stage).await.0, [json!(2), json!(2)]);
    // Who may read the definition sees it there.
    let all = |recovery: &mut Recovery| recovery.client = stage.fleet.control().client();
    let (done, said) = run(&stage, false, all).await;
    assert!(done && said.contains("member1: Work of the workload: 8 replicas"), "{said}");
    assert_eq!(store.replicas(&stage).await.0, [json!(8), json!(8)]);
    store.stays(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn that_members_do_not_keep_the_replicas_of_a_kind_is_said_after_a_restore_without_its_customization() {
    let store = Custom(STORE);
    let stage = store.goes_back("Distributed").await;
    let customization = stage.get("ResourceInterpreterCustomization", CUSTOMIZATION).await;
    stage.delete("ResourceInterpreterCustomization", CUSTOMIZATION).await;
    let (done, said) = run(&stage, false, |_| {}).await;
    let told = "FederatedHPA prod/web: members do not keep the replicas of a Store, as the customization that makes them is not \
                in the backup, or another takes its place: Karmada sets those of the template of Store prod/web in member1, \
                member2. Run `fhpa install --scale-kind shop.example.com/stores`, and run this again";
    assert!(!done && said.contains(told) && !said.contains("can start"), "{said}");
    let made = json!({"apiVersion": customization["apiVersion"], "kind": customization["kind"],
        "metadata": {"name": CUSTOMIZATION}, "spec": customization["spec"]});
    stage.create(made).await;
    let (done, said) = run(&stage, false, |_| {}).await;
    assert!(done && !said.contains("cannot be corrected"), "{said}");
    store.stays(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_of_the_users_own_is_scaled_in_centralized_mode_by_its_own_path() {
    let store = Custom(STORE);
    let (stage, _one) = store.running("Centralized").await;
    // Two replicas in each cluster ran when the user had asked for more than the FederatedHPA allows.
    let about = store.template(&stage).await;
    stage.control.merge(&store.resource(), &about, "", &STORE.asking(14)).await.unwrap();
    stage.pass(60).await;
    let template = store.template(&stage).await;
    assert_eq!(template.pointer(STORE.replicas), Some(&json!(10)), "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_selector_that_a_status_names_late_is_read_then() {
    let custom = Custom(CLONE_SET);
    let (stage, _one) = custom.running("Centralized").await;
    assert_eq!(stage.condition("ScalingActive").await.0, "False InvalidSelector");
    let template = custom.template(&stage).await;
    let status = json!({"status": {"labelSelector": "app=web"}});
    let written = stage.control.merge(&custom.resource(), &template, "status", &status).await.unwrap();
    assert!(matches!(written, Written::Done(_)), "{written:?}");
    stage.pass(45).await;
    assert_ne!(stage.condition("ScalingActive").await.0, "False InvalidSelector", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_gets_a_share_when_it_serves_the_kind_and_has_none_when_it_does_not_any_more() {
    let sets = Custom(CLONE_SET);
    let (stage, _one) = sets.running_in(Stage::new(3).await, &["member1", "member2"], "Distributed").await;
    assert_eq!(stage.bounds().await, "1..5 1..5 -", "{:?}", stage.messages().await);
    stage.fleet.member("member3").unwrap().create(&CLONE_SET.definition().unwrap()).await.unwrap();
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..3 1..3", "{:?}", stage.messages().await);
    let objects = Objects::new(stage.fleet.member("member2").unwrap().client());
    let definition = Kind::regular("apiextensions.k8s.io/v1", "CustomResourceDefinition", false);
    let found = objects.get(&definition, "", "clonesets.apps.kruise.io").await.unwrap().unwrap();
    assert!(matches!(objects.delete(&definition, &found).await.unwrap(), Written::Done(_)));
    stage.pass(60).await;
    let binding = stage.get("ResourceBinding", "web-cloneset").await;
    let entries: Vec<&str> = items(&binding, "/spec/clusters").iter().map(|entry| text(entry, "/name")).collect();
    assert_eq!(entries, ["member1", "member3"], "{:?}", stage.messages().await);
    assert_eq!(stage.bounds().await, "1..5 - 1..5", "{:?}", stage.messages().await);
}
