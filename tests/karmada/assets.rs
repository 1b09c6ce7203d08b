//! Finds the programs of a real Karmada. I/O: reads directories.

use std::path::{Path, PathBuf};

/// Programs that the suite starts.
const PROGRAMS: [&str; 11] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "karmada-controller-manager",
    "karmada-scheduler",
    "karmada-aggregated-apiserver",
    "karmada-webhook",
    "karmada-metrics-adapter",
    "karmada-agent",
    "karmadactl",
];

/// What of Karmada's source tree is read: definitions, and manifests of its installation.
const MANIFESTS: [&str; 2] = ["charts/karmada/_crds/bases", "artifacts/deploy"];

/// A directory with all programs.
#[derive(Clone, Debug)]
pub struct Assets {
    directory: PathBuf,
}

impl Assets {
    /// The directory that `KARMADA_ASSETS` names.
    ///
    /// # Errors
    /// Says what is missing.
    pub fn find() -> Result<Self, String> {
        let Some(directory) = std::env::var_os("KARMADA_ASSETS").map(PathBuf::from) else {
            return Err("KARMADA_ASSETS names no directory".to_owned());
        };
        let assets = Self { directory };
        let programs = PROGRAMS.iter().filter(|name| !assets.program(name).exists()).copied();
        let manifests = MANIFESTS.iter().filter(|path| !assets.manifest(path).exists()).copied();
        let missing: Vec<&str> = programs.chain(manifests).collect();
        if missing.is_empty() {
            return Ok(assets);
        }
        Err(format!("{} lacks {}", assets.directory.display(), missing.join(", ")))
    }

    /// Where a program is: under its own name or, as `karmadactl`, under `karmada-karmadactl`.
    pub fn program(&self, name: &str) -> PathBuf {
        let own = self.directory.join(name);
        if own.exists() { own } else { self.directory.join(format!("karmada-{name}")) }
    }

    /// A file or directory of Karmada's source tree, which is the directory `karmada` beside the programs.
    pub fn manifest(&self, path: impl AsRef<Path>) -> PathBuf {
        self.directory.join("karmada").join(path)
    }
}
