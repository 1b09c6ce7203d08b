//! Help that knows whether nodes come, by the Events of the autoscaler of a member.

use embedded_apiserver::status::StatusError;
use fhpa::api::event::Event;
use fhpa::convert::nodes::of_pod;
use fhpa::decision::fleet::nodes::{NodeOutlook, outlook};
use fhpa::playground::fleet::Plan;
use fhpa::playground::json::text;
use fhpa::playground::member::node_events::NodeAutoscaler;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::capacity::node;
use super::{START, Stage, plan, weights};
use crate::stories::{Process, at, which};

/// How long the others wait for nodes, in seconds.
const DELAY: u64 = 600;

/// Two members, 1..4 replicas each, whose pods all need more replicas now; on the node of the first fit two.
async fn narrow(autoscaler: NodeAutoscaler) -> (Stage, Process) {
    let stage = Stage::with(Plan { nodes: 0, ..plan(2) }).await;
    for (cluster, fits) in [("member1", 2), ("member2", 10)] {
        node(&stage, cluster, fits).await;
    }
    stage.fleet.autoscale_nodes("member1", autoscaler).unwrap();
    stage.web(2, weights(&[1, 1])).await;
    let one = stage.leads_by_room("one").await;
    stage.hpa(2, 8, json!({"autoscaleMultiClusterDelay": DELAY})).await;
    stage.pass(20).await;
    assert_eq!(stage.bounds().await, "1..4 1..4");
    stage.budget.most();
    stage.fleet.load().set("prod", "web", 3_000);
    (stage, one)
}

impl Stage {
    /// Seconds until the bounds are these; more than `most` are too many.
    async fn seconds_until(&self, bounds: &str, most: u64) -> u64 {
        for second in 0..most {
            if self.bounds().await == bounds {
                return second;
            }
            self.pass(1).await;
        }
        panic!("{} after {most} s: {:?}", self.bounds().await, self.messages().await);
    }

    /// Waits until the first member has pods that find no node.
    async fn is_full(&self) {
        for _ in 0..90 {
            if self.replicas().await.starts_with('4') {
                return;
            }
            self.pass(1).await;
        }
        panic!("{}", self.replicas().await);
    }

    async fn why_blocked(&self) -> String {
        let hpa = self.get("FederatedHPA", "web").await;
        text(&hpa, "/status/clusterHPADesired/0/scaleUpBlockedReason").to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_nodes_come_help_begins_within_one_period_whatever_the_delay() {
    let (stage, _one) = narrow(NodeAutoscaler::AtLimit).await;
    stage.is_full().await;
    stage.seconds_until("1..2 1..6", 60).await;
    assert_eq!(stage.why_blocked().await, "NoNodesAvailable");
    assert_eq!(stage.all_conditions().await[4], "ScalingLimited=True NoNodesAvailable");
    let says = "in member1: pods find no node, and the autoscaler adds none: \"pod didn't trigger scale-up: 1 max node \
                group size reached\"";
    assert_eq!(stage.messages().await[4], says);
    assert_eq!(stage.budget.most(), 8, "{}", stage.budget.history());
    stage.pass(60).await;
    assert_eq!(stage.replicas().await, "2 6");
    let asked = stage.fleet.control().faults().count("get", "clusters/proxy");
    stage.pass(300).await;
    assert_eq!(stage.fleet.control().faults().count("get", "clusters/proxy"), asked, "no pod waits any more");
}

#[tokio::test(start_paused = true)]
async fn where_nodes_come_help_waits_for_them_up_to_the_delay() {
    let (stage, _one) = narrow(NodeAutoscaler::Grows).await;
    stage.is_full().await;
    let asked = || stage.fleet.control().faults().count("get", "clusters/proxy");
    let before = asked();
    stage.pass(DELAY - 100).await;
    assert_eq!((&*stage.bounds().await, &*stage.why_blocked().await), ("1..4 1..4", "Unschedulable"));
    // Every ten seconds the selector and the pods; every thirty these again, and the Events of two pods.
    let asked = asked() - before;
    assert!((50..=190).contains(&asked), "{asked}");
    let more = stage.seconds_until("1..2 1..6", 160).await;
    assert!(more >= 60, "help began {more} s after the first {}", DELAY - 100);
}

#[tokio::test(start_paused = true)]
async fn pods_that_get_their_nodes_in_time_need_no_help() {
    let (stage, _one) = narrow(NodeAutoscaler::Grows).await;
    stage.is_full().await;
    stage.pass(DELAY / 2).await;
    stage.fleet.change_nodes("member1", 1).await.unwrap();
    stage.pass(DELAY).await;
    assert_eq!((&*stage.bounds().await, &*stage.why_blocked().await), ("1..4 1..4", "TooManyReplicas"));
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_list_events_help_waits_for_the_whole_delay() {
    let (stage, _one) = narrow(NodeAutoscaler::AtLimit).await;
    let said = "events is forbidden: User \"fhpa\" cannot list resource \"events\" in API group \"\"";
    let member = stage.fleet.member("member1").unwrap();
    member.faults().fail(which("list", "events"), usize::MAX, StatusError::plain(403, "Forbidden", said));
    stage.is_full().await;
    stage.pass(DELAY - 100).await;
    assert_eq!((&*stage.bounds().await, &*stage.why_blocked().await), ("1..4 1..4", "Unschedulable"));
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=True MemberHPAsReady"]);
    stage.seconds_until("1..2 1..6", 160).await;
}

#[test]
fn each_event_of_an_autoscaler_means_what_its_source_says() {
    let lines = include_str!("../../fixtures/nodes/events.jsonl").lines();
    let mut seen = 0;
    for line in lines {
        let line: Value = serde_json::from_str(line).unwrap();
        let event: Event = serde_json::from_value(line["event"].clone()).unwrap();
        let means = match outlook(&[of_pod(std::slice::from_ref(&event))], SignedDuration::from_mins(5), at(START)) {
            NodeOutlook::Coming { since } => {
                assert_eq!(since, at(START));
                "coming"
            }
            NodeOutlook::NotComing { message } => {
                assert!(event.message.starts_with(&*message), "{message}");
                "not coming"
            }
            NodeOutlook::Unknown => "nothing",
        };
        assert_eq!(means, line["means"], "{line}");
        seen += 1;
    }
    assert_eq!(seen, 15);
}
