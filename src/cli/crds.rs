//! The CustomResourceDefinitions, as they are applied: to standard output or as files.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::output;
use crate::api::crd;

/// Arguments of the command.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write one file per kind into this directory instead of printing them; `-` is standard output.
    #[arg(long, short, value_name = "DIR|-")]
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
        let directory = self.output.filter(|directory| directory.as_os_str() != "-");
        match directory.map_or_else(print, |directory| write_files(&directory)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                super::terminal::complain("crds", &error);
                ExitCode::from(output::UNWRITTEN)
            }
        }
    }
}

fn print() -> Result<(), CrdsError> {
    let texts: String = crd::files()?.into_iter().map(|(_, text)| text).collect();
    output::put(&mut io::stdout(), &texts).map(|_| ()).map_err(CrdsError::Output)
}

fn write_files(directory: &Path) -> Result<(), CrdsError> {
    std::fs::create_dir_all(directory).map_err(|source| CrdsError::File { path: directory.to_owned(), source })?;
    for (name, text) in crd::files()? {
        let path = directory.join(name);
        std::fs::write(&path, text).map_err(|source| CrdsError::File { path, source })?;
    }
    Ok(())
}
