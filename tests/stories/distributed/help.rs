//! Stories of clusters that cannot scale, of headroom that moves, and of zero, with pods that find no node.

use std::sync::Arc;

use fhpa::playground::fleet::Plan;
use fhpa::playground::json::{items, text};
use fhpa::playground::objects::Objects;
use fhpa::reconcile::federated_hpa::observe::capacity::Rooms;
use serde_json::{Value, json};

use super::capacity::node;
use super::{Stage, kind, plan, weights};
use crate::histories::flaky::Way;
use crate::stories::Process;

/// What one replica does at its target, in thousandths of a core.
pub const EACH: i64 = 50;

/// Members with room for so many replicas, and the workload with so many of them.
pub async fn fleet(members: &[(i64, i64)]) -> Stage {
    built(Plan { nodes: 0, ..plan(u32::try_from(members.len()).unwrap()) }, members).await
}

async fn built(plan: Plan, members: &[(i64, i64)]) -> Stage {
    let stage = Stage::with(plan).await;
    let names: Vec<String> = stage.fleet.names().map(str::to_owned).collect();
    for (cluster, (_, fits)) in names.iter().zip(members) {
        node(&stage, cluster, *fits).await;
    }
    let running: Vec<i64> = members.iter().map(|(running, _)| *running).collect();
    stage.web(i32::try_from(running.iter().sum::<i64>()).unwrap(), weights(&running)).await;
    stage
}

/// The node of a member grows to fit so many replicas.
pub async fn grow(stage: &Stage, cluster: &str, fits: i64) {
    let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
    let found = objects.get(&kind("Node"), "", &format!("{cluster}-node")).await.unwrap().unwrap();
    let mut status = found["status"].clone();
    status["allocatable"]["cpu"] = json!(format!("{}m", fits * 100));
    objects.set_status(&kind("Node"), &found, &status).await.unwrap();
}

/// There is so much to do as so many replicas do at their target.
pub fn work(stage: &Stage, replicas: i64) {
    stage.fleet.load().set("prod", "web", replicas * EACH);
}

fn by(type_: &str, preferences: Value) -> Value {
    json!({"federatedHPAAssignmentType": type_, "clusterAutoscalingPreference": preferences})
}

fn priorities(priorities: &[i64]) -> Value {
    let list = priorities.iter().enumerate().map(|(at, priority)| {
        json!({"targetCluster": {"clusterNames": [format!("member{}", at + 1)]}, "priority": priority})
    });
    by("Prioritized", list.collect())
}

/// Reasons of the Events about the FederatedHPA.
async fn told(stage: &Stage) -> Vec<String> {
    let list = stage.control.list(&kind("Event"), "prod").await.unwrap();
    let mut all: Vec<String> = list.iter().map(|one| text(one, "/reason").to_owned()).collect();
    all.sort();
    all.dedup();
    all
}

/// m1 has room for ten, m2 for one: 8..23 and 1..1.
async fn g8(more: Value) -> (Stage, Process) {
    let stage = fleet(&[(8, 10), (0, 1)]).await;
    let one = stage.leads_by_room("one").await;
    work(&stage, 8);
    let mut spec = json!({"scalingToZero": true, "federatedHPAAssignment": priorities(&[2, 1])});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    stage.hpa(8, 24, spec).await;
    stage.pass(15).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("8..23 1..1".to_owned(), "8 0".to_owned()));
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn g8_a_full_cluster_hands_its_headroom_to_the_next_priority() {
    let (stage, _one) = g8(json!({})).await;
    work(&stage, 16);
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "8..10 1..14", "{:?}", stage.messages().await);
    grow(&stage, "member2", 20).await;
    stage.pass(60).await;
    let replicas = stage.replicas().await;
    assert!(["10 6", "10 7"].contains(&&*replicas), "{replicas}");
    assert_eq!(stage.budget.most(), 24, "{}", stage.budget.history());
    let hpa = stage.get("FederatedHPA", "web").await;
    let reasons: Vec<&str> =
        items(&hpa, "/status/clusterHPADesired").iter().map(|share| text(share, "/reason")).collect();
    assert_eq!(reasons, ["ScaleUpBlocked", "HeadroomReceived"]);
}

