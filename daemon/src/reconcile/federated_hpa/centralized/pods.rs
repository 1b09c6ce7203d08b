//! The pods of Centralized workloads: one watch for each cluster and namespace that has such a workload, shared by all
//! objects there. It stores only the input of the algorithm (docs/centralized.md#what-it-does). Talks to members through
//! the cluster proxy; reads only.
//!
//! A watch begins at the first use of its pods, and ends when they were not used for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt as _, pin_mut};
use kube::client::Body;
use kube::runtime::watcher;
use kube::{Api, Client};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{debug, info, warn};

use crate::api::pod::Pod;
use crate::convert;
use crate::decision::backoff::{self, ErrorClass};
use crate::decision::excerpt::excerpt;
use crate::decision::hpa::pod::{self, Moment, Phase, ReadyCondition, Requests};
use crate::decision::selector::{Labels, Selector};
use crate::reconcile::federated_hpa::observe::members::proxied;
use crate::runtime::clock;

/// Pods in one page of a list.
const PAGE: u32 = 500;
/// A watch ends when its pods were not used for this long.
const IDLE: Duration = Duration::from_mins(5);
/// While a watch fails, its last seen pods are used for this long.
const GRACE: Duration = Duration::from_secs(15);
/// How long a watch that failed before has to last after its list.
const MOMENT: Duration = Duration::from_secs(2);
/// Characters of an error that are shown.
const ERROR_LENGTH: usize = 200;

/// Cluster and namespace.
type PodsKey = (Box<str>, Box<str>);

/// The watches.
pub struct PodWatches {
    client: Client,
    places: Arc<Mutex<BTreeMap<PodsKey, Arc<NamespacePods>>>>,
}

/// The pods of one namespace of one cluster.
struct NamespacePods {
    seen: Mutex<StoredPods>,
    state: watch::Sender<PodWatchState>,
    used: Mutex<Instant>,
}

/// State of a watch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PodWatchState {
    /// The first list is not complete.
    Listing,
    /// It receives all changes.
    Current,
    /// It was never current; the last error.
    Unlisted(String),
    /// It was current until this time; the last error.
    Broken(Instant, String),
}

#[derive(Default)]
struct StoredPods {
    pods: BTreeMap<Arc<str>, StoredPod>,
    /// Pods of an incomplete list.
    listing: Vec<(Arc<str>, StoredPod)>,
    /// The template of each pod, stored once, and so are equal requests: the pods of a StatefulSet differ in their labels.
    templates: BTreeSet<Arc<Template>>,
    requests: BTreeSet<Arc<Requests>>,
}

/// What pods of one template have in common.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Template {
    /// Their labels.
    pub labels: Labels,
    requests: Arc<Requests>,
}

/// The stored data of a pod, in 32 bytes.
struct StoredPod {
    template: Arc<Template>,
    ready: Option<ReadyCondition>,
    started: Option<Moment>,
    phase: Phase,
    deleted: bool,
}

