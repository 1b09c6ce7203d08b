//! `fhpa simulate`: its output for programs, and its messages for an invalid scenario.

use serde_json::Value;

use crate::cli::command::{Outcome, fhpa, fhpa_with_input};

const HPA: &str = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: shop}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 10
  federatedHPAAssignment: {federatedHPAAssignmentType: StaticWeighted}
---
";

const SMALL: &str = "\
kind: Simulation
duration: 4m
sample: 1m
clusters: {m1: {capacity: 4, replicas: 1}, m2: {capacity: 9, replicas: 1}}
load: {points: [{at: 0s, replicas: 1.5}, {at: 30s, replicas: 6, ramp: 30s}]}
faults: [{what: ClusterDown, cluster: m1, from: 2m, to: 3m}]
";

fn simulated(scenario: &str, args: &[&str]) -> Outcome {
    fhpa_with_input(&[&["simulate", "-"], args].concat(), format!("{HPA}{scenario}").as_bytes())
}

#[test]
fn programs_read_a_run_as_csv_and_as_json() {
    let csv = simulated(SMALL, &["-o", "csv"]);
    assert_eq!((csv.stderr.as_str(), csv.code), ("", 0));
    insta::assert_snapshot!("simulate_csv", csv.stdout);
    let json: Value = serde_json::from_str(&simulated(SMALL, &["-o", "json"]).stdout).unwrap();
    let samples = json["samples"].as_array().unwrap();
    assert_eq!(samples.len(), csv.stdout.lines().count() - 1);
    assert_eq!(samples[0]["load"], 1.5);
    assert_eq!(json["events"][0]["event"], "m1 down");
    assert_eq!(json["figures"]["peakSumOfMax"], 10);
    let compared = simulated(SMALL, &["-o", "json", "--compare"]);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(compared[0]["figures"]["decisions"], json["figures"]["decisions"]);
}

#[test]
fn a_comparison_is_drawn_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.svg");
    let outcome = simulated(SMALL, &["--compare", "-o", "csv", "--chart", file.to_str().unwrap()]);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    let drawn = std::fs::read_to_string(file).unwrap();
    let runs = outcome.stdout.lines().count() - 1;
    let rows: Vec<&str> = outcome.stdout.lines().skip(1).collect();
    let centralized = rows.iter().find(|row| row.starts_with("\"Centralized, StaticWeighted\",")).unwrap();
    let cells: Vec<&str> = centralized.rsplit(',').collect();
    assert_eq!((cells[2], cells.len()), ("", 10), "no bounds to add up, and a comma in the name: {centralized}");
    assert!(runs >= 5 && drawn.starts_with("<svg") && drawn.matches(" served, ").count() == runs);
}

#[test]
fn all_that_is_wrong_with_a_scenario_is_said_at_once() {
    let outcome = simulated(
        "kind: Simulation\nduration: soon\nsampel: 5m\nclusters:\n  m1: {capacity: -1, replicas: 2}\n  \
         m2: {nodes: {capacity: 5, delay: 2d}, count: 0}\nload:\n  points: [{at: 5m, replicas: 1.2345}, {at: 1m}]\n  \
         shares: {m3: 1}\nfaults:\n- {what: ClusterDwon, cluster: m1, from: 2m, to: 1m}\n- {what: ClusterDown, from: 1m}\n\
         timing: {hpaSync: 0s}\nplacement: {replicaScheduling: 5}\n",
        &[],
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 1));
    insta::assert_snapshot!("simulate_wrong", outcome.stdout);
}

#[test]
fn what_is_missing_is_said() {
    let said = |input: &str| {
        let outcome = fhpa_with_input(&["simulate", "-"], input.as_bytes());
        assert_eq!(outcome.code, 1, "{}{}", outcome.stdout, outcome.stderr);
        format!("{}{}", outcome.stdout, outcome.stderr)
    };
    assert!(said(SMALL).contains("no FederatedHPA: give one"));
    assert!(said(HPA).contains("no scenario: give a document of `kind: Simulation`"));
    assert!(said(&format!("{HPA}{SMALL}---\n{SMALL}")).contains("more than one document of `kind: Simulation`"));
    assert!(said(&format!("{HPA}kind: Simulation\n")).contains("name at least one, with its capacity in replicas"));
    assert!(said(&HPA.replace("maxReplicas: 10", "maxReplicas: 1")).contains("maxReplicas"));
}

#[test]
fn a_load_may_stand_in_a_file_beside_the_scenario() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let scenario =
        SMALL.replace("{points: [{at: 0s, replicas: 1.5}, {at: 30s, replicas: 6, ramp: 30s}]}", "{file: day.csv}");
    std::fs::write(at("scenario.yaml"), format!("{HPA}{scenario}")).unwrap();
    let run = || fhpa(&["simulate", at("scenario.yaml").to_str().unwrap(), "-o", "json"]);
    assert!(run().stdout.contains("cannot be read"));
    std::fs::write(at("day.csv"), "time,replicas\n0s,1.5\n30s,1.5\n1m,6\n").unwrap();
    let outcome = run();
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let points: Value = serde_json::from_str(&simulated(SMALL, &["-o", "json"]).stdout).unwrap();
    assert_eq!(json["samples"], points["samples"]);
    std::fs::write(at("day.csv"), "0s,1\nnoon,2\n").unwrap();
    assert!(run().stdout.contains("line 2: write TIME,REPLICAS"));
}

#[test]
fn a_chart_that_cannot_be_written_is_an_error() {
    let outcome = simulated(SMALL, &["--chart", "no-such-folder/chart.svg"]);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 2));
    assert!(outcome.stderr.starts_with("fhpa simulate: no-such-folder/chart.svg: "), "{}", outcome.stderr);
    let outcome = simulated(SMALL, &["--chart", "chart.jpg"]);
    assert!(outcome.stderr.contains("charts are drawn as SVG or PNG"), "{}", outcome.stderr);
}

#[test]
fn a_chart_is_drawn_as_pixels_with_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let outcome = simulated(SMALL, &["--chart", &file("day.png")]);
    if outcome.stderr.contains("no font is installed") {
        assert_eq!((outcome.code, folder.path().join("day.png").exists()), (2, false));
        return crate::rig::absent::without("fonts", "a chart as PNG", "install any font");
    }
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    let png = std::fs::read(file("day.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    assert_eq!((number(16), number(20)), (2 * 960, 2 * 620));
    assert_eq!(simulated(SMALL, &["--chart", &file("day.svg")]).code, 0);
    // Without its text it would be smaller.
    let svg = std::fs::read_to_string(file("day.svg")).unwrap();
    assert!(svg.contains("<text") && png.len() > 40_000, "{}", png.len());
}
