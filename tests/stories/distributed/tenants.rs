//! Two tenants of one control plane, whose objects have one hash: Karmada names a Work by the name of what is in it and
//! a hash of 32 bits, so that who may choose a namespace chooses whose Work has the name of his own.

use fhpa::playground::json::{int, text};
use fhpa::playground::objects::Objects;
use fhpa::reconcile::federated_hpa::names;
use serde_json::{Value, json};

use super::recovery::{restore, run};
use super::scalers::plain;
use super::{Stage, deployment, hpa, kind, policy, weights};
use crate::stories::Process;

/// A namespace whose objects have the Works of those of `prod` with the same kind and name.
const TEAM: &str = "team-c8owakv";

impl Stage {
    /// The other tenant: Deployment `shop`, and a FederatedHPA `web` of it.
    async fn team_comes(&self, max: i32) {
        self.team_runs(weights(&[1, 1])).await;
        let mut hpa = hpa(2, max, json!({}));
        hpa["spec"]["scaleTargetRef"]["name"] = json!("shop");
        self.create(of_team(hpa)).await;
        self.pass(60).await;
    }

    async fn team_runs(&self, placement: Value) {
        self.create(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}})).await;
        self.create(of_team(policy(placement))).await;
        self.create(of_team(deployment("shop", 2))).await;
        self.pass(20).await;
    }

    /// The bounds of the HPA `web` of a namespace in the members, in the form of [`Stage::bounds`].
    async fn bounds_in(&self, namespace: &str) -> String {
        let mut all = Vec::new();
        for cluster in self.fleet.names() {
            let objects = Objects::new(self.fleet.member(cluster).unwrap().client());
            let found = objects.get(&kind("HorizontalPodAutoscaler"), namespace, "web").await.unwrap();
            let bound = |hpa: &Value, field: &str| int(hpa, &format!("/spec/{field}")).unwrap_or_default();
            all.push(found.map_or("-".to_owned(), |hpa| {
                format!("{}..{}", bound(&hpa, "minReplicas"), bound(&hpa, "maxReplicas"))
            }));
        }
        all.join(" ")
    }

    async fn both(&self) -> (String, String) {
        (self.bounds_in("prod").await, self.bounds_in(TEAM).await)
    }

    /// Status, reason and message of `Ready`.
    async fn ready_in(&self, namespace: &str) -> String {
        let found = self.control.get(&kind("FederatedHPA"), namespace, "web").await.unwrap().unwrap();
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|one| text(one, "/type") == "Ready").cloned().unwrap_or_default();
        ["/status", "/reason", "/message"].map(|part| text(&ready, part).to_owned()).join(" ")
    }

    /// Namespace and name of what the Works with HPAs bear as their owner, and hold, in order.
    async fn works(&self) -> Vec<(String, String)> {
        let works = self.control.list(&kind("Work"), "").await.unwrap();
        let hpas = works.iter().filter(|work| text(work, "/spec/workload/manifests/0/kind").starts_with("Horizontal"));
        let bears = |work: &Value| work["metadata"]["annotations"][names::OWNER].as_str().unwrap_or("-").to_owned();
        let holds = |work: &Value| text(work, "/spec/workload/manifests/0/metadata/namespace").to_owned();
        let mut all: Vec<_> = hpas.map(|work| (bears(work), holds(work))).collect();
        all.sort();
        all
    }
}

fn of_team(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(TEAM);
    object
}