/// The budget law needs the decision stored, then the donor's bound, its confirmation, and the receiver's bound. The
/// third write holds the higher priority, which has to shrink last.
#[tokio::test(start_paused = true)]
async fn headroom_moves_with_one_write_of_each_bound() {
    let (stage, _one) = g8(json!({})).await;
    stage.fleet.control().faults().record();
    work(&stage, 16);
    stage.pass(60).await;
    assert_eq!(stage.bounds().await, "8..10 1..14", "{:?}", stage.messages().await);
    let seen = stage.fleet.control().faults().recorded();
    let mut written = seen.iter().filter(|seen| seen.verb == "patch");
    let works: Vec<&str> =
        written.clone().filter(|seen| seen.resource == "works").map(|seen| seen.namespace.as_str()).collect();
    assert_eq!(works, ["karmada-es-member1", "karmada-es-member2", "karmada-es-member1"]);
    let first = written.find(|seen| ["works", "federatedhpas/status"].contains(&&*seen.resource)).unwrap();
    assert_eq!(first.resource, "federatedhpas/status", "the decision is stored first");
    let donor = stage.control.list(&kind("Work"), "karmada-es-member1").await.unwrap();
    let held =
        donor.iter().filter(|work| text(work, "/metadata/annotations/fhpa.karmada.io~1scale-down-disabled") == "true");
    assert_eq!(held.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_delay_goes_on_when_another_leader_takes_over() {
    let (stage, one) = g8(json!({"autoscaleMultiClusterDelay": 120})).await;
    work(&stage, 16);
    stage.pass(90).await;
    assert_eq!(stage.bounds().await, "8..23 1..1");
    one.kill().await;
    let _two = stage.leads_by_room("two").await;
    assert_eq!(stage.bounds().await, "8..23 1..1");
    stage.pass(90).await;
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(stage.bounds().await, "8..10 1..14", "{}", hpa["status"]);
}

#[tokio::test(start_paused = true)]
async fn without_assist_bounds_are_kept() {
    let stage = fleet(&[(8, 10), (0, 1)]).await;
    let _one = stage.leads_by_room("one").await;
    work(&stage, 16);
    stage.hpa(8, 24, json!({"scaleAssist": false, "federatedHPAAssignment": priorities(&[2, 1])})).await;
    stage.pass(600).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("8..23 1..1".to_owned(), "16 1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn g9_the_lowest_priority_shrinks_first_and_gives_back_what_it_does_not_need() {
    let stage = fleet(&[(4, 4), (9, 9), (4, 40)]).await;
    let _one = stage.leads_by_room("one").await;
    work(&stage, 17);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 30}});
    let spec = json!({"federatedHPAAssignment": priorities(&[3, 2, 1]), "behavior": behavior});
    stage.hpa(1, 17, spec).await;
    stage.pass(60).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("1..4 1..9 1..4".to_owned(), "4 9 4".to_owned()));
    // The highest priority has room for what the others do not need.
    grow(&stage, "member1", 40).await;
    stage.pass(15).await;
    work(&stage, 7);
    let (mut seen, mut drained) = (Vec::new(), None);
    for _ in 0..240 {
        stage.pass(5).await;
        let now = stage.replicas().await;
        if seen.last() != Some(&now) {
            seen.push(now);
        }
        let bounds = stage.bounds().await;
        if drained.is_none() && bounds.ends_with(" 1..1") {
            drained = Some(bounds);
            // What is left is for the next one to shrink by, and then for the highest.
            work(&stage, 3);
        }
    }
    assert_eq!(drained.as_deref(), Some("1..7 1..9 1..1"), "{seen:?}");
    let numbers = |replicas: &String| -> Vec<i32> { replicas.split(' ').map(|one| one.parse().unwrap()).collect() };
    for pair in seen.windows(2) {
        let (before, after) = (numbers(&pair[0]), numbers(&pair[1]));
        assert!(after[0] >= before[0] || before[1..] == [1, 1], "{seen:?}");
        assert!(after[1] >= before[1] || before[2] == 1, "{seen:?}");
    }
    assert_eq!(seen.last().unwrap(), "2 1 1", "{seen:?}");
    assert!(stage.bounds().await.ends_with(" 1..1 1..1"), "{}", stage.bounds().await);
    assert!(stage.budget.most() <= 17, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn g10_headroom_follows_the_room() {
    let stage = fleet(&[(2, 12), (2, 12)]).await;
    let _one = stage.leads_by_room("one").await;
    work(&stage, 4);
    stage.hpa(2, 20, json!({"federatedHPAAssignment": by("DynamicWeighted", json!([]))})).await;
    stage.pass(40).await;
    assert_eq!(stage.bounds().await, "1..10 1..10", "{:?}", stage.messages().await);
    grow(&stage, "member2", 32).await;
    stage.pass(120).await;
    assert_eq!(stage.bounds().await, "1..6 1..14", "{:?}", stage.messages().await);
    assert_eq!(stage.budget.most(), 20, "{}", stage.budget.history());
    let still = stage.fleet.control().faults().count("patch", "works");
    stage.pass(1_200).await;
    assert_eq!(stage.fleet.control().faults().count("patch", "works"), still);
}

#[tokio::test(start_paused = true)]
async fn g11_help_goes_by_static_weight_and_does_not_wait_for_the_hpas_that_help() {
    let stage = fleet(&[(6, 6), (2, 50), (2, 50)]).await;
    let _one = stage.leads_by_room("one").await;
    let weight = |at: usize, weight: i64| json!({"targetCluster": {"clusterNames": [format!("member{at}")]}, "staticWeight": weight});
    let assignment = by("StaticWeighted", json!([weight(1, 4), weight(2, 3), weight(3, 1)]));
    work(&stage, 10);
    stage.hpa(8, 80, json!({"federatedHPAAssignment": assignment})).await;
    stage.pass(20).await;
    assert_eq!((stage.bounds().await, stage.replicas().await), ("4..40 3..30 1..10".to_owned(), "6 3 2".to_owned()));
    // Each HPA sees the load of all: the first cannot follow, and the others have its part at once.
    work(&stage, 18);
    stage.pass(60).await;
    let replicas = stage.replicas().await;
    let parts: Vec<i32> = replicas.split(' ').map(|one| one.parse().unwrap()).collect();
    assert_eq!(parts[0], 6, "{replicas}");
    assert!(parts.iter().sum::<i32>() >= 18, "{replicas}");
    assert!(stage.bounds().await.starts_with("4..6 "), "{}", stage.bounds().await);
    assert!(told(&stage).await.contains(&"ScaleAssisted".to_owned()), "{:?}", told(&stage).await);
    assert_eq!(stage.budget.most(), 80, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_goes_to_zero_after_the_window_and_comes_back_with_the_load() {
    goes_to_zero_and_comes_back(fleet(&[(1, 20), (1, 20), (2, 20)]).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_status_tells_neither_a_generation_nor_zero_replicas_comes_back_from_zero() {
    let stage = fleet(&[(1, 20), (1, 20), (2, 20)]).await;
    let script = "function ReflectStatus(observedObj)\n  local status = {}\n  \
                  status.replicas = observedObj.status.replicas\n  \
                  status.readyReplicas = observedObj.status.readyReplicas\n  return status\nend";
    stage
        .create(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "terse"}, "spec": {"target": {"apiVersion": "apps/v1", "kind": "Deployment"},
                "customizations": {"statusReflection": {"luaScript": script}}}}))
        .await;
    goes_to_zero_and_comes_back(stage).await;
}

async fn goes_to_zero_and_comes_back(stage: Stage) {
    let _one = stage.leads_by_room("one").await;
    work(&stage, 3);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 120}});
    let assignment = by("Aggregated", json!([]));
    let spec = json!({"scalingToZero": true, "federatedHPAAssignment": assignment, "behavior": behavior});
    stage.hpa(1, 30, spec).await;
    stage.pass(30).await;
    work(&stage, 1);
    stage.pass(200).await;
    let replicas = stage.replicas().await;
    assert_eq!(replicas.split(' ').filter(|one| **one == *"1").count(), 3, "{replicas} {:?}", stage.messages().await);
    stage.pass(300).await;
    let replicas = stage.replicas().await;
    assert!(replicas.split(' ').any(|one| one == "0"), "{replicas} {:?}", stage.messages().await);
    work(&stage, 12);
    stage.pass(60).await;
    let replicas = stage.replicas().await;
    assert!(replicas.split(' ').all(|one| one != "0"), "{replicas} {:?}", stage.messages().await);
    let told = told(&stage).await;
    assert!(["ScaledToZero", "ScaledFromZero"].iter().all(|reason| told.contains(&(*reason).to_owned())), "{told:?}");
}

