//! The documents and the source hold together: references resolve, and what a document names exists.

use std::fs;

use super::sources::{Source, root, sources};

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

/// The names of all headings; lines of code blocks are none.
pub fn anchors(document: &str) -> Vec<String> {
    let prose = document.split("\n```").step_by(2);
    prose.flat_map(str::lines).filter(|line| line.starts_with('#')).map(anchor).collect()
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
    let all: Vec<Source> =
        ["src", "tests", "benches"].iter().flat_map(|folder| sources(folder)).filter(|source| !here(source)).collect();
    let wrong: Vec<String> = all.iter().flat_map(dangling).collect();
    assert!(wrong.is_empty(), "references that lead nowhere:\n{}", wrong.join("\n"));
    let loose = all.iter().find(|source| source.text.contains("(design"));
    assert!(loose.is_none(), "{}: a reference is not a link", loose.unwrap().path.display());
    let seen: usize = all.iter().map(|source| references(source).len()).sum();
    assert!(seen > 80, "only {seen} references were found");
}

#[test]
fn a_reference_that_leads_nowhere_is_seen() {
    let text = "//! Pure (docs/design.md#cron, docs/design.md#no-such-heading).\n/// docs/none.md#cron\n";
    let source = Source { path: "src/decision/plan.rs".into(), text: text.into() };
    assert_eq!(
        dangling(&source),
        ["src/decision/plan.rs:1: docs/design.md#no-such-heading", "src/decision/plan.rs:2: docs/none.md#cron"]
    );
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
    let tests: String = sources("tests/assignment").into_iter().map(|source| source.text).collect();
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
