//! Arguments -> the command to run.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use super::{crds, cron, validate};
use crate::runtime::webhook;

/// Horizontal pod autoscaling over the member clusters of a Karmada control plane.
#[derive(Debug, Parser)]
#[command(name = "fhpa", version, about, disable_help_subcommand = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the admission webhook over TLS.
    Webhook(Box<webhook::Args>),
    /// Check manifests by the rules of the webhook, without a cluster.
    Validate(validate::Args),
    /// Show when a schedule runs next.
    Cron(cron::Args),
    /// Print the CustomResourceDefinitions of both kinds.
    Crds(crds::Args),
}

impl Cli {
    /// Runs the command to its end.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Webhook(args) => args.run(),
            Command::Validate(args) => args.run(),
            Command::Cron(args) => args.run(),
            Command::Crds(args) => args.run(),
        }
    }
}
