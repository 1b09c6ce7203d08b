//! Stories of a FederatedHPA in Centralized mode on the embedded Karmada with its members, in virtual time.

mod adapter;
mod ambiguous;
mod evictions;
mod faults;
mod halted;
mod modes;
mod recorded;
mod scalers;
mod zero;

use fhpa::playground::json::{int, items, text};
use serde_json::{Value, json};

use super::Process;
use super::distributed::{Stage, kind, weights};

/// Members with equal weights and 3 replicas of `web`. Each pod requests 100m, and its target is 50m.
async fn running(clusters: u32, more: Value) -> (Stage, Process) {
    let stage = Stage::new(clusters).await;
    stage.web(3, weights(&vec![1; usize::try_from(clusters).unwrap()])).await;
    let one = stage.leads("one").await;
    stage.load(150).await;
    let mut spec = json!({"mode": "Centralized"});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    stage.hpa(1, 20, spec).await;
    stage.pass(40).await;
    assert_eq!(stage.scale().await, 3, "{:?}", stage.messages().await);
    (stage, one)
}

impl Stage {
    /// Sets the load of `web` in millicores.
    async fn load(&self, millicores: i64) {
        self.fleet.load().set("prod", "web", millicores);
    }

    /// Requested replicas of the user's Deployment.
    pub async fn scale(&self) -> i32 {
        int(&self.get("Deployment", "web").await, "/spec/replicas").unwrap_or_default().try_into().unwrap()
    }

    /// Advances the time until the Deployment requests this many replicas.
    async fn until_scale(&self, replicas: i32, most: u64) -> u64 {
        for seconds in 0..=most {
            if self.scale().await == replicas {
                return seconds;
            }
            self.pass(1).await;
        }
        panic!("{} replicas after {most} s: {:?}", self.scale().await, self.messages().await);
    }

    pub async fn condition(&self, type_: &str) -> (String, String) {
        let hpa = self.get("FederatedHPA", "web").await;
        let found = items(&hpa, "/status/conditions").iter().find(|one| text(one, "/type") == type_);
        let found = found.unwrap_or_else(|| panic!("no {type_}: {hpa}"));
        (format!("{} {}", text(found, "/status"), text(found, "/reason")), text(found, "/message").to_owned())
    }

    async fn notes(&self, reason: &str) -> Vec<String> {
        let events = self.control.list(&kind("Event"), "prod").await.unwrap();
        let told = events.iter().filter(|event| text(event, "/reason") == reason);
        told.map(|event| text(event, "/note").to_owned()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn the_load_of_all_clusters_decides_and_karmada_spreads_what_it_needs() {
    let (stage, _one) = running(3, json!({})).await;
    stage.load(500).await;
    let seconds = stage.until_scale(10, 90).await;
    assert!(seconds <= 60, "{seconds} s from the load to the replicas");
    stage.pass(60).await;
    assert_eq!(stage.scale().await, 10, "{:?}", stage.messages().await);
    assert_eq!(stage.replicas().await, "4 3 3");
    let hpa = stage.get("FederatedHPA", "web").await;
    let status = |path: &str| hpa.pointer(&format!("/status/{path}")).cloned().unwrap_or_default();
    assert_eq!((status("currentReplicas"), status("desiredReplicas")), (json!(10), json!(10)));
    assert_eq!(
        status("currentMetrics"),
        json!([{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 50, "averageValue": "50m"}}}])
    );
    assert!(status("lastScaleTime").is_string());
    assert_eq!(
        stage.all_conditions().await,
        [
            "AbleToScale=True ReadyForNewScale",
            "ScalingActive=True ValidMetricFound",
            "ScalingLimited=False DesiredWithinRange",
            "Ready=True TargetReady"
        ]
    );
    let reason = "cpu resource utilization (percentage of request) above target";
    let notes = stage.notes("SuccessfulRescale").await;
    assert!(notes.iter().any(|note| note.ends_with(reason)), "{notes:?}");
    assert!(!stage.suspended().await, "karmada-scheduler stays in charge");
    for cluster in ["member1", "member2", "member3"] {
        assert_eq!(stage.member(cluster, "HorizontalPodAutoscaler", "web").await, None);
    }
    // The replicas fall when the window is over, and not before.
    stage.load(200).await;
    stage.pass(240).await;
    assert_eq!(stage.scale().await, 10);
    assert_eq!(stage.condition("AbleToScale").await.0, "True ScaleDownStabilized");
    stage.until_scale(4, 120).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_without_metrics_keeps_the_replicas_from_falling_and_not_from_rising() {
    let (stage, _one) = running(3, json!({})).await;
    stage.load(450).await;
    stage.until_scale(9, 90).await;
    stage.pass(60).await;
    stage.fleet.lose_metrics("member2", true).unwrap();
    stage.load(90).await;
    for _ in 0..60 {
        stage.pass(15).await;
        assert_eq!(stage.scale().await, 9, "{:?}", stage.messages().await);
    }
    let (said, message) = stage.condition("ScalingActive").await;
    assert_eq!(said, "True PartialMetrics");
    assert!(message.contains("member2 (") && message.contains("replicas are not reduced"), "{message}");
    // Load in the other clusters is served meanwhile: 6 of 9 pods at 100m count as 9.
    stage.load(900).await;
    stage.pass(45).await;
    assert!(stage.scale().await > 9, "{:?}", stage.messages().await);
    stage.load(90).await;
    stage.pass(60).await;
    let before = stage.scale().await;
    stage.fleet.lose_metrics("member2", false).unwrap();
    stage.pass(30).await;
    assert_eq!(stage.condition("ScalingActive").await.0, "True ValidMetricFound", "the first good answer is taken");
    assert_eq!(stage.scale().await, before, "what was not known counts as much as what was: the window begins now");
    stage.until_scale(2, 600).await;
}

#[tokio::test(start_paused = true)]
async fn without_any_metrics_nothing_is_written() {
    let (stage, _one) = running(2, json!({})).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.lose_metrics(cluster, true).unwrap();
    }
    stage.load(1).await;
    stage.pass(900).await;
    assert_eq!(stage.scale().await, 3);
    let (said, message) = stage.condition("ScalingActive").await;
    assert_eq!(said, "False FailedGetResourceMetric");
    assert!(message.contains("unable to handle the request"), "{message}");
    assert_eq!(stage.notes("FailedGetResourceMetric").await.len(), 1, "an outage is told once");
    stage.load(500).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.lose_metrics(cluster, false).unwrap();
    }
    assert!(stage.until_scale(10, 60).await <= 45);
}

