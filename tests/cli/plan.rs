//! `fhpa plan`: from scenarios and from manifests, as text and for programs.

use std::fs;

use serde_json::{Value, json};

use super::command::{fhpa, fhpa_with_input};

/// Text and exit code.
fn plan(args: &[&str]) -> (String, i32) {
    let outcome = fhpa(&[&["plan"], args].concat());
    assert_eq!(outcome.stderr, "");
    (outcome.stdout, outcome.code)
}

/// What is said when there is no plan.
fn refused(args: &[&str], input: &str, code: i32) -> String {
    let outcome = fhpa_with_input(&[&["plan"], args].concat(), input.as_bytes());
    assert_eq!((outcome.stdout.as_str(), outcome.code), ("", code), "{}", outcome.stderr);
    outcome.stderr
}

fn plan_of(file: &str) -> Value {
    let (text, code) = plan(&["-o", "json", &format!("examples/plan/{file}.yaml")]);
    assert_eq!(code, 0);
    serde_json::from_str::<Value>(&text).unwrap()[0].clone()
}

/// Bounds of those that have some, and replicas in the binding, as `m1 3..10 10, ...`.
fn numbers(file: &str) -> String {
    let plan = plan_of(file);
    let told = |row: &Value| {
        let bounds = row["bounds"].as_object()?;
        let name = row["name"].as_str()?;
        Some(format!("{name} {}..{} {}", bounds["minReplicas"], bounds["maxReplicas"], row["plannedReplicas"]))
    };
    plan["clusters"].as_array().unwrap().iter().filter_map(told).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_worked_examples_come_out_as_the_design_says() {
    for (file, expected) in [
        ("g1-duplicated", "m1 3..10 10, m2 3..10 10"),
        ("g2-candidates", "m1 3..10 6, m2 3..10 4, m3 3..10 10, m5 3..10 3"),
        ("g3-weights", "m1 1..1 1, m2 1..4 1, m3 1..5 2"),
        ("g3-weights-to-zero", "m1 1..1 0, m2 1..4 1, m3 1..5 2"),
        ("g4-weights-that-run", "m1 1..1 1, m2 1..4 4, m3 1..5 1"),
        ("g4-weights-that-run-to-zero", "m1 1..1 1, m2 1..4 4, m3 1..5 0"),
        ("g5-dynamic-weights", "m1 1..3 1, m2 5..15 5, m3 2..6 2"),
        ("g6-aggregated", "m1 8..20 8, m2 1..2 1, m3 1..2 1"),
        ("g7-priorities", "m1 8..23 15, m2 1..1 1"),
        ("g7-priorities-to-zero", "m1 8..23 15, m2 1..1 0"),
    ] {
        assert_eq!(numbers(file), expected, "{file}");
    }
}

#[test]
fn every_example_is_told_as_its_snapshot_says() {
    let entries = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/plan")).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 10);
    for name in names {
        let (text, code) = plan(&[&format!("examples/plan/{name}")]);
        assert_eq!(code, 0, "{name}: {text}");
        insta::assert_snapshot!(format!("plan_{}", name.trim_end_matches(".yaml")), text);
    }
}

#[test]
fn bounds_that_wait_for_the_same_are_lowered_before_others_are_raised() {
    let plan = plan_of("edit");
    let told = |step: &Value| {
        let wait = step["waitsFor"]["code"].as_str().unwrap_or("-").to_owned();
        format!("{} {} {wait}", step["cluster"].as_str().unwrap(), step["reason"]["code"].as_str().unwrap())
    };
    let steps: Vec<String> = plan["steps"].as_array().unwrap().iter().map(told).collect();
    let expected = [
        "m2 MaxLowered -",
        "m1 MaxRaised MaxLowered",
        "m2 MaxLowered ReplicasScaledDown",
        "m1 MaxRaised ReplicasScaledDown",
    ];
    assert_eq!(steps, expected);
}

#[test]
fn programs_read_the_same_as_json_and_as_yaml() {
    let (text, _) = plan(&["-o", "json", "examples/plan/edit.yaml"]);
    insta::assert_snapshot!("plan_json", text);
    let (yaml, code) = plan(&["-o", "yaml", "examples/plan/edit.yaml"]);
    assert_eq!(code, 0);
    let same: Value = serde_saphyr::from_str(&yaml).unwrap();
    assert_eq!(same, serde_json::from_str::<Value>(&text).unwrap());
}

#[test]
fn what_is_missing_is_said() {
    let shop = "examples/plan/shop";
    let file = |name: &str| format!("{shop}/{name}.yaml");
    let said = |names: &[&str]| {
        let files: Vec<String> = names.iter().map(|name| file(name)).collect();
        refused(&files.iter().map(String::as_str).collect::<Vec<_>>(), "", 1)
    };
    assert_eq!(said(&["workload", "policy", "clusters"]), "fhpa plan: no FederatedHPA: give one\n");
    assert_eq!(
        said(&["federatedhpa", "workload", "clusters"]),
        "fhpa plan: no placement: give the PropagationPolicy or the ResourceBinding of Deployment shop/shop\n"
    );
    assert_eq!(
        said(&["federatedhpa", "policy", "clusters"]),
        "fhpa plan: no placement: the policy shop selects by labels: give Deployment shop/shop too\n"
    );
    assert_eq!(
        said(&["federatedhpa", "workload", "policy"]),
        "fhpa plan: no member clusters: give them as `kubectl get clusters -o yaml` prints them, or in a PlanScenario\n"
    );
}

#[test]
fn a_policy_for_another_workload_is_no_placement() {
    let policy = "apiVersion: policy.karmada.io/v1alpha1\nkind: PropagationPolicy\nmetadata: {name: other, namespace: shop}\n\
                  spec: {resourceSelectors: [{apiVersion: apps/v1, kind: Deployment, name: other}]}\n";
    let said = refused(&["examples/plan/shop/federatedhpa.yaml", "-"], policy, 1);
    assert_eq!(
        said,
        "fhpa plan: no placement: give the PropagationPolicy or the ResourceBinding of Deployment shop/shop (the given policy \
         does not select it)\n"
    );
}

#[test]
fn a_member_that_a_scenario_does_not_have_is_refused() {
    let scenario = "kind: PlanScenario\nclusters:\n  m1: {availble: 5}\n";
    let said = refused(&["-"], scenario, 2);
    assert!(said.starts_with("fhpa plan: <stdin>:1: PlanScenario: clusters.m1.availble: unknown field"), "{said}");
}

#[test]
fn an_object_that_would_be_refused_is_told_as_by_validate() {
    let file = "examples/wrong/min-above-max.yaml";
    let (shown, code) = plan(&[file]);
    let validated = fhpa(&["validate", file]);
    assert_eq!((shown, code), (validated.stdout, validated.code));
    assert_eq!(code, 1);
}

#[test]
fn a_missing_file_is_unreadable() {
    let (shown, code) = plan(&["nope.yaml"]);
    assert_eq!(code, 2);
    assert!(shown.contains("there is no such file or directory"), "{shown}");
}

#[test]
fn what_looks_like_the_name_of_a_stored_object_is_told_how_to_be_one() {
    let hint = "a stored object is NAMESPACE/NAME with --kubeconfig";
    let (shown, code) = plan(&["shop/web"]);
    assert!(code == 2 && shown.contains(hint), "{shown}");
    assert!(!plan(&["shop/web.yaml"]).0.contains(hint), "a file");
}

#[test]
fn the_flag_of_kubectl_names_manifests_too() {
    let file = "examples/plan/g3-weights.yaml";
    assert_eq!(plan(&["-f", file]), plan(&[file]));
}

#[test]
fn a_binding_is_planned_from_where_it_stands() {
    let binding = r#"{"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "shop-deployment", "namespace": "shop",
            "annotations": {"clusterpropagationpolicy.karmada.io/name": "everything"}},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "shop"},
            "clusters": [{"name": "member1", "replicas": 3}],
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}},
        "status": {"aggregatedStatus": [{"clusterName": "member1",
            "status": {"replicas": 4, "readyReplicas": 4, "observedGeneration": 1}}]}}"#;
    let outcome = fhpa_with_input(
        &["plan", "examples/plan/shop/federatedhpa.yaml", "examples/plan/shop/clusters.yaml", "-"],
        binding.as_bytes(),
    );
    assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
    insta::assert_snapshot!("plan_binding", outcome.stdout);
}

