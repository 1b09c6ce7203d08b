//! `fhpa playground`: arguments -> a running playground, or a command to the running one.

mod client;
mod control;
mod directory;
mod samples;
mod serving;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Subcommand;

use crate::dashboard::loopback;
use crate::dashboard::preview::Preview;
use crate::decision::validation::names;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Args {
    /// Command for the running playground; without one, a playground is started.
    #[command(subcommand)]
    word: Option<Word>,
    #[command(flatten)]
    start: Start,
    /// Directory of the kubeconfig and of what the running playground leaves for these commands. Default: one below
    /// XDG_RUNTIME_DIR, XDG_CACHE_HOME or the home directory's .cache.
    #[arg(long, global = true, value_name = "DIRECTORY", env = "FHPA_PLAYGROUND")]
    directory: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  A Karmada with three member clusters, on this machine, until Ctrl-C:
    fhpa playground
  In another shell, work for the pods of a workload, and less:
    fhpa playground load shop 3500m
    fhpa playground load shop 0
  A cluster is lost and comes back; a cluster gets four more nodes:
    fhpa playground fail member1
    fhpa playground recover member1
    fhpa playground nodes member2 +4

It is for trying and testing only: all state is in memory, and there is no authentication.";

/// Arguments of a start.
#[derive(Clone, Debug, clap::Args)]
struct Start {
    /// Member clusters, named member1, member2, ...
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    clusters: u32,
    /// Nodes of each cluster.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=100))]
    nodes: u32,
    /// CPUs of each node.
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cpu: u32,
    /// Address of the control plane, of the loopback: there is no authentication. Port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT", value_parser = loopback)]
    listen: SocketAddr,
    /// Workloads leave a failed cluster, as with Karmada's failover.
    #[arg(long)]
    failover: bool,
}

/// What can be told to a playground that runs.
#[derive(Clone, Debug, Subcommand)]
enum Word {
    /// Set the load of a workload, over all clusters together.
    Load {
        /// Name of a Deployment or StatefulSet.
        #[arg(value_parser = names::object)]
        workload: String,
        /// CPU, for example 3500m or 2.
        cpu: String,
        /// Namespace of the workload.
        #[arg(long, short, default_value = "default", value_parser = names::namespace)]
        namespace: String,
    },
    /// Disconnect a cluster.
    Fail {
        /// Name of the cluster.
        #[arg(value_parser = names::object)]
        cluster: String,
    },
    /// Connect a cluster again.
    Recover {
        /// Name of the cluster.
        #[arg(value_parser = names::object)]
        cluster: String,
    },
    /// Add nodes to a cluster, or remove some.
    Nodes {
        /// Name of the cluster.
        #[arg(value_parser = names::object)]
        cluster: String,
        /// How many: +4 or -1.
        #[arg(allow_negative_numbers = true)]
        by: i32,
    },
    /// Show the clusters.
    Status,
}

impl Args {
    /// Starts a playground and runs it until a signal ends it, or sends a command to the running one. `preview` is what
    /// its dashboard asks.
    pub fn run(self, preview: Arc<dyn Preview>) -> ExitCode {
        let Self { word, start, directory } = self;
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return failed(&error),
        };
        let done = runtime.block_on(async {
            let directory = directory::Directory::find(directory)?;
            match word {
                None => Box::pin(serving::serve(&start, &directory, preview)).await,
                Some(word) => client::run(&word, &directory).await,
            }
        });
        runtime.shutdown_background();
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        }
    }
}

fn failed(error: &dyn std::fmt::Display) -> ExitCode {
    anstream::eprintln!("fhpa playground: {error}");
    ExitCode::FAILURE
}

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("{address} cannot be listened on: {source}; --listen chooses another address")]
    Listen { address: SocketAddr, source: std::io::Error },
    #[error("a playground runs already, with its files in {0}; end it with Ctrl-C, or choose another --directory")]
    Running(PathBuf),
    #[error("no playground runs with its files in {0}; start one with `fhpa playground`")]
    NotRunning(PathBuf),
    #[error(
        "there is no directory for its files: none of XDG_RUNTIME_DIR, XDG_CACHE_HOME and HOME is an absolute path; give one with --directory"
    )]
    NoDirectory,
    #[error(transparent)]
    Dashboard(#[from] crate::dashboard::Error),
    #[error(transparent)]
    Fleet(#[from] playground::fleet::Fault),
    #[error(transparent)]
    Webhook(#[from] crate::run::process::Error),
    #[error("the definitions of fhpa's kinds cannot be made: {0}")]
    Definitions(#[from] crate::api::crd::CrdError),
    #[error(transparent)]
    Installation(#[from] crate::install::manifests::ManifestError),
    #[error("the running playground does not answer: {0}")]
    Answer(String),
    #[error("{0}")]
    Refused(String),
}
