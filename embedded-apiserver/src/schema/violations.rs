//! Walks an object and its schema for the CEL rules that it violates. No I/O.

use serde_json::Value;

use super::check::{Old, old_item, old_member};
use super::node::Node;
use crate::field::FieldError;
use crate::fields::element::same;

/// The violations of CEL rules.
pub(super) fn check(node: &Node, new: &Value, old: Old<'_>, errors: &mut Vec<FieldError>) {
    let unchanged = old.is_some_and(|old| same(old, new));
    rules_at(node, "", new, old, unchanged, errors);
}

/// `unchanged` is whether this value, or the nearest parent with an old value, did not change.
fn rules_at(node: &Node, path: &str, value: &Value, old: Old<'_>, unchanged: bool, errors: &mut Vec<FieldError>) {
    if value.is_null() {
        return;
    }
    let old = old.filter(|old| !old.is_null());
    if let Some(rules) = &node.rules {
        errors.extend(rules.check(node.type_name(), path, value, old, unchanged));
    }
    for one in &node.all_of {
        if let Some(rules) = &one.rules {
            errors.extend(rules.check(node.type_name(), path, value, old, unchanged));
        }
    }
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let Some(of) = node.member(name).filter(|of| of.has_rules()) else { continue };
                let declared = node.properties.contains_key(name);
                let below = if declared { format!("{path}.{name}") } else { format!("{path}[{name}]") };
                let was = old_member(path, name, old);
                let unchanged = was.map_or(unchanged, |was| same(was, member));
                rules_at(of, &below, member, was, unchanged, errors);
            }
        }
        Value::Array(items) => {
            let Some(of) = node.items.as_ref().filter(|of| of.has_rules()) else { return };
            for (at, item) in items.iter().enumerate() {
                let was = old_item(node, item, old);
                let unchanged = was.map_or(unchanged, |was| same(was, item));
                rules_at(of, &format!("{path}[{at}]"), item, was, unchanged, errors);
            }
        }
        _ => {}
    }
}
