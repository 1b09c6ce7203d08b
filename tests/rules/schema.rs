//! A value of the wrong type is noticed in every place of the schema.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::verdict::{Denial, Verdict};
use fhpa::api::crd;
use serde_json::{Value, json};

use super::world::create;

/// Every place of the schema, with an object in which only that place holds a value of the wrong type.
fn wrong(schema: &Value, path: &str, wrap: &dyn Fn(Value) -> Value, found: &mut Vec<(String, Value)>) {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
    for (name, inner) in properties {
        let path = format!("{path}.{name}");
        let wrap = |value: Value| wrap(json!({ name: value }));
        let bad = if inner["type"] == "object" { json!([]) } else { json!({}) };
        found.push((path.clone(), wrap(bad)));
        wrong(inner, &path, &wrap, found);
        if let Some(items) = inner.get("items") {
            wrong(items, &format!("{path}[]"), &|value| wrap(json!([value])), found);
        }
    }
}

/// Whether the review points at the wrong value.
fn is_noticed(verdict: &Verdict, path: &str) -> bool {
    let place = path.trim_start_matches('.').replace("[]", "[0]");
    let Some(Denial::Invalid(violations)) = &verdict.denial else { return false };
    violations.iter().any(|violation| violation.path == place)
}

#[test]
fn a_wrong_type_is_noticed_everywhere() {
    let [cron, federated] = crd::all().unwrap();
    for (crd, endpoint) in [(cron, Endpoint::ValidateCronFederatedHPA), (federated, Endpoint::ValidateFederatedHPA)] {
        let mut found = Vec::new();
        wrong(crd::schema(crd).unwrap(), "", &|object| object, &mut found);
        assert!(found.len() > 20);
        let unnoticed: Vec<String> = found
            .into_iter()
            .filter(|(path, object)| !is_noticed(&create(endpoint, &object.to_string()), path))
            .map(|(path, _)| path)
            .collect();
        assert_eq!(unnoticed, Vec::<String>::new());
    }
}
