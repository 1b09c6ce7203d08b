//! `fhpa plan` of Centralized objects: from scenarios and from manifests.

use serde_json::Value;

use super::command::{Outcome, fhpa, fhpa_with_input};

const HPA: &str = "\
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: shop}
spec:
  mode: Centralized
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 20
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}
---
";

fn told(scenario: &str, args: &[&str]) -> Outcome {
    fhpa_with_input(&[&["plan", "-"], args].concat(), format!("{HPA}{scenario}").as_bytes())
}

fn plan(scenario: &str) -> Value {
    let outcome = told(scenario, &["-o", "json"]);
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    serde_json::from_str::<Value>(&outcome.stdout).unwrap()[0].clone()
}

fn refused(scenario: &str) -> String {
    let outcome = told(scenario, &[]);
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", 1), "{}", outcome.stderr);
    outcome.stderr
}

fn condition<'a>(plan: &'a Value, type_: &str) -> &'a Value {
    plan["conditions"].as_array().unwrap().iter().find(|one| one["type"] == type_).unwrap()
}

#[test]
fn the_load_of_all_clusters_is_one_number() {
    let plan = plan(
        "kind: PlanScenario\nclusters:\n  m1: {current: 4, metrics: {cpu: 100%}}\n  m2: {current: 2, metrics: {cpu: 25%}}\n",
    );
    assert_eq!((&plan["mode"], &plan["currentReplicas"]), (&"Centralized".into(), &6.into()));
    // (4 x 100% + 2 x 25%) / 6 = 75%; 6 x 75 / 50 = 9.
    assert_eq!(plan["metrics"][0]["averageUtilization"], 75);
    assert_eq!(plan["metrics"][0]["proposedReplicas"], 9);
    assert_eq!((&plan["desiredReplicas"], &plan["settledReplicas"]), (&9.into(), &9.into()));
    assert_eq!(plan["clusters"][1]["metrics"][0]["averageUtilization"], 25);
    assert_eq!(condition(&plan, "ScalingActive")["reason"], "ValidMetricFound");
}

#[test]
fn fewer_replicas_wait_for_the_window_and_the_plan_says_what_comes_then() {
    let idle = "kind: PlanScenario\nclusters: {m1: {current: 8, metrics: {cpu: 10%}}}\n";
    let plan = plan(idle);
    assert_eq!((&plan["desiredReplicas"], &plan["settledReplicas"]), (&8.into(), &2.into()));
    assert_eq!(condition(&plan, "AbleToScale")["reason"], "ScaleDownStabilized");
    let text = told(idle, &[]).stdout;
    assert!(text.contains("Result: 8 replicas stay\n"), "{text}");
    assert!(text.contains("nothing else has changed: 8 -> 2 replicas\n"), "{text}");
}

#[test]
fn a_cluster_that_does_not_answer_keeps_the_replicas_from_falling() {
    for silent in
        ["{current: 4, state: NotReady, metrics: {cpu: 10%}}", "{current: 4}", "{current: 4, metrics: {cpu: }}"]
    {
        let plan = plan(&format!(
            "kind: PlanScenario\nclusters:\n  m1: {{current: 4, metrics: {{cpu: 10%}}}}\n  m2: {silent}\n"
        ));
        assert_eq!((&plan["desiredReplicas"], &plan["settledReplicas"]), (&8.into(), &8.into()), "{silent}");
        let active = condition(&plan, "ScalingActive");
        assert_eq!((&active["status"], &active["reason"]), (&"True".into(), &"PartialMetrics".into()), "{silent}");
        assert!(plan["notes"][0]["message"].as_str().unwrap().starts_with("m2: "), "{silent}");
    }
}

#[test]
fn without_any_metrics_nothing_is_written() {
    let plan = plan("kind: PlanScenario\nclusters: {m1: {current: 4}}\n");
    assert_eq!(plan["desiredReplicas"], 4);
    let active = condition(&plan, "ScalingActive");
    assert_eq!((&active["status"], &active["reason"]), (&"False".into(), &"FailedGetResourceMetric".into()));
    assert!(plan["metrics"][0]["unavailable"].as_str().unwrap().contains("cpu is not given"));
}

