//! Events of watches -> the cache. No I/O.

use std::collections::{BTreeMap, HashSet};
use std::marker::PhantomData;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::core::ObjectMeta;
use kube::runtime::watcher;

use super::cache::{Arrival, Cache, Content, Key, Kind};
use super::packed::Packed;
use crate::api::resource_binding::{ResourceBindingSpec, ResourceBindingStatus};
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::{Asked, Failure, reason};
use crate::decision::backoff::ErrorClass;
use crate::overview::ShownEvent;
use crate::runtime::watch::{EventHandler, Readers};

/// Annotation with a copy of the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Most objects of a kind that are named as not decodable.
const UNDECODABLE: usize = 100;
/// Objects in one page of a list: a page is decoded as a whole, and objects in 100 clusters are large.
const PAGE: u32 = 10;

/// A kind that the cache keeps.
trait ShownKind: Clone + Send + Sync + 'static {
    const KIND: Kind;
    /// What is stored of it.
    type Stored;
    /// Removes what no page shows, and packs the rest; `None`: no page shows it.
    fn kept(self) -> Option<Self::Stored>;
    fn put(content: &mut Content, key: Key, kept: Self::Stored, now: Timestamp);
    fn take(content: &mut Content, key: &Key);
    /// Removes all objects but those of `listed`.
    fn retain(content: &mut Content, listed: &HashSet<Key>);
}

/// Receives the objects of one kind.
struct Intake<K> {
    cache: Arc<Cache>,
    /// Keys of the list that is arriving.
    listed: HashSet<Key>,
    undecodable: BTreeMap<Key, String>,
    kind: PhantomData<fn(K)>,
}

/// Handlers of all kinds that pages show.
pub(super) fn readers(cache: &Arc<Cache>) -> Readers {
    Readers {
        federated_hpas: vec![intake::<FederatedHPA>(cache)],
        cron_federated_hpas: vec![intake::<CronFederatedHPA>(cache)],
        resource_bindings: vec![intake::<ResourceBinding>(cache)],
        clusters: vec![intake::<Cluster>(cache)],
        events: vec![intake::<Event>(cache)],
        page: Some(PAGE),
        ..Readers::default()
    }
}

fn intake<K: ShownKind + kube::Resource>(cache: &Arc<Cache>) -> Box<dyn EventHandler<K>> {
    let cache = Arc::clone(cache);
    Box::new(Intake { cache, listed: HashSet::new(), undecodable: BTreeMap::new(), kind: PhantomData })
}

impl<K: ShownKind + kube::Resource> Intake<K> {
    /// Stores an object, and returns its key.
    fn store(&self, object: &K) -> Key {
        let key = key(object.meta());
        // Packed before the cache is locked.
        let kept = object.clone().kept();
        self.change(|content, now| {
            if let Some(kept) = kept {
                K::put(content, key.clone(), kept, now);
            }
        });
        key
    }

    /// The watch works.
    fn change(&self, change: impl FnOnce(&mut Content, Timestamp)) {
        self.cache.change(|content, now| {
            content.watch_state(K::KIND).failure = None;
            change(content, now);
        });
    }
}

impl<K: ShownKind + kube::Resource> EventHandler<K> for Intake<K> {
    fn begin(&mut self) {
        self.listed.clear();
        self.undecodable.clear();
    }

    // At once, so that a long list is never held whole.
    fn listed(&mut self, object: &K) {
        let key = self.store(object);
        self.listed.insert(key);
    }

    fn end(&mut self) {
        let listed = std::mem::take(&mut self.listed);
        let undecodable = self.undecodable.clone();
        self.change(|content, _| {
            K::retain(content, &listed);
            let state = content.watch_state(K::KIND);
            (state.listed, state.undecodable) = (true, undecodable);
        });
    }

    fn put(&mut self, object: &K) {
        self.store(object);
    }

    fn take(&mut self, namespace: &str, name: &str) {
        let key = (namespace.to_owned(), name.to_owned());
        self.undecodable.remove(&key);
        self.change(|content, _| {
            K::take(content, &key);
            content.watch_state(K::KIND).undecodable.remove(&key);
        });
    }

    fn undecodable(&mut self, metadata: &ObjectMeta, error: &str) {
        let (namespace, name) = key(metadata);
        self.take(&namespace, &name);
        self.listed_undecodable(metadata, error);
    }

