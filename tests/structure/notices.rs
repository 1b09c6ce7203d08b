//! The notices of the image: each linked crate, its licence, and the text that its licence requires.
//!
//! `UPDATE_NOTICES=1 cargo test --test all -- structure::notices` writes the file again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::sources::root;

const FILE: &str = "THIRD-PARTY-NOTICES.txt";
const HEAD: &str = "\
The image of fhpa contains the following crates. A crate that may be used under the Apache License, Version 2.0, is used under
it; its text is in LICENSE. The texts of all other licences, and the notices of crates, follow the list.
";
/// What files with a licence or a notice are called.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];
const RULE: &str = "--------------------------------------------------------------------------------";

struct Package {
    title: String,
    license: String,
    authors: String,
    folder: PathBuf,
}

impl Package {
    fn of(package: &Value) -> Self {
        let text = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let authors: Vec<&str> = package["authors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        Self {
            title: format!("{} {}", text("name"), text("version")),
            license: text("license"),
            authors: authors.join(", "),
            folder: Path::new(&text("manifest_path")).parent().unwrap().to_owned(),
        }
    }

    /// Whether it may be used under Apache-2.0 alone.
    fn is_apache(&self) -> bool {
        let whole = !self.license.contains(" AND ") && !self.license.contains('(');
        whole && self.license.split([' ', '/']).any(|word| word == "Apache-2.0")
    }

    /// The texts to pass on. Of a crate under Apache-2.0 these are notices.
    fn texts(&self) -> Vec<String> {
        let mut files: Vec<PathBuf> = fs::read_dir(&self.folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_file())
            .collect();
        files.sort();
        let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().to_uppercase();
        let wanted = |path: &&PathBuf| {
            let names = if self.is_apache() { &["NOTICE"] } else { NAMES };
            names.iter().any(|start| name(path).starts_with(start))
        };
        files.iter().filter(wanted).map(|path| fs::read_to_string(path).unwrap()).collect()
    }
}

/// The crates that the image links: those of its features and its platform.
fn linked() -> Vec<Package> {
    let arguments = ["metadata", "--format-version=1", "--locked", "--offline", "--no-default-features"];
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--filter-platform", "x86_64-unknown-linux-musl"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["id"].as_str().unwrap(), node))
        .collect();
    let own = metadata["resolve"]["root"].as_str().unwrap();
    let (mut found, mut open) = (BTreeSet::new(), vec![own]);
    while let Some(id) = open.pop() {
        if !found.insert(id) {
            continue;
        }
        let links =
            |dependency: &&Value| dependency["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
        let dependencies = nodes[id]["deps"].as_array().unwrap().iter().filter(links);
        open.extend(dependencies.map(|dependency| dependency["pkg"].as_str().unwrap()));
    }
    found.remove(own);
    let packages = metadata["packages"].as_array().unwrap().iter();
    // What comes from no registry is of this workspace.
    let others = packages.filter(|package| !package["source"].is_null());
    let mut all: Vec<Package> =
        others.filter(|package| found.contains(package["id"].as_str().unwrap())).map(Package::of).collect();
    all.sort_by(|a, b| a.title.cmp(&b.title));
    all
}

/// Without spaces at line ends, and one kind of line end.
fn tidy(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

fn notices(packages: &[Package]) -> String {
    let mut file = HEAD.to_owned();
    file.push('\n');
    for Package { title, license, .. } in packages {
        writeln!(file, "{title}: {license}").unwrap();
    }
    let mut texts: BTreeMap<String, (String, Vec<&str>)> = BTreeMap::new();
    let mut without = Vec::new();
    for package in packages {
        let found = package.texts();
        if found.is_empty() && !package.is_apache() {
            without.push(package);
        }
        for text in found {
            let words: Vec<&str> = text.split_whitespace().collect();
            let (_, titles) = texts.entry(words.join(" ")).or_insert_with(|| (tidy(&text), Vec::new()));
            if !titles.contains(&&*package.title) {
                titles.push(&package.title);
            }
        }
    }
    let mut texts: Vec<(String, Vec<&str>)> = texts.into_values().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, titles) in texts {
        write!(file, "\n{RULE}\n{}\n\n{text}\n", titles.join(", ")).unwrap();
    }
    write!(file, "\n{RULE}\nCrates that are published without a text of their licence, and their authors:\n\n")
        .unwrap();
    for Package { title, license, authors, .. } in without {
        writeln!(file, "{title}: {license}; {authors}").unwrap();
    }
    file
}

/// What is linked on other machines cannot be resolved without fetching it.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn the_notices_are_those_of_the_crates_in_the_image() {
    let packages = linked();
    assert!(packages.len() > 200, "only {} crates were found", packages.len());
    let wanted = notices(&packages);
    let path = root().join(FILE);
    if std::env::var_os("UPDATE_NOTICES").is_some() {
        fs::write(&path, &wanted).unwrap();
    }
    let stored = fs::read_to_string(&path).unwrap_or_default();
    let differs = stored.lines().zip(wanted.lines()).find(|(stored, wanted)| stored != wanted);
    assert!(stored == wanted, "{FILE} is not what the crates say; UPDATE_NOTICES=1 writes it anew: {differs:?}");
}

#[test]
fn the_notices_name_no_crate_that_is_not_locked() {
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let notices = fs::read_to_string(root().join(FILE)).unwrap();
    let (_, list) = notices.split_once("\n\n").unwrap();
    let (list, _) = list.split_once("\n\n").unwrap();
    let mut seen = 0;
    for line in list.lines() {
        let (title, license) = line.split_once(": ").unwrap();
        let (name, version) = title.split_once(' ').unwrap();
        assert!(
            lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n")),
            "{title} is not in Cargo.lock"
        );
        assert!(!license.is_empty(), "{title} has no licence");
        seen += 1;
    }
    assert!(seen > 200, "only {seen} crates are listed");
    let image = fs::read_to_string(root().join("Dockerfile")).unwrap();
    assert!(image.contains(&format!("COPY {FILE} /")), "the image does not carry the notices");
}
