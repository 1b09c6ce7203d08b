//! Edits of users while the controller runs: bounds, policy, candidates, metrics.

use fhpa::playground::json::{label, text};
use fhpa::playground::objects::Written;
use fhpa::reconcile::federated_hpa::names;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::departures::counts;
use super::{Stage, deployment, kind, weights};
use crate::stories::Process;

/// Three members by weights 1, 2, 3 and bounds 2..10: 1..1 1..4 1..5.
pub async fn running() -> (Stage, Process) {
    running_with(json!({})).await
}

pub async fn running_with(more: Value) -> (Stage, Process) {
    let (stage, one) = Stage::divided(3, &[1, 2, 3]).await;
    stage.hpa(2, 10, more).await;
    stage.pass(10).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn max_replicas_goes_up_and_down_within_the_budget() {
    let (stage, _one) = running().await;
    for (max, bounds) in [(20, "1..3 1..7 1..10"), (6, "1..1 1..2 1..3"), (9, "1..1 1..3 1..5"), (3, "- 1..1 2..2")] {
        let before = stage.budget.most();
        stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": max}})).await;
        stage.pass(15).await;
        assert_eq!(stage.bounds().await, bounds, "{:?}", stage.messages().await);
        let most = stage.budget.most();
        assert!(most <= max.max(before), "{most}: {}", stage.budget.history());
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_metrics_reaches_every_member_with_the_bounds_it_has() {
    let (stage, _one) = running().await;
    let metric = json!([{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    stage.patch("FederatedHPA", "web", json!({"spec": {"metrics": metric, "behavior": behavior}})).await;
    stage.pass(5).await;
    for cluster in ["member1", "member2", "member3"] {
        let hpa = stage.member(cluster, "HorizontalPodAutoscaler", "web").await.unwrap();
        assert_eq!(hpa["spec"]["metrics"], metric);
        assert_eq!(hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"], 60);
    }
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_leader_wrote_whose_clock_ran_ahead_is_waited_for_no_longer_than_usual() {
    let stage = Stage::new(3).await;
    stage.web(3, weights(&[1, 2, 3])).await;
    let mut one = Process::start(stage.fleet.control(), "one", &stage.wall.ahead(3_600));
    one.leads().await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(60).await;
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    stage.patch("FederatedHPA", "web", json!({"spec": {"behavior": behavior}})).await;
    stage.pass(100).await;
    one.stop().await;
    let _two = stage.leads("two").await;
    stage.pass(90).await;
    stage.fleet.fail("member3", false).unwrap();
    stage.pass(90).await;
    let hpa = stage.member("member3", "HorizontalPodAutoscaler", "web").await.unwrap();
    let window = "/spec/behavior/scaleDown/stabilizationWindowSeconds";
    assert_eq!(hpa.pointer(window), Some(&json!(60)), "{:?}", stage.messages().await);
    for cluster in ["member1", "member2", "member3"] {
        let hpa = stage.member(cluster, "HorizontalPodAutoscaler", "web").await.unwrap();
        let id: i64 = text(&hpa, "/metadata/annotations/fhpa.karmada.io~1write-id").parse().unwrap();
        assert!(id <= stage.wall.now().as_millisecond(), "{cluster}: {id}");
    }
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5");
}

/// The Work of the HPA of a cluster.
async fn work(stage: &Stage, cluster: &str) -> Value {
    let works = stage.control.list(&kind("Work"), &format!("karmada-es-{cluster}")).await.unwrap();
    let is_hpa = |work: &Value| text(work, "/spec/workload/manifests/0/kind") == "HorizontalPodAutoscaler";
    works.into_iter().find(is_hpa).unwrap()
}

async fn edit_work(stage: &Stage, work: &Value, patch: Value) {
    let written = stage.control.merge(&kind("Work"), work, "", &patch).await.unwrap();
    assert!(matches!(written, Written::Done(_)), "{written:?}");
}

async fn edit_manifest(stage: &Stage, cluster: &str, edit: impl FnOnce(&mut Value)) {
    let work = work(stage, cluster).await;
    let mut manifests = work["spec"]["workload"]["manifests"].clone();
    edit(&mut manifests[0]);
    edit_work(stage, &work, json!({"spec": {"workload": {"manifests": manifests}}})).await;
}

#[tokio::test(start_paused = true)]
async fn what_somebody_changes_of_an_hpa_in_a_work_is_written_again_once() {
    let (stage, _one) = running().await;
    let hpa = async || stage.member("member2", "HorizontalPodAutoscaler", "web").await.unwrap();
    let before = hpa().await["spec"].clone();
    edit_manifest(&stage, "member2", |hpa| hpa["spec"]["scaleTargetRef"]["name"] = json!("other")).await;
    stage.pass(10).await;
    assert_eq!(hpa().await["spec"], before);
    let written = hpa().await["metadata"]["annotations"][names::WRITE_ID].clone();
    edit_manifest(&stage, "member3", |hpa| {
        hpa["metadata"]["annotations"].as_object_mut().unwrap().remove(names::WRITE_ID);
    })
    .await;
    stage.pass(120).await;
    let marked = stage.member("member3", "HorizontalPodAutoscaler", "web").await.unwrap();
    assert!(!text(&marked, "/metadata/annotations/fhpa.karmada.io~1write-id").is_empty());
    assert_eq!(hpa().await["metadata"]["annotations"][names::WRITE_ID], written, "once");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_work_that_lost_its_labels_or_its_owner_is_known_again_with_its_bounds() {
    let label = "app.kubernetes.io/managed-by";
    for (labels, annotations) in [
        (json!({label: null}), json!({})),
        (json!({}), json!({names::OWNER: null})),
        (json!({label: null, names::OWNER_UID: null}), json!({names::OWNER: null})),
    ] {
        let (stage, _one) = running().await;
        stage.budget.most();
        let before = work(&stage, "member3").await;
        edit_work(&stage, &before, json!({"metadata": {"labels": labels, "annotations": annotations}})).await;
        stage.pass(30).await;
        let after = work(&stage, "member3").await;
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"], "{labels} {annotations}");
        let owner = |work: &Value| work["metadata"]["annotations"][names::OWNER].clone();
        assert_eq!((owner(&after), &after["metadata"]["uid"]), (owner(&before), &before["metadata"]["uid"]));
        stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 20}})).await;
        stage.pass(30).await;
        assert_eq!(stage.bounds().await, "1..3 1..7 1..10", "{:?}", stage.messages().await);
        assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
        assert!(stage.budget.most() <= 20, "{}", stage.budget.history());
        stage.delete("FederatedHPA", "web").await;
        stage.pass(120).await;
        assert_eq!(stage.bounds().await, "- - -");
    }
}

#[tokio::test(start_paused = true)]
async fn another_policy_divides_anew() {
    let (stage, _one) = running().await;
    stage.budget.most();
    let even = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted"}});
    stage.patch("FederatedHPA", "web", json!({"spec": even})).await;
    stage.pass(15).await;
    assert_eq!(stage.bounds().await, "1..4 1..3 1..3", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    let all = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Duplicated"}});
    stage.patch("FederatedHPA", "web", json!({"spec": all})).await;
    stage.pass(15).await;
    assert_eq!(stage.bounds().await, "2..10 2..10 2..10");
}

#[tokio::test(start_paused = true)]
async fn a_threshold_without_a_policy_leaves_the_policy_and_the_weights_of_the_placement() {
    let (stage, _one) = running().await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[1, 2, 3])}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    let most = json!([{"targetCluster": {"clusterNames": ["member3"]}, "autoscalingMaxThreshold": 4}]);
    let spec = json!({"federatedHPAAssignment": {"clusterAutoscalingPreference": most}});
    stage.patch("FederatedHPA", "web", json!({"spec": spec})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..2 1..4 1..4", "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_leaves_the_placement_goes_after_its_replacement() {
    let (stage, one) = running().await;
    stage.budget.most();
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[1, 2])}})).await;
    stage
        .patch(
            "PropagationPolicy",
            "web",
            json!({"spec": {"placement": {"clusterAffinity": {"clusterNames": ["member1", "member2"]}}}}),
        )
        .await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 -", "{:?}", stage.messages().await);
    assert_eq!(stage.replicas().await, "1 2 -");
    counts(&one, 0, 1);
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"clusterAffinity": null}}})).await;
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": weights(&[1, 2, 3])}})).await;
    // The others may not shrink below what they replaced within the window.
    stage.pass(400).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn another_workload_is_taken_over_after_the_first_was_handed_back() {
    let (stage, _one) = running().await;
    stage.create(deployment("shop", 6)).await;
    stage.pass(10).await;
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop"});
    stage.patch("FederatedHPA", "web", json!({"spec": {"scaleTargetRef": target}})).await;
    stage.pass(60).await;
    let binding = |name: &'static str| stage.get("ResourceBinding", name);
    assert_eq!(binding("web-deployment").await["spec"]["suspension"]["scheduling"], Value::Null);
    assert_eq!(binding("shop-deployment").await["spec"]["suspension"]["scheduling"], true);
    let web = stage.get("Deployment", "web").await;
    assert_eq!((label(&web, "resourcetemplate.karmada.io/retain-replicas"), &web["spec"]["replicas"]), ("", &json!(3)));
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..1 1..4 1..5".into(), "1 1 1".into()));
    let hpa = stage.member("member2", "HorizontalPodAutoscaler", "web").await.unwrap();
    assert_eq!(hpa["spec"]["scaleTargetRef"]["name"], "shop");
}

