//! Several CronFederatedHPAs on one target: late runs have the same final result as runs on time.

use std::sync::Arc;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::cron::{rule, with};
use super::{Process, Stage, federated_web};
use crate::histories::flaky::Way;

fn web() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"})
}

/// What a run of `object` says that supersedes another one.
fn superseded(rule: &str, object: &str, due: &str) -> String {
    format!(
        "superseded: rule \"{rule}\" of CronFederatedHPA prod/{object} sets the same target, and was due later, at \
         2026-11-20T{due}Z"
    )
}

/// A stage with objects that a controller knew, and whose runs are due since.
async fn down_over(objects: &[(&str, Value, Value)]) -> Stage {
    let stage = Stage::with_web("2026-11-20T07:49:00Z").await;
    stage.federated_hpa(Some(1), 20).await;
    for (name, target, rules) in objects {
        stage.cron_on(name, target.clone(), rules.clone()).await;
    }
    let one = stage.leads("one").await;
    stage.pass(5).await;
    one.stop().await;
    stage
}

#[tokio::test(start_paused = true)]
async fn late_runs_of_two_objects_end_with_the_later_one_whatever_their_names() {
    for (early, late) in [("a", "b"), ("b", "a")] {
        let morning = json!([rule("up", "0 8 * * *", 10)]);
        let after = json!([rule("down", "30 8 * * *", 5)]);
        let stage = down_over(&[(early, web(), morning), (late, web(), after)]).await;
        stage.until("2026-11-20T09:00:00Z").await;
        stage.server.faults().record();
        let two = stage.leads("two").await;
        stage.pass(5).await;
        assert_eq!(stage.replicas("web").await, 5);
        assert_eq!(stage.history_of(late).await, ["down: next 2026-11-21T08:30:00 | 08:30:00 executed 09:00:00"]);
        let history = stage.history_of(early).await;
        let scaled = stage.writes().into_iter().filter(|write| write.contains("scale")).count();
        // The queue has the objects by name.
        if early == "a" {
            assert_eq!(history, ["up: next 2026-11-21T08:00:00 | 08:00:00 executed 09:00:00"]);
            assert_eq!(scaled, 2, "{:?}", stage.writes());
        } else {
            let why = superseded("down", late, "08:30:00");
            assert_eq!(history, [format!("up: next 2026-11-21T08:00:00 | 08:00:00 failed 09:00:00: {why}")]);
            assert_eq!(scaled, 1, "{:?}", stage.writes());
            let told = format!("Normal RuleSuperseded: rule \"up\" of 2026-11-20T08:00:00Z: {why}");
            assert!(stage.events().await.contains(&told), "{:?}", stage.events().await);
            assert!(two.metrics.text().contains(r#"fhpa_cron_executions_total{result="superseded"} 1"#));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_run_is_not_told_as_executed_when_a_later_one_of_its_object_sets_the_same() {
    let stage = Stage::with_web("2026-11-20T07:59:00Z").await;
    stage.federated_hpa(Some(13), 20).await;
    let rules = json!([
        {"name": "down", "schedule": "0 8 * * *", "targetMaxReplicas": 12},
        {"name": "up", "schedule": "2 8 * * *", "targetMinReplicas": 13, "targetMaxReplicas": 18},
    ]);
    stage.cron_on("shop", federated_web(), rules).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:05:00Z").await;
    let history = stage.history_of("shop").await;
    let why = superseded("up", "shop", "08:02:00");
    assert!(history[0].contains(&format!("08:00:00 failed 08:02:00: {why}")), "{history:?}");
    assert!(history[1].contains("08:02:00 executed 08:02:00"), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_late_run_stands_where_the_later_one_of_its_object_is_refused() {
    let stage = Stage::with_web("2026-11-20T07:49:00Z").await;
    stage.federated_hpa(Some(3), 10).await;
    let rules = json!([
        {"name": "down", "schedule": "0 8 * * *", "targetMaxReplicas": 5},
        {"name": "more", "schedule": "30 8 * * *", "targetMaxReplicas": 2},
    ]);
    stage.cron_on("shop", federated_web(), rules).await;
    let one = stage.leads("one").await;
    stage.pass(5).await;
    one.stop().await;
    stage.until("2026-11-20T09:00:00Z").await;
    let _two = stage.leads("two").await;
    stage.pass(5).await;
    assert_eq!(stage.hpas().get("web").await.unwrap().spec.max_replicas, 5);
    let history = stage.history_of("shop").await;
    assert!(history[0].contains("08:00:00 executed 09:00:00"), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_tried_again_does_not_undo_a_later_one_of_another_object() {
    let stage = Stage::at("2026-11-20T07:59:00Z").await;
    stage.cron_on("b", web(), json!([rule("up", "0 8 * * *", 10)])).await;
    stage.cron_on("a", web(), json!([rule("down", "2 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:02:20Z").await;
    stage.deployment("web", 2).await;
    stage.until("2026-11-20T08:12:00Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    let history = stage.history_of("b").await;
    assert!(history[0].contains(&superseded("down", "a", "08:02:00")), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_watch_is_behind_does_not_undo_what_its_predecessor_executed_for_another_object() {
    for (early, late) in [("a", "b"), ("b", "a")] {
        let stage = Stage::with_web("2026-11-20T07:59:00Z").await;
        stage.cron_on(early, web(), json!([rule("up", "0 8 * * *", 10)])).await;
        stage.cron_on(late, web(), json!([rule("down", "2 8 * * *", 5)])).await;
        let one = stage.leads("one").await;
        let way = Way::default();
        let mut two = Process::start_over(way.over(stage.server.client()), "two", &stage.wall, Arc::new(Unknown));
        let which = Which { verb: "patch".into(), resource: "deployments/scale".into(), name: String::new() };
        let refused = StatusError::plain(403, "Forbidden", "no change before two minutes past");
        let tries = stage.server.faults().count("patch", "deployments/scale");
        stage.server.faults().fail(which, usize::MAX, refused);
        stage.until("2026-11-20T08:01:50Z").await;
        assert!(stage.server.faults().count("patch", "deployments/scale") > tries, "the earlier run is refused");
        way.stale(Some(""));
        stage.until("2026-11-20T08:01:59Z").await;
        stage.server.faults().heal();
        stage.until("2026-11-20T08:02:01Z").await;
        assert_eq!(stage.history_of(early).await, ["up: next 08:00:00"]);
        assert_eq!(stage.history_of(late).await, ["down: next 2026-11-21T08:02:00 | 08:02:00 executed 08:02:00"]);
        one.kill().await;
        two.leads().await;
        stage.pass(30).await;
        assert_eq!(stage.replicas("web").await, 5);
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_later_run_leaves_alone_is_still_set_and_recorded_as_such() {
    let both = json!([{"name": "both", "schedule": "0 8 * * *", "targetMinReplicas": 3, "targetMaxReplicas": 30}]);
    let max = json!([{"name": "max", "schedule": "30 8 * * *", "targetMaxReplicas": 40}]);
    let stage = down_over(&[("z", federated_web(), both), ("a", federated_web(), max)]).await;
    stage.until("2026-11-20T09:00:00Z").await;
    let _two = stage.leads("two").await;
    stage.pass(5).await;
    let hpa = stage.hpas().get("web").await.unwrap();
    assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (Some(3), 40));
    let status = stage.crons().get("z").await.unwrap().status.unwrap();
    let run = status.execution_histories.unwrap().remove(0).successful_executions.unwrap().remove(0);
    assert_eq!((run.applied_min_replicas, run.applied_max_replicas), (Some(3), None));
}

#[tokio::test(start_paused = true)]
async fn what_an_object_executed_on_another_target_supersedes_nothing() {
    let stage = Stage::with_web("2026-11-20T07:59:50Z").await;
    stage.deployment("other", 1).await;
    let other = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"});
    let missing = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "missing"});
    stage.cron_on("early", missing.clone(), json!([rule("up", "0 8 * * *", 10)])).await;
    stage.cron_on("late", other, json!([rule("down", "2 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:03:00Z").await;
    assert_eq!(stage.replicas("other").await, 5);
    let target = json!({"spec": {"scaleTargetRef": missing}});
    stage.crons().patch("late", &PatchParams::default(), &Patch::Merge(&target)).await.unwrap();
    let deployment = crate::bed::objects::deployment("missing", 1);
    stage.server.create(&deployment).await.unwrap();
    stage.until("2026-11-20T08:13:00Z").await;
    assert_eq!(stage.replicas("missing").await, 10);
}

/// A rule that sets a max of the FederatedHPA.
fn max(name: &str, schedule: &str, max: i32) -> Value {
    json!({"name": name, "schedule": schedule, "targetMaxReplicas": max})
}

#[tokio::test(start_paused = true)]
async fn a_late_run_stands_where_the_later_one_of_another_object_is_refused() {
    for (early, late) in [("a", "b"), ("b", "a")] {
        let down = json!([max("down", "0 8 * * *", 5)]);
        let more = json!([with(max("more", "30 8 * * *", 2), json!({"maxDelaySeconds": 1860}))]);
        let stage = down_over(&[(early, federated_web(), down), (late, federated_web(), more)]).await;
        let min = json!({"spec": {"minReplicas": 3}});
        stage.hpas().patch("web", &PatchParams::default(), &Patch::Merge(&min)).await.unwrap();
        stage.until("2026-11-20T09:00:00Z").await;
        let _two = stage.leads("two").await;
        stage.until("2026-11-20T09:00:05Z").await;
        assert_eq!(stage.hpas().get("web").await.unwrap().spec.max_replicas, 5);
        assert_eq!(stage.history_of(early).await, ["down: next 2026-11-21T08:00:00 | 08:00:00 executed 09:00:00"]);
        assert_eq!(stage.history_of(late).await, ["more: next 08:30:00"]);
        stage.until("2026-11-20T09:01:05Z").await;
        let history = stage.history_of(late).await;
        let failed = "08:30:00 failed 09:01:00: not executed, later than maxDelaySeconds (1860); last error: \
                      targetMaxReplicas 2 of the rule is below the present minReplicas 3";
        assert!(history[0].contains(failed), "{history:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_the_runs_before_a_refused_one_the_newest_stands() {
    for [first, second, third] in [["a", "b", "c"], ["b", "c", "a"], ["c", "b", "a"]] {
        let objects = [(first, max("first", "0 8 * * *", 8)), (second, max("second", "10 8 * * *", 6))];
        let refused = (third, max("third", "30 8 * * *", 2));
        let objects = objects.into_iter().chain([refused]);
        let objects: Vec<_> = objects.map(|(name, rule)| (name, federated_web(), json!([rule]))).collect();
        let stage = down_over(&objects).await;
        let min = json!({"spec": {"minReplicas": 3}});
        stage.hpas().patch("web", &PatchParams::default(), &Patch::Merge(&min)).await.unwrap();
        stage.until("2026-11-20T09:00:00Z").await;
        let _two = stage.leads("two").await;
        stage.pass(5).await;
        assert_eq!(stage.hpas().get("web").await.unwrap().spec.max_replicas, 6);
        let history = stage.history_of(first).await;
        // The queue has the objects by name.
        let told =
            if first < second { "executed 09:00:0".to_owned() } else { superseded("second", second, "08:10:00") };
        assert!(history[0].contains(&told), "{history:?}");
        let history = stage.history_of(second).await;
        assert!(history[0].contains("08:10:00 executed 09:00:0"), "{history:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_run_stands_until_the_api_server_accepts_the_later_one_of_another_object() {
    // The later one is first in the queue, and refused.
    let (early, late) = ("b", "a");
    let (up, down) = (json!([rule("up", "0 8 * * *", 10)]), json!([rule("down", "30 8 * * *", 5)]));
    let stage = down_over(&[(early, web(), up), (late, web(), down)]).await;
    stage.until("2026-11-20T09:00:00Z").await;
    let which = Which { verb: "patch".into(), resource: "deployments/scale".into(), name: String::new() };
    stage.server.faults().fail(which, 1, StatusError::plain(403, "Forbidden", "no change at the full hour"));
    let _two = stage.leads("two").await;
    stage.until("2026-11-20T09:00:01Z").await;
    assert_eq!(stage.replicas("web").await, 10);
    stage.until("2026-11-20T09:00:10Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    let history = stage.history_of(early).await;
    assert!(history[0].contains("08:00:00 executed 09:00:00"), "{history:?}");
    let history = stage.history_of(late).await;
    assert!(history[0].contains("08:30:00 executed 09:00:0"), "{history:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_of_an_object_that_is_deleted_counts_no_more() {
    let stage = Stage::at("2026-11-20T07:59:00Z").await;
    stage.cron_on("early", web(), json!([rule("up", "0 8 * * *", 10)])).await;
    stage.cron_on("late", web(), json!([rule("down", "2 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:04:00Z").await;
    stage.crons().delete("late", &Default::default()).await.unwrap();
    stage.deployment("web", 2).await;
    stage.until("2026-11-20T08:05:00Z").await;
    assert_eq!(stage.replicas("web").await, 10);
}
