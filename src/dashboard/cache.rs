//! The objects that pages show, as watches deliver them, and what was seen of each FederatedHPA. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::events::v1::Event;
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::watch;

use super::history::{Figures, History};
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding};
use crate::controller::failure::Failure;
use crate::decision::api_version::GROUP;
use crate::decision::names;
use crate::overview::gather::{undecoded_of, unread_of};
use crate::overview::model::{FederatedHpaSummary, Unread};
use crate::overview::{Related, event_time, summary};
use crate::runtime::clock::WallClock;

/// Namespace and name.
pub(super) type Key = (String, String);

/// Most Events that are kept of one object.
const EVENTS: usize = 32;
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
pub(super) struct Sight {
    /// Whether all objects were listed once.
    pub(super) listed: bool,
    /// The last failure, and when.
    pub(super) failure: Option<(Timestamp, Failure)>,
    /// Objects that cannot be decoded, and why.
    pub(super) undecodable: BTreeMap<Key, String>,
}

/// A FederatedHPA.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) hpa: FederatedHPA,
    pub(super) summary: FederatedHpaSummary,
    /// `None`: the histories of others take all the room.
    pub(super) history: Option<History>,
}

/// All objects.
#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) federated_hpas: BTreeMap<Key, Entry>,
    pub(super) cron_federated_hpas: BTreeMap<Key, CronFederatedHPA>,
    pub(super) bindings: BTreeMap<Key, ResourceBinding>,
    pub(super) clusters: BTreeMap<String, Cluster>,
    /// By the FederatedHPA that they are about, then by their name.
    pub(super) events: BTreeMap<Key, BTreeMap<String, Event>>,
    sights: [Sight; Kind::ALL.len()],
}

impl Content {
    /// What is known of the watch on `kind`.
    pub(super) fn sight(&mut self, kind: Kind) -> &mut Sight {
        let [hpa, cron, binding, cluster, event] = &mut self.sights;
        match kind {
            Kind::FederatedHpa => hpa,
            Kind::CronFederatedHpa => cron,
            Kind::ResourceBinding => binding,
            Kind::Cluster => cluster,
            Kind::Event => event,
        }
    }

    /// Stores a FederatedHPA, and its figures in its history.
    pub(super) fn put_federated_hpa(&mut self, key: Key, hpa: FederatedHPA, now: Timestamp) {
        let summary = summary(&hpa);
        let figures = Figures {
            current: summary.current_replicas,
            desired: summary.desired_replicas,
            min: summary.min_replicas,
            max: summary.max_replicas,
        };
        // An object that was made again begins anew.
        let before = self.federated_hpas.remove(&key);
        let same = before.filter(|before| before.hpa.metadata.uid == hpa.metadata.uid);
        let room = self.federated_hpas.len() < HISTORIES;
        let mut history = same.map_or_else(|| room.then(History::default), |before| before.history);
        if let Some(history) = &mut history {
            history.record(now, figures);
        }
        self.federated_hpas.insert(key, Entry { hpa, summary, history });
    }

    /// Stores an Event about a FederatedHPA; of too many the oldest is dropped.
    pub(super) fn put_event(&mut self, event: Event) {
        let Some(regarding) = event.regarding.as_ref().filter(|one| one.kind.as_deref() == Some("FederatedHPA")) else {
            return;
        };
        let key = (regarding.namespace.clone().unwrap_or_default(), regarding.name.clone().unwrap_or_default());
        let known = self.events.entry(key).or_default();
        known.insert(event.metadata.name.clone().unwrap_or_default(), event);
        if known.len() > EVENTS {
            let oldest = known.iter().min_by_key(|(_, event)| event_time(event)).map(|(name, _)| name.clone());
            oldest.and_then(|name| known.remove(&name));
        }
    }

    /// The binding of the workload of `hpa`.
    pub(super) fn binding(&self, hpa: &FederatedHPA) -> Option<&ResourceBinding> {
        let target = &hpa.spec.scale_target_ref;
        let namespace = hpa.metadata.namespace.clone().unwrap_or_default();
        self.bindings.get(&(namespace, names::binding(&target.kind, &target.name)))
    }

    /// What belongs to `hpa`.
    pub(super) fn related(&self, hpa: &FederatedHPA) -> Related<'_> {
        let namespace = hpa.metadata.namespace.clone().unwrap_or_default();
        let key = (namespace.clone(), hpa.metadata.name.clone().unwrap_or_default());
        let crons = self.cron_federated_hpas.range((namespace.clone(), String::new())..);
        Related {
            binding: self.binding(hpa),
            clusters: self.clusters.values().collect(),
            crons: crons.take_while(|((of, _), _)| *of == namespace).map(|(_, cron)| cron).collect(),
            events: self.events.get(&key).into_iter().flat_map(BTreeMap::values).collect(),
        }
    }

    /// What cannot be read at `now`.
    pub(super) fn unread(&self, now: Timestamp) -> Vec<Unread> {
        let mut all = Vec::new();
        for (kind, sight) in Kind::ALL.into_iter().zip(&self.sights) {
            let (_, plural) = kind.resource();
            let current = |(at, _): &&(Timestamp, Failure)| !sight.listed || now.duration_since(*at) < RECOVERED;
            if let Some((_, failure)) = sight.failure.as_ref().filter(current) {
                all.push(unread_of(if sight.listed { "watch" } else { "list" }, plural, failure));
            }
            if let Some(error) = sight.undecodable.values().next() {
                all.push(undecoded_of(plural, sight.undecodable.len(), error));
            }
        }
        all
    }

    /// Whether a kind is neither listed yet nor refused.
    pub(super) fn is_loading(&self) -> bool {
        self.sights.iter().any(|sight| !sight.listed && sight.failure.is_none())
    }
}

/// The objects, and who waits for their changes.
pub(super) struct Cache {
    content: RwLock<Content>,
    changed: watch::Sender<u64>,
    clock: WallClock,
}

impl Cache {
    /// Without any object.
    pub(super) fn new(clock: WallClock) -> Arc<Self> {
        Arc::new(Self { content: RwLock::default(), changed: watch::Sender::new(0), clock })
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
