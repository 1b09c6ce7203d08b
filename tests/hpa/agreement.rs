//! Every decision in the fixture is the same, except where upstream is wrong; these are named here.

use fhpa::decision::hpa::decide::{History, Policy};
use fhpa::decision::hpa::limits::{Events, Range, limit_plain};
use fhpa::decision::hpa::metric::{Source, Target};
use fhpa::decision::hpa::proposal::propose;
use fhpa::decision::hpa::replicas::{Tolerance, Workload};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::vectors::{NOW, behavior, events, int, lines, metrics, pods, rules, startup};

/// What we answer, in the fixture's form.
pub fn propose_for(input: &Value) -> Value {
    propose_in(input, false)
}

/// As [`propose_for`]; `spread`: the pods are in several clusters.
pub fn propose_in(input: &Value, spread: bool) -> Value {
    let pods = pods(input);
    let tolerance = input["tolerance"].as_f64().unwrap();
    let workload = Workload {
        spec_replicas: int(&input["current_replicas"]),
        status_replicas: int(&input["status_replicas"]),
        calibration: input["calibration"].as_f64().unwrap(),
        partial: None,
        pods: &pods,
        spread,
        tolerance: Tolerance { up: tolerance, down: tolerance },
        startup: startup(input),
        now: NOW,
    };
    let metrics = metrics(input);
    let proposal = propose(&workload, &metrics);
    let mut out = json!({ "replicas": proposal.replicas.unwrap_or(-1) });
    if let ([Some(current)], [_]) = (proposal.current.as_slice(), metrics.as_slice()) {
        if let Some(percent) = current.utilization {
            out["utilization_percent"] = percent.into();
        }
        if let Some(usage) = current.value.or(current.average_value) {
            out["usage_milli"] = usage.into();
        }
    }
    let reason =
        proposal.failure.as_ref().filter(|_| proposal.replicas.is_none()).map_or("ValidMetricFound", |f| f.reason);
    out["scaling_active_reason"] = reason.into();
    if let Some(failure) = proposal.failure {
        out["error"] = failure.message.into();
    }
    out
}

/// Upstream divides an Object metric's answer by the calibration twice. Once is right: usage 100 at 10 for each pod
/// needs ten pods, and twenty replicas when the clusters that answer hold half of them.
fn calibrated_twice(input: &Value) -> bool {
    let average = |metric: &fhpa::decision::hpa::metric::Metric| {
        matches!((&metric.source, metric.target), (Source::Object { .. }, Target::AverageValue(_)))
    };
    input["calibration"] != 1 && metrics(input).iter().any(average)
}

#[test]
fn metrics_give_the_replicas_that_upstream_gives() {
    let (mut same, mut twice) = (0, Vec::new());
    for line in lines("metric") {
        let ours = propose_for(&line["in"]);
        if ours == line["out"] {
            same += 1;
        } else {
            assert!(calibrated_twice(&line["in"]), "{line}\nours: {ours}");
            twice.push((ours, line));
        }
    }
    assert_eq!((same, twice.len()), (968, 19));
    let (ours, line) = &twice[0];
    // 206 at 55 for each pod, calibration 23/8: 3.7 pods are 1.3 replicas, so 2; upstream divides the 2 again.
    assert_eq!((&ours["replicas"], &line["out"]["replicas"]), (&json!(2), &json!(1)), "{line}");
}

#[test]
fn a_life_of_recommendations_gives_the_writes_that_upstream_gives() {
    let all = lines("sequence");
    assert_eq!(all.len(), 434);
    for line in all {
        let input = &line["in"];
        let policy = Policy {
            range: Range { min: int(&input["min_replicas"]), max: int(&input["max_replicas"]) },
            behavior: behavior(&input["behavior_defaulted"]),
            downscale_window_seconds: int(&input["downscale_stabilization_window_s"]),
        };
        let mut history = History::default();
        let mut steps = Vec::new();
        for step in input["steps"].as_array().unwrap() {
            let now = NOW + SignedDuration::from_secs(step["at_s"].as_i64().unwrap());
            let current = int(&step["current"]);
            history.recommendations.begin(current, now);
            let done = history.normalize(&policy, current, int(&step["raw_desired"]), now);
            if done.desired != current {
                history.scaled(&policy, current, done.desired, now);
            }
            steps.push(json!({
                "desired": done.desired,
                "able_to_scale_reason": done.stabilized.reason(),
                "scaling_limited_reason": done.bound.reason(),
                "scaling_limited": done.limited,
            }));
        }
        assert_eq!(json!(steps), line["out"]["steps"], "{line}");
    }
}

#[test]
fn policies_allow_what_upstream_allows() {
    let all = lines("scale_limit");
    assert_eq!(all.len(), 156);
    for line in all {
        let input = &line["in"];
        let moved = Events { up: events(&input["scale_up_events"]), down: events(&input["scale_down_events"]) };
        let (current, rules) = (int(&input["current_replicas"]), rules(&input["rules"]));
        let limit = if input["direction"] == "up" {
            moved.most(current, &rules, NOW)
        } else {
            moved.fewest(current, &rules, NOW)
        };
        assert_eq!(limit, int(&line["out"]["limit"]), "{line}");
    }
}

#[test]
fn bounds_without_behavior_are_those_of_upstream() {
    let all = lines("convert_rules");
    assert_eq!(all.len(), 98);
    for line in all {
        let input = &line["in"];
        let range = Range { min: int(&input["min_replicas"]), max: int(&input["max_replicas"]) };
        let (desired, bound) = limit_plain(int(&input["current_replicas"]), int(&input["desired_replicas"]), range);
        assert_eq!(json!({ "desired": desired, "reason": bound.reason() }), line["out"], "{line}");
    }
}
