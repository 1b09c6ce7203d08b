//! Uniqueness of elements: sets by value, maps by key. No I/O.

use serde_json::{Map, Value};

use super::node::{ListType, Node};
use crate::field::{Fault, FieldError};
use crate::fields::element::same;

/// Duplicate elements below `path`.
pub(super) fn check(node: &Node, path: &str, value: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    at(node, path, value, &mut errors);
    errors
}

fn at(node: &Node, path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let below = if node.properties.contains_key(name) {
                    format!("{path}.{name}")
                } else {
                    format!("{path}[{name}]")
                };
                if let Some(node) = node.member(name) {
                    at(node, &below, member, errors);
                }
            }
        }
        Value::Array(items) => {
            match node.list_type {
                ListType::Atomic => {}
                ListType::Set => errors.extend(repeated(path, items)),
                ListType::Map => errors.extend(repeated_keys(node, path, items)),
            }
            if let Some(of) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    at(of, &format!("{path}[{index}]"), item, errors);
                }
            }
        }
        _ => {}
    }
}

/// The second occurrence of each duplicate value.
fn repeated(path: &str, items: &[Value]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let before = items.iter().take(index).filter(|other| same(other, item)).count();
        if before == 1 {
            errors.push(FieldError::new(Fault::Duplicate, &format!("{path}[{index}]"), item.clone(), ""));
        }
    }
    errors
}

fn repeated_keys(node: &Node, path: &str, items: &[Value]) -> Vec<FieldError> {
    let odd = items.iter().position(|item| !item.is_object() && !item.is_null());
    if let Some(index) = odd {
        let what = "must be an object for an array of list-type map";
        let item = items.get(index).cloned().unwrap_or_default();
        return vec![FieldError::new(Fault::Invalid, &format!("{path}[{index}]"), item, what)];
    }
    let keys: Vec<Value> = items.iter().map(|item| key_of(node, item)).collect();
    repeated(path, &keys)
}

/// The key members of an element.
pub(super) fn key_of(node: &Node, item: &Value) -> Value {
    let members = node.keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
    Value::Object(members.collect::<Map<_, _>>())
}
