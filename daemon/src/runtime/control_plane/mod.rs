//! The client of karmada-apiserver: requests have time limits and are counted, and the kubeconfig may change at
//! runtime.
//!
//! Requests are not rate-limited here: the API server's priority and fairness knows all its clients and responds with
//! 429 and a delay. Nor are they retried here: callers wait by the class of the error, and an old request must not
//! renew the Lease.

mod credentials;
mod kubeconfig;
mod one_watch;
mod reload;
mod requests;
mod restore;
mod retry_after;
mod words;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

pub use kube::Client;
pub use kubeconfig::{NO_ORIGIN, Origin};
pub use one_watch::for_one_watch;
pub use reload::KubeconfigReloader;
pub use requests::{Streamed, TimedOut};
pub use retry_after::retry_after;
pub use words::of_tls;

use super::metrics::{Metrics, RequestMetrics};
use credentials::{redacted, unquoted};
use one_watch::WatchId;
use requests::Requests;

/// Why a client could not be created.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig cannot be read or is incomplete.
    #[error("kubeconfig: {}", unquoted(.0))]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// The client cannot be built.
    #[error("kubeconfig: {0}")]
    Client(#[from] kube::Error),
    /// The client certificate or its key is not usable.
    #[error("kubeconfig: {0}")]
    Pair(String),
    /// The certificate authority contains no certificate.
    #[error("kubeconfig: no certificate in the certificate authority of {0}")]
    NoAuthority(String),
    /// The API server does not accept the credentials, or does not answer.
    #[error("kubeconfig: {0} does not accept it: {1}")]
    Refused(String, String),
}

/// Time limits.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Limit of a whole request; of a watch, until it begins.
    pub request: Duration,
    /// Longest silence of a watch. The API server sends an event about once a minute.
    pub silence: Duration,
}

/// Limit of a request by default.
pub const REQUEST: Duration = Duration::from_secs(15);

impl Default for Bounds {
    fn default() -> Self {
        Self { request: REQUEST, silence: Duration::from_mins(2) }
    }
}

/// Interval between checks of the kubeconfig.
pub const POLL: Duration = Duration::from_secs(10);

/// Who lists and watches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Reader {
    /// One watch.
    Watch(WatchId),
    /// All other readers of the collection at this path.
    Path(String),
}

/// Readers that have listed.
type Listed = Arc<Mutex<HashSet<Reader>>>;

/// Target of requests.
struct Server {
    client: Client,
    /// URL, to detect a change.
    url: String,
    /// When the client's certificate expires, if it has one.
    not_after: Option<Timestamp>,
    /// Readers that have listed since this server is in use, or since it was restored; `None` for the first server, from
    /// which all versions come.
    listed: Option<Listed>,
}

/// The current server; replaced as a whole.
type Current = Arc<watch::Sender<Arc<Server>>>;

/// A client from a kubeconfig, and its reloader. Sends no request to the API server, which may be down.
///
/// # Errors
/// The kubeconfig cannot be read, is incomplete, or has invalid content.
pub async fn connect(
    origin: Origin,
    bounds: Bounds,
    metrics: Arc<RequestMetrics>,
) -> Result<(Client, KubeconfigReloader), Error> {
    let content = origin.content();
    let server = origin.load().await?;
    let namespace = server.client.default_namespace().to_owned();
    metrics.credentials_expire(server.not_after);
    let current = Arc::new(watch::Sender::new(Arc::new(server)));
    let client = Client::new(Requests::new(Arc::clone(&current), bounds, Arc::clone(&metrics)), namespace);
    Ok((client, KubeconfigReloader::new(origin, content, current, metrics)))
}

/// A client from a kubeconfig for a short-lived command: without a reloader and without metrics.
///
/// # Errors
/// As [`connect`].
pub async fn connect_once(origin: Origin) -> Result<Client, Error> {
    let uncounted = Arc::new(Metrics::new()).requests();
    connect(origin, Bounds::default(), uncounted).await.map(|(client, _)| client)
}

/// A given client, with time limits and metrics.
pub fn bounded(client: Client, bounds: Bounds, metrics: Arc<RequestMetrics>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let current =
        Arc::new(watch::Sender::new(Arc::new(Server { client, url: String::new(), not_after: None, listed: None })));
    Client::new(Requests::new(current, bounds, metrics), namespace)
}
