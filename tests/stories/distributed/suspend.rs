//! A FederatedHPA with `spec.suspend`: bounds stay, nothing moves, and afterwards it continues from what is observed.

use fhpa::api::FederatedHPA;
use fhpa::playground::json::label;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use fhpa::run::forecast::{Forecast, live};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Stage, weights};
use crate::bed::admission;
use crate::stories::Process;

/// Three members that run two replicas each, of at most 12.
async fn running() -> (Stage, Process) {
    let (stage, one) = Stage::divided(6, &[1, 1, 1]).await;
    stage.hpa(3, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4");
    (stage, one)
}

impl Stage {
    async fn suspend(&self, suspend: Value) {
        self.patch("FederatedHPA", "web", json!({"spec": {"suspend": suspend}})).await;
        self.pass(5).await;
    }

    /// Writes of fhpa to members, bindings and workloads since they are recorded.
    fn moves(&self) -> Vec<String> {
        let seen = self.fleet.control().faults().recorded();
        let writes = seen.into_iter().filter(|seen| matches!(&*seen.verb, "create" | "patch" | "delete"));
        let moves = writes.filter(|seen| ["works", "resourcebindings", "clusters/proxy"].contains(&&*seen.resource));
        moves.map(|seen| format!("{} {} {}", seen.verb, seen.resource, seen.name)).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn bounds_stay_while_the_load_rises_and_a_cluster_fails_and_are_assigned_anew_afterwards() {
    let (stage, one) = running().await;
    stage.suspend(json!(true)).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Suspended", "Ready=True Suspended"]);
    stage.fleet.control().faults().record();
    stage.fleet.load().set("prod", "web", 2000);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "4 4 4", "members scale within their bounds");
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 18, "minReplicas": 6}})).await;
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(900).await;
    assert_eq!((stage.bounds().await, stage.moves()), ("1..4 1..4 1..4".into(), Vec::new()));
    assert_eq!(stage.conditions().await, ["Assigned=True Suspended", "Ready=False MembersUnreachable"]);
    let messages = stage.messages().await;
    assert!(
        messages[0].ends_with("spec.suspend is true: bounds stay, nothing moves, and nothing fails over"),
        "{messages:?}"
    );
    // A change of leader makes no difference.
    one.kill().await;
    let _two = stage.leads("two").await;
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.moves()), ("1..4 1..4 1..4".into(), Vec::new()));

    stage.budget.give_up("member3", true);
    stage.suspend(Value::Null).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "6..9 6..9 1..4", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 18, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_suspended_object_that_is_deleted_is_released() {
    let (stage, _one) = running().await;
    stage.suspend(json!(true)).await;
    let replicas = stage.replicas().await;
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- - -".into(), replicas));
    assert!(!stage.suspended().await);
}

#[tokio::test(start_paused = true)]
async fn another_mode_or_workload_waits_until_the_object_is_not_suspended_any_more() {
    let (stage, _one) = running().await;
    stage.suspend(json!(true)).await;
    for edit in [json!({"mode": "Centralized"}), json!({"scaleTargetRef": {"name": "shop"}})] {
        stage.fleet.control().faults().record();
        stage.patch("FederatedHPA", "web", json!({"spec": edit})).await;
        stage.pass(120).await;
        assert_eq!((stage.bounds().await, stage.moves()), ("1..4 1..4 1..4".into(), Vec::new()), "{edit}");
        assert_eq!(stage.conditions().await, ["Assigned=False Suspended", "Ready=False Suspended"], "{edit}");
        let back = json!({"mode": "Distributed", "scaleTargetRef": {"name": "web"}});
        stage.patch("FederatedHPA", "web", json!({"spec": back})).await;
        stage.pass(10).await;
        assert_eq!(stage.conditions().await, ["Assigned=True Suspended", "Ready=True Suspended"], "{edit}");
    }
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized", "suspend": false}})).await;
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "- - -", "it is handed back");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_created_suspended_takes_nothing_over_and_karmada_divides_its_workload() {
    let stage = Stage::new(2).await;
    let _webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    stage.hpa(2, 8, json!({"suspend": true})).await;
    stage.pass(5).await;
    stage.web(4, weights(&[1, 1])).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
    assert_eq!(stage.conditions().await, ["Assigned=False Suspended", "Ready=False Suspended"]);
    assert!(stage.get("FederatedHPA", "web").await["metadata"].get("finalizers").is_none());
    let stored: FederatedHPA = serde_json::from_value(stage.get("FederatedHPA", "web").await).unwrap();
    let objects = live::objects(&stage.fleet.control().client(), &stored).await.unwrap();
    let tell = |forecast: &Forecast<'_>| {
        let notes: Vec<String> = forecast.plan.notes.iter().map(ToString::to_string).collect();
        (forecast.plan.steps.len(), notes)
    };
    let told = objects.forecast(&stored, Rooms::default(), stage.wall.clock()(), tell).unwrap();
    let note = "spec.suspend is true: bounds stay, nothing moves, and nothing fails over";
    assert_eq!(told, (0, vec![note.to_owned()]));
    stage.suspend(json!(false)).await;
    stage.pass(30).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..4".into(), "2 2".into()));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_is_made_anew_while_suspended_runs() {
    let (stage, _one) = running().await;
    let _webhook = admission::webhook(stage.fleet.control());
    stage.suspend(json!(true)).await;
    stage.delete("Deployment", "web").await;
    stage.pass(60).await;
    stage.create(super::deployment("web", 6)).await;
    stage.pass(60).await;
    assert!(run(&stage).await, "{}", stage.replicas().await);
    stage.suspend(json!(false)).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4", "{:?}", stage.messages().await);
}

