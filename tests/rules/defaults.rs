//! Defaults, as the smallest patch.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::admission::verdict::PatchOperation;
use fhpa::decision::defaults::Mode;
use fhpa::decision::validation::Settings;

use serde_json::{Value, json};

use super::cases::{cron, federated, federated_with};
use super::upstream::patched;
use super::world::{Others, review, reviewer_with, said};

/// Objects are completed whether or not they are right.
fn completing() -> Settings {
    Settings { deny_early: false, ..Settings::default() }
}

fn patch(endpoint: Endpoint, object: &str) -> String {
    let reviewer = reviewer_with(Others::default(), completing());
    let verdict = review(&reviewer, endpoint, Operation::Create, object, None);
    assert_eq!(verdict.denial, None);
    let filled_in = verdict.patch.iter().filter(|operation| !is_copy(operation));
    filled_in.map(|operation| serde_json::to_string(operation).unwrap()).collect::<Vec<_>>().join("\n")
}

/// Whether an operation copies what only fhpa knows.
fn is_copy(operation: &PatchOperation) -> bool {
    let PatchOperation::Add { path, .. } = operation;
    path.starts_with("/metadata/annotations")
}

#[test]
fn what_only_fhpa_knows_is_copied_and_follows_what_the_user_writes() {
    let mutate = |operation, object: &Value, old: Option<&Value>| {
        let reviewer = reviewer_with(Others::default(), completing());
        let old = old.map(Value::to_string);
        let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, operation, &object.to_string(), old.as_deref());
        patched(object.clone(), &verdict)
    };
    let copy = |object: &Value| object["metadata"]["annotations"]["fhpa.karmada.io/spec"].clone();
    let more = r#""metrics":[{"type":"Resource"}],"scaleAssist":false"#;
    let written: Value = serde_json::from_str(&federated_with(more)).unwrap();
    let stored = mutate(Operation::Create, &written, None);
    assert_eq!(copy(&stored), r#"{"mode":"Distributed","scaleAssist":false}"#);
    assert_eq!(stored["metadata"]["annotations"]["fhpa.karmada.io/mode"], "Distributed");
    assert_eq!(mutate(Operation::Update, &stored, Some(&stored)), stored, "a second time changes nothing");
    // An update without the mode leaves it as it is.
    let mut edited = stored.clone();
    edited["spec"].as_object_mut().unwrap().remove("scaleAssist");
    edited["spec"]["mode"] = json!("Centralized");
    let edited = mutate(Operation::Update, &edited, Some(&stored));
    assert_eq!(copy(&edited), r#"{"mode":"Centralized"}"#);
    let replaced = mutate(Operation::Update, &written, Some(&edited));
    assert_eq!(copy(&replaced), r#"{"mode":"Centralized","scaleAssist":false}"#);
    // Through Karmada's definition nobody sees these fields: the copy stays, even where the writer drops it.
    let hide = |object: &Value| {
        let mut hidden = object.clone();
        hidden["spec"].as_object_mut().unwrap().retain(|name, _| !matches!(&**name, "mode" | "scaleAssist"));
        hidden
    };
    let mut bare = hide(&stored);
    assert_eq!(mutate(Operation::Update, &bare, Some(&bare)), bare);
    bare["metadata"].as_object_mut().unwrap().remove("annotations");
    let kept = mutate(Operation::Update, &bare, Some(&hide(&stored)));
    assert_eq!((copy(&kept), kept["spec"].get("mode")), (copy(&stored), None));
}

#[test]
fn a_short_federated_hpa_is_completed() {
    let object = federated(
        r#"{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"maxReplicas":10,"metrics":null}"#,
    );
    insta::assert_snapshot!(patch(Endpoint::MutateFederatedHPA, &object), @r#"
    {"op":"add","path":"/spec/minReplicas","value":1}
    {"op":"add","path":"/spec/metrics","value":[{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}]}
    {"op":"add","path":"/spec/mode","value":"Distributed"}
    "#);
}

#[test]
fn an_object_without_a_spec_gets_one() {
    insta::assert_snapshot!(patch(Endpoint::MutateFederatedHPA, &federated("null")), @r#"{"op":"add","path":"/spec","value":{"metrics":[{"resource":{"name":"cpu","target":{"averageUtilization":80,"type":"Utilization"}},"type":"Resource"}],"minReplicas":1,"mode":"Distributed"}}"#);
}

#[test]
fn a_behavior_is_completed_in_both_directions() {
    let metrics = r#""metrics":[{"type":"Resource"}],"mode":"Centralized""#;
    let object = federated_with(&format!(r#"{metrics},"behavior":{{}}"#));
    insta::assert_snapshot!(patch(Endpoint::MutateFederatedHPA, &object), @r#"
    {"op":"add","path":"/spec/behavior/scaleUp","value":{"policies":[{"periodSeconds":15,"type":"Pods","value":4},{"periodSeconds":15,"type":"Percent","value":100}],"selectPolicy":"Max","stabilizationWindowSeconds":0}}
    {"op":"add","path":"/spec/behavior/scaleDown","value":{"policies":[{"periodSeconds":15,"type":"Percent","value":100}],"selectPolicy":"Max"}}
    "#);
    let object = federated_with(&format!(
        r#"{metrics},"behavior":{{"scaleUp":{{"stabilizationWindowSeconds":5}},"scaleDown":{{"selectPolicy":"Min","tolerance":"0.05"}}}}"#
    ));
    insta::assert_snapshot!(patch(Endpoint::MutateFederatedHPA, &object), @r#"
    {"op":"add","path":"/spec/behavior/scaleUp/selectPolicy","value":"Max"}
    {"op":"add","path":"/spec/behavior/scaleUp/policies","value":[{"periodSeconds":15,"type":"Pods","value":4},{"periodSeconds":15,"type":"Percent","value":100}]}
    {"op":"add","path":"/spec/behavior/scaleDown/policies","value":[{"periodSeconds":15,"type":"Percent","value":100}]}
    "#);
}

#[test]
fn an_empty_list_of_policies_is_an_answer_and_stays() {
    let object = federated_with(
        r#""metrics":[{"type":"Resource"}],"mode":"Centralized","behavior":{"scaleUp":{"stabilizationWindowSeconds":5,"selectPolicy":"Max","policies":[]},"scaleDown":{"selectPolicy":"Max","policies":[]}}"#,
    );
    assert_eq!(patch(Endpoint::MutateFederatedHPA, &object), "");
}

#[test]
fn the_mode_is_the_one_that_the_operator_chose() {
    let settings = Settings { default_mode: Mode::Centralized, ..completing() };
    let reviewer = reviewer_with(Others::default(), settings);
    let object = federated_with(r#""metrics":[{"type":"Resource"}]"#);
    let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Create, &object, None);
    let filled_in: Vec<_> = verdict.patch.iter().filter(|operation| !is_copy(operation)).collect();
    insta::assert_snapshot!(serde_json::to_string(&filled_in).unwrap(), @r#"[{"op":"add","path":"/spec/mode","value":"Centralized"}]"#);
}

#[test]
fn a_field_that_only_distributed_has_means_distributed_whatever_the_default() {
    let settings = Settings { default_mode: Mode::Centralized, ..completing() };
    let reviewer = reviewer_with(Others::default(), settings);
    let mode = |field: &str| {
        let object = federated_with(&format!(r#""metrics":[{{"type":"Resource"}}],{field}"#));
        let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Create, &object, None);
        patched(serde_json::from_str(&object).unwrap(), &verdict)["spec"]["mode"].clone()
    };
    for field in [
        r#""federatedHPAAssignment":{"federatedHPAAssignmentType":"Duplicated"}"#,
        r#""clusterAffinity":{"clusterNames":["m1"]}"#,
        r#""autoscaleMultiClusterDelay":1"#,
        r#""minCoveredLosses":1"#,
        r#""scaleAssist":false"#,
        r#""scalingToZero":true"#,
        r#""clusterHPAPreference":[{"clusterName":"m1","maxResourceUsage":1}]"#,
    ] {
        assert_eq!(mode(field), "Distributed", "{field}");
    }
    for field in [r#""clusterAffinity":{}"#, r#""autoscaleMultiClusterDelay":0"#, r#""scaleAssist":true"#] {
        assert_eq!(mode(field), "Centralized", "{field}");
    }
}

#[test]
fn an_object_that_karmada_ran_keeps_no_mode_until_the_operator_chooses_one() {
    let settings = Settings { mode_is_chosen: false, ..completing() };
    let reviewer = reviewer_with(Others::default(), settings);
    let object = federated_with(r#""metrics":[{"type":"Resource"}]"#);
    let mode = |operation, old: Option<&str>, new: &str| {
        let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, operation, new, old);
        patched(serde_json::from_str(new).unwrap(), &verdict)["spec"].get("mode").cloned()
    };
    assert_eq!(mode(Operation::Create, None, &object), Some(json!("Distributed")));
    let edited = object.replace(r#""maxReplicas":10"#, r#""maxReplicas":20"#);
    assert_eq!(mode(Operation::Update, Some(&object), &edited), None);
    let edited = federated_with(r#""scalingToZero":true"#);
    assert_eq!(mode(Operation::Update, Some(&object), &edited), Some(json!("Distributed")));
    let decided = federated_with(r#""mode":"Centralized""#);
    assert_eq!(mode(Operation::Update, Some(&decided), &object), Some(json!("Centralized")));
}

#[test]
fn cron_rules_are_completed() {
    let object = cron(r#"{"name":"a"},{"suspend":true,"successfulHistoryLimit":1,"failedHistoryLimit":0},null,{}"#);
    insta::assert_snapshot!(patch(Endpoint::MutateCronFederatedHPA, &object), @r#"
    {"op":"add","path":"/spec/rules/0/suspend","value":false}
    {"op":"add","path":"/spec/rules/0/successfulHistoryLimit","value":3}
    {"op":"add","path":"/spec/rules/0/failedHistoryLimit","value":3}
    "#);
}

#[test]
fn a_good_object_is_defaulted_without_a_word() {
    let object = federated_with(r#""metrics":[]"#);
    for default_mode in [Mode::Distributed, Mode::Centralized] {
        let reviewer = reviewer_with(Others::default(), Settings { default_mode, ..Settings::default() });
        for old in [None, Some(object.as_str())] {
            let operation = if old.is_none() { Operation::Create } else { Operation::Update };
            let defaulted = review(&reviewer, Endpoint::MutateFederatedHPA, operation, &object, old);
            assert_eq!(said(&defaulted), "");
            let whole = patched(serde_json::from_str(&object).unwrap(), &defaulted);
            assert_eq!(whole["spec"]["mode"], default_mode.name());
            let admitted = review(&reviewer, Endpoint::ValidateFederatedHPA, operation, &whole.to_string(), old);
            assert_eq!(said(&admitted), "");
        }
    }
}
