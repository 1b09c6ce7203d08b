//! Many objects with rules that are due in the same minute.

use std::collections::BTreeMap;

use embedded_apiserver::faults::{Moment, Which};
use kube::api::ListParams;
use serde_json::json;

use super::Stage;
use super::cron::rule;

const OBJECTS: usize = 100;

fn names() -> Vec<String> {
    (0..OBJECTS).map(|index| format!("shop-{index}")).collect()
}

/// Many objects with five rules each that are due at nine.
async fn many() -> Stage {
    let stage = Stage::at("2026-11-20T08:58:00Z").await;
    for name in names() {
        stage.deployment(&name, 99).await;
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let rules: Vec<_> = (1..=5).map(|index| rule(&format!("rule-{index}"), "0 9 * * *", index)).collect();
        stage.cron_on(&name, target, rules.into()).await;
    }
    stage
}

/// Objects whose runs of nine are recorded.
async fn recorded(stage: &Stage) -> usize {
    let all = stage.crons().list(&ListParams::default()).await.unwrap().items;
    let last = |cron: &fhpa::api::CronFederatedHPA| cron.status.clone().unwrap_or_default().last_execution_time;
    all.iter().filter(|cron| last(cron).is_some()).count()
}

fn target(name: &str) -> Which {
    Which { verb: "patch".into(), resource: "deployments/scale".into(), name: name.into() }
}

#[tokio::test(start_paused = true)]
async fn five_rules_of_each_of_many_objects_cost_two_writes_and_one_event() {
    let (stage, names) = (many().await, names());
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:59:59Z").await;
    stage.server.faults().record();
    stage.until("2026-11-20T09:00:30Z").await;
    let mut writes: BTreeMap<String, usize> = BTreeMap::new();
    for write in stage.writes() {
        *writes.entry(write).or_default() += 1;
    }
    let of =
        |name: &String| ["patch deployments/scale", "patch cronfederatedhpas/status"].map(|of| format!("{of} {name}"));
    let expected: BTreeMap<String, usize> = names.iter().flat_map(of).map(|write| (write, 1)).collect();
    assert_eq!(writes, expected);
    assert_eq!(stage.replicas("shop-99").await, 5);
    for cron in stage.crons().list(&ListParams::default()).await.unwrap().items {
        let histories = cron.status.unwrap().execution_histories.unwrap();
        let recorded =
            histories.iter().filter(|history| history.successful_executions.as_ref().map(Vec::len) == Some(1));
        assert_eq!(recorded.count(), 5);
    }
    let events = stage.events().await;
    assert_eq!(events.len(), OBJECTS);
    assert!(events.iter().all(|event| (1..=5).all(|index| event.contains(&format!("rule \"rule-{index}\" of ")))));
    let counted = one.metrics.controller();
    assert_eq!((counted.events_posted.get(), counted.events_dropped.get()), (OBJECTS as u64, 0));
}

/// A record that is lost is made again by the next leader; a target that waits is late.
#[tokio::test(start_paused = true)]
async fn the_targets_of_all_objects_are_written_before_any_record_and_the_events_come_last() {
    let stage = many().await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:59:59Z").await;
    stage.server.faults().record();
    stage.until("2026-11-20T09:00:30Z").await;
    let seen = stage.server.faults().recorded();
    let at = |resource: &str| {
        let found = seen.iter().enumerate().filter(|(_, seen)| seen.verb != "get" && seen.resource == resource);
        found.map(|(at, _)| at).collect::<Vec<_>>()
    };
    let (targets, records, events) = (at("deployments/scale"), at("cronfederatedhpas/status"), at("events"));
    assert_eq!((targets.len(), records.len(), events.len()), (OBJECTS, OBJECTS, OBJECTS));
    assert!(targets[OBJECTS - 1] < records[0], "{targets:?} {records:?}");
    let early = events.iter().filter(|event| **event < records[OBJECTS - 1]).count();
    assert!(early < OBJECTS / 2, "{early} Events before the last record");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_does_not_answer_holds_up_no_record_of_others() {
    let stage = many().await;
    let _one = stage.leads("one").await;
    let held = stage.server.faults().hold(target("shop-7"), Moment::Arriving);
    stage.until("2026-11-20T09:00:03Z").await;
    assert_eq!(recorded(&stage).await, OBJECTS - 1);
    drop(held);
    stage.until("2026-11-20T09:01:00Z").await;
    assert_eq!(recorded(&stage).await, OBJECTS);
}

/// The next leader would set the targets once more, over what users changed meanwhile.
#[tokio::test(start_paused = true)]
async fn a_controller_that_stops_records_first_what_it_executed() {
    let stage = many().await;
    let one = stage.leads("one").await;
    let held = stage.server.faults().hold(target("shop-7"), Moment::Arriving);
    stage.until("2026-11-20T09:00:00.5Z").await;
    assert_eq!(recorded(&stage).await, 0, "records wait a moment for the last target");
    let stopped = tokio::spawn(async move { one.stop().await });
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    drop(held);
    stopped.await.unwrap();
    assert_eq!(recorded(&stage).await, OBJECTS);
}
