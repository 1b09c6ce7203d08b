//! `fhpa webhook`: a process with the webhook.

use std::process::ExitCode;

use tracing::warn;

use super::args::{ControlPlaneArgs, EndArgs, ProcessArgs, WebhookArgs};
use super::process::ControlPlane;
use super::roles::Roles;
use crate::runtime::logging::LogArgs;
use crate::runtime::settings::RuleArgs;

/// Arguments of `fhpa webhook`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "A trial that needs nothing else:\n  fhpa webhook --offline --self-signed --listen 127.0.0.1:9443"
)]
pub struct Args {
    #[command(flatten)]
    process: ProcessArgs,
    #[command(flatten)]
    webhook: WebhookArgs,
    #[command(flatten)]
    control_plane: ControlPlaneArgs,
    /// Serve without a control plane: no checks against other objects.
    #[arg(long, conflicts_with_all = ["kubeconfig", "context"], help_heading = "Control plane")]
    offline: bool,
    #[command(flatten)]
    end: EndArgs,
    #[command(flatten)]
    rules: RuleArgs,
    #[command(flatten)]
    logging: LogArgs,
}

impl Args {
    /// Serves until a signal ends it.
    pub fn run(self) -> ExitCode {
        let Self { webhook, process, control_plane, offline, end, rules, logging } = self;
        let webhook = Some(webhook);
        Roles { process, webhook, controller: None, end, rules, logging }.run(|| {
            if offline {
                warn!(
                    "offline: no checks against other objects (two autoscalers on one target, bounds of a FederatedHPA)"
                );
                return Ok(ControlPlane::Offline);
            }
            control_plane.choose(", or --offline to serve without checks against other objects")
        })
    }
}
