//! Field ownership and server-side apply, compared with the responses of a real API server.

use embedded_apiserver::fields::{Apply, ApplyError, ListKinds, apply, track_update};
use pretty::differences;
use serde_json::{Value, json};

use super::{fixture, lines};

mod pretty {
    use serde_json::Value;

    /// Where two values differ, one line each.
    pub fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
        match (expected, found) {
            (Value::Object(e), Value::Object(f)) => {
                for (key, value) in e {
                    match f.get(key) {
                        Some(other) => differences(&format!("{path}.{key}"), value, other, out),
                        None => out.push(format!("{path}.{key}: missing {value}")),
                    }
                }
                for (key, value) in f.iter().filter(|(key, _)| !e.contains_key(*key)) {
                    out.push(format!("{path}.{key}: too much {value}"));
                }
            }
            (Value::Array(e), Value::Array(f)) if e.len() == f.len() => {
                for (at, (e, f)) in e.iter().zip(f).enumerate() {
                    differences(&format!("{path}[{at}]"), e, f, out);
                }
            }
            (e, f) if e != f => out.push(format!("{path}: expected {e}, found {f}")),
            _ => {}
        }
    }
}

const NOW: &str = "2999-01-01T00:00:00Z";

fn api_version_of(kind: &str) -> &'static str {
    match kind {
        "Thing" => "t.example.com/v1",
        "Deployment" | "StatefulSet" => "apps/v1",
        "HorizontalPodAutoscaler" => "autoscaling/v2",
        "Lease" => "coordination.k8s.io/v1",
        _ => "v1",
    }
}

fn kinds_of(kind: &str) -> ListKinds {
    let thing = serde_json::from_str(&fixture("ownership/thing.json")).unwrap();
    if kind == "Thing" {
        return ListKinds::custom(&thing).with_status_subresource(true);
    }
    let api_version = api_version_of(kind);
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    (*ListKinds::builtin(group, version, kind).unwrap()).clone()
}

fn managed(object: &Value) -> Value {
    object["metadata"].get("managedFields").cloned().unwrap_or_default()
}

/// Entries whose time is new, in place of the time: written now or kept.
fn with_time_marks(entries: &Value, before: &Value, now: Option<&str>) -> Value {
    let old: Vec<&Value> =
        before.as_array().map(|list| list.iter().map(|entry| &entry["time"]).collect()).unwrap_or_default();
    let mut entries = entries.clone();
    for entry in entries.as_array_mut().into_iter().flatten() {
        let time = entry["time"].clone();
        let fresh = now.map_or(!time.is_null() && !old.contains(&&time), |now| time == now);
        entry["time"] = if time.is_null() {
            json!("never")
        } else if fresh {
            json!("fresh")
        } else {
            json!("kept")
        };
    }
    entries
}

fn sorted(mut entries: Value) -> Value {
    if let Some(list) = entries.as_array_mut() {
        list.sort_by_key(|entry| format!("{}{}{}", entry["operation"], entry["manager"], entry["subresource"]));
    }
    entries
}

fn default_protocol(object: &mut Value) {
    for port in object.pointer_mut("/spec/ports").and_then(Value::as_array_mut).into_iter().flatten() {
        port.as_object_mut().unwrap().entry("protocol").or_insert(json!("TCP"));
    }
}

/// Objects without what the server adds and what is compared apart.
fn content(object: &Value) -> Value {
    let mut object = object.clone();
    default_protocol(&mut object);
    let meta = object["metadata"].as_object_mut().unwrap();
    for name in ["managedFields", "uid", "namespace"] {
        meta.remove(name);
    }
    object
}

