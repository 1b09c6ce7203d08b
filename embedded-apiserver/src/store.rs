//! Objects, one resource version for all, and a bounded log per resource that watches read. In memory; no I/O.

mod backup;
mod forgetting;
mod key;
mod page;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::{Arc, OnceLock},
};

use parking_lot::RwLock;
use serde_json::Value;
use tokio::sync::watch;

use self::page::{from, read_page};
use super::object::{self, Object};

pub use self::{
    backup::Backup,
    key::Key,
    page::{Page, Query},
};

/// Expected state of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// No object.
    Absent,
    /// This resource version.
    Version(u64),
}

/// Why a write failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Raced {
    /// Another write came first.
    #[error("another write came first")]
    Changed,
    /// The namespace does not exist.
    #[error("the namespace does not exist")]
    NoNamespace,
    /// The namespace is being deleted.
    #[error("the namespace is being deleted")]
    NamespaceTerminating,
}

/// A change in the log.
#[derive(Debug, Clone)]
pub struct Change {
    /// Resource version of the change.
    pub version: u64,
    /// The state before, if there was one.
    pub before: Option<Arc<Object>>,
    /// The state after; for a deletion the last state, at the resource version of the deletion.
    pub after: Arc<Object>,
    /// Whether the object was deleted.
    pub deleted: bool,
    path: Arc<str>,
}

/// The log no longer contains the requested version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// The oldest version that the log contains.
    pub oldest: u64,
}

#[derive(Debug)]
struct Bucket {
    objects: BTreeMap<Arc<str>, Arc<Object>>,
    log: VecDeque<Change>,
    compacted: u64,
    changed: watch::Sender<u64>,
}

impl Bucket {
    fn new() -> Self {
        Self { objects: BTreeMap::new(), log: VecDeque::new(), compacted: 0, changed: watch::Sender::new(0) }
    }

    fn record(&mut self, change: Change, keep: usize) {
        let version = change.version;
        self.log.push_back(change);
        while self.log.len() > keep {
            if let Some(gone) = self.log.pop_front() {
                self.compacted = gone.version;
            }
        }
        self.changed.send_replace(version);
    }

    fn since(&self, version: u64) -> impl Iterator<Item = &Change> {
        self.log.range(self.log.partition_point(|change| change.version <= version)..)
    }
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    moved: u64,
    buckets: HashMap<Arc<str>, Bucket>,
    uids: HashMap<Arc<str>, Key>,
    dependents: HashMap<Arc<str>, BTreeSet<Key>>,
    population: HashMap<Arc<str>, usize>,
}

/// Receives every change, in order and before all others: the bucket and the change; not those of a restore. It must
/// not call the store.
pub type Observer = Box<dyn Fn(&str, &Change) + Send + Sync>;

/// The store. All methods are short and wait only for each other.
pub struct Store {
    inner: RwLock<Inner>,
    changed: watch::Sender<u64>,
    keep: usize,
    namespaces: Arc<str>,
    observer: OnceLock<Observer>,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Store {
    /// An empty store that keeps this many changes of each resource for watches.
    pub fn new(keep: usize) -> Self {
        let inner = Inner { version: 1, ..Inner::default() };
        Self {
            inner: RwLock::new(inner),
            changed: watch::Sender::new(0),
            keep,
            namespaces: "namespaces".into(),
            observer: OnceLock::new(),
        }
    }

    /// Registers `observer` for every change from now on. Returns whether it was registered: there can be only one.
    pub fn observe(&self, observer: Observer) -> bool {
        self.observer.set(observer).is_ok()
    }

    fn record(&self, bucket: &mut Bucket, name: &str, change: Change) {
        if let Some(observer) = self.observer.get() {
            observer(name, &change);
        }
        bucket.record(change, self.keep);
    }

    /// The newest resource version.
    pub fn version(&self) -> u64 {
        self.inner.read().version
    }

    /// Number of changes of objects other than Leases and Events, on which only their owners act.
    pub fn moved(&self) -> u64 {
        self.inner.read().moved
    }

    /// The object at a key.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.inner.read().buckets.get(key.bucket())?.objects.get(&key.path).cloned()
    }

