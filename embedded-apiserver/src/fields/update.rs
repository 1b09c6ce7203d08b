//! Ownership after a write that is not an apply. No I/O.

use serde_json::{Map, Value};

use super::kinds::ListKinds;
use super::managed::{self, Managed, Operation, Owned, Owner};
use super::ownership::{reachable, system_fields, take};

/// A write that is not an apply.
pub(super) struct Write<'a> {
    pub(super) manager: &'a str,
    pub(super) subresource: &'a str,
    pub(super) api_version: &'a str,
    pub(super) now: &'a str,
}

/// Assigns the changed fields to the writer. The time changes only when fields were assigned.
pub(super) fn update(owners: &mut Managed, kinds: &ListKinds, old: &Value, new: &Value, write: &Write<'_>) {
    let owner = Owner {
        manager: if write.manager.is_empty() { "unknown".to_owned() } else { write.manager.to_owned() },
        operation: Operation::Update,
        api_version: write.api_version.to_owned(),
        subresource: write.subresource.to_owned(),
    };
    // No real manager has this name, so the earlier fields of the manager count as owned by another.
    let nobody = Owner { manager: String::new(), ..owner.clone() };
    let Ok(found) = take(kinds, owners, old, new, &nobody, write.subresource, true) else { return };
    let taken = found.modified.union(&found.added);
    let taken = reachable(kinds, write.subresource, &taken).difference(&system_fields());
    if taken.is_empty() {
        return;
    }
    let held = owners.0.remove(&owner).map(|owned| owned.set).unwrap_or_default();
    let held =
        Owned { api_version: write.api_version.to_owned(), set: taken.union(&held), time: Some(write.now.to_owned()) };
    owners.0.insert(owner, held);
    owners.cap();
}

fn is_stored(object: &Value) -> bool {
    object.pointer("/metadata/uid").and_then(Value::as_str).is_some_and(|uid| !uid.is_empty())
}

/// Records ownership after a create, an update or a patch that is not an apply: writes `metadata.managedFields` of
/// `after`. An object that is stored without entries stays without them until the first apply.
pub fn track_update(
    before: Option<&Value>,
    after: &mut Value,
    manager: &str,
    subresource: &str,
    api_version: &str,
    now: &str,
    schema: &ListKinds,
) {
    let stored = || Managed::decode(before.and_then(managed::entries)).unwrap_or_default();
    let mut owners = if !subresource.is_empty() {
        stored()
    } else if managed::asks_for_reset(after, schema.is_built_in()) {
        Managed::default()
    } else {
        let given = Managed::decode(managed::entries(after)).unwrap_or_default();
        if given.0.is_empty() { stored() } else { given }
    };
    owners.reconcile(schema);
    let new = managed::without_entries(after);
    if !owners.0.is_empty() || !before.is_some_and(is_stored) {
        let old = before.map_or_else(|| schema.blank().clone(), managed::without_entries);
        update(&mut owners, schema, &old, &new, &Write { manager, subresource, api_version, now });
    }
    *after = new;
    let entries = owners.encode();
    let none = entries.is_none();
    managed::set_entries(after, entries);
    let empty = |meta: &Value| meta.as_object().is_some_and(Map::is_empty);
    if let (true, Some(root)) = (none && after.get("metadata").is_some_and(empty), after.as_object_mut()) {
        root.remove("metadata");
    }
}
