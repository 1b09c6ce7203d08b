//! The serving process, put together: bound -> running -> drained. `fhpa webhook` runs it, and so may a test.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::watch as channel;
use tokio::task::JoinSet;
use tracing::{info, warn};

use crate::admission::body;
use crate::admission::review::Reviewer;
use crate::admission::router::{Clock, Desk, Judge, router};
use crate::decision::defaults::Mode;
use crate::decision::neighbours::{Neighbours, NoNeighbours};
use crate::decision::validation::Settings;
use crate::runtime::control_plane::{self, Bounds, Client, Origin};
use crate::runtime::journal::Journal;
use crate::runtime::lifecycle::{Condition, Lifecycle, Phase, Readiness};
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{self, Listener, Security};
use crate::runtime::tls::{self, ClientAuth, Keeper, MinVersion, Source};
use crate::runtime::watch::{self, Index, Readers};
use crate::runtime::zones::ZoneDatabase;
use crate::runtime::{admin, clock};

/// Where the plain port for probes and metrics is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPort {
    /// Nowhere.
    Off,
    /// At this address, or nowhere when it cannot be bound.
    Preferably(SocketAddr),
    /// At this address.
    At(SocketAddr),
}

/// What reviews may know of the control plane.
pub enum ControlPlane {
    /// Nothing: no checks against other objects.
    Offline,
    /// What watches bring through this client.
    Watched(Client),
    /// What watches bring through a client by this kubeconfig, which may change under way.
    Kubeconfig(Origin),
}

/// The certificate and who may connect.
pub struct Certificate {
    /// Where it comes from.
    pub source: Source,
    /// Whose certificates are asked for; none: nobody's.
    pub client: Option<ClientAuth>,
    /// Oldest protocol version.
    pub min_version: MinVersion,
    /// Where the CA of a self-signed certificate is written.
    pub ca_out: Option<PathBuf>,
    /// Time between two looks for a new certificate.
    pub poll: Duration,
}

/// The end of the process.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Time in which reviews are still taken after the process is no longer ready.
    pub keep_serving: Duration,
    /// Time for reviews in flight after that.
    pub finish: Duration,
}

/// All of it.
pub struct Options {
    /// Where reviews come in.
    pub listen: SocketAddr,
    /// Where probes and metrics are.
    pub admin: AdminPort,
    /// The certificate.
    pub certificate: Certificate,
    /// The other objects.
    pub control_plane: ControlPlane,
    /// What the operator chose of the rules.
    pub settings: Settings,
    /// Bounds on connections.
    pub limits: server::Limits,
    /// Bounds on bodies.
    pub bodies: body::Limits,
    /// Reviews in flight at a time.
    pub reviews: usize,
    /// The end.
    pub drain: Drain,
}

impl Options {
    /// Self-signed on a free port of the loopback, offline, without a port for probes: for trials and tests.
    #[must_use]
    pub fn loopback() -> Self {
        let local = SocketAddr::from(([127, 0, 0, 1], 0));
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        Self {
            listen: local,
            admin: AdminPort::Off,
            certificate: Certificate {
                source: Source::SelfSigned(Box::new(tls::SelfSigned::new(names))),
                client: None,
                min_version: MinVersion::default(),
                ca_out: None,
                poll: Duration::from_secs(10),
            },
            control_plane: ControlPlane::Offline,
            settings: Settings::default(),
            limits: server::Limits::default(),
            bodies: body::Limits::default(),
            reviews: 256,
            drain: Drain { keep_serving: Duration::ZERO, finish: Duration::from_secs(10) },
        }
    }
}

/// Why the process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No certificate to serve.
    #[error("no certificate to serve: {0}")]
    Certificate(#[from] tls::Error),
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// An address cannot be bound.
    #[error("{address} cannot be listened on: {source}; {flag} chooses another address")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What chooses it.
        flag: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything in flight was answered.
    Drained,
    /// Time was over before everything in flight was answered.
    TimedOut,
    /// A second signal did not let everything be answered.
    Aborted,
}

/// Ends the process from elsewhere.
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

/// A bound process that does not serve yet.
pub struct Server {
    reviews: Listener,
    admin: Option<Listener>,
    local: SocketAddr,
    admin_local: Option<SocketAddr>,
    keeper: Keeper,
    poll: Duration,
    client_keeper: Option<control_plane::Keeper>,
    watches: Option<Watches>,
    listening: Condition,
    readiness: Arc<Readiness>,
    metrics: Arc<Metrics>,
    lifecycle: Arc<Lifecycle>,
    admin_lifecycle: Arc<Lifecycle>,
    drain: Drain,
    handle: Handle,
}

