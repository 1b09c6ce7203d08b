//! What fails for a part of a workload holds back nothing else: its template, or one cluster.

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use serde_json::json;

use super::edits::running;
use super::{Stage, plan, weights};

fn which(verb: &str, resource: &str) -> Which {
    Which { verb: verb.into(), resource: resource.into(), name: String::new() }
}

fn unconverted() -> StatusError {
    StatusError::plain(500, "InternalError", "conversion webhook for apps/v1, Kind=Deployment failed")
}

#[tokio::test(start_paused = true)]
async fn a_template_that_cannot_be_read_keeps_a_new_leader_from_no_failover() {
    let (stage, one) = running().await;
    let mut two = stage.controller("two");
    let faults = stage.fleet.control().faults();
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    one.stop().await;
    two.leads().await;
    stage.budget.most();
    stage.budget.give_up("member3", true);
    stage.fleet.fail("member3", true).unwrap();
    stage.pass(420).await;
    assert_eq!(stage.bounds().await, "1..3 2..7 1..5", "{:?}", stage.messages().await);
    assert_eq!(stage.entries().await, "member1=1 member2=2");
    assert_eq!(stage.conditions().await, ["Assigned=True Assigned", "Ready=False Unreachable"]);
    assert!(stage.budget.most() <= 10, "{}", stage.budget.history());
    faults.heal();
    stage.pass(30).await;
    assert_eq!(stage.conditions().await[1], "Ready=False MembersUnreachable", "{:?}", stage.messages().await);
    two.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_workload_whose_label_was_refused_from_the_beginning_is_not_scaled() {
    let stage = Stage::with(plan(2)).await;
    stage.web(2, weights(&[1, 1])).await;
    let mut one = stage.controller("one");
    one.leads().await;
    let faults = stage.fleet.control().faults();
    faults.fail(which("get", "deployments"), usize::MAX, unconverted());
    stage.hpa(2, 10, json!({})).await;
    stage.pass(120).await;
    assert_eq!((stage.bounds().await, stage.entries().await), ("- -".into(), "member1=1 member2=1".into()));
    assert_eq!(stage.conditions().await[1], "Ready=False Unreachable", "{:?}", stage.messages().await);
    faults.heal();
    stage.pass(30).await;
    assert_eq!(stage.bounds().await, "1..5 1..5", "{:?}", stage.messages().await);
    one.stop().await;
}
