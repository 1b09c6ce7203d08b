//! Freezes of the controllers by an operator: members go on, nothing is decided or written, and afterwards the
//! controllers continue from what they observe.

use embedded_apiserver::ApiServer;
use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::runtime::leader::handover;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::distributed::{Stage, deployment, kind, weights};
use super::{Process, Stage as Plane};
use crate::bed::admission;

fn leases(server: &ApiServer) -> Api<Lease> {
    Api::namespaced(server.client(), "karmada-system")
}

/// As `kubectl annotate lease fhpa fhpa.karmada.io/freeze=...` does; `None` removes it.
pub async fn annotate(server: &ApiServer, reason: Option<&str>) {
    let patch = json!({"metadata": {"annotations": {"fhpa.karmada.io/freeze": reason}}});
    leases(server).patch("fhpa", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
}

async fn confirmation(server: &ApiServer) -> Option<String> {
    let lease = leases(server).get("fhpa").await.unwrap();
    lease.metadata.annotations.unwrap_or_default().get("fhpa.karmada.io/frozen").cloned()
}

/// Writes since they are recorded, of anybody but Karmada, and but those of Leases.
fn written(server: &ApiServer) -> Vec<String> {
    let seen = server.faults().recorded();
    let of_fhpa = |resource: &str| {
        ["federatedhpas", "federatedhpas/status", "cronfederatedhpas/status", "works", "resourcebindings"]
            .contains(&resource)
    };
    let writes =
        seen.into_iter().filter(|seen| matches!(&*seen.verb, "create" | "patch" | "delete") && of_fhpa(&seen.resource));
    writes.map(|seen| format!("{} {} {}", seen.verb, seen.resource, seen.name)).collect()
}

fn shows(process: &Process, line: &str) -> bool {
    process.metrics.text().lines().any(|known| known == line)
}

fn frozen_by(process: &Process, reason: &str) -> bool {
    shows(process, &format!("fhpa_controller_frozen{{reason=\"{reason}\"}} 1"))
}

#[tokio::test(start_paused = true)]
async fn a_freeze_within_a_load_step_holds_over_a_change_of_leader_and_a_cluster_that_fails() {
    let stage = Stage::new(3).await;
    let server = stage.fleet.control();
    stage.web(3, weights(&[1, 1, 1])).await;
    stage
        .hpa(
            3,
            12,
            json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted",
        "clusterAutoscalingPreference": [
            {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 1},
            {"targetCluster": {"clusterNames": ["member2"]}, "staticWeight": 1},
            {"targetCluster": {"clusterNames": ["member3"]}, "staticWeight": 1}]}}),
        )
        .await;
    let one = stage.leads("one").await;
    stage.pass(30).await;
    let bounds = stage.bounds().await;
    assert_eq!(bounds, "1..4 1..4 1..4");

    stage.fleet.load().set("prod", "web", 2000);
    stage.pass(2).await;
    annotate(server, Some("incident 4711")).await;
    stage.pass(3).await;
    assert!(frozen_by(&one, "annotation"), "{}", one.metrics.text());
    stage.pass(3).await;
    assert_eq!(confirmation(server).await.unwrap(), "fhpa.karmada.io/freeze: incident 4711");
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    server.faults().record();
    stage.pass(300).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), (bounds.clone(), "4 4 4".into()), "members scale");

    one.kill().await;
    assert_eq!(confirmation(server).await.unwrap(), "fhpa.karmada.io/freeze: incident 4711");
    let two = stage.leads("two").await;
    stage.pass(5).await;
    assert!(frozen_by(&two, "annotation"), "{}", two.metrics.text());
    stage.fleet.fail("member3", true).unwrap();
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 18}})).await;
    stage.pass(900).await;
    let ours: Vec<String> = written(server).into_iter().filter(|line| line != "patch federatedhpas web").collect();
    assert!(ours.is_empty(), "{ours:?}");
    assert_eq!(stage.bounds().await, bounds, "nothing fails over");
    assert_eq!(stage.get("FederatedHPA", "web").await["status"], status);

    // Thawed: the edit and the failure count, as at the start of a controller.
    stage.budget.give_up("member3", true);
    annotate(server, None).await;
    stage.pass(3).await;
    assert!(!frozen_by(&two, "annotation"));
    stage.pass(60).await;
    assert_eq!(confirmation(server).await, None);
    let bounds = stage.bounds().await;
    assert_eq!(bounds, "6..9 6..9 1..4", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 18, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_in_a_freeze_is_released_afterwards() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    let _one = stage.leads("one").await;
    stage.pass(30).await;
    annotate(server, Some("")).await;
    stage.pass(5).await;
    assert_eq!(confirmation(server).await.unwrap(), "fhpa.karmada.io/freeze");
    stage.delete("FederatedHPA", "web").await;
    stage.pass(120).await;
    assert!(stage.find("FederatedHPA", "web").await.is_some(), "its finalizer holds it");
    assert_eq!(stage.bounds().await, "1..4 1..4");
    annotate(server, Some("false")).await;
    stage.pass(60).await;
    assert!(stage.find("FederatedHPA", "web").await.is_none());
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
}

