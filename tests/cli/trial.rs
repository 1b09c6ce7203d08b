//! `fhpa try`: a real webhook in the process, called over TLS.

use super::command::{fhpa, fhpa_with_input};

/// The output without what differs from run to run.
fn stable(output: &str) -> String {
    let words = output
        .split_inclusive(' ')
        .map(|word| if word.starts_with("https://127.0.0.1:") { "https://127.0.0.1:[PORT], " } else { word });
    let output: String = words.collect();
    match output.rsplit_once(" in ") {
        Some((head, _)) => format!("{head} in [TIME] ms\n"),
        None => output,
    }
}

#[test]
fn a_right_and_a_wrong_object_go_through_a_real_webhook() {
    let outcome = fhpa(&["try"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    insta::assert_snapshot!("try", stable(&outcome.stdout));
}

#[test]
fn own_manifests_are_sent_beside_each_other() {
    let outcome = fhpa(&["try", "examples/wrong/two-on-one-deployment.yaml", "examples/evening-peak.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains("denied, 422 Invalid"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("2 allowed, 3 denied, 3 not sent; 7 reviews over TLS"), "{}", outcome.stdout);
}

#[test]
fn what_the_webhook_is_not_asked_about_is_not_sent() {
    let outcome = fhpa_with_input(&["try", "-"], b"{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}");
    assert_eq!(outcome.code, 0);
    assert!(outcome.stdout.contains("0 allowed, 0 denied, 1 not sent"), "{}", outcome.stdout);
}

#[test]
fn an_object_that_cannot_be_decoded_is_denied_with_the_place() {
    let object = b"{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {name: x}, spec: {maxReplicas: ten}}";
    let outcome = fhpa_with_input(&["try", "-"], object);
    assert_eq!(outcome.code, 0);
    assert!(outcome.stdout.contains("spec.maxReplicas"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("0 allowed, 1 denied; 1 review over"), "{}", outcome.stdout);
}

#[test]
fn a_file_that_cannot_be_read_ends_the_trial() {
    let outcome = fhpa(&["try", "nope.yaml"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stdout.contains("there is no such file or directory"), "{}", outcome.stdout);
}
