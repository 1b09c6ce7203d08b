//! An API server in memory: the verbs, responses and watches of Kubernetes, over HTTP on the loopback interface or as a
//! service in the process. For evaluation and tests only.

// Dependencies of tests only are not checked.
#![cfg_attr(not(test), warn(unused_crate_dependencies))]

pub mod admission;
pub mod age;
pub mod answer;
mod builder;
mod builtins;
pub mod discovery;
pub mod faults;
pub mod field;
pub mod fields;
pub mod handlers;
pub mod identity;
pub mod jsonpath;
pub mod kinds;
pub mod object;
pub mod openapi;
pub mod printers;
pub mod reply;
pub mod request;
pub mod resources;
pub mod schema;
pub mod selectors;
pub mod serve;
pub mod status;
pub mod store;
pub mod strategic;
pub mod table;
pub mod wire;

pub use builder::Builder;

use std::{collections::BTreeMap, fmt, sync::Arc};

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures::future::BoxFuture;
use jiff::Timestamp;
use parking_lot::RwLock;
use serde_json::Value;

use self::{
    admission::Chain,
    faults::Faults,
    handlers::Call,
    identity::Identity,
    kinds::conversion::{from_storage, is_stored_form},
    object::Object,
    resources::{Catalog, Resource, from_definition},
    status::StatusError,
    store::{Backup, Key, Query, Store},
};

/// Returns the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// An admission plugin: reviews writes within the process, and may change the object.
pub type Plugin =
    Arc<dyn Fn(&ApiServer, &admission::AdmissionRequest, &mut Value) -> Result<(), StatusError> + Send + Sync>;

/// Finds the server of `clusters/<name>/proxy`.
pub type Proxy = Arc<dyn Fn(&str) -> BoxFuture<'static, Option<ApiServer>> + Send + Sync>;

/// Answers GET requests for the paths of an API group that another server serves, as an aggregated API server does.
pub type Aggregated = Arc<dyn Fn(&str) -> BoxFuture<'static, Result<Value, StatusError>> + Send + Sync>;

struct ServerState {
    store: Store,
    catalog: ArcSwap<Catalog>,
    definitions: RwLock<()>,
    clock: Clock,
    identity: Identity,
    faults: Faults,
    garbage: bool,
    proxies: RwLock<BTreeMap<String, Proxy>>,
    aggregated: RwLock<BTreeMap<String, Aggregated>>,
    plugins: ArcSwap<Vec<(String, Plugin)>>,
    chain: Chain,
    kubernetes: ArcSwap<String>,
}

/// The server; clones are handles of the same one.
#[derive(Clone)]
pub struct ApiServer {
    state: Arc<ServerState>,
}

impl fmt::Debug for ApiServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiServer").field("version", &self.store().version()).finish_non_exhaustive()
    }
}

impl ApiServer {
    /// Options of a new server; the default clock is the machine's.
    pub fn builder() -> Builder {
        Builder::new()
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        &self.state.store
    }

    /// All current objects.
    pub fn backup(&self) -> Backup {
        self.store().backup()
    }

    /// Restores `backup`, and ends all watches, like a restart of the server. With `bump` later versions are greater
    /// than all earlier ones, like a restore of etcd with `--bump-revision`; else they are used again. Kinds are
    /// unchanged.
    pub fn restore(&self, backup: &Backup, bump: bool) {
        self.store().restore(backup, bump);
        self.faults().drop_watches();
    }

