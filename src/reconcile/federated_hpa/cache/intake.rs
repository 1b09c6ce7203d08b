//! Watches -> cache, and which FederatedHPAs a change of a cached object affects. No I/O.

use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;

use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use super::{Cache, Inner};
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::key::Key;
use crate::controller::table::{Change, Item, Table};
use crate::runtime::clock;
use crate::runtime::watch::{EventHandler, KindReader, Readers};

/// Shortest interval between writes of measurements.
pub const MEASUREMENTS: SignedDuration = SignedDuration::from_secs(30);

/// Changed measurements that do not affect decisions are reported after this time, together.
const MEASUREMENTS_AFTER: Duration = MEASUREMENTS.unsigned_abs();

/// Reads the objects of one kind.
pub struct Reader<K, I> {
    cache: Arc<Cache>,
    read: fn(&K) -> I,
}

impl<K, I> Reader<K, I> {
    fn boxed(cache: &Arc<Cache>, read: fn(&K) -> I) -> Box<Self> {
        Box::new(Self { cache: Arc::clone(cache), read })
    }
}

impl Cache {
    /// Registers the cache with `readers`.
    pub fn read_by(self: &Arc<Self>, readers: &mut Readers) {
        readers.federated_hpas.push(Reader::<FederatedHPA, FederatedHpaEntry>::boxed(self, FederatedHpaEntry::of));
        readers.resource_bindings.push(Reader::<ResourceBinding, Binding>::boxed(self, Binding::of));
        readers.clusters.push(Reader::<Cluster, ClusterEntry>::boxed(self, ClusterEntry::of));
        readers.works.push(Reader::<Work, MemberHpa>::boxed(self, MemberHpa::of));
        let cache = Arc::clone(self);
        let reader = KindReader::new(Arc::clone(&self.kinds), move || cache.learnt_kinds());
        readers.customizations.push(Box::new(reader));
        let cache = Arc::clone(self);
        readers.read_scalers(&self.scalers, move |targets| cache.rescaled(targets));
    }
}

impl<K, I: CachedKind + Send> EventHandler<K> for Reader<K, I>
where
    I: 'static,
{
    fn begin(&mut self) {
        self.cache.begin::<I>();
    }
    fn listed(&mut self, object: &K) {
        self.cache.list((self.read)(object));
    }
    fn end(&mut self) {
        self.cache.end::<I>();
    }
    fn put(&mut self, object: &K) {
        self.cache.put((self.read)(object));
    }
    fn take(&mut self, namespace: &str, name: &str) {
        self.cache.take::<I>(&Key::new(namespace, name));
    }
    fn deleted(&mut self, namespace: &str, name: &str, uid: &str) {
        self.cache.deleted::<I>(&Key::new(namespace, name), uid);
    }
    fn forget(&mut self) {
        self.cache.forget::<I>();
    }
}

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
            due.get_or_insert_with(|| clock::steady() + MEASUREMENTS_AFTER);
            return;
        }
        inner.changed.extend(owners);
    }
}

impl CachedKind for ClusterEntry {
    fn table(inner: &mut Inner) -> &mut Table<Self> {
        &mut inner.clusters
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
        let all = inner.owners();
        inner.changed.extend(all);
    }
}
