//! Reads the source tree once for the other tests of this folder.

use std::fs;
use std::path::{Path, PathBuf};

pub struct Source {
    /// Path below the crate's root.
    pub path: PathBuf,
    pub text: String,
}

/// The trees of the program: its own, and those of the crates below it.
pub const TREES: [&str; 6] = ["api/src", "decision/src", "simulation/src", "daemon/src", "playground/src", "src"];
/// Those with rooms.
pub const HOUSE: [&str; 2] = ["daemon/src", "src"];

/// All sources of the program.
pub fn program() -> Vec<Source> {
    TREES.into_iter().flat_map(sources).collect()
}

impl Source {
    /// The folder or file directly below a `src/`, without its ending; for the pure core the name of its crate.
    pub fn room(&self) -> String {
        let below = HOUSE.iter().find_map(|tree| self.path.strip_prefix(tree).ok()).unwrap_or(&self.path);
        Path::new(below.components().next().unwrap().as_os_str()).file_stem().unwrap().to_string_lossy().into_owned()
    }

    /// The lines that are code, with their numbers from 1: comments fall away, and so does a unit-test module at the
    /// end.
    pub fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line))
            .take_while(|(_, line)| line.trim() != "#[cfg(test)]")
            .map(|(at, line)| (at, line.split("//").next().unwrap_or_default()))
            .filter(|(_, line)| !line.trim().is_empty())
    }
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(folder), &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(!found.is_empty(), "no sources below {folder}");
    found
}

fn collect(folder: &Path, found: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push(Source { path: path.strip_prefix(root()).unwrap().to_owned(), text });
        }
    }
}