fn replay(case: &Value) -> Result<Value, ApplyError> {
    let text = |key: &str| case[key].as_str().unwrap();
    let kinds = kinds_of(text("kind"));
    let before = Some(&case["before"]).filter(|before| !before.is_null());
    let api_version = api_version_of(text("kind"));
    if text("op") == "apply" {
        return apply(Apply {
            live: before,
            config: &case["input"],
            manager: text("manager"),
            force: case["force"].as_bool().unwrap(),
            subresource: text("subresource"),
            api_version,
            now: NOW,
            schema: &kinds,
        });
    }
    let mut after = case["after"].clone();
    let sent = if text("op") == "put" { &case["input"] } else { &case["before"] };
    let meta = after["metadata"].as_object_mut().unwrap();
    meta.remove("managedFields");
    if let Some(entries) = sent.pointer("/metadata/managedFields") {
        meta.insert("managedFields".into(), entries.clone());
    }
    track_update(before, &mut after, text("manager"), text("subresource"), api_version, NOW, &kinds);
    Ok(after)
}

fn judge(case: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let expected = &case["after"];
    match replay(case) {
        Ok(found) if expected.is_null() => {
            // Refused later, by validation.
            if case["code"] != 422 {
                wrong.push(format!("expected {}, found {}", case["error"]["message"], managed(&found)));
            }
        }
        Ok(found) => {
            let before = managed(&case["before"]);
            let (e, f) = (
                sorted(with_time_marks(&managed(expected), &before, None)),
                sorted(with_time_marks(&managed(&found), &before, Some(NOW))),
            );
            differences("managedFields", &e, &f, &mut wrong);
            if matches!(case["kind"].as_str().unwrap(), "Thing" | "ConfigMap") {
                differences("", &content(expected), &content(&found), &mut wrong);
            }
        }
        Err(error) => {
            let message = case["error"]["message"].as_str().unwrap_or("accepted");
            if message != error.to_string() {
                wrong.push(format!("expected {message}, found {error}"));
            }
            if let ApplyError::Conflicts(conflicts) = error {
                let causes: Vec<Value> = conflicts
                    .iter()
                    .map(|c| json!({"reason": "FieldManagerConflict", "message": c.message(), "field": c.path}))
                    .collect();
                differences(
                    "causes",
                    &sorted_causes(&case["error"]["details"]["causes"]),
                    &sorted_causes(&json!(causes)),
                    &mut wrong,
                );
            }
        }
    }
    wrong
}

fn sorted_causes(causes: &Value) -> Value {
    let mut causes = causes.as_array().cloned().unwrap_or_default();
    causes.sort_by_key(ToString::to_string);
    Value::Array(causes)
}

