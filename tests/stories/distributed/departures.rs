//! Clusters that leave the policy, hang, fail and recover: their replicas stay ready.

use embedded_apiserver::status::StatusError;
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::int;
use serde_json::{Value, json};

use super::{Stage, plan, weights};
use crate::stories::{Process, which};

/// Three members that run 10, 3 and 2, and whose HPAs do not scale by themselves.
pub async fn uneven(max: i32, more: Value) -> (Stage, Process) {
    let stage = Stage::with(roomy()).await;
    let one = runs_unevenly(&stage, max, more).await;
    (stage, one)
}

/// Three members with room for all replicas.
pub fn roomy() -> Plan {
    Plan { cpu: 32, ..plan(3) }
}

/// Lets the members run 10, 3 and 2.
pub async fn runs_unevenly(stage: &Stage, max: i32, more: Value) -> Process {
    stage.web(15, weights(&[10, 3, 2])).await;
    let one = stage.leads_by_room("one").await;
    stage.fleet.load().set("prod", "web", 750);
    let never = json!({"selectPolicy": "Disabled"});
    let mut spec = json!({"behavior": {"scaleUp": never, "scaleDown": never},
        "federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted"}});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    stage.hpa(3, max, spec).await;
    stage.pass(30).await;
    assert_eq!(stage.replicas().await, "10 3 2", "{:?}", stage.messages().await);
    one
}

/// Pods that are ready in these members.
pub async fn ready(stage: &Stage, members: &[&str]) -> i32 {
    let mut ready = 0;
    for member in members {
        let deployment = stage.member(member, "Deployment", "web").await;
        let own = deployment.and_then(|deployment| int(&deployment, "/status/readyReplicas")).unwrap_or_default();
        ready += i32::try_from(own).unwrap();
    }
    ready
}

pub const ALL: [&str; 3] = ["member1", "member2", "member3"];
pub const OTHERS: [&str; 2] = ["member2", "member3"];

/// The fewest pods that were ready in the members within so many seconds.
pub async fn least(stage: &Stage, members: &[&str], seconds: u64) -> i32 {
    let mut least = ready(stage, members).await;
    for _ in 0..seconds {
        stage.pass(1).await;
        least = least.min(ready(stage, members).await);
    }
    least
}

async fn without_the_first(stage: &Stage) {
    let affinity = json!({"clusterAffinity": {"clusterNames": OTHERS}});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": affinity}})).await;
}