    fn listed_undecodable(&mut self, metadata: &ObjectMeta, error: &str) {
        if self.undecodable.len() < UNDECODABLE {
            self.undecodable.insert(key(metadata), error.to_owned());
        }
        let undecodable = self.undecodable.clone();
        self.cache.change(|content, _| content.watch_state(K::KIND).undecodable = undecodable);
    }

    fn failed(&mut self, error: &watcher::Error) {
        let failure = failure(K::KIND, error);
        self.cache.change(|content, now| content.watch_state(K::KIND).failure = Some((now, failure)));
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

impl ShownKind for FederatedHPA {
    const KIND: Kind = Kind::FederatedHpa;
    type Stored = Arrival;

    fn kept(mut self) -> Option<Arrival> {
        slim(&mut self.metadata);
        let members = self.status.as_mut().and_then(|status| status.aggregated_status.as_mut());
        for member in members.into_iter().flatten() {
            // Only those that are not well are shown.
            let conditions = Arc::make_mut(&mut member.status).conditions.get_or_insert_default();
            conditions.retain(|one| one.status != "True");
        }
        Some(Arrival::of(self))
    }

    fn put(content: &mut Content, key: Key, kept: Arrival, now: Timestamp) {
        content.put_federated_hpa(key, kept, now);
    }

    fn take(content: &mut Content, key: &Key) {
        content.take_federated_hpa(key);
        content.take_events(key);
    }

    fn retain(content: &mut Content, listed: &HashSet<Key>) {
        content.retain_federated_hpas(listed);
    }
}

impl ShownKind for CronFederatedHPA {
    const KIND: Kind = Kind::CronFederatedHpa;
    type Stored = Self;

    fn kept(mut self) -> Option<Self> {
        slim(&mut self.metadata);
        Some(self)
    }

    fn put(content: &mut Content, key: Key, kept: Self, _: Timestamp) {
        content.cron_federated_hpas.insert(key, kept);
    }

    fn take(content: &mut Content, key: &Key) {
        content.cron_federated_hpas.remove(key);
    }

    fn retain(content: &mut Content, listed: &HashSet<Key>) {
        content.cron_federated_hpas.retain(|key, _| listed.contains(key));
    }
}

impl ShownKind for ResourceBinding {
    const KIND: Kind = Kind::ResourceBinding;
    type Stored = (Self, Packed<Self>);

    fn kept(self) -> Option<Self::Stored> {
        let Self { spec, status, .. } = self;
        let ResourceBindingSpec { resource, replica_requirements, clusters, graceful_eviction_tasks, .. } = spec;
        let spec = ResourceBindingSpec {
            resource,
            replica_requirements,
            clusters,
            graceful_eviction_tasks,
            ..ResourceBindingSpec::default()
        };
        let status =
            ResourceBindingStatus { aggregated_status: status.aggregated_status, ..ResourceBindingStatus::default() };
        let kept = Self { metadata: ObjectMeta::default(), spec, status };
        let packed = Packed::of(&kept);
        Some((kept, packed))
    }

    fn put(content: &mut Content, key: Key, (binding, packed): Self::Stored, _: Timestamp) {
        content.put_binding(key, binding, packed);
    }

    fn take(content: &mut Content, key: &Key) {
        content.take_binding(key);
    }

    fn retain(content: &mut Content, listed: &HashSet<Key>) {
        content.retain_bindings(listed);
    }
}

impl ShownKind for Cluster {
    const KIND: Kind = Kind::Cluster;
    type Stored = Self;

    fn kept(mut self) -> Option<Self> {
        slim(&mut self.metadata);
        self.status.api_enablements = Vec::new();
        Some(self)
    }

    fn put(content: &mut Content, (_, name): Key, kept: Self, _: Timestamp) {
        content.clusters.insert(name, kept);
    }

    fn take(content: &mut Content, (_, name): &Key) {
        content.clusters.remove(name);
    }

    fn retain(content: &mut Content, listed: &HashSet<Key>) {
        content.clusters.retain(|name, _| listed.contains(&(String::new(), name.clone())));
    }
}

impl ShownKind for Event {
    const KIND: Kind = Kind::Event;
    type Stored = ShownEvent;

    fn kept(self) -> Option<ShownEvent> {
        ShownEvent::of(&self)
    }

    fn put(content: &mut Content, (namespace, _): Key, kept: ShownEvent, _: Timestamp) {
        content.put_event((namespace, kept.about.clone()), kept);
    }

    // The API server forgets Events after a while. The decision was made all the same.
    fn take(_: &mut Content, _: &Key) {}

    fn retain(content: &mut Content, listed: &HashSet<Key>) {
        content.retain_events(listed);
    }
}
