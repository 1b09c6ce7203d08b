//! Prunes unknown members and sets defaults. No I/O.

use serde_json::Value;

use super::node::{Node, Others};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes unknown members; returns their paths, sorted.
pub(super) fn prune(node: &Node, object: &mut Value) -> Vec<String> {
    let mut walk = Pruner { unknown: Vec::new() };
    walk.at(Some(node), object, "", true);
    walk.unknown.sort();
    walk.unknown
}

struct Pruner {
    unknown: Vec<String>,
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

impl Pruner {
    fn at(&mut self, node: Option<&Node>, value: &mut Value, path: &str, root: bool) {
        if let Some(node) = node.filter(|node| node.preserve) {
            self.declared_only(node, value, path, root);
            return;
        }
        match value {
            Value::Object(members) => {
                let embedded = root || node.is_some_and(|node| node.embedded);
                let mut gone = Vec::new();
                for (name, member) in members.iter_mut() {
                    let meta = META.contains(&name.as_str());
                    if node.is_some() && embedded && meta {
                        continue;
                    }
                    match (node.and_then(|node| node.properties.get(name)), node.map(|node| &node.others)) {
                        (Some(node), _) => self.at(Some(node), member, &child(path, name), false),
                        (None, Some(Others::Like(node))) => self.at(Some(node), member, &child(path, name), false),
                        (None, Some(Others::Any)) => self.at(None, member, &child(path, name), false),
                        _ => gone.push(name.clone()),
                    }
                }
                for name in gone {
                    self.unknown.push(child(path, &name));
                    members.remove(&name);
                }
            }
            Value::Array(items) => {
                let of = node.and_then(|node| node.items.as_deref());
                for (at, item) in items.iter_mut().enumerate() {
                    self.at(of, item, &format!("{path}[{at}]"), false);
                }
            }
            _ => {}
        }
    }

    /// Below a node that keeps unknown members: only declared members are pruned.
    fn declared_only(&mut self, node: &Node, value: &mut Value, path: &str, root: bool) {
        match value {
            Value::Object(members) => {
                for (name, member) in members.iter_mut() {
                    if (root || node.embedded) && META.contains(&name.as_str()) {
                        continue;
                    }
                    if let Some(node) = node.member(name) {
                        self.at(Some(node), member, &child(path, name), false);
                    } else if matches!(node.others, Others::Any) {
                        self.at(None, member, &child(path, name), false);
                    }
                }
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    if let Some(node) = node.items.as_deref() {
                        self.declared_only(node, item, &format!("{path}[{at}]"), false);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Removes nulls where null is not a value and there is no default.
pub(super) fn drop_nulls(node: Option<&Node>, value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, member| {
                let node = node.and_then(|node| node.member(name));
                !(member.is_null() && node.is_some_and(|node| !node.nullable && node.default.is_none()))
            });
            for (name, member) in members.iter_mut() {
                drop_nulls(node.and_then(|node| node.member(name)), member);
            }
        }
        Value::Array(items) => {
            for item in items {
                drop_nulls(node.and_then(|node| node.items.as_deref()), item);
            }
        }
        _ => {}
    }
}

fn bad_null(node: &Node, value: &Value) -> bool {
    value.is_null() && !node.nullable
}

/// Sets defaults.
pub(super) fn fill(node: &Node, value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in &node.properties {
                let Some(default) = &member.default else { continue };
                if members.get(name).is_none_or(|value| bad_null(member, value)) {
                    members.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in members.iter_mut() {
                if let Some(member) = node.properties.get(name) {
                    fill(member, value);
                } else if let Others::Like(member) = &node.others {
                    fill_place(member, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(node) = &node.items {
                    fill_place(node, item);
                }
            }
        }
        _ => {}
    }
}

fn fill_place(node: &Node, value: &mut Value) {
    if bad_null(node, value) {
        *value = node.default.clone().unwrap_or_default();
    }
    fill(node, value);
}
