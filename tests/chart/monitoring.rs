//! Alerts and dashboard use series that the program has, and each alert has its runbook.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::time::Duration;

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::admission::router::Outcome;
use fhpa::run::review_metrics::ReviewMetrics;
use fhpa::runtime::metrics::{Code, Format, HandshakeFailure, Metrics, ObjectFigures, Verb};
use jiff::Timestamp;
use serde_json::Value;

use super::documents::guides;
use super::package::said;
use super::{engine, text};
use crate::rig::absent::without;

/// Values of each label of each series.
pub type Series = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Labels that the one who scrapes adds.
const ADDED: [&str; 3] = ["namespace", "job", "pod"];

/// Metrics of which each has a series, with all labels that the code can give it; of HTTP statuses and kinds some.
pub fn filled() -> Metrics {
    let (metrics, reviews) = Metrics::with(ReviewMetrics::new);
    for endpoint in Endpoint::ALL {
        for operation in Operation::ALL {
            for outcome in Outcome::ALL {
                reviews.reviewed(endpoint, operation, outcome, Duration::from_micros(30));
            }
        }
    }
    reviews.denied("schedule");
    metrics.certificate_is_valid(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
    for reason in [
        HandshakeFailure::Timeout,
        HandshakeFailure::Protocol,
        HandshakeFailure::ClientCertificate,
        HandshakeFailure::Disconnected,
    ] {
        metrics.handshake_failed(reason);
    }
    for (status, reason) in [("True", "TooManyReplicas"), ("False", "ScalingDisabled"), ("Unknown", "ScalingDisabled")]
    {
        let conditions = ["Assigned", "Ready", "ScalingActive", "AbleToScale", "ScalingLimited"];
        let said = conditions.map(|condition| (condition, status, reason));
        metrics.controller().conditions.set(status, said.into_iter());
    }
    let upstream = [("Ready", "False", "UpstreamControllersRunning")];
    metrics.controller().conditions.set("upstream", upstream.into_iter());
    metrics.controller().conditions.set("covered", [("FailoverCovered", "False", "RoomMissing")].into_iter());
    metrics.controller().uncovered("member1", 1);
    metrics.controller().conditions.set("suspended", [("Ready", "True", "Suspended")].into_iter());
    metrics.controller().cron_unready("TargetNotFound".to_owned(), 1);
    metrics.controller().objects.limit(1);
    for mode in ["Distributed", "Centralized"] {
        let conditions = vec![("Ready".to_owned(), "True".to_owned())];
        let figures = ObjectFigures { mode, conditions, ..ObjectFigures::default() };
        metrics.controller().objects.set(("prod", mode), &figures);
    }
    metrics.watch_failed("FederatedHPA");
    metrics.watch_fails("FederatedHPA", true);
    metrics.known("FederatedHPA", 1);
    let definition = "CustomResourceDefinition federatedhpas.autoscaling.karmada.io";
    metrics.guard().in_sync(definition, true);
    metrics.guard().drift_conflict(definition, false);
    metrics.guard().drift_corrected(definition);
    metrics.guard().reviews_optional(definition, true);
    for code in [
        Code::Status(401),
        Code::Status(403),
        Code::Status(429),
        Code::Status(503),
        Code::Error,
        Code::Timeout,
        Code::Canceled,
    ] {
        metrics.requests().requested(Verb::Get, code, Duration::from_millis(1));
    }
    metrics
}

/// All series.
pub fn series() -> Series {
    let metrics = filled();
    let mut series = Series::new();
    for line in metrics.text().lines().filter(|line| !line.starts_with('#')) {
        let (head, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = head.split_once('{').unwrap_or((head, "}"));
        let known = series.entry(name.to_owned()).or_default();
        for (label, value) in labels.trim_end_matches('}').split(',').filter_map(|pair| pair.split_once('=')) {
            known.entry(label.to_owned()).or_default().insert(value.trim_matches('"').to_owned());
        }
    }
    series
}

/// Names of our series in an expression, each with its matchers.
fn selectors(expression: &str) -> Vec<(&str, &str)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = expression.match_indices("fhpa_").filter(|(at, _)| !expression[..*at].ends_with(word));
    starts
        .map(|(at, _)| {
            let rest = &expression[at..];
            let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
            let (name, rest) = rest.split_at(end);
            let matchers =
                rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(inside, _)| inside);
            (name, matchers)
        })
        .collect()
}

