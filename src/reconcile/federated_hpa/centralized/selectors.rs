//! Whether another FederatedHPA of the namespace scales pods of a Centralized workload, too: then neither its metrics
//! nor its replicas mean anything, and Kubernetes' own controller refuses to scale. Reads the scale of the workloads of
//! other FederatedHPAs from the API server.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::StreamExt as _;
use jiff::{SignedDuration, Timestamp};

use super::Centralized;
use crate::controller::key::Key;
use crate::decision::few::Few;
use crate::decision::hpa::selectors::SelectorIndex;
use crate::decision::selector::Selector;
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::worker::FederatedHpaWorker;

/// Scales that one computation reads; the next ones read the rest.
const READ_AT_ONCE: usize = 64;
/// Requests in flight.
const IN_FLIGHT: usize = 8;
/// When a scale that could not be read is read again.
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
    /// Until when nobody needs to look for other FederatedHPAs.
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
    fn selecting(&mut self, key: &Key, pods: &BTreeSet<Arc<crate::decision::selector::Labels>>) -> BTreeSet<String> {
        let known = self.of(key);
        let both = |labels| known.centralized.selecting(labels).chain(known.others.selecting(labels));
        pods.iter().flat_map(|labels| both(labels)).map(|name| format!("{}/{name}", key.namespace)).collect()
    }
}

impl InNamespace {
    /// The FederatedHPAs whose scale is to be read; those that are gone are dropped.
    fn unread(&mut self, all: Vec<Arc<FederatedHpaEntry>>, now: Timestamp) -> Vec<Arc<FederatedHpaEntry>> {
        let names: BTreeSet<Arc<str>> = all.iter().map(|order| order.key().name).collect();
        let Self { others, read, .. } = self;
        read.retain(|name, _| {
            let stays = names.contains(name);
            if !stays {
                others.remove(name);
            }
            stays
        });
        let due = |order: &Arc<FederatedHpaEntry>| {
            read.get(&order.key().name).is_none_or(|known| {
                known.generation != order.object.metadata.generation || known.again.is_some_and(|again| again <= now)
            })
        };
        all.into_iter().filter(due).take(READ_AT_ONCE).collect()
    }

    fn took(&mut self, order: &FederatedHpaEntry, selector: Option<&Selector>, now: Timestamp) {
        let name = order.key().name;
        match selector {
            Some(selector) => self.others.put(&name, selector),
            None => self.others.remove(&name),
        }
        let again = if selector.is_some() { None } else { now.checked_add(READ_AGAIN).ok() };
        self.read.insert(name, Read { generation: order.object.metadata.generation, again });
    }
}

impl Centralized {
    /// Why the workload must not be scaled: others scale pods that its selector selects.
    pub(super) fn ambiguity(&self, key: &Key, clusters: &[&str], text: &str, selector: &Selector) -> Option<String> {
        let pods = clusters.iter().flat_map(|cluster| self.pods.labels(cluster, &key.namespace, selector)).collect();
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
}

impl FederatedHpaWorker {
    /// Reads the selectors of the workloads of other FederatedHPAs in the namespace, once in a period for all objects
    /// there.
    pub(super) async fn read_selectors(&self, key: &Key, now: Timestamp) {
        let unread = {
            let mut term = self.centralized.term();
            let known = term.selectors.of(key);
            if known.looked.is_some_and(|until| until > now) {
                return;
            }
            known.looked = self.centralized.settings.next(now);
            let all = self.live.cache.in_namespace(&key.namespace);
            // One that stands back behind another FederatedHPA of its workload scales nothing.
            known.unread(all.into_iter().filter(|order| self.serves(order) && order.held()).collect(), now)
        };
        let read = futures::stream::iter(unread).for_each_concurrent(IN_FLIGHT, |order| async move {
            let scale = self.scale_of(&order).await.ok();
            let selector = scale.and_then(|(_, scale)| Selector::parse(&scale.status.selector).ok());
            self.centralized.term().selectors.of(key).took(&order, selector.as_ref(), now);
        });
        read.await;
    }
}
