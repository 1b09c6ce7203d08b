//! What is filled in, as the smallest patch.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::decision::defaults::Mode;
use fhpa::decision::validation::Settings;

use super::cases::{cron, federated, federated_with};
use super::world::{Others, create, review, reviewer_with};

fn patch(endpoint: Endpoint, object: &str) -> String {
    let verdict = create(endpoint, object);
    assert_eq!(verdict.denial, None);
    verdict.patch.iter().map(|operation| serde_json::to_string(operation).unwrap()).collect::<Vec<_>>().join("\n")
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
    let settings = Settings { default_mode: Mode::Centralized, ..Settings::default() };
    let reviewer = reviewer_with(Others::default(), settings);
    let object = federated_with(r#""metrics":[{"type":"Resource"}]"#);
    let verdict = review(&reviewer, Endpoint::MutateFederatedHPA, Operation::Create, &object, None);
    insta::assert_snapshot!(serde_json::to_string(&verdict.patch).unwrap(), @r#"[{"op":"add","path":"/spec/mode","value":"Centralized"}]"#);
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
