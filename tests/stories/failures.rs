//! Faults during a cron rule, and their handling: crashes, outages, clocks, targets, other writers.

use std::sync::Arc;
use std::time::Duration;

use embedded_apiserver::faults::{Moment, Which};
use embedded_apiserver::status::StatusError;
use fhpa::reconcile::federated_hpa::observe::capacity::Unknown;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use super::cron::{rule, with};
use super::{Process, Stage, at, which};
use crate::histories::flaky::Way;

const DUE: &str = "2026-11-20T08:30:00Z";

/// A controller that leads, a minute before its rule is due.
async fn minute_before() -> (Stage, Process) {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let one = stage.leads("one").await;
    (stage, one)
}

/// The leader is killed in the second a rule is due, at one moment of one of its requests; a standby follows.
async fn killed_at(request: Which, moment: Moment) -> Stage {
    let (stage, one) = minute_before().await;
    let mut two = stage.controller("two");
    stage.until("2026-11-20T08:29:59Z").await;
    let mut held = stage.server.faults().hold(request, moment);
    held.reached().await;
    assert!(stage.wall.now() < at("2026-11-20T08:30:01Z"));
    one.kill().await;
    drop(held);
    two.leads().await;
    stage.pass(2).await;
    assert!(stage.wall.now() < at("2026-11-20T08:30:22Z"), "{}", stage.wall.now());
    two.stop().await;
    stage
}

