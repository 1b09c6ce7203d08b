//! The control plane goes back to a backup while members go on, and `fhpa recover` corrects it before Karmada's
//! controllers start: no ready pod ends, and the budget holds.
//!
//! The laws look on from the moment at which the command has corrected what was restored, with what runs by then as
//! what is asked for. Between the restore and that moment they would judge the backup: it allows less than the members
//! have, and nobody wrote that.

use std::io;
use std::sync::{Arc, Mutex};

use embedded_apiserver::store::Backup;
use fhpa::cli::recover::Run;
use fhpa::playground::json::{int, items, text};
use fhpa::playground::objects::{Objects, Written};
use fhpa::recovery::Recovery;
use fhpa::runtime::leader::activity::LeaseLocation;
use serde_json::{Value, json};

use super::departures::{ALL, least, ready, roomy, runs_unevenly};
use super::{Stage, kind, weights};
use crate::bed::role::{Role, limited};
use crate::laws::embedded::Watched;
use crate::stories::Process;

/// What a command printed.
#[derive(Clone, Default)]
pub struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs the command with the rights of the processes; returns whether it succeeded, and what it printed.
async fn recover(stage: &Stage, dry_run: bool) -> (bool, String) {
    run(stage, dry_run, |_| {}).await
}

/// As [`recover`], with other arguments.
pub async fn run(stage: &Stage, dry_run: bool, change: impl FnOnce(&mut Recovery)) -> (bool, String) {
    let out = Output::default();
    let mut recovery = Recovery {
        client: limited(stage.fleet.control().client(), Role::default()),
        members: Default::default(),
        without: Default::default(),
        lease: LeaseLocation { namespace: "karmada-system".into(), name: "fhpa".into() },
        clock: stage.wall.clock(),
    };
    change(&mut recovery);
    let done = Run { recovery, dry_run, yes: true, out: Box::new(out.clone()) }.run().await;
    (done, out.text())
}

/// The command succeeds, and a second run finds nothing to do. Returns what the first one printed. From here on the laws
/// look on; nobody can act before a controller of fhpa leads.
async fn recovered(stage: &Stage, watched: &Watched) -> String {
    let (done, said) = recover(stage, false).await;
    assert!(done, "{said}");
    let (done, again) = recover(stage, false).await;
    assert!(done && again.starts_with("0 of "), "{again}");
    watched.restored(&stage.fleet);
    watched.acts(false);
    said
}

/// A controller of fhpa leads again.
async fn leads_again(stage: &Stage, watched: &Watched) -> Process {
    let mut two = Process::start(stage.fleet.control(), "two", &stage.wall);
    two.leads().await;
    watched.acts(true);
    two
}

/// Three members that run 10, 3 and 2, with bounds by static weights.
async fn fifteen(stage: &Stage, max: i32) -> Process {
    let preference =
        |cluster: &str, weight: i32| json!({"targetCluster": {"clusterNames": [cluster]}, "staticWeight": weight});
    let list = [preference("member1", 10), preference("member2", 3), preference("member3", 2)];
    let assignment = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": list});
    runs_unevenly(stage, max, json!({"federatedHPAAssignment": assignment, "scaleAssist": false})).await
}

/// A member's HPA scales its workload.
async fn scale(stage: &Stage, cluster: &str, replicas: i32) {
    let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    let written = objects.merge(&kind("Deployment"), &about, "", &json!({"spec": {"replicas": replicas}})).await;
    assert!(matches!(written.unwrap(), Written::Done(_)));
}

/// Everything but the members stops, and the control plane goes back.
pub async fn restore(stage: &Stage, backup: &Backup, controller: Process) {
    controller.stop().await;
    stage.fleet.halt_karmada(true);
    stage.fleet.control().restore(backup, false);
    stage.pass(5).await;
}

/// After the backup `maxReplicas` goes from 30 to 48, and the members scale beyond the bounds of before.
async fn grown() -> (Stage, Watched, Process, Backup) {
    let (stage, watched) = Stage::watched_with(roomy()).await;
    let (one, backup) = grows(&stage).await;
    (stage, watched, one, backup)
}

/// As [`grown`].
pub async fn grows(stage: &Stage) -> (Process, Backup) {
    let one = fifteen(stage, 30).await;
    let backup = stage.fleet.control().backup();
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 48}})).await;
    stage.pass(30).await;
    for (cluster, replicas) in [("member1", 26), ("member2", 8), ("member3", 5)] {
        scale(stage, cluster, replicas).await;
    }
    stage.pass(30).await;
    assert_eq!((ready(stage, &ALL).await, &*stage.replicas().await), (39, "26 8 5"));
    (one, backup)
}

#[tokio::test(start_paused = true)]
async fn a_restore_alone_ends_pods_that_run_beyond_the_bounds_of_the_backup() {
    let (stage, _, one, backup) = grown().await;
    restore(&stage, &backup, one).await;
    assert_eq!(ready(&stage, &ALL).await, 39);
    stage.fleet.halt_karmada(false);
    assert!(least(&stage, &ALL, 60).await < 39);
}

