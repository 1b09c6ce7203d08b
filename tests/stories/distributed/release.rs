//! Handing back.

use std::collections::BTreeSet;
use std::time::Duration;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::cli::uninstall::Removal;
use fhpa::decision::validation::Settings;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, label, name, text};
use fhpa::playground::member::{Link, Timing};
use fhpa::playground::objects::{Kind, Objects};
use fhpa::run::hand_back::{HandedBack, LeaseHold};
use fhpa::runtime::clock;
use fhpa::runtime::leader::activity::LeaseLocation;
use fhpa::runtime::leader::handover;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use serde_json::{Value, json};

use super::recovery::Output;
use super::{Stage, kind, plan, weights};

async fn pods(stage: &Stage) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for cluster in stage.fleet.names() {
        let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
        let found = objects.list(&kind("Pod"), "prod").await.unwrap();
        all.extend(found.iter().map(|pod| format!("{cluster}/{}", name(pod))));
    }
    all
}

async fn handed_back(stage: &Stage) {
    assert_eq!(stage.bounds().await, "- - -");
    let web = stage.get("Deployment", "web").await;
    assert_eq!((label(&web, "resourcetemplate.karmada.io/retain-replicas"), &web["spec"]["replicas"]), ("", &json!(6)));
    assert!(!stage.suspended().await);
    assert_eq!(stage.entries().await, "member1=1 member2=3 member3=2");
}

/// Three members whose replicas were moved by hand since: 1, 3 and 2.
async fn moved() -> (Stage, crate::stories::Process) {
    let steady = json!({"behavior": {"scaleDown": {"selectPolicy": "Disabled"}}});
    let (stage, one) = super::edits::running_with(steady).await;
    for (cluster, replicas) in [("member2", 3), ("member3", 2)] {
        stage.scale_in(cluster, replicas).await;
    }
    stage.pass(8).await;
    assert_eq!(stage.replicas().await, "1 3 2");
    (stage, one)
}

/// Karmada forgets the status of a Work that it cannot apply: only the HPA tells what the cluster runs.
#[tokio::test(start_paused = true)]
async fn what_a_silent_clusters_hpa_asked_for_is_handed_back_where_karmada_forgot_what_it_ran() {
    let (stage, _one) = moved().await;
    stage.pass(30).await;
    stage.fleet.cut("member2", Link::Refused).unwrap();
    let container = json!({"name": "app", "image": "web:2"});
    stage.patch("Deployment", "web", json!({"spec": {"template": {"spec": {"containers": [container]}}}})).await;
    stage.pass(120).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let told = items(&binding, "/status/aggregatedStatus");
    let told = told.iter().find(|item| text(item, "/clusterName") == "member2");
    assert!(told.is_none_or(|told| told["status"].is_null()), "{told:?}");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(240).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert_eq!(stage.entries().await, "member1=1 member2=3 member3=2");
    stage.fleet.cut("member2", Link::Up).unwrap();
    stage.pass(400).await;
    assert_eq!(stage.replicas().await, "1 3 2");
}

/// Karmada tries again 164 and 328 seconds after the deletion, and for the template as well.
#[tokio::test(start_paused = true)]
async fn an_hpa_whose_deletion_a_cluster_missed_goes_soon_after_its_return() {
    for centralized in [false, true] {
        let (stage, _one) = moved().await;
        stage.fleet.fail("member3", true).unwrap();
        stage.pass(60).await;
        if centralized {
            stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
        } else {
            stage.delete("FederatedHPA", "web").await;
        }
        stage.pass(190).await;
        let there = async || stage.member("member3", "HorizontalPodAutoscaler", "web").await.is_some();
        assert!(there().await);
        stage.fleet.fail("member3", false).unwrap();
        stage.pass(70).await;
        assert!(!there().await, "centralized {centralized}");
    }
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_rollout_are_not_handed_back_as_replicas() {
    let ready_delay = SignedDuration::from_secs(60);
    let member = Timing { ready_delay, ..Timing::default() };
    let stage = Stage::with(Plan { member, ..plan(2) }).await;
    stage.web(8, weights(&[1, 1])).await;
    let _one = stage.leads("one").await;
    let never = json!({"selectPolicy": "Disabled"});
    stage.hpa(2, 20, json!({"behavior": {"scaleUp": never, "scaleDown": never}})).await;
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "4 4");
    let container = json!({"name": "app", "image": "web:2"});
    stage.patch("Deployment", "web", json!({"spec": {"template": {"spec": {"containers": [container]}}}})).await;
    stage.pass(10).await;
    let rolling = stage.member("member1", "Deployment", "web").await.unwrap();
    assert_eq!(rolling["status"]["replicas"], 5, "{}", rolling["status"]);
    stage.delete("FederatedHPA", "web").await;
    stage.pass(20).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    let web = stage.get("Deployment", "web").await;
    assert_eq!((&web["spec"]["replicas"], &*stage.entries().await), (&json!(8), "member1=4 member2=4"));
    stage.pass(300).await;
    assert_eq!(stage.replicas().await, "4 4");
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_centralized_hands_its_workload_back() {
    let (stage, _one) = moved().await;
    let before = pods(&stage).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(120).await;
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/metadata/finalizers").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_is_changed_back_and_again_leaves_as_much_time_to_the_second_release() {
    let (stage, _one) = moved().await;
    let before = pods(&stage).await;
    stage.fleet.lag(SignedDuration::from_secs(20));
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(5).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Distributed"}})).await;
    stage.pass(240).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"mode": "Centralized"}})).await;
    stage.pass(15).await;
    assert!(stage.suspended().await, "its HPAs are still there");
    stage.pass(120).await;
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_was_never_taken_over_is_let_alone() {
    let (stage, _one) = Stage::divided(3, &[1, 2]).await;
    stage.hpa(2, 10, json!({"mode": "Centralized"})).await;
    stage.pass(30).await;
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!((stage.bounds().await, &binding["spec"]["suspension"]), ("- -".to_owned(), &Value::Null));
}

