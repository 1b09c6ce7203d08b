//! The command line: one file per command.

mod args;
mod crds;
mod cron;
mod manifest;
mod validate;

pub use args::{Cli, Command};
