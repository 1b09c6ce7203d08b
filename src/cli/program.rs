//! How the program was called.

use std::path::{Path, PathBuf};

/// Name of the binary as a plugin of kubectl.
const PLUGIN: &str = "kubectl-fhpa";

/// The name of the program in usage and messages: `fhpa`, or `kubectl fhpa` as a plugin.
pub(super) fn name() -> &'static str {
    let called = std::env::args_os().next().map(PathBuf::from);
    let stem = called.as_deref().and_then(Path::file_stem).unwrap_or_default();
    if stem == PLUGIN { "kubectl fhpa" } else { "fhpa" }
}
