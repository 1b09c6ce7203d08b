//! The objects that pages show, as watches deliver them, and what was seen of each FederatedHPA. No I/O.
//!
//! Not the cache of the controller in `daemon/src/reconcile`, which keeps what decisions need: typed objects by target and by
//! owner, Works, and own writes at once. Pages need the opposite: a summary of each object to sort and filter all of
//! them, the rest compressed, the last hour, Events, objects that cannot be decoded, and the state of each watch.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::watch;

use super::history::History;
use super::packed::Packed;
use crate::api::resource_binding::ResourceBindingSpec;
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::Failure;
use crate::controller::intern;
use crate::decision::api_version::GROUP;
use crate::decision::names;
use crate::overview::drawing::Figures;
use crate::overview::gather::{undecoded_of, unread_of};
use crate::overview::model::{ClusterView, Detail, FederatedHpaSummary, Pressure, Unread};
use crate::overview::{Clock, Related, ShownEvent, cluster_views, detail_of, summary};
use crate::runtime::clock::WallClock;

/// Namespace and name.
pub(super) type Key = (String, String);

/// Most Events that are kept of one object.
const EVENTS: usize = 16;
/// Most objects whose last hour is kept.
const HISTORIES: usize = 10_000;
/// A watch that has failed no later than this has recovered, even if nothing has changed since.
const RECOVERED: SignedDuration = SignedDuration::from_mins(2);

/// A kind that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    FederatedHpa,
    CronFederatedHpa,
    ResourceBinding,
    Cluster,
    Event,
}

impl Kind {
    const ALL: [Self; 5] =
        [Self::FederatedHpa, Self::CronFederatedHpa, Self::ResourceBinding, Self::Cluster, Self::Event];

    /// Group and plural name, as roles name them.
    pub(super) const fn resource(self) -> (&'static str, &'static str) {
        match self {
            Self::FederatedHpa => (GROUP, "federatedhpas"),
            Self::CronFederatedHpa => (GROUP, "cronfederatedhpas"),
            Self::ResourceBinding => ("work.karmada.io", "resourcebindings"),
            Self::Cluster => ("cluster.karmada.io", "clusters"),
            Self::Event => ("events.k8s.io", "events"),
        }
    }
}

/// What is known of the watch on a kind.
#[derive(Clone, Debug, Default)]
pub(super) struct WatchState {
    /// Whether all objects were listed once.
    pub(super) listed: bool,
    /// The last failure, and when.
    pub(super) failure: Option<(Timestamp, Failure)>,
    /// Objects that cannot be decoded, and why.
    pub(super) undecodable: BTreeMap<Key, String>,
}

/// A FederatedHPA in a cluster, as far as lists of clusters need it.
pub(super) struct Place {
    pub(super) cluster: Arc<str>,
    /// Replicas there; 0 where they are not known.
    pub(super) replicas: i32,
    /// How much of its bounds it uses.
    pub(super) pressure: Pressure,
    /// Whether it has bounds there.
    pub(super) bounded: bool,
    /// Whether a user should look at it, even if the cluster answers.
    pub(super) needs_attention: bool,
}

impl Place {
    fn of(view: &ClusterView) -> Self {
        Self {
            cluster: intern::text(&view.name),
            replicas: view.replicas.unwrap_or_default(),
            pressure: view.pressure(),
            bounded: view.max_replicas.is_some(),
            needs_attention: view.needs_attention,
        }
    }
}

/// A FederatedHPA: what lists choose and sort by, and the rest packed.
pub(super) struct Entry {
    /// Without the words of conditions, which no list shows.
    pub(super) summary: FederatedHpaSummary,
    /// `None`: the histories of others take all the room.
    pub(super) history: Option<History>,
    /// The clusters that it uses.
    pub(super) places: Box<[Place]>,
    uid: Option<String>,
    packed: Packed<FederatedHPA>,
}

impl Entry {
    /// The object.
    pub(super) fn hpa(&self) -> Option<FederatedHPA> {
        self.packed.open()
    }
}

/// All objects.
#[derive(Default)]
pub(super) struct Content {
    // Boxed, as about a third of the places of a map is empty.
    pub(super) federated_hpas: BTreeMap<Key, Box<Entry>>,
    pub(super) cron_federated_hpas: BTreeMap<Key, CronFederatedHPA>,
    pub(super) clusters: BTreeMap<String, Cluster>,
    /// Those of bindings whose workload leaves a cluster.
    pub(super) evicting: BTreeMap<Key, ResourceBinding>,
    bindings: BTreeMap<Key, Packed<ResourceBinding>>,
    /// The names of the FederatedHPAs of each binding that they need.
    needed: BTreeMap<Key, Vec<String>>,
    /// By the FederatedHPA that they are about.
    events: BTreeMap<Key, Vec<ShownEvent>>,
    watches: [WatchState; Kind::ALL.len()],
}