#[test]
fn ownership_is_as_on_a_real_server() {
    let mut wrong = Vec::new();
    let cases = lines("ownership/cases.jsonl");
    assert!(cases.len() > 100);
    for case in &cases {
        let found = judge(case);
        if !found.is_empty() {
            wrong.push(format!("{} {}:\n    {}", case["case"], case["step"], found.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn applied(live: Option<&Value>, manager: &str, spec: Value, now: &str) -> Value {
    let config = json!({"apiVersion": "t.example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec});
    apply(Apply {
        live,
        config: &config,
        manager,
        force: false,
        subresource: "",
        api_version: "t.example.com/v1",
        now,
        schema: &kinds_of("Thing"),
    })
    .unwrap()
}

#[test]
fn applying_the_same_again_changes_nothing_not_even_the_time() {
    let once =
        applied(None, "a", json!({"replicas": 1, "set": ["x"], "items": [{"name": "n"}]}), "2026-01-01T00:00:00Z");
    let spec = once["spec"].clone();
    let twice = applied(Some(&once), "a", spec, "2026-02-02T00:00:00Z");
    assert_eq!(once, twice);
    assert_eq!(twice["metadata"]["managedFields"][0]["time"], "2026-01-01T00:00:00Z");
}

#[test]
fn a_value_that_has_become_atomic_is_owned_as_a_whole() {
    let schema = |map_type: &str| {
        let config = json!({"type": "object", "x-kubernetes-map-type": map_type,
                            "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
        let spec = json!({"type": "object", "properties": {"config": config}});
        ListKinds::custom(&json!({"type": "object", "properties": {"spec": spec}}))
    };
    let apply_with = |live: Option<&Value>, manager: &str, config: Value, kinds: &ListKinds| {
        apply(Apply {
            live,
            config: &json!({"apiVersion": "t.example.com/v1", "kind": "Thing", "spec": {"config": config}}),
            manager,
            force: false,
            subresource: "",
            api_version: "t.example.com/v1",
            now: NOW,
            schema: kinds,
        })
    };
    let granular = apply_with(None, "a", json!({"a": "1"}), &schema("granular")).unwrap();
    assert!(apply_with(Some(&granular), "b", json!({"b": "2"}), &schema("granular")).is_ok());
    let refused = apply_with(Some(&granular), "b", json!({"b": "2"}), &schema("atomic")).unwrap_err();
    assert_eq!(refused.to_string(), "Apply failed with 1 conflict: conflict with \"a\": .spec.config");
}

#[test]
fn nobody_owns_system_fields() {
    let mut object = json!({
        "apiVersion": "t.example.com/v1", "kind": "Thing",
        "metadata": {"name": "x", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1,
                     "creationTimestamp": "2026-01-01T00:00:00Z"},
    });
    track_update(None, &mut object, "m", "", "t.example.com/v1", NOW, &kinds_of("Thing"));
    assert_eq!(managed(&object), Value::Null);
}

#[test]
fn an_apply_may_not_bring_managed_fields_nor_another_version() {
    let kinds = kinds_of("Thing");
    let config = json!({"apiVersion": "t.example.com/v1", "kind": "Thing", "metadata": {"managedFields": [{}]}});
    let request = |config, api_version| Apply {
        live: None,
        config,
        manager: "m",
        force: false,
        subresource: "",
        api_version,
        now: NOW,
        schema: &kinds,
    };
    let error = apply(request(&config, "t.example.com/v1")).unwrap_err();
    assert_eq!(error, ApplyError::BadRequest("metadata.managedFields must be nil".into()));
    let error = apply(request(&config, "t.example.com/v2")).unwrap_err();
    assert!(matches!(error, ApplyError::BadRequest(why) if why.starts_with("Incorrect version specified")));
}

#[test]
fn fields_written_before_the_first_apply_get_an_owner() {
    let live = json!({"apiVersion": "t.example.com/v1", "kind": "Thing", "metadata": {"name": "x", "uid": "u"},
                      "spec": {"replicas": 1, "name": "old"}});
    let merged = applied(Some(&live), "a", json!({"replicas": 1}), NOW);
    let names: Vec<&str> = managed(&merged)
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["manager"].as_str().unwrap())
        .map(|n| if n == "a" { "a" } else { "before-first-apply" })
        .collect();
    assert_eq!(names, ["a", "before-first-apply"]);
    assert_eq!(merged["spec"]["name"], "old");
}

#[test]
fn random_managed_fields_never_panic() {
    use proptest::prelude::*;
    let leaf = prop_oneof![Just(json!({})), Just(json!(null)), Just(json!("x")), Just(json!([1]))];
    let keys = "(f:[a-z]{0,3}|k:\\{\"name\":\"[ab]\"\\}|k:\\{|v:[0-9]|v:\"|i:[0-9x]|\\.|[a-z:]{0,4})";
    let fields = leaf.prop_recursive(4, 32, 4, move |inner| {
        prop::collection::btree_map(keys, inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect()))
    });
    proptest!(|(fields in fields)| {
        let live = json!({"apiVersion": "t.example.com/v1", "kind": "Thing", "metadata": {"name": "x", "uid": "u",
            "managedFields": [{"manager": "a", "operation": "Apply", "apiVersion": "t.example.com/v1",
                               "fieldsType": "FieldsV1", "fieldsV1": fields}]},
            "spec": {"replicas": 1, "items": [{"name": "a"}], "set": [1]}});
        let merged = applied(Some(&live), "a", json!({"replicas": 2}), NOW);
        prop_assert_eq!(&merged["spec"]["replicas"], &json!(2));
    });
}
