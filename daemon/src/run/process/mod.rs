//! A complete process: bound -> running -> drained. `fhpa webhook`, `fhpa controller` and `fhpa run` use it, and so do
//! tests.

mod certificate;
mod controller;
mod guard;
mod options;
mod tasks;
mod webhook;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::watch as channel;
use tracing::{info, warn};

use self::controller::UnstartedController;
use self::tasks::Tasks;
use self::webhook::{BoundWebhook, Unbound};
use crate::admission::review::{Frozen, Idle, Preview, Reviewer};
use crate::admission::router::ReviewFn;
use crate::decision::related_objects::{NoRelatedObjects, RelatedObjects};
use crate::decision::validation::Settings;
use crate::run::forecast::Withheld;
use crate::run::review_metrics::ReviewMetrics;
use crate::runtime::admin;
use crate::runtime::control_plane::{self, Bounds};
use crate::runtime::lifecycle::{Lifecycle, Phase, Readiness};
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{self, Listener, Security};
use crate::runtime::tls;
use crate::runtime::watch::{Definitions, Index, Readers, Watches};
use crate::runtime::zones::ZoneDatabase;

pub use webhook::review_slots;

pub use options::{
    AdminPort, Centralized, Certificate, CertificateOrigin, ControlPlane, ControllerOptions, Drain, Ended, Error,
    Failover, GuardOptions, Options, Registration, SharedSecret, WebhookOptions,
};

/// Ends the process from another task.
#[derive(Clone, Debug)]
pub struct Handle(Arc<channel::Sender<u8>>);

impl Handle {
    /// The first call drains, the second aborts.
    pub fn shut_down(&self) {
        self.0.send_modify(|calls| *calls = calls.saturating_add(1));
    }

    async fn called(&self, times: u8) {
        // The sender lives in `self`.
        let _ = self.0.subscribe().wait_for(|calls| *calls >= times).await;
    }
}

/// A bound process before it serves.
pub struct Server {
    webhook: Option<BoundWebhook>,
    controller: Option<UnstartedController>,
    watches: Option<(Client, Watches)>,
    client_reloader: Option<control_plane::KubeconfigReloader>,
    admin: Option<Listener<Router>>,
    admin_local: Option<SocketAddr>,
    admin_lifecycle: Arc<Lifecycle>,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    drain: Drain,
    handle: Handle,
}

