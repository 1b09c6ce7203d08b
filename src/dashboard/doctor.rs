//! The findings of `fhpa doctor`, run when the user asks and kept with their age. Talks to the API server by
//! `install::doctor`.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use parking_lot::RwLock;
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use crate::estimator::grpc::Address;
use crate::install::doctor::{Context, Estimators, Finding, examine};

/// Longest run of all checks.
const PATIENCE: Duration = Duration::from_mins(1);

/// What is looked at besides the control plane.
#[derive(Clone, Debug)]
pub struct Probes {
    /// Namespace and name of the Lease.
    pub lease: (String, String),
    /// Where the estimator of a cluster is, as `HOST:PORT`.
    pub estimators: Address,
}

/// The last result.
#[derive(Clone, Debug)]
pub(super) struct Examined {
    /// When the checks ended.
    pub(super) at: Timestamp,
    /// What was found; `None`: they took too long.
    pub(super) findings: Option<Vec<Finding>>,
}

/// The checks of one control plane.
pub(super) struct Checks {
    probes: Probes,
    last: RwLock<Option<Arc<Examined>>>,
    /// Held while the checks run.
    running: Mutex<()>,
}

impl Checks {
    pub(super) fn new(probes: Probes) -> Self {
        Self { probes, last: RwLock::default(), running: Mutex::default() }
    }

    /// The last result; `None`: they did not run yet.
    pub(super) fn last(&self) -> Option<Arc<Examined>> {
        self.last.read().clone()
    }

    /// Runs the checks; while they run already, waits for these.
    pub(super) async fn run(&self, client: &Client, now: impl Fn() -> Timestamp) {
        let before = self.last().map(|last| last.at);
        let _running = self.running.lock().await;
        if self.last().map(|last| last.at) != before {
            return;
        }
        let estimators = Estimators { address: self.probes.estimators.clone() };
        let context = Context { client: client.clone(), now: now(), lease: self.probes.lease.clone(), estimators };
        let handle = Handle::current();
        let checks = move || handle.block_on(async { tokio::time::timeout(PATIENCE, examine(&context)).await.ok() });
        let findings = tokio::task::spawn_blocking(checks).await.ok().flatten();
        *self.last.write() = Some(Arc::new(Examined { at: now(), findings }));
    }
}
