//! `fhpa webhook`: arguments -> options, signals, exit codes.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info, warn};

use super::process::{AdminPort, Certificate, ControlPlane, Drain, Ended, Handle, Options, Server};
use crate::admission::body;
use crate::runtime::control_plane::Origin;
use crate::runtime::settings::RuleArgs;
use crate::runtime::tls::{ClientAuth, MinVersion, SelfSigned, Source};
use crate::runtime::{logging, server};

/// Arguments of `fhpa webhook`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A trial that needs nothing else:\n  fhpa webhook --offline --self-signed --listen 127.0.0.1:9443"
)]
pub struct Args {
    /// Address on which reviews are answered, over TLS.
    #[arg(long, default_value = "0.0.0.0:9443", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Address of /livez, /readyz and /metrics, over plain HTTP; `none` for no such port. In a pod that the kubelet
    /// probes this is 0.0.0.0:8080. Default: 127.0.0.1:8080, when that is free.
    #[arg(long, value_name = "ADDRESS:PORT|none", value_parser = admin_port)]
    admin_listen: Option<AdminPort>,
    #[command(flatten)]
    tls: TlsArgs,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    logging: logging::LogArgs,
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
#[command(next_help_heading = "Control plane")]
struct ControlPlaneArgs {
    /// Kubeconfig of karmada-apiserver, where the other objects are watched. Default: the variable KUBECONFIG. The
    /// service account of a pod is never used: it leads to the host cluster.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Serve without a control plane: no checks against other objects.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"])]
    offline: bool,
}

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Limits and end")]
struct LimitArgs {
    /// Seconds in which reviews are still taken after a signal to end; /readyz fails from its start.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    drain_seconds: Duration,
    /// Seconds for reviews in flight after that.
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = seconds)]
    finish_seconds: Duration,
    /// Connections open at a time.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_connections: u32,
    /// Reviews in flight at a time; the API server tries again when there are more.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    max_reviews: u32,
    /// Threads that answer reviews. Default: one per core, at most 4.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
}

/// Seconds, with fractions, up to an hour.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    let duration = Duration::try_from_secs_f64(number).map_err(|error| error.to_string())?;
    if duration <= Duration::from_hours(1) { Ok(duration) } else { Err("more than 3600".to_owned()) }
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

impl Args {
    /// Serves until a signal ends it. Exit code 0 when everything in flight was answered, 1 otherwise, 2 when it could
    /// not start.
    pub fn run(self) -> ExitCode {
        if let Err(problem) = logging::start(&self.logging) {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
        let cores = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let threads = self.limits.threads.map_or_else(|| cores().min(THREADS), usize::from);
        let runtime = match runtime(threads) {
            Ok(runtime) => runtime,
            Err(error) => return failed(&format!("the threads cannot be started: {error}")),
        };
        let code = runtime.block_on(self.serve());
        runtime.shutdown_background();
        code
    }

    async fn serve(self) -> ExitCode {
        let control_plane = match self.control_plane.choose() {
            Ok(control_plane) => control_plane,
            Err(problem) => return failed(&problem),
        };
        let server = match Server::bind(self.options(control_plane)).await {
            Ok(server) => server,
            Err(error) => return failed(&error.to_string()),
        };
        if let Err(error) = end_on_signals(server.handle()) {
            return failed(&format!("signals cannot be waited for: {error}"));
        }
        match server.run().await {
            Ended::Drained => ExitCode::SUCCESS,
            Ended::TimedOut | Ended::Aborted => ExitCode::FAILURE,
        }
    }

    fn options(self, control_plane: ControlPlane) -> Options {
        let TlsArgs {
            cert_dir,
            self_signed: _,
            tls_san,
            ca_out,
            client_ca,
            client_cn,
            tls_min_version,
            cert_poll_seconds,
        } = self.tls;
        let source = match cert_dir {
            Some(directory) => Source::Directory(directory),
            None => Source::SelfSigned(Box::new(SelfSigned::new(names(self.listen.ip(), tls_san)))),
        };
        let connections = usize::try_from(self.limits.max_connections).unwrap_or(usize::MAX);
        Options {
            listen: self.listen,
            admin: self.admin_listen.unwrap_or(AdminPort::Preferably(ADMIN)),
            certificate: Certificate {
                source,
                client: client_ca.map(|ca_file| ClientAuth { ca_file, common_names: client_cn }),
                min_version: tls_min_version,
                ca_out,
                poll: cert_poll_seconds.max(Duration::from_millis(10)),
            },
            control_plane,
            settings: self.rules.settings(),
            limits: server::Limits { connections, ..server::Limits::default() },
            bodies: body::Limits::default(),
            reviews: usize::try_from(self.limits.max_reviews).unwrap_or(usize::MAX),
            drain: Drain { keep_serving: self.limits.drain_seconds, finish: self.limits.finish_seconds },
        }
    }
}

impl ControlPlaneArgs {
    fn choose(&self) -> Result<ControlPlane, String> {
        if self.offline {
            warn!("offline: no checks against other objects (two autoscalers on one target, bounds of a FederatedHPA)");
            return Ok(ControlPlane::Offline);
        }
        let variable = std::env::var_os("KUBECONFIG");
        let origin = Origin::find(self.kubeconfig.clone(), variable.as_deref(), self.context.clone());
        origin.map(ControlPlane::Kubeconfig).ok_or_else(|| {
            "no control plane: give the kubeconfig of karmada-apiserver with --kubeconfig, or --offline to serve \
             without checks against other objects"
                .to_owned()
        })
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

fn runtime(threads: usize) -> std::io::Result<Runtime> {
    if threads == 1 {
        return Builder::new_current_thread().enable_all().build();
    }
    Builder::new_multi_thread().worker_threads(threads).enable_all().build()
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

fn failed(problem: &str) -> ExitCode {
    error!("{problem}");
    ExitCode::from(2)
}