#[tokio::test(start_paused = true)]
async fn a_leader_killed_at_its_write_or_its_record_is_followed_and_leaves_one_record() {
    let (write, record) = (which("patch", "deployments/scale"), which("patch", "cronfederatedhpas/status"));
    for (killed, request, moment, executed) in [
        ("before its write", write.clone(), Moment::Arriving, "08:30:1"),
        ("after its write", write, Moment::Answered, "08:30:"),
        ("before its record", record.clone(), Moment::Arriving, "08:30:"),
        ("after its record", record, Moment::Answered, "08:30:00"),
    ] {
        let stage = killed_at(request, moment).await;
        assert_eq!(stage.replicas("web").await, 5, "{killed}");
        let history = stage.history().await;
        let one = format!("up: next 2026-11-21T08:30:00 | 08:30:00 executed {executed}");
        assert!(history[0].starts_with(&one) && history[0].matches(" | ").count() == 1, "{killed}: {history:?}");
        let writes = stage.server.faults().count("patch", "deployments/scale");
        assert!(killed != "after its record" || writes == 1, "what is recorded is not repeated: {writes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_watch_is_behind_does_not_repeat_what_its_predecessor_recorded() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5), rule("more", "40 8 * * *", 6)])).await;
    let one = stage.leads("one").await;
    let way = Way::default();
    let client = way.over(stage.server.client());
    let mut two = Process::start_over(client, "two", &stage.wall, Arc::new(Unknown));
    stage.until("2026-11-20T08:29:50Z").await;
    way.stale(Some(""));
    stage.until("2026-11-20T08:30:02Z").await;
    let recorded = ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00", "more: next 08:40:00"];
    assert_eq!((stage.replicas("web").await, stage.history().await), (5, recorded.map(str::to_owned).into()));
    one.kill().await;
    let scaled = json!({"spec": {"replicas": 3}});
    let deployments: kube::Api<Deployment> = kube::Api::namespaced(stage.server.client(), "prod");
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(&scaled)).await.unwrap();
    two.leads().await;
    stage.pass(30).await;
    assert_eq!(stage.replicas("web").await, 3, "a user scaled it after the run");
    way.stale(None);
    stage.pass(5).await;
    assert_eq!(stage.history().await, recorded);
    assert_eq!(stage.server.faults().count("patch", "deployments/scale"), 1);
    // A run of its own term costs no read of the object.
    let read = stage.server.faults().count("list", "cronfederatedhpas");
    stage.until("2026-11-20T08:40:02Z").await;
    assert_eq!((stage.replicas("web").await, stage.server.faults().count("list", "cronfederatedhpas")), (6, read));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_told_to_end_records_the_run_that_it_executed() {
    for request in [which("patch", "deployments/scale"), which("patch", "cronfederatedhpas/status")] {
        let (stage, one) = minute_before().await;
        let mut two = stage.controller("two");
        stage.until("2026-11-20T08:29:59Z").await;
        let mut held = stage.server.faults().hold(request, Moment::Answered);
        held.reached().await;
        let stopping = tokio::spawn(one.stop());
        stage.pass(1).await;
        assert!(two.leadership.borrow().is_none(), "the Lease is held until all is done");
        drop(held);
        stopping.await.unwrap();
        let recorded = "up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:0";
        assert!(stage.history().await[0].starts_with(recorded), "{:?}", stage.history().await);
        assert_eq!(stage.events().await.len(), 1, "what was done last is told");
        two.leads().await;
        stage.pass(5).await;
        assert_eq!(stage.server.faults().count("patch", "deployments/scale"), 1);
    }
}

/// A controller that knows the rule, is down over its due time and comes back at `back`.
async fn down_until(back: &str, max_delay: Option<i64>) -> (Stage, Process) {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    let more = max_delay.map_or(json!({}), |delay| json!({"maxDelaySeconds": delay}));
    stage.cron(json!([with(rule("up", "30 8 * * *", 5), more)])).await;
    let one = stage.leads("one").await;
    stage.pass(5).await;
    one.stop().await;
    stage.until(back).await;
    let two = stage.leads("two").await;
    stage.pass(2).await;
    (stage, two)
}

#[tokio::test(start_paused = true)]
async fn a_run_missed_while_the_process_was_down_is_made_up() {
    let (stage, two) = down_until("2026-11-20T09:10:00Z", None).await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 09:10:00"]);
    assert!(two.metrics.text().contains("fhpa_cron_late_runs_total 1"));
}

#[tokio::test(start_paused = true)]
async fn a_run_missed_for_longer_than_max_delay_is_recorded_and_told() {
    let (stage, two) = down_until("2026-11-20T08:36:00Z", Some(300)).await;
    assert_eq!(stage.replicas("web").await, 2);
    let why =
        "missed, later than maxDelaySeconds (300): the controller was not running or could not reach the API server";
    assert_eq!(stage.history().await, [format!("up: next 2026-11-21T08:30:00 | 08:30:00 failed 08:36:00: {why}")]);
    assert_eq!(stage.events().await, [format!("Warning RuleMissed: rule \"up\" of {DUE}: {why}")]);
    assert!(two.metrics.text().contains("fhpa_cron_missed_runs_total 1"));
}

#[tokio::test(start_paused = true)]
async fn a_run_within_max_delay_is_made_up() {
    let (stage, _two) = down_until("2026-11-20T08:34:00Z", Some(300)).await;
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:34:00"]);
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_down_for_a_minute_delays_a_run_and_loses_nothing() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5), rule("again", "40 8 * * *", 6)])).await;
    let mut one = stage.leads("one").await;
    stage.until("2026-11-20T08:29:30Z").await;
    stage.down();
    stage.until("2026-11-20T08:30:30Z").await;
    assert!(one.leadership.borrow().is_none(), "who cannot renew its lease stops acting");
    stage.up();
    one.leads().await;
    stage.until("2026-11-20T08:41:00Z").await;
    assert_eq!(stage.replicas("web").await, 6);
    let history = stage.history().await;
    assert!(history[0].starts_with("up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:"), "{history:?}");
    assert_eq!(history[1], "again: next 2026-11-21T08:40:00 | 08:40:00 executed 08:40:00");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_answers_slowly_gets_each_run_once() {
    let (stage, _one) = minute_before().await;
    stage.until("2026-11-20T08:29:59Z").await;
    let mut held = stage.server.faults().hold(which("patch", "deployments/scale"), Moment::Answered);
    held.reached().await;
    stage.pass(20).await;
    drop(held);
    stage.pass(20).await;
    assert_eq!((stage.replicas("web").await, stage.history().await[0].matches(" executed ").count()), (5, 1));
}