impl Server {
    /// Loads the certificate and binds the sockets; the rules answer reviews.
    ///
    /// # Errors
    /// There is no certificate or kubeconfig, or an address cannot be bound.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let names_others = options.webhook.as_ref().is_none_or(WebhookOptions::knows_clients);
        let settings = Settings { names_others, ..options.settings.clone() };
        Box::pin(Self::bind_with(options, judge(settings))).await
    }

    /// As [`Self::bind`], with another judge.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_with(
        options: Options,
        judge: impl FnOnce(ReviewDependencies) -> ReviewFn,
    ) -> Result<Self, Error> {
        let Options { webhook, controller, admin, control_plane, settings, drain } = options;
        let (metrics, reviews) = Metrics::with(ReviewMetrics::new);
        let (metrics, reviews) = (Arc::new(metrics), Arc::new(reviews));
        let readiness = Arc::new(Readiness::default());
        let (client, client_reloader) = client_of(control_plane, &metrics).await?;
        let is_known = webhook.as_ref().is_none_or(WebhookOptions::knows_clients);
        let unbound = match webhook {
            Some(options) => Some(Box::pin(Unbound::load(options, &metrics)).await?),
            None => None,
        };
        let zones = Arc::new(ZoneDatabase::open());
        let definitions = client.is_some().then(|| Arc::new(Definitions::new()));
        let mut readers = Readers { definitions, ..Readers::default() };
        let controller = match (controller, &client) {
            (None, _) => None,
            (Some(options), Some(client)) => {
                let shared = unbound.as_ref().and_then(Unbound::shared);
                let (zones, settings) = (Arc::clone(&zones), settings.clone());
                Some(UnstartedController::new(options, client, shared, zones, settings, &metrics, &mut readers)?)
            }
            (Some(_), None) => return Err(Error::NoControlPlane),
        };
        let webhook = match unbound {
            None => None,
            Some(unbound) => {
                let related_objects: Arc<dyn RelatedObjects + Send + Sync> = if client.is_some() {
                    let index = Arc::new(Index::default());
                    readers = readers.with_index(&index, settings.stored_mode());
                    index
                } else {
                    Arc::new(NoRelatedObjects)
                };
                let preview = controller.as_ref().map(|controller| preview_for(controller, is_known));
                let frozen =
                    readers.definitions.clone().map(|definitions| Arc::new(move || definitions.is_frozen()) as Frozen);
                let idle = controller.as_ref().map(UnstartedController::idle);
                let judge = judge(ReviewDependencies { related_objects, zones, preview, frozen, idle });
                Some(BoundWebhook::bind(unbound, judge, &metrics, reviews, &readiness).await?)
            }
        };
        let watches = client.map(|client| (client, Watches::new(readers, &readiness)));
        let admin_lifecycle = Arc::new(Lifecycle::default());
        let admin = bind_admin(admin, &readiness, &metrics, &admin_lifecycle).await?;
        let admin_local = admin.as_ref().and_then(|listener| listener.local_addr().ok());
        let handle = Handle(Arc::new(channel::Sender::new(0)));
        Ok(Self {
            webhook,
            controller,
            watches,
            client_reloader,
            admin,
            admin_local,
            admin_lifecycle,
            readiness,
            metrics,
            drain,
            handle,
        })
    }

    /// The address of the webhook; port 0 when there is none.
    pub fn local_addr(&self) -> SocketAddr {
        self.webhook.as_ref().map_or(SocketAddr::from(([0, 0, 0, 0], 0)), |webhook| webhook.local)
    }

    /// The address of probes and metrics.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_local
    }

    /// The CA of a self-signed certificate, as PEM.
    pub fn ca_pem(&self) -> Option<String> {
        self.webhook.as_ref().and_then(BoundWebhook::ca_pem)
    }

    /// The TLS configuration of new connections.
    pub fn tls(&self) -> Option<tls::Current> {
        self.webhook.as_ref().map(BoundWebhook::tls)
    }

    /// A handle to end the process.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether it accepts reviews, and the missing conditions.
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// The metrics.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    /// Serves and acts until the handle ends it, or one of its parts ends by itself.
    pub async fn run(self) -> Ended {
        let lifecycles = self.webhook.iter().map(|webhook| Arc::clone(&webhook.lifecycle));
        let guard = AbortOnDrop(lifecycles.chain([self.admin_lifecycle]).collect());
        let listen = self.webhook.as_ref().map(|webhook| webhook.local.to_string());
        let mut tasks = Tasks::default();
        if let Some(reloader) = self.client_reloader {
            tasks.spawn("the kubeconfig reload", reloader.run(control_plane::POLL));
        }
        if let Some((client, watches)) = self.watches {
            tasks.spawn("the watches", watches.run(client, Arc::clone(&self.metrics)));
        }
        if let Some(admin) = self.admin {
            tasks.spawn("the port for probes", admin.run());
        }
        let served = self.webhook.map(|webhook| webhook.start(&mut tasks));
        let running = self.controller.map(|controller| controller.start(&mut tasks));
        info!(listen, admin = self.admin_local.map(|a| a.to_string()), "serving");
        let broken = tokio::select! {
            biased;
            () = self.handle.called(1) => false,
            () = tasks.any_end() => true,
        };
        self.readiness.drain();
        let Drain { keep_serving, finish } = self.drain;
        if served.is_some() {
            info!(seconds = keep_serving.as_secs_f64(), "unready; still serving");
        }
        let acts_end = async {
            if let Some(running) = running {
                running.stop(finish).await;
            }
        };
        let served_end = async {
            match served {
                Some(served) => served.drain(self.drain).await,
                None => Ended::Drained,
            }
        };
        let ended = tokio::select! {
            biased;
            () = self.handle.called(2) => Ended::Aborted,
            ((), ended) = async { tokio::join!(acts_end, served_end) } => ended,
        };
        drop(guard);
        let ended = if broken { Ended::Broken } else { ended };
        info!(outcome = ?ended, "ended");
        ended
    }
}

