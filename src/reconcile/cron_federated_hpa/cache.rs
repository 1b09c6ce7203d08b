//! The CronFederatedHPAs as they were last seen, compact, and which of them changed since somebody asked. No I/O.
//!
//! Watches fill it on every replica, leading or not, so that a new leader knows everything at once.
//!
//! Objects are kept in the [`Table`] that FederatedHPAs use too. Which changes are news, and what is counted beside,
//! are matters of this kind, under the one lock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::entry::Entry;
use super::status::unready;
use crate::controller::key::Key;
use crate::controller::table::{Change, Table};

/// Reasons that are told apart.
const REASONS: usize = 64;
/// What all others are counted under.
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
    /// How many objects are not ready, by reason. What was counted once stays, at zero.
    unready: BTreeMap<String, usize>,
}

impl Inner {
    fn count(&mut self, change: &Change<Entry>) {
        let reason = |entry: &Option<Arc<Entry>>| entry.as_deref().and_then(unready).map(str::to_owned);
        if let Some(reason) = reason(&change.after) {
            // Anybody may have written it.
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

    /// The other objects on the target of the one called `key`, those aside that go.
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

    /// How many objects are not ready, by reason.
    pub fn unready(&self) -> BTreeMap<String, usize> {
        self.inner.lock().unready.clone()
    }

    /// Takes in what a watch brought, unless what is known is as new.
    pub fn put(&self, key: Key, entry: Entry) {
        self.change(|entries| entries.put(key, entry));
    }

    /// The object is gone.
    pub fn take(&self, key: &Key) {
        self.change(|entries| entries.take(key));
    }

    /// A list of all objects is asked for.
    pub fn begin(&self) {
        self.inner.lock().entries.begin();
    }

    /// Takes in a list of all objects.
    pub fn replace(&self, all: Vec<(Key, Entry)>) {
        self.change(|entries| entries.replace(all));
    }

    /// What was read counts no more.
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

    /// Takes in what was written on top of the version `base`, unless something newer is known already. It is no news: what
    /// can be run of the object stays the same.
    pub fn recorded(&self, key: &Key, base: &Entry, written: Entry) {
        let mut inner = self.inner.lock();
        if inner.entries.get(key).is_some_and(|known| known.version == base.version)
            && let Some(change) = inner.entries.wrote(key.clone(), written)
        {
            inner.count(&change);
        }
    }

    /// Waits until something changed.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    /// What changed since this was last asked.
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
        let book = CronCache::default();
        book.put(key("a"), entry("5"));
        assert_eq!(book.changed().len(), 1);
        let base = book.get(&key("a")).unwrap();
        book.recorded(&key("a"), &base, entry("6"));
        book.put(key("a"), entry("6"));
        book.put(key("a"), entry("5"));
        assert_eq!((book.changed().len(), &*book.get(&key("a")).unwrap().version), (0, "6"));
        book.put(key("a"), entry("7"));
        assert_eq!(book.changed().len(), 1);
    }

    #[test]
    fn a_write_that_comes_back_late_hides_nothing_newer() {
        let book = CronCache::default();
        book.put(key("a"), entry("5"));
        let base = book.get(&key("a")).unwrap();
        book.put(key("a"), entry("7"));
        book.recorded(&key("a"), &base, entry("6"));
        assert_eq!(&*book.get(&key("a")).unwrap().version, "7");
    }

    #[test]
    fn a_list_brings_what_is_new_and_takes_what_is_gone() {
        let book = CronCache::default();
        for name in ["gone", "same", "old"] {
            book.put(key(name), entry("5"));
        }
        book.changed();
        book.replace(vec![(key("same"), entry("5")), (key("old"), entry("9")), (key("new"), entry("8"))]);
        let changed: Vec<String> = book.changed().iter().map(ToString::to_string).collect();
        assert_eq!(changed, ["prod/gone", "prod/new", "prod/old"]);
        assert_eq!(book.keys().len(), 3);
    }

    #[test]
    fn an_object_that_was_made_anew_is_news_whatever_its_version() {
        let book = CronCache::default();
        book.put(key("a"), entry("5"));
        book.changed();
        book.put(key("a"), Entry { uid: "other".into(), ..entry("4") });
        assert_eq!(book.changed().len(), 1);
    }
}
