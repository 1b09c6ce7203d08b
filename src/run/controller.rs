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
Of all processes with one Lease, one acts and the others stand by, ready to take over. After a
signal to end nothing new begins, what is under way ends (--shutdown-timeout), and the Lease is
released; the next process acts within seconds.

Examples:
  Act on the control plane of a kubeconfig:
    fhpa controller --kubeconfig karmada.config
  Two independent controllers on one control plane:
    fhpa controller --lease-name fhpa-blue";

impl Args {
    /// Acts, or stands by, until a signal ends it.
    pub fn run(self) -> ExitCode {
        let Self { process, control_plane, controller, end, rules, logging } = self;
        let controller = Some(controller);
        Roles { process, webhook: None, controller, end, rules, logging }.run(|| control_plane.choose(""))
    }
}
