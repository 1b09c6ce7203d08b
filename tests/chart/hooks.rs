//! The hooks, with the arguments of the chart, on a real API server.

use std::path::Path;
use std::process::Command;

use clap::CommandFactory as _;
use fhpa::cli::Cli;

use super::command::arguments;
use super::engine::{self, Rendered};
use crate::cluster::control_plane::ControlPlane;

/// Runs a hook, with these files in place of those that its pod has. Returns its exit code and all that it printed.
fn run(rendered: &Rendered, hook: &str, kubeconfig: &Path, ca: &Path) -> (Option<i32>, String) {
    let named = |job: &&serde_json::Value| job["metadata"]["labels"]["app.kubernetes.io/component"] == hook;
    let job = rendered.of("Job").find(named).unwrap();
    let arguments = arguments(&job["spec"]["template"]["spec"]);
    let here = arguments.into_iter().map(|argument| match argument.split_once('=') {
        Some(("--kubeconfig", _)) => format!("--kubeconfig={}", kubeconfig.display()),
        Some(("--ca-file", _)) => format!("--ca-file={}", ca.display()),
        _ => argument.to_owned(),
    });
    let output = Command::new(env!("CARGO_BIN_EXE_fhpa")).args(here).env_remove("KUBECONFIG").output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    (output.status.code(), said)
}

#[test]
fn the_hooks_register_what_the_chart_serves_and_take_it_back() {
    let shows = "the hooks of the chart on an API server";
    if ["install", "uninstall"].iter().any(|command| Cli::command().find_subcommand(command).is_none()) {
        eprintln!("ran without `fhpa install`: {shows} (this build has no such command)");
        return;
    }
    let Some(rendered) = engine::case("a certificate by cert-manager", shows) else { return };
    let Some(plane) = ControlPlane::own(shows) else { return };
    plane.install_karmada();
    plane.namespace("karmada-system");
    let authority = rcgen::generate_simple_self_signed(["fhpa.karmada-system.svc".to_owned()]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let ca = directory.path().join("ca.crt");
    std::fs::write(&ca, authority.cert.pem()).unwrap();

    for _ in 0..2 {
        let (code, said) = run(rendered, "install", &plane.kubeconfig(), &ca);
        assert_eq!(code, Some(0), "{said}");
    }
    let kinds = "validatingwebhookconfigurations,mutatingwebhookconfigurations";
    let urls = "-o=jsonpath={.items[*].webhooks[*].clientConfig.url}";
    let (_, registered) = plane.kubectl(&["get", kinds, urls], "");
    let registered: Vec<&str> = registered.split_whitespace().collect();
    assert!(registered.len() > 3, "{registered:?}");
    assert!(registered.iter().all(|url| url.starts_with("https://fhpa.karmada-system.svc:443/")), "{registered:?}");

    let (code, said) = run(rendered, "uninstall", &plane.kubeconfig(), &ca);
    assert_eq!(code, Some(0), "{said}");
    let (_, left) = plane.kubectl(&["get", kinds, "-o", "name"], "");
    assert!(!left.contains("fhpa"), "{left}");
}
