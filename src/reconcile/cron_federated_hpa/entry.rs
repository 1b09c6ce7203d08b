//! A CronFederatedHPA, compact: its valid rules and its history (watch -> entry). No I/O.

use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;

use super::cache::CronCache;
use super::whole::Wholeness;
use crate::api::CronFederatedHPA;
use crate::api::hpa_status::Condition;
use crate::controller::key::Key;
use crate::controller::own::Own;
use crate::controller::table::Item;
use crate::convert::cron_status;
use crate::decision::cron::ledger::{Baseline, History};
use crate::decision::cron::zones::Zones;
use crate::decision::related_objects::NoRelatedObjects;
use crate::decision::validation::runnable::{Runnable, runnable};
use crate::decision::validation::{Settings, Surroundings};
use crate::reconcile::scale_target::TargetRef;
use crate::runtime::watch::EventHandler;

/// An observed object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its namespace and name.
    pub key: Key,
    /// `metadata.uid`
    pub uid: Box<str>,
    /// `metadata.resourceVersion`
    pub version: Box<str>,
    /// `metadata.generation`
    pub generation: i64,
    /// When the spec was last written.
    pub written: Timestamp,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// Its target.
    pub target: Arc<Target>,
    /// Its valid rules.
    pub runnable: Arc<Runnable>,
    /// Its status.
    pub remembered: Remembered,
    /// Whether fields of it were lost.
    pub wholeness: Wholeness,
    /// Whether it has any annotation.
    pub annotated: bool,
}

/// The target of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Its namespace, which is that of the object.
    pub namespace: Box<str>,
    /// `apiVersion`
    pub api_version: Box<str>,
    /// `kind`
    pub kind: Box<str>,
    /// `name`
    pub name: Box<str>,
}

/// A target as a key: the API version does not matter.
#[derive(Clone, Debug)]
pub struct TargetKey(Arc<Target>);

impl TargetKey {
    fn parts(&self) -> [&str; 4] {
        let Target { namespace, api_version, kind, name } = &*self.0;
        let group = api_version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        [namespace, group, kind, name]
    }
}

impl PartialEq for TargetKey {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for TargetKey {}

impl PartialOrd for TargetKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for TargetKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

/// Content of a status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remembered {
    /// `observedGeneration`
    pub generation: Option<i64>,
    /// `executionHistories`
    pub histories: Vec<History>,
    /// `conditions`
    pub conditions: Vec<Condition>,
}

impl Entry {
    /// Reference to the target of the object called `key`.
    #[must_use]
    pub fn target<'a>(&'a self, key: &'a Key) -> TargetRef<'a> {
        let Target { namespace: _, api_version, kind, name } = &*self.target;
        TargetRef { namespace: &key.namespace, api_version, kind, name }
    }

    /// Its target, for looking up other objects with the same one.
    #[must_use]
    pub fn subject(&self) -> TargetKey {
        TargetKey(Arc::clone(&self.target))
    }

    /// The object called `key`.
    #[must_use]
    pub fn own<'a>(&'a self, key: &'a Key) -> Own<'a> {
        Own { kind: "CronFederatedHPA", key, uid: &self.uid, version: &self.version }
    }

    /// How far the status is valid for the spec at `now`.
    #[must_use]
    pub fn baseline(&self, now: Timestamp) -> Baseline {
        Baseline { in_step: self.remembered.generation == Some(self.generation), since: self.written.min(now) }
    }
}

impl Item for Entry {
    type IndexKey = TargetKey;
    fn key(&self) -> &Key {
        &self.key
    }
    fn uid(&self) -> &str {
        &self.uid
    }
    fn version(&self) -> &str {
        &self.version
    }
    fn about(&self) -> Option<TargetKey> {
        Some(self.subject())
    }
}

/// Reads objects into a cache.
pub struct Reader {
    cache: Arc<CronCache>,
    zones: Arc<dyn Zones>,
    settings: Settings,
}

impl Reader {
    /// Fills `cache`. Rules without a zone use the default of `settings`.
    pub fn new(cache: Arc<CronCache>, zones: Arc<dyn Zones>, settings: Settings) -> Self {
        Self { cache, zones, settings }
    }

    /// The entry of an object.
    #[must_use]
    pub fn read(&self, cron: &CronFederatedHPA) -> Entry {
        let metadata = &cron.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let key = Key::shared(namespace, metadata.name.as_deref().unwrap_or_default());
        let uid: Box<str> = metadata.uid.as_deref().unwrap_or_default().into();
        let generation = metadata.generation.unwrap_or_default();
        // Most changes are of the status: the parsed rules stay the same.
        let before = self.cache.get(&key).filter(|before| before.uid == uid && before.generation == generation);
        let (target, runnable) = match before {
            Some(before) => (Arc::clone(&before.target), Arc::clone(&before.runnable)),
            None => (Arc::new(target(cron)), Arc::new(self.understand(cron))),
        };
        let status = cron.status.as_ref();
        Entry {
            key,
            uid,
            version: metadata.resource_version.as_deref().unwrap_or_default().into(),
            generation,
            written: cron_status::written(cron),
            deleting: metadata.deletion_timestamp.is_some(),
            target,
            runnable,
            remembered: Remembered {
                generation: status.and_then(|status| status.observed_generation),
                histories: status.map(cron_status::histories).unwrap_or_default(),
                conditions: status.and_then(|status| status.conditions.clone()).unwrap_or_default(),
            },
            wholeness: Wholeness::of(cron),
            annotated: metadata.annotations.is_some(),
        }
    }

    fn understand(&self, cron: &CronFederatedHPA) -> Runnable {
        // Parsing does not depend on the time: overlaps do not keep a rule from running.
        let around = Surroundings {
            related_objects: &NoRelatedObjects,
            zones: &*self.zones,
            settings: &self.settings,
            now: Timestamp::UNIX_EPOCH,
        };
        runnable(&cron_status::cron_subject(cron), &around)
    }
}

fn target(cron: &CronFederatedHPA) -> Target {
    let target = &cron.spec.scale_target_ref;
    Target {
        namespace: cron.metadata.namespace.as_deref().unwrap_or_default().into(),
        api_version: target.api_version.as_str().into(),
        kind: target.kind.as_str().into(),
        name: target.name.as_str().into(),
    }
}

impl EventHandler<CronFederatedHPA> for Reader {
    fn begin(&mut self) {
        self.cache.begin();
    }
    fn listed(&mut self, object: &CronFederatedHPA) {
        self.cache.list(self.read(object));
    }
    fn end(&mut self) {
        self.cache.end();
    }
    fn put(&mut self, object: &CronFederatedHPA) {
        self.cache.put(self.read(object));
    }
    fn take(&mut self, namespace: &str, name: &str) {
        self.cache.take(&Key::new(namespace, name));
    }
    fn forget(&mut self) {
        self.cache.forget();
    }
}