/// A FederatedHPA that is about to be stored.
pub(super) struct Arrival {
    hpa: FederatedHPA,
    summary: FederatedHpaSummary,
    packed: Packed<FederatedHPA>,
}

impl Arrival {
    /// Packs `hpa`, which takes a while: no page waits for it.
    pub(super) fn of(hpa: FederatedHPA) -> Self {
        let mut summary = summary(&hpa);
        (summary.ready.message, summary.ready.to_do) = (String::new(), String::new());
        let packed = Packed::of(&hpa);
        Self { hpa, summary, packed }
    }
}

impl Content {
    /// What is known of the watch on `kind`.
    pub(super) fn watch_state(&mut self, kind: Kind) -> &mut WatchState {
        let [hpa, cron, binding, cluster, event] = &mut self.watches;
        match kind {
            Kind::FederatedHpa => hpa,
            Kind::CronFederatedHpa => cron,
            Kind::ResourceBinding => binding,
            Kind::Cluster => cluster,
            Kind::Event => event,
        }
    }

    /// Stores a FederatedHPA, and its figures in its history.
    pub(super) fn put_federated_hpa(&mut self, key: Key, arrival: Arrival, now: Timestamp) {
        let Arrival { hpa, summary, packed } = arrival;
        let figures = Figures {
            current: summary.current_replicas,
            desired: summary.desired_replicas,
            min: summary.min_replicas,
            max: summary.max_replicas,
        };
        let places = places(&hpa, self.binding(&summary).as_ref());
        // An object that was made again begins anew.
        let before = self.take_federated_hpa(&key);
        let same = before.filter(|before| before.uid == hpa.metadata.uid);
        let room = self.federated_hpas.len() < HISTORIES;
        let mut history = same.map_or_else(|| room.then(History::default), |before| before.history);
        if let Some(history) = &mut history {
            history.record(now, figures);
        }
        let names = self.needed.entry(bound(&summary)).or_default();
        names.reserve_exact(1);
        names.push(key.1.clone());
        let entry = Entry { summary, history, places, uid: hpa.metadata.uid, packed };
        self.federated_hpas.insert(key, Box::new(entry));
    }

    /// Removes a FederatedHPA.
    pub(super) fn take_federated_hpa(&mut self, key: &Key) -> Option<Box<Entry>> {
        let entry = self.federated_hpas.remove(key)?;
        let bound = bound(&entry.summary);
        if let Some(names) = self.needed.get_mut(&bound) {
            names.retain(|name| *name != key.1);
            if names.is_empty() {
                self.needed.remove(&bound);
            }
        }
        Some(entry)
    }

    /// Removes all FederatedHPAs but those of `listed`.
    pub(super) fn retain_federated_hpas(&mut self, listed: &HashSet<Key>) {
        let gone: Vec<Key> = self.federated_hpas.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        for key in gone {
            self.take_federated_hpa(&key);
            self.events.remove(&key);
        }
    }

    /// Stores a binding, and what it changes of its FederatedHPAs.
    pub(super) fn put_binding(&mut self, key: Key, binding: ResourceBinding, packed: Packed<ResourceBinding>) {
        self.renew_places(&key, Some(&binding));
        self.bindings.insert(key.clone(), packed);
        self.evicting.remove(&key);
        if !binding.spec.graceful_eviction_tasks.is_empty() {
            let ResourceBindingSpec { resource, graceful_eviction_tasks, .. } = binding.spec;
            let spec = ResourceBindingSpec { resource, graceful_eviction_tasks, ..ResourceBindingSpec::default() };
            self.evicting.insert(key, ResourceBinding { spec, ..ResourceBinding::default() });
        }
    }

    /// Removes a binding.
    pub(super) fn take_binding(&mut self, key: &Key) {
        self.bindings.remove(key);
        self.evicting.remove(key);
        self.renew_places(key, None);
    }

    /// What the binding with this `key` changes of the FederatedHPAs that need it.
    fn renew_places(&mut self, key: &Key, binding: Option<&ResourceBinding>) {
        for name in self.needed.get(key).cloned().unwrap_or_default() {
            let owner = (key.0.clone(), name);
            let Some(hpa) = self.federated_hpas.get(&owner).and_then(|entry| entry.hpa()) else { continue };
            let places = places(&hpa, binding);
            if let Some(entry) = self.federated_hpas.get_mut(&owner) {
                entry.places = places;
            }
        }
    }

    /// Removes all bindings but those of `listed`.
    pub(super) fn retain_bindings(&mut self, listed: &HashSet<Key>) {
        let gone: Vec<Key> = self.bindings.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        for key in gone {
            self.take_binding(&key);
        }
    }