    /// Key of the live object with this uid.
    pub fn find_uid(&self, uid: &str) -> Option<Key> {
        self.inner.read().uids.get(uid).cloned()
    }

    /// Keys of the objects with this uid as an owner.
    pub fn dependents(&self, uid: &str) -> Vec<Key> {
        self.inner.read().dependents.get(uid).into_iter().flatten().cloned().collect()
    }

    /// Number of objects in a namespace.
    pub fn population(&self, namespace: &str) -> usize {
        self.inner.read().population.get(namespace).copied().unwrap_or_default()
    }

    /// Keys of all objects in a namespace.
    pub fn inhabitants(&self, namespace: &str) -> Vec<Key> {
        let inner = self.inner.read();
        let prefix = format!("{namespace}/");
        let mut keys = Vec::new();
        for (bucket, content) in &inner.buckets {
            let range = content.objects.range::<str, _>(from(&prefix));
            let inside = range.take_while(|(path, _)| path.starts_with(&prefix));
            keys.extend(inside.map(|(path, _)| Key { bucket: bucket.clone(), path: path.clone() }));
        }
        keys.sort();
        keys
    }

    /// Writes an object; the store gives it the next resource version.
    ///
    /// # Errors
    /// When the object is not in the expected state, or the namespace of a new object does not exist.
    pub fn put(&self, key: &Key, expected: Expected, value: Value) -> Result<Arc<Object>, Raced> {
        let mut inner = self.inner.write();
        let before = inner.find(key);
        match (&before, expected) {
            (None, Expected::Absent) => inner.admit_to_namespace(&self.namespaces, key.namespace())?,
            (Some(object), Expected::Version(version)) if object.version() == version => {}
            _ => return Err(Raced::Changed),
        }
        let version = inner.next(key);
        let after = Arc::new(Object::new(value, version));
        inner.index(key, before.as_deref(), Some(&after));
        let bucket = inner.buckets.entry(key.bucket.clone()).or_insert_with(Bucket::new);
        bucket.objects.insert(key.path.clone(), after.clone());
        let change = Change { version, before, after: after.clone(), deleted: false, path: key.path.clone() };
        self.record(bucket, &key.bucket, change);
        self.changed.send_replace(version);
        Ok(after)
    }

    /// Removes an object. `last` is its last state, for watches.
    ///
    /// # Errors
    /// When the object is not at the expected version.
    pub fn remove(&self, key: &Key, expected: u64, last: Value) -> Result<Arc<Object>, Raced> {
        let mut inner = self.inner.write();
        let before = inner.find(key).filter(|object| object.version() == expected).ok_or(Raced::Changed)?;
        let emptied = *key.bucket == *self.namespaces;
        if emptied && inner.population.get(key.name()).is_some_and(|count| *count > 0) {
            return Err(Raced::Changed);
        }
        let version = inner.next(key);
        let after = Arc::new(Object::new(last, version));
        inner.index(key, Some(&before), None);
        let bucket = inner.buckets.entry(key.bucket.clone()).or_insert_with(Bucket::new);
        bucket.objects.remove(&key.path);
        let change =
            Change { version, before: Some(before), after: after.clone(), deleted: true, path: key.path.clone() };
        self.record(bucket, &key.bucket, change);
        self.changed.send_replace(version);
        Ok(after)
    }

    /// Lists objects, in the current state or an earlier one that the log contains.
    ///
    /// # Errors
    /// When the log does not contain the requested state.
    pub fn list(&self, bucket: &str, query: &Query) -> Result<Page, Compacted> {
        let inner = self.inner.read();
        let version = query.version.unwrap_or(inner.version);
        let Some(bucket) = inner.buckets.get(bucket) else {
            return Ok(Page { items: Vec::new(), version, more: None, remaining: None });
        };
        if version < bucket.compacted {
            return Err(Compacted { oldest: bucket.compacted });
        }
        Ok(read_page(bucket, query, version))
    }

