//! The ban list of deny.toml holds for Cargo.lock, so that it is checked without cargo-deny too.

use std::fs;

use super::sources::root;

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