#[tokio::test(start_paused = true)]
async fn leaders_whose_clocks_are_five_minutes_apart_run_a_rule_once() {
    for (first, second) in [(300, 0), (0, 300)] {
        let stage = Stage::with_web("2026-11-20T08:20:00Z").await;
        stage.cron(json!([rule("up", "30 8 * * *", 5), rule("half", "*/5 * * * *", 5)])).await;
        let (early, late) = (stage.wall.ahead(first), stage.wall.ahead(second));
        let mut one = stage.controller_on("one", &early);
        one.leads().await;
        let mut two = stage.controller_on("two", &late);
        stage.until("2026-11-20T08:26:00Z").await;
        assert!(two.leadership.borrow().is_none(), "a foreign clock takes no lease away");
        one.kill().await;
        two.leads().await;
        stage.until("2026-11-20T08:33:00Z").await;
        let status = stage.crons().get("shop").await.unwrap().status.unwrap();
        for history in status.execution_histories.unwrap() {
            let runs = history.successful_executions.unwrap_or_default();
            let mut instants: Vec<_> = runs.iter().map(|run| run.schedule_time.as_ref().unwrap().0).collect();
            let count = instants.len();
            instants.dedup();
            assert_eq!(instants.len(), count, "{}: {instants:?}", history.rule_name);
            assert_eq!(history.failed_executions, None);
        }
        assert_eq!(stage.history().await[0].matches(" executed ").count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_over_the_due_time_runs_the_rule_at_once() {
    let stage = Stage::with_web("2026-11-20T07:00:00Z").await;
    let machine = stage.wall.ahead(0);
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let mut one = stage.controller_on("one", &machine);
    one.leads().await;
    stage.pass(5).await;
    machine.jump(7200);
    stage.pass(3).await;
    assert_eq!(stage.replicas("web").await, 5);
    let history = stage.history().await;
    assert!(history[0].starts_with("up: next 2026-11-21T08:30:00 | 08:30:00 executed 09:00:0"), "{history:?}");
    // And back: what ran does not run again.
    machine.jump(-7200);
    stage.deployment("probe", 1).await;
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!(stage.history().await[0].matches(" executed ").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_missing_is_told_at_once_and_set_when_it_comes() {
    let stage = Stage::at("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:05Z").await;
    let missing = "Deployment prod/web does not exist; create it or correct spec.scaleTargetRef";
    assert_eq!(stage.conditions().await[1], format!("AbleToScale=False TargetNotFound: {missing}"));
    assert_eq!(stage.conditions().await[2], format!("Ready=False TargetNotFound: {missing}"));
    assert!(one.metrics.text().contains(r#"fhpa_cron_unready_objects{reason="TargetNotFound"} 1"#));
    assert_eq!(
        stage.events().await,
        [format!("Warning TargetNotFound: due runs are delayed and will be retried: {missing}")]
    );
    assert_eq!(stage.history().await, ["up: next 08:30:00"]);
    stage.deployment("web", 1).await;
    stage.pass(60).await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.conditions().await[1], "AbleToScale=True Executed: the last run was executed");
    assert!(stage.conditions().await[2].starts_with("Ready=True RulesReady: "), "{:?}", stage.conditions().await);
    assert!(one.metrics.text().contains(r#"fhpa_cron_unready_objects{reason="TargetNotFound"} 0"#));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_failed_until_its_deadline_is_recorded_once_with_the_last_error() {
    let stage = Stage::at("2026-11-20T08:29:00Z").await;
    stage.cron(json!([with(rule("up", "30 8 * * *", 5), json!({"maxDelaySeconds": 60}))])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:31:02Z").await;
    let why = "not executed, later than maxDelaySeconds (60); last error: Deployment prod/web does not exist; create it or correct \
               spec.scaleTargetRef";
    assert_eq!(stage.history().await, [format!("up: next 2026-11-21T08:30:00 | 08:30:00 failed 08:31:00: {why}")]);
    assert_eq!(stage.events().await.last().unwrap(), &format!("Warning RuleFailed: rule \"up\" of {DUE}: {why}"));
    assert!(one.metrics.text().contains(r#"fhpa_cron_executions_total{result="failed"} 1"#));
    stage.pass(3600).await;
    assert_eq!(stage.history().await[0].matches(" failed ").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn missed_runs_beyond_the_history_are_told_in_one_sentence() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([with(rule("up", "*/5 * * * *", 5), json!({"failedHistoryLimit": 1}))])).await;
    let one = stage.leads("one").await;
    stage.pass(5).await;
    one.stop().await;
    stage.until("2026-11-20T09:11:00Z").await;
    let two = stage.leads("two").await;
    stage.pass(2).await;
    let why = "missed, the next run was due: the controller was not running or could not reach the API server";
    let history = "up: next 09:15:00 | 09:10:00 executed 09:11:00";
    assert_eq!(stage.history().await, [format!("{history} | 09:05:00 failed 09:11:00: {why}")]);
    let told = format!(
        "Warning RuleMissed: rule \"up\": 7 runs from {DUE} to 2026-11-20T09:00:00Z: {why}; rule \"up\" of \
         2026-11-20T09:05:00Z: {why}"
    );
    assert!(stage.events().await.contains(&told), "{:?}", stage.events().await);
    assert!(two.metrics.text().contains("fhpa_cron_missed_runs_total 8"));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_failed_is_told_where_the_history_keeps_no_failures() {
    let stage = Stage::at("2026-11-20T08:29:00Z").await;
    stage.cron(json!([with(rule("up", "*/5 * * * *", 5), json!({"failedHistoryLimit": 0}))])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:36:00Z").await;
    assert_eq!(stage.history().await, ["up: next 08:35:00"]);
    let told = format!(
        "Warning RuleFailed: rule \"up\" of {DUE}: not executed, the next run was due; last error: Deployment prod/web \
         does not exist; create it or correct spec.scaleTargetRef"
    );
    assert!(stage.events().await.contains(&told), "{:?}", stage.events().await);
    assert!(one.metrics.text().contains(r#"fhpa_cron_executions_total{result="failed"} 1"#));
}

#[tokio::test(start_paused = true)]
async fn a_request_that_fails_once_is_tried_again_within_the_second() {
    let (stage, _one) = minute_before().await;
    stage.until("2026-11-20T08:29:59Z").await;
    let busy = StatusError::plain(500, "InternalError", "etcdserver: leader changed");
    stage.server.faults().fail(which("patch", "deployments/scale"), 1, busy);
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_status_that_could_not_be_written_is_written_later_without_a_second_execution() {
    let (stage, _one) = minute_before().await;
    stage.until("2026-11-20T08:29:59Z").await;
    let busy = StatusError::plain(500, "InternalError", "etcdserver: leader changed");
    stage.server.faults().fail(which("patch", "cronfederatedhpas/status"), 5, busy);
    stage.server.faults().record();
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    assert_eq!(stage.server.faults().count("patch", "deployments/scale"), 1);
}

#[tokio::test(start_paused = true)]
async fn an_edit_between_execution_and_record_loses_neither() {
    let (stage, _one) = minute_before().await;
    stage.until("2026-11-20T08:29:59Z").await;
    let mut held = stage.server.faults().hold(which("patch", "cronfederatedhpas/status"), Moment::Arriving);
    held.reached().await;
    let rules = json!({"spec": {"rules": [rule("first", "0 7 * * *", 1), rule("up", "30 8 * * *", 8)]}});
    stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&rules)).await.unwrap();
    drop(held);
    stage.pass(5).await;
    let history = ["first: next 2026-11-21T07:00:00", "up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"];
    assert_eq!(stage.history().await, history);
    assert_eq!(stage.server.faults().count("patch", "deployments/scale"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_lost_lease_stops_a_turn_between_its_writes() {
    let (stage, mut one) = minute_before().await;
    stage.until("2026-11-20T08:29:58Z").await;
    let refused = StatusError::plain(503, "ServiceUnavailable", "no");
    stage.server.faults().fail(which("", "leases"), usize::MAX, refused);
    let mut held = stage.server.faults().hold(which("get", "deployments"), Moment::Answered);
    held.reached().await;
    stage.pass(12).await;
    drop(held);
    stage.pass(5).await;
    assert!(one.leadership.borrow().is_none());
    assert_eq!((stage.replicas("web").await, stage.history().await), (2, vec!["up: next 08:30:00".to_owned()]));
    stage.server.faults().heal();
    one.leads().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.replicas("web").await, 5);
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_version_lists_all_again_and_repeats_nothing() {
    let (stage, _one) = minute_before().await;
    stage.until("2026-11-20T08:30:05Z").await;
    let gone = StatusError::expired("too old resource version: 1 (99)");
    stage.server.faults().fail(which("watch", "cronfederatedhpas"), 1, gone);
    stage.server.faults().drop_watches();
    stage.until("2026-11-20T08:32:00Z").await;
    stage
        .cron_on(
            "later",
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}),
            json!([rule("b", "33 8 * * *", 9)]),
        )
        .await;
    stage.until("2026-11-20T08:33:01Z").await;
    assert_eq!(stage.replicas("web").await, 9);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
}
