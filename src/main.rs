//! The `fhpa` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    fhpa::cli::Cli::read().run()
}
