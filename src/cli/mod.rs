//! The command line: one file or folder per command.

mod args;
mod completions;
mod connection;
mod crds;
mod cron;
mod dashboard;
mod doctor;
mod drill;
mod install;
mod manifest;
mod names;
mod output;
mod picture;
mod plan;
#[cfg(feature = "playground")]
mod playground;
mod program;
mod question;
pub mod recover;
mod simulate;
mod status;
mod terminal;
mod trial;
pub mod uninstall;
mod validate;

pub use args::{Cli, Command};

/// Runtime for a short-lived command that talks to a control plane.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| format!("no threads: {error}"))
}
