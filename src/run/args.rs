//! Arguments that commands share, and what all processes do alike: threads, signals, exit codes.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};

use super::estimators::EstimatorArgs;
use super::process::{
    AdminPort, Certificate, ControlPlane, ControllerOptions, Drain, Ended, Handle, Options, Server, WebhookOptions,
};
use crate::admission::body;
use crate::decision::lease::Timings;
use crate::runtime::control_plane::Origin;
use crate::runtime::tls::{ClientAuth, MinVersion, SelfSigned, Source};
use crate::runtime::{identity, logging, server};

/// Of every process.
#[derive(Debug, clap::Args)]
pub(super) struct ProcessArgs {
    /// Address of /livez, /readyz and /metrics, over plain HTTP; `none` for no such port. In a pod that the kubelet
    /// probes this is 0.0.0.0:8080. Default: 127.0.0.1:8080, when that is free.
    #[arg(long, value_name = "ADDRESS:PORT|none", value_parser = admin_port)]
    admin_listen: Option<AdminPort>,
    /// Threads that work. Default: one per core, at most 4.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// Of a process with a webhook.
#[derive(Debug, clap::Args)]
pub(super) struct WebhookArgs {
    /// Address on which reviews are answered, over TLS.
    #[arg(long, default_value = "0.0.0.0:9443", value_name = "ADDRESS:PORT", display_order = 0)]
    listen: SocketAddr,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Certificate")]
struct TlsArgs {
    /// Directory with tls.crt and tls.key, such as a mounted Secret; new content is served without a restart.
    #[arg(long, value_name = "DIRECTORY", required_unless_present = "self_signed")]
    cert_dir: Option<PathBuf>,
    /// Make a CA and a certificate in memory, and renew the certificate before it ends.
    #[arg(long, conflicts_with = "cert_dir")]
    self_signed: bool,
    /// Another name or address for the self-signed certificate; localhost, 127.0.0.1, ::1 and the address of --listen
    /// are in it anyway. May be given several times.
    #[arg(long, value_name = "NAME", requires = "self_signed")]
    tls_san: Vec<String>,
    /// File to which the CA of the self-signed certificate is written, for clients to trust.
    #[arg(long, value_name = "FILE", requires = "self_signed")]
    ca_out: Option<PathBuf>,
    /// File with the CA that signs the certificates of clients; then only clients with one are served.
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Common name of a client that is served. May be given several times; without it every name is.
    #[arg(long, value_name = "NAME", requires = "client_ca")]
    client_cn: Vec<String>,
    /// Oldest version of TLS.
    #[arg(long, value_enum, default_value = "1.2")]
    tls_min_version: MinVersion,
    /// Seconds between two looks for a new certificate.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    cert_poll_seconds: Duration,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Connections open at a time.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_connections: u32,
    /// Reviews in flight at a time; the API server tries again when there are more.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_reviews: u32,
    /// Seconds in which reviews are still taken after a signal to end; /readyz fails from its start.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    drain_seconds: Duration,
}

/// The end of every process.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub(super) struct EndArgs {
    /// Seconds for what is in flight when the process ends.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    finish_seconds: Duration,
}

/// Which control plane.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Control plane")]
pub(super) struct ControlPlaneArgs {
    /// Kubeconfig of karmada-apiserver; new content is used without a restart. Default: the variable KUBECONFIG. The
    /// service account of a pod is never used: it leads to the host cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// Of a process with a controller.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Controller")]
pub(super) struct ControllerArgs {
    /// Name of the Lease in karmada-apiserver; who holds it acts, all others stand by.
    #[arg(long, default_value = "fhpa", value_name = "NAME", value_parser = not_empty)]
    lease_name: String,
    /// Namespace of the Lease.
    #[arg(long, default_value = "karmada-system", value_name = "NAMESPACE", value_parser = not_empty)]
    lease_namespace: String,
    /// Seconds after which a Lease that is not renewed may be taken over.
    #[arg(long, default_value = "15", value_name = "SECONDS", value_parser = seconds)]
    lease_duration: Duration,
    /// Seconds after which a leader that could not renew stops acting.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    renew_deadline: Duration,
    /// Seconds between two tries to get or to renew the Lease.
    #[arg(long, default_value = "2", value_name = "SECONDS", value_parser = seconds)]
    retry_period: Duration,
    /// Name of this process in the Lease; no two processes may have the same. Default: the host's name, which is the pod's,
    /// and something random.
    #[arg(long, value_name = "NAME", value_parser = not_empty)]
    identity: Option<String>,
    /// Objects that are worked on at a time.
    #[arg(long, default_value_t = 64, value_name = "TURNS", value_parser = clap::value_parser!(u16).range(1..=1024))]
    concurrency: u16,
    /// Seconds between two divisions of the headroom of clusters by the room they have; `none` for no such division.
    #[arg(long, default_value = "60", value_name = "SECONDS|none", value_parser = period)]
    optimize_period: Period,
    #[command(flatten)]
    estimators: EstimatorArgs,
}

/// How often something is done.
#[derive(Clone, Copy, Debug)]
enum Period {
    Never,
    Each(Duration),
}

fn period(text: &str) -> Result<Period, String> {
    match text {
        "none" => Ok(Period::Never),
        _ => match seconds(text)? {
            Duration::ZERO => Err("0 is no period; `none` turns it off".to_owned()),
            each => Ok(Period::Each(each)),
        },
    }
}

/// Seconds, with fractions, up to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    let duration = Duration::try_from_secs_f64(number).map_err(|error| error.to_string())?;
    if duration <= Duration::from_hours(1) { Ok(duration) } else { Err("more than 3600".to_owned()) }
}

fn not_empty(text: &str) -> Result<String, String> {
    if text.trim().is_empty() { Err("it is empty".to_owned()) } else { Ok(text.to_owned()) }
}

fn admin_port(text: &str) -> Result<AdminPort, String> {
    if text == "none" {
        return Ok(AdminPort::Off);
    }
    text.parse().map(AdminPort::At).map_err(|_| format!("{text:?} is neither ADDRESS:PORT nor `none`"))
}

/// Without another choice: where only this machine sees it.
const ADMIN: SocketAddr = SocketAddr::new(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);
/// Threads at most, without another choice.
const THREADS: usize = 4;

impl ProcessArgs {
    pub(super) fn admin(&self) -> AdminPort {
        self.admin_listen.unwrap_or(AdminPort::Preferably(ADMIN))
    }

