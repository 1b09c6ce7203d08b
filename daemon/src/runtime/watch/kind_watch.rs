//! The watch of one kind: its events -> the handlers. Talks to the API server.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta};
use kube::runtime::watcher;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::sleep;
use tracing::{info, warn};

use super::definitions::Listing;
use super::event_handler::EventHandler;
use super::kind_index::Key;
use super::readers::Intakes;
use super::retries::{Pause, Retries};
use super::watch_error::{advice, asked_wait, is_missing, is_refusal};
use crate::decision::excerpt::{ERROR, excerpt};
use crate::runtime::control_plane::{REQUEST, for_one_watch};
use crate::runtime::lifecycle::Condition;
use crate::runtime::metrics::Metrics;

/// Which objects of a kind are watched.
#[derive(Clone, Debug)]
pub(super) struct Scope {
    pub(super) namespace: Option<String>,
    pub(super) config: watcher::Config,
}

impl Scope {
    fn objects(&self, client: &Client, resource: &ApiResource) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
            None => Api::all_with(client.clone(), resource),
        }
    }
}

/// The kind that a control plane need not serve.
const OPTIONAL: &str = "ScaledObject";
/// It is not served when it was refused so often in a row: an API server that has just started does not serve all kinds.
const REFUSALS: u32 = 4;
/// A kind that is not served is looked for again after this time.
const ABSENT: Duration = Duration::from_mins(10);

/// A watch that is silent for so long after a failure is open: each request has a shorter time limit.
const OPEN: Duration = REQUEST.saturating_mul(2);

/// Watches one kind, and lists it again whenever fhpa's CRD is served again.
pub(super) async fn watch_by<K>(
    listing: &Listing,
    client: &Client,
    kind: &'static str,
    scope: Scope,
    mut intakes: Intakes<K>,
    listed: Condition,
    metrics: &Metrics,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let client = &for_one_watch(client);
    let mut absent = false;
    loop {
        let term = listing.begin().await;
        notify_all(&mut intakes, |intake| intake.forget());
        let list = Listed { listing, term, condition: &listed };
        tokio::select! {
            ended = watch(client, kind, scope.clone(), &mut intakes, list, absent, metrics) => absent = ended,
            () = listing.over(term) => info!(kind, "all objects are listed again: their definition is fhpa's again"),
        }
    }
}

/// Receivers of the information that a kind was listed.
#[derive(Clone, Copy)]
struct Listed<'a> {
    listing: &'a Listing,
    term: u64,
    condition: &'a Condition,
}

/// Watches one kind; returns when the kind must be listed again, and whether it is not served. `absent`: it was not
/// served before.
async fn watch<K>(
    client: &Client,
    kind: &'static str,
    scope: Scope,
    intakes: &mut Intakes<K>,
    listed: Listed<'_>,
    absent: bool,
    metrics: &Metrics,
) -> bool
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let resource = ApiResource::erase::<K>(&());
    // Untyped, so that one object that cannot be decoded does not hide all others.
    let events = watcher(scope.objects(client, &resource), scope.config);
    pin_mut!(events);
    let (known, retries) = (KnownObjects::default(), Retries::new(kind));
    let mut receiver = Receiver { kind, intakes, listed, lists: false, absent, known, retries, metrics };
    loop {
        tokio::select! {
            event = events.next() => match event {
                None => return false,
                Some(Ok(event)) => receiver.receive(event),
                Some(Err(error)) if receiver.is_absent(&error) => {
                    metrics.known(kind, 0);
                    // A watch would continue from its last version, without the objects that are no longer known.
                    sleep(ABSENT).await;
                    return true;
                }
                Some(Err(error)) => sleep(receiver.failed(&error)).await,
            },
            () = sleep(OPEN), if receiver.may_be_open() => receiver.recovered(),
        }
        metrics.known(kind, receiver.known.objects.len());
    }
}

/// Receives the events of one watch.
struct Receiver<'a, K> {
    kind: &'static str,
    intakes: &'a mut Intakes<K>,
    listed: Listed<'a>,
    /// Whether a list has begun and not ended.
    lists: bool,
    /// Whether the kind was not served when it was last looked for: one refusal says that it still is not.
    absent: bool,
    known: KnownObjects,
    retries: Retries,
    metrics: &'a Metrics,
}