#[tokio::test(start_paused = true)]
async fn a_process_with_the_flag_is_frozen_while_it_leads_and_its_successor_is_not() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    let mut one = Process::start_frozen("etcd restore", server, "one", &stage.wall);
    one.leads().await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(30).await;
    assert!(frozen_by(&one, "flag") && !frozen_by(&one, "annotation"), "{}", one.metrics.text());
    assert_eq!(confirmation(server).await.unwrap(), "--freeze: etcd restore");
    assert_eq!(stage.bounds().await, "- -");
    one.stop().await;
    assert_eq!(confirmation(server).await, None, "a Lease without a holder confirms nothing");
    let _two = stage.leads("two").await;
    stage.pass(30).await;
    assert_eq!((stage.bounds().await, confirmation(server).await), ("1..4 1..4".into(), None));
}

/// The FederatedHPA `web` of a stage whose webhook is in the process `one`.
async fn with_webhook(stage: &Stage, one: &Process) -> tokio::task::JoinSet<()> {
    let webhook = admission::webhook_beside(stage.fleet.control(), Some(std::sync::Arc::clone(&one.idle)));
    stage.pass(2).await;
    stage.hpa(2, 8, json!({})).await;
    stage.pass(2).await;
    webhook
}

/// A workload that is new while no controller acts runs by Karmada's division, and is divided by the leader once one acts.
async fn runs_at_once(stage: &Stage) {
    stage.web(4, weights(&[1, 1])).await;
    assert!(!stage.suspended().await);
    assert_eq!((stage.bounds().await, stage.replicas().await), ("- -".into(), "2 2".into()));
}

async fn is_divided(stage: &Stage) {
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..4".into(), "2 2".into()));
    assert!(stage.suspended().await);
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_is_new_in_a_freeze_is_divided_by_karmada_and_taken_over_afterwards() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    let one = stage.leads("one").await;
    let _webhook = with_webhook(&stage, &one).await;
    annotate(server, Some("incident")).await;
    stage.pass(5).await;
    runs_at_once(&stage).await;
    annotate(server, None).await;
    is_divided(&stage).await;

    // Made anew: as long as a controller acts, its own division is the first.
    stage.delete("Deployment", "web").await;
    stage.pass(60).await;
    stage.create(deployment("web", 4)).await;
    stage.pass(1).await;
    assert!(stage.suspended().await);
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_is_new_while_the_flag_freezes_or_nobody_leads_is_divided_by_karmada() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    let mut one = Process::start_frozen("etcd restore", server, "one", &stage.wall);
    one.leads().await;
    let webhook = with_webhook(&stage, &one).await;
    runs_at_once(&stage).await;
    one.stop().await;
    drop(webhook);

    // As an uninstallation leaves the Lease, with the processes still there.
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    let zero = stage.leads("zero").await;
    zero.stop().await;
    handover::park(&leases(server), "fhpa").await.unwrap();
    let mut one = stage.controller("one");
    let _webhook = with_webhook(&stage, &one).await;
    stage.pass(60).await;
    runs_at_once(&stage).await;
    handover::unpark(&leases(server), "fhpa").await.unwrap();
    one.leads().await;
    is_divided(&stage).await;
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_fails_does_not_hide_a_freeze() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    stage.web(4, weights(&[1, 1])).await;
    let one = stage.leads("one").await;
    annotate(server, Some("incident")).await;
    let renewals = Which { verb: "update".into(), resource: "leases".into(), name: String::new() };
    // The first finds the annotation, the next two fail.
    server.faults().fail(renewals, 3, StatusError::plain(409, "Conflict", "another write"));
    stage.pass(3).await;
    assert!(frozen_by(&one, "annotation"), "{}", one.metrics.text());
    stage.hpa(2, 8, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "- -");
}

