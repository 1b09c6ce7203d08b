//! What the schema demands, the rules demand too: all errors come in one round.

use super::cases::{federated_with, told};

#[test]
fn what_the_schema_requires_is_required() {
    let object = federated_with(
        r#""mode":"Distributed","federatedHPAAssignment":{"federatedHPAAssignmentType":"Aggregated","clusterAutoscalingPreference":[{"priority":1}]},
        "metrics":[{"type":"Pods","pods":{"metric":{"name":"rps","selector":{"matchExpressions":[{},{"key":"zone","operator":"In","values":["a",null]}]}},"target":{"type":"AverageValue","averageValue":"1"}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r"
    denied: spec.metrics[0].pods.metric.selector.matchExpressions[0].key: Required value: must be the key of a label
    denied: spec.metrics[0].pods.metric.selector.matchExpressions[0].operator: Required value: must be one of In, NotIn, Exists, DoesNotExist
    denied: spec.metrics[0].pods.metric.selector.matchExpressions[1].values[1]: Required value: must be a text, not null
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].targetCluster: Required value: must say which clusters, for example {clusterNames: [member1]}; {} is all of them
    warning: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].priority: Aggregated does not use it
    ");
}

#[test]
fn texts_beyond_the_schema_are_too_long() {
    let long = "a".repeat(513);
    let object = federated_with(&format!(
        r#""mode":"Distributed","metrics":[{{"type":"Object","object":{{"describedObject":{{"apiVersion":"{long}","kind":"{long}","name":"{long}"}},
        "metric":{{"name":"{long}"}},"target":{{"type":"Value","value":"1"}}}}}}]"#
    ))
    .replace(r#""Deployment","name":"web""#, &format!(r#""Deployment","name":"{long}""#));
    insta::assert_snapshot!(told(&object), @r"
    denied: spec.scaleTargetRef.name: Too long: may not be more than 512 bytes
    denied: spec.metrics[0].object.describedObject.apiVersion: Too long: may not be more than 512 bytes
    denied: spec.metrics[0].object.describedObject.kind: Too long: may not be more than 512 bytes
    denied: spec.metrics[0].object.describedObject.name: Too long: may not be more than 512 bytes
    denied: spec.metrics[0].object.metric.name: Too long: may not be more than 512 bytes
    ");
    assert_eq!(told(&object.replace(&long, "a")), "");
}
