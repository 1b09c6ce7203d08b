//! `fhpa dashboard`: a web page of what runs on a control plane, on this machine alone.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};

use super::connection::ConnectionArgs;
use super::names;
use super::plan::{Planner, PlannerArgs};
use super::terminal::Color;
use crate::dashboard::{Dashboard, Options, Probes, loopback};
use crate::run::{LeaseArgs, ToleranceArgs};
use crate::runtime::clock;
use crate::runtime::zones::ZoneDatabase;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Address of the page, of the loopback interface: others cannot reach it. Port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT", value_parser = loopback)]
    listen: SocketAddr,
    /// The one namespace that is shown, for users who may not list objects of all. Default: all of them.
    #[arg(short, long, value_name = "NAMESPACE", value_parser = names::namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    lease: LeaseArgs,
    #[command(flatten)]
    planner: PlannerArgs,
    #[command(flatten)]
    tolerance: ToleranceArgs,
}

const EXAMPLES: &str = "\
The command prints an address with a token: open it in a browser on this machine. The page only reads, with the \
rights of the user and by one watch for each kind, and says what the user may not read. A form shows what an \
edit would do, as `fhpa plan` does, and a page what would not run if clusters were lost, as `fhpa drill` does; the \
flags for estimators, Centralized mode, failover and rules are those of these commands. Ctrl-C stops it.

Examples:
  fhpa dashboard
  fhpa dashboard --kubeconfig karmada.config --listen 127.0.0.1:8765
  fhpa dashboard --namespace shop

Exit codes:
  0  it was stopped
  2  the arguments or the kubeconfig cannot be used, or the address is taken";

/// Nothing could be served.
const UNUSABLE: u8 = 2;

impl Args {
    /// Runs the command until the user ends it.
    pub(super) fn run(self, color: Color) -> ExitCode {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let served = match runtime {
            Ok(runtime) => {
                let served = runtime.block_on(self.serve(color));
                // A preview that still runs only reads.
                runtime.shutdown_background();
                served
            }
            Err(error) => Err(format!("no threads: {error}")),
        };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(problem) => {
                super::terminal::complain("dashboard", &problem);
                ExitCode::from(UNUSABLE)
            }
        }
    }

    async fn serve(self, color: Color) -> Result<(), String> {
        let Self { listen, namespace, connection, lease, planner, tolerance } = self;
        let unheard = |error| format!("signals cannot be received: {error}");
        let mut interrupted = signal(SignalKind::interrupt()).map_err(unheard)?;
        let mut terminated = signal(SignalKind::terminate()).map_err(unheard)?;
        let client = connection.connect().await?;
        let LeaseArgs { lease_name, lease_namespace } = lease;
        let options = Options {
            client,
            namespace,
            listen,
            clock: Arc::new(clock::wall),
            zones: Arc::new(ZoneDatabase::open()),
            zone: planner.zone(),
            probes: Probes { lease: (lease_namespace, lease_name), estimators: planner.estimators() },
            preview: Arc::new(Planner::of(planner).tolerating(tolerance.settings())),
        };
        let dashboard = Dashboard::bind(options).await.map_err(|error| error.to_string())?;
        // A reader that exits early has seen enough.
        let _ = writeln!(color.stdout(), "{}\nOpen it in a browser on this machine. Ctrl-C stops it.", dashboard.url());
        let stop = async {
            tokio::select! {
                _ = interrupted.recv() => {}
                _ = terminated.recv() => {}
            }
        };
        dashboard.run(stop).await;
        Ok(())
    }
}
