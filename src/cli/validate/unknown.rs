//! Members that a kind does not have. The API server drops them silently, or rejects them when kubectl requests strict
//! validation; here they are errors. The schemas are those of `fhpa crds`. No I/O.

use serde_json::{Map, Value};

use super::super::manifest::{Content, Entry, Node};
use super::subject::Kind;
use crate::api::crd::schema_of;
use crate::decision::suggestion::nearest;

/// Most unknown members reported for one object.
const MOST: usize = 50;
/// Most members listed when no suggestion fits.
const LISTED: usize = 10;

/// A member that the kind does not have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    pub(super) path: String,
    /// The member that was probably meant; may be empty.
    pub(super) detail: String,
    /// The path of the member that was probably meant: no rule needs to report it as missing.
    pub(super) meant: Option<String>,
}

/// The unknown members of `object`, in order, at most [`MOST`].
pub(super) fn find(kind: Kind, object: &Node) -> Vec<Unknown> {
    let Some(schema) = schema_of(kind.name()) else { return Vec::new() };
    let mut search = Search { root: schema, found: Vec::new() };
    search.walk(object, schema, "");
    search.found
}

struct Search<'a> {
    root: &'a Value,
    found: Vec<Unknown>,
}

impl Search<'_> {
    fn walk(&mut self, node: &Node, schema: &Value, path: &str) {
        match &node.content {
            Content::Map(entries) => {
                let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
                for entry in entries {
                    let place = join(path, &entry.key);
                    match known.get(&*entry.key) {
                        Some(schema) => self.walk(&entry.value, schema, &place),
                        None if self.found.len() < MOST => {
                            let near = near(entry, entries, known);
                            let detail =
                                near.map_or_else(|| self.elsewhere(&entry.key, path, entries, known), did_you_mean);
                            let meant = near.map(|near| join(path, near));
                            self.found.push(Unknown { path: place, detail, meant });
                        }
                        None => return,
                    }
                }
            }
            Content::List(items) => {
                let Some(schema) = schema.get("items") else { return };
                for (index, item) in items.iter().enumerate() {
                    self.walk(item, schema, &format!("{path}[{index}]"));
                }
            }
            _ => {}
        }
    }

    /// Where a member of that name belongs, preferably in an existing member; else the members that are allowed here.
    fn elsewhere(&self, key: &str, path: &str, siblings: &[Entry], known: &Map<String, Value>) -> String {
        let beside = siblings.iter().filter_map(|sibling| Some((sibling, known.get(&*sibling.key)?)));
        let mut beside = beside.filter_map(|(sibling, schema)| place_of(key, schema, &join(path, &sibling.key)));
        let spec = || self.root.pointer("/properties/spec");
        if let Some(place) = beside.next().or_else(|| place_of(key, spec()?, "spec")) {
            return format!("it belongs in {place}");
        }
        if known.is_empty() || known.len() > LISTED {
            return String::new();
        }
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        format!("allowed here: {}", names.join(", "))
    }
}

/// A member with a similar name that is not set yet.
fn near<'a>(entry: &Entry, siblings: &[Entry], known: &'a Map<String, Value>) -> Option<&'a str> {
    let free = known.keys().filter(|name| siblings.iter().all(|sibling| *sibling.key != ***name));
    nearest(&entry.key, free.map(String::as_str))
}

fn did_you_mean(name: &str) -> String {
    format!("did you mean {name:?}?")
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The path of the member that has a member `name`, the nearest to the root.
fn place_of(name: &str, schema: &Value, path: &str) -> Option<String> {
    let mut level = vec![(schema, path.to_owned())];
    while !level.is_empty() {
        let mut below = Vec::new();
        for (schema, path) in level {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                if properties.contains_key(name) {
                    return Some(path);
                }
                below.extend(properties.iter().map(|(key, schema)| (schema, join(&path, key))));
            }
            below.extend(schema.get("items").map(|items| (items, format!("{path}[]"))));
        }
        level = below;
    }
    None
}
