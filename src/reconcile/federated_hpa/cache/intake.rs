//! Watches -> cache. No I/O.

use std::sync::Arc;

use super::Cache;
use super::affected::CachedKind;
use super::entry::{Binding, ClusterEntry, FederatedHpaEntry, MemberHpa};
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::controller::key::Key;
use crate::runtime::watch::{EventHandler, KindReader, Readers};

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
