//! Talks to karmada-scheduler-estimators over gRPC, in plaintext or with TLS. One connection for each cluster, opened
//! when needed and again after an error. I/O: sockets, and the files of the certificate.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::uri::PathAndQuery;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tonic::client::Grpc as Caller;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use super::messages::{
    MaxAvailableReplicasRequest, MaxAvailableReplicasResponse, UnschedulableReplicasRequest,
    UnschedulableReplicasResponse,
};
use super::query::EstimatorQuery;
use crate::controller::query_cache::{QueryError, Source};
use crate::runtime::clock;

const AVAILABLE: PathAndQuery =
    PathAndQuery::from_static("/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas");
const UNSCHEDULABLE: PathAndQuery = PathAndQuery::from_static(
    "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/GetUnschedulableReplicas",
);
/// Most bytes of a response, which is one number.
const ANSWER: usize = 4096;
/// Placeholder for the name of the cluster in an [`Address`].
const CLUSTER: &str = "{cluster}";

/// Address of the estimator of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Default for Address {
    /// Name of the Service that Karmada's installers create.
    fn default() -> Self {
        Self("karmada-scheduler-estimator-{cluster}.karmada-system.svc:10352".to_owned())
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Address {
    type Err = String;

    /// # Errors
    /// When it is not `HOST:PORT` with `{cluster}` in it.
    fn from_str(text: &str) -> Result<Self, String> {
        if !text.contains(CLUSTER) {
            return Err(format!("the address must contain {CLUSTER}, a placeholder for the name of the cluster"));
        }
        let address = Self(text.to_owned());
        let authority = address.of("1").parse::<http::uri::Authority>().map_err(|error| error.to_string())?;
        match authority.port_u16() {
            Some(_) if !authority.as_str().contains('@') => Ok(address),
            _ => Err("must be HOST:PORT".to_owned()),
        }
    }
}

impl Address {
    /// `HOST:PORT` of the estimator of one cluster.
    #[must_use]
    pub fn of(&self, cluster: &str) -> String {
        self.0.replace(CLUSTER, cluster)
    }
}

/// Files for TLS; they are reloaded from time to time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The CA that signs the certificates of estimators.
    pub ca: PathBuf,
    /// The own certificate and its key, for estimators that ask for one.
    pub identity: Option<(PathBuf, PathBuf)>,
}

/// Settings of the connections to estimators.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Address of the estimators.
    pub address: Address,
    /// Files for TLS; `None`: plaintext, the default of Karmada's scheduler.
    pub tls: Option<TlsFiles>,
    /// Time limit for opening a connection.
    pub connect: Duration,
    /// Interval between reloads of the files.
    pub poll: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { address: Address::default(), tls: None, connect: Duration::from_secs(3), poll: Duration::from_secs(10) }
    }
}

/// Connections to estimators.
pub struct Grpc {
    settings: Settings,
    state: Arc<Mutex<EstimatorChannels>>,
}

#[derive(Default)]
struct EstimatorChannels {
    /// The content of the files, and when they were last read.
    files: Option<(Instant, Content)>,
    channels: HashMap<String, Channel>,
}

/// The content of [`TlsFiles`].
#[derive(Clone, PartialEq, Eq)]
struct Content {
    ca: Vec<u8>,
    identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl TlsFiles {
    async fn read(&self) -> Result<Content, QueryError> {
        let read = async |path: &PathBuf| {
            let bytes = tokio::fs::read(path).await;
            bytes.map_err(|error| QueryError::Unusable(format!("{}: {error}", path.display())))
        };
        let identity = match &self.identity {
            Some((certificate, key)) => Some((read(certificate).await?, read(key).await?)),
            None => None,
        };
        Ok(Content { ca: read(&self.ca).await?, identity })
    }
}

impl Content {
    fn config(&self) -> ClientTlsConfig {
        let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.ca));
        match &self.identity {
            Some((certificate, key)) => config.identity(Identity::from_pem(certificate, key)),
            None => config,
        }
    }
}

impl Grpc {
    /// Opens no connection yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings, state: Arc::default() }
    }
}

impl Source<EstimatorQuery, i32> for Grpc {
    fn component(&self) -> &'static str {
        "estimator"
    }

    fn send(&self, cluster: &str, query: &EstimatorQuery) -> BoxFuture<'static, Result<i32, QueryError>> {
        let (settings, state) = (self.settings.clone(), Arc::clone(&self.state));
        let (cluster, query) = (cluster.to_owned(), query.clone());
        async move {
            let channel = state.lock().await.channel(&settings, &cluster).await?;
            call(channel, cluster, query).await
        }
        .boxed()
    }

    fn forget(&self, cluster: &str) {
        let (state, cluster) = (Arc::clone(&self.state), cluster.to_owned());
        tokio::spawn(async move { state.lock().await.channels.remove(&cluster) });
    }
}

