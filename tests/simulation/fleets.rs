//! `fhpa simulate` of several workloads: its output for programs, and its messages for an invalid scenario.

use serde_json::Value;

use crate::cli::command::{Outcome, fhpa, fhpa_with_input};

const EXAMPLE: &str = "examples/simulate/fleet-cluster-lost.yaml";

fn hpa(name: &str) -> String {
    format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {{name: {name}, namespace: shop}}\n\
         spec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {name}}}\n  minReplicas: 2\n  \
         maxReplicas: 6\n  federatedHPAAssignment: {{federatedHPAAssignmentType: DynamicWeighted}}\n---\n"
    )
}

const SMALL: &str = "\
kind: Simulation
duration: 4m
sample: 1m
clusters: {m1: {allocatable: {cpu: 4}}, m2: {allocatable: {cpu: 4}, nodes: {allocatable: {cpu: 8}, step: {cpu: 2}, delay: 30s}}}
workloads:
- {name: web, requests: {cpu: 500m}, replicas: {m1: 1, m2: 1}, load: {points: [{at: 0s, replicas: 2}]}}
- {name: api, count: 2, federatedHPA: web, requests: {cpu: 1}, replicas: {m1: 2}, load: {points: [{at: 0s, replicas: 3.5}]}}
";

fn simulated(input: &str, args: &[&str]) -> Outcome {
    fhpa_with_input(&[&["simulate", "-"], args].concat(), input.as_bytes())
}

#[test]
fn programs_read_a_fleet_as_csv_and_as_json() {
    let input = format!("{}{SMALL}", hpa("web"));
    let csv = simulated(&input, &["-o", "csv"]);
    assert_eq!((csv.stderr.as_str(), csv.code), ("", 0), "{}", csv.stdout);
    insta::assert_snapshot!("simulate_fleet_csv", csv.stdout);
    let json: Value = serde_json::from_str(&simulated(&input, &["-o", "json"]).stdout).unwrap();
    let samples = json["samples"].as_array().unwrap();
    assert_eq!(samples.len(), csv.stdout.lines().count() - 1);
    assert_eq!(samples[0]["workloads"][1]["name"], "api-1");
    let seconds = |figures: &Value| figures["belowMinSeconds"].as_u64().unwrap();
    let workloads = json["figures"]["workloads"].as_array().unwrap();
    let sum: u64 = workloads.iter().map(|workload| seconds(&workload["figures"])).sum();
    assert_eq!(seconds(&json["figures"]["all"]), sum);
    assert!(json["events"].to_string().contains("m2 nodes +"), "{}", json["events"]);
}

#[test]
fn a_fleet_is_compared_with_what_else_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.svg");
    let input = format!("{}{SMALL}", hpa("web"));
    let outcome = simulated(&input, &["--compare", "-o", "json", "--chart", file.to_str().unwrap()]);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    let compared: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let runs: Vec<&str> = compared.as_array().unwrap().iter().map(|run| run["run"].as_str().unwrap()).collect();
    assert_eq!((runs[0], runs[5], runs.len()), ("fhpa", "optimum", 6));
    let alone: Value = serde_json::from_str(&simulated(&input, &["-o", "json"]).stdout).unwrap();
    assert_eq!(compared[0]["figures"], alone["figures"]);
    let csv = simulated(&input, &["--compare", "-o", "csv"]);
    assert_eq!(csv.stdout.lines().count(), 1 + 6 * (1 + 3), "{}", csv.stdout);
    let drawn = std::fs::read_to_string(file).unwrap();
    assert_eq!(drawn.matches(" s below min, ").count(), 6);
}

#[test]
fn with_room_for_all_the_example_loses_a_cluster_and_ends_complete() {
    let outcome = fhpa(&["simulate", EXAMPLE, "-o", "json"]);
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let last = json["samples"].as_array().unwrap().last().unwrap();
    let workloads = last["workloads"].as_array().unwrap();
    assert_eq!(workloads.len(), 20);
    for workload in workloads {
        assert!(workload["ready"].as_u64() >= workload["wanted"].as_u64(), "{workload}");
    }
}

#[test]
fn what_is_wrong_with_a_fleet_is_said_with_what_to_write() {
    let outcome = simulated(
        &format!(
            "{}{}kind: Simulation\nduration: 1h\nload: {{}}\nclusters:\n  m1: {{capacity: 4, replicas: 2}}\n  \
             m2: {{allocatable: {{cpu: much}}, nodes: {{capacity: 5}}}}\n  m3: {{allocatable: {{cpu: 4}}}}\nworkloads:\n- {{}}\n\
             - {{name: a, requests: {{gpu: 1}}, replicas: {{m4: 1, m3: -1}}, schedulePriority: high, load: {{points: []}}}}\n\
             - {{name: a, requests: {{cpu: 1}}, load: {{points: [{{at: 0s, replicas: 1}}]}}}}\ntiming: {{failoverInterval: 0s}}\n",
            hpa("web"),
            hpa("api")
        ),
        &[],
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 1));
    insta::assert_snapshot!("simulate_fleet_wrong", outcome.stdout);
    let said = |input: &str| {
        let outcome = simulated(input, &[]);
        assert_eq!(outcome.code, 1, "{}{}", outcome.stdout, outcome.stderr);
        format!("{}{}", outcome.stdout, outcome.stderr)
    };
    let two = format!("{}{}", hpa("web"), hpa("shop"));
    assert!(
        said(&format!("{two}{}", SMALL.replace("federatedHPA: web", "federatedHPA: wbe")))
            .contains("did you mean \"web\"")
    );
    let single = "kind: Simulation\nduration: 1m\nclusters: {m1: {allocatable: {cpu: 4}}}\nload: {points: [{at: 0s, replicas: 1}]}\n";
    assert!(said(&format!("{}{single}", hpa("web"))).contains("give the capacity of one workload in replicas"));
    let many = single.replace("allocatable: {cpu: 4}", "capacity: 4");
    assert!(said(&format!("{two}{many}")).contains("name the `workloads` of the scenario"));
    assert!(said(SMALL).contains("no FederatedHPA: give one"));
}
