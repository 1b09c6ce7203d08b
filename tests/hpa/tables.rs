//! The tables of the unit tests of Karmada's controller: the same answers, except where it is wrong; these are named
//! here.

use fhpa::decision::hpa::decide::{History, Policy};
use fhpa::decision::hpa::limits::{Event, Events, Range, limit_plain};
use fhpa::decision::hpa::stabilization::Recommendations;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::agreement::propose_for;
use super::vectors::{NOW, ago, behavior, events, int, lines_of, rules};

/// A window that forgets nothing.
const HOUR: i32 = 3600;

fn lines(kind: &str, count: usize) -> Vec<Value> {
    let all = lines_of("hpa_tables.jsonl", kind);
    assert_eq!(all.len(), count, "{kind}");
    all
}

/// Recommendations that were made before.
fn made(input: &Value) -> Recommendations {
    let mut made: Vec<&Value> = input["recommendations"].as_array().unwrap().iter().collect();
    made.sort_by_key(|one| std::cmp::Reverse(one["age_s"].as_i64()));
    let mut kept = Recommendations::default();
    for one in made {
        kept.highest(int(&one["replicas"]), HOUR, ago(&one["age_s"]));
    }
    kept
}

fn range(input: &Value) -> Range {
    Range { min: int(&input["min_replicas"]), max: int(&input["max_replicas"]) }
}

/// Answers of the algorithm to a metric over some pods.
fn asked(pods: &Value, current: usize, metric: Value) -> Value {
    propose_for(&json!({"current_replicas": current, "status_replicas": current, "calibration": 1, "tolerance": 0,
        "cpu_initialization_period_s": 300, "initial_readiness_delay_s": 30, "pods": pods, "metrics": [metric]}))
}

#[test]
fn metrics_give_the_replicas_of_the_tables() {
    let mut differ = Vec::new();
    for line in lines("metric", 42) {
        let ours = propose_for(&line["in"]);
        if line["out"]["error"] == true {
            assert!(ours["replicas"] == -1 && ours["error"].is_string(), "{line}: {ours}");
            continue;
        }
        let same = line["out"].as_object().unwrap().iter().all(|(field, value)| ours[field] == *value);
        if !same {
            differ.push((
                format!("{}: {}", line["table"], line["name"]),
                ours["replicas"].clone(),
                line["out"].clone(),
            ));
        }
    }
    // Half of the copies answer for 30 at 10 for each pod: three pods are six replicas. The table divides twice.
    let twice = "\"TestGetObjectPerPodMetricReplicas\": \"Scale with calibration\"".to_owned();
    assert_eq!(differ, [(twice, json!(6), json!({"replicas": 12, "usage_milli": 15}))]);
}

#[test]
fn pods_are_ready_and_grouped_as_in_the_tables() {
    for line in lines("ready", 5) {
        // Twice the target: two replicas for each ready pod.
        let metric = json!({"type": "Object", "target_type": "Value", "target_milli": 1, "object_value_milli": 2});
        let wanted = line["out"]["ready"].as_i64().map_or(json!(-1), |ready| json!(2 * ready));
        assert_eq!(asked(&line["in"]["pods"], 4, metric)["replicas"], wanted, "{line}");
    }
    for line in lines("group", 6) {
        // Half of the target: ready pods count half, those without a sample wholly, and the others not.
        let samples = &line["in"]["samples"];
        let metric = json!({"type": "Resource", "resource": line["in"]["resource"], "target_type": "AverageValue",
            "target_milli": 300, "samples": samples});
        let number = |field: &str| line["out"][field].as_i64().unwrap();
        let wanted = (number("ready") + 1) / 2 + number("missing");
        assert_eq!(asked(&line["in"]["pods"], 10, metric)["replicas"], wanted, "{line}");
        let all = number("ready") + number("missing") + number("unready") + number("ignored");
        assert_eq!(usize::try_from(all).unwrap(), line["in"]["pods"].as_array().unwrap().len(), "{line}");
    }
}

#[test]
fn requests_of_pods_are_those_of_the_tables() {
    for line in lines("request", 2) {
        let (input, requests) = (&line["in"], line["out"].as_object().unwrap());
        // Pods that use as much as they request.
        let samples: serde_json::Map<String, Value> = requests
            .iter()
            .map(|(pod, request)| (pod.clone(), json!({"value_milli": request, "window_s": 60, "age_s": 0})))
            .collect();
        let source = if input["container"].is_null() { "Resource" } else { "ContainerResource" };
        let metric = json!({"type": source, "resource": input["resource"], "container": input["container"],
            "target_type": "Utilization", "target_utilization_percent": 50, "samples": samples});
        let ours = asked(&input["pods"], requests.len(), metric);
        assert_eq!(
            (&ours["utilization_percent"], &ours["replicas"]),
            (&json!(100), &json!(2 * requests.len())),
            "{line}"
        );
    }
}

