//! Missing requirements of a test: the test reports them in a visible line and passes, or fails where the environment
//! requires them. I/O: environment, standard error.

use std::io::Write as _;

/// Names what has to be there, separated by commas.
pub const VARIABLE: &str = "FHPA_REQUIRE";
/// What it may name.
pub const NAMES: [&str; 11] = [
    "axe",
    "chromium",
    "fonts",
    "hadolint",
    "helm",
    "karmada",
    "kube-apiserver",
    "kubectl",
    "openssl",
    "promtool",
    "script",
];

/// Whether tests have to find it. A name that nothing goes by is an error: it would require nothing.
pub fn is_required(what: &str) -> bool {
    let required = std::env::var(VARIABLE).unwrap_or_default();
    let names = required.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut is = false;
    for name in names {
        assert!(NAMES.contains(&name), "{VARIABLE} names {name:?}; it may name {}", NAMES.join(", "));
        is |= name == what;
    }
    is
}

/// Says that `shows` did not run for want of `what`, and what to do. Panics where it is required.
pub fn without(what: &str, shows: &str, to_do: &str) {
    assert!(NAMES.contains(&what), "{what}");
    let line = format!("skipped without {what}: {shows} ({to_do})");
    assert!(!is_required(what), "{VARIABLE} requires {what}; {line}");
    // Past what the harness keeps of tests that pass. A closed standard error is no reason to fail.
    let _: std::io::Result<()> = writeln!(std::io::stderr().lock(), "{line}");
}
