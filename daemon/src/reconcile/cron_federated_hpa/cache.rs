//! The last observed CronFederatedHPAs, compact, and which of them changed since the last call. No I/O.
//!
//! Watches fill it on every replica, leading or not, so that a new leader has all objects at once.
//!
//! Objects are kept in the [`Table`] that FederatedHPAs use too. Under the one lock, this module decides which changes
//! need a reconcile, and keeps the counts of its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::entry::Entry;
use super::status::unready;
use crate::controller::key::Key;
use crate::controller::table::{Change, Table};
use crate::decision::cron::settle::{Attempt, Outcome};

/// Most distinct reasons.
const REASONS: usize = 64;
/// Reason under which all further ones are counted.
const OTHER: &str = "Other";

/// The entries of all objects.
#[derive(Debug, Default)]
pub struct CronCache {
    inner: Mutex<Inner>,
    change: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    entries: Table<Entry>,
    changed: BTreeSet<Key>,
    rules: usize,
    /// Number of objects that are not ready, by reason. A reason stays once counted, at zero.
    unready: BTreeMap<String, usize>,
}

impl Inner {
    fn count(&mut self, change: &Change<Entry>) {
        let reason = |entry: &Option<Arc<Entry>>| entry.as_deref().and_then(unready).map(str::to_owned);
        if let Some(reason) = reason(&change.after) {
            // Any client may have written it.
            let known = self.unready.len() < REASONS || self.unready.contains_key(&reason);
            let count = self.unready.entry(if known { reason } else { OTHER.to_owned() }).or_default();
            *count = count.saturating_add(1);
        }
        if let Some(reason) = reason(&change.before) {
            let reason = if self.unready.contains_key(&reason) { &*reason } else { OTHER };
            if let Some(count) = self.unready.get_mut(reason) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn touch(&mut self, change: Change<Entry>) {
        self.count(&change);
        let rules = |entry: Option<Arc<Entry>>| entry.map_or(0, |entry| entry.runnable.rules.len());
        self.rules = self.rules.saturating_add(rules(change.after)).saturating_sub(rules(change.before));
        self.changed.insert(change.key);
    }
}

impl CronCache {
    /// The entry of `key`.
    pub fn get(&self, key: &Key) -> Option<Arc<Entry>> {
        self.inner.lock().entries.get(key).cloned()
    }

    /// Whether another object that is not being deleted sets the target of `entry`.
    pub fn is_shared(&self, entry: &Entry) -> bool {
        let inner = self.inner.lock();
        inner.entries.about(&entry.subject()).any(|other| other.key != entry.key && !other.deleting)
    }

    /// The objects on the target of `entry` that are not being deleted.
    pub fn on_target(&self, entry: &Entry) -> Vec<Arc<Entry>> {
        let inner = self.inner.lock();
        inner.entries.about(&entry.subject()).filter(|other| !other.deleting).cloned().collect()
    }

    /// Remembers which of `attempts` at runs of `entry` were executed, until they have a record.
    pub fn attempted(&self, entry: &Entry, attempts: &[Attempt]) {
        let executed = attempts.iter().filter(|attempt| matches!(attempt.outcome, Outcome::Executed(_)));
        let executed: Box<[Attempt]> = executed.cloned().collect();
        let mut inner = self.inner.lock();
        let is_of_target = |known: &Arc<Entry>| known.uid == entry.uid && known.subject() == entry.subject();
        if !executed.is_empty() && inner.entries.get(&entry.key).is_some_and(is_of_target) {
            inner.entries.note(&entry.key, |known| known.unrecorded = executed);
        }
    }

    /// The keys of all entries; none before all are listed: an object may share its target with a later one.
    pub fn keys(&self) -> Vec<Key> {
        let inner = self.inner.lock();
        inner.entries.all().filter(|_| inner.entries.listed()).map(|entry| entry.key.clone()).collect()
    }

    /// Number of rules of all entries.
    pub fn rules(&self) -> usize {
        self.inner.lock().rules
    }

    /// Number of objects that are not ready, by reason.
    pub fn unready(&self) -> BTreeMap<String, usize> {
        self.inner.lock().unready.clone()
    }

    /// Stores an object from a watch, unless the known one is as new.
    pub fn put(&self, entry: Entry) {
        self.change(|entries| entries.put(entry));
    }

    /// Removes an object.
    pub fn take(&self, key: &Key) {
        self.change(|entries| entries.take(key));
    }

    /// Marks the start of a list of all objects.
    pub fn begin(&self) {
        self.inner.lock().entries.begin();
    }

    /// Stores an object of the list.
    pub fn list(&self, entry: Entry) {
        self.change(|entries| entries.list(entry));
    }

    /// Ends the list: drops the objects that it does not have.
    pub fn end(&self) {
        self.change(Table::end);
    }

    /// Drops all objects until the next list.
    pub fn forget(&self) {
        *self.inner.lock() = Inner::default();
    }

    fn change<C: IntoIterator<Item = Change<Entry>>>(&self, how: impl FnOnce(&mut Table<Entry>) -> C) {
        let mut inner = self.inner.lock();
        for change in how(&mut inner.entries) {
            inner.touch(change);
        }
        self.notify(&inner);
    }

    fn notify(&self, inner: &Inner) {
        if inner.entries.listed() && !inner.changed.is_empty() {
            self.change.notify_one();
        }
    }

    /// Stores the result of a write on top of the version `base`, unless a newer one is known. This is not reported as
    /// a change of it: the rules stay the same.
    pub fn recorded(&self, key: &Key, base: &Entry, written: Entry) {
        let mut inner = self.inner.lock();
        if inner.entries.get(key).is_some_and(|known| known.version == base.version)
            && let Some(change) = inner.entries.wrote(written)
        {
            inner.count(&change);
        }
    }

    /// Waits until an object changed.
    pub async fn wait_for_change(&self) {
        self.change.notified().await;
    }

    /// The objects that changed since the last call; none before all are listed.
    pub fn changed(&self) -> BTreeSet<Key> {
        let mut inner = self.inner.lock();
        if inner.entries.listed() { std::mem::take(&mut inner.changed) } else { BTreeSet::new() }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::decision::cron::ledger::{Action, FailedRun, History};
    use crate::reconcile::cron_federated_hpa::entry::{Remembered, Target};

    fn entry(name: &str, version: &str) -> Entry {
        Entry { key: key(name), version: version.into(), uid: "u".into(), ..Entry::default() }
    }

    fn key(name: &str) -> Key {
        Key::new("prod", name)
    }

    /// A cache after an empty list.
    fn listed() -> CronCache {
        let cache = CronCache::default();
        cache.end();
        cache
    }

    #[test]
    fn nothing_is_told_before_all_are_listed() {
        let cache = CronCache::default();
        cache.begin();
        cache.list(entry("a", "5"));
        assert_eq!((cache.keys().len(), cache.changed().len()), (0, 0));
        cache.end();
        assert_eq!((cache.keys().len(), cache.changed().len()), (1, 1));
    }

    #[test]
    fn what_was_written_here_is_no_news_when_the_watch_brings_it() {
        let cache = listed();
        cache.put(entry("a", "5"));
        assert_eq!(cache.changed().len(), 1);
        let base = cache.get(&key("a")).unwrap();
        cache.recorded(&key("a"), &base, entry("a", "6"));
        cache.put(entry("a", "6"));
        cache.put(entry("a", "5"));
        assert_eq!((cache.changed().len(), &*cache.get(&key("a")).unwrap().version), (0, "6"));
        cache.put(entry("a", "7"));
        assert_eq!(cache.changed().len(), 1);
    }

    #[test]
    fn a_write_that_comes_back_late_hides_nothing_newer() {
        let cache = listed();
        cache.put(entry("a", "5"));
        let base = cache.get(&key("a")).unwrap();
        cache.put(entry("a", "7"));
        cache.recorded(&key("a"), &base, entry("a", "6"));
        assert_eq!(&*cache.get(&key("a")).unwrap().version, "7");
    }

    #[test]
    fn a_list_brings_what_is_new_and_takes_what_is_gone() {
        let cache = listed();
        for name in ["gone", "same", "old"] {
            cache.put(entry(name, "5"));
        }
        cache.changed();
        cache.begin();
        for (name, version) in [("same", "5"), ("old", "9"), ("new", "8")] {
            cache.list(entry(name, version));
        }
        cache.end();
        let changed: Vec<String> = cache.changed().iter().map(ToString::to_string).collect();
        assert_eq!(changed, ["prod/gone", "prod/new", "prod/old"]);
        assert_eq!(cache.keys().len(), 3);
    }

    #[test]
    fn an_object_that_was_made_anew_is_news_whatever_its_version() {
        let cache = listed();
        cache.put(entry("a", "5"));
        cache.changed();
        cache.put(Entry { uid: "other".into(), ..entry("a", "4") });
        assert_eq!(cache.changed().len(), 1);
    }

    #[test]
    fn an_executed_run_is_remembered_until_it_has_a_record_or_the_object_has_another_target() {
        let cache = listed();
        let at = |minute: i64| Timestamp::from_second(minute * 60).unwrap();
        let attempt = |minute, outcome| Attempt { rule: "up".into(), scheduled: at(minute), at: at(minute), outcome };
        let executed = |minute| attempt(minute, Outcome::Executed(Action::default()));
        let unrecorded = || cache.get(&key("a")).unwrap().unrecorded.len();
        let recorded = |minute, version: &str| {
            let failure = FailedRun { scheduled: at(minute), executed: at(9), message: String::new() };
            let history = History { rule: "up".into(), failures: [failure].into(), ..History::default() };
            Entry {
                remembered: Remembered { histories: vec![history], ..Remembered::default() },
                ..entry("a", version)
            }
        };
        cache.put(entry("a", "5"));
        cache.attempted(&entry("a", "5"), &[executed(1), executed(3), attempt(4, Outcome::Postponed(String::new()))]);
        assert_eq!(unrecorded(), 2);
        cache.put(recorded(2, "6"));
        assert_eq!(unrecorded(), 1);
        let other = Arc::new(Target { name: "other".into(), ..Target::default() });
        cache.put(Entry { target: other, ..recorded(2, "7") });
        assert_eq!(unrecorded(), 0);
        cache.attempted(&entry("a", "5"), &[executed(3)]);
        assert_eq!(unrecorded(), 0, "it was executed on the target before");
    }
}
