//! The webhook process: arguments -> listening -> ready -> drained.

use std::process::ExitCode;

/// Arguments of `fhpa webhook`.
#[derive(Debug, clap::Args)]
pub struct Args {}

impl Args {
    /// Serves until a signal ends it.
    pub fn run(self) -> ExitCode {
        let Self {} = self;
        ExitCode::SUCCESS
    }
}
