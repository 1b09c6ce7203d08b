//! Field ownership and server-side apply, with the semantics of Kubernetes' structured merge. No I/O; the time is
//! passed in.

pub(crate) mod compare;
pub(crate) mod element;
mod kinds;
mod managed;
mod merge;
mod set;

mod last_applied;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

pub use self::kinds::ListKinds;

use self::compare::{Comparison, compare, field_set, misfits};
use self::element::{Element, path_text, same};
use self::managed::{Managed, Operation, Owned, Owner};
use self::set::Set;

/// One server-side apply.
#[derive(Clone, Copy, Debug)]
pub struct Apply<'a> {
    /// The stored object; `None`: it is created.
    pub live: Option<&'a Value>,
    /// The applied configuration.
    pub config: &'a Value,
    /// The field manager.
    pub manager: &'a str,
    /// Whether to take fields that others own.
    pub force: bool,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// Group and version of the request.
    pub api_version: &'a str,
    /// RFC 3339.
    pub now: &'a str,
    /// How the fields of the kind are owned.
    pub schema: &'a ListKinds,
}

/// A field that another manager owns with another value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager, in the format of messages: `"kubectl" using apps/v1 `.
    pub manager: String,
    /// The field: `.spec.replicas`.
    pub path: String,
}

impl Conflict {
    /// The text of the cause in the refusal: `conflict with "kubectl" using apps/v1`.
    #[must_use]
    pub fn message(&self) -> String {
        format!("conflict with {}", self.manager)
    }
}

/// Why an apply is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// 409 Conflict, one `FieldManagerConflict` cause for each.
    Conflicts(Vec<Conflict>),
    /// The applied object does not match its kind. 500 InternalError, as in kube-apiserver.
    Invalid(String),
    /// The request is invalid. 400 BadRequest.
    BadRequest(String),
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conflicts = match self {
            Self::Invalid(why) | Self::BadRequest(why) => return f.write_str(why),
            Self::Conflicts(conflicts) => conflicts,
        };
        if let [only] = conflicts.as_slice() {
            return write!(f, "Apply failed with 1 conflict: conflict with {}: {}", only.manager, only.path);
        }
        let mut by_manager: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for conflict in conflicts {
            by_manager.entry(&conflict.manager).or_default().push(&conflict.path);
        }
        let mut lines = Vec::new();
        for (manager, paths) in by_manager {
            lines.push(format!("conflicts with {manager}:"));
            lines.extend(paths.iter().map(|path| format!("- {path}")));
        }
        write!(f, "Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
    }
}

impl std::error::Error for ApplyError {}

/// Fields without an owner.
fn system_fields() -> Set {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
}

/// The fields that a write through this endpoint may own: the status endpoint the status, the object's endpoint the
/// rest.
fn reachable(kinds: &ListKinds, subresource: &str, set: &Set) -> Set {
    match subresource {
        "status" => set.only_field("status"),
        "" if kinds.has_status_subresource() => set.without_field("status"),
        _ => set.clone(),
    }
}

/// The members of an applied object that this endpoint writes.
fn reachable_config(kinds: &ListKinds, subresource: &str, config: &Value) -> Value {
    let mut config = config.clone();
    let Some(members) = config.as_object_mut() else { return config };
    match subresource {
        "status" => members.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status")),
        "" if kinds.has_status_subresource() => members.retain(|name, _| name != "status"),
        _ => {}
    }
    if let (true, Some(meta)) = (subresource == "status", members.get_mut("metadata").and_then(Value::as_object_mut)) {
        meta.retain(|name, _| matches!(name.as_str(), "name" | "namespace"));
    }
    config
}

fn empty_like(object: &Value) -> Value {
    let keep = |name: &str| object.get(name).map(|value| (name.to_owned(), value.clone()));
    Value::Object(["apiVersion", "kind"].into_iter().filter_map(keep).collect())
}

/// `namespace/name; group/version, Kind=Kind` of an object, for messages.
fn identity(object: &Value) -> String {
    let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let api_version = text("/apiVersion");
    let slash = if api_version.contains('/') { "" } else { "/" };
    format!("{}/{}; {slash}{api_version}, Kind={}", text("/metadata/namespace"), text("/metadata/name"), text("/kind"))
}

