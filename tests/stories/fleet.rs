//! Many objects with rules that are due in the same minute.

use std::collections::BTreeMap;

use kube::api::ListParams;
use serde_json::json;

use super::Stage;
use super::cron::rule;

const OBJECTS: usize = 100;

#[tokio::test(start_paused = true)]
async fn five_rules_of_each_of_many_objects_cost_two_writes_and_one_event() {
    let stage = Stage::at("2026-11-20T08:58:00Z").await;
    let names: Vec<String> = (0..OBJECTS).map(|index| format!("shop-{index}")).collect();
    for name in &names {
        stage.deployment(name, 99).await;
        let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
        let rules: Vec<_> = (1..=5).map(|index| rule(&format!("rule-{index}"), "0 9 * * *", index)).collect();
        stage.cron_on(name, target, rules.into()).await;
    }
    let mut one = stage.controller("one");
    one.leads().await;
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
    one.stop().await;
}
