//! Strategic merge patches, compared with the responses of a real API server.

use embedded_apiserver::strategic::{PatchError, apply};
use serde_json::{Value, json};

use super::lines;

/// What the server adds to new parts of an object.
const DEFAULTED: [&str; 9] = [
    "lastProbeTime",
    "lastTransitionTime",
    "terminationMessagePath",
    "terminationMessagePolicy",
    "imagePullPolicy",
    "resources",
    "protocol",
    "apiVersion",
    "type",
];

fn differences(path: &str, expected: &Value, found: &Value, out: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(e), Value::Object(f)) => {
            for (key, value) in e {
                let empty = value.as_object().is_some_and(|map| map.is_empty());
                match f.get(key) {
                    Some(other) => differences(&format!("{path}.{key}"), value, other, out),
                    None if empty || DEFAULTED.contains(&key.as_str()) => {}
                    None => out.push(format!("{path}.{key}: missing {value}")),
                }
            }
            for (key, value) in f.iter().filter(|(key, _)| !e.contains_key(*key)) {
                let empty = value == &json!({}) || value == &json!([]);
                if !empty {
                    out.push(format!("{path}.{key}: too much {value}"));
                }
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

#[test]
fn strategic_merge_is_as_on_a_real_server() {
    let cases = lines("ownership/strategic.jsonl");
    assert!(cases.len() >= 30);
    let mut wrong = Vec::new();
    for case in &cases {
        let text = |key: &str| case[key].as_str().unwrap();
        let mut found = Vec::new();
        match apply(text("group"), text("kind"), &case["before"], &case["patch"]) {
            Ok(patched) if case["code"] == 200 => differences("", &case["after"], &patched, &mut found),
            // Refused later, by validation.
            Ok(_) if case["code"] == 422 => {}
            Ok(patched) => found.push(format!("expected {}, found {patched}", case["error"])),
            Err(error) if case["code"] != error.code() => found.push(format!("expected {}", case["code"])),
            Err(error) if case["error"].as_str().is_some_and(|message| message.contains(&error.to_string())) => {}
            Err(error) => found.push(format!("expected {} {}, found {error}", case["code"], case["error"])),
        }
        if !found.is_empty() {
            wrong.push(format!("{}:\n    {}", text("case"), found.join("\n    ")));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn custom_kinds_have_no_strategic_merge_patch() {
    assert_eq!(apply("e.com", "Thing", &json!({}), &json!({})), Err(PatchError::Unsupported));
}

#[test]
fn a_patch_must_be_an_object() {
    assert_eq!(apply("apps", "Deployment", &json!({}), &json!([])), Err(PatchError::NoObject));
}
