//! The chart, the certificates' files, the guides and the Dockerfile. Tests that need a Helm engine or a linter report
//! when there is none; `FHPA_FETCH=1` downloads both.

mod certificates;
mod command;
pub mod documents;
pub mod engine;
mod fields;
mod hooks;
mod image;
mod monitoring;
mod objects;
pub mod package;
mod reference;
mod release;
mod renderings;
mod values;
mod wiring;
mod workflows;

use std::path::PathBuf;

/// A file or folder of the repository.
fn path(below: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(below)
}

/// The text of a file of the repository.
fn text(below: &str) -> String {
    std::fs::read_to_string(path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
}
