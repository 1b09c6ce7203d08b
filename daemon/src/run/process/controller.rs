//! The controller's part of a process: competes for the Lease, acts while it holds it, and releases it.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio::time::timeout;
use tracing::warn;

use super::guard::GuardTask;
use super::options::{ControllerOptions, Error};
use super::tasks::{Done, Tasks};
use crate::admission::review::{self, Preview};
use crate::controller::query_cache::Times;
use crate::decision::validation::Settings;
use crate::estimator::grpc::Grpc;
use crate::reconcile::federated_hpa::observe::capacity::{Estimators, Rooms};
use crate::reconcile::{self, Controller, Idle};
use crate::run::forecast::Forecaster;
use crate::runtime::clock;
use crate::runtime::leader::{Candidate, Leader, Presence, compete_seen};
use crate::runtime::metrics::{ControllerMetrics, Metrics};
use crate::runtime::tls::shared::Latest;
use crate::runtime::watch::Readers;
use crate::runtime::zones::ZoneDatabase;

/// A controller before it acts.
pub(super) struct UnstartedController {
    leases: Api<Lease>,
    candidate: Candidate,
    presence: Arc<Presence>,
    /// Whether the flag freezes this process.
    frozen: bool,
    controller: Idle,
    metrics: Arc<ControllerMetrics>,
    guard: Option<GuardTask>,
    preview: Arc<Forecaster>,
}

impl UnstartedController {
    /// Builds it; `readers` will deliver its objects.
    pub(super) fn new(
        options: ControllerOptions,
        client: &Client,
        shared: Option<&Latest>,
        zones: Arc<ZoneDatabase>,
        settings: Settings,
        metrics: &Metrics,
        readers: &mut Readers,
    ) -> Result<Self, Error> {
        let ControllerOptions {
            namespace,
            lease,
            identity,
            timings,
            concurrency,
            rebalance_period,
            object_metrics,
            failover,
            centralized,
            estimators,
            guard,
            freeze,
        } = options;
        metrics.controller().objects.limit(object_metrics);
        let guard = guard.map(|guard| GuardTask::new(guard, client, shared, &identity, metrics)).transpose()?;
        let default_mode = settings.default_mode;
        let frozen = freeze.is_some();
        let options = reconcile::Options {
            client: client.clone(),
            zones,
            settings,
            clock: Arc::new(clock::wall),
            metrics: metrics.controller(),
            identity: identity.clone(),
            concurrency,
            rebalance_period: rebalance_period.and_then(|period| period.try_into().ok()),
            failover,
            centralized,
            freeze,
        };
        let estimators = estimators.map(|settings| Estimators::new(Box::new(Grpc::new(settings)), Times::default()));
        let controller = Controller::with_capacity(options, Arc::new(Rooms::new(estimators)));
        Ok(Self {
            preview: Arc::new(Forecaster { live: controller.live(), default_mode }),
            leases: Api::namespaced(client.clone(), &namespace),
            candidate: Candidate { lease, identity, timings },
            presence: Arc::default(),
            frozen,
            controller: controller.read_by(readers),
            metrics: metrics.controller(),
            guard,
        })
    }

    /// The preview for dry runs.
    pub(super) fn preview(&self) -> Arc<dyn Preview> {
        Arc::clone(&self.preview) as Arc<dyn Preview>
    }

    /// Whether no controller acts, for the reviews. While processes are restarted with or without the flag, some know
    /// it before the Lease tells.
    pub(super) fn idle(&self) -> review::Idle {
        let (presence, frozen) = (Arc::clone(&self.presence), self.frozen);
        Arc::new(move || frozen || !presence.acts())
    }

    /// Competes from now on, and acts while it leads.
    pub(super) fn start(self, tasks: &mut Tasks) -> RunningController {
        let (stop_controller, controller_stopped) = watch::channel(false);
        let (stop_leader, leader_stopped) = watch::channel(false);
        let (sender, leadership) = watch::channel(None);
        let release = self.candidate.timings.retry;
        tasks.spawn("the count of leaders", count(leadership.clone(), self.metrics));
        let (controller, guard) = (self.controller, self.guard);
        let works = async move {
            let guards = async {
                if let Some(guard) = guard {
                    guard.run(leadership.clone(), controller_stopped.clone()).await;
                }
            };
            tokio::join!(controller.run(leadership.clone(), controller_stopped.clone()), guards);
        };
        let controller = tasks.spawn("the controller", works);
        let election = compete_seen(self.leases, self.candidate, sender, self.presence, leader_stopped);
        let leader = tasks.spawn("the leader election", election);
        RunningController { stop_controller, controller, stop_leader, leader, release }
    }
}

/// A running controller.
pub(super) struct RunningController {
    stop_controller: watch::Sender<bool>,
    controller: Done,
    stop_leader: watch::Sender<bool>,
    leader: Done,
    release: Duration,
}

impl RunningController {
    /// Starts no further reconciles; those in progress finish within `patience`. Only then the Lease is released: the
    /// next leader must not overlap with them.
    pub(super) async fn stop(self, patience: Duration) {
        self.stop_controller.send_replace(true);
        if self.controller.within(patience).await {
            warn!(seconds = patience.as_secs_f64(), "dropping reconciles in progress");
        }
        self.stop_leader.send_replace(true);
        // The election limits its last write itself.
        let _ = timeout(self.release.saturating_mul(2), self.leader.wait()).await;
    }
}

/// Updates the metric when this process begins and stops to lead.
async fn count(mut leadership: watch::Receiver<Option<Leader>>, metrics: Arc<ControllerMetrics>) {
    loop {
        let leads = leadership.borrow_and_update().is_some();
        metrics.leads(leads);
        if leadership.changed().await.is_err() {
            metrics.leads(false);
            std::future::pending::<()>().await;
        }
    }
}
