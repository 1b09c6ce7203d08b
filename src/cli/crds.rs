//! The CustomResourceDefinitions, as they are applied: to standard output or as files.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::api::crd;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one file per kind into this directory instead of printing them.
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Why the CRDs could not be written.
#[derive(Debug, thiserror::Error)]
enum CrdsError {
    #[error("the CRDs cannot be made: {0}")]
    Made(#[from] crd::CrdError),
    #[error("{path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error("standard output: {0}")]
    Output(io::Error),
}

impl Args {
    /// Runs the command.
    pub(super) fn run(self) -> ExitCode {
        let Self { output } = self;
        let done = match output {
            Some(directory) => write_files(&directory),
            None => print(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                anstream::eprintln!("fhpa crds: {error}");
                ExitCode::FAILURE
            }
        }
    }
}

fn print() -> Result<(), CrdsError> {
    let mut output = io::stdout().lock();
    for (_, text) in crd::files()? {
        match output.write_all(text.as_bytes()) {
            // A reader that exits early (`fhpa crds | head`) is not a failure.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(CrdsError::Output)?,
        }
    }
    Ok(())
}

fn write_files(directory: &std::path::Path) -> Result<(), CrdsError> {
    std::fs::create_dir_all(directory).map_err(|source| CrdsError::File { path: directory.to_owned(), source })?;
    for (name, text) in crd::files()? {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|source| CrdsError::File { path, source })?;
    }
    Ok(())
}