fn shown_owner(owner: &Owner) -> String {
    let mut text = format!("{:?}", owner.manager);
    if !owner.subresource.is_empty() {
        text = format!("{text} with subresource {:?}", owner.subresource);
    }
    if owner.operation == Operation::Update {
        text = format!("{text} using {}", owner.api_version);
    }
    text
}

/// Applies a configuration; returns the merged object, with its managed fields.
///
/// # Errors
/// Fields that others own with other values, unless forced; a configuration that does not match its kind.
pub fn apply(request: Apply<'_>) -> Result<Value, ApplyError> {
    check(&request)?;
    let first = apply_once(&request, request.force);
    let outcome = match (first, request.live) {
        (Err(Refused::Conflicts(conflicts)), Some(live)) if request.manager == last_applied::MANAGER => {
            let allowed = last_applied::allowed(request.schema, live, request.api_version);
            let left: Vec<(Owner, Vec<Element>)> =
                conflicts.into_iter().filter(|(_, path)| !allowed.as_ref().is_some_and(|set| set.has(path))).collect();
            if left.is_empty() { apply_once(&request, true) } else { Err(Refused::Conflicts(left)) }
        }
        (outcome, _) => outcome,
    };
    let mut merged = outcome.map_err(|refused| match refused {
        Refused::Invalid(why) => ApplyError::Invalid(why),
        Refused::Conflicts(found) => ApplyError::Conflicts(
            found
                .into_iter()
                .map(|(owner, path)| Conflict { manager: shown_owner(&owner), path: path_text(&path) })
                .collect(),
        ),
    })?;
    if request.manager == last_applied::MANAGER {
        last_applied::refresh(&mut merged, request.config);
    }
    Ok(merged)
}

fn check(request: &Apply<'_>) -> Result<(), ApplyError> {
    if request.config.get("apiVersion").and_then(Value::as_str) != Some(request.api_version) {
        let given = request.config.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        return Err(ApplyError::BadRequest(format!(
            "Incorrect version specified in apply patch. Specified patch version: {given}, expected: {}",
            request.api_version
        )));
    }
    if managed::entries(request.config).is_some_and(|entries| !entries.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let errors = misfits(request.schema, request.config);
    let why = match errors.as_slice() {
        [] => return Ok(()),
        [only] => only.clone(),
        several => format!("errors:\n  {}", several.join("\n  ")),
    };
    Err(ApplyError::Invalid(format!("failed to create typed patch object ({}): {why}", identity(request.config))))
}

enum Refused {
    Conflicts(Vec<(Owner, Vec<Element>)>),
    Invalid(String),
}

fn apply_once(request: &Apply<'_>, force: bool) -> Result<Value, Refused> {
    let kinds = request.schema;
    let config = reachable_config(kinds, request.subresource, request.config);
    let live = request.live.map_or_else(|| empty_like(&config), managed::without_entries);
    let mut owners = Managed::decode(request.live.and_then(managed::entries))
        .map_err(|why| Refused::Invalid(format!("failed to decode managed fields: {why}")))?;
    owners.reconcile(kinds);
    if owners.0.is_empty() && request.live.is_some() {
        owners = adopted(request, &live);
    }
    let owner = Owner {
        manager: if request.manager.is_empty() { "unknown".to_owned() } else { request.manager.to_owned() },
        operation: Operation::Apply,
        api_version: String::new(),
        subresource: request.subresource.to_owned(),
    };
    let merged = merge::merge(kinds, &live, &config)
        .map_err(|why| Refused::Invalid(format!("failed to merge config: {why}")))?;
    let last = owners.0.remove(&owner);
    let set = reachable(kinds, request.subresource, &field_set(kinds, &config));
    let time = last.as_ref().and_then(|last| last.time.clone());
    owners.0.insert(owner.clone(), Owned { api_version: request.api_version.to_owned(), set, time });
    let merged = prune(kinds, merged, &owners, last.as_ref().map(|last| &last.set));
    let _ = take(kinds, &mut owners, &live, &merged, &owner, request.subresource, force).map_err(Refused::Conflicts)?;
    strip(&mut owners, &owner);
    let unchanged = same(&live, &merged);
    if let (false, Some(owned)) = (unchanged, owners.0.get_mut(&owner)) {
        owned.time = Some(request.now.to_owned());
    }
    let mut out = if unchanged { live } else { merged };
    without_empty_metadata(&mut out);
    managed::set_entries(&mut out, owners.encode());
    Ok(out)
}

/// Metadata is typed in all kinds: empty members are omitted.
fn without_empty_metadata(object: &mut Value) {
    let empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    };
    if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        meta.retain(|_, value| !empty(value));
    }
}

