//! The control plane is restored from a backup: the versions of its objects are smaller than earlier ones.

use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::Stage;
use super::cron::rule;

/// Goes back to a backup, after changes that are lost, and runs a rule afterwards.
async fn restored(bump: bool) {
    let stage = Stage::with_web("2026-11-20T08:00:00Z").await;
    stage.cron(json!([rule("up", "*/5 * * * *", 5)])).await;
    let one = stage.leads("one").await;
    let mut two = stage.controller("two");
    stage.pass(5).await;
    let backup = stage.server.backup();
    for replicas in 6..14 {
        let rules = json!({"spec": {"rules": [rule("up", "*/5 * * * *", replicas)]}});
        stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&rules)).await.unwrap();
        stage.pass(5).await;
    }
    stage.server.restore(&backup, bump);
    stage.until("2026-11-20T08:05:30Z").await;
    assert_eq!(stage.replicas("web").await, 5, "bump: {bump}");
    assert_eq!(stage.history().await, ["up: next 08:10:00 | 08:05:00 executed 08:05:00"]);
    // Who stood by saw it, too.
    one.stop().await;
    two.leads().await;
    stage.until("2026-11-20T08:10:30Z").await;
    assert_eq!(stage.history().await[0].matches(" executed ").count(), 2, "{:?}", stage.history().await);
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_lets_the_versions_go_back_does_not_stop_the_rules() {
    restored(false).await;
}

#[tokio::test(start_paused = true)]
async fn a_restore_that_lets_the_versions_of_objects_go_back_does_not_stop_the_rules() {
    restored(true).await;
}
