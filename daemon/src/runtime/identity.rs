//! A unique name for this process, and what it was built from. Reads the environment and the host name.

use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::LazyLock;

/// The revision that this binary was built from, where the build names one.
pub const REVISION: &str = match option_env!("FHPA_REVISION") {
    Some(revision) => revision,
    None => "unknown",
};

/// The version and, where the build names one, the revision: `0.1.0 (4be1c7d)`.
pub static VERSION: LazyLock<String> = LazyLock::new(|| {
    let version = env!("CARGO_PKG_VERSION");
    match REVISION {
        "unknown" => version.to_owned(),
        revision => format!("{version} ({revision})"),
    }
});

/// The host name, which in a pod is the name of the pod, and a random part: a restarted pod on the same node is another
/// process.
#[must_use]
pub fn unique() -> String {
    // Seeded by the operating system.
    let random = RandomState::new().build_hasher().finish();
    format!("{}_{:010x}", host(), random & 0xff_ffff_ffff)
}

fn host() -> String {
    let set = std::env::var("HOSTNAME").ok();
    let own = || fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let name = set.filter(|name| !name.trim().is_empty()).or_else(own).unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "fhpa".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn no_two_are_alike() {
        assert_ne!(super::unique(), super::unique());
    }
}
