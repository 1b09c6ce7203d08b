//! Limits on everything that a user writes, and the types of the lists in the status.

use fhpa::api::crd;
use serde_json::Value;

/// Places below `spec` that are as Kubernetes' own HPA has them: what is stored there under Karmada's CRD stays valid.
const KUBERNETES: &[&str] = &["spec.metrics[]", "spec.behavior", "spec.scaleTargetRef"];

/// The schemas of both kinds below `member`, as places and schemas.
fn below(member: &str) -> Vec<(String, Value)> {
    let mut places = Vec::new();
    for crd in crd::all().unwrap() {
        let schema = crd::schema(crd).unwrap().pointer(&format!("/properties/{member}")).unwrap();
        walk(member, schema, &mut places);
    }
    places
}

fn walk(place: &str, schema: &Value, places: &mut Vec<(String, Value)>) {
    places.push((place.to_owned(), schema.clone()));
    for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        walk(&format!("{place}.{name}"), schema, places);
    }
    if let Some(items) = schema.get("items") {
        walk(&format!("{place}[]"), items, places);
    }
    if let Some(values) = schema.get("additionalProperties") {
        walk(&format!("{place}[]"), values, places);
    }
}

/// What bounds a value of this schema.
fn is_bounded(schema: &Value) -> bool {
    let has = |keyword: &str| schema.get(keyword).is_some();
    match schema["type"].as_str().unwrap_or_default() {
        "array" => has("maxItems"),
        "string" => has("maxLength") || has("enum"),
        "integer" | "number" => has("minimum") && has("maximum"),
        "object" => !has("additionalProperties") || has("maxProperties"),
        _ => true,
    }
}

/// Replicas are bounded by what a cluster can run, delays of rules by their schedule (both by the webhook).
const BY_RULES: &[&str] = &[
    "spec.minReplicas",
    "spec.maxReplicas",
    "spec.rules[].targetReplicas",
    "spec.rules[].targetMinReplicas",
    "spec.rules[].targetMaxReplicas",
    "spec.rules[].maxDelaySeconds",
];

#[test]
fn every_list_text_and_number_of_ours_is_bounded() {
    let places = below("spec");
    let ours = |place: &str| !KUBERNETES.iter().any(|theirs| place.starts_with(theirs)) && !BY_RULES.contains(&place);
    let open: Vec<_> = places.iter().filter(|(place, schema)| ours(place) && !is_bounded(schema)).collect();
    let open: Vec<&str> = open.into_iter().map(|(place, _)| place.as_str()).collect();
    assert_eq!(open, [""; 0]);
    for known in KUBERNETES.iter().chain(BY_RULES) {
        assert!(places.iter().any(|(place, _)| place == known), "{known} is no place any more");
    }
}

#[test]
fn lists_with_one_writer_are_atomic() {
    let places: Vec<_> = below("spec").into_iter().chain(below("status")).collect();
    let keyed: Vec<&str> = places
        .iter()
        .filter(|(_, schema)| schema["x-kubernetes-list-type"] == "map")
        .map(|(place, _)| &**place)
        .collect();
    assert_eq!(keyed, ["spec.clusterHPAPreference", "status.conditions", "status.conditions"]);
}

#[test]
fn nothing_of_a_status_comes_by_default() {
    let places = below("status");
    let defaults: Vec<&str> =
        places.iter().filter(|(_, schema)| schema.get("default").is_some()).map(|(place, _)| &**place).collect();
    assert_eq!(defaults, [""; 0]);
}
