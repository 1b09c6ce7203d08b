//! Rules of one object that set bounds which others of its rules contradict.

use fhpa::admission::envelope::Operation;
use fhpa::api;
use fhpa::convert::known_federated_hpa;
use fhpa::decision::defaults::Mode;

use super::cases::{cron_on_federated, federated_with, told};
use super::world::{Others, review, reviewer, said};

/// What is said beside a FederatedHPA with the bounds 2 to 10.
fn beside(rules: &str) -> String {
    let hpa: api::FederatedHPA = serde_json::from_str(&federated_with(r#""mode":"Distributed""#)).unwrap();
    let federated = vec![known_federated_hpa(&hpa, Mode::Distributed)];
    let reviewer = reviewer(Others { federated, ..Others::default() });
    let endpoint = fhpa::admission::endpoint::Endpoint::ValidateCronFederatedHPA;
    said(&review(&reviewer, endpoint, Operation::Create, &cron_on_federated(rules), None))
}

#[test]
fn a_bound_beyond_one_that_another_rule_sets_is_told() {
    let rules = r#"{"name":"up","schedule":"0 8 * * *","targetMinReplicas":100,"targetMaxReplicas":200},
        {"name":"down","schedule":"0 20 * * *","targetMaxReplicas":50}"#;
    insta::assert_snapshot!(told(&cron_on_federated(rules)), @r#"warning: spec.rules[1].targetMaxReplicas: would fail after rule "up" (min 100): set targetMinReplicas too"#);
    let rules = r#"{"name":"low","schedule":"0 20 * * *","targetMinReplicas":1,"targetMaxReplicas":3},
        {"name":"high","schedule":"0 8 * * *","targetMinReplicas":4}"#;
    insta::assert_snapshot!(told(&cron_on_federated(rules)), @r#"warning: spec.rules[1].targetMinReplicas: would fail after rule "low" (max 3): set targetMaxReplicas too"#);
    for quiet in [
        rules.replace(r#""targetMinReplicas":4"#, r#""targetMinReplicas":4,"targetMaxReplicas":9"#),
        rules.replace(r#""targetMinReplicas":4"#, r#""targetMinReplicas":3"#),
        rules.replace(r#""targetMinReplicas":4"#, r#""targetMinReplicas":4,"suspend":true"#),
        rules.replace(r#""targetMaxReplicas":3"#, r#""targetMaxReplicas":3,"suspend":true"#),
    ] {
        assert_eq!(told(&cron_on_federated(&quiet)), "", "{quiet}");
    }
}

#[test]
fn rules_of_one_instant_are_one_write() {
    let together = r#"{"name":"max","schedule":"0 8 * * *","targetMaxReplicas":200},
        {"name":"min","schedule":"0 8 * * *","targetMinReplicas":100}"#;
    assert_eq!(beside(together), "");
    let crossed = together.replace("200", "50");
    insta::assert_snapshot!(beside(&crossed), @r"
    warning: spec.rules[0].targetMaxReplicas: would fail: this schedule sets min 100 and max 50; set targetMinReplicas too
    warning: spec.rules[1].targetMinReplicas: would fail: this schedule sets min 100 and max 50; set targetMaxReplicas too
    ");
    let apart = together.replacen("0 8", "0 7", 1);
    insta::assert_snapshot!(beside(&apart), @"warning: spec.rules[1].targetMinReplicas: above maxReplicas 10 of the FederatedHPA: set targetMaxReplicas too");
    let suspended = together.replace("200", r#"200,"suspend":true"#);
    insta::assert_snapshot!(beside(&suspended), @"warning: spec.rules[1].targetMinReplicas: above maxReplicas 10 of the FederatedHPA: set targetMaxReplicas too");
    let paused = together.replace("200", r#"200,"suspend":true"#).replace("100", r#"100,"suspend":true"#);
    assert_eq!(beside(&paused), "");
}