/// A workload that becomes idle, after so many seconds.
async fn idles(seconds: u64, way: &Way) -> (Stage, Process) {
    let stage = fleet(&[(1, 20), (1, 20), (2, 20)]).await;
    let client = way.over(stage.fleet.control().client());
    let mut one = Process::start_over(client, "one", &stage.wall, Arc::new(Rooms::default()));
    one.leads().await;
    work(&stage, 1);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
    let assignment = by("Aggregated", json!([]));
    stage.hpa(1, 30, json!({"scalingToZero": true, "federatedHPAAssignment": assignment, "behavior": behavior})).await;
    stage.pass(seconds).await;
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_its_hpa_has_raised_since_its_last_report_is_not_scaled_to_zero() {
    let way = Way::default();
    let (stage, one) = idles(0, &way).await;
    let mut seconds = 0;
    let at = loop {
        if let Some(at) = stage.replicas().await.split(' ').position(|replicas| replicas == "0") {
            break at;
        }
        assert!(seconds < 1_200, "{:?}", stage.messages().await);
        stage.pass(1).await;
        seconds += 1;
    };
    one.stop().await;
    let (stage, _one) = idles(seconds - 1, &way).await;
    way.stale(Some(""));
    work(&stage, 12);
    let cluster = stage.fleet.names().nth(at).unwrap().to_owned();
    let objects = Objects::new(stage.fleet.member(&cluster).unwrap().client());
    let about = json!({"metadata": {"name": "web", "namespace": "prod"}});
    objects.merge(&kind("Deployment"), &about, "scale", &json!({"spec": {"replicas": 5}})).await.unwrap();
    for _ in 0..30 {
        stage.pass(1).await;
        assert_ne!(stage.replicas().await.split(' ').nth(at), Some("0"), "{:?}", stage.messages().await);
    }
}
