//! Options of a process. No I/O.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use kube::Client;

use crate::admission::body;
use crate::decision::lease::Timings;
use crate::decision::validation::Settings;
use crate::estimator::grpc;
use crate::install::manifests::ManifestError;
pub use crate::reconcile::federated_hpa::centralized::Settings as Centralized;
pub use crate::reconcile::federated_hpa::observe::failover::Settings as Failover;
use crate::runtime::control_plane::{self, Origin};
use crate::runtime::server;
use crate::runtime::tls::shared::{Access, SecretName};
use crate::runtime::tls::{self, ClientAuth, MinVersion, Source};

/// Address of the plain port for probes and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdminPort {
    /// No port.
    Off,
    /// This address, or no port when it cannot be bound.
    Preferably(SocketAddr),
    /// This address.
    At(SocketAddr),
}

/// Access to the control plane.
pub enum ControlPlane {
    /// No access: no checks against other objects.
    Offline,
    /// Watches through this client.
    Watched(Client),
    /// Watches through a client with this kubeconfig, which may change at runtime.
    Kubeconfig(Origin),
}

/// Origin of the certificate.
pub enum CertificateOrigin {
    /// A source on this machine.
    Given(Source),
    /// A Secret that all replicas share.
    Secret(SharedSecret),
}

impl From<Source> for CertificateOrigin {
    fn from(source: Source) -> Self {
        Self::Given(source)
    }
}

/// A Secret in which all replicas store their certificate.
#[derive(Clone, Debug)]
pub struct SharedSecret {
    /// Its name.
    pub secret: SecretName,
    /// Access to its cluster.
    pub access: Access,
    /// DNS names and IP addresses of the certificate.
    pub names: Vec<String>,
    /// How long the certificate may be missing at the start.
    pub patience: Duration,
}

/// The certificate and the clients that may connect.
pub struct Certificate {
    /// Its origin.
    pub source: CertificateOrigin,
    /// Required client certificates; `None`: not required.
    pub client: Option<ClientAuth>,
    /// Oldest protocol version.
    pub min_version: MinVersion,
    /// File for the CA of a self-signed certificate.
    pub ca_output: Option<PathBuf>,
    /// Interval between checks for a new certificate.
    pub poll: Duration,
}

/// The webhook.
pub struct WebhookOptions {
    /// Address of the webhook.
    pub listen: SocketAddr,
    /// The certificate.
    pub certificate: Certificate,
    /// Limits on connections.
    pub limits: server::Limits,
    /// Limits on bodies.
    pub bodies: body::Limits,
    /// Most reviews in flight.
    pub reviews: usize,
}

impl WebhookOptions {
    /// Self-signed, on a free port of the loopback interface.
    #[must_use]
    pub fn loopback() -> Self {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            certificate: Certificate {
                source: Source::SelfSigned(Box::new(tls::SelfSigned::new(names))).into(),
                client: None,
                min_version: MinVersion::default(),
                ca_output: None,
                poll: Duration::from_secs(10),
            },
            limits: server::Limits::default(),
            bodies: body::Limits::default(),
            reviews: 256,
        }
    }
}

impl WebhookOptions {
    /// Whether it is known who asks: a client with a certificate, or a process on this machine.
    #[must_use]
    pub const fn knows_clients(&self) -> bool {
        self.certificate.client.is_some() || self.listen.ip().is_loopback()
    }
}

/// The controller, which acts while it holds a Lease.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub lease: String,
    /// Unique among the competing processes.
    pub identity: String,
    /// Durations of the election.
    pub timings: Timings,
    /// Most reconciles at a time.
    pub concurrency: usize,
    /// How often headroom is rebalanced; `None`: never.
    pub rebalance_period: Option<Duration>,
    /// FederatedHPAs with metrics of their own.
    pub object_metrics: usize,
    /// How long to wait for clusters that fail or leave.
    pub failover: Failover,
    /// Settings of Centralized mode.
    pub centralized: Centralized,
    /// Settings of karmada-scheduler-estimators; `None`: they are not queried.
    pub estimators: Option<grpc::Settings>,
    /// Objects in the control plane that the leader manages; `None`: no objects.
    pub guard: Option<GuardOptions>,
    /// Reason for which an operator freezes the controllers; `None`: they act.
    pub freeze: Option<String>,
}

