//! Arguments that commands share, and the parts that all processes have in common: threads, signals, exit codes.

mod controller;
pub mod duration;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{ArgAction, ArgGroup};
use kube::Client;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};

pub(super) use self::controller::ControllerArgs;
pub use self::controller::{CentralizedArgs, LeaseArgs, ToleranceArgs};
use super::process::{
    AdminPort, Certificate, CertificateOrigin, ControlPlane, Drain, Ended, Handle, Options, Server, SharedSecret,
    WebhookOptions,
};
use crate::admission::body;
use crate::decision::validation::Settings;
use crate::runtime::control_plane::{self, NO_ORIGIN, Origin};
use crate::runtime::tls::shared::{Access, SecretName};
use crate::runtime::tls::{ClientAuth, MinVersion, SelfSigned, Source};
use crate::runtime::{logging, server};

/// Arguments of every process.
#[derive(Debug, clap::Args)]
pub(super) struct ProcessArgs {
    /// Address of /livez, /readyz and /metrics, over plain HTTP; 0 switches it off. In a pod that the kubelet probes
    /// this is 0.0.0.0:8080. Default: 127.0.0.1:8080, when that is free.
    #[arg(long, value_name = "ADDRESS:PORT|0", value_parser = admin_port)]
    health_probe_bind_address: Option<AdminPort>,
    /// Number of worker threads. Default: one per core, at most 4.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// Arguments of a process with a webhook.
#[derive(Debug, clap::Args)]
pub(super) struct WebhookArgs {
    /// Address that serves reviews, over TLS.
    #[arg(long, default_value = "0.0.0.0:9443", value_name = "ADDRESS:PORT", display_order = 0)]
    listen: SocketAddr,
    /// Whether an object that is refused is refused before the API server checks its schema, so that one answer has all
    /// errors.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set, display_order = 0)]
    deny_early: bool,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Certificate", group(ArgGroup::new("origin").required(true)))]
struct TlsArgs {
    /// Directory with tls.crt and tls.key, such as a mounted Secret; new content is served without a restart.
    #[arg(long, value_name = "DIRECTORY", group = "origin")]
    cert_dir: Option<PathBuf>,
    /// Issue a CA and a certificate in memory, and renew the certificate before it expires.
    #[arg(long, group = "origin")]
    self_signed: bool,
    /// Keep CA and certificate in this Secret of the cluster where the process runs. All replicas share it; it is
    /// created if it does not exist, and renewed before it expires.
    #[arg(long, value_name = "NAMESPACE/NAME", group = "origin", requires = "tls_san")]
    cert_secret: Option<SecretName>,
    /// Kubeconfig of the cluster with that Secret. Default: the service account of the pod.
    #[arg(long, value_name = "FILE", requires = "cert_secret")]
    cert_kubeconfig: Option<PathBuf>,
    /// Another name or address in a certificate that fhpa issues. It always has localhost, 127.0.0.1 and ::1, and with
    /// --self-signed the address of --listen. May be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "cert_dir")]
    tls_san: Vec<String>,
    /// File to which the CA of the self-signed certificate is written, for clients to trust.
    #[arg(long, value_name = "FILE", requires = "self_signed")]
    ca_output: Option<PathBuf>,
    /// File with the CA that signs the certificates of clients; then only clients with one are served. Unless it is
    /// given, or --listen is a loopback address, no answer names other objects, and a dry run shows no assignment.
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Common name of a client that is served. May be given several times; without it clients of any name are served.
    #[arg(long, value_name = "NAME", requires = "client_ca")]
    client_cn: Vec<String>,
    /// Oldest version of TLS.
    #[arg(long, value_enum, default_value = "1.2")]
    tls_min_version: MinVersion,
    /// How often to check for a new certificate.
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = duration::positive_within_a_day)]
    cert_refresh_interval: Duration,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Maximum number of open connections.
    #[arg(long, default_value_t = 1024, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_connections: u32,
    /// Maximum number of reviews in flight; the API server retries when there are more.
    #[arg(long, default_value_t = 256, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_requests_inflight: u32,
    /// How long reviews are still accepted after SIGTERM; /readyz fails immediately.
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    shutdown_delay: Duration,
}

/// The end of every process.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct EndArgs {
    /// How long in-flight work may take on shutdown.
    #[arg(long, default_value = "10s", value_name = "DURATION", value_parser = duration::within_an_hour)]
    shutdown_timeout: Duration,
}

/// Which control plane.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Control plane")]
pub struct ControlPlaneArgs {
    /// Kubeconfig of karmada-apiserver; new content is used without a restart. Default: the variable KUBECONFIG. The
    /// service account of a pod is never used: it leads to the host cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

fn admin_port(text: &str) -> Result<AdminPort, String> {
    if text == "0" {
        return Ok(AdminPort::Off);
    }
    text.parse().map(AdminPort::At).map_err(|_| format!("{text:?} is neither ADDRESS:PORT nor 0"))
}

/// Default: reachable from this machine only.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// Most threads by default.
const THREADS: usize = 4;

impl ProcessArgs {
    pub(super) fn admin(&self) -> AdminPort {
        self.health_probe_bind_address.unwrap_or(AdminPort::Preferably(ADMIN))
    }

