//! Index of the other objects, by name and by target. No I/O; reads block writes for a moment only.
//!
//! Every replica reads it for reviews and no caller waits for its changes, so it has no set of changes and no wake-up,
//! unlike caches of controllers, and no versions: its one writer delivers changes in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::RwLock;

use super::kinds::KeptKinds;
use super::scalers::Scalers;
use crate::decision::related_objects::{KnownCronFederatedHPA, KnownFederatedHPA, KnownScaler, RelatedObjects, Target};

/// A record that can be indexed.
pub trait Known: Clone + Send + Sync {
    /// Its name; the namespace is that of its target.
    fn name(&self) -> &str;
    /// Its target.
    fn target(&self) -> &Target;
}

impl Known for KnownFederatedHPA {
    fn name(&self) -> &str {
        &self.name
    }
    fn target(&self) -> &Target {
        &self.target
    }
}

impl Known for KnownCronFederatedHPA {
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

impl<K: Known> Content<K> {
    /// Returns the targets of the record before and after.
    fn put(&mut self, known: K) -> Vec<Target> {
        let key = (known.target().namespace.clone(), known.name().to_owned());
        let mut changed: Vec<Target> = self.take(&key).into_iter().collect();
        changed.push(known.target().clone());
        self.names_by_target.entry(known.target().clone()).or_default().insert(key.1.clone());
        self.by_name.insert(key, known);
        changed
    }

    fn take(&mut self, key: &Key) -> Option<Target> {
        let old = self.by_name.remove(key)?;
        if let Some(names) = self.names_by_target.get_mut(old.target()) {
            names.remove(&key.1);
            if names.is_empty() {
                self.names_by_target.remove(old.target());
            }
        }
        Some(old.target().clone())
    }
}

impl<K: Known> KindIndex<K> {
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
        let content = self.content.read();
        let Some(names) = content.names_by_target.get(target) else { return Vec::new() };
        let key = |name: &String| (target.namespace.clone(), name.clone());
        names.iter().filter_map(|name| content.by_name.get(&key(name)).cloned()).collect()
    }

    fn named(&self, namespace: &str, name: &str) -> Option<K> {
        self.content.read().by_name.get(&(namespace.to_owned(), name.to_owned())).cloned()
    }
}

/// Index of all kinds.
#[derive(Default)]
pub struct Index {
    /// The FederatedHPAs.
    pub federated_hpas: KindIndex<KnownFederatedHPA>,
    /// The CronFederatedHPAs.
    pub cron_federated_hpas: KindIndex<KnownCronFederatedHPA>,
    /// The kinds whose replicas members keep.
    pub kinds: Arc<KeptKinds>,
    /// Autoscalers that are not fhpa's.
    pub scalers: Arc<Scalers>,
}

impl RelatedObjects for Index {
    fn federated_hpas_on(&self, target: &Target) -> Vec<KnownFederatedHPA> {
        self.federated_hpas.on(target)
    }

    fn cron_federated_hpas_on(&self, target: &Target) -> Vec<KnownCronFederatedHPA> {
        self.cron_federated_hpas.on(target)
    }

    fn federated_hpa(&self, namespace: &str, name: &str) -> Option<KnownFederatedHPA> {
        self.federated_hpas.named(namespace, name)
    }

    fn scalers_on(&self, target: &Target) -> Vec<KnownScaler> {
        self.scalers.on(target)
    }

    fn keeps_replicas(&self, api_version: &str, kind: &str) -> Option<bool> {
        self.kinds.keeps(api_version, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::Index;
    use crate::decision::related_objects::{KnownFederatedHPA, RelatedObjects, Target};

    fn target(name: &str) -> Target {
        Target { namespace: "prod".into(), group: "apps".into(), kind: "Deployment".into(), name: name.into() }
    }

    fn known(name: &str, on: &str) -> KnownFederatedHPA {
        let target = target(on);
        KnownFederatedHPA {
            name: name.into(),
            target,
            min_replicas: Some(1),
            max_replicas: 5,
            distributed: true,
            suspended: false,
            deleting: false,
        }
    }

    fn names(index: &Index, on: &str) -> Vec<String> {
        index.federated_hpas_on(&target(on)).into_iter().map(|known| known.name).collect()
    }

    #[test]
    fn an_update_moves_an_object_to_its_new_target() {
        let index = Index::default();
        for name in ["b", "a"] {
            index.federated_hpas.put(known(name, "web"));
        }
        assert_eq!(names(&index, "web"), ["a", "b"]);
        index.federated_hpas.put(known("a", "shop"));
        assert_eq!((names(&index, "web"), names(&index, "shop")), (vec!["b".into()], vec!["a".into()]));
        index.federated_hpas.take(&("prod".into(), "a".into()));
        assert_eq!(names(&index, "shop"), [""; 0]);
        assert!(index.federated_hpa("prod", "a").is_none() && index.federated_hpa("prod", "b").is_some());
    }

    #[test]
    fn a_new_list_replaces_all() {
        let index = Index::default();
        index.federated_hpas.put(known("gone", "web"));
        index.federated_hpas.replace([known("new", "web")]);
        assert_eq!(names(&index, "web"), ["new"]);
        assert_eq!(index.federated_hpas.len(), 1);
    }
}