/// Watches to be started, and what is not ready before they have listed.
struct Watches {
    client: Client,
    index: Arc<Index>,
    default_mode: Mode,
    listed: [Condition; 2],
}

impl Watches {
    fn new(client: Client, index: Arc<Index>, default_mode: Mode, readiness: &Readiness) -> Self {
        let missing = ["FederatedHPAs are not listed yet", "CronFederatedHPAs are not listed yet"];
        Self { client, index, default_mode, listed: missing.map(|missing| readiness.condition(missing)) }
    }
}

impl Server {
    /// Loads the certificate and binds the sockets; reviews are answered by the rules.
    ///
    /// # Errors
    /// There is no certificate, or an address cannot be bound.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let settings = options.settings.clone();
        Self::bind_with(options, judge(settings)).await
    }

    /// As [`Self::bind`], with another judge.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub async fn bind_with(
        options: Options,
        judge: impl FnOnce(Arc<dyn Neighbours + Send + Sync>) -> Judge,
    ) -> Result<Self, Error> {
        let Options { listen, admin, certificate, control_plane, settings, limits, bodies, reviews, drain } = options;
        let Certificate { source, client, min_version, ca_out, poll } = certificate;
        let metrics = Arc::new(Metrics::new());
        let readiness = Arc::new(Readiness::default());
        let keeper = Keeper::load(source, client, min_version, ca_out, Arc::clone(&metrics), clock::wall())?;
        let current = keeper.current();
        readiness.check("the certificate is not valid now", move |now| current.load().is_valid_at(now));
        let (client, client_keeper) = client_of(control_plane, &metrics).await?;
        let (neighbours, watches): (Arc<dyn Neighbours + Send + Sync>, _) = match client {
            None => (Arc::new(NoNeighbours), None),
            Some(client) => {
                let index = Arc::new(Index::default());
                let watches = Watches::new(client, Arc::clone(&index), settings.default_mode, &readiness);
                (index as _, Some(watches))
            }
        };
        let clocks = Clock { wall: clock::wall, monotonic: clock::monotonic };
        let journal = Arc::new(Journal::new(Arc::clone(&metrics)));
        let desk = Arc::new(Desk::new(judge(neighbours), clocks, journal, bodies, reviews));
        let lifecycle = Arc::new(Lifecycle::default());
        let security = Security::Tls(keeper.current());
        let (shared, counted) = (Arc::clone(&lifecycle), Arc::clone(&metrics));
        let failed = |source| Error::Bind { address: listen, flag: "--listen", source };
        let listener =
            Listener::bind(listen, security, router(&desk), limits, shared, counted).await.map_err(failed)?;
        let local = listener.local_addr().map_err(failed)?;
        let admin_lifecycle = Arc::new(Lifecycle::default());
        let admin_router = admin::router(Arc::clone(&readiness), Arc::clone(&metrics));
        let admin = bind_admin(admin, admin_router, &admin_lifecycle).await?;
        let admin_local = admin.as_ref().and_then(|listener| listener.local_addr().ok());
        let handle = Handle(Arc::new(channel::Sender::new(0)));
        let listening = readiness.condition("the socket does not listen");
        Ok(Self {
            reviews: listener,
            listening,
            admin,
            local,
            admin_local,
            keeper,
            poll,
            client_keeper,
            watches,
            readiness,
            metrics,
            lifecycle,
            admin_lifecycle,
            drain,
            handle,
        })
    }

    /// Where reviews come in.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Where probes and metrics are.
    pub fn admin_addr(&self) -> Option<SocketAddr> {
        self.admin_local
    }

    /// The CA of a self-signed certificate, as PEM.
    pub fn ca_pem(&self) -> Option<String> {
        self.keeper.ca_pem()
    }

    /// What new connections are served with.
    pub fn tls(&self) -> tls::Current {
        self.keeper.current()
    }

    /// Ends the process from elsewhere.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Whether it may be sent reviews, and what is missing.
    pub fn readiness(&self) -> Arc<Readiness> {
        Arc::clone(&self.readiness)
    }

    /// What is counted.
    pub fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }

    /// Serves until the handle ends it.
    pub async fn run(self) -> Ended {
        let _guard = AbortOnDrop([Arc::clone(&self.lifecycle), Arc::clone(&self.admin_lifecycle)]);
        let mut tasks = JoinSet::new();
        if let Some(Watches { client, index, default_mode, listed }) = self.watches {
            let readers = Readers::default().with_index(&index, default_mode);
            tasks.spawn(watch::run(client, readers, listed, Arc::clone(&self.metrics)));
        }
        tasks.spawn(self.keeper.run(self.poll, clock::wall));
        if let Some(keeper) = self.client_keeper {
            tasks.spawn(keeper.run(control_plane::POLL));
        }
        if let Some(admin) = self.admin {
            tasks.spawn(admin.run());
        }
        let mut reviews = tokio::spawn(self.reviews.run());
        self.listening.met();
        info!(listen = %self.local, admin = self.admin_local.map(|a| a.to_string()), "serving");
        self.handle.called(1).await;
        self.readiness.drain();
        info!(seconds = self.drain.keep_serving.as_secs_f64(), "not ready from now on; still serving");
        let drained = tokio::select! {
            biased;
            () = self.handle.called(2) => Ended::Aborted,
            ended = drained(self.drain, &self.lifecycle, &mut reviews) => ended,
        };
        self.lifecycle.advance(Phase::Aborted);
        info!(outcome = ?drained, "ended");
        drained
    }
}

