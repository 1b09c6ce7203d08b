//! The last observed CronFederatedHPAs, compact, and which of them changed since the last call. No I/O.
//!
//! Watches fill it on every replica, leading or not, so that a new leader has all objects at once.
//!
//! Objects are kept in the [`Table`] that FederatedHPAs use too. Under the one lock, this module decides which changes
//! need a reconcile, and keeps the counts of its kind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::entry::{Entry, TargetKey};
use super::newest_runs::Newest;
use super::shared_target::SharedTarget;
use super::status::unready;
use crate::controller::key::Key;
use crate::controller::table::{Change, Table};
use crate::decision::cron::settle::Attempt;

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
    /// Targets of several objects.
    shared: BTreeMap<TargetKey, SharedTarget>,
}

impl Inner {
    /// The newest run of a changed object is to be determined again, and others may wait for the change.
    fn follow(&mut self, change: &Change<Entry>) {
        if self.shared.is_empty() {
            return;
        }
        for entry in [&change.before, &change.after].into_iter().flatten() {
            let subject = entry.subject();
            let Some(target) = self.shared.get_mut(&subject) else { continue };
            self.changed.append(&mut target.wake(&change.key));
            if self.entries.keys_about(&subject).nth(1).is_none() {
                self.shared.remove(&subject);
            } else if self.entries.get(&change.key).is_some_and(|entry| entry.subject() == subject) {
                target.changed(&change.key);
            } else {
                target.remove(&change.key);
            }
        }
    }

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
        self.follow(&change);
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

    /// The objects on a target whose newest run at `now` must be determined before [`Self::newest_below`].
    pub fn unknown(&self, target: &TargetKey, now: Timestamp) -> Vec<Arc<Entry>> {
        let mut inner = self.inner.lock();
        let Inner { entries, shared, .. } = &mut *inner;
        let shared = shared.entry(target.clone()).or_insert_with(|| {
            let mut shared = SharedTarget::default();
            entries.keys_about(target).for_each(|key| shared.changed(key));
            shared
        });
        shared.newest.unknown(now).filter_map(|key| entries.get(key)).cloned().collect()
    }

    /// Stores the newest run of `entry`, unless it changed meanwhile.
    pub fn determined(&self, entry: &Arc<Entry>, newest: Newest) {
        let mut inner = self.inner.lock();
        let is_current = inner.entries.get(&entry.key).is_some_and(|known| Arc::ptr_eq(known, entry));
        if is_current && let Some(shared) = inner.shared.get_mut(&entry.subject()) {
            shared.newest.set(&entry.key, newest);
        }
    }

    /// The object on a target with the newest run before that of `below`, the instant of that run, and its attempts at
    /// runs without a record; `None`: before no other.
    pub fn newest_below(
        &self,
        target: &TargetKey,
        below: Option<&(Timestamp, Key)>,
    ) -> Option<(Timestamp, Arc<Entry>, Vec<Attempt>)> {
        let inner = self.inner.lock();
        let shared = inner.shared.get(target)?;
        let (at, key) = shared.newest.newest_below(below)?;
        let entry = inner.entries.get(key)?;
        Some((*at, Arc::clone(entry), shared.attempts(entry)))
    }

    /// Stores what became of due runs of `entry`, for other objects on its target, and reports those that wait as changed
    /// where it makes a difference to them.
    pub fn attempted(&self, entry: &Entry, attempts: &[Attempt]) {
        let mut inner = self.inner.lock();
        let Inner { shared, changed, .. } = &mut *inner;
        if let Some(shared) = shared.get_mut(&entry.subject())
            && shared.attempt(entry, attempts.to_vec())
        {
            changed.append(&mut shared.wake(&entry.key));
            self.notify(&inner);
        }
    }

    /// Sets whether `entry` is to be reported as changed when another object on its target is.
    pub fn wait(&self, entry: &Entry, waits: bool) {
        if let Some(shared) = self.inner.lock().shared.get_mut(&entry.subject()) {
            shared.wait(&entry.key, waits);
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
            inner.follow(&change);
            self.notify(&inner);
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

    use super::{CronCache, Newest};
    use crate::controller::key::Key;
    use crate::reconcile::cron_federated_hpa::entry::Entry;

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
    fn of_many_objects_on_one_target_only_those_that_changed_are_looked_at_again() {
        let cache = listed();
        for name in ["a", "b", "c"] {
            cache.put(entry(name, "5"));
        }
        let target = entry("a", "5").subject();
        let unknown = || {
            let unknown = cache.unknown(&target, Timestamp::UNIX_EPOCH);
            for entry in &unknown {
                cache.determined(entry, Newest { run: Some(Timestamp::UNIX_EPOCH), until: None });
            }
            unknown.iter().map(|entry| entry.key.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((unknown(), unknown()), (["a", "b", "c"].map(str::to_owned).into(), vec![]));
        let base = cache.get(&key("b")).unwrap();
        cache.recorded(&key("b"), &base, entry("b", "6"));
        cache.take(&key("c"));
        assert_eq!(unknown(), ["b"]);
        let newest = cache.newest_below(&target, None).map(|(_, entry, _)| entry.key.clone());
        assert_eq!(newest, Some(key("b")));
        cache.take(&key("a"));
        assert!(cache.inner.lock().shared.is_empty(), "one object shares with none");
    }
}
