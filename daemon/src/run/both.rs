//! `fhpa run`: a process with webhook and controller.

use std::process::ExitCode;

use super::args::{ControlPlaneArgs, ControllerArgs, EndArgs, ProcessArgs, WebhookArgs};
use super::roles::Roles;
use crate::runtime::logging::LogArgs;
use crate::runtime::settings::RuleArgs;

/// Arguments of `fhpa run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    process: ProcessArgs,
    #[command(flatten)]
    webhook: WebhookArgs,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    #[command(flatten)]
    controller: ControllerArgs,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    logging: LogArgs,
}

const EXAMPLES: &str = "\
Every process serves the webhook; of those with the same Lease, one runs the controller, too.

Example:
  fhpa run --kubeconfig karmada.config --cert-dir /tls";

impl Args {
    /// Serves, active or on standby as a controller, until a signal ends it.
    pub fn run(self) -> ExitCode {
        let Self { webhook, process, control_plane, controller, end, rules, logging } = self;
        let (webhook, controller) = (Some(webhook), Some(controller));
        Roles { process, webhook, controller, end, rules, logging }.run(|| control_plane.choose(""))
    }
}
