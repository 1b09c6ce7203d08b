//! Watches -> what is seen. No I/O.

use std::sync::Arc;

use kube::Resource;

use super::entry::{Binding, Order, Place, Sent, key};
use super::{Kept, Seen};
use crate::api::{Cluster, FederatedHPA, ResourceBinding, Work};
use crate::reconcile::key::Key;
use crate::runtime::watch::{Intake, KindReader, Readers};

/// Reads the objects of one kind.
pub struct Reader<K, I> {
    seen: Arc<Seen>,
    read: fn(&K) -> I,
    listing: Vec<(Key, I)>,
}

impl<K, I> Reader<K, I> {
    fn boxed(seen: &Arc<Seen>, read: fn(&K) -> I) -> Box<Self> {
        Box::new(Self { seen: Arc::clone(seen), read, listing: Vec::new() })
    }
}

impl Seen {
    /// Has `readers` tell this.
    pub fn read_by(self: &Arc<Self>, readers: &mut Readers) {
        readers.federated_hpas.push(Reader::<FederatedHPA, Order>::boxed(self, Order::of));
        readers.resource_bindings.push(Reader::<ResourceBinding, Binding>::boxed(self, Binding::of));
        readers.clusters.push(Reader::<Cluster, Place>::boxed(self, Place::of));
        readers.works.push(Reader::<Work, Sent>::boxed(self, Sent::of));
        let seen = Arc::clone(self);
        let reader = KindReader::new(Arc::clone(&self.kinds), move || seen.learnt_kinds());
        readers.customizations.push(Box::new(reader));
    }
}

impl<K: Resource, I: Kept + Send> Intake<K> for Reader<K, I>
where
    I: 'static,
{
    fn begin(&mut self) {
        self.seen.begin::<I>();
        self.listing.clear();
    }
    fn listed(&mut self, object: &K) {
        self.listing.push((key(object.meta()), (self.read)(object)));
    }
    fn end(&mut self) {
        self.seen.replace(std::mem::take(&mut self.listing));
    }
    fn put(&mut self, object: &K) {
        self.seen.put(key(object.meta()), (self.read)(object));
    }
    fn take(&mut self, namespace: &str, name: &str) {
        self.seen.take::<I>(&Key::new(namespace, name));
    }
    fn forget(&mut self) {
        self.seen.forget::<I>();
    }
}
