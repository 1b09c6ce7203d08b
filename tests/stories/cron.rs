//! CronFederatedHPA on time: one write, several rules, targets, clock changes.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::{Stage, at, federated_web};

/// A rule that sets replicas.
pub fn rule(name: &str, schedule: &str, replicas: i32) -> Value {
    json!({"name": name, "schedule": schedule, "targetReplicas": replicas})
}

/// `rule` with more members.
pub fn with(mut rule: Value, more: Value) -> Value {
    rule.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    rule
}

#[tokio::test(start_paused = true)]
async fn a_rule_runs_in_its_second_and_is_recorded_with_two_writes() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:29:59Z").await;
    assert_eq!(stage.history().await, ["up: next 08:30:00"]);
    stage.server.faults().record();
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    assert_eq!(stage.writes(), ["patch deployments/scale web", "patch cronfederatedhpas/status shop"]);
    let told = "Normal RuleExecuted: rule \"up\" of 2026-11-20T08:30:00Z: Deployment prod/web set to replicas 5";
    assert_eq!(stage.events().await, [told]);
    let conditions = [
        "Scheduled=True RulesScheduled: all rules are understood and scheduled",
        "AbleToScale=True Executed: the last run was executed",
        "Ready=True RulesReady: rule \"up\" runs next, at 2026-11-21T08:30:00Z",
    ];
    assert_eq!(stage.conditions().await, conditions);
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_costs_no_request_but_those_of_the_lease() {
    let stage = Stage::with_web("2026-11-20T08:31:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.pass(5).await;
    stage.server.faults().record();
    stage.pass(3600).await;
    let others =
        stage.server.faults().recorded().into_iter().filter(|seen| seen.resource != "leases" && seen.verb != "watch");
    // A kind that is not served is looked for five times, as the server may have just started, then every ten minutes.
    let (absent, others): (Vec<_>, Vec<_>) = others.partition(|seen| seen.resource == "scaledobjects");
    assert_eq!(others, []);
    assert!(absent.len() <= 11, "{absent:?}");
}

#[tokio::test(start_paused = true)]
async fn rules_of_one_instant_run_in_their_order_with_one_write() {
    let stage = Stage::with_web("2026-11-20T08:59:50Z").await;
    stage.cron(json!([rule("a", "0 9 * * *", 3), rule("b", "0 * * * *", 7)])).await;
    let _one = stage.leads("one").await;
    stage.pass(5).await;
    stage.server.faults().record();
    stage.until("2026-11-20T09:00:01Z").await;
    assert_eq!(stage.replicas("web").await, 7);
    assert_eq!(stage.writes(), ["patch deployments/scale web", "patch cronfederatedhpas/status shop"]);
    let history =
        ["a: next 2026-11-21T09:00:00 | 09:00:00 executed 09:00:00", "b: next 10:00:00 | 09:00:00 executed 09:00:00"];
    assert_eq!(stage.history().await, history);
    let said = |rule: &str, replicas: i32| {
        format!("rule \"{rule}\" of 2026-11-20T09:00:00Z: Deployment prod/web set to replicas {replicas}")
    };
    assert_eq!(stage.events().await, [format!("Normal RuleExecuted: {}; {}", said("a", 3), said("b", 7))]);
}

#[tokio::test(start_paused = true)]
async fn bounds_of_a_federated_hpa_are_set_and_nothing_else_of_it() {
    let stage = Stage::with_web("2026-11-20T08:29:50Z").await;
    stage.federated_hpa(Some(2), 10).await;
    let rules = json!([
        {"name": "both", "schedule": "30 8 * * *", "targetMinReplicas": 20, "targetMaxReplicas": 40},
        {"name": "max", "schedule": "31 8 * * *", "targetMaxReplicas": 50},
    ]);
    stage.cron_on("shop", federated_web(), rules).await;
    let before = stage.hpas().get("web").await.unwrap().spec;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    let hpa = stage.hpas().get("web").await.unwrap();
    assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (Some(20), 40));
    assert_eq!((&hpa.spec.metrics, &hpa.spec.scale_target_ref), (&before.metrics, &before.scale_target_ref));
    stage.until("2026-11-20T08:31:01Z").await;
    let hpa = stage.hpas().get("web").await.unwrap();
    assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (Some(20), 50));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_rule_does_not_run_and_shows_no_next_run() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([with(rule("up", "30 8 * * *", 5), json!({"suspend": true}))])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!(stage.replicas("web").await, 2);
    assert_eq!(stage.history().await, ["up: next -"]);
    assert!(stage.conditions().await[0].starts_with("Scheduled=True Suspended: "), "{:?}", stage.conditions().await);
    assert_eq!(stage.conditions().await[1], "Ready=True Suspended: all rules are suspended");
    // It is resumed: what was due before is not owed.
    let rules = json!({"spec": {"rules": [rule("up", "30 8 * * *", 5)]}});
    stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&rules)).await.unwrap();
    stage.pass(5).await;
    assert_eq!(stage.replicas("web").await, 2);
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00"]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_deleted_or_retargeted_stops_at_once() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.deployment("other", 1).await;
    let deployment = |name: &str| json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    stage.cron_on("gone", deployment("web"), json!([rule("up", "30 8 * * *", 9)])).await;
    stage.cron_on("shop", deployment("web"), json!([rule("up", "30 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:29:59Z").await;
    stage.crons().delete("gone", &Default::default()).await.unwrap();
    let target = json!({"spec": {"scaleTargetRef": deployment("other")}});
    stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&target)).await.unwrap();
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!((stage.replicas("web").await, stage.replicas("other").await), (2, 5));
}