#[tokio::test(start_paused = true)]
async fn a_freeze_and_foreign_definitions_end_independently() {
    let stage = Plane::with_web("2026-11-20T07:50:00Z").await;
    stage.cron(json!([{"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5}])).await;
    let one = stage.leads("one").await;
    stage.pass(5).await;
    let foreign = |description: Value| json!({"spec": {"group": "autoscaling.karmada.io", "versions": description}});
    let crds: Api<kube::core::DynamicObject> = Api::all_with(
        stage.server.client(),
        &kube::core::ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(
            "apiextensions.k8s.io",
            "v1",
            "CustomResourceDefinition",
        )),
    );
    let name = "cronfederatedhpas.autoscaling.karmada.io";
    let ours = crds.get(name).await.unwrap().data["spec"]["versions"].clone();
    let upstream: Value =
        serde_saphyr::from_str(crate::install::DEFINITIONS.iter().find(|text| text.contains(name)).unwrap()).unwrap();
    let apply = |versions: Value| {
        let crds = crds.clone();
        let patch = foreign(versions);
        async move { crds.patch(name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap() }
    };
    apply(upstream["spec"]["versions"].clone()).await;
    stage.pass(5).await;
    annotate(&stage.server, Some("upgrade")).await;
    stage.pass(5).await;
    assert!(frozen_by(&one, "annotation") && frozen_by(&one, "definitions"), "{}", one.metrics.text());
    annotate(&stage.server, None).await;
    stage.pass(5).await;
    assert!(!frozen_by(&one, "annotation") && frozen_by(&one, "definitions"), "{}", one.metrics.text());
    annotate(&stage.server, Some("upgrade")).await;
    apply(ours).await;
    stage.until("2026-11-20T08:05:00Z").await;
    assert!(frozen_by(&one, "annotation") && !frozen_by(&one, "definitions"), "{}", one.metrics.text());
    assert_eq!(stage.replicas("web").await, 2, "the freeze lasts");
    annotate(&stage.server, None).await;
    stage.pass(5).await;
    assert_eq!(stage.replicas("web").await, 5, "a run that is late by less than maxDelaySeconds is executed");
}

#[tokio::test(start_paused = true)]
async fn rules_that_fall_due_in_a_freeze_are_late_or_missed_afterwards() {
    let stage = Plane::with_web("2026-11-20T07:50:00Z").await;
    stage
        .cron(json!([
            {"name": "up", "schedule": "0 8 * * *", "targetReplicas": 5, "maxDelaySeconds": 600},
            {"name": "more", "schedule": "20 8 * * *", "targetReplicas": 7, "maxDelaySeconds": 900},
        ]))
        .await;
    let _one = stage.leads("one").await;
    stage.pass(10).await;
    annotate(&stage.server, Some("release")).await;
    stage.pass(5).await;
    stage.server.faults().record();
    stage.until("2026-11-20T08:30:00Z").await;
    assert_eq!((stage.replicas("web").await, stage.writes()), (2, Vec::new()));
    annotate(&stage.server, None).await;
    stage.pass(5).await;
    assert_eq!(stage.replicas("web").await, 7);
    let history = stage.history().await;
    assert!(history[0].contains("08:00:00 failed 08:30:0"), "{history:?}");
    assert!(history[1].contains("08:20:00 executed 08:30:0"), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_freeze_does_not_make_a_process_unready_or_lose_its_lease() {
    let stage = Stage::new(2).await;
    let server = stage.fleet.control();
    let _one = stage.leads("one").await;
    annotate(server, Some("incident")).await;
    stage.pass(600).await;
    let lease = leases(server).get("fhpa").await.unwrap();
    assert_eq!(lease.spec.unwrap().holder_identity.as_deref(), Some("one"));
    assert_eq!(lease.metadata.annotations.unwrap()["fhpa.karmada.io/freeze"], "incident", "renewals keep it");
    assert!(stage.control.list(&kind("Event"), "").await.unwrap().is_empty());
}
