//! The files of a running playground: kubeconfig, samples, and the address of its command port. File system.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::Error;

const KUBECONFIG: &str = "kubeconfig";
const CONTROL: &str = "control";

/// The directory of the files.
pub(super) struct Directory(PathBuf);

impl Directory {
    /// The given directory, or the default of this user.
    pub(super) fn find(given: Option<PathBuf>) -> Result<Self, Error> {
        let of = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let below = || of("XDG_RUNTIME_DIR").or_else(|| of("HOME").map(|home| home.join(".cache")));
        let path = given.or_else(|| below().map(|path| path.join("fhpa-playground")));
        path.map(Self).ok_or(Error::NoDirectory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.0.join(KUBECONFIG)
    }

    /// Creates the directory, for this user only.
    pub(super) fn make(&self) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        made.map_err(|source| Error::File { path: self.0.clone(), source })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.0.join(name);
        std::fs::write(&path, text).map_err(|source| Error::File { path: path.clone(), source })?;
        Ok(path)
    }

    pub(super) fn write_kubeconfig(&self, text: &str) -> Result<(), Error> {
        self.write(KUBECONFIG, text).map(|_| ())
    }

    /// Writes the address of the command port.
    pub(super) fn leave(&self, control: SocketAddr) -> Result<(), Error> {
        self.write(CONTROL, &control.to_string()).map(|_| ())
    }

    /// The address that a playground wrote.
    pub(super) fn control(&self) -> Option<SocketAddr> {
        std::fs::read_to_string(self.0.join(CONTROL)).ok()?.trim().parse().ok()
    }

    /// Removes the files that were written, and the directory when nothing else is in it.
    pub(super) fn clean(&self, samples: &[&str]) {
        for name in [KUBECONFIG, CONTROL].iter().chain(samples) {
            // Missing files need no removal; the others are harmless when they cannot be removed.
            let _: std::io::Result<()> = std::fs::remove_file(self.0.join(name));
        }
        let _: std::io::Result<()> = std::fs::remove_dir(&self.0);
    }
}
