//! Updates are judged by their changes.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::admission::verdict::Verdict;

use super::cases::{cron, federated, federated_with};
use super::world::{Others, review, reviewer, said};

fn update(endpoint: Endpoint, old: &str, new: &str) -> Verdict {
    review(&reviewer(Others::default()), endpoint, Operation::Update, new, Some(old))
}

const STORED: &str = r#"{"name":"a","schedule":"0 8 * * 1L","targetReplicas":1}"#;

#[test]
fn an_old_error_is_let_through_with_a_warning() {
    let new = cron(&format!(r#"{STORED},{{"name":"b","schedule":"0 9 * * *","targetReplicas":2}}"#));
    let verdict = update(Endpoint::ValidateCronFederatedHPA, &cron(STORED), &new);
    insta::assert_snapshot!(said(&verdict), @r#"warning: spec.rules[0].schedule: stored before and let through: Invalid value: "0 8 * * 1L": day-of-week 1L: L (last weekday of the month) is not supported; write the weekday for every week"#);
}

#[test]
fn an_old_error_is_known_again_when_its_rule_moves() {
    let new = cron(&format!(r#"{{"name":"b","schedule":"0 9 * * *","targetReplicas":2}},{STORED}"#));
    assert_eq!(update(Endpoint::ValidateCronFederatedHPA, &cron(STORED), &new).denial, None);
}

#[test]
fn the_same_error_in_one_more_rule_is_refused() {
    let new = cron(&format!("{STORED},{}", STORED.replace(r#""a""#, r#""b""#)));
    let verdict = update(Endpoint::ValidateCronFederatedHPA, &cron(STORED), &new);
    insta::assert_snapshot!(said(&verdict), @r#"
    denied: spec.rules[1].schedule: Invalid value: "0 8 * * 1L": day-of-week 1L: L (last weekday of the month) is not supported; write the weekday for every week
    warning: spec.rules[0].schedule: stored before and let through: Invalid value: "0 8 * * 1L": day-of-week 1L: L (last weekday of the month) is not supported; write the weekday for every week
    "#);
}

#[test]
fn a_field_that_is_touched_must_become_right() {
    let new = cron(&STORED.replace("1L", "2L"));
    let verdict = update(Endpoint::ValidateCronFederatedHPA, &cron(STORED), &new);
    insta::assert_snapshot!(said(&verdict), @r#"denied: spec.rules[0].schedule: Invalid value: "0 8 * * 2L": day-of-week 2L: L (last weekday of the month) is not supported; write the weekday for every week"#);
}

#[test]
fn a_bound_that_is_moved_must_fit_the_other_one() {
    let spec = |min, max| {
        let target = r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}"#;
        federated(&format!(r#"{{"scaleTargetRef":{target},"minReplicas":{min},"maxReplicas":{max}}}"#))
    };
    let verdict = update(Endpoint::ValidateFederatedHPA, &spec(5, 2), &spec(6, 2));
    insta::assert_snapshot!(said(&verdict), @r"denied: spec.maxReplicas: Invalid value: 2: must be greater than or equal to minReplicas (6)");
}

#[test]
fn labels_and_finalizers_may_change_whatever_the_spec_says() {
    let old = federated("{}");
    let new = old.replace(r#""namespace""#, r#""labels":{"a":"b"},"finalizers":["x.io/y"],"namespace""#);
    let verdict = update(Endpoint::ValidateFederatedHPA, &old, &new);
    assert_eq!(verdict.denial, None);
    assert_eq!(verdict.warnings.len(), 4);
}

#[test]
fn an_object_that_is_being_deleted_is_never_held() {
    let old = federated_with(r#""mode":"Distributed""#);
    let new = federated("{}").replace(r#""namespace""#, r#""deletionTimestamp":"2026-01-01T00:00:00Z","namespace""#);
    let told = said(&update(Endpoint::ValidateFederatedHPA, &old, &new));
    insta::assert_snapshot!(told, @r#"
    warning: spec.scaleTargetRef.apiVersion: let through, as the object is being deleted: Required value: must be the API version of the object to scale, for example "apps/v1"
    warning: spec.scaleTargetRef.kind: let through, as the object is being deleted: Required value: must be the kind of the object to scale, for example Deployment
    warning: spec.scaleTargetRef.name: let through, as the object is being deleted: Required value: must be the name of the object to scale
    warning: spec.maxReplicas: let through, as the object is being deleted: Required value: must be the most replicas to have, over all clusters
    "#);
}

#[test]
fn an_error_in_metadata_alone_is_not_said_to_be_stored_before() {
    let old = federated_with(r#""mode":"Distributed""#);
    let new = old.replace(r#""namespace""#, r#""finalizers":["a b"],"namespace""#);
    let told = said(&update(Endpoint::ValidateFederatedHPA, &old, &new));
    assert!(told.starts_with("warning: metadata.finalizers[0]: let through, as the spec is unchanged: "), "{told}");
}

#[test]
fn what_could_not_be_read_before_is_let_through_while_it_stays() {
    let old = federated_with(r#""behavior":[]"#);
    let new = old.replace(r#""namespace""#, r#""labels":{"a":"b"},"namespace""#);
    insta::assert_snapshot!(said(&update(Endpoint::ValidateFederatedHPA, &old, &new)), @r#"warning: spec.behavior: let through, as the spec is unchanged: Invalid value: "list": must be an object"#);
    let right = federated_with(r#""behavior":{}"#);
    insta::assert_snapshot!(said(&update(Endpoint::ValidateFederatedHPA, &right, &new)), @r#"denied: spec.behavior: Invalid value: "list": must be an object"#);
}

#[test]
fn deletions_are_never_blocked() {
    let reviewer = reviewer(Others::default());
    for endpoint in Endpoint::ALL {
        assert_eq!(review(&reviewer, endpoint, Operation::Delete, "null", Some("{}")), Verdict::allowed());
    }
}

#[test]
fn a_warning_fits_in_a_terminal() {
    let old = cron(&STORED.replace("1L", &"x".repeat(500)));
    let verdict = update(Endpoint::ValidateCronFederatedHPA, &old, &old);
    assert_eq!(verdict.denial, None);
    assert!(verdict.warnings.iter().all(|warning| warning.to_string().chars().count() <= 256));
}

#[test]
fn a_switch_to_centralized_names_the_fields_to_remove_and_a_stored_one_is_let_through() {
    let with = |mode: &str, more: &str| federated_with(&format!(r#""mode":"{mode}","scalingToZero":true{more}"#));
    let told = |old: &str, new: &str| said(&update(Endpoint::ValidateFederatedHPA, old, new));
    insta::assert_snapshot!(told(&with("Distributed", ""), &with("Centralized", "")), @"denied: spec.scalingToZero: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed");
    let without = with("Centralized", "").replace("true", "null");
    assert_eq!(told(&with("Distributed", ""), &without), "");
    let edited = with("Centralized", "").replace(r#""maxReplicas":10"#, r#""maxReplicas":20"#);
    insta::assert_snapshot!(told(&with("Centralized", ""), &edited), @"warning: spec.scalingToZero: stored before and let through: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed");
    insta::assert_snapshot!(told(&with("Centralized", ""), &with("Centralized", r#","scaleAssist":false"#)), @r"
    denied: spec.scaleAssist: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    warning: spec.scalingToZero: has no effect while scaleAssist is false
    warning: spec.scalingToZero: stored before and let through: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    ");
    // Without a mode the field meant Distributed.
    let unnamed = with("Centralized", "").replace(r#""mode":"Centralized","#, "");
    assert!(told(&unnamed, &with("Centralized", "")).starts_with("denied"));
}
