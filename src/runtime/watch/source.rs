//! Watches on karmada-apiserver -> the index. Talks to the API server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, join_all};
use futures::{StreamExt as _, pin_mut};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ApiResource, DynamicObject, ObjectMeta};
use kube::runtime::watcher;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tracing::{info, warn};

use super::definitions::{Definitions, Listing};
use super::index::{Index, Key};
use super::indexing::Indexing;
use super::kinds::KindReader;
use super::retries::{Pause, Retries};
use super::scalers::{ScalerReader, Scalers};
use crate::api::scaler::{PlainHPA, ScaledObject};
use crate::api::{Cluster, CronFederatedHPA, FederatedHPA, ResourceBinding, ResourceInterpreterCustomization, Work};
use crate::convert;
use crate::decision::defaults::Mode;
use crate::decision::excerpt::{ERROR, excerpt};
use crate::decision::related_objects::{ScalerKind, Target};
use crate::runtime::lifecycle::{Condition, Readiness};
use crate::runtime::metrics::Metrics;

/// Handles the events of a watch on one kind. A list replaces all previous objects.
pub trait EventHandler<K>: Send {
    /// A list begins.
    fn begin(&mut self);
    /// An object of the list.
    fn listed(&mut self, object: &K);
    /// The list is complete.
    fn end(&mut self);
    /// An object was created or changed.
    fn put(&mut self, object: &K);
    /// The object of that namespace and name is gone, or can no longer be decoded.
    fn take(&mut self, namespace: &str, name: &str);
    /// All objects of the kind were read through a foreign CRD: they no longer count, and a list follows.
    fn forget(&mut self) {}
    /// An object, of a list or changed, cannot be decoded.
    fn undecodable(&mut self, _namespace: &str, _name: &str, _error: &str) {}
    /// The list or the watch failed; it is tried again.
    fn failed(&mut self, _error: &watcher::Error) {}
}

/// Handlers of the objects of one kind.
pub type Intakes<K> = Vec<Box<dyn EventHandler<K>>>;

/// Handlers by kind.
#[derive(Default)]
pub struct Readers {
    /// Handlers of FederatedHPAs.
    pub federated_hpas: Intakes<FederatedHPA>,
    /// Handlers of CronFederatedHPAs.
    pub cron_federated_hpas: Intakes<CronFederatedHPA>,
    /// Handlers of ResourceBindings.
    pub resource_bindings: Intakes<ResourceBinding>,
    /// Handlers of member clusters.
    pub clusters: Intakes<Cluster>,
    /// Handlers of Works that fhpa created.
    pub works: Intakes<Work>,
    /// Observer of the CRDs of FederatedHPAs and CronFederatedHPAs; `None`: they are not observed.
    pub definitions: Option<Arc<Definitions>>,
    /// Handlers of customizations of Karmada's interpreter.
    pub customizations: Intakes<ResourceInterpreterCustomization>,
    /// Handlers of Events about FederatedHPAs.
    pub events: Intakes<Event>,
    /// The one namespace whose objects are watched; `None`: all of them. Clusters have none.
    pub namespace: Option<String>,
    /// FederatedHPAs, CronFederatedHPAs and ResourceBindings in one page of a list; `None`: as many as suit small ones.
    pub page: Option<u32>,
    /// Handlers of HPAs in karmada-apiserver.
    pub plain_hpas: Intakes<PlainHPA>,
    /// Handlers of KEDA's ScaledObjects in karmada-apiserver.
    pub scaled_objects: Intakes<ScaledObject>,
}

impl Readers {
    /// Also fills `index`. `stored_mode` is the mode of objects that are stored without one.
    #[must_use]
    pub fn with_index(mut self, index: &Arc<Index>, stored_mode: Option<Mode>) -> Self {
        let known = move |hpa: &FederatedHPA| convert::known_federated_hpa(hpa, stored_mode);
        self.federated_hpas.push(Box::new(Indexing::new(Arc::clone(index), |index| &index.federated_hpas, known)));
        let known = convert::known_cron_federated_hpa;
        self.cron_federated_hpas.push(Box::new(Indexing::new(
            Arc::clone(index),
            |index| &index.cron_federated_hpas,
            known,
        )));
        self.customizations.push(Box::new(KindReader::new(Arc::clone(&index.kinds), || {})));
        self.read_scalers(&index.scalers, |_| {});
        self
    }

