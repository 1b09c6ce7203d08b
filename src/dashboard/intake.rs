//! Events of watches -> the cache. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::core::ObjectMeta;
use kube::runtime::watcher;
use serde_json::Value;

use super::cache::{Cache, Content, Key, Kind};
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure, reason};
use crate::decision::backoff::ErrorClass;
use crate::runtime::watch::{EventHandler, Readers};

/// Annotation with a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Most objects of a kind that are named as not decodable.
const UNDECODABLE: usize = 100;

/// A kind that the cache keeps.
trait Kept: Clone + Send + Sync + 'static {
    const KIND: Kind;
    /// Removes what no page shows.
    fn slim(&mut self);
    fn put(self, content: &mut Content, now: Timestamp);
    fn take(content: &mut Content, key: &Key);
    /// Removes all objects but those of `listed`.
    fn retain(content: &mut Content, listed: &[Self]);
}

/// Receives the objects of one kind.
struct Intake<K> {
    cache: Arc<Cache>,
    listing: Vec<K>,
    undecodable: BTreeMap<Key, String>,
}

/// Handlers of all kinds that pages show.
pub(super) fn readers(cache: &Arc<Cache>) -> Readers {
    Readers {
        federated_hpas: vec![intake::<FederatedHPA>(cache)],
        cron_federated_hpas: vec![intake::<CronFederatedHPA>(cache)],
        resource_bindings: vec![intake::<ResourceBinding>(cache)],
        clusters: vec![intake::<Cluster>(cache)],
        events: vec![intake::<Event>(cache)],
        ..Readers::default()
    }
}

fn intake<K: Kept>(cache: &Arc<Cache>) -> Box<dyn EventHandler<K>> {
    Box::new(Intake { cache: Arc::clone(cache), listing: Vec::new(), undecodable: BTreeMap::new() })
}

impl<K: Kept> Intake<K> {
    fn slimmed(object: &K) -> K {
        let mut object = object.clone();
        object.slim();
        object
    }

    /// The watch works.
    fn change(&self, change: impl FnOnce(&mut Content, Timestamp)) {
        self.cache.change(|content, now| {
            content.sight(K::KIND).failure = None;
            change(content, now);
        });
    }
}

impl<K: Kept> EventHandler<K> for Intake<K> {
    fn begin(&mut self) {
        self.listing.clear();
        self.undecodable.clear();
    }

    fn listed(&mut self, object: &K) {
        self.listing.push(Self::slimmed(object));
    }

    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listing);
        let undecodable = self.undecodable.clone();
        self.change(|content, now| {
            K::retain(content, &listed);
            for object in listed {
                object.put(content, now);
            }
            let sight = content.sight(K::KIND);
            (sight.listed, sight.undecodable) = (true, undecodable);
        });
    }

    fn put(&mut self, object: &K) {
        let object = Self::slimmed(object);
        self.change(|content, now| object.put(content, now));
    }

    fn take(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.undecodable.remove(&key);
        self.change(|content, _| {
            K::take(content, &key);
            content.sight(K::KIND).undecodable.remove(&key);
        });
    }

    fn undecodable(&mut self, namespace: &str, name: &str, error: &str) {
        if self.undecodable.len() < UNDECODABLE {
            self.undecodable.insert((namespace.to_owned(), name.to_owned()), error.to_owned());
        }
        let undecodable = self.undecodable.clone();
        self.cache.change(|content, _| content.sight(K::KIND).undecodable = undecodable);
    }

    fn failed(&mut self, error: &watcher::Error) {
        let failure = failure(K::KIND, error);
        self.cache.change(|content, now| content.sight(K::KIND).failure = Some((now, failure)));
    }
}

/// A failure of a watch in words that say what to do.
fn failure(kind: Kind, error: &watcher::Error) -> Failure {
    use watcher::Error as E;
    let (group, resource) = kind.resource();
    let asked = |verb| Asked { verb, group, resource, object: &resource };
    match error {
        E::InitialListFailed(error) => Failure::of(error, asked("list")),
        E::WatchStartFailed(error) | E::WatchFailed(error) => Failure::of(error, asked("watch")),
        E::WatchError(status) => Failure::of(&kube::Error::Api(status.clone()), asked("watch")),
        E::NoResourceVersion => {
            let message = format!("the API server lists {resource} without a version, and so they cannot be watched");
            Failure::new(ErrorClass::Refused, reason::REJECTED, message)
        }
    }
}

fn slim(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

fn keys<K: kube::Resource>(listed: &[K]) -> std::collections::HashSet<Key> {
    listed.iter().map(|object| (object.namespace().unwrap_or_default(), object.name_any())).collect()
}

impl Kept for FederatedHPA {
    const KIND: Kind = Kind::FederatedHpa;

    fn slim(&mut self) {
        slim(&mut self.metadata);
    }

    fn put(self, content: &mut Content, now: Timestamp) {
        content.put_federated_hpa(key(&self.metadata), self, now);
    }

    fn take(content: &mut Content, key: &Key) {
        content.federated_hpas.remove(key);
        content.events.remove(key);
    }

    fn retain(content: &mut Content, listed: &[Self]) {
        let listed = keys(listed);
        content.federated_hpas.retain(|key, _| listed.contains(key));
    }
}

impl Kept for CronFederatedHPA {
    const KIND: Kind = Kind::CronFederatedHpa;

    fn slim(&mut self) {
        slim(&mut self.metadata);
    }

    fn put(self, content: &mut Content, _: Timestamp) {
        content.cron_federated_hpas.insert(key(&self.metadata), self);
    }

    fn take(content: &mut Content, key: &Key) {
        content.cron_federated_hpas.remove(key);
    }

    fn retain(content: &mut Content, _: &[Self]) {
        content.cron_federated_hpas.clear();
    }
}

impl Kept for ResourceBinding {
    const KIND: Kind = Kind::ResourceBinding;

    fn slim(&mut self) {
        slim(&mut self.metadata);
        (self.spec.placement, self.spec.failover) = (Value::Null, Value::Null);
        self.status.conditions = Vec::new();
    }

    fn put(self, content: &mut Content, _: Timestamp) {
        content.bindings.insert(key(&self.metadata), self);
    }

    fn take(content: &mut Content, key: &Key) {
        content.bindings.remove(key);
    }

    fn retain(content: &mut Content, _: &[Self]) {
        content.bindings.clear();
    }
}

impl Kept for Cluster {
    const KIND: Kind = Kind::Cluster;

    fn slim(&mut self) {
        slim(&mut self.metadata);
    }

    fn put(self, content: &mut Content, _: Timestamp) {
        content.clusters.insert(self.name_any(), self);
    }

    fn take(content: &mut Content, (_, name): &Key) {
        content.clusters.remove(name);
    }

    fn retain(content: &mut Content, _: &[Self]) {
        content.clusters.clear();
    }
}

impl Kept for Event {
    const KIND: Kind = Kind::Event;

    fn slim(&mut self) {
        slim(&mut self.metadata);
    }

    fn put(self, content: &mut Content, _: Timestamp) {
        content.put_event(self);
    }

    // The API server forgets Events after a while. The decision was made all the same.
    fn take(_: &mut Content, _: &Key) {}

    fn retain(content: &mut Content, _: &[Self]) {
        content.events.clear();
    }
}
