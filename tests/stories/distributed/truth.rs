//! Conditions describe the members correctly: whether their HPAs exist, are the only ones, and are able to scale.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::json::{items, text};
use jiff::SignedDuration;
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, kind, weights};
use crate::stories::Process;

/// `ScalingActive=True ValidMetricFound`, one for each condition that every HPA has.
async fn scaling(stage: &Stage) -> Vec<String> {
    stage.all_conditions().await.into_iter().skip(2).collect()
}

async fn message(stage: &Stage, type_: &str) -> String {
    let hpa = stage.get("FederatedHPA", "web").await;
    let condition = items(&hpa, "/status/conditions").iter().find(|one| text(one, "/type") == type_).unwrap();
    for member in ["lastTransitionTime", "observedGeneration", "reason", "message"] {
        assert!(!condition[member].is_null(), "{member} of {condition}");
    }
    text(condition, "/message").to_owned()
}

/// Reasons of the Warnings about the FederatedHPA.
async fn warnings(stage: &Stage) -> Vec<String> {
    let events: Api<Event> = Api::namespaced(stage.fleet.control().client(), "prod");
    let all = events.list(&ListParams::default()).await.unwrap().items;
    let warns = all.into_iter().filter(|event| event.type_.as_deref() == Some("Warning"));
    let about =
        |event: &Event| event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("FederatedHPA");
    let mut reasons: Vec<String> = warns.filter(about).filter_map(|event| event.reason).collect();
    // The names of Events have no order.
    reasons.sort_unstable();
    reasons
}