    /// Fills `scalers`, and calls `tell` with the targets whose autoscalers changed.
    pub fn read_scalers(&mut self, scalers: &Arc<Scalers>, tell: impl Fn(&[Target]) + Clone + Send + 'static) {
        let reader = |kind| ScalerReader::new(scalers, kind, tell.clone());
        self.plain_hpas.push(Box::new(reader(ScalerKind::HorizontalPodAutoscaler)));
        self.scaled_objects.push(Box::new(reader(ScalerKind::ScaledObject)));
    }
}

/// Label of the Works that are watched; [`OURS`] is its value.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Value of [`MANAGED_BY`].
pub const OURS: &str = "fhpa";

/// A watch before it runs.
type Pending = Box<dyn FnOnce(Client, Arc<Metrics>) -> BoxFuture<'static, ()> + Send>;

/// Watches on all kinds with handlers.
pub struct Watches(Vec<Pending>);

impl Watches {
    /// Watches for `readers`; each kind is a condition of `readiness`, met when it was listed once.
    #[must_use]
    pub fn new(readers: Readers, readiness: &Readiness) -> Self {
        let Readers {
            federated_hpas,
            cron_federated_hpas,
            resource_bindings,
            clusters,
            works,
            customizations,
            definitions,
            events,
            namespace,
            page,
            plain_hpas,
            scaled_objects,
        } = readers;
        let all = || Scope { namespace: namespace.clone(), config: pages(page.unwrap_or(PAGE)) };
        // Kinds without namespaces.
        let whole = || Scope { namespace: None, config: pages(PAGE) };
        let mut watches = Self(Vec::new());
        let [one, other] =
            [0, 1].map(|kind| definitions.clone().map_or(Listing::Free, |definitions| Listing::By(definitions, kind)));
        let listed = readiness.condition("FederatedHPAs are not listed yet");
        watches.add_by(one, "FederatedHPA", federated_hpas, listed, all());
        let listed = readiness.condition("CronFederatedHPAs are not listed yet");
        watches.add_by(other, "CronFederatedHPA", cron_federated_hpas, listed, all());
        if let Some(definitions) = definitions {
            watches.0.push(Box::new(move |client, metrics| {
                Box::pin(async move { definitions.watch(&client, &metrics).await })
            }));
        }
        if !resource_bindings.is_empty() {
            let listed = readiness.condition("ResourceBindings are not listed yet");
            watches.add("ResourceBinding", resource_bindings, listed, all());
        }
        if !clusters.is_empty() {
            let listed = readiness.condition("Clusters are not listed yet");
            watches.add("Cluster", clusters, listed, whole());
        }
        if !works.is_empty() {
            let ours = all().config.labels(&format!("{MANAGED_BY}={OURS}"));
            let scope = Scope { config: ours, ..all() };
            watches.add("Work", works, readiness.condition("Works are not listed yet"), scope);
        }
        if !customizations.is_empty() {
            // Until customizations are listed, no kind is known to be unsupported, so nothing is rejected: readiness
            // does not need them.
            let listed = Readiness::default().condition("ResourceInterpreterCustomizations are not listed yet");
            watches.add("ResourceInterpreterCustomization", customizations, listed, whole());
        }
        if !events.is_empty() {
            let about = pages(PAGE).fields("regarding.kind=FederatedHPA");
            let scope = Scope { config: about, ..all() };
            watches.add("Event", events, readiness.condition("Events are not listed yet"), scope);
        }
        // Until these are listed they are no conflict: readiness does not need them.
        if !plain_hpas.is_empty() {
            watches.add("HorizontalPodAutoscaler", plain_hpas, Readiness::default().condition(""), all());
        }
        if !scaled_objects.is_empty() {
            watches.add("ScaledObject", scaled_objects, Readiness::default().condition(""), all());
        }
        watches
    }

