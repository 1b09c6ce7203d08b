//! The `fhpa` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    match fhpa::cli::Cli::read() {
        Ok(command) => command.run(),
        Err(code) => code,
    }
}