#[test]
fn bounds_decide_outside_of_them_and_none_without_replicas() {
    let of =
        |replicas: i32| plan(&format!("kind: PlanScenario\nreplicas: {replicas}\nclusters: {{m1: {{current: 4}}}}\n"));
    let above = of(30);
    assert_eq!((&above["desiredReplicas"], above["metrics"].as_array().unwrap().len()), (&20.into(), 0));
    assert_eq!(above["reason"], "Current number of replicas above Spec.MaxReplicas");
    assert_eq!(of(1)["desiredReplicas"], 2);
    let none = of(0);
    assert_eq!(none["desiredReplicas"], 0);
    assert_eq!(condition(&none, "ScalingActive")["reason"], "ScalingDisabled");
}

#[test]
fn duplicated_replicas_are_those_of_one_cluster() {
    let placement = "placement: {replicaScheduling: {replicaSchedulingType: Duplicated}}\n";
    let clusters = "clusters:\n  m1: {current: 4, metrics: {cpu: 100%}}\n  m2: {current: 4, metrics: {cpu: 100%}}\n";
    let plan = plan(&format!("kind: PlanScenario\n{placement}{clusters}"));
    assert_eq!((&plan["currentReplicas"], &plan["desiredReplicas"]), (&4.into(), &8.into()));
}

#[test]
fn requests_of_the_workload_make_a_utilization_of_a_quantity() {
    let workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec:\n  replicas: 4\n  template:\n    \
                    spec: {containers: [{name: app, resources: {requests: {cpu: 200m}}}]}\n---\n";
    let plan =
        plan(&format!("{workload}kind: PlanScenario\nclusters: {{m1: {{current: 4, metrics: {{cpu: 150m}}}}}}\n"));
    let cpu = &plan["metrics"][0];
    assert_eq!((&cpu["averageUtilization"], &cpu["averageValue"]), (&75.into(), &"150m".into()));
    assert_eq!(plan["desiredReplicas"], 6);
}

#[test]
fn metrics_that_mean_nothing_are_refused_with_their_path() {
    let of = |metrics: &str| {
        refused(&format!("kind: PlanScenario\nclusters: {{m1: {{current: 4, metrics: {{{metrics}}}}}}}\n"))
    };
    let said = "fhpa plan: clusters.m1.metrics.cpuu: the FederatedHPA has no such metric: cpu\n";
    assert_eq!(of("cpuu: 10%"), said);
    assert!(of("cpu: fast").contains("clusters.m1.metrics.cpu: \"fast\" is neither a quantity"), "{}", of("cpu: fast"));
    assert!(of("cpu: 150m").contains("give the workload, whose requests it is compared with"));
    assert!(of("cpu: [10%]").contains("write one value for all pods, or one for each"));
}

#[test]
fn text_json_and_yaml_say_the_same() {
    let file = "examples/plan/one-computation.yaml";
    let json = fhpa(&["plan", "-o", "json", file]);
    let yaml = fhpa(&["plan", "-o", "yaml", file]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json, serde_saphyr::from_str::<Value>(&yaml.stdout).unwrap());
    insta::assert_snapshot!("plan_centralized_json", format!("{json:#}"));
}

#[test]
fn manifests_without_measurements_say_what_is_missing() {
    let outcome = fhpa_with_input(
        &["plan", "tests/cli/manifests/centralized.yaml", "examples/plan/shop/clusters.yaml", "-"],
        b"kind: PlanScenario\nplacement: {}\n",
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    assert!(
        outcome.stdout.contains("Result: 0 replicas stay\n  ScalingActive=False ScalingDisabled"),
        "{}",
        outcome.stdout
    );
}

/// The replicas that a plan ends with: the object has this metric, and the clusters of the scenario a placement of this
/// type.
fn settled(metric: &str, min: i32, placement: &str, scenario: &str) -> i64 {
    let hpa = HPA.replace(CPU, metric).replace("minReplicas: 2", &format!("minReplicas: {min}"));
    let placement = format!("placement: {{replicaScheduling: {{replicaSchedulingType: {placement}}}}}");
    let text = format!("{hpa}kind: PlanScenario\n{placement}\n{scenario}");
    let outcome = fhpa_with_input(&["plan", "-", "-o", "json"], text.as_bytes());
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0), "{}", outcome.stdout);
    let plan = serde_json::from_str::<Value>(&outcome.stdout).unwrap()[0].clone();
    plan["settledReplicas"].as_i64().unwrap()
}

