//! Every decision in the fixture is the same, except where upstream is wrong; these are named here.

use std::collections::BTreeMap;

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
    propose_within(input, spread, input["tolerance"].as_f64().unwrap())
}

fn propose_within(input: &Value, spread: bool, tolerance: f64) -> Value {
    let pods = pods(input);
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

/// Whether there is an Object metric that is divided by the pods.
fn divides(input: &Value) -> bool {
    let divided = |metric: &fhpa::decision::hpa::metric::Metric| {
        matches!((&metric.source, metric.target), (Source::Object { .. }, Target::AverageValue(_)))
    };
    metrics(input).iter().any(divided)
}

/// Why an answer differs from upstream's; `None` where nothing explains it.
fn difference(line: &Value, ours: &Value) -> Option<&'static str> {
    let input = &line["in"];
    let tolerance = input["tolerance"].as_f64().unwrap();
    if propose_within(input, false, tolerance - 1e-6) == line["out"] {
        // Kubernetes keeps the replicas there from 1.33 on.
        return Some("the ratio is at exactly the edge of the tolerance");
    }
    if divides(input) && ours["replicas"] == input["current_replicas"] {
        // More or fewer pods than requested exist, or the clusters that answer hold a part of them.
        return Some("within the tolerance upstream asks for the pods that exist");
    }
    // Once is right: usage 100 at 10 for each pod needs ten pods, and twenty replicas when the clusters that answer hold
    // half of them.
    (divides(input) && input["calibration"] != 1).then_some("upstream divides by the calibration twice")
}

/// The answer to a recorded decision: upstream's, but where the tolerance is understood otherwise.
pub fn expected(line: &Value) -> Value {
    let ours = propose_for(&line["in"]);
    let otherwise = ours != line["out"] && difference(line, &ours).is_some_and(|why| why.contains("tolerance"));
    if otherwise { ours } else { line["out"].clone() }
}

#[test]
fn metrics_give_the_replicas_that_upstream_gives() {
    let mut found = BTreeMap::<&str, usize>::new();
    for line in lines("metric") {
        let ours = propose_for(&line["in"]);
        let why = if ours == line["out"] { Some("same") } else { difference(&line, &ours) };
        *found.entry(why.unwrap_or_else(|| panic!("{line}\nours: {ours}"))).or_default() += 1;
    }
    let expected = [
        ("same", 961),
        ("the ratio is at exactly the edge of the tolerance", 1),
        ("upstream divides by the calibration twice", 17),
        ("within the tolerance upstream asks for the pods that exist", 8),
    ];
    assert_eq!(found, expected.into());
    // 206 at 55 for each pod, calibration 23/8: 3.7 pods are 1.3 replicas, so 2; upstream divides the 2 again.
    let twice = lines("metric").into_iter().map(|line| (propose_for(&line["in"]), line));
    let mut twice = twice.filter(|(ours, line)| {
        *ours != line["out"] && difference(line, ours) == Some("upstream divides by the calibration twice")
    });
    let (ours, line) = twice.next().unwrap();
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
