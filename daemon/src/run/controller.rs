//! `fhpa controller`: a process with the controller.

use std::process::ExitCode;

use super::args::{ControlPlaneArgs, ControllerArgs, EndArgs, ProcessArgs};
use super::roles::Roles;
use crate::runtime::logging::LogArgs;
use crate::runtime::settings::RuleArgs;

/// Arguments of `fhpa controller`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    process: ProcessArgs,
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
Of all processes with the same Lease, one is active and the others are on standby. On SIGTERM the active process \
starts nothing new, finishes what is in flight (--shutdown-timeout) and releases the Lease; another process \
becomes active within seconds.

Examples:
  For the control plane of a kubeconfig:
    fhpa controller --kubeconfig karmada.config
  Two independent controllers on one control plane:
    fhpa controller --lease-name fhpa-blue";

impl Args {
    /// Runs, active or on standby, until a signal ends it.
    pub fn run(self) -> ExitCode {
        let Self { process, control_plane, controller, end, rules, logging } = self;
        let controller = Some(controller);
        Roles { process, webhook: None, controller, end, rules, logging }.run(|| control_plane.choose(""))
    }
}
