//! Failures of Karmada's CronFederatedHPA, one story each. Covered elsewhere: an invalid schedule stops later rules, a
//! missed run has no record, a run is tried once, clock changes, races of rules in one minute.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};

use super::cron::{rule, with};
use super::{Stage, federated_web};

/// A stage whose CRDs check no rules, as Karmada's own do, and that has no webhook.
async fn unchecked(start: &str) -> Stage {
    let stage = Stage::with_definitions(start, strip).await;
    stage.deployment("web", 2).await;
    stage
}

/// Takes bounds and CEL rules out of a schema.
fn strip(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for keyword in ["x-kubernetes-validations", "minimum", "maximum", "minLength", "maxLength", "minItems"] {
                map.remove(keyword);
            }
            map.values_mut().for_each(strip);
        }
        Value::Array(list) => list.iter_mut().for_each(strip),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_limit_of_zero_keeps_no_failure_and_crashes_nothing() {
    let stage = Stage::at("2026-11-20T08:29:00Z").await;
    let limits = json!({"failedHistoryLimit": 0, "maxDelaySeconds": 30});
    stage.cron(json!([with(rule("up", "30 8 * * *", 5), limits)])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:31:00Z").await;
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00"]);
    let events = stage.events().await;
    assert!(events.last().unwrap().starts_with("Warning RuleFailed: "), "{events:?}");
    assert!(one.metrics.text().contains("fhpa_controller_reconcile_panics_total 0"));
}

#[tokio::test(start_paused = true)]
async fn a_status_that_karmadas_controller_wrote_is_replaced_as_a_whole_and_then_left_alone() {
    let stage = Stage::with_web("2026-11-20T08:29:50Z").await;
    stage.cron(json!([rule("up", "30 8 * * *", 5)])).await;
    let ran = |rule: &str| {
        json!({"ruleName": rule, "nextExecutionTime": "2026-11-20T08:30:00Z", "successfulExecutions":
            [{"scheduleTime": "2026-11-19T08:30:00Z", "executionTime": "2026-11-19T08:30:00Z", "appliedReplicas": 5}]})
    };
    let status = json!({"executionHistories": [ran("up"), ran("former")], "conditions": [{"type": "Former",
        "status": "True", "reason": "Former", "message": "", "lastTransitionTime": "2026-11-19T08:30:00Z"}]});
    let theirs = PatchParams { field_manager: Some("karmada-controller-manager".into()), ..PatchParams::default() };
    stage.crons().patch_status("shop", &theirs, &Patch::Merge(json!({"status": status}))).await.unwrap();
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:05Z").await;
    assert_eq!(stage.replicas("web").await, 5);
    assert_eq!(stage.history().await.len(), 1, "{:?}", stage.history().await);
    assert_eq!(stage.conditions().await.len(), 3, "{:?}", stage.conditions().await);
    stage.server.faults().record();
    stage.pass(600).await;
    assert_eq!(stage.writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_federated_hpa_without_a_minimum_is_a_target() {
    let stage = unchecked("2026-11-20T08:29:50Z").await;
    stage.federated_hpa(None, 10).await;
    stage
        .cron_on("shop", federated_web(), json!([{"name": "up", "schedule": "30 8 * * *", "targetMinReplicas": 3}]))
        .await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.hpas().get("web").await.unwrap().spec.min_replicas, Some(3));
    assert_eq!(stage.history().await, ["up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_rule_that_says_no_replicas_is_told_and_stops_nothing() {
    let stage = unchecked("2026-11-20T08:29:50Z").await;
    stage.cron(json!([{"name": "none", "schedule": "30 8 * * *"}, rule("up", "30 8 * * *", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.history().await, ["none: next -", "up: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    let why = "1 of 2 rules cannot run: spec.rules[0].targetReplicas: Required value: a rule for a Deployment says how many \
               replicas to set";
    assert_eq!(stage.conditions().await[0], format!("Scheduled=False InvalidRules: {why}"));
    assert_eq!(stage.events().await[0], format!("Warning InvalidRules: {why}"));
}

#[tokio::test(start_paused = true)]
async fn a_target_that_changes_twice_costs_nothing_afterwards() {
    let stage = Stage::with_web("2026-11-20T08:00:30Z").await;
    for name in ["b", "c"] {
        stage.deployment(name, 1).await;
    }
    stage.cron(json!([rule("up", "*/10 * * * *", 5)])).await;
    let _one = stage.leads("one").await;
    for name in ["b", "c"] {
        stage.pass(5).await;
        let target = json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}});
        stage.crons().patch("shop", &PatchParams::default(), &Patch::Merge(&target)).await.unwrap();
    }
    stage.pass(5).await;
    stage.server.faults().record();
    stage.until("2026-11-20T08:20:01Z").await;
    assert_eq!(stage.replicas("c").await, 5);
    assert_eq!((stage.replicas("web").await, stage.replicas("b").await), (2, 1));
    let one_run = ["patch deployments/scale c", "patch cronfederatedhpas/status shop"];
    assert_eq!(stage.writes(), [one_run, one_run].concat());
}

/// Stored rules with such a schedule or zone: the text of the condition, while a good rule beside it runs.
async fn refused(schedule: &str, zone: Option<&str>) -> String {
    let stage = unchecked("2026-11-20T08:29:50Z").await;
    let bad = zone.map_or(rule("bad", schedule, 9), |zone| with(rule("bad", schedule, 9), json!({"timeZone": zone})));
    stage.cron(json!([bad, rule("good", "30 8 * * *", 5)])).await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    assert_eq!(stage.replicas("web").await, 5, "{schedule} {zone:?}");
    let history = stage.history().await;
    assert_eq!(history, ["bad: next -", "good: next 2026-11-21T08:30:00 | 08:30:00 executed 08:30:00"]);
    one.stop().await;
    stage.conditions().await.swap_remove(0)
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_only_the_webhook_of_karmada_accepts_does_not_stop_the_rules_after_it() {
    for schedule in ["0 0 L * *", "0 0 15W * *", "0 0 * * 5#2", "0 30 8 * * *", "@5minutes", "@always", "0 0 0 * *"] {
        let said = refused(schedule, None).await;
        assert!(
            said.starts_with("Scheduled=False InvalidRules: 1 of 2 rules cannot run: spec.rules[0].schedule"),
            "{said}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn seven_is_sunday() {
    let stage = Stage::with_web("2026-11-22T08:29:50Z").await;
    stage.cron(json!([rule("sunday", "30 8 * * 7", 5)])).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-22T08:30:01Z").await;
    assert_eq!(stage.history().await, ["sunday: next 2026-11-29T08:30:00 | 08:30:00 executed 08:30:00"]);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_never_fires_is_told() {
    let said = refused("0 0 31 2 *", None).await;
    assert!(said.contains("0 0 31 2 *"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_zone_that_differs_from_machine_to_machine_is_told() {
    for zone in ["Local", "", "asia/shanghai"] {
        let said = refused("30 8 * * *", Some(zone)).await;
        assert!(said.contains("spec.rules[0].timeZone: Invalid value"), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_minimum_above_the_maximum_is_a_failure_that_names_both() {
    let stage = Stage::with_web("2026-11-20T08:29:50Z").await;
    stage.federated_hpa(Some(2), 10).await;
    let rules = json!([
        {"name": "bad", "schedule": "30 8 * * *", "targetMinReplicas": 20, "maxDelaySeconds": 3600},
        {"name": "good", "schedule": "40 8 * * *", "targetMaxReplicas": 12},
    ]);
    stage.cron_on("shop", federated_web(), rules).await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:41:00Z").await;
    let hpa = stage.hpas().get("web").await.unwrap();
    assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (Some(2), 12), "the rule after it runs");
    let history = stage.history().await;
    assert!(history[0].starts_with("bad: next 2026-11-21T08:30:00 | 08:30:00 failed 08:40:"), "{history:?}");
    assert!(history[0].contains("20") && history[0].contains("10"), "{history:?}");
    assert!(history[1].contains("08:40:00 executed 08:40:"), "{history:?}");
    let events = stage.events().await;
    assert!(events.iter().any(|event| event.starts_with("Warning InvalidBounds: ")), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn fields_that_nobody_here_knows_stay_in_a_federated_hpa() {
    let stage = Stage::with_definitions("2026-11-20T08:29:50Z", |definition| {
        let versions = definition["spec"]["versions"].as_array_mut().unwrap();
        let spec = &mut versions[0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        spec["x-kubernetes-preserve-unknown-fields"] = json!(true);
    })
    .await;
    stage.federated_hpa(Some(2), 10).await;
    let more = json!({"spec": {"ofTomorrow": {"a": [1, 2]}}});
    let api: kube::Api<kube::api::DynamicObject> = kube::Api::namespaced_with(
        stage.server.client(),
        "prod",
        &kube::api::ApiResource::erase::<fhpa::api::FederatedHPA>(&()),
    );
    api.patch("web", &PatchParams::default(), &Patch::Merge(&more)).await.unwrap();
    stage
        .cron_on("shop", federated_web(), json!([{"name": "up", "schedule": "30 8 * * *", "targetMaxReplicas": 20}]))
        .await;
    let _one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:01Z").await;
    let hpa = api.get("web").await.unwrap();
    assert_eq!(
        (&hpa.data["spec"]["maxReplicas"], &hpa.data["spec"]["ofTomorrow"]),
        (&json!(20), &json!({"a": [1, 2]}))
    );
}

#[tokio::test(start_paused = true)]
async fn whatever_becomes_of_a_run_is_seen() {
    let stage = Stage::with_web("2026-11-20T08:29:50Z").await;
    stage
        .cron(json!([rule("up", "30 8 * * *", 5), with(rule("off", "30 8 * * *", 1), json!({"suspend": true}))]))
        .await;
    let one = stage.leads("one").await;
    stage.until("2026-11-20T08:30:02Z").await;
    assert_eq!(stage.events().await.len(), 1);
    let text = one.metrics.text();
    for line in [
        "fhpa_cron_rules 2",
        r#"fhpa_cron_executions_total{result="executed"} 1"#,
        "fhpa_delay_queue_depth{controller=\"CronFederatedHPA\"} 1",
        "fhpa_cron_execution_lateness_seconds_count 1",
        r#"fhpa_events_total{result="posted"} 1"#,
    ] {
        assert!(text.lines().any(|known| known == line), "{line} not in:\n{text}");
    }
}