#[tokio::test(start_paused = true)]
async fn each_assignment_is_told_with_its_reasons() {
    let (stage, _one) = running().await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 6}})).await;
    stage.pass(15).await;
    let events: Api<Event> = Api::namespaced(stage.fleet.control().client(), "prod");
    let mut events = events.list(&ListParams::default()).await.unwrap().items;
    events.retain(|event| event.regarding.as_ref().and_then(|one| one.kind.as_deref()) == Some("FederatedHPA"));
    events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
    let notes: Vec<String> = events
        .iter()
        .map(|event| format!("{}: {}", event.reason.as_deref().unwrap(), event.note.as_deref().unwrap()))
        .collect();
    assert_eq!(
        notes,
        [
            "Assigned: member1 1..1 (weight 1 of 6), member2 1..4 (weight 2 of 6), member3 1..5 (weight 3 of 6)",
            "Reassigned: member1 1..1 (weight 1 of 6), member2 1..2 (weight 2 of 6), member3 1..3 (weight 3 of 6)",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_placement_that_spreads_by_zone_uses_no_zone_too_many_and_says_when_there_are_too_few() {
    let stage = Stage::new(3).await;
    for (cluster, zone) in [("member1", "a"), ("member2", "a"), ("member3", "b")] {
        stage.patch("Cluster", cluster, json!({"spec": {"zones": [zone]}})).await;
    }
    let placement = |least: i32, most: i32| {
        let mut placement = weights(&[1, 1, 1]);
        placement["spreadConstraints"] = json!([{"spreadByField": "zone", "minGroups": least, "maxGroups": most}]);
        placement
    };
    stage.web(3, placement(1, 1)).await;
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(400).await;
    assert_eq!(stage.bounds().await, "1..5 1..5 -", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned");
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": placement(3, 3)}})).await;
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "1..4 1..3 1..3", "{:?}", stage.messages().await);
    assert_eq!(stage.conditions().await[0], "Assigned=True SpreadConstraintNotMet");
    let said = stage.messages().await[0].clone();
    assert!(
        said.contains("spreads by zone over at least 3 groups, and the clusters that can be used are in 2"),
        "{said}"
    );
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn what_a_placement_says_that_has_no_effect_is_told() {
    let stage = Stage::new(2).await;
    let mut placement = weights(&[1, 1]);
    placement["workloadAffinity"] = json!({"preferredAffinity": {"weight": 1}});
    stage.web(2, placement).await;
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True PlacementNotSupported");
    let said = stage.messages().await[0].clone();
    assert!(
        said.ends_with("does not apply these parts of the placement: workloadAffinity.preferredAffinity"),
        "{said}"
    );
    assert_eq!(stage.bounds().await, "1..5 1..5");
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": {"workloadAffinity": null}}})).await;
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[0], "Assigned=True Assigned");
}

#[tokio::test(start_paused = true)]
async fn a_rebalancer_of_karmada_makes_a_new_division_and_is_answered() {
    let (stage, _one) = Stage::divided(2, &[1, 1]).await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(30).await;
    let digest = async || stage.get("FederatedHPA", "web").await["status"]["assignmentHash"].clone();
    let before = digest().await;
    let at = stage.wall.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    stage.patch("ResourceBinding", "web-deployment", json!({"spec": {"rescheduleTriggeredAt": at}})).await;
    stage.pass(10).await;
    let after = digest().await;
    assert_ne!(after, before);
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    let scheduled: jiff::Timestamp = text(&binding, "/status/lastScheduledTime").parse().unwrap();
    assert!(scheduled >= at.parse().unwrap(), "else karmada-scheduler would divide when it is handed back: {binding}");
    assert_eq!(binding["status"]["schedulerObservedGeneration"], binding["metadata"]["generation"]);
    stage.pass(60).await;
    assert_eq!((digest().await, stage.bounds().await), (after, "1..5 1..5".to_owned()));
}