#[tokio::test(start_paused = true)]
async fn the_first_low_reading_after_a_long_outage_removes_nothing_at_once() {
    let (stage, _one) = running(2, json!({})).await;
    stage.load(450).await;
    stage.until_scale(9, 90).await;
    for lost in [true, false] {
        for cluster in ["member1", "member2"] {
            stage.fleet.lose_metrics(cluster, lost).unwrap();
        }
        stage.load(90).await;
        stage.pass(if lost { 900 } else { 240 }).await;
        assert_eq!(stage.scale().await, 9, "{:?}", stage.messages().await);
    }
    assert_eq!(stage.condition("AbleToScale").await.0, "True ScaleDownStabilized");
    stage.until_scale(2, 120).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_not_ready_counts_with_the_pods_that_it_was_given() {
    let (stage, _one) = running(3, json!({})).await;
    stage.load(450).await;
    stage.until_scale(9, 90).await;
    stage.pass(60).await;
    stage.fleet.fail("member3", true).unwrap();
    for _ in 0..60 {
        stage.pass(5).await;
        assert!(stage.scale().await >= 9, "{:?}", stage.messages().await);
    }
    let (said, message) = stage.condition("ScalingActive").await;
    assert_eq!(said, "True PartialMetrics", "{message}");
    assert!(message.contains("member3 ("), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_begins_with_the_replicas_that_it_finds() {
    let (stage, one) = running(2, json!({})).await;
    stage.load(500).await;
    stage.until_scale(10, 90).await;
    stage.pass(60).await;
    stage.load(100).await;
    stage.pass(30).await;
    one.kill().await;
    let _two = stage.leads("two").await;
    stage.pass(240).await;
    assert_eq!(stage.scale().await, 10, "the window of the new leader begins with what it found");
    stage.until_scale(2, 120).await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_that_the_user_sent_to_zero_is_left_there() {
    let (stage, _one) = running(2, json!({})).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 0}})).await;
    stage.load(500).await;
    stage.pass(120).await;
    assert_eq!(stage.scale().await, 0);
    assert_eq!(stage.condition("ScalingActive").await.0, "False ScalingDisabled");
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 1}})).await;
    stage.until_scale(10, 120).await;
}

#[tokio::test(start_paused = true)]
async fn bounds_hold_whatever_the_metrics_say() {
    let (stage, _one) = running(2, json!({})).await;
    stage.patch("FederatedHPA", "web", json!({"spec": {"minReplicas": 6}})).await;
    assert!(stage.until_scale(6, 20).await <= 15);
    stage.patch("FederatedHPA", "web", json!({"spec": {"minReplicas": 1, "maxReplicas": 2}})).await;
    assert!(stage.until_scale(2, 20).await <= 15);
}

#[tokio::test(start_paused = true)]
async fn a_duplicated_workload_has_as_many_replicas_in_each_cluster_as_it_asks_for() {
    let stage = Stage::new(2).await;
    stage.web(2, json!({})).await;
    let _one = stage.leads("one").await;
    stage.load(400).await;
    stage.hpa(1, 20, json!({"mode": "Centralized"})).await;
    stage.until_scale(4, 120).await;
    stage.pass(120).await;
    assert_eq!((stage.scale().await, stage.replicas().await.as_str()), (4, "4 4"));
}

#[tokio::test(start_paused = true)]
async fn requests_do_not_grow_with_the_objects_of_a_namespace() {
    let (stage, _one) = running(2, json!({})).await;
    let lists = || {
        let seen = stage.fleet.control().faults().recorded();
        seen.iter().filter(|seen| seen.resource.contains("proxy")).count()
    };
    stage.fleet.control().faults().record();
    stage.pass(60).await;
    let alone = lists();
    for number in 0..10 {
        let name = format!("web{number}");
        let mut workload = super::distributed::deployment(&name, 1);
        workload["metadata"]["name"] = json!(name);
        stage.create(workload).await;
        let mut hpa = super::distributed::hpa(1, 10, json!({"mode": "Centralized"}));
        hpa["metadata"]["name"] = json!(name);
        hpa["spec"]["scaleTargetRef"]["name"] = json!(name);
        stage.create(hpa).await;
    }
    stage.pass(60).await;
    stage.fleet.control().faults().record();
    stage.pass(60).await;
    let many = lists();
    assert!(
        alone > 0 && many <= alone + 4,
        "{alone} requests to members in a minute for one object, {many} for eleven"
    );
}