    fn runtime(&self) -> std::io::Result<Runtime> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        match self.threads.map_or_else(|| cores().min(THREADS), usize::from) {
            1 => Builder::new_current_thread().enable_all().build(),
            threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
        }
    }

    /// Runs a process until a signal ends it. Exit code 0 when everything in flight was answered, 1 otherwise, 2 when
    /// it could not start.
    pub(super) fn run(&self, logs: &logging::LogArgs, options: impl FnOnce() -> Result<Options, String>) -> ExitCode {
        if let Err(problem) = logging::start(logs) {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
        let options = match options() {
            Ok(options) => options,
            Err(problem) => return failed(&problem),
        };
        let runtime = match self.runtime() {
            Ok(runtime) => runtime,
            Err(error) => return failed(&format_args!("the threads cannot be started: {error}")),
        };
        let code = runtime.block_on(run(options));
        runtime.shutdown_background();
        code
    }
}

async fn run(options: Options) -> ExitCode {
    let server = match Server::bind(options).await {
        Ok(server) => server,
        Err(error) => return failed(&error),
    };
    if let Err(error) = end_on_signals(server.handle()) {
        return failed(&format_args!("cannot wait for signals: {error}"));
    }
    match server.run().await {
        Ended::Drained => ExitCode::SUCCESS,
        Ended::TimedOut | Ended::Aborted | Ended::Broken => ExitCode::FAILURE,
    }
}

/// The first signal drains, the second aborts.
fn end_on_signals(handle: Handle) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    tokio::spawn(async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            info!(signal = name, "asked to end");
            handle.shut_down();
        }
    });
    Ok(())
}

fn failed(problem: &dyn fmt::Display) -> ExitCode {
    error!("{problem}");
    ExitCode::from(2)
}

impl WebhookArgs {
    /// The rules with what only reviews have.
    pub(super) fn rules(&self, settings: Settings) -> Settings {
        Settings { deny_early: self.deny_early, ..settings }
    }

    /// The webhook, and how long it keeps serving at shutdown.
    pub(super) fn options(self) -> (WebhookOptions, Duration) {
        let Self { listen, deny_early: _, tls, limits } = self;
        let LimitArgs { max_connections, max_requests_inflight, shutdown_delay } = limits;
        let options = WebhookOptions {
            listen,
            certificate: tls.certificate(listen.ip()),
            limits: server::Limits { connections: number(max_connections), ..server::Limits::default() },
            bodies: body::Limits::default(),
            reviews: number(max_requests_inflight),
        };
        (options, shutdown_delay)
    }
}

fn number(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl TlsArgs {
    fn certificate(self, listen: IpAddr) -> Certificate {
        let Self {
            cert_dir,
            self_signed: _,
            cert_secret,
            cert_kubeconfig,
            tls_san,
            ca_output,
            client_ca,
            client_cn,
            tls_min_version,
            cert_refresh_interval,
        } = self;
        let source = match (cert_dir, cert_secret) {
            (Some(directory), _) => Source::Directory(directory).into(),
            (None, Some(secret)) => CertificateOrigin::Secret(SharedSecret {
                secret,
                access: Access::by(cert_kubeconfig),
                names: names(None, tls_san),
                patience: PATIENCE,
            }),
            (None, None) => Source::SelfSigned(Box::new(SelfSigned::new(names(Some(listen), tls_san)))).into(),
        };
        Certificate {
            source,
            client: client_ca.map(|ca_file| ClientAuth { ca_file, common_names: client_cn }),
            min_version: tls_min_version,
            ca_output,
            poll: cert_refresh_interval,
        }
    }
}

/// How long the Secret of the certificate may be unreachable at the start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Names of a certificate that is issued here, each once.
fn names(listen: Option<IpAddr>, given: Vec<String>) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let own = listen.filter(|listen| !listen.is_unspecified()).map(|listen| listen.to_string());
    for name in own.into_iter().chain(given) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl EndArgs {
    pub(super) fn drain(&self, keep_serving: Duration) -> Drain {
        Drain { keep_serving, finish: self.shutdown_timeout }
    }
}

impl ControlPlaneArgs {
    /// The control plane; `otherwise` is the alternative in the error message.
    pub(super) fn choose(self, otherwise: &str) -> Result<ControlPlane, String> {
        let variable = std::env::var_os("KUBECONFIG");
        let origin = Origin::find(self.kubeconfig, variable.as_deref(), self.context);
        origin.map(ControlPlane::Kubeconfig).ok_or_else(|| format!("{NO_ORIGIN}{otherwise}"))
    }

    /// A client of the control plane, for a short-lived command.
    ///
    /// # Errors
    /// None is configured, or its kubeconfig is invalid; the text says what to do.
    pub async fn connect(self) -> Result<Client, String> {
        let ControlPlane::Kubeconfig(origin) = self.choose("")? else { return Err("no control plane".to_owned()) };
        control_plane::connect_once(origin).await.map_err(|error| error.to_string())
    }
}
