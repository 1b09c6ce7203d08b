//! `.ci/release`, in copies of what it reads.

use std::path::Path;
use std::process::Command;

use super::path;

/// What it reads, with a changelog of its own.
fn tree(changelog: &str) -> tempfile::TempDir {
    let tree = tempfile::tempdir().unwrap();
    for file in [".ci/release", "Cargo.toml", "charts/fhpa/Chart.yaml"] {
        copy(file, tree.path());
    }
    for file in std::fs::read_dir(path("crds")).unwrap() {
        copy(&format!("crds/{}", file.unwrap().file_name().to_str().unwrap()), tree.path());
    }
    std::fs::write(tree.path().join("CHANGELOG.md"), changelog).unwrap();
    tree
}

fn copy(file: &str, to: &Path) {
    let to = to.join(file);
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    std::fs::copy(path(file), to).unwrap();
}

/// What it wrote to the error output, if it failed. Without Helm in its path, which packages charts that are whole
/// only.
fn release(tree: &Path, tag: &str) -> Result<(), String> {
    let mut release = Command::new(tree.join(".ci/release"));
    let output = release.args([tag, "release"]).env("PATH", "/usr/bin:/bin").output().unwrap();
    output.status.success().then_some(()).ok_or_else(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn a_release_has_the_notes_of_its_version_the_definitions_and_checksums() {
    let tree = tree(&format!(
        "# Changelog\n\n## Unreleased\n\nlater\n\n## {VERSION} - 2026-12-01\n\n* first\n\n## 0.0.1\n\nold\n"
    ));
    release(tree.path(), &format!("v{VERSION}")).unwrap();
    let read = |file: &str| std::fs::read_to_string(tree.path().join("release").join(file)).unwrap();
    assert_eq!(read("notes.md").trim(), "* first");
    assert_eq!(read("fhpa-crds.yaml").matches("kind: CustomResourceDefinition").count(), 2);
    assert!(read("SHA256SUMS").lines().any(|line| line.ends_with("  fhpa-crds.yaml")));
    let mut check = Command::new("sha256sum");
    check.args(["--check", "SHA256SUMS"]).current_dir(tree.path().join("release"));
    assert!(check.output().unwrap().status.success());
}

#[test]
fn a_tag_that_the_tree_does_not_confirm_is_refused() {
    let tree = tree("# Changelog\n\n## Unreleased\n\nlater\n");
    assert_eq!(release(tree.path(), "v99.0.0"), Err(format!("no release 99.0.0: Cargo.toml has {VERSION}\n")));
    let without = release(tree.path(), &format!("v{VERSION}"));
    assert_eq!(without, Err(format!("no release {VERSION}: CHANGELOG.md has no section '## {VERSION}'\n")));
    assert!(!tree.path().join("release").exists());
}
