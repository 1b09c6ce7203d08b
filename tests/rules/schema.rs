//! The reader of requests and the schema of the wire types have the same members.

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
    match &verdict.denial {
        Some(Denial::Undecodable { path, .. }) => *path == place,
        Some(Denial::Invalid(violations)) => {
            // A quantity is a matter of the rules, which look into it once the source is the right one.
            violations.iter().any(|violation| violation.path == place) || is_quantity(&place)
        }
        None => false,
    }
}

fn is_quantity(place: &str) -> bool {
    place.starts_with("spec.") && [".value", ".averageValue", ".tolerance"].iter().any(|end| place.ends_with(end))
}

#[test]
fn every_member_of_the_schema_is_read() {
    let [cron, federated] = crd::all().unwrap();
    for (crd, endpoint) in [(cron, Endpoint::ValidateCronFederatedHPA), (federated, Endpoint::ValidateFederatedHPA)] {
        let mut found = Vec::new();
        wrong(crd::schema(crd).unwrap(), "", &|object| object, &mut found);
        assert!(found.len() > 20);
        let unread: Vec<String> = found
            .into_iter()
            .filter(|(path, object)| !is_noticed(&create(endpoint, &object.to_string()), path))
            .map(|(path, _)| path)
            .collect();
        assert_eq!(unread, Vec::<String>::new());
    }
}
