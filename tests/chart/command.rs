//! The program accepts the chart's arguments and probes: with the real parser and the real router.

use std::sync::Arc;

use clap::{CommandFactory as _, Parser as _};
use fhpa::cli::Cli;
use fhpa::runtime::{admin, metrics::Metrics};
use http::{Request, StatusCode};
use serde_json::Value;
use tower::ServiceExt as _;

use super::engine::{self, Rendered};

/// Specs of pods, with the kind that has them.
pub fn pods(rendered: &Rendered) -> impl Iterator<Item = (&str, &Value)> {
    rendered.objects.iter().filter_map(|object| {
        let spec = match object["kind"].as_str().unwrap() {
            "Deployment" | "Job" => &object["spec"]["template"]["spec"],
            "Pod" => &object["spec"],
            _ => return None,
        };
        Some((object["metadata"]["name"].as_str().unwrap(), spec))
    })
}

/// Arguments of a pod's only container.
pub fn arguments(spec: &Value) -> Vec<&str> {
    let containers = spec["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    containers[0]["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect()
}

/// The value of `--name=value`.
pub fn argument<'a>(arguments: &[&'a str], name: &str) -> Option<&'a str> {
    arguments.iter().find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
}

#[test]
fn every_argument_is_understood() {
    let mut absent = Vec::new();
    for (case, rendered) in engine::rendered("arguments of the chart's pods, by the program's parser") {
        for (name, spec) in pods(rendered) {
            let arguments = arguments(spec);
            if Cli::command().find_subcommand(arguments[0]).is_none() {
                absent.push(arguments[0]);
                continue;
            }
            let parsed = Cli::try_parse_from([&["fhpa"], &arguments[..]].concat());
            assert!(parsed.is_ok(), "{case}, {name}: {}", parsed.unwrap_err());
        }
    }
    absent.sort_unstable();
    absent.dedup();
    for command in absent {
        assert!(["install", "uninstall", "doctor"].contains(&command), "there is no command {command}");
        eprintln!("ran without the arguments of `fhpa {command}`: this build has no such command");
    }
}

#[tokio::test]
async fn every_probe_asks_a_path_that_is_answered() {
    let router = admin::router(Arc::default(), Arc::new(Metrics::new()));
    for (case, rendered) in engine::rendered("paths of probes and scrapes") {
        let container = &rendered.one("Deployment")["spec"]["template"]["spec"]["containers"][0];
        let probes = ["livenessProbe", "readinessProbe"].map(|probe| {
            assert_eq!(container[probe]["httpGet"]["port"], "metrics", "{case}");
            &container[probe]["httpGet"]["path"]
        });
        let monitors = rendered.of("ServiceMonitor").map(|monitor| &monitor["spec"]["endpoints"][0]["path"]);
        for path in probes.into_iter().chain(monitors) {
            let request = Request::get(path.as_str().unwrap()).body(axum::body::Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), StatusCode::OK, "{case}: {path}");
        }
    }
}
