//! Builds a server from its options.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use parking_lot::RwLock;
use serde_json::json;

use super::{
    ApiServer, Clock, ServerState,
    admission::Chain,
    faults::Faults,
    identity::Identity,
    resources::Catalog,
    store::{Expected, Key, Raced, Store},
};

/// Changes that each resource keeps for watches and continue tokens. Each holds one old state; the newest are shared
/// with the objects themselves.
const KEPT_CHANGES: usize = 1_000;

/// Namespaces that exist from the start.
const NAMESPACES: &[&str] = &["default", "kube-node-lease", "kube-public", "kube-system"];

/// The default version of Kubernetes.
const VERSION: &str = "v1.33.0+embedded";

/// Options of a server.
pub struct Builder {
    clock: Clock,
    seed: Option<u64>,
    kept_changes: usize,
    garbage: bool,
}

impl Builder {
    /// The defaults.
    pub(super) fn new() -> Self {
        Self { clock: Arc::new(now), seed: None, kept_changes: KEPT_CHANGES, garbage: true }
    }

    /// Sets the clock of the server.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes uids and generated names the same in each run.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets how many changes each resource keeps.
    #[must_use]
    pub fn kept_changes(mut self, count: usize) -> Self {
        self.kept_changes = count;
        self
    }

    /// Whether deleting owners and namespaces deletes their dependents. A bare kube-apiserver does not.
    #[must_use]
    pub fn garbage_collection(mut self, on: bool) -> Self {
        self.garbage = on;
        self
    }

    /// The server, with its first namespaces.
    pub fn build(self) -> ApiServer {
        let reviews = Identity::new(self.seed.map(|seed| seed.wrapping_add(1)));
        let chain = Chain::new(move || reviews.uid());
        let state = ServerState {
            store: Store::new(self.kept_changes),
            catalog: ArcSwap::from_pointee(Catalog::builtin()),
            definitions: RwLock::default(),
            clock: self.clock,
            identity: Identity::new(self.seed),
            faults: Faults::default(),
            garbage: self.garbage,
            proxies: RwLock::default(),
            aggregated: RwLock::default(),
            plugins: ArcSwap::default(),
            chain,
            kubernetes: ArcSwap::from_pointee(VERSION.to_owned()),
        };
        let server = ApiServer { state: Arc::new(state) };
        for name in NAMESPACES {
            found_namespace(&server, name);
        }
        server
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("seed", &self.seed)
            .field("kept_changes", &self.kept_changes)
            .finish_non_exhaustive()
    }
}

fn found_namespace(server: &ApiServer, name: &str) {
    let value = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": name, "uid": server.identity().uid(), "creationTimestamp": server.now(),
            "labels": {"kubernetes.io/metadata.name": name}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}});
    // A new store has no such namespace, so there is no conflict.
    let _: Result<_, Raced> = server.store().put(&Key::new(&"namespaces".into(), "", name), Expected::Absent, value);
}

/// The machine's time, by default.
#[allow(clippy::disallowed_methods)]
fn now() -> Timestamp {
    Timestamp::now()
}
