//! Index of the objects of one kind, by name and by target. No I/O; reads block writes for a moment only.

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::RwLock;

use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, Target};

/// A record that can be indexed.
pub trait IndexedObject: Clone + Send + Sync {
    /// Its name; the namespace is that of its target.
    fn name(&self) -> &str;
    /// Its target.
    fn target(&self) -> &Target;
    /// Another object that it still holds.
    fn also(&self) -> Option<&Target> {
        None
    }
}

impl IndexedObject for KnownFederatedHPA {
    fn name(&self) -> &str {
        &self.name
    }
    fn target(&self) -> &Target {
        &self.target
    }
    fn also(&self) -> Option<&Target> {
        self.taken_over.as_ref().filter(|taken_over| **taken_over != self.target)
    }
}

impl IndexedObject for KnownCronFederatedHPA {
    fn name(&self) -> &str {
        &self.name
    }
    fn target(&self) -> &Target {
        &self.target
    }
}

/// Namespace, then name.
pub(super) type Key = (String, String);

/// The records of one kind.
pub struct KindIndex<K> {
    content: RwLock<Content<K>>,
}

struct Content<K> {
    by_name: BTreeMap<Key, K>,
    names_by_target: BTreeMap<Target, BTreeSet<String>>,
}

impl<K> Default for Content<K> {
    fn default() -> Self {
        Self { by_name: BTreeMap::new(), names_by_target: BTreeMap::new() }
    }
}

impl<K> Default for KindIndex<K> {
    fn default() -> Self {
        Self { content: RwLock::default() }
    }
}

impl<K: IndexedObject> Content<K> {
    /// Returns the targets of the record before and after.
    fn put(&mut self, known: K) -> Vec<Target> {
        let key = (known.target().namespace.clone(), known.name().to_owned());
        let mut changed: Vec<Target> = self.take(&key).into_iter().collect();
        changed.push(known.target().clone());
        for target in [Some(known.target()), known.also()].into_iter().flatten() {
            self.names_by_target.entry(target.clone()).or_default().insert(key.1.clone());
        }
        self.by_name.insert(key, known);
        changed
    }

    fn take(&mut self, key: &Key) -> Option<Target> {
        let old = self.by_name.remove(key)?;
        for target in [Some(old.target()), old.also()].into_iter().flatten() {
            if let Some(names) = self.names_by_target.get_mut(target) {
                names.remove(&key.1);
                if names.is_empty() {
                    self.names_by_target.remove(target);
                }
            }
        }
        Some(old.target().clone())
    }
}

impl<K: IndexedObject> KindIndex<K> {
    /// Adds a record, or replaces the one of that name. Returns the targets of both.
    pub fn put(&self, known: K) -> Vec<Target> {
        self.content.write().put(known)
    }

    /// Removes the record of that name, if there is one, and returns its target.
    pub fn take(&self, key: &Key) -> Option<Target> {
        self.content.write().take(key)
    }

    /// Replaces everything at once. Returns the targets with other records than before.
    pub fn replace(&self, all: impl IntoIterator<Item = K>) -> Vec<Target> {
        let mut content = Content::default();
        for known in all {
            content.put(known);
        }
        let old = std::mem::replace(&mut *self.content.write(), content);
        let new = self.content.read();
        let targets: BTreeSet<&Target> = old.names_by_target.keys().chain(new.names_by_target.keys()).collect();
        let differs = |target: &&&Target| old.names_by_target.get(**target) != new.names_by_target.get(**target);
        targets.iter().filter(differs).map(|target| (*target).clone()).collect()
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.content.read().by_name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records of a target, by name.
    pub fn on(&self, target: &Target) -> Vec<K> {
        self.about(target).into_iter().filter(|known| known.target() == target).collect()
    }

    /// The records of a target and those that still hold it, by name.
    pub fn about(&self, target: &Target) -> Vec<K> {
        let content = self.content.read();
        let Some(names) = content.names_by_target.get(target) else { return Vec::new() };
        let key = |name: &String| (target.namespace.clone(), name.clone());
        names.iter().filter_map(|name| content.by_name.get(&key(name)).cloned()).collect()
    }

    pub(super) fn named(&self, namespace: &str, name: &str) -> Option<K> {
        self.content.read().by_name.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}