    /// A kind of fhpa, whose CRD may be foreign.
    fn add_by<K>(&mut self, listing: Listing, kind: &'static str, intakes: Intakes<K>, listed: Condition, scope: Scope)
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + 'static,
    {
        self.0.push(Box::new(move |client, metrics| {
            Box::pin(async move { watch_by(&listing, &client, kind, scope, intakes, listed, &metrics).await })
        }));
    }

    fn add<K>(&mut self, kind: &'static str, intakes: Intakes<K>, listed: Condition, scope: Scope)
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + 'static,
    {
        self.add_by(Listing::Free, kind, intakes, listed, scope);
    }

    /// Sends all objects and their changes to the handlers, without end.
    pub async fn run(self, client: Client, metrics: Arc<Metrics>) {
        join_all(self.0.into_iter().map(|watch| watch(client.clone(), Arc::clone(&metrics)))).await;
    }
}

/// Which objects of a kind are watched.
#[derive(Clone, Debug)]
struct Scope {
    namespace: Option<String>,
    config: watcher::Config,
}

impl Scope {
    fn objects(&self, client: &Client, resource: &ApiResource) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
            None => Api::all_with(client.clone(), resource),
        }
    }
}

/// Lists of so many objects in a page.
fn pages(objects: u32) -> watcher::Config {
    watcher::Config::default().page_size(objects)
}

/// Objects in one page of a list. Each page is decoded as a whole; the memory of a large one is seldom returned.
const PAGE: u32 = 100;

/// The kind that a control plane need not serve.
const OPTIONAL: &str = "ScaledObject";
/// A kind that is not served is looked for again after this time.
const ABSENT: Duration = Duration::from_mins(10);

