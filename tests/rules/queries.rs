//! Metrics that Centralized mode could not query.

use super::cases::{federated_with, told};

fn metrics(mode: &str) -> String {
    federated_with(&format!(
        r#""mode":"{mode}","metrics":[
        {{"type":"Object","object":{{"describedObject":{{"kind":"Namespace","name":"other"}},"metric":{{"name":"rps"}},"target":{{"type":"Value","value":"1"}}}}}},
        {{"type":"Object","object":{{"describedObject":{{"apiVersion":"v1","kind":"Service","name":"a b"}},"metric":{{"name":"a?b"}},"target":{{"type":"Value","value":"1"}}}}}},
        {{"type":"Pods","pods":{{"metric":{{"name":"a#b"}},"target":{{"type":"AverageValue","averageValue":"1"}}}}}},
        {{"type":"External","external":{{"metric":{{"name":"a b"}},"target":{{"type":"Value","value":"1"}}}}}}]"#
    ))
}

#[test]
fn metrics_that_centralized_mode_could_not_ask_for_are_refused() {
    insta::assert_snapshot!(told(&metrics("Centralized")), @r#"
    denied: spec.metrics[0].object.describedObject.apiVersion: Required value: mode Centralized asks for the object itself: must be its API version, for example "v1"
    denied: spec.metrics[0].object.describedObject.name: Invalid value: "other": mode Centralized measures no other namespace than that of the object (prod)
    denied: spec.metrics[1].object.describedObject.name: Invalid value: "a b": may only have letters, digits and the characters -._~:@
    denied: spec.metrics[1].object.metric.name: Invalid value: "a?b": may only have letters, digits and the characters -._~:@
    denied: spec.metrics[2].pods.metric.name: Invalid value: "a#b": may only have letters, digits and the characters -._~:@
    denied: spec.metrics[3].external.metric.name: Invalid value: "a b": may only have letters, digits and the characters -._~:@
    "#);
    assert_eq!(told(&metrics("Distributed")), "");
    let own = federated_with(
        r#""mode":"Centralized","metrics":[{"type":"Object","object":{"describedObject":{"apiVersion":"v1","kind":"Namespace","name":"prod"},"metric":{"name":"rps:5m"},"target":{"type":"Value","value":"1"}}}]"#,
    );
    assert_eq!(told(&own), "");
}
