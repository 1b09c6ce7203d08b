//! Embedded objects: they must have their type. No I/O.

use serde_json::Value;

use super::node::Node;
use crate::field::{Fault, FieldError};

/// Embedded objects without their type.
pub(super) fn check(node: &Node, path: &str, value: &Value, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(members) => {
            let missing = |name: &str| members.get(name).and_then(Value::as_str).is_none_or(str::is_empty);
            for name in ["apiVersion", "kind"].into_iter().filter(|name| node.embedded && missing(name)) {
                errors.push(FieldError::bare(Fault::Required, &format!("{path}.{name}"), ""));
            }
            for (name, member) in members {
                if let Some(node) = node.member(name) {
                    check(node, &format!("{path}.{name}"), member, errors);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                if let Some(node) = &node.items {
                    check(node, &format!("{path}[{at}]"), item, errors);
                }
            }
        }
        _ => {}
    }
}
