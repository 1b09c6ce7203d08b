//! The client of karmada-apiserver: requests are bounded in time and counted, and the kubeconfig may change under way.
//!
//! Nothing here limits the rate of requests: the API server's priority and fairness does, which knows all its clients and
//! says 429 with a time to come back. Nor is anything tried again here: callers wait by the class of the error, and the
//! Lease must not be renewed by a request from long ago.

mod credentials;
mod keeper;
mod kubeconfig;
mod requests;

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

pub use keeper::{Keeper, Polled};
pub use kube::Client;
pub use kubeconfig::Origin;
pub use requests::TimedOut;

use super::metrics::{Metrics, RequestMetrics};
use credentials::redacted;
use requests::Requests;

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig cannot be read or lacks something.
    #[error("kubeconfig: {0}")]
    Kubeconfig(#[from] kube::config::KubeconfigError),
    /// No client can be made of it.
    #[error("kubeconfig: {0}")]
    Client(#[from] kube::Error),
    /// There is a certificate authority, and no certificate in it.
    #[error("kubeconfig: no certificate in the certificate authority of {0}")]
    NoAuthority(String),
}

/// Bounds on time.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// For a whole request; of a watch, for its beginning.
    pub request: Duration,
    /// For the silence of a watch. The API server says something about once a minute.
    pub silence: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { request: Duration::from_secs(15), silence: Duration::from_mins(2) }
    }
}

/// Time between two looks at the kubeconfig.
pub const POLL: Duration = Duration::from_secs(10);

/// Paths of collections that were listed.
type Listed = Arc<Mutex<HashSet<String>>>;

/// Where requests go.
struct Server {
    client: Client,
    /// URL, to know it from another one.
    url: String,
    /// What was listed since requests go there, or since it was restored; none for the first server, from which every version
    /// comes.
    listed: Option<Listed>,
}

/// The server that is used now; exchanged as a whole.
type Current = Arc<watch::Sender<Arc<Server>>>;

/// A client by a kubeconfig, and who keeps it current. Asks nothing of the API server, which may be down.
///
/// # Errors
/// The kubeconfig cannot be read, lacks something, or names what cannot be used.
pub async fn connect(origin: Origin, bounds: Bounds, metrics: Arc<RequestMetrics>) -> Result<(Client, Keeper), Error> {
    let content = origin.content();
    let server = origin.load().await?;
    let namespace = server.client.default_namespace().to_owned();
    let current = Arc::new(watch::Sender::new(Arc::new(server)));
    let client = Client::new(Requests::new(Arc::clone(&current), bounds, Arc::clone(&metrics)), namespace);
    Ok((client, Keeper::new(origin, content, current, metrics)))
}

/// A client by a kubeconfig for a command that ends: nobody keeps it current, and nobody looks at its counts.
///
/// # Errors
/// As [`connect`].
pub async fn connect_once(origin: Origin) -> Result<Client, Error> {
    let uncounted = Arc::new(Metrics::new()).requests();
    connect(origin, Bounds::default(), uncounted).await.map(|(client, _)| client)
}

/// A given client, within bounds and counted.
pub fn bounded(client: Client, bounds: Bounds, metrics: Arc<RequestMetrics>) -> Client {
    let namespace = client.default_namespace().to_owned();
    let current = Arc::new(watch::Sender::new(Arc::new(Server { client, url: String::new(), listed: None })));
    Client::new(Requests::new(current, bounds, metrics), namespace)
}