/// Connections are separate tasks; they must not outlive their process.
struct AbortOnDrop(Vec<Arc<Lifecycle>>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        for lifecycle in &self.0 {
            lifecycle.advance(Phase::Aborted);
        }
    }
}

/// The preview for dry runs; clients that are not known get none.
fn preview_for(controller: &UnstartedController, is_known: bool) -> Arc<dyn Preview> {
    if is_known { controller.preview() } else { Arc::new(Withheld) }
}

/// The client, with time limits and metrics, and its reloader.
async fn client_of(
    control_plane: ControlPlane,
    metrics: &Metrics,
) -> Result<(Option<Client>, Option<control_plane::KubeconfigReloader>), Error> {
    let (bounds, counted) = (Bounds::default(), metrics.requests());
    Ok(match control_plane {
        ControlPlane::Offline => (None, None),
        ControlPlane::Watched(client) => (Some(control_plane::bounded(client, bounds, counted)), None),
        ControlPlane::Kubeconfig(origin) => {
            let (client, reloader) = control_plane::connect(origin, bounds, counted).await?;
            (Some(client), Some(reloader))
        }
    })
}

async fn bind_admin(
    port: AdminPort,
    readiness: &Arc<Readiness>,
    metrics: &Arc<Metrics>,
    lifecycle: &Arc<Lifecycle>,
) -> Result<Option<Listener<Router>>, Error> {
    let address = match port {
        AdminPort::Off => return Ok(None),
        AdminPort::Preferably(address) | AdminPort::At(address) => address,
    };
    let once = Some(Duration::from_secs(10));
    let limits = server::Limits { connections: 64, once, ..server::Limits::default() };
    let router = admin::router(Arc::clone(readiness), Arc::clone(metrics));
    // Its connections are not counted as connections of reviews.
    let uncounted = Arc::new(Metrics::new());
    match TcpListener::bind(address).await {
        Ok(socket) => {
            let security = Security::Plain;
            Ok(Some(Listener::on(socket, security, router, limits, Arc::clone(lifecycle), uncounted)))
        }
        Err(error) if port == AdminPort::Preferably(address) => {
            warn!(%address, %error, "no probes and metrics: the port cannot be bound; --health-probe-bind-address chooses another");
            Ok(None)
        }
        Err(source) => Err(Error::Bind { address, flag: "--health-probe-bind-address", source }),
    }
}

/// Dependencies of a judge.
pub struct ReviewDependencies {
    /// The other objects.
    pub related_objects: Arc<dyn RelatedObjects + Send + Sync>,
    /// The time zone database.
    pub zones: Arc<ZoneDatabase>,
    /// Preview of the controller of this process. A webhook without a controller has none: watching all
    /// ResourceBindings and Works for dry runs alone would cost too much.
    pub preview: Option<Arc<dyn Preview>>,
    /// Whether the CRDs of both kinds are known to be foreign; `None` without a control plane.
    pub frozen: Option<Frozen>,
    /// Whether no controller acts; `None` without a controller, which alone reads the Lease.
    pub idle: Option<Idle>,
}

/// A judge with the rules and the settings of the operator.
pub fn judge(settings: Settings) -> impl FnOnce(ReviewDependencies) -> ReviewFn {
    |ReviewDependencies { related_objects, zones, preview, frozen, idle }| {
        let reviewer = Reviewer { related_objects, zones, settings, preview, frozen, idle };
        Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now))
    }
}