#[tokio::test(start_paused = true)]
async fn the_laws_see_the_pods_that_end_where_only_the_manifests_are_applied_again() {
    let (stage, watched, one, backup) = grown().await;
    restore(&stage, &backup, one).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 48}})).await;
    watched.restored(&stage.fleet);
    watched.acts(false);
    stage.fleet.halt_karmada(false);
    assert!(least(&stage, &ALL, 60).await < 39);
    let broken = watched.broken();
    assert!(broken.iter().any(|broken| broken.law.starts_with("3 ")), "the laws see it: {broken:?}");
}

#[tokio::test(start_paused = true)]
async fn what_runs_beyond_the_bounds_of_the_backup_stays_ready() {
    let (stage, watched, one, backup) = grown().await;
    let bounds = stage.bounds().await;
    restore(&stage, &backup, one).await;
    let (done, planned) = recover(&stage, true).await;
    assert!(done && planned.contains("spec.maxReplicas 30 -> 48"), "{planned}");
    let restored = stage.get("FederatedHPA", "web").await;
    assert_eq!(int(&restored, "/spec/maxReplicas"), Some(30), "a dry run writes nothing");
    let said = recovered(&stage, &watched).await;
    assert_eq!(said.lines().next(), planned.lines().next());
    stage.budget.most();
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 39, "Karmada alone:\n{said}");
    assert_eq!(stage.bounds().await, bounds, "what Karmada applies is what was there");
    let _two = leads_again(&stage, &watched).await;
    assert_eq!(least(&stage, &ALL, 180).await, 39, "with fhpa: {:?}", stage.messages().await);
    assert!(stage.budget.most() <= 48, "{}", stage.budget.history());
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert_eq!(watched.broken(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_came_after_the_backup_is_replaced_before_it_leaves() {
    let (stage, watched) = Stage::watched_with(roomy()).await;
    let one = fifteen(&stage, 30).await;
    let affinity = |clusters: &[&str]| json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": clusters}}}});
    stage.patch("PropagationPolicy", "web", affinity(&["member1", "member2"])).await;
    assert_eq!(least(&stage, &ALL, 120).await, 15);
    assert!(!stage.entries().await.contains("member3"), "{}", stage.entries().await);
    let backup = stage.fleet.control().backup();
    stage.patch("PropagationPolicy", "web", affinity(&ALL)).await;
    stage.pass(60).await;
    scale(&stage, "member3", 4).await;
    stage.pass(30).await;
    let all = ready(&stage, &ALL).await;
    assert_eq!(ready(&stage, &["member3"]).await, 4);
    restore(&stage, &backup, one).await;
    let said = recovered(&stage, &watched).await;
    assert!(said.contains("which has no Work") && stage.entries().await.contains("member3=4"), "{said}");
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, all, "Karmada alone:\n{said}");
    let _two = leads_again(&stage, &watched).await;
    assert!(least(&stage, &ALL, 240).await >= all, "with fhpa: {:?}", stage.messages().await);
    // The placement of the backup counts again.
    assert_eq!(ready(&stage, &["member3"]).await, 0, "{:?}", stage.messages().await);
    assert_eq!(watched.broken(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_left_after_the_backup_gets_nothing_before_fhpa_decides() {
    let (stage, watched) = Stage::watched_with(roomy()).await;
    let one = fifteen(&stage, 30).await;
    let backup = stage.fleet.control().backup();
    let affinity = json!({"clusterAffinity": {"clusterNames": ["member1", "member2"]}});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": affinity}})).await;
    assert_eq!(least(&stage, &ALL, 120).await, 15);
    assert_eq!((ready(&stage, &ALL).await, ready(&stage, &["member3"]).await), (15, 0));
    restore(&stage, &backup, one).await;
    let said = recovered(&stage, &watched).await;
    assert!(said.contains("member3: no HPA") && !stage.entries().await.contains("member3"), "{said}");
    stage.budget.most();
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 15, "Karmada alone:\n{said}");
    assert!(stage.bounds().await.ends_with(" -"), "{}", stage.bounds().await);
    let _two = leads_again(&stage, &watched).await;
    assert!(least(&stage, &ALL, 180).await >= 15, "with fhpa: {:?}", stage.messages().await);
    assert!(stage.budget.most() <= 30, "{}", stage.budget.history());
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert_eq!(watched.broken(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn replicas_that_a_rule_or_a_computation_set_after_the_backup_stay() {
    let (stage, watched) = Stage::watched(3).await;
    stage.web(6, weights(&[1, 1, 1])).await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let rule = json!({"name": "up", "schedule": "0 0 1 1 *", "targetReplicas": 12});
    stage
        .create(json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": "clock", "namespace": "prod"}, "spec": {"scaleTargetRef": target, "rules": [rule]}}))
        .await;
    let one = stage.controller("one");
    stage.pass(10).await;
    let backup = stage.fleet.control().backup();
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 12}})).await;
    stage.pass(30).await;
    assert_eq!(stage.replicas().await, "4 4 4");
    restore(&stage, &backup, one).await;
    let said = recovered(&stage, &watched).await;
    assert!(said.contains("template: replicas 6 -> 12"), "{said}");
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 12, "{said}");
    assert_eq!((&*stage.replicas().await, &*stage.entries().await), ("4 4 4", "member1=4 member2=4 member3=4"));
    assert_eq!(watched.broken(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn replicas_of_an_object_without_a_mode_that_karmada_set_after_the_backup_stay() {
    let (stage, watched) = Stage::watched(3).await;
    stage.web(6, weights(&[1, 1, 1])).await;
    let mut object = super::hpa(3, 12, json!({}));
    object["spec"].as_object_mut().unwrap().remove("mode");
    stage.create(object).await;
    let backup = stage.fleet.control().backup();
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 12}})).await;
    stage.pass(30).await;
    assert_eq!(stage.replicas().await, "4 4 4");
    stage.fleet.halt_karmada(true);
    stage.fleet.control().restore(&backup, false);
    stage.pass(5).await;
    let said = recovered(&stage, &watched).await;
    assert!(said.contains("template: replicas 6 -> 12"), "{said}");
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 12, "{said}");
    assert_eq!(watched.broken(), vec![]);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_a_controller_leads_or_a_member_is_not_read() {
    let (stage, _, one, backup) = grown().await;
    let (done, said) = recover(&stage, false).await;
    assert!(!done && said.contains("a controller of fhpa (one) leads and is not frozen"), "{said}");
    restore(&stage, &backup, one).await;
    stage.fleet.fail("member2", true).unwrap();
    stage.fleet.control().faults().record();
    let (done, said) = recover(&stage, false).await;
    assert!(!done && said.contains("\n  member2: ") && said.contains("--without CLUSTER"), "{said}");
    let seen = stage.fleet.control().faults().recorded();
    let writes: Vec<_> = seen.iter().filter(|seen| !matches!(&*seen.verb, "get" | "list" | "watch")).collect();
    assert!(writes.is_empty(), "{} writes", writes.len());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_while_a_controller_leads_by_another_lease() {
    let (stage, _, one, backup) = grown().await;
    let blue = |recovery: &mut Recovery| {
        recovery.lease.name = "blue".into();
        // The processes may not list Leases, and are not told.
        recovery.client = stage.fleet.control().client();
    };
    let (done, said) = run(&stage, false, blue).await;
    let leads = "a controller of fhpa (one) leads by the Lease karmada-system/fhpa (give --lease-name)";
    assert!(!done && said.contains(leads), "{said}");
    restore(&stage, &backup, one).await;
    let (done, said) = run(&stage, false, blue).await;
    assert!(done, "its controller has ended: {said}");
}

#[tokio::test(start_paused = true)]
async fn a_federated_hpa_that_is_newer_than_the_backup_is_named() {
    let (stage, watched) = Stage::watched(3).await;
    stage.web(6, weights(&[1, 1, 1])).await;
    let one = stage.leads("one").await;
    let backup = stage.fleet.control().backup();
    let never = json!({"selectPolicy": "Disabled"});
    let more = json!({"behavior": {"scaleUp": never, "scaleDown": never}});
    stage.hpa(3, 12, more.clone()).await;
    stage.pass(30).await;
    for cluster in ALL {
        scale(&stage, cluster, 4).await;
    }
    stage.pass(20).await;
    assert_eq!(ready(&stage, &ALL).await, 12);
    restore(&stage, &backup, one).await;
    let (done, said) = recover(&stage, false).await;
    assert!(done && said.starts_with("FederatedHPA prod/web is newer than the backup"), "{said}");
    // Its manifest is applied, and the workload is taken over before Karmada starts.
    stage.hpa(3, 12, more).await;
    let said = recovered(&stage, &watched).await;
    assert!(said.contains("template: members keep their replicas"), "{said}");
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["spec"]["suspension"]["scheduling"], true);
    assert_eq!(text(&binding, "/metadata/annotations/fhpa.karmada.io~1suspended-for"), "web");
    stage.fleet.halt_karmada(false);
    assert_eq!(least(&stage, &ALL, 60).await, 12, "Karmada alone:\n{said}");
    let _two = leads_again(&stage, &watched).await;
    assert_eq!(least(&stage, &ALL, 120).await, 12, "with fhpa: {:?}", stage.messages().await);
    let hpa: Value = stage.get("FederatedHPA", "web").await;
    assert!(!items(&hpa, "/metadata/finalizers").is_empty());
    assert_eq!(watched.broken(), vec![]);
}
