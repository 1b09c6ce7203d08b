//! One answer has all errors of an object: the mutating endpoint gives it before the API server checks the schema.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::envelope::Operation;
use fhpa::decision::validation::Settings;

use super::cases::{cron, federated_with};
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
