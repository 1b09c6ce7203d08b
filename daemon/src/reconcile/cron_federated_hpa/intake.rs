//! CronFederatedHPAs into the cache (watch -> entry). No I/O.

use std::sync::Arc;

use jiff::Timestamp;

use super::cache::CronCache;
use super::crd_fields::FieldState;
use super::entry::{Entry, Remembered, Target};
use crate::api::CronFederatedHPA;
use crate::api::cron_federated_hpa::CronFederatedHPAStatus;
use crate::controller::intern::{self, Shared};
use crate::controller::key::Key;
use crate::convert::cron_status;
use crate::decision::cron::Schedule;
use crate::decision::cron::ledger::History;
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
    schedules: Shared<Schedule>,
}

impl Reader {
    /// Fills `cache`. Rules without a zone use the default of `settings`.
    pub fn new(cache: Arc<CronCache>, zones: Arc<dyn Zones>, settings: Settings) -> Self {
        Self { cache, zones, settings, schedules: Shared::default() }
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
                histories: status.map(Self::remember).unwrap_or_default(),
                conditions: status.and_then(|status| status.conditions.clone()).unwrap_or_default(),
            },
            fields: FieldState::of(cron),
            annotated: metadata.annotations.is_some(),
            unrecorded: Box::default(),
        }
    }

    /// Its rules. Objects have names of rules and schedules in common; equal schedules share what steps them.
    fn understand(&self, cron: &CronFederatedHPA) -> Runnable {
        // Parsing does not depend on the time: overlaps do not keep a rule from running.
        let around = ValidationContext {
            related_objects: &NoRelatedObjects,
            zones: &*self.zones,
            settings: &self.settings,
            now: Timestamp::UNIX_EPOCH,
        };
        let mut runnable = runnable(&cron_status::cron_subject(cron), &around);
        for rule in &mut runnable.rules {
            rule.name = intern::text(&rule.name);
            if let Ok(timing) = &mut rule.timing {
                timing.schedule = self.schedules.keep(Schedule::clone(&timing.schedule));
            }
        }
        runnable
    }

    fn remember(status: &CronFederatedHPAStatus) -> Vec<History> {
        let mut histories = cron_status::histories(status);
        for history in &mut histories {
            history.rule = intern::text(&history.rule);
        }
        histories
    }
}

fn target(cron: &CronFederatedHPA) -> Target {
    let target = &cron.spec.scale_target_ref;
    Target {
        namespace: intern::text(cron.metadata.namespace.as_deref().unwrap_or_default()),
        api_version: intern::text(&target.api_version),
        kind: intern::text(&target.kind),
        name: intern::text(&target.name),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::runtime::zones::ZoneDatabase;

    #[test]
    fn objects_share_their_equal_schedules_and_names() {
        let reader = Reader::new(Arc::default(), Arc::new(ZoneDatabase::bundled()), Settings::default());
        let read = |name: &str, schedule: &str| {
            let object = json!({"metadata": {"name": name, "namespace": "prod"}, "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "rules": [{"name": "up", "schedule": schedule, "targetReplicas": 5}]},
                "status": {"executionHistories": [{"ruleName": "up"}]}});
            let entry = reader.read(&serde_json::from_value(object).unwrap());
            let [rule] = &*entry.runnable.rules else { panic!("one rule") };
            let [history] = &*entry.remembered.histories else { panic!("one history") };
            let schedule = Arc::clone(&rule.timing.as_ref().unwrap().schedule);
            (schedule, [&rule.name, &history.rule, &entry.target.kind].map(Arc::clone))
        };
        let (shop, web) = (read("shop", "0 8 * * *"), read("web", "00 08 * * *"));
        assert!(Arc::ptr_eq(&shop.0, &web.0), "one stepper for both");
        assert!(!Arc::ptr_eq(&shop.0, &read("web", "0 9 * * *").0));
        assert!(Arc::ptr_eq(&shop.1[0], &shop.1[1]), "the rule and its history");
        assert!(std::iter::zip(&shop.1, &web.1).all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}
