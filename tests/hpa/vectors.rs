//! Reads the decisions in tests/fixtures/upstream/hpa_replicas.jsonl into the algorithm's own types.

use std::collections::BTreeMap;
use std::sync::Arc;

use fhpa::decision::hpa::behavior::{Behavior, Policy, Rules, Select, Unit};
use fhpa::decision::hpa::limits::Event;
use fhpa::decision::hpa::metric::{Metric, Reading, Sample, Source, Target};
use fhpa::decision::hpa::pod::{Container, Phase, Pod, Readiness, ReadyCondition, Requests, Startup};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// The moment of every decision.
pub const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

pub fn lines(kind: &str) -> Vec<Value> {
    lines_of("hpa_replicas.jsonl", kind)
}

/// The lines of one kind in a file of tests/fixtures/upstream.
pub fn lines_of(file: &str, kind: &str) -> Vec<Value> {
    let path = format!("{}/tests/fixtures/upstream/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    all.filter(|line| line["kind"] == kind).collect()
}

pub fn int(value: &Value) -> i32 {
    i32::try_from(value.as_i64().unwrap()).unwrap()
}

pub fn seconds(value: &Value) -> SignedDuration {
    SignedDuration::from_secs(value.as_i64().unwrap())
}

pub fn ago(value: &Value) -> Timestamp {
    NOW - seconds(value)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

pub fn startup(input: &Value) -> Startup {
    Startup {
        cpu_initialization: seconds(&input["cpu_initialization_period_s"]),
        initial_readiness: seconds(&input["initial_readiness_delay_s"]),
    }
}

pub fn pods(input: &Value) -> Vec<Pod> {
    input["pods"].as_array().into_iter().flatten().map(pod).collect()
}

fn pod(input: &Value) -> Pod {
    let readiness = |status: &str| match status {
        "True" => Readiness::Ready,
        "False" => Readiness::NotReady,
        _ => Readiness::Unknown,
    };
    Pod {
        name: text(&input["name"]).into(),
        phase: match input["phase"].as_str().unwrap() {
            "Pending" => Phase::Pending,
            "Running" => Phase::Running,
            "Succeeded" => Phase::Succeeded,
            "Failed" => Phase::Failed,
            _ => Phase::Unknown,
        },
        deleted: input["deleted"] == true,
        ready: input["ready"]
            .as_str()
            .map(|status| ReadyCondition::new(readiness(status), ago(&input["ready_transition_age_s"]))),
        started: (!input["start_age_s"].is_null()).then(|| ago(&input["start_age_s"]).into()),
        requests: Arc::new(Requests {
            containers: input["containers"].as_array().unwrap().iter().map(container).collect(),
            ..Requests::default()
        }),
    }
}

fn container(input: &Value) -> Container {
    let request = input["request_milli"].as_i64();
    let both = |milli| BTreeMap::from([("cpu".to_owned(), milli), ("memory".to_owned(), milli)]);
    Container { name: text(&input["name"]), requests: request.map(both).unwrap_or_default() }
}

pub fn metrics(input: &Value) -> Vec<Metric> {
    let names: Vec<String> = input["pods"].as_array().into_iter().flatten().map(|pod| text(&pod["name"])).collect();
    let metrics = input["metrics"].as_array().unwrap().iter().enumerate();
    metrics.map(|(at, metric)| self::metric(at, metric, &names)).collect()
}

fn metric(at: usize, input: &Value, pods: &[String]) -> Metric {
    let name = format!("m{at}");
    let source = match input["type"].as_str().unwrap() {
        "Resource" => Source::Resource { name: text(&input["resource"]) },
        "ContainerResource" => {
            Source::ContainerResource { name: text(&input["resource"]), container: text(&input["container"]) }
        }
        "Pods" => Source::Pods { metric: name },
        "Object" => Source::Object { metric: name, kind: "Ingress".into(), namespace: "ns".into(), name: "i".into() },
        other => panic!("{other}"),
    };
    let target = match input["target_type"].as_str().unwrap() {
        "Utilization" => Target::Utilization(int(&input["target_utilization_percent"])),
        "AverageValue" => Target::AverageValue(input["target_milli"].as_i64().unwrap()),
        _ => Target::Value(input["target_milli"].as_i64().unwrap()),
    };
    let reading = if input["metric_unavailable"] == true {
        Reading::Unavailable("no metrics available".into())
    } else if let Some(total) = input["object_value_milli"].as_i64() {
        Reading::Total(total)
    } else {
        let samples = input["samples"].as_object().into_iter().flatten().enumerate().map(|(number, (name, value))| {
            // Samples of pods that are not in the list come after it.
            let index = pods.iter().position(|pod| pod == name).unwrap_or(pods.len() + number);
            (u32::try_from(index).unwrap(), sample(value))
        });
        Reading::PerPod(samples.collect())
    };
    Metric { source, target, reading }
}

fn sample(input: &Value) -> Sample {
    Sample {
        value: input["value_milli"].as_i64().unwrap(),
        at: ago(&input["age_s"]),
        window: seconds(&input["window_s"]),
    }
}

pub fn rules(input: &Value) -> Rules {
    Rules {
        window_seconds: input["stabilizationWindowSeconds"].as_i64().map(|s| i32::try_from(s).unwrap()),
        select: match input["selectPolicy"].as_str() {
            Some("Min") => Select::Min,
            Some("Disabled") => Select::Disabled,
            _ => Select::Max,
        },
        policies: input["policies"].as_array().into_iter().flatten().map(policy).collect(),
        tolerance: None,
    }
}

fn policy(input: &Value) -> Policy {
    Policy {
        unit: if input["type"] == "Pods" { Unit::Pods } else { Unit::Percent },
        value: int(&input["value"]),
        period_seconds: int(&input["periodSeconds"]),
    }
}

pub fn behavior(input: &Value) -> Option<Behavior> {
    (!input.is_null()).then(|| Behavior { up: rules(&input["scaleUp"]), down: rules(&input["scaleDown"]) })
}

pub fn events(input: &Value) -> Vec<Event> {
    let events = input.as_array().unwrap().iter();
    events.map(|event| Event { change: int(&event["change"]), at: ago(&event["age_s"]) }).collect()
}
