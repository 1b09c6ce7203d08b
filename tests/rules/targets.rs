//! Targets that are admitted nowhere, or could not be scaled.

use super::cases::{cron_on, federated_with, told};

const BOUNDS: &str = r#"{"name":"a","schedule":"0 8 * * *","targetMaxReplicas":5}"#;

fn target(api_version: &str, kind: &str) -> String {
    format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"web"}}"#)
}

#[test]
fn a_version_that_our_group_does_not_have_is_refused() {
    let object = cron_on(&target("autoscaling.karmada.io/v1beta1", "FederatedHPA"), BOUNDS);
    insta::assert_snapshot!(told(&object), @r#"denied: spec.scaleTargetRef.apiVersion: Invalid value: "autoscaling.karmada.io/v1beta1": there is no such version: write autoscaling.karmada.io/v1alpha1"#);
}

#[test]
fn a_group_without_a_version_is_refused_with_what_to_write() {
    let rule = r#"{"name":"a","schedule":"0 8 * * *","targetReplicas":5}"#;
    insta::assert_snapshot!(told(&cron_on(&target("apps", "Deployment"), rule)), @r#"denied: spec.scaleTargetRef.apiVersion: Invalid value: "apps": has no version: write group/version, for example apps/v1"#);
    insta::assert_snapshot!(told(&cron_on(&target("autoscaling.karmada.io", "FederatedHPA"), BOUNDS)), @r#"denied: spec.scaleTargetRef.apiVersion: Invalid value: "autoscaling.karmada.io": has no version: write group/version, for example autoscaling.karmada.io/v1alpha1"#);
}

#[test]
fn a_federated_hpa_scales_no_federated_hpa() {
    let object = federated_with(r#""mode":"Distributed""#)
        .replace(&target("apps/v1", "Deployment"), &target("autoscaling.karmada.io/v1alpha1", "FederatedHPA"));
    insta::assert_snapshot!(told(&object), @"denied: spec.scaleTargetRef: Forbidden: an autoscaler has no replicas of its own: point at the workload itself");
}

#[test]
fn a_version_that_kubernetes_removed_is_refused_with_its_successor() {
    for (old, kind, release) in [
        ("extensions/v1beta1", "Deployment", "1.16"),
        ("extensions/v1beta1", "ReplicaSet", "1.16"),
        ("apps/v1beta1", "Deployment", "1.16"),
        ("apps/v1beta1", "StatefulSet", "1.16"),
        ("apps/v1beta2", "Deployment", "1.16"),
        ("apps/v1beta2", "StatefulSet", "1.16"),
        ("apps/v1beta2", "ReplicaSet", "1.16"),
    ] {
        let refused = format!(
            "denied: spec.scaleTargetRef.apiVersion: Invalid value: {old:?}: Kubernetes {release} removed it: write apps/v1"
        );
        let rule = r#"{"name":"a","schedule":"0 8 * * *","targetReplicas":5}"#;
        assert_eq!(told(&cron_on(&target(old, kind), rule)), refused);
        let object =
            federated_with(r#""mode":"Distributed""#).replace(&target("apps/v1", "Deployment"), &target(old, kind));
        assert_eq!(told(&object), refused);
    }
    let object = cron_on(&target("app/v1beta1", "Deployment"), BOUNDS);
    assert!(told(&object).contains(r#"did you mean "apps/v1"?"#), "{}", told(&object));
}
