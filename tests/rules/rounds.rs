//! One answer has all errors of an object: the mutating endpoint gives it before the API server checks the schema.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::decision::validation::Settings;
use serde_json::{Value, json};

use super::cases::{cron, federated, federated_with};
use super::world::{Others, create, review, reviewer_with, said};

/// The schema limits `maxReplicas`, and only the webhook knows kinds without replicas.
fn wrong() -> String {
    federated_with(r#""mode":"Distributed""#)
        .replace("Deployment", "DaemonSet")
        .replace(r#""maxReplicas":10"#, r#""maxReplicas":0"#)
}

#[test]
fn the_mutating_endpoint_denies_what_the_validating_one_denies_and_says_the_same() {
    let rule = r#"{"name":"a","schedule":"61 * * * *","targetReplicas":1}"#;
    for (mutate, validate, object) in [
        (Endpoint::MutateFederatedHPA, Endpoint::ValidateFederatedHPA, wrong()),
        (Endpoint::MutateCronFederatedHPA, Endpoint::ValidateCronFederatedHPA, cron(rule)),
    ] {
        let (early, late) = (create(mutate, &object), create(validate, &object));
        assert!(early.denial.is_some() && early.patch.is_empty());
        assert_eq!(early.denial, late.denial, "{object}");
    }
    let said = said(&create(Endpoint::MutateFederatedHPA, &wrong()));
    assert!(said.contains("spec.maxReplicas") && said.contains("spec.scaleTargetRef.kind"), "{said}");
}

#[test]
fn without_it_the_mutating_endpoint_only_completes() {
    let reviewer = reviewer_with(Others::default(), Settings { deny_early: false, ..Settings::default() });
    let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Create, &wrong(), None);
    assert_eq!(verdict.denial, None);
    assert!(!verdict.patch.is_empty());
}

#[test]
fn a_stored_error_is_let_through_in_the_mutating_endpoint_too() {
    let reviewer = reviewer_with(Others::default(), Settings::default());
    let update = |new: &str| review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Update, new, Some(&wrong()));
    assert_eq!(update(&wrong()).denial, None);
    let edited = wrong().replace(r#""minReplicas":2"#, r#""minReplicas":-1"#);
    assert_ne!(edited, wrong());
    let denied = said(&update(&edited));
    assert!(denied.contains("denied: spec.minReplicas"), "{denied}");
    let deleted = review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Delete, &wrong(), Some(&wrong()));
    assert_eq!(deleted.denial, None);
}

#[test]
fn values_of_the_wrong_type_are_told_with_all_other_errors() {
    let object = federated(
        r#"{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"DaemonSet","name":7},"minReplicas":"two","maxReplicas":0,
            "scaleAssist":[true],"behavior":{"scaleUp":{"tolerance":"-1"},"scaleDown":{"tolerance":0.05}}}"#,
    );
    let told = said(&create(Endpoint::MutateFederatedHPA, &object));
    insta::assert_snapshot!(told, @r#"
    denied: spec.behavior.scaleDown.tolerance: Invalid value: 0.05: must be in quotes: "0.05"
    denied: spec.minReplicas: Invalid value: "two": must be a whole number from -2147483648 to 2147483647
    denied: spec.scaleAssist: Invalid value: "list": must be true or false
    denied: spec.scaleTargetRef.name: Invalid value: 7: must be a string
    denied: spec.scaleTargetRef.kind: Invalid value: "DaemonSet": cannot be scaled; in apps/v1 these can: Deployment, StatefulSet, ReplicaSet
    denied: spec.maxReplicas: Invalid value: 0: must be greater than 0
    denied: spec.behavior.scaleUp.tolerance: Invalid value: "-1": must not be negative
    "#);
    let rule = r#"{"name":3,"schedule":"61 * * * *","targetReplicas":"1"}"#;
    let told = said(&create(Endpoint::MutateCronFederatedHPA, &cron(rule)));
    let places: Vec<&str> = told.lines().filter_map(|line| line.split(": ").nth(1)).collect();
    assert_eq!(places, ["spec.rules[0].name", "spec.rules[0].targetReplicas", "spec.rules[0].schedule"], "{told}");
    let alone = said(&create(Endpoint::MutateFederatedHPA, &federated_with(r#""scaleAssist":"no""#)));
    assert_eq!(alone, "denied: spec.scaleAssist: Invalid value: \"no\": must be true or false");
}

/// Every value below `value`, as JSON pointers.
fn places(value: &Value, path: &str, found: &mut Vec<String>) {
    let mut inner = |name: &str, value: &Value| {
        let path = format!("{path}/{name}");
        found.push(path.clone());
        places(value, &path, found);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, value)| inner(name, value)),
        Value::Array(list) => list.iter().enumerate().for_each(|(at, value)| inner(&at.to_string(), value)),
        _ => {}
    }
}

/// A pointer as a path in Kubernetes' style.
fn path(pointer: &str) -> String {
    let steps = pointer.split('/').skip(1).enumerate();
    let step = |(at, step): (usize, &str)| match step.parse::<usize>() {
        Ok(index) => format!("[{index}]"),
        Err(_) if at == 0 => step.to_owned(),
        Err(_) => format!(".{step}"),
    };
    steps.map(step).collect()
}

#[test]
fn a_value_of_the_wrong_type_causes_no_other_error() {
    let federated = federated_with(
        r#""mode":"Distributed","scaleAssist":true,"autoscaleMultiClusterDelay":60,"scalingToZero":true,"minCoveredLosses":1,
        "metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":50}}},
            {"type":"External","external":{"metric":{"name":"queue"},
                "target":{"type":"Value","value":"10"}}}],
        "behavior":{"scaleUp":{"tolerance":"0.1","stabilizationWindowSeconds":5,"selectPolicy":"Min",
            "policies":[{"type":"Pods","value":4,"periodSeconds":15}]}},
        "clusterAffinity":{"clusterNames":["a"],"labelSelector":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}},
        "federatedHPAAssignment":{"federatedHPAAssignmentType":"StaticWeighted","clusterAutoscalingPreference":[
            {"targetCluster":{"clusterNames":["a"]},"staticWeight":2,"autoscalingMinThreshold":1,"autoscalingMaxThreshold":3}]},
        "clusterHPAPreference":[{"clusterName":"a","maxResourceUsage":0.5}]"#,
    );
    let rule = r#"{"name":"a","schedule":"0 9 * * *","timeZone":"Asia/Tokyo","targetReplicas":1,"suspend":false,
        "successfulHistoryLimit":3,"failedHistoryLimit":3,"maxDelaySeconds":60}"#;
    for (endpoint, text) in [(Endpoint::MutateFederatedHPA, federated), (Endpoint::MutateCronFederatedHPA, cron(rule))]
    {
        let object: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(create(endpoint, &text).denial, None, "{}", said(&create(endpoint, &text)));
        let mut found = Vec::new();
        places(&object["spec"], "/spec", &mut found);
        assert!(found.len() > 8);
        for pointer in found {
            let mut wrong = object.clone();
            let value = wrong.pointer_mut(&pointer).unwrap();
            *value = if value.is_object() { json!([]) } else { json!({}) };
            // A second error, which all are told with.
            wrong["metadata"]["labels"] = json!(1);
            let told = said(&create(endpoint, &wrong.to_string()));
            let told: Vec<&str> = told.lines().filter_map(|line| line.strip_prefix("denied: ")).collect();
            let places: Vec<&str> = told.iter().filter_map(|line| line.split(": ").next()).collect();
            assert_eq!(places, ["metadata.labels", &path(&pointer)], "{told:?}");
        }
    }
}