/// What an expression asks for in vain.
fn in_vain(expression: &str, series: &Series) -> Vec<String> {
    let mut vain = Vec::new();
    for (name, matchers) in selectors(expression) {
        let Some(labels) = series.get(name) else {
            vain.push(name.to_owned());
            continue;
        };
        for matcher in matchers.split(',').filter(|matcher| !matcher.is_empty()) {
            let (label, wanted) = matcher.split_once('=').unwrap();
            let wanted = wanted.trim_start_matches('~').trim_matches('"');
            if ADDED.contains(&label) {
                continue;
            }
            let Some(values) = labels.get(label) else {
                vain.push(format!("{name}{{{label}}}"));
                continue;
            };
            let meets = |wanted: &str| {
                let same = |value: &String| {
                    let mut pairs = value.chars().zip(wanted.chars());
                    value.len() == wanted.len() && pairs.all(|(is, asked)| is == asked || asked == '.')
                };
                values.iter().any(same)
            };
            vain.extend(
                wanted.split('|').filter(|wanted| !meets(wanted)).map(|wanted| format!("{name}{{{label}={wanted}}}")),
            );
        }
    }
    vain
}

fn alerts() -> Vec<Value> {
    let written: Value = serde_saphyr::from_str(&text("charts/fhpa/files/alerts.yaml")).unwrap();
    let groups = written["groups"].as_array().unwrap().iter();
    groups.flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_series_that_exist() {
    let series = series();
    let dashboard: Value = serde_json::from_str(&text("charts/fhpa/files/dashboard.json")).unwrap();
    let panels =
        dashboard["panels"].as_array().unwrap().iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let alerts = alerts();
    let expressions = alerts.iter().chain(panels).map(|one| one["expr"].as_str().unwrap());
    let mut asked = 0;
    for expression in expressions {
        assert_eq!(in_vain(expression, &series), [""; 0], "{expression}");
        assert!(expression.matches('(').count() == expression.matches(')').count(), "{expression}");
        asked += selectors(expression).len();
    }
    assert!(asked > 40, "{asked}");
}

#[test]
fn a_series_that_nobody_writes_is_seen() {
    let series = series();
    let told = |expression| in_vain(expression, &series).join(" ");
    assert_eq!(told("sum(fhpa_cron_runs_total) > 0"), "fhpa_cron_runs_total");
    assert_eq!(told(r#"fhpa_events_total{job="fhpa",result="lost"}"#), "fhpa_events_total{result=lost}");
    assert_eq!(told(r#"fhpa_leader{shard="1"}"#), "fhpa_leader{shard}");
    assert_eq!(told(r#"rate(fhpa_api_requests_total{code=~"5..|error"}[5m])"#), "");
}

/// Rules without annotations, which the expectations leave out.
fn bare_rules() -> Value {
    let mut rules: Value = serde_saphyr::from_str(&text("charts/fhpa/files/alerts.yaml")).unwrap();
    for group in rules["groups"].as_array_mut().unwrap() {
        for rule in group["rules"].as_array_mut().unwrap() {
            rule.as_object_mut().unwrap().remove("annotations");
        }
    }
    rules
}

#[test]
fn every_alert_is_seen_to_fire_by_a_test_of_promtool() {
    let tests: Value = serde_saphyr::from_str(&text("tests/chart/alerts.yaml")).unwrap();
    let expectations =
        tests["tests"].as_array().unwrap().iter().flat_map(|test| test["alert_rule_test"].as_array().unwrap());
    let fires = expectations.filter(|one| !one["exp_alerts"].as_array().unwrap().is_empty());
    let fires: BTreeSet<&str> = fires.map(|one| one["alertname"].as_str().unwrap()).collect();
    let alerts = alerts();
    let named: BTreeSet<&str> = alerts.iter().map(|alert| alert["alert"].as_str().unwrap()).collect();
    assert_eq!(named, fires);
}

#[test]
fn alerts_fire_and_stop_as_their_tests_say() {
    let mut version = Command::new("promtool");
    version.arg("--version");
    if let Err(why) = said(version) {
        let shows = "alerts that fire and stop, metrics in a form that Prometheus accepts";
        return without("promtool", shows, &format!("put it on PATH, {why}"));
    }
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("alerts.yaml"), bare_rules().to_string()).unwrap();
    std::fs::write(directory.path().join("tests.yaml"), text("tests/chart/alerts.yaml")).unwrap();
    let mut check = Command::new("promtool");
    check.current_dir(directory.path()).args(["test", "rules", "tests.yaml"]);
    let answer = said(check).unwrap();
    assert!(answer.contains("SUCCESS"), "{answer}");
    let scrape = directory.path().join("scrape");
    std::fs::write(&scrape, filled().scrape(Format::Text)).unwrap();
    let mut lint = Command::new("promtool");
    lint.args(["check", "metrics"]).stdin(std::fs::File::open(scrape).unwrap());
    assert_eq!(said(lint), Ok(String::new()));
}

#[test]
fn every_alert_of_a_release_speaks_of_that_release_only() {
    let Some(full) = engine::case("full", "alerts of a release") else { return };
    let rule = full.one("PrometheusRule");
    for alert in rule["spec"]["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap())
    {
        for (name, matchers) in selectors(alert["expr"].as_str().unwrap()) {
            assert!(matchers.starts_with(r#"namespace="autoscaling",job="scaler-metrics""#), "{name}{{{matchers}}}");
        }
        assert_eq!(alert["labels"]["team"], "scaling");
        assert_ne!(alert["labels"]["severity"], "none", "its own labels stay");
        let section = alert["alert"].as_str().unwrap().to_lowercase();
        let address = format!("https://runbooks.example.test/fhpa#{section}");
        assert_eq!(alert["annotations"]["runbook_url"], address.as_str());
    }
}

#[test]
fn every_alert_has_a_runbook_and_every_runbook_an_alert() {
    let guide = text("charts/fhpa/docs/runbooks.md");
    let sections: BTreeSet<&str> = guide.lines().filter_map(|line| line.strip_prefix("## Fhpa")).collect();
    let alerts = alerts();
    let named: BTreeSet<&str> =
        alerts.iter().map(|alert| alert["alert"].as_str().unwrap().strip_prefix("Fhpa").unwrap()).collect();
    assert_eq!(sections, named);
    for alert in &alerts {
        for say in ["summary", "description"] {
            assert!(alert["annotations"][say].is_string(), "{alert}");
        }
        assert!(["critical", "warning", "info"].contains(&alert["labels"]["severity"].as_str().unwrap()), "{alert}");
    }
}

#[test]
fn series_that_guides_name_exist() {
    let series = series();
    let mut named = 0;
    for guide in guides() {
        for (name, _) in selectors(&text(&guide)) {
            // A histogram is named without the endings of its series.
            let known = series.contains_key(name) || series.contains_key(&format!("{name}_bucket"));
            assert!(known, "{guide}: {name}");
            named += 1;
        }
    }
    assert!(named > 10, "{named}");
}

#[test]
fn panels_of_single_objects_show_a_bounded_number_of_them() {
    let dashboard: Value = serde_json::from_str(&text("charts/fhpa/files/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array()).flatten();
    let single: Vec<&str> =
        targets.filter_map(|target| target["expr"].as_str()).filter(|expr| expr.contains("federatedhpa)")).collect();
    assert!(single.iter().any(|expr| expr.contains("spec_max_replicas")), "none by pressure: {single:?}");
    for expr in single {
        assert!(expr.starts_with("topk(10, "), "{expr}");
    }
}
