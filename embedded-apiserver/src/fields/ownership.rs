//! Which manager owns which field after a write. No I/O.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::element::Element;
use super::kinds::ListKinds;
use super::managed::{Managed, Owner};
use super::set::Set;

/// Fields without an owner.
pub(super) fn system_fields() -> Set {
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
pub(super) fn reachable(kinds: &ListKinds, subresource: &str, set: &Set) -> Set {
    match subresource {
        "status" => set.only_field("status"),
        "" if kinds.has_status_subresource() => set.without_field("status"),
        _ => set.clone(),
    }
}

/// Removes changed fields from their owners and removed fields from all owners.
pub(super) fn take(
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

/// Takes the fields that nobody owns from a manager.
pub(super) fn drop_system_fields(owners: &mut Managed, owner: &Owner) {
    if let Some(owned) = owners.0.get_mut(owner) {
        owned.set = owned.set.difference(&system_fields());
        if owned.set.is_empty() {
            owners.0.remove(owner);
        }
    }
}
