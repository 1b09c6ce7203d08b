//! Conditions and behavior of a FederatedHPA with a problem.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::fleet::Plan;
use fhpa::playground::objects::Objects;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::capacity::node;
use super::help::work;
use super::scalers::plain;
use super::{Stage, deployment, kind, plan, policy, weights};
use crate::stories::Process;

async fn begun(clusters: u32) -> (Stage, Process) {
    let stage = Stage::new(clusters).await;
    let one = stage.leads("one").await;
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_missing_workload_and_one_that_is_not_propagated_are_told_apart() {
    let (stage, _one) = begun(2).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(5).await;
    assert_eq!(stage.conditions().await, ["Assigned=False WorkloadNotFound", "Ready=False WorkloadNotFound"]);
    stage.create(deployment("web", 3)).await;
    stage.pass(61).await;
    assert_eq!(stage.conditions().await, ["Assigned=False BindingNotFound", "Ready=False BindingNotFound"]);
    stage.create(policy(weights(&[1, 1]))).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert!(stage.budget.most() <= 10);
}

#[tokio::test(start_paused = true)]
async fn no_candidate_is_told_and_takes_nothing_away() {
    let (stage, _one) = begun(2).await;
    stage.web(4, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({"clusterAffinity": {"clusterNames": ["nowhere"]}})).await;
    stage.pass(30).await;
    assert_eq!(stage.conditions().await, ["Assigned=False NoCandidates", "Ready=False NoCandidates"]);
    assert_eq!((stage.replicas().await, stage.bounds().await), ("2 2".into(), "- -".into()));
}

#[tokio::test(start_paused = true)]
async fn an_hpa_that_is_there_already_is_told_and_taken_over_only_when_asked_for() {
    let (stage, _one) = begun(2).await;
    stage.web(2, weights(&[1, 1])).await;
    let foreign = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    stage.fleet.member("member2").unwrap().create(&foreign).await.unwrap();
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..3", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await[1], "Ready=False ForeignHPA", "{:?}", stage.messages().await);
    stage
        .patch("FederatedHPA", "web", json!({"metadata": {"annotations": {"fhpa.karmada.io/adopt-hpa": "true"}}}))
        .await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

/// An HPA of the FederatedHPA's name is propagated to `cluster`. Returns its Work.
async fn is_in_the_way(stage: &Stage, cluster: &str) -> Value {
    let hpa = serde_json::from_value(stage.get("FederatedHPA", "web").await).unwrap();
    let (name, space) = (fhpa::reconcile::federated_hpa::manifest::work_name(&hpa), format!("karmada-es-{cluster}"));
    stage
        .create(json!({"apiVersion": "work.karmada.io/v1alpha1", "kind": "Work",
            "metadata": {"name": name, "namespace": space},
            "spec": {"suspendDispatching": true, "workload": {"manifests": [plain("web")]}}}))
        .await;
    stage.control.get(&kind("Work"), &space, &name).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_its_first_hpa_holds_no_other_one_back() {
    let (stage, _one) = begun(3).await;
    let mut placement = weights(&[1, 1, 1]);
    placement["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
    stage.web(2, placement).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5 -", "{:?}", stage.messages().await);
    let work = is_in_the_way(&stage, "member3").await;
    let all = json!({"clusterNames": ["member1", "member2", "member3"]});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": all}}})).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 30}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..10 1..10 -", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=1", "no workload without an HPA");
    assert_eq!(stage.conditions().await[1], "Ready=False ForeignHPA", "{:?}", stage.messages().await);
    stage.control.delete(&kind("Work"), &work).await.unwrap();
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..10 1..10 1..10", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_its_hpa_keeps_no_other_one_from_being_asked_and_helped() {
    let stage = Stage::with(Plan { nodes: 0, ..plan(3) }).await;
    for (cluster, fits) in [("member1", 2), ("member2", 40), ("member3", 40)] {
        node(&stage, cluster, fits).await;
    }
    let _one = stage.leads_by_room("one").await;
    let mut placement = weights(&[1, 1, 1]);
    placement["clusterAffinity"] = json!({"clusterNames": ["member1", "member2"]});
    stage.web(2, placement).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    is_in_the_way(&stage, "member3").await;
    let all = json!({"clusterNames": ["member1", "member2", "member3"]});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": all}}})).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 30}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..10 1..10 -", "{:?}", stage.messages().await);
    let asked = stage.fleet.control().faults().count("get", "clusters/proxy");
    work(&stage, 12);
    stage.pass(180).await;
    assert!(stage.fleet.control().faults().count("get", "clusters/proxy") > asked, "pending pods are counted");
    assert_eq!(stage.bounds().await, "1..2 1..14 -", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await[1], "Ready=False ForeignHPA", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_refuses_an_edit_of_the_behavior_holds_it_back_from_no_other_one() {
    let (stage, _one) = begun(3).await;
    stage.web(3, weights(&[1, 1, 1])).await;
    stage.hpa(3, 12, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4", "{:?}", stage.messages().await);
    let works = Which { verb: "patch".into(), resource: "works".into(), ..Which::default() };
    stage.fleet.control().faults().fail(works, 1, StatusError::plain(403, "Forbidden", "not this one"));
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 77}});
    stage.patch("FederatedHPA", "web", json!({"spec": {"behavior": behavior}})).await;
    // Less than the time until the first retry.
    stage.pass(1).await;
    for cluster in ["member2", "member3"] {
        let hpa = stage.autoscaler(cluster).await.unwrap();
        assert_eq!(hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 77, "{cluster}");
    }
    stage.pass(60).await;
    let hpa = stage.autoscaler("member1").await.unwrap();
    assert_eq!(hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 77);
    assert_eq!(stage.conditions().await[1], "Ready=True MemberHPAsReady", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn nobody_leaves_for_a_cluster_that_refuses_its_first_hpa() {
    let (stage, _one) = begun(2).await;
    let mut placement = weights(&[1, 1]);
    placement["clusterAffinity"] = json!({"clusterNames": ["member1"]});
    stage.web(2, placement).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.entries().await, "member1=2", "{:?}", stage.messages().await);
    is_in_the_way(&stage, "member2").await;
    let other = json!({"clusterNames": ["member2"]});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": other}}})).await;
    // Also when it may leave unreplaced.
    stage.pass(720).await;
    assert_eq!(stage.entries().await, "member1=2", "{:?}", stage.messages().await);
    assert_eq!((stage.replicas().await, stage.bounds().await), ("2 -".into(), "2..2 -".into()));
}

#[tokio::test(start_paused = true)]
async fn unknown_capacity_is_told_where_the_policy_goes_by_it() {
    let (stage, _one) = begun(2).await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..5 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True CapacityUnknown", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_share_of_a_cluster_that_cannot_be_applied_is_told() {
    let (stage, _one) = begun(2).await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({"clusterHPAPreference": [{"clusterName": "membre1", "maxResourceUsage": 0.5}]})).await;
    stage.pass(20).await;
    assert_eq!(stage.conditions().await, ["Assigned=True ResourceUsageUnknown", "Ready=True MemberHPAsReady"]);
    assert!(stage.messages().await[0].contains("no effect for membre1"), "{:?}", stage.messages().await);
    stage.patch("FederatedHPA", "web", json!({"spec": {"clusterHPAPreference": null}})).await;
    stage.pass(20).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned");
}

#[tokio::test(start_paused = true)]
async fn scaling_to_zero_without_effect_is_told() {
    let (stage, _one) = begun(2).await;
    stage.web(2, json!({})).await;
    stage.hpa(1, 5, json!({"scalingToZero": true})).await;
    stage.pass(20).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True ScaleToZeroDuplicated", "{:?}", stage.messages().await);
}

/// `web` is scaled by one FederatedHPA, and `also` names it, too.
async fn contested() -> (Stage, Process) {
    let (stage, one) = begun(2).await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    let mut other = super::hpa(2, 30, json!({}));
    other["metadata"]["name"] = json!("also");
    stage.create(other).await;
    stage.pass(20).await;
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn two_objects_on_one_workload_do_not_fight() {
    let (stage, _one) = contested().await;
    let also = stage.get("FederatedHPA", "also").await;
    assert_eq!(also["status"]["conditions"][0]["reason"], "ConflictingFederatedHPA");
    assert_eq!((stage.bounds().await, stage.budget.most()), ("1..5 1..5".into(), 10));
    stage.delete("FederatedHPA", "web").await;
    stage.pass(60).await;
    let also = stage.get("FederatedHPA", "also").await;
    assert_eq!(also["status"]["conditions"][0]["reason"], "Assigned");
}

#[tokio::test(start_paused = true)]
async fn the_second_object_on_a_workload_scales_it_once_the_first_is_pointed_elsewhere() {
    let (stage, _one) = contested().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": {"name": "nothing"}}})).await;
    stage.pass(90).await;
    let also = stage.get("FederatedHPA", "also").await;
    assert_eq!(also["status"]["conditions"][0]["reason"], "Assigned", "{also}");
}

#[tokio::test(start_paused = true)]
async fn karmadas_own_controller_is_noticed() {
    let (stage, _one) = begun(2).await;
    stage.web(2, weights(&[1, 1])).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    let hpas: kube::Api<fhpa::api::FederatedHPA> = kube::Api::namespaced(stage.fleet.control().client(), "prod");
    let theirs = PatchParams { field_manager: Some("karmada-controller-manager".into()), ..PatchParams::default() };
    hpas.patch_status("web", &theirs, &Patch::Merge(json!({"status": {"currentReplicas": 77}}))).await.unwrap();
    stage.pass(5).await;
    assert_eq!(stage.conditions().await[1], "Ready=False UpstreamControllersRunning");
    assert_eq!(stage.get("FederatedHPA", "web").await["status"]["currentReplicas"], 2);
}

#[tokio::test(start_paused = true)]
async fn a_workload_of_the_same_name_elsewhere_is_not_meant() {
    let (stage, _one) = begun(2).await;
    let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}});
    stage.create(space).await;
    let cluster_policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "ClusterPropagationPolicy", "metadata": {"name": "all"},
        "spec": {"placement": weights(&[1, 1]), "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}]}});
    stage.create(cluster_policy).await;
    for namespace in ["other", "prod"] {
        let mut web = deployment("web", 4);
        web["metadata"]["namespace"] = json!(namespace);
        stage.create(web).await;
    }
    stage.pass(20).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    let other = stage.control.get(&kind("ResourceBinding"), "other", "web-deployment").await.unwrap().unwrap();
    assert_eq!(other["spec"]["suspension"], Value::Null);
    assert_eq!(stage.get("ResourceBinding", "web-deployment").await["spec"]["suspension"]["scheduling"], true);
    let member = Objects::new(stage.fleet.member("member1").unwrap().client());
    assert!(member.get(&kind("HorizontalPodAutoscaler"), "other", "web").await.unwrap().is_none());
    assert_eq!(stage.bounds().await, "1..5 1..5");
}