impl<K: Resource + DeserializeOwned> Receiver<'_, K> {
    fn receive(&mut self, event: watcher::Event<DynamicObject>) {
        // `Init` only means that a list was requested, and `InitApply` that a page of it came.
        if !matches!(event, watcher::Event::Init | watcher::Event::InitApply(_)) {
            self.recovered();
        }
        match event {
            watcher::Event::Init => {
                self.lists = true;
                self.known.objects.clear();
                notify_all(self.intakes, |intake| intake.begin());
            }
            watcher::Event::InitApply(object) => {
                let metadata = known(&object.metadata);
                match self.decode(object) {
                    Ok(object) => notify_all(self.intakes, |intake| intake.listed(&object)),
                    Err(error) => notify_all(self.intakes, |intake| intake.listed_undecodable(&metadata, &error)),
                }
            }
            watcher::Event::InitDone => {
                (self.lists, self.absent) = (false, false);
                notify_all(self.intakes, |intake| intake.end());
                self.listed.listing.listed(self.listed.term);
                self.listed.condition.met();
            }
            watcher::Event::Apply(object) => {
                let metadata = known(&object.metadata);
                match self.decode(object) {
                    Ok(object) => notify_all(self.intakes, |intake| intake.put(&object)),
                    Err(error) => notify_all(self.intakes, |intake| intake.undecodable(&metadata, &error)),
                }
            }
            watcher::Event::Delete(object) => {
                let key = key(&object.metadata);
                self.known.remove(&key);
                let uid = object.metadata.uid.unwrap_or_default();
                notify_all(self.intakes, |intake| intake.deleted(&key.0, &key.1, &uid));
            }
        }
    }

    /// Whether a failed watch is open if nothing is heard of it.
    const fn may_be_open(&self) -> bool {
        self.retries.is_failing() && !self.lists
    }

    fn recovered(&mut self) {
        if self.retries.succeeded() {
            info!(kind = self.kind, "watch recovered");
            self.metrics.watch_fails(self.kind, false);
        }
    }

    /// Whether the kind need not be served, and is not: its objects are no longer known.
    fn is_absent(&mut self, error: &watcher::Error) -> bool {
        let enough = self.absent || self.retries.refusals() >= REFUSALS;
        let absent = self.kind == OPTIONAL && is_missing(error) && enough;
        if absent {
            notify_all(self.intakes, |intake| intake.begin());
            notify_all(self.intakes, |intake| intake.end());
        }
        absent
    }

    /// The object; where it cannot be decoded the reason, which is logged.
    fn decode(&mut self, object: DynamicObject) -> Result<K, String> {
        let key = key(&object.metadata);
        match object.try_parse::<K>() {
            Ok(typed) => {
                self.known.insert(&key);
                Ok(typed)
            }
            Err(error) => {
                let kind = self.kind;
                warn!(kind, object = %format_args!("{}/{}", key.0, key.1), %error, "a stored object cannot be decoded");
                self.known.remove(&key);
                Err(excerpt(&error.to_string(), ERROR).to_owned())
            }
        }
    }

    /// Reports that the list or the watch failed. Returns how long to wait for the next attempt.
    fn failed(&mut self, error: &watcher::Error) -> Duration {
        if self.kind == OPTIONAL && is_missing(error) {
            return self.retries.failed(true, None).wait;
        }
        notify_all(self.intakes, |intake| intake.failed(error));
        self.metrics.watch_failed(self.kind);
        self.metrics.watch_fails(self.kind, true);
        let Pause { wait, say } = self.retries.failed(is_refusal(error), asked_wait(error));
        if let Some(failures) = say {
            let kind = self.kind;
            let what = error.to_string();
            let what = excerpt(&what, ERROR);
            warn!(kind, error = what, failures, "the watch failed and is retried; {}", advice(kind, error));
        }
        wait
    }
}

fn notify_all<K>(intakes: &mut Intakes<K>, what: impl Fn(&mut dyn EventHandler<K>)) {
    for intake in intakes {
        what(&mut **intake);
    }
}

/// Which objects are known, to count them: a hash of each, as there may be a million.
#[derive(Default)]
struct KnownObjects {
    objects: HashSet<u64>,
    hasher: RandomState,
}

impl KnownObjects {
    fn insert(&mut self, key: &Key) {
        self.objects.insert(self.hasher.hash_one(key));
    }

    fn remove(&mut self, key: &Key) {
        self.objects.remove(&self.hasher.hash_one(key));
    }
}

/// The metadata that handlers get of an object that cannot be decoded.
fn known(metadata: &ObjectMeta) -> ObjectMeta {
    ObjectMeta {
        name: metadata.name.clone(),
        namespace: metadata.namespace.clone(),
        uid: metadata.uid.clone(),
        resource_version: metadata.resource_version.clone(),
        labels: metadata.labels.clone(),
        deletion_timestamp: metadata.deletion_timestamp.clone(),
        ..ObjectMeta::default()
    }
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}