/// The Lease, taken for a removal, and for how many seconds its holder could still act.
pub async fn taken(stage: &Stage) -> (LeaseHold, u64) {
    taken_by(stage, "uninstall").await
}

async fn taken_by(stage: &Stage, identity: &str) -> (LeaseHold, u64) {
    let place = LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() };
    let mut waited = 0;
    let told = |acquired: &fhpa::runtime::leader::handover::Acquired| waited = acquired.wait.as_secs();
    let client = stage.fleet.control().client();
    let hold = LeaseHold::take(client, place, identity.into(), stage.wall.clock(), PATIENCE, told).await.unwrap();
    (hold, waited)
}

pub const PATIENCE: Duration = Duration::from_secs(120);

pub fn all_of_it() -> HandedBack {
    HandedBack { done: vec!["prod/web".into()], ..HandedBack::default() }
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_takes_the_lease_from_a_controller_and_hands_back_without_moving_a_pod() {
    let (stage, one) = moved().await;
    let before = pods(&stage).await;
    let (hold, waited) = taken(&stage).await;
    assert_eq!(waited, 15, "the controller is waited for");
    assert!(one.leadership.borrow().is_none(), "it stands by");
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    hold.park().await.unwrap();
    handed_back(&stage).await;
    // The controller still runs, and would like to begin anew.
    stage.pass(3600).await;
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
    let hpa = stage.get("FederatedHPA", "web").await;
    assert!(items(&hpa, "/metadata/finalizers").is_empty());
    assert!(one.leadership.borrow().is_none());
    // What `fhpa install` does.
    let leases = Api::namespaced(stage.fleet.control().client(), "karmada-system");
    assert!(handover::unpark(&leases, "fhpa").await.unwrap());
    stage.pass(60).await;
    assert!(one.leadership.borrow().is_some());
    assert_eq!(pods(&stage).await, before);
}

/// Deletes the Lease, as somebody with `kubectl`.
async fn delete_lease(stage: &Stage) {
    let leases = Kind::regular("coordination.k8s.io/v1", "Lease", true);
    let lease = stage.control.get(&leases, "karmada-system", "fhpa").await.unwrap().unwrap();
    stage.control.delete(&leases, &lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_waits_for_a_controller_whose_lease_was_deleted() {
    let (stage, one) = moved().await;
    let before = pods(&stage).await;
    delete_lease(&stage).await;
    let (hold, waited) = taken(&stage).await;
    assert_eq!(waited, 15, "who held the Lease may still act");
    assert!(one.leadership.borrow().is_none(), "it stands by");
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    hold.park().await.unwrap();
    stage.pass(60).await;
    handed_back(&stage).await;
    assert_eq!(pods(&stage).await, before);
    // The reservation ends with the Lease.
    let mut one = one;
    delete_lease(&stage).await;
    one.leads().await;
    one.stop().await;
    let (hold, _) = taken(&stage).await;
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    hold.park().await.unwrap();
    // Now nothing is held, so it does not matter who acts.
    delete_lease(&stage).await;
    assert_eq!(taken(&stage).await.1, 0);
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_needs_no_controller_and_can_be_run_again() {
    let (stage, one) = moved().await;
    one.kill().await;
    let (hold, _) = taken(&stage).await;
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    hold.park().await.unwrap();
    handed_back(&stage).await;
    let (hold, waited) = taken(&stage).await;
    assert_eq!(waited, 0, "nobody holds the Lease but the last uninstallation");
    let begun = clock::steady();
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(HandedBack::default()));
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_that_is_killed_leaves_the_lease_reserved_until_an_installation() {
    let (stage, mut one) = moved().await;
    let (hold, _) = taken(&stage).await;
    stage.pass(30).await;
    // Dropped, it neither releases the Lease nor parks it.
    drop(hold);
    stage.pass(3600).await;
    assert!(one.leadership.borrow().is_none(), "no controller acts");
    let (hold, waited) = taken_by(&stage, "another").await;
    assert_eq!(waited, 15, "the first may still act");
    drop(hold);
    stage.pass(3600).await;
    assert!(one.leadership.borrow().is_none(), "no controller acts");
    let leases = Api::namespaced(stage.fleet.control().client(), "karmada-system");
    assert!(handover::unpark(&leases, "fhpa").await.unwrap());
    stage.pass(60).await;
    assert!(one.leadership.borrow_and_update().is_some());
}

#[tokio::test(start_paused = true)]
async fn an_installation_leaves_the_lease_to_an_uninstallation_that_still_runs() {
    let (stage, one) = moved().await;
    let (hold, _) = taken(&stage).await;
    stage.pass(30).await;
    let leases = Api::namespaced(stage.fleet.control().client(), "karmada-system");
    assert!(handover::unpark(&leases, "fhpa").await.unwrap());
    stage.pass(60).await;
    assert!(one.leadership.borrow().is_none());
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_handed_back_in_time_is_named() {
    let (stage, one) = moved().await;
    one.kill().await;
    let said = "resourcebindings.work.karmada.io \"web-deployment\" is forbidden: User \"a\" cannot patch resource \"resourcebindings\"";
    let which = Which { resource: "resourcebindings".into(), verb: "patch".into(), ..Which::default() };
    let faults = stage.fleet.control().faults();
    faults.fail(which, usize::MAX, StatusError::plain(403, "Forbidden", said));
    let (hold, _) = taken(&stage).await;
    let back = hold.hand_back(Settings::default(), PATIENCE).await.unwrap();
    let missing = "its replicas are not settled in the ResourceBinding yet; its Events say why";
    assert_eq!(back, HandedBack { left: vec![("prod/web".into(), missing.into())], ..HandedBack::default() });
    faults.heal();
    assert_eq!(hold.hand_back(Settings::default(), PATIENCE).await, Ok(all_of_it()));
    handed_back(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_does_not_wait_for_a_cluster_that_does_not_answer() {
    let (stage, one) = moved().await;
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(120).await;
    one.kill().await;
    let (hold, _) = taken(&stage).await;
    let begun = clock::steady();
    let back = hold.hand_back(Settings::default(), PATIENCE).await.unwrap();
    assert_eq!(back, HandedBack { behind: vec![("prod/web".into(), "member3".into())], ..all_of_it() });
    assert!(begun.elapsed() < PATIENCE / 2, "{:?}", begun.elapsed());
    hold.park().await.unwrap();
    assert_eq!(stage.bounds().await, "- - 1..5", "as member3 still has it");
    stage.fleet.fail("member3", false).unwrap();
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "- - -");
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_by_another_lease_is_refused_while_a_controller_leads() {
    let (stage, _one) = moved().await;
    let out = Output::default();
    let removal = Removal {
        client: stage.fleet.control().client(),
        place: LeaseLocation { namespace: "karmada-system".into(), name: "blue".into() },
        patience: PATIENCE,
        crds: false,
        dry_run: false,
        yes: true,
        only_if_url: None,
        clock: stage.wall.clock(),
        out: Box::new(out.clone()),
    };
    assert!(!removal.run().await);
    let said =
        "Nothing was done: a controller of fhpa (one) leads by the Lease karmada-system/fhpa: give --lease-name fhpa";
    assert!(out.text().starts_with(said), "{}", out.text());
    let leases: Api<Lease> = Api::namespaced(stage.fleet.control().client(), "karmada-system");
    assert_eq!(leases.get_opt("blue").await.unwrap(), None, "it takes no Lease");
}

#[tokio::test(start_paused = true)]
async fn an_uninstallation_without_time_for_its_lease_leaves_the_lease_to_its_holder() {
    let (stage, one) = moved().await;
    let place = LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() };
    let (client, time) = (stage.fleet.control().client(), Duration::from_secs(15));
    let taken = LeaseHold::take(client, place, "uninstall".into(), stage.wall.clock(), time, |_| {}).await;
    let why = taken.err().map(|failure| failure.to_string());
    assert_eq!(why.as_deref(), Some("its holder one may still act for 15 s, and there are 15 s in all"));
    stage.pass(60).await;
    assert!(one.leadership.borrow().is_some());
}
