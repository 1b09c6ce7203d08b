//! CronFederatedHPAs into the cache (watch -> entry). No I/O.

use std::sync::Arc;

use jiff::Timestamp;

use super::cache::CronCache;
use super::entry::{Entry, Remembered, Target};
use super::whole::Wholeness;
use crate::api::CronFederatedHPA;
use crate::controller::key::Key;
use crate::convert::cron_status;
use crate::decision::cron::zones::Zones;
use crate::decision::related_objects::NoRelatedObjects;
use crate::decision::validation::runnable::{Runnable, runnable};
use crate::decision::validation::{Settings, ValidationContext};
use crate::runtime::watch::EventHandler;

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
        let around = ValidationContext {
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
