//! A web page of a fleet's autoscaling on the loopback interface (docs/dashboard.md). Reads with the rights of the user
//! and writes nothing. Sockets.
//!
//! `watches -> intake -> cache`, then `request -> access -> router -> model (overview) -> page`.

mod access;
mod cache;
mod doctor;
mod drills;
mod history;
mod intake;
mod live;
mod packed;
mod page;
pub mod preview;
mod query;
mod router;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::decision::cron::zones::Zones;
use crate::overview::Clock;
use crate::runtime::clock::WallClock;
use crate::runtime::lifecycle::{Lifecycle, Phase, Readiness};
use crate::runtime::metrics::Metrics;
use crate::runtime::server::{Limits, Listener, Security};
use crate::runtime::watch::{Readers, Watches};
use access::Access;
use cache::Cache;
use doctor::Checks;
pub use doctor::Probes;
use drills::Drills;
use preview::Preview;

/// Most open connections: a browser opens six for each window.
const CONNECTIONS: usize = 64;
/// Most pages that are kept current at a time: streams leave most connections to pages.
const STREAMS: usize = 24;
/// Most previews at a time.
const PREVIEWS: usize = 2;
/// Time in which requests in flight end when it stops.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// What a dashboard shows, and where.
pub struct Options {
    /// Client of karmada-apiserver.
    pub client: Client,
    /// The one namespace that is shown; `None`: all of them.
    pub namespace: Option<String>,
    /// Address, of the loopback interface; port 0 is any free one.
    pub listen: SocketAddr,
    /// The time of day.
    pub clock: WallClock,
    /// The zones of cron rules.
    pub zones: Arc<dyn Zones + Send + Sync>,
    /// The zone of rules that name none.
    pub zone: String,
    /// What `fhpa doctor` looks at besides the control plane.
    pub probes: Probes,
    /// What previews an edit.
    pub preview: Arc<dyn Preview>,
}

/// Why a dashboard cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address is reached by others.
    #[error("{0} is not an address of this machine alone: a dashboard shows what its user may see")]
    NotLoopback(SocketAddr),
    /// The address cannot be bound.
    #[error("{0} cannot be listened on: {1}; --listen chooses another address")]
    Listen(SocketAddr, #[source] io::Error),
    /// There are no secrets.
    #[error("{0}")]
    Secrets(String),
}

/// An address of the loopback interface, as an argument has it.
///
/// # Errors
/// The text is not an address with a port, or others reach it.
pub fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: SocketAddr = text.parse().map_err(|_| format!("{text:?} is not ADDRESS:PORT"))?;
    let own = address.ip().is_loopback();
    own.then_some(address).ok_or_else(|| format!("{} is not an address of this machine alone", address.ip()))
}

/// What all requests share.
struct Shared {
    cache: Arc<Cache>,
    access: Access,
    client: Client,
    zones: Arc<dyn Zones + Send + Sync>,
    zone: String,
    checks: Checks,
    drills: Drills,
    preview: Arc<dyn Preview>,
    previews: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Shared {
    /// What runs of cron rules are computed with.
    fn clock(&self) -> Clock<'_> {
        Clock { now: self.cache.now(), zones: &*self.zones, zone: &self.zone }
    }
}

/// A dashboard that is about to serve.
pub struct Dashboard {
    listener: Listener<axum::Router>,
    lifecycle: Arc<Lifecycle>,
    metrics: Arc<Metrics>,
    namespace: Option<String>,
    shared: Arc<Shared>,
}

impl Dashboard {
    /// Binds the address. Sends no request to the API server.
    ///
    /// # Errors
    /// The address is not of the loopback interface, or cannot be bound.
    pub async fn bind(options: Options) -> Result<Self, Error> {
        let Options { client, namespace, listen, clock, zones, zone, probes, preview } = options;
        if !listen.ip().is_loopback() {
            return Err(Error::NotLoopback(listen));
        }
        let failed = |error| Error::Listen(listen, error);
        let socket = TcpListener::bind(listen).await.map_err(failed)?;
        // Its port is a part of the names that requests are checked against.
        let address = socket.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared {
            cache: Cache::new(clock),
            access: Access::new(address).map_err(Error::Secrets)?,
            client,
            zones,
            zone,
            checks: Checks::new(probes),
            drills: Drills::default(),
            preview,
            previews: Arc::new(Semaphore::new(PREVIEWS)),
            streams: Arc::new(Semaphore::new(STREAMS)),
        });
        let (lifecycle, metrics) = (Arc::new(Lifecycle::default()), Arc::new(Metrics::new()));
        let limits = Limits { connections: CONNECTIONS, ..Limits::default() };
        let router = router::router(&shared);
        let (life, counted) = (Arc::clone(&lifecycle), Arc::clone(&metrics));
        let listener = Listener::on(socket, Security::Plain, router, limits, life, counted);
        Ok(Self { listener, lifecycle, metrics, namespace, shared })
    }

    /// The address to open in a browser, with the token. It is for the user's eyes alone.
    #[must_use]
    pub fn url(&self) -> String {
        self.shared.access.url()
    }

    /// Watches and serves until `stop` is over.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, lifecycle, metrics, namespace, shared } = self;
        let readers = Readers { namespace, ..intake::readers(&shared.cache) };
        let watches = Watches::new(readers, &Readiness::default());
        // Beside the listener: a large list takes a while to decode.
        let mut watching = JoinSet::new();
        watching.spawn(watches.run(shared.client.clone(), metrics));
        let stopping = async {
            stop.await;
            lifecycle.advance(Phase::Stopping);
            tokio::time::sleep(LAST_WORDS).await;
            lifecycle.advance(Phase::Aborted);
        };
        tokio::select! {
            // Watches do not end by themselves.
            _ = watching.join_next() => {}
            ((), ()) = async { tokio::join!(listener.run(), stopping) } => {}
        }
    }
}
