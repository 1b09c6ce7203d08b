//! The entries of `metadata.managedFields`: owners, their fields, and times. No I/O.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::kinds::ListKinds;
use super::set::Set;

/// Operation by which a manager owns its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// By server-side apply.
    Apply,
    /// By any other write.
    Update,
}

/// Identifies an entry. Applies of all versions share one; updates have one for each version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    /// The field manager's name.
    pub(crate) manager: String,
    /// Its operation.
    pub(crate) operation: Operation,
    /// Empty for an apply.
    pub(crate) api_version: String,
    /// Empty for the object itself.
    pub(crate) subresource: String,
}

/// Fields of an owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owned {
    /// The API version of its fields.
    pub(crate) api_version: String,
    /// Its fields.
    pub(crate) set: Set,
    /// RFC 3339; absent when never written.
    pub(crate) time: Option<String>,
}

/// Most separate updaters; older ones are merged into one.
const MAX_UPDATERS: usize = 10;
const FOLDED: &str = "ancient-changes";

/// All entries of one object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Managed(pub BTreeMap<Owner, Owned>);

fn text<'a>(entry: &'a Value, key: &str) -> &'a str {
    entry.get(key).and_then(Value::as_str).unwrap_or_default()
}

impl Managed {
    /// Reads the entries. Errors: an invalid entry.
    pub(crate) fn decode(entries: Option<&Value>) -> Result<Self, String> {
        let mut out = BTreeMap::new();
        for (at, entry) in entries.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let operation = match text(entry, "operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let api_version = text(entry, "apiVersion").to_owned();
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match text(entry, "fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
                other => return Err(format!("invalid fieldsType {other:?} in managed fields entry {at}")),
            }
            let owner = Owner {
                manager: text(entry, "manager").to_owned(),
                operation,
                api_version: if operation == Operation::Apply { String::new() } else { api_version.clone() },
                subresource: text(entry, "subresource").to_owned(),
            };
            let set = entry.get("fieldsV1").map(Set::decode).unwrap_or_default();
            let time = entry.get("time").and_then(Value::as_str).map(str::to_owned);
            out.insert(owner, Owned { api_version, set, time });
        }
        Ok(Self(out))
    }

    /// Adapts the entries to a changed schema.
    pub(crate) fn reconcile(&mut self, kinds: &ListKinds) {
        for owned in self.0.values_mut() {
            owned.set = owned.set.reconciled(kinds);
        }
    }

    /// The entries in Kubernetes' order: applies first, then by time, manager, version, subresource. `None`: there are
    /// none.
    pub(crate) fn encode(&self) -> Option<Value> {
        let mut entries: Vec<(&Owner, &Owned)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            (a.operation, &x.time, &a.manager, &x.api_version, &a.subresource).cmp(&(
                b.operation,
                &y.time,
                &b.manager,
                &y.api_version,
                &b.subresource,
            ))
        });
        let entries: Vec<Value> = entries.into_iter().map(|(owner, owned)| entry(owner, owned)).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// Merges the oldest updaters of each version into one entry while there are more than ten.
    pub(crate) fn cap(&mut self) {
        let mut updaters: Vec<(Option<String>, Owner)> = self
            .0
            .iter()
            .filter(|(owner, _)| owner.operation == Operation::Update)
            .map(|(owner, owned)| (owned.time.clone(), owner.clone()))
            .collect();
        updaters.sort();
        let mut count = updaters.len();
        let mut first_of: BTreeMap<String, Owner> = BTreeMap::new();
        for (_, owner) in updaters {
            if count <= MAX_UPDATERS {
                break;
            }
            let Some(first) = first_of.get(&owner.api_version).cloned() else {
                first_of.insert(owner.api_version.clone(), owner);
                continue;
            };
            let bucket = Owner {
                manager: FOLDED.to_owned(),
                operation: Operation::Update,
                api_version: owner.api_version.clone(),
                subresource: String::new(),
            };
            let base = self.0.remove(&bucket).or_else(|| self.0.remove(&first));
            if let (Some(base), Some(owned)) = (base, self.0.remove(&owner)) {
                let set = owned.set.union(&base.set);
                self.0.insert(bucket, Owned { set, ..owned });
            }
            count -= 1;
        }
    }
}

fn entry(owner: &Owner, holds: &Owned) -> Value {
    let mut out = Map::new();
    if !owner.manager.is_empty() {
        out.insert("manager".into(), owner.manager.as_str().into());
    }
    let operation = if owner.operation == Operation::Apply { "Apply" } else { "Update" };
    out.insert("operation".into(), operation.into());
    out.insert("apiVersion".into(), holds.api_version.as_str().into());
    if let Some(time) = &holds.time {
        out.insert("time".into(), time.as_str().into());
    }
    out.insert("fieldsType".into(), "FieldsV1".into());
    out.insert("fieldsV1".into(), holds.set.encode());
    if !owner.subresource.is_empty() {
        out.insert("subresource".into(), owner.subresource.as_str().into());
    }
    Value::Object(out)
}

/// The entries of an object.
pub(crate) fn entries(object: &Value) -> Option<&Value> {
    object.pointer("/metadata/managedFields")
}

/// The object without its entries.
pub(crate) fn without_entries(object: &Value) -> Value {
    super::super::object::unmanaged(object)
}

/// Writes the entries, or removes them when there are none.
pub(crate) fn set_entries(object: &mut Value, entries: Option<Value>) {
    let Some(root) = object.as_object_mut() else { return };
    let meta = root.entry("metadata").or_insert_with(|| json!({}));
    if let Some(meta) = meta.as_object_mut() {
        match entries {
            Some(entries) => meta.insert("managedFields".to_owned(), entries),
            None => meta.remove("managedFields"),
        };
    }
}

/// Whether the client asks to reset all ownership: `[{}]`, and `[]` in built-in kinds.
pub(crate) fn asks_for_reset(object: &Value, built_in: bool) -> bool {
    match entries(object).and_then(Value::as_array).map(Vec::as_slice) {
        Some([]) => built_in,
        Some([only]) => only.as_object().is_some_and(Map::is_empty),
        _ => false,
    }
}