impl EstimatorChannels {
    /// The connection to the estimator of the cluster. A change of the files opens new ones.
    async fn channel(&mut self, settings: &Settings, cluster: &str) -> Result<Channel, QueryError> {
        if let Some(files) = &settings.tls {
            self.reload(files, settings.poll).await?;
        }
        if let Some(channel) = self.channels.get(cluster) {
            return Ok(channel.clone());
        }
        let content = self.files.as_ref().map(|(_, content)| content);
        let channel = endpoint(settings, content, cluster).map_err(|error| QueryError::Unusable(deepest(&error)))?;
        let channel = channel.connect_lazy();
        self.channels.insert(cluster.to_owned(), channel.clone());
        Ok(channel)
    }

    async fn reload(&mut self, files: &TlsFiles, poll: Duration) -> Result<(), QueryError> {
        let now = clock::steady();
        if self.files.as_ref().is_some_and(|(looked, _)| now.duration_since(*looked) < poll) {
            return Ok(());
        }
        match (files.read().await, &mut self.files) {
            (Ok(content), Some((looked, known))) if content == *known => *looked = now,
            (Ok(content), _) => {
                self.channels.clear();
                self.files = Some((now, content));
            }
            // The files are being replaced; the previous content is still valid.
            (Err(_), Some((looked, _))) => *looked = now,
            (Err(failure), None) => return Err(failure),
        }
        Ok(())
    }
}

fn endpoint(settings: &Settings, tls: Option<&Content>, cluster: &str) -> Result<Endpoint, tonic::transport::Error> {
    let scheme = if tls.is_some() { "https" } else { "http" };
    let endpoint = Endpoint::from_shared(format!("{scheme}://{}", settings.address.of(cluster)))?
        .connect_timeout(settings.connect)
        .tcp_keepalive(Some(Duration::from_secs(30)))
        .http2_keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(10));
    match tls {
        Some(content) => endpoint.tls_config(content.config()),
        None => Ok(endpoint),
    }
}

async fn call(channel: Channel, cluster: String, query: EstimatorQuery) -> Result<i32, QueryError> {
    let mut caller = Caller::new(channel).max_decoding_message_size(ANSWER);
    caller.ready().await.map_err(|error| failure_of(&error))?;
    let answer = match query {
        EstimatorQuery::Available(requirements) => {
            let replica_requirements = Some(Arc::unwrap_or_clone(requirements));
            let request = Request::new(MaxAvailableReplicasRequest { cluster, replica_requirements });
            let answer = caller.unary(request, AVAILABLE, ProstCodec::default()).await;
            answer.map(|answer: tonic::Response<MaxAvailableReplicasResponse>| answer.into_inner().max_replicas)
        }
        EstimatorQuery::Unschedulable(workload, unschedulable_threshold) => {
            let resource = Some(Arc::unwrap_or_clone(workload));
            let request = Request::new(UnschedulableReplicasRequest { cluster, resource, unschedulable_threshold });
            let answer = caller.unary(request, UNSCHEDULABLE, ProstCodec::default()).await;
            answer.map(|answer: tonic::Response<UnschedulableReplicasResponse>| {
                answer.into_inner().unschedulable_replicas
            })
        }
    };
    answer.map_err(|status| failure(&status))
}

fn failure(status: &Status) -> QueryError {
    match std::error::Error::source(status) {
        // An error with a source happened on the way; any other is a response of the estimator.
        Some(source) => failure_of(source),
        None => QueryError::Refused(format!("{}: {}", status.code(), status.message())),
    }
}

/// Any transport error.
type Cause = dyn std::error::Error + 'static;

/// Only the error of the socket shows whether a server is listening.
fn failure_of(error: &Cause) -> QueryError {
    let absent = |error: &Cause| {
        let socket = error.downcast_ref::<std::io::Error>();
        socket.is_some_and(|error| error.kind() == std::io::ErrorKind::ConnectionRefused)
            || error.to_string().contains("dns error")
    };
    let text = deepest(error);
    if causes(error).any(absent) { QueryError::Absent(text) } else { QueryError::Unusable(text) }
}

fn causes(error: &Cause) -> impl Iterator<Item = &Cause> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The innermost error is the most specific.
fn deepest(error: &Cause) -> String {
    causes(error).last().unwrap_or(error).to_string()
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn an_address_names_the_cluster_and_a_port() {
        let named = |text: &str| text.parse::<Address>().map(|address| address.of("member1"));
        assert_eq!(named("estimator-{cluster}.ns.svc:10352").unwrap(), "estimator-member1.ns.svc:10352");
        assert_eq!(Address::default().of("m"), "karmada-scheduler-estimator-m.karmada-system.svc:10352");
        for bad in
            ["estimator.ns.svc:10352", "{cluster}.ns.svc", "{cluster}:x", "http://{cluster}:1", "a@{cluster}:1", ""]
        {
            assert!(named(bad).is_err(), "{bad}");
        }
        assert_eq!(Address::default(), Address::default().0.parse().unwrap());
    }
}