/// Watches one kind, and lists it again whenever fhpa's CRD is served again.
async fn watch_by<K>(
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
    loop {
        let term = listing.begin().await;
        tell(&mut intakes, |intake| intake.forget());
        let list = Listed { listing, term, condition: &listed };
        tokio::select! {
            () = watch(client, kind, scope.clone(), &mut intakes, list, metrics) => {}
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

/// Watches one kind.
async fn watch<K>(
    client: &Client,
    kind: &'static str,
    scope: Scope,
    intakes: &mut Intakes<K>,
    listed: Listed<'_>,
    metrics: &Metrics,
) where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    let resource = ApiResource::erase::<K>(&());
    // Untyped, so that one object that cannot be decoded does not hide all others.
    let events = watcher(scope.objects(client, &resource), scope.config);
    pin_mut!(events);
    let mut known = BTreeSet::new();
    let mut retries = Retries::new(kind);
    while let Some(event) = events.next().await {
        // `Init` only means that a list was requested, and `InitApply` that a page of it came.
        if !matches!(event, Ok(watcher::Event::Init | watcher::Event::InitApply(_)) | Err(_)) && retries.succeeded() {
            info!(kind, "watch recovered");
            metrics.watch_fails(kind, false);
        }
        match event {
            Ok(watcher::Event::Init) => {
                known.clear();
                tell(intakes, |intake| intake.begin());
            }
            Ok(watcher::Event::InitApply(object)) => {
                let (namespace, name) = key(&object.metadata);
                match decoded::<K>(object, kind, &mut known) {
                    Ok(object) => tell(intakes, |intake| intake.listed(&object)),
                    Err(error) => tell(intakes, |intake| intake.undecodable(&namespace, &name, &error)),
                }
            }
            Ok(watcher::Event::InitDone) => {
                tell(intakes, |intake| intake.end());
                listed.listing.listed(listed.term);
                listed.condition.met();
            }
            Ok(watcher::Event::Apply(object)) => {
                let (namespace, name) = key(&object.metadata);
                match decoded::<K>(object, kind, &mut known) {
                    Ok(object) => tell(intakes, |intake| intake.put(&object)),
                    Err(error) => tell(intakes, |intake| {
                        intake.take(&namespace, &name);
                        intake.undecodable(&namespace, &name, &error);
                    }),
                }
            }
            Ok(watcher::Event::Delete(object)) => {
                let key = key(&object.metadata);
                known.remove(&key);
                tell(intakes, |intake| intake.take(&key.0, &key.1));
            }
            Err(error) if kind == OPTIONAL && is_missing(&error) => {
                tell(intakes, |intake| intake.begin());
                tell(intakes, |intake| intake.end());
                tokio::time::sleep(ABSENT).await;
            }
            Err(error) => {
                tell(intakes, |intake| intake.failed(&error));
                let wait = failed(kind, &error, &mut retries, metrics);
                tokio::time::sleep(wait).await;
            }
        }
        metrics.known(kind, known.len());
    }
}

/// Reports that a watch failed. Returns how long to wait for the next attempt.
fn failed(kind: &'static str, error: &watcher::Error, retries: &mut Retries, metrics: &Metrics) -> Duration {
    metrics.watch_failed(kind);
    metrics.watch_fails(kind, true);
    let Pause { wait, say } = retries.failed(is_refusal(error));
    if let Some(failures) = say {
        let what = error.to_string();
        let what = excerpt(&what, ERROR);
        warn!(kind, error = what, failures, "the watch failed and is retried; {}", advice(kind, error));
    }
    wait
}

fn tell<K>(intakes: &mut Intakes<K>, what: impl Fn(&mut dyn EventHandler<K>)) {
    for intake in intakes {
        what(&mut **intake);
    }
}

/// The object; where it cannot be decoded the reason, which is logged.
fn decoded<K>(object: DynamicObject, kind: &'static str, known: &mut BTreeSet<Key>) -> Result<K, String>
where
    K: Resource + DeserializeOwned,
{
    let key = key(&object.metadata);
    match object.try_parse::<K>() {
        Ok(typed) => {
            known.insert(key);
            Ok(typed)
        }
        Err(error) => {
            warn!(kind, object = %format_args!("{}/{}", key.0, key.1), %error, "a stored object cannot be decoded");
            known.remove(&key);
            Err(excerpt(&error.to_string(), ERROR).to_owned())
        }
    }
}

fn key(metadata: &ObjectMeta) -> Key {
    (metadata.namespace.clone().unwrap_or_default(), metadata.name.clone().unwrap_or_default())
}

/// Whether trying again soon is in vain: until a role or a credential changes the answer stays the same.
fn is_refusal(error: &watcher::Error) -> bool {
    matches!(code(error), Some(401 | 403 | 404))
}

/// Whether the API server does not serve the kind.
fn is_missing(error: &watcher::Error) -> bool {
    code(error) == Some(404)
}

/// The status code of a response; `None` without one.
fn code(error: &watcher::Error) -> Option<u16> {
    use watcher::Error as E;
    match error {
        E::InitialListFailed(kube::Error::Api(status))
        | E::WatchStartFailed(kube::Error::Api(status))
        | E::WatchError(status) => Some(status.code),
        _ => None,
    }
}

/// Advice for a failing watch.
fn advice(kind: &str, error: &watcher::Error) -> &'static str {
    let Some(code) = code(error) else { return "is the API server of the kubeconfig up and reachable?" };
    match code {
        401 => "the credentials of the kubeconfig are not accepted",
        403 => "the user of the kubeconfig needs the verbs list and watch on this resource",
        404 if !kind.ends_with("HPA") => "is this the kubeconfig of Karmada's API server? It does not serve this kind",
        404 => "the CustomResourceDefinition is not installed: apply the output of `fhpa crds`",
        410 => "the API server has forgotten the last version seen; all objects are listed again",
        _ => "see the log of the API server",
    }
}
