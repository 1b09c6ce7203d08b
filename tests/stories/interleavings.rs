//! In every order of events, each due instant ends as exactly one record. The law itself is proven on the ledger
//! (`cron::ledger`); here it is tested with the whole controller, with fewer cases.

use std::collections::BTreeSet;

use embedded_apiserver::faults::{Moment, Which};
use jiff::{SignedDuration, Timestamp};
use kube::api::{Patch, PatchParams};
use proptest::prelude::*;
use serde_json::json;

use super::cron::{rule, with};
use super::{Process, Stage, at};

#[derive(Clone, Debug)]
enum Event {
    /// Time goes by.
    Pass(u64),
    /// The controller is killed, and another one comes after a while.
    Kill(u64),
    /// It is killed at a request of a run, after or before that was done.
    KillAt(bool, &'static str),
    /// The API server is down for a while.
    Down(u64),
    /// The other rule is edited.
    Edit(&'static str),
    /// The target cannot be written for a while.
    Refuse(u64),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (1_u64..400).prop_map(Event::Pass),
        1 => (0_u64..700).prop_map(Event::Kill),
        2 => (any::<bool>(), prop::sample::select(vec!["deployments/scale", "cronfederatedhpas/status"]))
            .prop_map(|(done, resource)| Event::KillAt(done, resource)),
        1 => (1_u64..120).prop_map(Event::Down),
        1 => prop::sample::select(vec!["*/7 * * * *", "3-59/4 * * * *"]).prop_map(Event::Edit),
        1 => (1_u64..400).prop_map(Event::Refuse),
    ]
}

const START: &str = "2026-11-20T08:01:00Z";

async fn story(events: &[Event]) -> Result<(), TestCaseError> {
    let stage = Stage::with_web(START).await;
    let limits = || json!({"successfulHistoryLimit": 32, "failedHistoryLimit": 32});
    let rules = |schedule: &str| {
        json!([with(rule("five", "*/5 * * * *", 5), limits()), with(rule("other", schedule, 6), limits())])
    };
    stage.cron(rules("*/7 * * * *")).await;
    let mut count = 0;
    let mut next = |stage: &Stage| {
        count += 1;
        stage.controller(&format!("c{count}"))
    };
    let mut running: Process = next(&stage);
    running.leads().await;
    stage.pass(2).await;
    for event in events {
        match event {
            Event::Pass(seconds) => stage.pass(*seconds).await,
            Event::Kill(seconds) => {
                running.kill().await;
                stage.pass(*seconds).await;
                running = next(&stage);
            }
            Event::KillAt(done, resource) => {
                let which = Which { verb: "patch".into(), resource: (*resource).into(), name: String::new() };
                let moment = if *done { Moment::Answered } else { Moment::Arriving };
                let mut held = stage.server.faults().hold(which, moment);
                held.reached().await;
                running.kill().await;
                drop(held);
                running = next(&stage);
            }
            Event::Down(seconds) => {
                stage.down();
                stage.pass(*seconds).await;
                stage.up();
            }
            Event::Edit(schedule) => {
                let edit = json!({"spec": {"rules": rules(schedule)}});
                stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap();
            }
            Event::Refuse(seconds) => {
                let which = Which { verb: "patch".into(), resource: "deployments/scale".into(), name: String::new() };
                let refusal = embedded_apiserver::status::StatusError::plain(403, "Forbidden", "frozen");
                stage.server.faults().fail(which, usize::MAX, refusal);
                stage.pass(*seconds).await;
                stage.up();
            }
        }
    }
    // Time for the next leader, and for a retry after the longest wait.
    stage.pass(90).await;
    check(&stage).await?;
    running.kill().await;
    Ok(())
}

async fn check(stage: &Stage) -> Result<(), TestCaseError> {
    let status = stage.crons().get("shop").await.unwrap().status.unwrap();
    let now = stage.wall.now();
    for history in status.execution_histories.unwrap() {
        let executed = history.successful_executions.iter().flatten().map(|run| &run.schedule_time);
        let failed = history.failed_executions.iter().flatten().map(|run| &run.schedule_time);
        let instants: Vec<Timestamp> = executed.chain(failed).map(|time| time.as_ref().unwrap().0).collect();
        let unique: BTreeSet<Timestamp> = instants.iter().copied().collect();
        prop_assert_eq!(unique.len(), instants.len(), "{} has two records of one instant", &history.rule_name);
        if history.rule_name != "five" {
            continue;
        }
        let mut due = at("2026-11-20T08:05:00Z");
        let mut owed = Vec::new();
        while due + SignedDuration::from_secs(80) < now {
            owed.push(due);
            due += SignedDuration::from_mins(5);
        }
        for instant in owed.iter().rev().take(32) {
            prop_assert!(unique.contains(instant), "{instant} has no record at {now}: {instants:?}");
        }
    }
    Ok(())
}

#[test]
fn every_due_instant_ends_as_exactly_one_record_in_the_whole_controller() {
    let config =
        ProptestConfig { cases: 16, failure_persistence: None, max_shrink_iters: 64, ..ProptestConfig::default() };
    proptest!(config, |(events in prop::collection::vec(event(), 1..8))| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(story(&events))?;
    });
}