#[test]
fn given_bindings_of_other_workloads_of_its_group_leave_their_clusters_to_a_workload_or_not() {
    let binding = |name: &str, namespace: &str, clusters: Value| {
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("{name}-deployment"), "namespace": namespace},
            "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace, "name": name},
                "workloadAffinityGroups": {"antiAffinityGroup": "team=x"}, "clusters": clusters,
                "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}}})
    };
    let planned = |namespace: &str| {
        let other = binding("other", namespace, json!([{"name": "member1", "replicas": 3}]));
        let both = format!("{}\n---\n{other}", binding("shop", "shop", json!([])));
        let files = ["plan", "examples/plan/shop/federatedhpa.yaml", "examples/plan/shop/clusters.yaml", "-"];
        let outcome = fhpa_with_input(&files, both.as_bytes());
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
        outcome.stdout
    };
    let has = |text: &str| text.lines().any(|line| line.starts_with("member1 "));
    assert!(has(&planned("elsewhere")) && !has(&planned("shop")), "{}", planned("shop"));
}

/// A value of a field of a binding that does nothing.
fn idle(field: &str) -> Value {
    match field {
        "components" => json!([{"name": "worker", "replicas": 7}]),
        "conflictResolution" => json!("Overwrite"),
        "preserveResourcesOnDeletion" | "propagateDeps" => json!(true),
        "replicas" => json!(99),
        "requiredBy" => {
            json!([{"namespace": "shop", "name": "other", "clusters": [{"name": "member2", "replicas": 5}]}])
        }
        "schedulePriority" => json!({"priority": 7}),
        "schedulerName" => json!("steering"),
        field => panic!("no value of {field} is known here"),
    }
}

