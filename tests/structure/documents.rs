//! Documents and source agree: references resolve, and names in documents exist.

use std::collections::BTreeSet;
use std::fs;

use super::sources::{HOUSE, Source, TREES, program, root, sources};
use crate::chart::documents::guides;

/// What a reference to a document begins with, in comments.
const FOLDER: &str = "docs/";

/// The name of a heading in links.
pub fn anchor(heading: &str) -> String {
    let words = heading.trim_start_matches('#').trim().to_lowercase();
    words
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// A document without its blocks of code.
fn prose(document: &str) -> String {
    document.split("\n```").step_by(2).collect()
}

/// The names of all headings; lines of code blocks are none.
pub fn anchors(document: &str) -> Vec<String> {
    prose(document).lines().filter(|line| line.starts_with('#')).map(anchor).collect()
}

/// References such as `docs/design.md#failover` with their lines: document and heading.
fn references(source: &Source) -> Vec<(usize, String, String)> {
    let mut found = Vec::new();
    for (at, line) in source.text.lines().enumerate() {
        for rest in line.split(FOLDER).skip(1) {
            let Some((name, rest)) = rest.split_once(".md#") else { continue };
            if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
                let heading = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap();
                found.push((at + 1, format!("{FOLDER}{name}.md"), heading.to_owned()));
            }
        }
    }
    found
}

fn dangling(source: &Source) -> Vec<String> {
    let resolves = |document: &str, heading: &str| {
        fs::read_to_string(root().join(document)).is_ok_and(|text| anchors(&text).iter().any(|known| known == heading))
    };
    references(source)
        .into_iter()
        .filter(|(_, document, heading)| !resolves(document, heading))
        .map(|(at, document, heading)| format!("{}:{at}: {document}#{heading}", source.path.display()))
        .collect()
}

#[test]
fn references_of_comments_lead_to_headings_that_exist() {
    // This file has a wrong one, to see that it is found.
    let here = |source: &Source| source.path.ends_with("structure/documents.rs");
    let all: Vec<Source> = TREES
        .into_iter()
        .chain(["embedded-apiserver/src", "decision/tests", "tests", "benches"])
        .flat_map(sources)
        .filter(|source| !here(source))
        .collect();
    let wrong: Vec<String> = all.iter().flat_map(dangling).collect();
    assert!(wrong.is_empty(), "references that lead nowhere:\n{}", wrong.join("\n"));
    let loose = all.iter().find(|source| source.text.contains("(design"));
    assert!(loose.is_none(), "{}: a reference is not a link", loose.unwrap().path.display());
    let seen: usize = all.iter().map(|source| references(source).len()).sum();
    assert!(seen > 80, "only {seen} references were found");
}

#[test]
fn a_reference_that_leads_nowhere_is_seen() {
    let text = "//! Pure (docs/design.md#failover, docs/design.md#no-such-heading).\n/// docs/none.md#failover\n";
    let source = Source { path: "decision/src/plan.rs".into(), text: text.into() };
    assert_eq!(
        dangling(&source),
        ["decision/src/plan.rs:1: docs/design.md#no-such-heading", "decision/src/plan.rs:2: docs/none.md#failover"]
    );
}

/// Spans of code in `document` that are paths of this tree.
fn paths(document: &str) -> Vec<&str> {
    const FOLDERS: &[&str] = &[
        "src/",
        "daemon/",
        "api/",
        "decision/",
        "simulation/",
        "playground/",
        "embedded-apiserver/",
        "tests/",
        "benches/",
        "docs/",
        "charts/",
        "crds/",
        "examples/",
        "fuzz/",
        "certs/",
    ];
    let path = |span: &&str| {
        FOLDERS.iter().any(|folder| span.starts_with(folder)) && !span.contains(|c: char| c.is_whitespace() || c == '*')
    };
    document.split('`').skip(1).step_by(2).filter(path).filter_map(|path| path.split('#').next()).collect()
}