    /// The kinds that are currently served.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.state.catalog.load_full()
    }

    /// Recorded requests, and faults to inject.
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// A client of this server, without a socket.
    pub fn client(&self) -> kube::Client {
        kube::Client::new(serve::Service::new(self.clone()), "default")
    }

    /// Routes `<resource>/<name>/proxy/...` to other servers.
    pub fn route_proxy(&self, qualified: &str, proxy: Proxy) {
        self.state.proxies.write().insert(qualified.to_owned(), proxy);
    }

    /// Lets `api` answer GET requests for the group `name`; it receives their path.
    pub fn aggregate(&self, name: &str, api: Aggregated) {
        self.state.aggregated.write().insert(name.to_owned(), api);
    }

    fn aggregated(&self, group: &str) -> Option<Aggregated> {
        self.state.aggregated.read().get(group).cloned()
    }

    /// Calls `plugin` for every creation and update of the kinds named `plural` from now on, after the mutating webhooks.
    pub fn admit_by(&self, plural: &str, plugin: &Plugin) {
        let new = (plural.to_owned(), Arc::clone(plugin));
        self.state.plugins.rcu(|plugins| plugins.iter().chain([&new]).cloned().collect::<Vec<_>>());
    }

    /// The emulated version of Kubernetes.
    pub fn kubernetes(&self) -> Arc<String> {
        self.state.kubernetes.load_full()
    }

    /// Changes the emulated version of Kubernetes, for HPAs: below 1.23 there is no `autoscaling/v2`, from 1.37 on
    /// `minReplicas` may be 0.
    pub fn become_kubernetes(&self, version: &str) {
        self.state.kubernetes.store(Arc::new(version.to_owned()));
        let _one_at_a_time = self.state.definitions.write();
        let mut catalog = Catalog::clone(&self.catalog());
        catalog.serve_autoscalers(kinds::serves_autoscaling_v2(version));
        self.state.catalog.store(Arc::new(catalog));
    }

    /// Answers calls to the webhooks at `base`, `https://HOST:PORT`, without a socket.
    pub fn answer_webhooks(&self, base: &str, inside: &admission::Inside) {
        self.chain().answer_inside(base, inside);
    }

    fn proxy(&self, qualified: &str) -> Option<Proxy> {
        self.state.proxies.read().get(qualified).cloned()
    }

    /// The time in the format of metadata: whole seconds, UTC.
    pub fn now(&self) -> String {
        (self.state.clock)().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The time this many seconds from now, in the format of metadata.
    fn now_after(&self, seconds: i64) -> String {
        let time = (self.state.clock)();
        let later = time.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(time);
        later.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// The server's clock.
    pub fn clock(&self) -> Clock {
        self.state.clock.clone()
    }

    fn chain(&self) -> &Chain {
        &self.state.chain
    }

    fn plugins(&self) -> Arc<Vec<(String, Plugin)>> {
        self.state.plugins.load_full()
    }

    fn identity(&self) -> &Identity {
        &self.state.identity
    }

    fn collects_garbage(&self) -> bool {
        self.state.garbage
    }

    /// Creates an object like a request, without a client.
    ///
    /// # Errors
    /// Those of the request.
    pub async fn create(&self, object: &Value) -> Result<Value, StatusError> {
        let (api_version, kind) = (object::text_at(object, &["apiVersion"]), object::text_at(object, &["kind"]));
        let resource =
            self.catalog().find_kind(api_version, kind).cloned().ok_or_else(StatusError::no_such_resource)?;
        let version = api_version.rsplit('/').next().unwrap_or_default();
        let call = Call::inside(self, &resource, version, object)?;
        let reply = handlers::create::create(&call).await?;
        Ok(reply.into_value())
    }

    /// All objects of a kind in `namespace`, or everywhere when it is empty, without a request and without
    /// `managedFields`; empty for a kind that is not served.
    pub fn stored(&self, api_version: &str, plural: &str, namespace: &str) -> Vec<Arc<Value>> {
        let Some((resource, version)) = self.served(api_version, plural) else { return Vec::new() };
        let namespace = Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty());
        let page = self.store().list(&resource.bucket, &Query { namespace, ..Query::default() });
        let items = page.map(|page| page.items).unwrap_or_default();
        items.iter().map(|item| unmanaged(&resource, version, item)).collect()
    }

    /// One object, without a request and without `managedFields`.
    pub fn stored_object(&self, api_version: &str, plural: &str, namespace: &str, name: &str) -> Option<Arc<Value>> {
        let (resource, version) = self.served(api_version, plural)?;
        let object = self.store().get(&Key::new(&resource.bucket, namespace, name))?;
        Some(unmanaged(&resource, version, &object))
    }

    fn served<'a>(&self, api_version: &'a str, plural: &str) -> Option<(Arc<Resource>, &'a str)> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = self.catalog().find(group, plural)?.clone();
        resource.version(version)?;
        Some((resource, version))
    }

    /// Serves the kind of a CustomResourceDefinition from now on. When it was served by another one, its watches end,
    /// and cannot continue from an earlier version.
    fn serve_definition(&self, definition: &Value) -> Result<(), String> {
        let mut resource = from_definition(definition)?;
        self.store().found(&resource.bucket);
        let _one_at_a_time = self.state.definitions.write();
        let mut catalog = Catalog::clone(&self.catalog());
        let before = catalog.find(&resource.group, &resource.plural);
        let bucket = Arc::clone(&resource.bucket);
        let changed = before.is_some_and(|before| before.defined != resource.defined);
        if changed {
            resource.since = self.store().version();
        } else if let Some(before) = before {
            resource.since = before.since;
        }
        catalog.add(resource);
        self.state.catalog.store(Arc::new(catalog));
        if changed {
            self.store().forget(&bucket);
        }
        Ok(())
    }

    /// Stops serving the kind of a CustomResourceDefinition.
    fn drop_definition(&self, definition: &Value) {
        let group = object::text_at(definition, &["spec", "group"]);
        let plural = object::text_at(definition, &["spec", "names", "plural"]);
        let _one_at_a_time = self.state.definitions.write();
        let mut catalog = Catalog::clone(&self.catalog());
        let bucket = catalog.find(group, plural).map(|resource| resource.bucket.clone());
        catalog.remove(group, plural);
        self.state.catalog.store(Arc::new(catalog));
        if let Some(bucket) = bucket {
            self.store().wake(&bucket);
        }
    }
}

/// An object of the store in a version, without `managedFields`.
fn unmanaged(resource: &Resource, version: &str, object: &Object) -> Arc<Value> {
    let stored = object.unmanaged();
    if is_stored_form(resource, version) {
        return stored;
    }
    Arc::new(from_storage(resource, version, Arc::unwrap_or_clone(stored)))
}

/// Most bytes of a request body.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// A request with its body read.
#[derive(Debug)]
pub struct Incoming {
    /// Method, URI and headers.
    pub head: http::request::Parts,
    /// Body.
    pub body: Bytes,
}