/// `prod/web` is scaled in two clusters.
async fn running() -> (Stage, Process) {
    let stage = Stage::new(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    let one = stage.leads("one").await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    (stage, one)
}

fn pair(prod: &str, team: &str) -> (String, String) {
    (prod.to_owned(), team.to_owned())
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_karmada_puts_into_a_work_of_another_tenant_takes_nothing_from_it() {
    let (stage, _one) = running().await;
    stage.team_runs(weights(&[1, 1])).await;
    // Karmada writes into the Work of that name, whoever has made it.
    let selectors = json!([{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}]);
    let mut carries = policy(json!({}));
    carries["metadata"]["name"] = json!("hpas");
    carries["spec"]["resourceSelectors"] = selectors;
    stage.create(of_team(carries)).await;
    stage.create(of_team(plain("web"))).await;
    stage.pass(120).await;
    let held = |bears: &str, holds: &str| (bears.to_owned(), holds.to_owned());
    let works = stage.works().await;
    assert_eq!(works.iter().filter(|work| **work == held("prod/web", "prod")).count(), 2, "{works:?}");
    assert_eq!(works.iter().filter(|(_, holds)| holds == TEAM).count(), 2, "{works:?}");
    assert_eq!(stage.both().await, pair("1..4 1..4", "1..3 1..3"));
    assert!(stage.ready_in("prod").await.starts_with("True WorkNameTaken"), "{}", stage.ready_in("prod").await);
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 12}})).await;
    stage.pass(30).await;
    assert_eq!(stage.both().await, pair("1..6 1..6", "1..3 1..3"));
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert_eq!(stage.both().await, pair("- -", "1..3 1..3"));
}

#[tokio::test(start_paused = true)]
async fn a_work_that_a_tenant_makes_in_his_own_namespace_counts_for_nobody() {
    let (stage, _one) = running().await;
    stage.team_runs(weights(&[1, 1])).await;
    let mut made = stage.control.list(&kind("Work"), "karmada-es-member1").await.unwrap();
    made.retain(|work| text(work, "/spec/workload/manifests/0/kind").starts_with("Horizontal"));
    let mut copy = Value::clone(&made[0]);
    copy["metadata"] = json!({"name": "web", "namespace": TEAM, "labels": copy["metadata"]["labels"],
        "annotations": copy["metadata"]["annotations"]});
    copy["spec"]["workload"]["manifests"][0]["spec"]["maxReplicas"] = json!(100);
    stage.create(copy).await;
    stage.pass(30).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 12}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..6 1..6");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "- -");
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert!(stage.control.get(&kind("Work"), TEAM, "web").await.unwrap().is_some(), "what is not fhpa's stays");
}

#[tokio::test(start_paused = true)]
async fn a_binding_that_a_tenant_makes_for_the_workload_of_another_counts_for_nobody() {
    let (stage, _one) = running().await;
    stage.team_runs(weights(&[1, 1])).await;
    let entries = stage.entries().await;
    let mut copy = stage.get("ResourceBinding", "web-deployment").await;
    copy["metadata"] = json!({"name": "a", "namespace": TEAM, "annotations": {
        "fhpa.karmada.io/suspended-for": "web"}});
    copy["spec"]["clusters"] = json!([{"name": "member1", "replicas": 9}]);
    copy["spec"]["suspension"] = json!({"scheduling": true});
    stage.create(copy).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 12}})).await;
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.entries().await), ("1..6 1..6".to_owned(), entries));
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    let deployment = stage.get("Deployment", "web").await;
    assert_eq!(int(&deployment, "/spec/replicas"), Some(4));
}

#[tokio::test(start_paused = true)]
async fn what_is_recovered_after_a_restore_takes_no_work_of_another_tenant() {
    let (stage, one) = Stage::divided(4, &[1, 1]).await;
    stage.team_comes(6).await;
    one.stop().await;
    stage.hpa(2, 8, json!({})).await;
    let backup = stage.fleet.control().backup();
    let two = stage.leads("two").await;
    stage.pass(60).await;
    assert_eq!(stage.both().await, pair("1..4 1..4", "1..3 1..3"));
    restore(&stage, &backup, two).await;
    let (done, said) = run(&stage, false, |_| {}).await;
    assert!(done && said.contains("which has no Work"), "{said}");
    let own = |namespace: &str| (format!("{namespace}/web"), namespace.to_owned());
    assert_eq!(stage.works().await, [own("prod"), own("prod"), own(TEAM), own(TEAM)], "{said}");
    stage.fleet.halt_karmada(false);
    stage.pass(60).await;
    assert_eq!(stage.both().await, pair("1..4 1..4", "1..3 1..3"));
}
