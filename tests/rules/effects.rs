//! Fields that do nothing, or more than their author expects, and what is said of them.

use super::cases::{federated_with, told};

#[test]
fn thresholds_that_empty_clusters_or_exceed_all_are_told() {
    let object = federated_with(
        r#""mode":"Distributed","federatedHPAAssignment":{"federatedHPAAssignmentType":"Aggregated","clusterAutoscalingPreference":[
            {"targetCluster":{"clusterNames":["a"]},"autoscalingMinThreshold":11},
            {"targetCluster":{"clusterNames":["b"]},"autoscalingMaxThreshold":0},
            {"targetCluster":{"clusterNames":["c"]},"autoscalingMinThreshold":10,"autoscalingMaxThreshold":11}]}"#,
    );
    insta::assert_snapshot!(told(&object), @r"
    warning: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].autoscalingMinThreshold: above maxReplicas 10: not every cluster gets as many
    warning: spec.federatedHPAAssignment.clusterAutoscalingPreference[1].autoscalingMaxThreshold: these clusters run nothing: leave them out by clusterAffinity if that is meant
    ");
}

#[test]
fn a_minimum_of_zero_that_does_nothing_is_told() {
    let object = federated_with(
        r#""mode":"Distributed","metrics":[{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"Value","value":"10"}}}]"#,
    )
    .replace(r#""minReplicas":2"#, r#""minReplicas":0"#);
    insta::assert_snapshot!(told(&object), @"warning: spec.minReplicas: 0 has no effect: each cluster keeps a replica unless scalingToZero is true");
    let zero = object.replace(r#""mode""#, r#""scalingToZero":true,"mode""#);
    assert_eq!(told(&zero), "");
    assert_eq!(told(&object.replace("Distributed", "Centralized")), "");
}

#[test]
fn a_selector_that_cannot_be_used_is_named_once() {
    let object = federated_with(
        r#""mode":"Distributed","metrics":[{"type":"Pods","pods":{"metric":{"name":"rps","selector":{"matchExpressions":[{"key":"zone","operator":"Near","values":["a"]}]}},"target":{"type":"AverageValue","averageValue":"1"}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"warning: spec.metrics[0].pods.metric.selector.matchExpressions[0].operator: finds no metric: Unsupported value: "Near": supported values: "In", "NotIn", "Exists", "DoesNotExist""#);
}

#[test]
fn a_resource_that_no_metrics_server_reports_is_told() {
    let resource = |name: &str| {
        federated_with(&format!(
            r#""mode":"Distributed","metrics":[{{"type":"Resource","resource":{{"name":"{name}","target":{{"type":"Utilization","averageUtilization":50}}}}}}]"#
        ))
    };
    insta::assert_snapshot!(["nvidia.com/gpu", "ephemeral-storage", "CPU"].map(|name| told(&resource(name))).join("\n"), @r#"
    warning: spec.metrics[0].resource.name: the resource metrics API has cpu and memory alone: use a metric of type Pods or External
    warning: spec.metrics[0].resource.name: the resource metrics API has cpu and memory alone: use a metric of type Pods or External
    warning: spec.metrics[0].resource.name: the resource metrics API has cpu and memory alone: use a metric of type Pods or External: did you mean "cpu"?
    "#);
    let container = |name: &str| {
        let object = resource(name).replace(
            r#""type":"Resource","resource":{"#,
            r#""type":"ContainerResource","containerResource":{"container":"app","#,
        );
        told(&object)
    };
    assert!(
        container("nvidia.com/gpu")
            .starts_with("warning: spec.metrics[0].containerResource.name: the resource metrics API")
    );
    assert!(container("gpu").starts_with("denied: ") && container("gpu").lines().count() == 1);
    for name in ["cpu", "memory"] {
        assert_eq!((told(&resource(name)), container(name)), (String::new(), String::new()));
    }
}
