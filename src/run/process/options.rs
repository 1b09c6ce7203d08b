//! What a process is put together of. No I/O.

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

/// What the process knows of the control plane.
pub enum ControlPlane {
    /// Nothing: no checks against other objects.
    Offline,
    /// What watches bring through this client.
    Watched(Client),
    /// What watches bring through a client by this kubeconfig, which may change under way.
    Kubeconfig(Origin),
}

/// Where the certificate comes from.
pub enum CertificateOrigin {
    /// From what is here already.
    Given(Source),
    /// From a Secret that all replicas share.
    Secret(SharedSecret),
}

impl From<Source> for CertificateOrigin {
    fn from(source: Source) -> Self {
        Self::Given(source)
    }
}

/// A Secret in which all replicas keep their certificate.
#[derive(Clone, Debug)]
pub struct SharedSecret {
    /// Which one.
    pub secret: SecretName,
    /// The way to its cluster.
    pub access: Access,
    /// DNS names and IP addresses of the certificate.
    pub names: Vec<String>,
    /// How long there may be no certificate at the start.
    pub patience: Duration,
}

/// The certificate and who may connect.
pub struct Certificate {
    /// Where it comes from.
    pub source: CertificateOrigin,
    /// Whose certificates are asked for; none: nobody's.
    pub client: Option<ClientAuth>,
    /// Oldest protocol version.
    pub min_version: MinVersion,
    /// Where the CA of a self-signed certificate is written.
    pub ca_output: Option<PathBuf>,
    /// Time between two looks for a new certificate.
    pub poll: Duration,
}

/// The webhook.
pub struct WebhookOptions {
    /// Where reviews come in.
    pub listen: SocketAddr,
    /// The certificate.
    pub certificate: Certificate,
    /// Bounds on connections.
    pub limits: server::Limits,
    /// Bounds on bodies.
    pub bodies: body::Limits,
    /// Reviews in flight at a time.
    pub reviews: usize,
}

impl WebhookOptions {
    /// Self-signed on a free port of the loopback.
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

/// The controller, which acts while it holds a Lease.
#[derive(Clone, Debug)]
pub struct ControllerOptions {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub lease: String,
    /// Unique among the processes that compete.
    pub identity: String,
    /// How long things take.
    pub timings: Timings,
    /// Turns under way at a time.
    pub concurrency: usize,
    /// How often headroom is divided again; none: never.
    pub rebalance_period: Option<Duration>,
    /// How long clusters that fail or leave are waited for.
    pub failover: Failover,
    /// How Centralized workloads are scaled.
    pub centralized: Centralized,
    /// How karmada-scheduler-estimators are asked; none: they are not.
    pub estimators: Option<grpc::Settings>,
    /// What the leader keeps as it is to be in the control plane; none: nothing.
    pub guard: Option<GuardOptions>,
}

/// What the leader keeps as it is to be.
#[derive(Clone, Debug)]
pub struct GuardOptions {
    /// Whether objects that Karmada has too are put back; otherwise they are only reported.
    pub manage_karmada: bool,
    /// Whether the webhook is asked about changes of the definitions, too.
    pub guard_definitions: bool,
    /// The registration of the webhook; none: it is somebody else's work.
    pub registration: Option<Registration>,
}

/// Where karmada-apiserver is to find the webhook.
#[derive(Clone, Debug)]
pub struct Registration {
    /// `https://HOST:PORT`
    pub base_url: String,
    /// PEM file with the CAs that it is to trust; new content is used without a restart. None: those of the Secret that the
    /// webhook of this process shares.
    pub ca_file: Option<PathBuf>,
}

/// The end of the process.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Time in which reviews are still taken after the process is no longer ready.
    pub keep_serving: Duration,
    /// Time for reviews in flight after that, and for reconciles under way.
    pub finish: Duration,
}

/// All of it.
pub struct Options {
    /// The webhook; none: no reviews are taken.
    pub webhook: Option<WebhookOptions>,
    /// The controller; none: nothing is written. It needs a control plane.
    pub controller: Option<ControllerOptions>,
    /// Where probes and metrics are.
    pub admin: AdminPort,
    /// The other objects.
    pub control_plane: ControlPlane,
    /// What the operator chose of the rules.
    pub settings: Settings,
    /// The end.
    pub drain: Drain,
}

impl Options {
    /// The webhook on [`WebhookOptions::loopback`], offline, without a port for probes: for trials and tests.
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

    /// The webhook's part, to be changed; where there was none, that of the loopback.
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
    /// The CA that karmada-apiserver is to trust cannot be read.
    #[error("no CA to register the webhook with (--webhook-ca-file): {0}")]
    Authority(tls::Error),
    /// It is not said which CA karmada-apiserver is to trust.
    #[error(
        "--webhook-url needs the CA of the webhook's certificate: give --webhook-ca-file FILE, or serve with --cert-secret"
    )]
    NoAuthority,
    /// The kubeconfig cannot be used.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// What the leader is to keep cannot be made.
    #[error(transparent)]
    Installation(#[from] ManifestError),
    /// The controller has nothing to control.
    #[error("the controller needs a control plane: give the kubeconfig of karmada-apiserver with --kubeconfig")]
    NoControlPlane,
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
    /// A part of it ended that must not; what was in flight was answered or timed out.
    Broken,
}
