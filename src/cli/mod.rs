//! The command line: one file or folder per command.

mod args;
mod color;
mod completions;
mod crds;
mod cron;
mod manifest;
mod plan;
mod simulate;
mod trial;
mod validate;

pub use args::{Cli, Command};
