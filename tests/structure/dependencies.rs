//! Dependencies: the ban list of deny.toml is checked against Cargo.lock without cargo-deny; the manifest lists the
//! used crates in order. The compiler reports crates that `src` does not use (`unused_crate_dependencies`).

use std::fs;

use super::sources::{root, sources};

fn quoted_after<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.split_once(key)?.1.split('"').nth(1)
}

#[test]
fn banned_crates_are_not_in_the_lock_file() {
    let deny = fs::read_to_string(root().join("deny.toml")).unwrap();
    let banned: Vec<(&str, &str)> = deny
        .lines()
        .filter_map(|line| Some((quoted_after(line, "crate =")?, quoted_after(line, "reason =")?)))
        .collect();
    assert!(banned.len() >= 5, "the ban list was not read");
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let locked: Vec<&str> = lock.lines().filter_map(|line| quoted_after(line, "name =")).collect();
    assert!(locked.contains(&"kube"), "the lock file was not read");
    let found: Vec<&(&str, &str)> = banned.iter().filter(|(name, _)| locked.contains(name)).collect();
    assert!(found.is_empty(), "banned crates in the tree: {found:?}");
}

/// The names below a heading of the manifest in a folder.
fn listed(folder: &str, heading: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let section = manifest.split(&format!("\n[{heading}]\n")).nth(1).unwrap();
    let entries = section.lines().take_while(|line| !line.starts_with('['));
    let names: Vec<String> =
        entries.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.to_owned()).collect();
    let least = if folder.is_empty() { 5 } else { 2 };
    assert!(names.len() > least, "{heading} of {folder}/Cargo.toml was not read");
    names
}

#[test]
fn dependencies_are_listed_in_order() {
    for folder in ["", "daemon"] {
        for heading in ["dependencies", "dev-dependencies"] {
            let listed = listed(folder, heading);
            assert!(listed.is_sorted(), "{heading} of {folder}/Cargo.toml: {listed:?}");
        }
    }
}

#[test]
fn each_dependency_of_tests_alone_is_used_by_one() {
    for (folder, trees) in [("", vec!["src", "tests", "benches"]), ("daemon", vec!["daemon/src"])] {
        let code: Vec<String> = trees
            .into_iter()
            .flat_map(sources)
            .flat_map(|source| source.text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>())
            .filter(|line| !line.starts_with("//"))
            .collect();
        // What is in both lists is in the second for a feature.
        let both = listed(folder, "dependencies");
        for name in listed(folder, "dev-dependencies").into_iter().filter(|name| !both.contains(name)) {
            let path = format!("{}::", name.replace('-', "_"));
            assert!(code.iter().any(|line| line.contains(&path)), "nothing uses {name} of {folder}/Cargo.toml");
        }
    }
}