/// A workload whose hand-back has begun and takes a while, and what its clusters run.
async fn handing_back() -> (Stage, Process, String) {
    let (stage, one) = running().await;
    let replicas = stage.replicas().await;
    stage.fleet.lag(SignedDuration::from_secs(20));
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(5).await;
    (stage, one, replicas)
}

#[tokio::test(start_paused = true)]
async fn a_release_that_has_begun_ends_also_when_its_object_is_suspended() {
    for suspended in [json!({"suspend": true}), json!({"suspend": true, "mode": "Distributed"})] {
        let (stage, _one, replicas) = handing_back().await;
        stage.patch("FederatedHPA", "web", json!({"spec": suspended})).await;
        stage.pass(120).await;
        assert_eq!((stage.bounds().await, stage.replicas().await), ("- - -".into(), replicas), "{suspended}");
        let web = stage.get("Deployment", "web").await;
        let binding = stage.get("ResourceBinding", "web-deployment").await;
        let said = stage.messages().await;
        assert_eq!(binding["spec"]["suspension"]["scheduling"], Value::Null, "{suspended}: {said:?}");
        assert_eq!(label(&web, "resourcetemplate.karmada.io/retain-replicas"), "", "{suspended}");
        assert!(stage.get("FederatedHPA", "web").await["metadata"].get("finalizers").is_none(), "{suspended}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_release_that_one_leader_began_ends_under_the_next_one_when_its_object_is_suspended_between() {
    for suspended in [json!({"suspend": true}), json!({"suspend": true, "mode": "Distributed"})] {
        let (stage, one, replicas) = handing_back().await;
        let status = stage.get("FederatedHPA", "web").await["status"].clone();
        assert!(status["handBackStartTime"].is_string(), "{status}");
        one.kill().await;
        stage.patch("FederatedHPA", "web", json!({"spec": suspended})).await;
        let _two = stage.leads("two").await;
        stage.pass(120).await;
        assert_eq!((stage.bounds().await, stage.replicas().await), ("- - -".into(), replicas), "{suspended}");
        let object = stage.get("FederatedHPA", "web").await;
        assert!(object["metadata"].get("finalizers").is_none(), "{suspended}: {object}");
        assert!(object["status"].get("handBackStartTime").is_none(), "{suspended}: {object}");
    }
}

/// Whether each member runs replicas.
async fn run(stage: &Stage) -> bool {
    let replicas = stage.replicas().await;
    replicas.split(' ').all(|replicas| replicas.parse::<i32>().is_ok_and(|replicas| replicas > 0))
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_is_made_anew_just_before_its_object_is_suspended_runs() {
    let (stage, one) = running().await;
    let _webhook = admission::webhook(stage.fleet.control());
    stage.delete("Deployment", "web").await;
    stage.pass(60).await;
    one.kill().await;
    stage.create(super::deployment("web", 6)).await;
    stage.pass(5).await;
    assert!(stage.suspended().await, "nobody schedules it");
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
    let _two = stage.leads("two").await;
    stage.pass(60).await;
    assert!(run(&stage).await, "{}: {:?}", stage.replicas().await, stage.messages().await);
    stage.suspend(json!(false)).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_user_who_suspends_an_object_without_candidates_has_its_workload_divided_by_karmada() {
    let stage = Stage::new(3).await;
    let _webhook = admission::webhook(stage.fleet.control());
    let _one = stage.leads("one").await;
    stage.hpa(3, 12, json!({"clusterAffinity": {"clusterNames": ["nowhere"]}})).await;
    stage.pass(5).await;
    stage.web(6, weights(&[1, 1, 1])).await;
    stage.pass(30).await;
    assert_eq!((&*stage.replicas().await, &*stage.conditions().await[0]), ("- - -", "Assigned=False NoCandidates"));
    stage.suspend(json!(true)).await;
    stage.pass(60).await;
    assert!(run(&stage).await, "{}: {:?}", stage.replicas().await, stage.messages().await);
    stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": false, "clusterAffinity": null}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4", "{:?}", stage.messages().await);
}
