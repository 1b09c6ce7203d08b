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

/// Most distinct reasons.
const REASONS: usize = 64;
/// Reason under which all further ones are counted.
const OTHER: &str = "Other";

/// The entries of all objects.
#[derive(Debug, Default)]
pub struct CronCache {
    inner: Mutex<Inner>,
    news: Notify,
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

    /// The other objects on the target of the one called `key`, except those being deleted.
    pub fn others(&self, key: &Key, entry: &Entry) -> Vec<(Key, Arc<Entry>)> {
        let inner = self.inner.lock();
        let others = inner.entries.keys_about(&entry.subject()).filter(|other| *other != key);
        let known = others.filter_map(|other| Some((other.clone(), Arc::clone(inner.entries.get(other)?))));
        known.filter(|(_, other)| !other.deleting).collect()
    }

    /// The keys of all entries.
    pub fn keys(&self) -> Vec<Key> {
        self.inner.lock().entries.all().keys().cloned().collect()
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
    pub fn put(&self, key: Key, entry: Entry) {
        self.change(|entries| entries.put(key, entry));
    }

    /// Removes an object.
    pub fn take(&self, key: &Key) {
        self.change(|entries| entries.take(key));
    }

    /// Marks the start of a list of all objects.
    pub fn begin(&self) {
        self.inner.lock().entries.begin();
    }

    /// Replaces all objects with a list.
    pub fn replace(&self, all: Vec<(Key, Entry)>) {
        self.change(|entries| entries.replace(all));
    }

    /// Drops all objects until the next list.
    pub fn forget(&self) {
        *self.inner.lock() = Inner::default();
    }

    fn change<C: IntoIterator<Item = Change<Entry>>>(&self, how: impl FnOnce(&mut Table<Entry>) -> C) {
        let mut inner = self.inner.lock();
        for change in how(&mut inner.entries) {
            inner.touch(change);
            self.news.notify_one();
        }
    }

    /// Stores the result of a write on top of the version `base`, unless a newer one is known. This is not reported as
    /// a change: the rules stay the same.
    pub fn recorded(&self, key: &Key, base: &Entry, written: Entry) {
        let mut inner = self.inner.lock();
        if inner.entries.get(key).is_some_and(|known| known.version == base.version)
            && let Some(change) = inner.entries.wrote(key.clone(), written)
        {
            inner.count(&change);
        }
    }

    /// Waits until an object changed.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// The objects that changed since the last call.
    pub fn changed(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.inner.lock().changed)
    }
}

#[cfg(test)]
mod tests {
    use super::CronCache;
    use crate::controller::key::Key;
    use crate::reconcile::cron_federated_hpa::entry::Entry;

    fn entry(version: &str) -> Entry {
        Entry { version: version.into(), uid: "u".into(), ..Entry::default() }
    }

    fn key(name: &str) -> Key {
        Key::new("prod", name)
    }

    #[test]
    fn what_was_written_here_is_no_news_when_the_watch_brings_it() {
        let cache = CronCache::default();
        cache.put(key("a"), entry("5"));
        assert_eq!(cache.changed().len(), 1);
        let base = cache.get(&key("a")).unwrap();
        cache.recorded(&key("a"), &base, entry("6"));
        cache.put(key("a"), entry("6"));
        cache.put(key("a"), entry("5"));
        assert_eq!((cache.changed().len(), &*cache.get(&key("a")).unwrap().version), (0, "6"));
        cache.put(key("a"), entry("7"));
        assert_eq!(cache.changed().len(), 1);
    }

    #[test]
    fn a_write_that_comes_back_late_hides_nothing_newer() {
        let cache = CronCache::default();
        cache.put(key("a"), entry("5"));
        let base = cache.get(&key("a")).unwrap();
        cache.put(key("a"), entry("7"));
        cache.recorded(&key("a"), &base, entry("6"));
        assert_eq!(&*cache.get(&key("a")).unwrap().version, "7");
    }

    #[test]
    fn a_list_brings_what_is_new_and_takes_what_is_gone() {
        let cache = CronCache::default();
        for name in ["gone", "same", "old"] {
            cache.put(key(name), entry("5"));
        }
        cache.changed();
        cache.replace(vec![(key("same"), entry("5")), (key("old"), entry("9")), (key("new"), entry("8"))]);
        let changed: Vec<String> = cache.changed().iter().map(ToString::to_string).collect();
        assert_eq!(changed, ["prod/gone", "prod/new", "prod/old"]);
        assert_eq!(cache.keys().len(), 3);
    }

    #[test]
    fn an_object_that_was_made_anew_is_news_whatever_its_version() {
        let cache = CronCache::default();
        cache.put(key("a"), entry("5"));
        cache.changed();
        cache.put(key("a"), Entry { uid: "other".into(), ..entry("4") });
        assert_eq!(cache.changed().len(), 1);
    }
}