    /// Changes of a bucket after a version, at most `most`, and the version up to which they are complete.
    ///
    /// # Errors
    /// When the log does not contain the version.
    pub fn changes(&self, bucket: &str, after: u64, most: usize) -> Result<(Vec<Change>, u64), Compacted> {
        let inner = self.inner.read();
        let Some(content) = inner.buckets.get(bucket) else { return Ok((Vec::new(), inner.version.max(after))) };
        if after < content.compacted {
            return Err(Compacted { oldest: content.compacted });
        }
        let changes: Vec<Change> = content.since(after).take(most).cloned().collect();
        let reached =
            if changes.len() < most { inner.version } else { changes.last().map_or(after, |last| last.version) };
        Ok((changes, reached.max(after)))
    }

    /// Creates the bucket of a new kind: watches from earlier versions expire.
    pub fn found(&self, bucket: &Arc<str>) {
        let mut inner = self.inner.write();
        let version = inner.version;
        inner.buckets.entry(bucket.clone()).or_insert_with(|| Bucket { compacted: version, ..Bucket::new() });
    }

    /// Notifies when a bucket changes.
    pub fn subscribe(&self, bucket: &Arc<str>) -> watch::Receiver<u64> {
        if let Some(content) = self.inner.read().buckets.get(bucket) {
            return content.changed.subscribe();
        }
        self.inner.write().buckets.entry(bucket.clone()).or_insert_with(Bucket::new).changed.subscribe()
    }

    /// Notifies of any change.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Notifies all receivers of any change, without one.
    pub fn wake_all(&self) {
        self.changed.send_modify(|_| {});
    }

    /// Notifies the watches of a bucket without a change.
    pub fn wake(&self, bucket: &str) {
        if let Some(content) = self.inner.read().buckets.get(bucket) {
            content.changed.send_modify(|_| {});
        }
    }
}

impl Inner {
    fn next(&mut self, key: &Key) -> u64 {
        self.version += 1;
        if !matches!(&**key.bucket(), "leases.coordination.k8s.io" | "events" | "events.events.k8s.io") {
            self.moved = self.moved.saturating_add(1);
        }
        self.version
    }

    fn find(&self, key: &Key) -> Option<Arc<Object>> {
        self.buckets.get(&key.bucket)?.objects.get(&key.path).cloned()
    }

    fn admit_to_namespace(&self, namespaces: &Arc<str>, namespace: &str) -> Result<(), Raced> {
        if namespace.is_empty() {
            return Ok(());
        }
        match self.find(&Key::new(namespaces, "", namespace)) {
            None => Err(Raced::NoNamespace),
            Some(object) if object::is_terminating(object.value()) => Err(Raced::NamespaceTerminating),
            Some(_) => Ok(()),
        }
    }

    fn index(&mut self, key: &Key, before: Option<&Object>, after: Option<&Object>) {
        let owners = |object: Option<&Object>| -> BTreeSet<Arc<str>> {
            let list = object.map_or(&[][..], |object| object::owners(object.value()));
            list.iter().map(|owner| object::text_at(owner, &["uid"]).into()).collect()
        };
        let (old, new) = (owners(before), owners(after));
        for uid in old.difference(&new) {
            if let Some(keys) = self.dependents.get_mut(uid) {
                keys.remove(key);
                if keys.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in new.difference(&old) {
            self.dependents.entry(uid.clone()).or_default().insert(key.clone());
        }
        match (before, after) {
            (None, Some(object)) => {
                self.uids.insert(object::uid(object.value()).into(), key.clone());
                *self.population.entry(key.namespace().into()).or_default() += 1;
            }
            (Some(object), None) => {
                self.uids.remove(object::uid(object.value()));
                if let Some(count) = self.population.get_mut(key.namespace()) {
                    *count = count.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
