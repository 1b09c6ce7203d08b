//! The output of `--help`.

use super::command::fhpa;

fn help(command: &[&str]) -> String {
    let outcome = fhpa(&[command, &["--help"]].concat());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    outcome.stdout
}

#[test]
fn the_command_explains_itself() {
    insta::assert_snapshot!("fhpa", help(&[]));
}

#[test]
fn validate_explains_itself() {
    insta::assert_snapshot!("fhpa_validate", help(&["validate"]));
}

#[test]
fn plan_explains_itself() {
    insta::assert_snapshot!("fhpa_plan", help(&["plan"]));
}

#[test]
fn simulate_explains_itself() {
    insta::assert_snapshot!("fhpa_simulate", help(&["simulate"]));
}

#[test]
fn try_explains_itself() {
    insta::assert_snapshot!("fhpa_try", help(&["try"]));
}

#[test]
fn the_processes_explain_themselves() {
    for command in ["webhook", "controller", "run"] {
        insta::assert_snapshot!(format!("fhpa_{command}"), help(&[command]));
    }
}

#[test]
fn the_installation_explains_itself() {
    for command in ["install", "uninstall", "recover", "doctor", "drill", "status", "dashboard"] {
        insta::assert_snapshot!(format!("fhpa_{command}"), help(&[command]));
    }
}

#[test]
fn completions_explains_itself() {
    insta::assert_snapshot!("fhpa_completions", help(&["completions"]));
}

#[test]
fn help_is_asked_for_in_both_ways() {
    assert_eq!(fhpa(&["help", "plan"]).stdout, help(&["plan"]));
}

#[test]
fn the_version_is_that_of_the_crate() {
    assert_eq!(fhpa(&["--version"]).stdout, concat!("fhpa ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_misspelt_command_is_suggested() {
    let outcome = fhpa(&["valdate", "shop.yaml"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("a similar subcommand exists: 'validate'"), "{}", outcome.stderr);
}