    /// The FederatedHPAs that use a cluster.
    pub(super) fn users(&self, cluster: &str) -> Vec<(&Entry, &Place)> {
        let entries = self.federated_hpas.values().map(|entry| &**entry);
        entries
            .filter_map(|entry| Some((entry, entry.places.iter().find(|place| *place.cluster == *cluster)?)))
            .collect()
    }

    /// Stores an Event about a FederatedHPA; of too many the oldest is dropped.
    pub(super) fn put_event(&mut self, key: Key, event: ShownEvent) {
        let known = self.events.entry(key).or_default();
        known.retain(|one| one.name != event.name);
        known.reserve_exact(1);
        known.push(event);
        if known.len() > EVENTS {
            let time = |event: &ShownEvent| event.decision.time.as_ref().map(|time| time.0);
            let oldest = known.iter().enumerate().min_by_key(|(_, event)| time(event)).map(|(at, _)| at);
            oldest.map(|at| known.swap_remove(at));
        }
    }

    /// Removes the Events about a FederatedHPA.
    pub(super) fn take_events(&mut self, key: &Key) {
        self.events.remove(key);
    }

    /// Removes all Events but those of `listed`.
    pub(super) fn retain_events(&mut self, listed: &HashSet<Key>) {
        self.events.retain(|(namespace, _), events| {
            events.retain(|event| listed.contains(&(namespace.clone(), event.name.clone())));
            !events.is_empty()
        });
    }

    /// The binding of the workload of a FederatedHPA.
    pub(super) fn binding(&self, summary: &FederatedHpaSummary) -> Option<ResourceBinding> {
        self.bindings.get(&bound(summary))?.open()
    }

    /// The model of a FederatedHPA; `None` where there is none.
    pub(super) fn detail(&self, key: &Key, clock: Clock<'_>) -> Option<Detail> {
        let entry = self.federated_hpas.get(key)?;
        let binding = self.binding(&entry.summary);
        let crons = self.cron_federated_hpas.range((key.0.clone(), String::new())..);
        let related = Related {
            binding: binding.as_ref(),
            clusters: self.clusters.values().collect(),
            crons: crons.take_while(|((of, _), _)| *of == key.0).map(|(_, cron)| cron).collect(),
            events: self.events.get(key).into_iter().flatten().collect(),
        };
        Some(detail_of(&entry.hpa()?, &related, clock))
    }

    /// What cannot be read at `now`.
    pub(super) fn unread(&self, now: Timestamp) -> Vec<Unread> {
        let mut all = Vec::new();
        for (kind, state) in Kind::ALL.into_iter().zip(&self.watches) {
            let (_, plural) = kind.resource();
            let current = |(at, _): &&(Timestamp, Failure)| !state.listed || now.duration_since(*at) < RECOVERED;
            if let Some((_, failure)) = state.failure.as_ref().filter(current) {
                all.push(unread_of(if state.listed { "watch" } else { "list" }, plural, failure));
            }
            if let Some(error) = state.undecodable.values().next() {
                all.push(undecoded_of(plural, state.undecodable.len(), error));
            }
        }
        all
    }

    /// Whether a kind is neither listed yet nor refused.
    pub(super) fn is_loading(&self) -> bool {
        self.watches.iter().any(|state| !state.listed && state.failure.is_none())
    }
}

/// What lists of clusters need of `hpa`.
fn places(hpa: &FederatedHPA, binding: Option<&ResourceBinding>) -> Box<[Place]> {
    cluster_views(hpa, binding, &[]).iter().map(Place::of).collect()
}

/// Key of the binding of the workload of a FederatedHPA.
fn bound(summary: &FederatedHpaSummary) -> Key {
    (summary.namespace.clone(), names::binding(&summary.target.kind, &summary.target.name))
}

/// The objects, and who waits for their changes.
pub(super) struct Cache {
    content: RwLock<Content>,
    /// When the process began to watch.
    pub(super) started: Timestamp,
    changed: watch::Sender<u64>,
    clock: WallClock,
}

impl Cache {
    /// Without any object.
    pub(super) fn new(clock: WallClock) -> Arc<Self> {
        let started = clock();
        Arc::new(Self { content: RwLock::default(), started, changed: watch::Sender::new(0), clock })
    }

    /// The objects as they are.
    pub(super) fn read(&self) -> RwLockReadGuard<'_, Content> {
        self.content.read()
    }

    /// Changes the objects, and tells those who wait.
    pub(super) fn change(&self, change: impl FnOnce(&mut Content, Timestamp)) {
        let now = (self.clock)();
        change(&mut self.content.write(), now);
        self.changed.send_modify(|version| *version = version.wrapping_add(1));
    }

    /// Receives the number of each change.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The time.
    pub(super) fn now(&self) -> Timestamp {
        (self.clock)()
    }
}
