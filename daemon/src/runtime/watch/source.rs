//! The watches on karmada-apiserver: which objects of which kinds. Talks to the API server.

use std::sync::Arc;

use futures::future::{BoxFuture, join_all};
use kube::runtime::watcher;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::definitions::Listing;
use super::kind_watch::{Scope, watch_by};
use super::readers::{Intakes, Readers};
use crate::runtime::lifecycle::{Condition, Readiness};
use crate::runtime::metrics::Metrics;

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
        let required = |unmet: &'static str| move || readiness.condition(unmet);
        let optional = || Readiness::default().condition("");
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
        watches.add("ResourceBinding", resource_bindings, required("ResourceBindings are not listed yet"), all());
        watches.add("Cluster", clusters, required("Clusters are not listed yet"), whole());
        let ours = Scope { config: all().config.labels(&format!("{MANAGED_BY}={OURS}")), ..all() };
        watches.add("Work", works, required("Works are not listed yet"), ours);
        // Until customizations are listed, no kind is known to be unsupported, so nothing is rejected: readiness does
        // not need them.
        watches.add("ResourceInterpreterCustomization", customizations, optional, whole());
        let about = Scope { config: pages(PAGE).fields("regarding.kind=FederatedHPA"), ..all() };
        watches.add("Event", events, required("Events are not listed yet"), about);
        // Until these are listed they are no conflict: readiness does not need them.
        watches.add("HorizontalPodAutoscaler", plain_hpas, optional, all());
        watches.add("ScaledObject", scaled_objects, optional, all());
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

    /// A kind that is watched only where it has handlers.
    fn add<K>(&mut self, kind: &'static str, intakes: Intakes<K>, listed: impl FnOnce() -> Condition, scope: Scope)
    where
        K: Resource<DynamicType = ()> + DeserializeOwned + 'static,
    {
        if !intakes.is_empty() {
            self.add_by(Listing::Free, kind, intakes, listed(), scope);
        }
    }

    /// Sends all objects and their changes to the handlers, without end.
    pub async fn run(self, client: Client, metrics: Arc<Metrics>) {
        join_all(self.0.into_iter().map(|watch| watch(client.clone(), Arc::clone(&metrics)))).await;
    }
}

/// Lists of so many objects in a page.
fn pages(objects: u32) -> watcher::Config {
    watcher::Config::default().page_size(objects)
}

/// Objects in one page of a list. Each page is decoded as a whole; the memory of a large one is seldom returned.
const PAGE: u32 = 100;
