//! Replicas of templates over time. I/O: watches karmada-apiserver.

use std::sync::{Arc, Mutex};

use fhpa::runtime::clock::steady;
use futures::TryStreamExt as _;
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt as _, watcher};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::lab::Lab;

/// When a template got so many replicas.
#[derive(Clone, Debug)]
pub struct Change {
    pub at: Instant,
    pub name: String,
    pub replicas: u64,
}

/// Notes every change until it is dropped.
pub struct Curves {
    changes: Arc<Mutex<Vec<Change>>>,
    _watches: JoinSet<()>,
}

impl Curves {
    /// Of one namespace, or of all.
    pub fn start(lab: &Lab, namespace: Option<&str>) -> Self {
        let changes = Arc::<Mutex<Vec<Change>>>::default();
        let mut watches = JoinSet::new();
        for (kind, plural) in [("Deployment", "deployments"), ("StatefulSet", "statefulsets")] {
            watches.spawn(watch(lab.karmada.api("apps/v1", kind, plural, namespace), Arc::clone(&changes)));
        }
        Self { changes, _watches: watches }
    }

    /// All changes so far.
    pub fn changes(&self) -> Vec<Change> {
        self.changes.lock().unwrap().clone()
    }

    /// What a template has now.
    pub fn now(&self, name: &str) -> Option<u64> {
        let changes = self.changes.lock().unwrap();
        changes.iter().rev().find(|change| change.name == name).map(|change| change.replicas)
    }
}

async fn watch(api: Api<DynamicObject>, changes: Arc<Mutex<Vec<Change>>>) {
    let mut events = std::pin::pin!(watcher(api, watcher::Config::default()).default_backoff());
    loop {
        let object = match events.try_next().await {
            Ok(Some(watcher::Event::Apply(object) | watcher::Event::InitApply(object))) => object,
            Ok(None) => return,
            _ => continue,
        };
        let (name, replicas) = (object.name_any(), object.data["spec"]["replicas"].as_u64().unwrap_or(1));
        let mut changes = changes.lock().unwrap();
        let last = changes.iter().rev().find(|change| change.name == name).map(|change| change.replicas);
        if last != Some(replicas) {
            changes.push(Change { at: steady(), name, replicas });
        }
    }
}