/// Lines of the gauge of conditions that are not `True`.
fn counted(process: &Process) -> Vec<String> {
    let text = process.metrics.text();
    let lines = text.lines().filter(|line| line.starts_with("fhpa_federated_hpa_conditions{"));
    let mut lines: Vec<String> = lines.filter(|line| line.contains(r#"status="False""#)).map(str::to_owned).collect();
    lines.retain(|line| !line.contains("ScalingLimited"));
    lines.sort();
    lines
}

async fn counts(stage: &Stage) -> Value {
    stage.get("FederatedHPA", "web").await["status"]["clusters"].clone()
}

#[tokio::test(start_paused = true)]
async fn while_an_hpa_is_not_there_yet_the_object_is_not_ready() {
    let (stage, one) = Stage::divided(3, &[1, 2, 3]).await;
    // Karmada comes to the Works later.
    stage.fleet.lag(SignedDuration::from_secs(40));
    stage.hpa(2, 10, json!({})).await;
    stage.pass(10).await;
    assert_eq!(stage.conditions().await, ["Assigned=False WaitingForMembers", "Ready=False MemberHPAMissing"]);
    assert!(message(&stage, "Ready").await.starts_with("in "), "{:?}", stage.messages().await);
    assert!(message(&stage, "Ready").await.contains("member2"), "{:?}", stage.messages().await);
    assert_eq!(counts(&stage).await["total"], 3);
    assert_eq!(warnings(&stage).await, [""; 0], "this is how it begins");
    stage.fleet.lag(SignedDuration::ZERO);
    stage.pass(60).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    let counts = counts(&stage).await;
    assert_eq!(counts, json!({"total": 3, "ready": 3, "limited": 0, "unknown": 0, "scaledToZero": 0}));
    assert!(!one.metrics.text().contains("fhpa_status_writes_total 0"), "they are counted");
}

#[tokio::test(start_paused = true)]
async fn a_second_hpa_on_the_pods_of_a_member_is_told_with_what_to_do() {
    let (stage, one) = running().await;
    stage.pass(30).await;
    assert_eq!(scaling(&stage).await[0], "ScalingActive=True ValidMetricFound");
    let other = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "other", "namespace": "prod"},
        "spec": {"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    let member = stage.fleet.member("member2").unwrap();
    member.create(&other).await.unwrap();
    stage.pass(60).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False AmbiguousSelector"]);
    let said = message(&stage, "Ready").await;
    assert!(said.starts_with("in member2: ") && said.contains("delete the other HPA there"), "{said}");
    assert_eq!(scaling(&stage).await[0], "ScalingActive=False AmbiguousSelector");
    let said = message(&stage, "ScalingActive").await;
    assert!(said.contains("controlled by multiple HPAs: [prod/other prod/web]"), "{said}");
    assert_eq!(warnings(&stage).await, ["AmbiguousSelector"]);
    assert_eq!(
        counted(&one),
        [
            r#"fhpa_federated_hpa_conditions{condition="Ready",status="False",reason="AmbiguousSelector"} 1"#,
            r#"fhpa_federated_hpa_conditions{condition="ScalingActive",status="False",reason="AmbiguousSelector"} 1"#
        ]
    );
    let objects = fhpa::playground::objects::Objects::new(member.client());
    objects.delete(&kind("HorizontalPodAutoscaler"), &other).await.unwrap();
    stage.pass(60).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert_eq!(counted(&one), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_member_without_metrics_does_not_scale_but_all_is_in_its_place() {
    let (stage, _one) = running().await;
    stage.fleet.lose_metrics("member2", true).unwrap();
    stage.pass(90).await;
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    assert_eq!(scaling(&stage).await[0], "ScalingActive=False FailedGetResourceMetric");
    assert_eq!(scaling(&stage).await[1], "AbleToScale=True SucceededGetScale");
    let said = message(&stage, "ScalingActive").await;
    assert!(said.starts_with("in member2: ") && said.contains("unable to fetch metrics"), "{said}");
    assert_eq!(warnings(&stage).await, ["FailedGetResourceMetric"]);
    stage.fleet.lose_metrics("member2", false).unwrap();
    stage.pass(90).await;
    assert_eq!(scaling(&stage).await[0], "ScalingActive=True ValidMetricFound");
    assert_eq!(warnings(&stage).await, ["FailedGetResourceMetric"], "told once");
}

#[tokio::test(start_paused = true)]
async fn a_member_at_its_bound_is_limited_and_named() {
    let (stage, _one) = running().await;
    stage.fleet.load().set("prod", "web", 100_000);
    stage.pass(180).await;
    assert_eq!(scaling(&stage).await[2], "ScalingLimited=True TooManyReplicas");
    let said = message(&stage, "ScalingLimited").await;
    assert!(said.starts_with("in member1, member2, member3: "), "{said}");
    let counts = counts(&stage).await;
    assert_eq!((&counts["limited"], &counts["ready"]), (&json!(3), &json!(3)), "{counts}");
    assert_eq!(stage.conditions().await[1], "Ready=True MemberHPAsReady");
}

#[tokio::test(start_paused = true)]
async fn a_cluster_for_which_nothing_is_left_waits_for_headroom_and_gets_it() {
    let stage = Stage::new(3).await;
    let candidates = |names: &[&str]| {
        let mut placement = weights(&[1, 1, 1]);
        placement["clusterAffinity"] = json!({"clusterNames": names});
        placement
    };
    stage.web(3, candidates(&["member1", "member2"])).await;
    let _one = stage.leads("one").await;
    stage.fleet.load().set("prod", "web", 100_000);
    stage.hpa(2, 8, json!({})).await;
    stage.pass(180).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..4 -".to_owned(), "4 4 -".to_owned()));
    stage
        .patch(
            "PropagationPolicy",
            "web",
            json!({"spec": {"placement": candidates(&["member1", "member2", "member3"])}}),
        )
        .await;
    stage.pass(300).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..4 -".to_owned(), "4 4 -".to_owned()));
    assert_eq!(stage.conditions().await, ["Assigned=False HeadroomInUse", "Ready=False HeadroomInUse"]);
    let said = message(&stage, "Assigned").await;
    assert!(said.starts_with("replicas that run are not removed for other clusters: raise spec.maxReplicas"), "{said}");
    assert!(message(&stage, "Ready").await.starts_with("in member3: there is no HPA"), "{:?}", stage.messages().await);
    let told = json!({"total": 3, "ready": 2, "limited": 3, "unknown": 0, "scaledToZero": 0});
    assert_eq!((counts(&stage).await, warnings(&stage).await), (told, vec![]));
    stage.patch("FederatedHPA", "web", json!({"spec": {"maxReplicas": 12}})).await;
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "1..4 1..4 1..4");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_lost_is_unknown_and_in_the_status() {
    let (stage, _one) = running().await;
    stage.pass(30).await;
    stage.fleet.fail("member2", true).unwrap();
    // Its toleration is five minutes.
    stage.pass(420).await;
    assert_eq!(stage.conditions().await[1], "Ready=False MembersUnreachable");
    assert!(message(&stage, "Ready").await.starts_with("member2 cannot be reached"), "{:?}", stage.messages().await);
    // The others have its share, and go on.
    assert_eq!(scaling(&stage).await[0], "ScalingActive=True ValidMetricFound");
    let counts = counts(&stage).await;
    assert_eq!((&counts["total"], &counts["ready"], &counts["unknown"]), (&json!(3), &json!(2), &json!(1)), "{counts}");
    assert_eq!(warnings(&stage).await, ["MembersUnreachable", "ReplicasMissing"], "until the others run its replicas");
}

#[tokio::test(start_paused = true)]
async fn all_conditions_are_there_from_the_first_visit() {
    let stage = Stage::new(2).await;
    let _one = stage.leads("one").await;
    stage.hpa(2, 10, json!({})).await;
    stage.pass(5).await;
    let said = [
        "Assigned=False WorkloadNotFound",
        "Ready=False WorkloadNotFound",
        "ScalingActive=Unknown WorkloadNotFound",
        "AbleToScale=Unknown WorkloadNotFound",
        "ScalingLimited=Unknown WorkloadNotFound",
    ];
    assert_eq!(stage.all_conditions().await, said);
    assert_eq!(warnings(&stage).await, ["WorkloadNotFound"]);
}

/// A controller whose first writes of a status are refused as too large, with its bounds in force, and the status that was
/// stored.
async fn with_statuses_refused(times: usize) -> (Stage, Process, Value) {
    let (stage, one) = Stage::divided(3, &[1, 2, 3]).await;
    let statuses = Which { verb: "patch".into(), resource: "federatedhpas/status".into(), ..Which::default() };
    let refusal = StatusError::plain(500, "", "etcdserver: request is too large");
    stage.fleet.control().faults().fail(statuses, times, refusal);
    stage.hpa(2, 10, json!({})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..1 1..4 1..5", "{:?}", stage.messages().await);
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    (stage, one, status)
}

#[tokio::test(start_paused = true)]
async fn where_even_the_ledger_is_too_large_the_bounds_are_stored_and_written() {
    // First the whole status is refused, then what must be remembered.
    let (_stage, _one, status) = with_statuses_refused(2).await;
    let last = &status["clusterHPADesired"][2];
    assert_eq!((&last["maxReplicas"], last.get("reason")), (&json!(5), None), "{status}");
}

#[tokio::test(start_paused = true)]
async fn a_status_that_is_too_large_to_store_keeps_no_bound_back() {
    // Each time the whole status is refused, and what must be remembered is taken.
    let (_stage, one, status) = with_statuses_refused(1).await;
    assert_eq!(status["clusterHPADesired"].as_array().map(Vec::len), Some(3), "{status}");
    // As large a status would be refused again: it is not tried.
    assert_eq!((&status["aggregatedStatus"], &status["aggregatedStatusOmitted"]), (&Value::Null, &json!(3)));
    assert_eq!(status["clusters"]["total"], 3);
    let unassigned = "fhpa_federated_hpa_unassigned_replicas 0\n";
    assert!(one.metrics.text().contains(unassigned), "1 + 4 + 5 of 10 are assigned");
}