#[test]
fn recommendations_are_stabilized_as_in_the_tables() {
    for line in lines("begin", 2) {
        let mut kept = made(&line["in"]);
        kept.begin(int(&line["in"]["current"]), NOW);
        assert_eq!(kept.highest(0, HOUR, NOW).0, int(&line["out"]["first"]), "{line}");
    }
    for line in lines("highest", 4) {
        let (held, _) = made(&line["in"]).highest(int(&line["in"]["desired"]), int(&line["in"]["window_s"]), NOW);
        assert_eq!(held, int(&line["out"]["desired"]), "{line}");
    }
    for line in lines("nearest", 3) {
        let [current, desired, up, down] =
            ["current", "desired", "up_window_s", "down_window_s"].map(|field| int(&line["in"][field]));
        let (held, stabilized) = made(&line["in"]).nearest(current, desired, up, down, NOW);
        assert_eq!(held, int(&line["out"]["desired"]), "{line}");
        // Karmada's function names a direction where nothing is held, too; its caller does not use it.
        let reason = if held == desired { json!("ReadyForNewScale") } else { line["out"]["reason"].clone() };
        assert_eq!(json!(stabilized.reason()), reason, "{line}");
    }
}

#[test]
fn desired_replicas_are_limited_as_in_the_tables() {
    for line in lines("normalize", 6) {
        let input = &line["in"];
        let (behavior, window) = (behavior(&input["behavior"]), int(&input["window_s"]));
        let policy = Policy { range: range(input), behavior, downscale_window_seconds: window };
        let mut history = History { recommendations: made(input), ..History::default() };
        let done = history.normalize(&policy, int(&input["current"]), int(&input["desired"]), NOW);
        let ours = json!({"desired": done.desired, "able_to_scale_reason": done.stabilized.reason(),
            "scaling_limited": done.limited, "scaling_limited_reason": done.bound.reason()});
        assert!(line["out"].as_object().unwrap().iter().all(|(field, value)| ours[field] == *value), "{line}: {ours}");
    }
    for line in lines("plain", 7) {
        let (desired, bound) =
            limit_plain(int(&line["in"]["current"]), int(&line["in"]["desired"]), range(&line["in"]));
        assert_eq!(json!({"desired": desired, "reason": bound.reason()}), line["out"], "{line}");
    }
    for line in lines("rate", 3) {
        let (input, events) = (&line["in"], Events::default());
        let (up, down) = (rules(&input["scaleUp"]), rules(&input["scaleDown"]));
        let (desired, bound) =
            events.limit(int(&input["current"]), int(&input["desired"]), range(input), &up, &down, NOW);
        assert_eq!(json!({"desired": desired, "reason": bound.reason()}), line["out"], "{line}");
    }
    for line in lines("scale_limit", 10) {
        let input = &line["in"];
        let moved = Events { up: events(&input["scale_up_events"]), down: events(&input["scale_down_events"]) };
        let (current, rules) = (int(&input["current_replicas"]), rules(&input["rules"]));
        let up = input["direction"] == "up";
        let limit = if up { moved.most(current, &rules, NOW) } else { moved.fewest(current, &rules, NOW) };
        assert_eq!(limit, int(&line["out"]["limit"]), "{line}");
    }
}

#[test]
fn changes_are_counted_and_forgotten_as_in_the_tables() {
    for line in lines("change", 3) {
        // A policy of no pods allows what there was at the beginning of its period.
        let input = &line["in"];
        let none = rules(&json!({"policies": [{"type": "Pods", "value": 0, "periodSeconds": input["period_s"]}]}));
        let moved = Events { up: events(&input["events"]), down: Vec::new() };
        assert_eq!(100 - moved.most(100, &none, NOW), int(&line["out"]["change"]), "{line}");
    }
    for line in lines("store", 3) {
        let (input, mut history) = (&line["in"], History::default());
        let policy = policy(&input["behavior"]);
        history.scaled(&policy, int(&input["before"]), int(&input["after"]), NOW);
        let ours = json!({"up": history.events.up.len(), "down": history.events.down.len()});
        assert_eq!(ours, line["out"], "{line}");
    }
    for line in lines("outdated", 2) {
        // The place of what is outdated is used again.
        let outdated = line["out"]["outdated"].as_array().unwrap().iter().filter(|one| **one == true).count();
        let ages: Vec<i64> = line["in"]["ages_s"].as_array().unwrap().iter().map(|age| age.as_i64().unwrap()).collect();
        assert_eq!(kept_beside(&line["in"]["rules"], &ages), ages.len() + 1 - outdated, "{line}");
    }
    for line in lines("longest", 3) {
        let period = line["out"]["period_s"].as_i64().unwrap();
        let rules = &line["in"]["rules"];
        assert_eq!([kept_beside(rules, &[period]), kept_beside(rules, &[period + 1])], [2, 1], "{line}");
    }
}

fn policy(given: &Value) -> Policy {
    Policy { range: Range { min: 1, max: 100 }, behavior: behavior(given), downscale_window_seconds: 300 }
}

/// Changes that are kept after one more, beside those of such ages.
fn kept_beside(rules: &Value, ages: &[i64]) -> usize {
    let up = ages.iter().map(|age| Event { change: 1, at: NOW - SignedDuration::from_secs(*age) }).collect();
    let mut history = History { events: Events { up, down: Vec::new() }, ..History::default() };
    history.scaled(&policy(&json!({"scaleUp": rules, "scaleDown": {}})), 1, 2, NOW);
    history.events.up.len()
}