impl PodWatches {
    /// Watches members through `client`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, places: Arc::default() }
    }

    /// Starts to watch the pods of `namespace` in these clusters, and waits until they are listed, or `patience` is
    /// over.
    pub async fn listed(&self, clusters: &[&str], namespace: &str, patience: Duration) {
        let listed = clusters.iter().map(|cluster| {
            let mut state = self.at(cluster, namespace).state.subscribe();
            async move { state.wait_for(|state| *state != PodWatchState::Listing).await.is_ok() }
        });
        let _: Result<_, _> = timeout(patience, futures::future::join_all(listed)).await;
    }

    /// The pods that `selector` selects in a cluster, in the order of their names.
    ///
    /// # Errors
    /// Why the pods are unknown.
    pub fn select(&self, cluster: &str, namespace: &str, selector: &Selector) -> Result<Vec<pod::Pod>, String> {
        let place = self.at(cluster, namespace);
        match &*place.state.borrow() {
            PodWatchState::Current => {}
            PodWatchState::Listing => return Err("its pods are not listed yet".to_owned()),
            PodWatchState::Unlisted(why) => return Err(format!("its pods cannot be listed: {why}")),
            PodWatchState::Broken(since, _) if since.elapsed() < GRACE => {}
            PodWatchState::Broken(_, why) => return Err(format!("its pods cannot be watched: {why}")),
        }
        let seen = place.seen();
        let selected = || seen.pods.iter().filter(|(_, pod)| selector.selects(&pod.template.labels));
        // Counted first: a list of a hundred thousand pods that grows would be copied again and again.
        let mut pods = Vec::with_capacity(selected().count());
        pods.extend(selected().map(|(name, pod)| pod.to_pod(name)));
        Ok(pods)
    }

    /// The templates of the pods that `selector` selects in a cluster, as they were last seen.
    #[must_use]
    pub fn templates(&self, cluster: &str, namespace: &str, selector: &Selector) -> BTreeSet<Arc<Template>> {
        let place = self.at(cluster, namespace);
        let seen = place.seen();
        let templates = seen.pods.values().map(|pod| &pod.template);
        templates.filter(|template| selector.selects(&template.labels)).cloned().collect()
    }

    fn at(&self, cluster: &str, namespace: &str) -> Arc<NamespacePods> {
        let key: PodsKey = (cluster.into(), namespace.into());
        let mut places = self.places.lock();
        if let Some(place) = places.get(&key) {
            *place.used.lock() = clock::steady();
            return Arc::clone(place);
        }
        let place = Arc::new(NamespacePods {
            seen: Mutex::default(),
            state: watch::Sender::new(PodWatchState::Listing),
            used: Mutex::new(clock::steady()),
        });
        places.insert(key.clone(), Arc::clone(&place));
        let pods: Api<Pod> = Api::namespaced(through_proxy(&self.client, cluster), namespace);
        let (all, followed) = (Arc::clone(&self.places), Arc::clone(&place));
        tokio::spawn(async move {
            tokio::select! {
                () = follow(pods, &key, &followed) => {}
                () = unused(&all, &key, &followed) => debug!(cluster = %key.0, namespace = %key.1, "the watch of pods ends"),
            }
        });
        place
    }
}

impl NamespacePods {
    fn seen(&self) -> MutexGuard<'_, StoredPods> {
        self.seen.lock()
    }
}

impl StoredPod {
    fn to_pod(&self, name: &Arc<str>) -> pod::Pod {
        pod::Pod {
            name: Arc::clone(name),
            phase: self.phase,
            deleted: self.deleted,
            ready: self.ready,
            started: self.started,
            requests: Arc::clone(&self.template.requests),
        }
    }
}

impl StoredPods {
    fn kept(&mut self, pod: &Pod) -> StoredPod {
        let labels = pod.metadata.labels.iter().flatten();
        let labels: Labels = labels.map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
        StoredPod {
            template: self.template(labels, convert::pods::requests(pod)),
            ready: convert::pods::ready(pod),
            started: convert::pods::started(pod),
            phase: convert::pods::phase(pod),
            deleted: pod.metadata.deletion_timestamp.is_some(),
        }
    }

    fn template(&mut self, labels: Labels, requests: Requests) -> Arc<Template> {
        let requests = shared(&mut self.requests, requests);
        shared(&mut self.templates, Template { labels, requests })
    }

    fn take(&mut self, event: watcher::Event<Pod>) -> bool {
        let name = |pod: &Pod| -> Arc<str> { pod.metadata.name.as_deref().unwrap_or_default().into() };
        match event {
            watcher::Event::Init => self.listing.clear(),
            watcher::Event::InitApply(pod) => {
                let kept = self.kept(&pod);
                self.listing.push((name(&pod), kept));
            }
            watcher::Event::InitDone => {
                self.pods.clear();
                // Made from a whole list, the map has no room that is unused.
                self.pods = std::mem::take(&mut self.listing).into_iter().collect();
                self.drop_unused();
                return true;
            }
            watcher::Event::Apply(pod) => {
                let kept = self.kept(&pod);
                self.pods.insert(name(&pod), kept);
            }
            watcher::Event::Delete(pod) => {
                self.pods.remove(&name(&pod));
                self.forget_unused();
            }
        }
        false
    }