/// The owner of the fields of an object before the first apply.
fn adopted(request: &Apply<'_>, live: &Value) -> Managed {
    let mut owners = Managed::default();
    let write = Write {
        manager: "before-first-apply",
        subresource: request.subresource,
        api_version: request.api_version,
        now: request.now,
    };
    update(&mut owners, request.schema, request.schema.blank(), live, &write);
    owners
}

/// Removes the fields that the manager applied last time and not this time, unless another manager owns them.
fn prune(kinds: &ListKinds, merged: Value, owners: &Managed, last: Option<&Set>) -> Value {
    let Some(last) = last.filter(|last| !last.is_empty()) else { return merged };
    let root = Some(kinds.root());
    let last = last.with_declared_parents(kinds, root);
    let claimed = owners.0.values().fold(Set::default(), |all, owned| all.union(&owned.set));
    let claimed = claimed.with_declared_parents(kinds, root);
    let before = field_set(kinds, &merged).with_declared_parents(kinds, root);
    let pruned = merge::remove(kinds, &merged, &last);
    let left = field_set(kinds, &pruned).with_declared_parents(kinds, root);
    // Restores the fields that an owner claims, then those that this manager never owned.
    let pruned = merge::remove(kinds, &merged, &before.difference(&left.union(&claimed)));
    let left = field_set(kinds, &pruned).with_declared_parents(kinds, root);
    merge::remove(kinds, &merged, &before.difference(&left).intersection(&last))
}

/// Removes changed fields from their owners and removed fields from all owners.
fn take(
    kinds: &ListKinds,
    owners: &mut Managed,
    old: &Value,
    new: &Value,
    writer: &Owner,
    subresource: &str,
    force: bool,
) -> Result<Comparison, Vec<(Owner, Vec<Element>)>> {
    let all = compare(kinds, old, new);
    let found = Comparison {
        removed: reachable(kinds, subresource, &all.removed),
        modified: reachable(kinds, subresource, &all.modified),
        added: reachable(kinds, subresource, &all.added),
    };
    let changed = found.modified.union(&found.added);
    if !force {
        let mut conflicts = Vec::new();
        for (owner, owned) in owners.0.iter().filter(|(owner, _)| *owner != writer) {
            let paths = owned.set.intersection(&changed).paths();
            conflicts.extend(paths.into_iter().map(|path| (owner.clone(), path)));
        }
        if !conflicts.is_empty() {
            return Err(conflicts);
        }
    }
    for (_, owned) in owners.0.iter_mut().filter(|(owner, _)| *owner != writer) {
        owned.set = owned.set.difference(&changed).difference(&found.removed);
    }
    owners.0.retain(|_, owned| !owned.set.is_empty());
    Ok(found)
}

fn strip(owners: &mut Managed, owner: &Owner) {
    if let Some(owned) = owners.0.get_mut(owner) {
        owned.set = owned.set.difference(&system_fields());
        if owned.set.is_empty() {
            owners.0.remove(owner);
        }
    }
}

/// A write that is not an apply.
struct Write<'a> {
    manager: &'a str,
    subresource: &'a str,
    api_version: &'a str,
    now: &'a str,
}

/// Assigns the changed fields to the writer. The time changes only when fields were assigned.
fn update(owners: &mut Managed, kinds: &ListKinds, old: &Value, new: &Value, write: &Write<'_>) {
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
