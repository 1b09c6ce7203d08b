//! Manifests -> the webhook's findings, shown in the file.

use std::process::ExitCode;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    /// Runs the command.
    pub(super) fn run(self) -> ExitCode {
        let Self {} = self;
        ExitCode::SUCCESS
    }
}
