//! The managed objects: their desired state, and their last observed state. Talks to the API server.
//!
//! Not a `Table` of `controller`: the set of objects is fixed, each has a desired state beside its live one, and a
//! watch of one object delivers no list.

use std::collections::{BTreeMap, BTreeSet};

use futures::StreamExt as _;
use futures::future::join_all;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject};
use kube::core::{GroupVersionKind, TypeMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;
use tracing::{info, warn};

use crate::controller::key::Key;
use crate::decision::excerpt::{ERROR, excerpt};
use crate::install::manifests::{Manifest, Part};
use crate::install::webhooks;
use crate::runtime::control_plane::for_one_watch;

/// A managed object.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// Its desired state.
    pub wanted: Manifest,
    /// Its observed state.
    pub live: Live,
}

/// Observed state of an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Live {
    /// Not known yet.
    Unknown,
    /// It does not exist.
    Absent,
    /// The last observed object.
    Seen(Value),
}

impl Live {
    /// The object, when it exists.
    #[must_use]
    pub const fn object(&self) -> Option<&Value> {
        match self {
            Self::Seen(object) => Some(object),
            Self::Unknown | Self::Absent => None,
        }
    }
}

/// All managed objects.
#[derive(Debug, Default)]
pub struct ManagedObjects {
    inner: Mutex<Inner>,
    change: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    objects: BTreeMap<Key, Guarded>,
    changed: BTreeSet<Key>,
}

/// Kind and name.
fn key(manifest: &Manifest) -> Key {
    let text = |pointer| manifest.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    Key::new(text("/kind"), text("/metadata/name"))
}

impl ManagedObjects {
    /// Manages these objects, with unknown observed state.
    #[must_use]
    pub fn new(wanted: Vec<Manifest>) -> Self {
        let objects =
            wanted.into_iter().map(|wanted| (key(&wanted), Guarded { wanted, live: Live::Unknown })).collect();
        Self { inner: Mutex::new(Inner { objects, changed: BTreeSet::new() }), change: Notify::new() }
    }

    /// Changes the desired state of managed objects.
    pub fn set_desired(&self, wanted: Vec<Manifest>) {
        let mut inner = self.inner.lock();
        for wanted in wanted {
            let key = key(&wanted);
            if let Some(guarded) = inner.objects.get_mut(&key) {
                guarded.wanted = wanted;
                inner.changed.insert(key);
            }
        }
        drop(inner);
        self.change.notify_one();
    }

    fn saw(&self, key: &Key, live: Option<Value>) {
        let mut inner = self.inner.lock();
        if let Some(guarded) = inner.objects.get_mut(key) {
            guarded.live = live.map_or(Live::Absent, Live::Seen);
            inner.changed.insert(key.clone());
        }
        drop(inner);
        self.change.notify_one();
    }

    /// One object.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<Guarded> {
        self.inner.lock().objects.get(key).cloned()
    }

    /// All of them.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        self.inner.lock().objects.keys().cloned().collect()
    }

    /// Whether an operator lets writes pass unreviewed, by a part of the registration that exists.
    #[must_use]
    pub fn are_reviews_optional(&self) -> bool {
        let inner = self.inner.lock();
        let mut registered = inner.objects.values().filter(|guarded| guarded.wanted.part == Part::Webhook);
        registered.any(|guarded| guarded.live.object().is_some_and(webhooks::are_optional))
    }

    /// Waits until an object changed.
    pub async fn wait_for_change(&self) {
        self.change.notified().await;
    }

    /// The objects that changed since the last call.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.inner.lock().changed)
    }

    /// Watches each object by its name, without end.
    pub async fn watch(&self, client: &Client) {
        let objects: Vec<(Key, String)> = {
            let inner = self.inner.lock();
            let version =
                |guarded: &Guarded| guarded.wanted.object.get("apiVersion").and_then(Value::as_str).map(str::to_owned);
            inner.objects.iter().map(|(key, guarded)| (key.clone(), version(guarded).unwrap_or_default())).collect()
        };
        join_all(objects.iter().map(|(key, version)| self.watch_one(client, key, version))).await;
    }

    async fn watch_one(&self, client: &Client, key: &Key, api_version: &str) {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &key.namespace));
        let api: Api<DynamicObject> = Api::all_with(for_one_watch(client), &resource);
        let events = watcher::watch_object(api, &key.name).default_backoff();
        futures::pin_mut!(events);
        let mut failing = false;
        while let Some(event) = events.next().await {
            match event {
                Ok(object) => {
                    if std::mem::take(&mut failing) {
                        info!(object = %key, "watch recovered");
                    }
                    // Elements of a list need not have their kind.
                    let typed = |mut object: DynamicObject| {
                        object.types =
                            Some(TypeMeta { api_version: api_version.to_owned(), kind: key.namespace.to_string() });
                        serde_json::to_value(object).ok()
                    };
                    self.saw(key, object.and_then(typed));
                }
                Err(error) => {
                    let error = error.to_string();
                    if !std::mem::replace(&mut failing, true) {
                        let error = excerpt(&error, ERROR);
                        warn!(object = %key, error, "watch failed; drift of this object is not corrected");
                    }
                }
            }
        }
    }
}