#[test]
fn paths_that_documents_name_exist() {
    let mut seen = 0;
    for guide in guides() {
        let document = prose(&fs::read_to_string(root().join(&guide)).unwrap());
        for path in paths(&document) {
            assert!(root().join(path).exists() || guide.starts_with("charts/"), "{guide}: there is no {path}");
            seen += 1;
        }
    }
    assert!(seen > 60, "only {seen} paths were found");
}

/// Flags that documents name and no command of ours declares.
const FOREIGN_FLAGS: &[&str] = &["controllers", "force", "help", "sort-by"];

/// Long flags of the command and all below it.
fn flags(command: &clap::Command, found: &mut BTreeSet<String>) {
    found.extend(command.get_arguments().filter_map(|argument| argument.get_long()).map(str::to_owned));
    for below in command.get_subcommands() {
        flags(below, found);
    }
}

#[test]
fn flags_that_documents_name_exist() {
    let mut known = BTreeSet::new();
    flags(&<fhpa::cli::Cli as clap::CommandFactory>::command(), &mut known);
    let mut seen = 0;
    for guide in guides().into_iter().filter(|guide| guide.starts_with("docs/") && guide != "docs/testing.md") {
        let document = fs::read_to_string(root().join(&guide)).unwrap();
        for span in prose(&document).split('`').skip(1).step_by(2) {
            for flag in span.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
                let name = flag.split(['=', '|']).next().unwrap();
                assert!(known.contains(name) || FOREIGN_FLAGS.contains(&name), "{guide}: there is no --{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "only {seen} flags were found");
}

#[test]
fn annotations_that_documents_name_exist() {
    let code: String = program().into_iter().map(|source| source.text).collect();
    let mut seen = 0;
    for guide in guides() {
        let document = fs::read_to_string(root().join(&guide)).unwrap();
        for rest in document.split("`fhpa.karmada.io/").skip(1) {
            let name = rest.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).next().unwrap();
            assert!(code.contains(&format!("\"fhpa.karmada.io/{name}")), "{guide}: there is no fhpa.karmada.io/{name}");
            seen += 1;
        }
    }
    assert!(seen > 10, "only {seen} annotations were found");
}

/// The rooms of a tree, as paths.
fn rooms(tree: &str) -> Vec<String> {
    sources(tree).iter().map(|source| format!("{tree}/{}", source.room())).collect()
}

#[test]
fn the_architecture_leads_through_the_tree_as_it_is() {
    let architecture = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let rooms: BTreeSet<String> =
        HOUSE.into_iter().flat_map(rooms).filter(|room| !room.ends_with("/lib") && !room.ends_with("/main")).collect();
    for room in rooms {
        assert!(architecture.contains(&format!("| `{room}` |")), "the room {room} is not in the architecture");
    }
}

#[test]
fn headings_of_the_design_differ() {
    let mut all = anchors(&fs::read_to_string(root().join("docs/design.md")).unwrap());
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count, "two headings have one name");
}

#[test]
fn every_worked_example_is_a_test() {
    let design = fs::read_to_string(root().join("docs/design.md")).unwrap();
    let tests: String = sources("decision/tests").into_iter().map(|source| source.text).collect();
    let numbers: Vec<String> = design
        .lines()
        .filter_map(|line| line.strip_prefix("| G")?.split_once(' '))
        .map(|(number, _)| number.to_owned())
        .collect();
    assert_eq!(numbers, (1..=13).map(|number| number.to_string()).collect::<Vec<_>>());
    for number in numbers {
        assert!(tests.contains(&format!("#[test]\nfn g{number}_")), "no test is called g{number}_...");
    }
}

/// The first line of each console block.
fn commands(document: &str) -> impl Iterator<Item = &str> {
    document.split("```console\n").skip(1).filter_map(|block| block.lines().next())
}

#[test]
fn a_change_lands_by_the_test_command_of_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let tests: Vec<&str> = commands(&readme).filter(|command| command.starts_with("cargo test")).collect();
    let ci = fs::read_to_string(root().join(".ci/run")).unwrap();
    let [test] = tests[..] else { panic!("{tests:?}") };
    assert!(ci.lines().any(|line| line == format!("step {test}")), ".ci/run does not call {test:?}");
}