    /// Drops old templates: each rollout adds one, with a new hash in its labels.
    fn forget_unused(&mut self) {
        if self.templates.len() > self.pods.len().saturating_mul(2).saturating_add(64) {
            self.drop_unused();
        }
    }

    fn drop_unused(&mut self) {
        self.templates.retain(|template| Arc::strong_count(template) > 1);
        self.requests.retain(|requests| Arc::strong_count(requests) > 1);
    }
}

fn shared<T: Ord>(all: &mut BTreeSet<Arc<T>>, value: T) -> Arc<T> {
    if let Some(known) = all.get(&value) {
        return Arc::clone(known);
    }
    let value = Arc::new(value);
    all.insert(Arc::clone(&value));
    value
}

/// Keeps the pods of one place up to date. After an error all are listed again: a watch without events would not show
/// that it works again.
async fn follow(pods: Api<Pod>, place: &PodsKey, kept: &NamespacePods) {
    let (cluster, namespace) = place;
    let mut failures: u32 = 0;
    let mut current: Option<Instant> = None;
    loop {
        let events = watcher(pods.clone(), watcher::Config::default().page_size(PAGE));
        pin_mut!(events);
        // What is listed counts only while changes are brought, too: a watch that failed before is given a moment.
        let mut listed: Option<Instant> = None;
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                () = sleep_until(listed.unwrap_or_else(clock::steady)), if listed.is_some() => {
                    if failures > 0 {
                        info!(%cluster, %namespace, "the pods of the cluster are watched again");
                    }
                    current = listed.take();
                    kept.state.send_replace(PodWatchState::Current);
                    continue;
                }
            };
            match event {
                Some(Ok(event)) => {
                    if kept.seen().take(event) {
                        let moment = if failures > 1 { MOMENT } else { Duration::ZERO };
                        listed = Some(clock::steady() + moment);
                    }
                }
                Some(Err(error)) => {
                    let error = error.to_string();
                    let why = excerpt(&error, ERROR_LENGTH);
                    // Otherwise a watch that fails after each list would list without a pause.
                    if current.take().is_some_and(|since| since.elapsed() > GRACE) {
                        failures = 0;
                    }
                    if failures == 0 {
                        warn!(%cluster, %namespace, error = why, "the pods of the cluster cannot be watched; trying again");
                    }
                    failures = failures.saturating_add(1);
                    kept.state.send_modify(|state| state.fail(why));
                    break;
                }
                None => break,
            }
        }
        sleep(backoff::wait(ErrorClass::Transient, failures, place, None)).await;
    }
}

impl PodWatchState {
    fn fail(&mut self, why: &str) {
        *self = match self {
            Self::Current => Self::Broken(clock::steady(), why.to_owned()),
            Self::Broken(since, _) => Self::Broken(*since, why.to_owned()),
            Self::Listing | Self::Unlisted(_) => Self::Unlisted(why.to_owned()),
        };
    }
}

/// Returns when nothing asked for the pods for a while; they are no longer found then.
async fn unused(places: &Mutex<BTreeMap<PodsKey, Arc<NamespacePods>>>, place: &PodsKey, kept: &NamespacePods) {
    loop {
        let end = *kept.used.lock() + IDLE;
        sleep_until(end).await;
        let mut places = places.lock();
        if kept.used.lock().elapsed() >= IDLE {
            places.remove(place);
            return;
        }
    }
}

/// A client of a member, through the cluster proxy.
fn through_proxy(client: &Client, cluster: &str) -> Client {
    let prefix = proxied(cluster, "");
    let client = client.clone();
    let service = tower::service_fn(move |mut request: http::Request<Body>| {
        let client = client.clone();
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let uri = http::Uri::try_from(format!("{prefix}{path}"));
        async move {
            *request.uri_mut() = uri.map_err(|error| kube::Error::HttpError(error.into()))?;
            client.send(request).await
        }
    });
    Client::new(service, "default")
}