#[tokio::test(start_paused = true)]
async fn an_object_that_waits_for_its_finalizers_runs_no_more() {
    let stage = Stage::with_web("2026-11-20T08:29:00Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let finalizer = json!({"metadata": {"finalizers": ["example.com/wait"]}});
    stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&finalizer)).await.unwrap();
    let _one = stage.leads("one").await;
    stage.pass(5).await;
    stage.crons().delete("shop", &Default::default()).await.unwrap();
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!(stage.replicas("web").await, 2);
}

#[tokio::test(start_paused = true)]
async fn renamed_and_removed_rules_drop_their_history() {
    let stage = Stage::with_web("2026-11-20T08:59:50Z").await;
    stage.cron(json!([rule("a", "0 * * * *", 3), rule("b", "0 * * * *", 4)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T09:00:05Z").await;
    assert_eq!(stage.history().await.len(), 2);
    let rules = json!({"spec": {"rules": [rule("c", "0 * * * *", 3)]}});
    stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&rules)).await.unwrap();
    stage.pass(2).await;
    assert_eq!(stage.history().await, ["c: next 10:00:00"]);
}

#[tokio::test(start_paused = true)]
async fn history_keeps_the_newest_up_to_its_limits() {
    let stage = Stage::with_web("2026-11-20T07:59:50Z").await;
    stage.cron(json!([with(rule("a", "*/10 * * * *", 3), json!({"successfulHistoryLimit": 2}))])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:05Z").await;
    assert_eq!(stage.history().await, ["a: next 08:40:00 | 08:30:00 executed 08:30:00 | 08:20:00 executed 08:20:00"]);
}

#[tokio::test(start_paused = true)]
async fn the_status_names_the_next_and_the_last_run_of_all_rules_and_counts_the_suspended_ones() {
    let stage = Stage::with_web("2026-11-20T08:25:00Z").await;
    let late = with(rule("late", "50 8 * * *", 4), json!({"timeZone": "UTC"}));
    let paused = with(rule("paused", "* * * * *", 6), json!({"timeZone": "UTC", "suspend": true}));
    stage.cron(json!([late, with(rule("soon", "30 8 * * *", 5), json!({"timeZone": "UTC"})), paused])).await;
    let _one = stage.leads("one").await;
    for (time, next, last) in [
        ("2026-11-20T08:26:00Z", "2026-11-20T08:30:00Z", None),
        ("2026-11-20T08:31:00Z", "2026-11-20T08:50:00Z", Some("2026-11-20T08:30:00Z")),
        ("2026-11-20T08:51:00Z", "2026-11-21T08:30:00Z", Some("2026-11-20T08:50:00Z")),
    ] {
        stage.until(time).await;
        let status = stage.crons().get("shop").await.unwrap().status.unwrap();
        let (found, ran) = (status.next_execution_time.unwrap().0, status.last_execution_time.map(|time| time.0));
        assert_eq!((found, ran, status.suspended_rules), (at(next), last.map(at), Some(1)), "{time}");
    }
}

/// Runs of a rule over a clock change, as they were executed.
async fn over_the_change(schedule: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
    let stage = Stage::with_web(from).await;
    stage
        .cron(json!([with(rule("night", schedule, 5), json!({"timeZone": zone, "successfulHistoryLimit": 32}))]))
        .await;
    let one = stage.leads("one").await;
    stage.until(to).await;
    let status = stage.crons().get("shop").await.unwrap().status.unwrap();
    let runs = status.execution_histories.unwrap().remove(0).successful_executions.unwrap_or_default();
    let mut runs: Vec<String> = runs.iter().map(|run| run.execution_time.as_ref().unwrap().0.to_string()).collect();
    runs.reverse();
    one.stop().await;
    runs
}

#[tokio::test(start_paused = true)]
async fn a_time_that_the_spring_night_skips_runs_at_the_first_instant_after_the_gap() {
    let night = over_the_change("30 2 * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", "2026-03-29T01:40:00Z").await;
    assert_eq!(night, ["2026-03-29T01:00:00Z"]);
    let next = over_the_change("30 2 * * *", "Europe/Berlin", "2026-03-30T00:20:00Z", "2026-03-30T01:10:00Z").await;
    assert_eq!(next, ["2026-03-30T00:30:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_comes_twice_in_the_autumn_night_runs_once() {
    let night = over_the_change("30 1 * * *", "America/New_York", "2026-11-01T05:20:00Z", "2026-11-01T06:40:00Z").await;
    assert_eq!(night, ["2026-11-01T05:30:00Z"]);
    let next = over_the_change("30 1 * * *", "America/New_York", "2026-11-02T06:20:00Z", "2026-11-02T06:40:00Z").await;
    assert_eq!(next, ["2026-11-02T06:30:00Z"]);
}

#[tokio::test(start_paused = true)]
async fn every_half_hour_follows_elapsed_time_over_both_changes() {
    let spring = over_the_change("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:20:00Z", "2026-03-29T02:01:00Z").await;
    assert_eq!(
        spring,
        ["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z", "2026-03-29T02:00:00Z"]
    );
    let autumn = over_the_change("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:20:00Z", "2026-10-25T02:01:00Z").await;
    assert_eq!(
        autumn,
        ["2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"]
    );
}

#[tokio::test(start_paused = true)]
async fn any_kind_with_a_scale_subresource_is_a_target() {
    let stage = Stage::at("2026-11-20T08:29:50Z").await;
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "rollouts", "singular": "rollout", "kind": "Rollout", "listKind": "RolloutList"},
        "versions": [{"name": "v1", "served": true, "storage": true,
            "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    stage.server.create(&definition).await.unwrap();
    let rollout = json!({"apiVersion": "example.com/v1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "prod"}, "spec": {"size": 1}});
    stage.server.create(&rollout).await.unwrap();
    let target = json!({"apiVersion": "example.com/v1", "kind": "Rollout", "name": "web"});
    stage.cron_on("shop", target, json!([rule("up", "30 8 * * *", 6)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    let kind = kube::core::GroupVersionKind::gvk("example.com", "v1", "Rollout");
    let rollouts: kube::Api<kube::api::DynamicObject> =
        kube::Api::namespaced_with(stage.server.client(), "prod", &kube::api::ApiResource::from_gvk(&kind));
    assert_eq!(rollouts.get("web").await.unwrap().data["spec"]["size"], 6);
}

#[tokio::test(start_paused = true)]
async fn a_rule_written_in_the_second_before_its_time_runs() {
    let stage = Stage::with_web("2026-11-20T08:29:50Z").await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:29:59.9Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    assert!(stage.wall.now() < at("2026-11-20T08:30:02Z"));
}