    fn runtime(&self) -> std::io::Result<Runtime> {
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        match self.threads.map_or_else(|| cores().min(THREADS), usize::from) {
            1 => Builder::new_current_thread().enable_all().build(),
            threads => Builder::new_multi_thread().worker_threads(threads).enable_all().build(),
        }
    }

    /// Runs a process until a signal ends it. Exit code 0 when everything in flight was answered, 1 otherwise, 2 when it
    /// could not start.
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
        return failed(&format_args!("signals cannot be waited for: {error}"));
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
    /// The webhook, and how long it is still served at the end.
    pub(super) fn options(self) -> (WebhookOptions, Duration) {
        let Self { listen, tls, limits } = self;
        let LimitArgs { max_connections, max_reviews, drain_seconds } = limits;
        let options = WebhookOptions {
            listen,
            certificate: tls.certificate(listen.ip()),
            limits: server::Limits { connections: number(max_connections), ..server::Limits::default() },
            bodies: body::Limits::default(),
            reviews: number(max_reviews),
        };
        (options, drain_seconds)
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
            tls_san,
            ca_out,
            client_ca,
            client_cn,
            tls_min_version,
            cert_poll_seconds,
        } = self;
        let source = match cert_dir {
            Some(directory) => Source::Directory(directory),
            None => Source::SelfSigned(Box::new(SelfSigned::new(names(listen, tls_san)))),
        };
        Certificate {
            source,
            client: client_ca.map(|ca_file| ClientAuth { ca_file, common_names: client_cn }),
            min_version: tls_min_version,
            ca_out,
            poll: cert_poll_seconds.max(Duration::from_millis(10)),
        }
    }
}

/// Names of the self-signed certificate, each once.
fn names(listen: IpAddr, given: Vec<String>) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).to_vec();
    let own = (!listen.is_unspecified()).then(|| listen.to_string());
    for name in own.into_iter().chain(given) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

impl EndArgs {
    pub(super) fn drain(&self, keep_serving: Duration) -> Drain {
        Drain { keep_serving, finish: self.finish_seconds }
    }
}

impl ControlPlaneArgs {
    /// The control plane; `otherwise` says what to do without one, beside naming it.
    pub(super) fn choose(self, otherwise: &str) -> Result<ControlPlane, String> {
        let variable = std::env::var_os("KUBECONFIG");
        let origin = Origin::find(self.kubeconfig, variable.as_deref(), self.context);
        origin.map(ControlPlane::Kubeconfig).ok_or_else(|| {
            format!("no control plane: give the kubeconfig of karmada-apiserver with --kubeconfig{otherwise}")
        })
    }
}

impl ControllerArgs {
    pub(super) fn options(self) -> Result<ControllerOptions, String> {
        let Self {
            lease_name,
            lease_namespace,
            lease_duration: lease,
            renew_deadline,
            retry_period: retry,
            identity,
            concurrency,
            optimize_period,
            estimators,
        } = self;
        let timings = Timings { lease, renew_deadline, retry }.check().map_err(|problem| {
            let [lease, renew_deadline, retry] = [lease, renew_deadline, retry].map(|time| time.as_secs_f64());
            format!("{problem}: --lease-duration is {lease}, --renew-deadline {renew_deadline}, --retry-period {retry}")
        })?;
        Ok(ControllerOptions {
            namespace: lease_namespace,
            lease: lease_name,
            identity: identity.unwrap_or_else(identity::unique),
            timings,
            concurrency: usize::from(concurrency),
            optimize_period: match optimize_period {
                Period::Never => None,
                Period::Each(each) => Some(each),
            },
            estimators: estimators.settings(),
        })
    }
}
