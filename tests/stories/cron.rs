//! CronFederatedHPA: rules run on time, late if they must, once, and say so.

use serde_json::json;

use super::Stage;

#[tokio::test(start_paused = true)]
async fn a_rule_runs_in_its_second_and_is_recorded_with_two_writes() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([{"name": "up", "schedule": "30 8 * * *", "targetReplicas": 5}])).await;
    let mut one = stage.controller("one");
    one.leads().await;
    stage.until("2026-11-20T08:29:59Z").await;
    assert_eq!(stage.history().await, ["up: next 08:30:00"]);
    stage.server.faults().record();
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    assert_eq!(stage.writes(), ["patch deployments/scale web", "patch cronfederatedhpas/status shop"]);
    assert_eq!(
        stage.events().await,
        ["Normal RuleExecuted: rule \"up\" of 2026-11-20T08:30:00Z: Deployment prod/web set to replicas 5"]
    );
    one.stop().await;
}