const CPU: &str = "type: Resource\n    resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}";

fn queue(target: &str) -> String {
    format!("type: External\n    external: {{metric: {{name: queue}}, target: {{{target}}}}}")
}

#[test]
fn a_cluster_without_its_pods_takes_none_from_the_others() {
    let above = "clusters:\n  m1: {current: 10, metrics: {cpu: 60%}}\n  m2: {current: 0, metrics: {cpu: 60%}}\n";
    assert_eq!(settled(CPU, 2, "Duplicated", above), 10, "above the target");
    let waiting = |cpu: i32| {
        format!(
            "clusters:\n  m1: {{current: 10, metrics: {{cpu: {cpu}%}}}}\n  m2: {{current: 10, ready: 0, metrics: {{cpu: 1%}}}}\n"
        )
    };
    assert_eq!(settled(CPU, 2, "Duplicated", &waiting(42)), 10);
    // m1 needs 4 pods, and each cluster runs what is asked for.
    assert_eq!(settled(CPU, 2, "Duplicated", &waiting(20)), 7);
}

#[test]
fn pods_that_wait_in_one_cluster_cost_no_ready_pod_that_is_needed_in_another() {
    let waiting = |cpu: i32| {
        format!(
            "clusters:\n  m1: {{current: 5, metrics: {{cpu: {cpu}%}}}}\n  m2: {{current: 5, ready: 0, metrics: {{cpu: 1%}}}}\n"
        )
    };
    assert_eq!(settled(CPU, 2, "Divided", &waiting(42)), 10);
    // m1 needs 2 of its 5 pods: (2 + 5) / 2 remain there.
    assert_eq!(settled(CPU, 2, "Divided", &waiting(20)), 7);
    let queued = |value: i32| {
        format!("metrics: {{queue: {value}}}\nclusters:\n  m1: {{current: 5}}\n  m2: {{current: 5, ready: 0}}\n")
    };
    let value = queue("type: Value, value: 10");
    assert_eq!(settled(&value, 2, "Divided", &queued(15)), 10, "above the target nothing is removed");
    assert_eq!(settled(&value, 2, "Divided", &queued(30)), 15);
    assert_eq!(settled(&value, 2, "Divided", &queued(5)), 8, "half of the ready pods and those that wait");
    let average = queue("type: AverageValue, averageValue: 1");
    assert_eq!(settled(&average, 2, "Divided", &queued(3)), 8, "3 that are needed and 5 that wait");
}

#[test]
fn pods_of_one_cluster_count_as_kubernetes_counts_them() {
    let waiting = "clusters:\n  m1: {current: 10, ready: 5, metrics: {cpu: 40%}}\n";
    assert_eq!(settled(CPU, 2, "Divided", waiting), 4);
    let queued = "metrics: {queue: 15}\nclusters:\n  m1: {current: 10, ready: 5}\n";
    assert_eq!(settled(&queue("type: Value, value: 10"), 2, "Divided", queued), 8);
}

#[test]
fn a_cluster_that_lists_no_metrics_of_its_ready_pods_is_missing_data() {
    let qps = "type: Pods\n    pods: {metric: {name: qps}, target: {type: AverageValue, averageValue: 10}}";
    let silent = "clusters:\n  m1: {current: 5, metrics: {qps: 1}}\n  m2: {current: 5, metrics: {qps: []}}\n";
    assert_eq!(settled(qps, 2, "Divided", silent), 10);
    let unready =
        "clusters:\n  m1: {current: 5, metrics: {qps: 1}}\n  m2: {current: 5, ready: 0, metrics: {qps: []}}\n";
    assert_eq!(settled(qps, 2, "Divided", unready), 6, "pods that do not serve have no load");
}

#[test]
fn a_workload_at_zero_wakes_where_it_may_be_there() {
    let waiting = "metrics: {queue: 100}\nclusters:\n  m1: {current: 0}\n  m2: {current: 0}\n";
    let value = queue("type: Value, value: 10");
    assert_eq!(settled(&value, 0, "Divided", waiting), 4, "as fast as it may");
    assert_eq!(settled(&value, 1, "Divided", waiting), 0, "its user sent it there");
}
