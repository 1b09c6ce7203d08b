//! Custom kinds, compared with the responses of a real API server.

use embedded_apiserver::field::{stored_form, summary};
use embedded_apiserver::schema::Structural;
use embedded_apiserver::status::{Cause, StatusDetails, StatusError};
use serde_json::{Value, json};

use super::{fixture, lines};

fn structural(kind: &str) -> Structural {
    let schema: Value = serde_json::from_str(&fixture(&format!("schema/{kind}.json"))).unwrap();
    Structural::compile(&schema).unwrap()
}

/// What the schema decides; a create drops the status.
fn content(object: &Value) -> Value {
    json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "spec": object["spec"]})
}

fn judge(structural: &Structural, case: &Value) -> Option<String> {
    let mut object = case["new"].clone();
    let unknown = structural.prune(&mut object);
    structural.default(&mut object);
    let old = Some(&case["old"]).filter(|old| !old.is_null());
    let errors = structural.validate(&object, old);
    stored_form(&mut object);
    if case["code"].as_u64().unwrap() < 300 {
        if !errors.is_empty() {
            return Some(format!("expected no error, found {}", summary(&errors)));
        }
        let expected = case.get("unknown").cloned().unwrap_or(json!([]));
        let mut expected: Vec<&str> = expected.as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
        expected.sort_unstable();
        if old.is_none() && unknown != expected {
            return Some(format!("expected unknown {expected:?}, found {unknown:?}"));
        }
        let (expected, found) = (content(&case["stored"]), content(&object));
        return (expected != found).then(|| format!("expected {expected}, found {found}"));
    }
    let sorted = |causes: &Value| {
        let mut causes: Vec<String> = causes.as_array().unwrap().iter().map(ToString::to_string).collect();
        causes.sort();
        causes
    };
    let name = case["new"]["metadata"]["name"].as_str().unwrap();
    let subject = StatusDetails::new("t.example.com", case["kind"].as_str().unwrap(), name);
    let causes: Vec<Cause> = errors.iter().map(Cause::from).collect();
    let status = StatusError::invalid(&subject, &causes).body();
    let (expected, found) = (sorted(&case["causes"]), sorted(&status["details"]["causes"]));
    if expected != found {
        return Some(format!(
            "expected\n      {}\n    found\n      {}",
            expected.join("\n      "),
            found.join("\n      ")
        ));
    }
    let wrong = errors.len() == 1 && case["message"] != status["message"];
    wrong.then(|| format!("expected {}, found {}", case["message"], status["message"]))
}

#[test]
fn custom_objects_are_judged_as_on_a_real_server() {
    let (shape, ruled) = (structural("shape"), structural("ruled"));
    let cases = lines("schema/cases.jsonl");
    assert!(cases.len() > 150);
    let mut wrong = Vec::new();
    for case in &cases {
        let structural = if case["kind"] == "Shape" { &shape } else { &ruled };
        if let Some(why) = judge(structural, case) {
            wrong.push(format!("{} -> {}:\n    {why}", case["old"]["spec"], case["new"]["spec"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn defaulting_twice_changes_nothing() {
    let shape = structural("shape");
    for case in lines("schema/cases.jsonl").iter().filter(|case| case["kind"] == "Shape") {
        let mut once = case["new"].clone();
        shape.default(&mut once);
        let mut twice = once.clone();
        shape.default(&mut twice);
        assert_eq!(once, twice);
    }
}

#[test]
fn a_schema_that_is_not_structural_is_refused() {
    let refused = |schema: Value| Structural::compile(&schema).unwrap_err();
    assert_eq!(
        refused(json!({"properties": {}})),
        "spec.validation.openAPIV3Schema.type: Required value: must not be empty at the root"
    );
    assert_eq!(
        refused(json!({"type": "object", "properties": {"a": {"minimum": 1}}})),
        "spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields"
    );
    assert_eq!(
        refused(json!({"type": "object", "properties": {"a": {"type": "array"}}})),
        "spec.validation.openAPIV3Schema.properties[a].items: Required value: must be specified"
    );
    assert!(refused(json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.a >"}]})).contains("compil"));
}

#[test]
fn a_compiled_schema_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Structural>();
}