#[test]
fn what_does_nothing_by_the_table_of_bindings_changes_no_plan() {
    let mut binding = json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "shop-deployment", "namespace": "shop"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": "shop"},
            "clusters": [{"name": "member1", "replicas": 3}], "replicas": 3, "schedulerName": "default-scheduler",
            "placement": {"replicaScheduling": {"replicaSchedulingType": "Divided"}}},
        "status": {"aggregatedStatus": [{"clusterName": "member1",
            "status": {"replicas": 4, "readyReplicas": 4, "observedGeneration": 1}}]}});
    let planned = |binding: &Value| {
        let files = ["plan", "examples/plan/shop/federatedhpa.yaml", "examples/plan/shop/clusters.yaml", "-"];
        let outcome = fhpa_with_input(&files, binding.to_string().as_bytes());
        assert_eq!((outcome.stderr.as_str(), outcome.code), ("", 0));
        outcome.stdout
    };
    let before = planned(&binding);
    let rows = crate::structure::placements::rows("Bindings");
    let idle_rows: Vec<&String> =
        rows.iter().filter(|(_, said)| said.starts_with("nothing")).map(|(field, _)| field).collect();
    assert!(idle_rows.len() > 5, "{rows:?}");
    for field in idle_rows {
        binding["spec"][field] = idle(field);
    }
    assert_eq!(planned(&binding), before);
    binding["spec"]["clusters"] = json!([]);
    assert_ne!(planned(&binding), before, "what does something");
}

#[test]
fn a_warning_of_the_rules_does_not_stand_in_the_way() {
    let hpa = "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {name: web, namespace: shop}\n\
               spec:\n  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  maxReplicas: 4\n  \
               scaleAssist: false\n  scalingToZero: true\n---\nkind: PlanScenario\nplacement: {}\nclusters: {m1: , m2: }\n";
    let outcome = fhpa_with_input(&["plan", "-"], hpa.as_bytes());
    assert_eq!(outcome.code, 0);
    assert!(outcome.stderr.starts_with("warning: <stdin>:8: spec.scalingToZero: "), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("m2       -         1    4    -        1        every cluster has the whole bounds"),
        "{}",
        outcome.stdout
    );
}
