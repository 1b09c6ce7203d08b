//! Whether others would run what the loss of any one cluster takes away, as the last drill of the leader found
//! (docs/operations.md#drill). Kept in memory: a new leader drills anew. No I/O.

use std::collections::{BTreeSet, HashMap};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::drill::Drill;
use crate::controller::key::Key;
use crate::decision::drill::{Loss, Shortage};
use crate::decision::split::Replicas;

/// What the last drill found of each object.
#[derive(Default)]
pub struct Coverage {
    known: Mutex<Known>,
    change: Notify,
}

#[derive(Default)]
struct Known {
    found: HashMap<Key, Found>,
    changed: BTreeSet<Key>,
}

/// What a drill found of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Generation of the object that was drilled.
    pub generation: Option<i64>,
    /// The loss that leaves most of it without a place; `None`: no loss does.
    pub worst: Option<Worst>,
}

/// The loss of a cluster that is not covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worst {
    /// Its name.
    pub cluster: Box<str>,
    /// Replicas that run there.
    pub replicas: Replicas,
    /// Those of them that would run nowhere.
    pub short: Replicas,
    /// Why.
    pub reason: Shortage,
    /// What would let them run.
    pub remedy: Box<str>,
}

/// What a drill that is under way found so far.
#[derive(Default)]
pub struct Findings(HashMap<Key, Found>);

impl Findings {
    /// Adds what `drill` found of the `loss` of `cluster`.
    pub fn add(&mut self, drill: &Drill, cluster: &str, loss: Loss) {
        for (key, generation) in drill.objects() {
            self.0.entry(key.clone()).or_default().generation = generation;
        }
        for object in loss.objects {
            let key = Key::new(&object.namespace, &object.name);
            let (Some(found), Some(reason)) = (self.0.get_mut(&key), object.reason) else { continue };
            if found.worst.as_ref().is_none_or(|worst| worst.short < object.short) {
                let remedy = object.remedy.unwrap_or_default().into();
                let (replicas, short) = (object.replicas, object.short);
                found.worst = Some(Worst { cluster: cluster.into(), replicas, short, reason, remedy });
            }
        }
    }
}

impl Coverage {
    /// Takes the findings of a whole drill. Those objects are told as changed that `requires` names.
    pub fn learn(&self, findings: Findings, requires: impl Fn(&Key) -> bool) {
        let mut known = self.known.lock();
        let differs = |(key, found): &(&Key, &Found)| known.found.get(*key) != Some(*found) && requires(key);
        let changed: BTreeSet<Key> = findings.0.iter().filter(differs).map(|(key, _)| key.clone()).collect();
        let any = !changed.is_empty();
        known.changed.extend(changed);
        known.found = findings.0;
        drop(known);
        if any {
            self.change.notify_one();
        }
    }

    /// Forgets all objects: what was found in another term may be long ago.
    pub fn clear(&self) {
        *self.known.lock() = Known::default();
    }

    /// Waits until an object changed.
    pub async fn wait_for_change(&self) {
        self.change.notified().await;
    }

    /// The objects that changed since the last call.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.known.lock().changed)
    }

    /// What the last drill found of an object; `None`: this leader has not drilled it yet.
    #[must_use]
    pub fn found(&self, key: &Key) -> Option<Found> {
        self.known.lock().found.get(key).cloned()
    }
}
