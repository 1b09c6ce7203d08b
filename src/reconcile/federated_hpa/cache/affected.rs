//! Which FederatedHPAs a change of a cached object affects. No I/O.

use std::time::Duration;

use jiff::SignedDuration;

use super::Inner;
use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item, Table};
use crate::runtime::clock;

/// Shortest interval between writes of measurements.
pub const MEASUREMENTS: SignedDuration = SignedDuration::from_secs(30);

/// Changed measurements that do not affect decisions are reported after this time, together.
const SHOWN: Duration = MEASUREMENTS.unsigned_abs();

/// A cached kind.
pub(super) trait CachedKind: Item + Sized {
    fn table(inner: &mut Inner) -> &mut Table<Self>;
    /// Updates indexes that depend on the change.
    fn index(_inner: &mut Inner, _change: &Change<Self>) {}
    /// Marks the FederatedHPAs that the change affects.
    fn touch(inner: &mut Inner, change: &Change<Self>);
}

impl CachedKind for FederatedHpaEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.federated_hpas
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        for entry in [&change.before, &change.after].into_iter().flatten() {
            inner.changed.insert(entry.key());
            // Only one of several on a workload acts; that may now be another one.
            for target in [Some(&entry.target), entry.also_about().as_ref()].into_iter().flatten() {
                inner.changed.extend(inner.federated_hpas.keys_about(target).cloned());
            }
        }
    }
}

impl CachedKind for Binding {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.bindings
    }
    fn index(inner: &mut Inner, change: &Change<Self>) {
        inner.marks.follow(change);
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let namespace = &change.key.namespace;
        let marked = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.marked());
        inner.changed.extend(marked.map(|name| Key::new(namespace, name)));
        let targets = [&change.before, &change.after].into_iter().flatten().filter_map(|binding| binding.about());
        for target in targets {
            inner.changed.extend(inner.federated_hpas.keys_about(&target).cloned());
        }
    }
}

impl CachedKind for MemberHpa {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.member_hpas
    }
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        let owners = [&change.before, &change.after]
            .into_iter()
            .flatten()
            .filter_map(|member_hpa| member_hpa.owner.as_deref().cloned());
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.is_like(after)
        {
            let (moved, due) = &mut inner.moved;
            moved.extend(owners);
            due.get_or_insert_with(|| clock::steady() + SHOWN);
            return;
        }
        inner.changed.extend(owners);
    }
}

impl CachedKind for ClusterEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.places
    }
    /// A cluster reports every few seconds; that alone is not a change.
    fn touch(inner: &mut Inner, change: &Change<Self>) {
        inner.reported = None;
        if let (Some(before), Some(after)) = (&change.before, &change.after)
            && before.is_like(after)
        {
            return;
        }
        inner.fleet = None;
        inner.changed.extend(inner.federated_hpas.all().map(|entry| entry.key()));
    }
}