/// Objects that the leader manages.
#[derive(Clone, Debug)]
pub struct GuardOptions {
    /// Whether to correct objects that also belong to Karmada; otherwise drift is only reported.
    pub manage_karmada: bool,
    /// Whether the webhook also reviews changes of the CRDs.
    pub guard_definitions: bool,
    /// The registration of the webhook; `None`: it is managed elsewhere.
    pub registration: Option<Registration>,
}

/// Location of the webhook for karmada-apiserver.
#[derive(Clone, Debug)]
pub struct Registration {
    /// `https://HOST:PORT`
    pub base_url: String,
    /// PEM file with the CAs to trust; new content is used without a restart. `None`: those of the Secret that the
    /// webhook of this process shares.
    pub ca_file: Option<PathBuf>,
}

/// Time limits of shutdown.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Time in which reviews are still accepted after the process is no longer ready.
    pub keep_serving: Duration,
    /// Time for reviews in flight after that, and for reconciles in progress.
    pub finish: Duration,
}

/// All options.
pub struct Options {
    /// The webhook; `None`: no reviews are accepted.
    pub webhook: Option<WebhookOptions>,
    /// The controller; `None`: nothing is written. It needs a control plane.
    pub controller: Option<ControllerOptions>,
    /// Address of probes and metrics.
    pub admin: AdminPort,
    /// Access to the other objects.
    pub control_plane: ControlPlane,
    /// Settings of the rules.
    pub settings: Settings,
    /// Time limits of shutdown.
    pub drain: Drain,
}

impl Options {
    /// The webhook on [`WebhookOptions::loopback`], offline, without a port for probes: for tests.
    #[must_use]
    pub fn loopback() -> Self {
        Self {
            webhook: Some(WebhookOptions::loopback()),
            controller: None,
            admin: AdminPort::Off,
            control_plane: ControlPlane::Offline,
            settings: Settings::default(),
            drain: Drain { keep_serving: Duration::ZERO, finish: Duration::from_secs(10) },
        }
    }

    /// The options of the webhook, to change; where there were none, those of the loopback.
    pub fn webhook(&mut self) -> &mut WebhookOptions {
        self.webhook.get_or_insert_with(WebhookOptions::loopback)
    }
}

/// Why the process cannot start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No certificate to serve.
    #[error("no certificate to serve: {0}")]
    Certificate(#[from] tls::Error),
    /// The CA of the webhook cannot be read.
    #[error("no CA to register the webhook with (--webhook-ca-file): {0}")]
    Authority(tls::Error),
    /// The CA of the webhook is not configured.
    #[error(
        "--webhook-url needs the CA of the webhook's certificate: give --webhook-ca-file FILE, or serve with --cert-secret"
    )]
    NoAuthority,
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// The managed objects cannot be built.
    #[error(transparent)]
    Installation(#[from] ManifestError),
    /// There is no control plane for the controller.
    #[error("the controller needs a control plane: give the kubeconfig of karmada-apiserver with --kubeconfig")]
    NoControlPlane,
    /// An address cannot be bound.
    #[error("{address} cannot be listened on: {source}; {flag} chooses another address")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The flag that sets it.
        flag: &'static str,
        /// Error of the system.
        source: io::Error,
    },
}

/// How the process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Everything in flight was answered.
    Drained,
    /// The time limit passed before everything in flight was answered.
    TimedOut,
    /// A second signal ended it before everything was answered.
    Aborted,
    /// A part ended unexpectedly; requests in flight were answered or timed out.
    Broken,
}