/// Parts with all connections, at first gently.
async fn drained(drain: Drain, lifecycle: &Lifecycle, reviews: &mut tokio::task::JoinHandle<()>) -> Ended {
    // At first new connections still come here; asking the old ones to leave would only move them back.
    let half = drain.keep_serving / 2;
    tokio::time::sleep(half).await;
    lifecycle.advance(Phase::Parting);
    tokio::time::sleep(drain.keep_serving.saturating_sub(half)).await;
    lifecycle.advance(Phase::Stopping);
    if tokio::time::timeout(drain.finish, reviews).await.is_ok() {
        return Ended::Drained;
    }
    warn!(seconds = drain.finish.as_secs_f64(), "reviews in flight are dropped");
    Ended::TimedOut
}

/// Connections are tasks of their own; they must not outlive the process they belong to.
struct AbortOnDrop([Arc<Lifecycle>; 2]);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        for lifecycle in &self.0 {
            lifecycle.advance(Phase::Aborted);
        }
    }
}

/// The client, within bounds and counted, and who keeps it current.
async fn client_of(
    control_plane: ControlPlane,
    metrics: &Metrics,
) -> Result<(Option<Client>, Option<control_plane::Keeper>), Error> {
    let (bounds, counted) = (Bounds::default(), metrics.requests());
    Ok(match control_plane {
        ControlPlane::Offline => (None, None),
        ControlPlane::Watched(client) => (Some(control_plane::bounded(client, bounds, counted)), None),
        ControlPlane::Kubeconfig(origin) => {
            let (client, keeper) = control_plane::connect(origin, bounds, counted).await?;
            (Some(client), Some(keeper))
        }
    })
}

async fn bind_admin(port: AdminPort, router: Router, lifecycle: &Arc<Lifecycle>) -> Result<Option<Listener>, Error> {
    let address = match port {
        AdminPort::Off => return Ok(None),
        AdminPort::Preferably(address) | AdminPort::At(address) => address,
    };
    let limits = server::Limits { connections: 64, ..server::Limits::default() };
    // Its connections are not counted among those that bring reviews.
    let uncounted = Arc::new(Metrics::new());
    match Listener::bind(address, Security::Plain, router, limits, Arc::clone(lifecycle), uncounted).await {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if port == AdminPort::Preferably(address) => {
            warn!(%address, %error, "no probes and metrics: the port cannot be bound; --admin-listen chooses another");
            Ok(None)
        }
        Err(source) => Err(Error::Bind { address, flag: "--admin-listen", source }),
    }
}

/// Judges by the rules, as an operator chose them.
pub fn judge(settings: Settings) -> impl FnOnce(Arc<dyn Neighbours + Send + Sync>) -> Judge {
    |neighbours| {
        let reviewer = Reviewer { neighbours, zones: Arc::new(ZoneDatabase::open()), settings, preview: None };
        Arc::new(move |endpoint, request, now| reviewer.review(endpoint, request, now))
    }
}
