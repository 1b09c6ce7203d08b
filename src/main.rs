//! The `fhpa` command.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    fhpa::cli::Cli::parse().run()
}