/// What the metrics say of failovers, and of all replacements.
pub fn counts(process: &Process, failovers: u32, replacements: u32) {
    let text = process.metrics.text();
    for line in [
        format!("fhpa_federated_hpa_failovers_total {failovers}\n"),
        format!("fhpa_federated_hpa_replacements_total {replacements}\n"),
    ] {
        assert!(text.contains(&line), "{line}{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_max_replicas_leaves_no_headroom_a_quarter_of_what_leaves_is_under_way() {
    let (stage, _one) = uneven(15, json!({"scaleAssist": false})).await;
    stage.budget.most();
    without_the_first(&stage).await;
    let least = least(&stage, &ALL, 400).await;
    assert!((13..15).contains(&least), "{least}: {:?}", stage.messages().await);
    assert_eq!(ready(&stage, &OTHERS).await, 15, "{:?}", stage.messages().await);
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    assert!(stage.budget.most() <= 15, "{}", stage.budget.history());
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_killed_while_a_cluster_leaves_is_followed() {
    let (stage, one) = uneven(30, json!({})).await;
    let mut two = stage.controller_by_room("two");
    without_the_first(&stage).await;
    stage.pass(1).await;
    one.kill().await;
    two.leads().await;
    assert_eq!(least(&stage, &ALL, 120).await, 15, "{:?}", stage.messages().await);
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
}

/// The object of [`uneven`] becomes Centralized.
async fn becomes_centralized(stage: &Stage) {
    let spec = json!({"mode": "Centralized", "federatedHPAAssignment": null});
    stage.patch("FederatedHPA", "web", json!({"spec": spec})).await;
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_centralized_waits_for_a_replacement_and_for_silent_clusters_in_bounded_time() {
    let (stage, _one) = uneven(15, json!({})).await;
    stage.fleet.fail("member2", true).unwrap();
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(30).await;
    without_the_first(&stage).await;
    stage.pass(1).await;
    becomes_centralized(&stage).await;
    assert_eq!(least(&stage, &["member1"], 500).await, 10, "{:?}", stage.messages().await);
    stage.pass(600).await;
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(hpa["metadata"].get("finalizers"), None, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_becomes_centralized_does_not_wait_for_a_replacement_that_no_cluster_could_run() {
    let (stage, _one) = uneven(30, json!({})).await;
    let affinity = json!({"clusterAffinity": {"clusterNames": ["elsewhere"]}});
    stage.patch("PropagationPolicy", "web", json!({"spec": {"placement": affinity}})).await;
    becomes_centralized(&stage).await;
    assert_eq!(least(&stage, &ALL, 60).await, 15, "{:?}", stage.messages().await);
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(hpa["metadata"].get("finalizers"), None, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_has_room_for_is_waited_for_and_then_leaves_with_a_warning() {
    let (stage, one) = uneven(
        15,
        json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "DynamicWeighted",
        "clusterAutoscalingPreference": [
            {"targetCluster": {"clusterNames": ["member2"]}, "autoscalingMaxThreshold": 3},
            {"targetCluster": {"clusterNames": ["member3"]}, "autoscalingMaxThreshold": 2}]}}),
    )
    .await;
    without_the_first(&stage).await;
    assert_eq!(least(&stage, &ALL, 500).await, 15, "{:?}", stage.messages().await);
    let said = stage.messages().await[0].clone();
    assert!(
        said.contains("10 replicas of leaving or failed clusters are not ready elsewhere: no other cluster"),
        "{said}"
    );
    stage.pass(150).await;
    assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
    assert_eq!(stage.warnings("ReplacementTimedOut").await, 1);
    // 3 and 2 of 15 are assigned: no threshold allows more.
    assert!(one.metrics.text().contains("fhpa_federated_hpa_unassigned_replicas 10\n"), "{}", stage.bounds().await);
}

#[tokio::test(start_paused = true)]
async fn the_time_for_which_an_object_waits_suspended_with_another_mode_or_workload_is_no_part_of_a_wait() {
    let dynamic = json!({"federatedHPAAssignmentType": "DynamicWeighted"});
    let central = json!({"mode": "Centralized", "federatedHPAAssignment": null});
    let divided = json!({"mode": "Distributed", "federatedHPAAssignment": dynamic, "suspend": false});
    let other = |name: &str, suspend: bool| json!({"scaleTargetRef": {"name": name}, "suspend": suspend});
    for (edit, back) in [
        (other("wbe", true), other("web", false)),
        (central.clone(), divided),
        // It stays Centralized.
        (central, json!({"suspend": false})),
    ] {
        let (stage, _one) = uneven(30, json!({})).await;
        for member in OTHERS {
            stage.fleet.hold_pods(member, true).unwrap();
        }
        without_the_first(&stage).await;
        stage.pass(30).await;
        stage.patch("FederatedHPA", "web", json!({"spec": edit})).await;
        stage.patch("FederatedHPA", "web", json!({"spec": {"suspend": true}})).await;
        stage.pass(900).await;
        stage.patch("FederatedHPA", "web", json!({"spec": back})).await;
        stage.pass(240).await;
        let messages = stage.messages().await;
        assert!(stage.entries().await.contains("member1=10"), "{back}: {messages:?}");
        assert!(!stage.bounds().await.starts_with("- "), "{back}: {} {messages:?}", stage.bounds().await);
        for member in OTHERS {
            stage.fleet.hold_pods(member, false).unwrap();
        }
        assert_eq!(least(&stage, &ALL, 120).await, 15, "{back}: {:?}", stage.messages().await);
        assert!(!stage.entries().await.contains("member1"), "{back}: {}", stage.entries().await);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_cluster_ran_that_hangs_for_too_long_runs_elsewhere_also_when_it_is_back() {
    let (stage, one) = uneven(30, json!({})).await;
    stage.budget.give_up("member1", true);
    stage.fleet.fail("member1", true).unwrap();
    let mut waited = 0;
    while stage.entries().await.contains("member1") {
        stage.pass(1).await;
        waited += 1;
        assert!(waited < 400, "{:?}", stage.messages().await);
    }
    assert!(waited > 300, "it is waited for: {waited}");
    stage.pass(10).await;
    assert_eq!(stage.warnings("ReplicasMissing").await, 1);
    assert_eq!(ready(&stage, &OTHERS).await, 15, "{:?}", stage.messages().await);
    assert_eq!(least(&stage, &OTHERS, 300).await, 15);
    stage.fleet.fail("member1", false).unwrap();
    assert_eq!(least(&stage, &OTHERS, 900).await, 15);
    assert!(stage.entries().await.contains("member1"), "{}", stage.entries().await);
    counts(&one, 1, 1);
}

#[tokio::test(start_paused = true)]
async fn what_karmadas_own_failover_takes_away_runs_elsewhere_and_stays_out_for_longer_each_time() {
    let (stage, _one) = uneven(30, json!({})).await;
    // The second time the others still hold what they ran in its place. Karmada before 1.15 calls the mode "Graciously".
    for (out, all, mode) in [(300, 15, "Gracefully"), (600, 17, "Graciously")] {
        let now = (stage.wall.clock())();
        let entries = json!([{"name": "member2", "replicas": 3}, {"name": "member3", "replicas": 2}]);
        let task = json!({"fromCluster": "member1", "producer": "RBApplicationFailoverController", "replicas": 10,
            "reason": "ApplicationFailure", "purgeMode": mode, "creationTimestamp": format!("{now:.0}")});
        let spec = json!({"spec": {"clusters": entries, "gracefulEvictionTasks": [task]}});
        stage.patch("ResourceBinding", "web-deployment", spec).await;
        stage.pass(20).await;
        assert_eq!(ready(&stage, &OTHERS).await, all, "{:?}", stage.messages().await);
        stage.pass(out - 100).await;
        assert!(!stage.entries().await.contains("member1"), "{}", stage.entries().await);
        stage.pass(120).await;
        assert!(stage.entries().await.contains("member1"), "{:?}", stage.messages().await);
    }
}

/// Four replicas in member1, the first group; the next one is member2.
async fn grouped() -> (Stage, Process) {
    let stage = Stage::new(2).await;
    let group = |name: &str, cluster: &str| json!({"affinityName": name, "clusterNames": [cluster]});
    stage
        .web(
            4,
            json!({"clusterAffinities": [group("own", "member1"), group("cloud", "member2")],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}}),
        )
        .await;
    let one = stage.leads_by_room("one").await;
    stage.hpa(4, 12, json!({})).await;
    stage.pass(30).await;
    assert_eq!(stage.entries().await, "member1=4");
    (stage, one)
}

#[tokio::test(start_paused = true)]
async fn the_first_group_of_clusters_is_gone_back_to_when_it_has_been_well() {
    let (stage, _one) = grouped().await;
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(400).await;
    assert_eq!(stage.entries().await, "member2=4", "{:?}", stage.messages().await);
    stage.fleet.fail("member1", false).unwrap();
    stage.pass(250).await;
    assert_eq!(stage.entries().await, "member2=4", "not at once");
    assert_eq!(least(&stage, &["member1", "member2"], 300).await, 4);
    assert_eq!(stage.entries().await, "member1=4", "{:?}", stage.messages().await);
}

/// The affinity group in use, as it is recorded.
async fn group(stage: &Stage) -> Value {
    stage.get("ResourceBinding", "web-deployment").await["status"]["schedulerObservingAffinityName"].clone()
}

#[tokio::test(start_paused = true)]
async fn the_group_in_use_is_recorded_while_an_eviction_waits_also_where_the_first_write_of_it_failed() {
    let (stage, _one) = grouped().await;
    let evicts =
        async || !stage.get("ResourceBinding", "web-deployment").await["spec"]["gracefulEvictionTasks"].is_null();
    stage.fleet.hold_pods("member2", true).unwrap();
    stage.fleet.fail("member1", true).unwrap();
    stage.pass(300).await;
    assert!(!evicts().await);
    let conflict = StatusError::plain(409, "Conflict", "the object has been modified");
    stage.fleet.control().faults().fail(which("patch", "resourcebindings/status"), usize::MAX, conflict);
    stage.pass(60).await;
    assert_eq!((evicts().await, group(&stage).await), (true, json!("own")), "{:?}", stage.messages().await);
    stage.fleet.control().faults().heal();
    stage.pass(60).await;
    assert_eq!((evicts().await, group(&stage).await), (true, json!("cloud")), "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn a_taint_that_comes_and_goes_moves_the_workload_to_the_next_group_and_back_only_once() {
    let (stage, _one) = grouped().await;
    let group = async || group(&stage).await;
    let tainted = json!({"spec": {"taints": [{"key": "maintenance", "effect": "NoExecute"}]}});
    for _ in 0..20 {
        stage.patch_cluster("member1", tainted.clone()).await;
        assert_eq!(least(&stage, &["member1", "member2"], 3).await, 4);
        stage.patch_cluster("member1", json!({"spec": {"taints": []}})).await;
        assert_eq!(least(&stage, &["member1", "member2"], 9).await, 4);
        assert_eq!(group().await, "cloud", "{:?}", stage.messages().await);
    }
    assert_eq!(stage.entries().await, "member2=4", "{:?}", stage.messages().await);
    assert_eq!(least(&stage, &["member1", "member2"], 360).await, 4);
    assert_eq!((group().await, stage.entries().await), (json!("own"), "member1=4".to_owned()));
}
