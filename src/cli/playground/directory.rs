//! The files of a running playground: kubeconfig, samples, and the address of its command port. File system.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::Error;

const KUBECONFIG: &str = "kubeconfig";
const CONTROL: &str = "control";

/// The directory of the files.
pub(super) struct Directory {
    path: PathBuf,
    /// Whether commands find it without being told.
    usual: bool,
}

impl Directory {
    /// The given directory, or the default of this user.
    pub(super) fn find(given: Option<PathBuf>) -> Result<Self, Error> {
        // A relative path means nothing to commands that run elsewhere; the XDG specification has it ignored.
        let of = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
        let cache = || of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
        let below = || of("XDG_RUNTIME_DIR").or_else(cache);
        let default = below().map(|path| path.join("fhpa-playground"));
        // Other shells may be elsewhere.
        let given = given.map(|path| std::path::absolute(&path).unwrap_or(path));
        let usual = given.is_none() || given == default;
        given.or(default).map(|path| Self { path, usual }).ok_or(Error::NoDirectory)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether commands find it without being told.
    pub(super) fn is_usual(&self) -> bool {
        self.usual
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.path.join(KUBECONFIG)
    }

    /// Creates the directory, for this user only.
    pub(super) fn make(&self) -> Result<(), Error> {
        use std::os::unix::fs::DirBuilderExt as _;
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path);
        made.map_err(|source| Error::File { path: self.path.clone(), source })
    }

    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Error> {
        let path = self.path.join(name);
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
        std::fs::read_to_string(self.path.join(CONTROL)).ok()?.trim().parse().ok()
    }

    /// Removes the files that were written, and the directory when nothing else is in it.
    pub(super) fn clean(&self, samples: &[&str]) {
        for name in [KUBECONFIG, CONTROL].iter().chain(samples) {
            // Missing files need no removal; the others are harmless when they cannot be removed.
            let _: std::io::Result<()> = std::fs::remove_file(self.path.join(name));
        }
        let _: std::io::Result<()> = std::fs::remove_dir(&self.path);
    }
}
