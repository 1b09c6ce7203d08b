//! Whether another FederatedHPA of the namespace scales pods of a Centralized workload, too: then neither its metrics
//! nor its replicas mean anything, and Kubernetes' own controller refuses to scale. No I/O.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::Centralized;
use super::pods::Template;
use crate::controller::key::Key;
use crate::decision::few::Few;
use crate::decision::hpa::selectors::SelectorIndex;
use crate::decision::selector::Selector;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;

/// Scales that one computation reads; the next ones read the rest.
const READ_AT_ONCE: usize = 64;
/// When a scale is read again: it changes with the workload, which no watch tells of.
const READ_AGAIN: SignedDuration = SignedDuration::from_mins(5);

/// The selectors of each namespace with a Centralized workload.
#[derive(Default)]
pub(super) struct Selectors(HashMap<Arc<str>, InNamespace>);

#[derive(Default)]
struct InNamespace {
    /// Those of Centralized workloads, as their computations read them.
    centralized: SelectorIndex,
    /// Those of the workloads of other FederatedHPAs.
    others: SelectorIndex,
    read: BTreeMap<Arc<str>, Read>,
    /// Until when no search for other FederatedHPAs is needed.
    looked: Option<Timestamp>,
}

/// When the scale of a workload was read, and for which generation.
struct Read {
    generation: Option<i64>,
    again: Option<Timestamp>,
}

impl Selectors {
    fn of(&mut self, key: &Key) -> &mut InNamespace {
        self.0.entry(Arc::clone(&key.namespace)).or_default()
    }

    /// Sets the selector of a Centralized workload; `None`: it is not scaled.
    pub(super) fn set(&mut self, key: &Key, selector: Option<&Selector>) {
        let known = &mut self.of(key).centralized;
        match selector {
            Some(selector) => known.put(&key.name, selector),
            None => known.remove(&key.name),
        }
    }

    /// The names of all whose selectors select one of these pods.
    fn selecting(&mut self, key: &Key, pods: &BTreeSet<Arc<Template>>) -> BTreeSet<String> {
        let known = self.of(key);
        let both = |labels| known.centralized.selecting(labels).chain(known.others.selecting(labels));
        pods.iter()
            .flat_map(|template| both(&template.labels))
            .map(|name| format!("{}/{name}", key.namespace))
            .collect()
    }
}

impl InNamespace {
    /// The FederatedHPAs whose scale should be read; those that are gone are dropped.
    fn unread(&mut self, all: Vec<Arc<FederatedHpaEntry>>, now: Timestamp) -> Vec<Arc<FederatedHpaEntry>> {
        let names: BTreeSet<Arc<str>> = all.iter().map(|entry| entry.key().name).collect();
        let Self { others, read, .. } = self;
        read.retain(|name, _| {
            let stays = names.contains(name);
            if !stays {
                others.remove(name);
            }
            stays
        });
        let due = |entry: &Arc<FederatedHpaEntry>| {
            read.get(&entry.key().name).is_none_or(|known| {
                known.generation != entry.object.metadata.generation || known.again.is_some_and(|again| again <= now)
            })
        };
        all.into_iter().filter(due).take(READ_AT_ONCE).collect()
    }

    fn took(&mut self, entry: &FederatedHpaEntry, selector: Option<&Selector>, now: Timestamp) {
        let name = entry.key().name;
        match selector {
            Some(selector) => self.others.put(&name, selector),
            None => self.others.remove(&name),
        }
        let again = now.checked_add(READ_AGAIN).ok();
        self.read.insert(name, Read { generation: entry.object.metadata.generation, again });
    }
}

impl Centralized {
    /// Why the workload must not be scaled: others scale pods that its selector selects.
    pub(crate) fn ambiguity(&self, key: &Key, clusters: &[&str], text: &str, selector: &Selector) -> Option<String> {
        let pods = clusters.iter().flat_map(|cluster| self.pods.templates(cluster, &key.namespace, selector)).collect();
        let mut names = self.term().selectors.selecting(key, &pods);
        names.insert(key.to_string());
        if names.len() < 2 {
            return None;
        }
        let names: Vec<String> = names.into_iter().collect();
        Some(format!(
            "pods by selector {text} are controlled by multiple HPAs: [{}]; nothing is scaled until the selectors of their \
             workloads have no pods in common",
            Few(&names)
        ))
    }

    /// Sets the selector of a Centralized workload; `None`: it is not scaled.
    pub(crate) fn set_selector(&self, key: &Key, selector: Option<&Selector>) {
        self.term().selectors.set(key, selector);
    }

    /// Sets the selector of the workload of another FederatedHPA in the namespace of `key`; `None`: it could not be
    /// read.
    pub(crate) fn set_other_selector(
        &self,
        key: &Key,
        other: &FederatedHpaEntry,
        selector: Option<&Selector>,
        now: Timestamp,
    ) {
        self.term().selectors.of(key).took(other, selector, now);
    }

    /// The FederatedHPAs whose selectors must be read now, of `all` in the namespace of `key` that scale a workload.
    /// Empty where another object of the namespace has asked in this period.
    pub(crate) fn unread_selectors(
        &self,
        key: &Key,
        now: Timestamp,
        all: impl FnOnce() -> Vec<Arc<FederatedHpaEntry>>,
    ) -> Vec<Arc<FederatedHpaEntry>> {
        let mut term = self.term();
        let known = term.selectors.of(key);
        if self.settings.still_due(known.looked, now).is_some() {
            return Vec::new();
        }
        known.looked = self.settings.next(now);
        known.unread(all(), now)
    }
}
