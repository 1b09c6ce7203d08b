//! Server-side apply: merges a configuration and moves the ownership of its fields. No I/O.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::compare::{field_set, misfits};
use super::element::{Element, path_text, same};
use super::kinds::ListKinds;
use super::managed::{self, Managed, Operation, Owned, Owner};
use super::ownership::{drop_system_fields, reachable, take};
use super::set::Set;
use super::update::{Write, update};
use super::{last_applied, merge};

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
        meta.retain(|name, _| matches!(name.as_str(), "name" | "namespace" | "resourceVersion"));
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
    drop_system_fields(&mut owners, &owner);
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
