//! Each row of `docs/situations.md` names tests that exist, as `cargo test` prints them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::sources::{Source, TREES, root, sources};

/// The module of a file.
fn module(path: &Path) -> Vec<String> {
    let below = path.with_extension("");
    let below = ["src", "daemon/src", "tests", "decision/tests"]
        .iter()
        .find_map(|tree| below.strip_prefix(tree).ok())
        .unwrap_or(&below);
    // Unit tests of another crate are told with its name.
    let names = below.iter().map(|part| part.to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != "src").collect();
    if names.last().is_some_and(|last| ["mod", "lib", "main", "all"].contains(&&**last)) {
        names.pop();
    }
    names
}

/// The tests of a file, each with its modules.
fn tests(source: &Source) -> Vec<String> {
    let (mut found, mut is_test, mut told) = (Vec::new(), false, false);
    // Modules within the file, with their indentation.
    let mut inner: Vec<(usize, &str)> = Vec::new();
    for line in source.text.lines() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        let code = code.strip_prefix("pub ").unwrap_or(code);
        if told || code == "told! {" {
            // Stories that both worlds tell.
            told = code != "}";
            let names = code.split(',').filter_map(|one| one.split_whitespace().next());
            let path = module(&source.path).join("::");
            found.extend(
                names.filter(|name| !["told!", "}"].contains(name)).map(|name| format!("{path}::embedded::{name}")),
            );
        } else if code == "#[test]" || code.starts_with("#[tokio::test") {
            is_test = true;
        } else if let Some(name) = code.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(" {")) {
            inner.retain(|(outer, _)| *outer < indent);
            inner.push((indent, name));
        } else if let Some(rest) = code.strip_prefix("async ").unwrap_or(code).strip_prefix("fn ") {
            let name = rest.split(['(', '<']).next().unwrap();
            if std::mem::take(&mut is_test) {
                let mut path = module(&source.path);
                path.extend(inner.iter().filter(|(outer, _)| *outer < indent).map(|(_, name)| (*name).to_owned()));
                path.push(name.to_owned());
                found.push(path.join("::"));
            }
        }
    }
    found
}

/// The rows of all tables without their headings, with the numbers of their lines.
fn rows(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let row = |(_, line): &(usize, &str)| line.starts_with("| ") && !line.starts_with("| situation |");
    page.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(row)
}

/// Rows that name no test, or one that is not `known`.
fn unknown(page: &str, known: &BTreeSet<String>) -> Vec<String> {
    let exists = |cell: &str| {
        let name = cell.strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        name.is_some_and(|name| known.contains(name))
    };
    let is_complete = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, situation, effect, tests, _] = cells[..] else { return false };
        !situation.is_empty() && !effect.is_empty() && tests.split(", ").all(exists)
    };
    rows(page).filter(|(_, row)| !is_complete(row)).map(|(at, row)| format!("{at}: {row}")).collect()
}

#[test]
fn every_situation_names_tests_that_exist() {
    let page = fs::read_to_string(root().join("docs/situations.md")).unwrap();
    // The suite on a real Karmada is a binary of its own.
    let here = |source: &Source| !source.path.starts_with("tests/karmada");
    let all = TREES.into_iter().chain(["tests", "decision/tests"]).flat_map(sources).filter(here);
    let known: BTreeSet<String> = all.flat_map(|source| tests(&source)).collect();
    let wrong = unknown(&page, &known);
    assert!(wrong.is_empty(), "no such test in docs/situations.md:\n{}", wrong.join("\n"));
    assert!(rows(&page).count() > 200, "only {} situations were found", rows(&page).count());
}

#[test]
fn a_situation_without_a_test_is_seen() {
    let text = "fn helper() {}\n\n#[test]\nfn one() {}\n\nmod tests {\n    #[tokio::test(start_paused = true)]\n    \
                async fn two() {}\n}\n";
    let known = |path: &str| tests(&Source { path: path.into(), text: text.into() });
    assert_eq!(known("decision/src/plan/gate.rs"), ["decision::plan::gate::one", "decision::plan::gate::tests::two"]);
    let known: BTreeSet<String> = known("tests/stories/mod.rs").into_iter().collect();
    assert_eq!(known, ["stories::one", "stories::tests::two"].map(str::to_owned).into());
    let row = |test: &str| {
        format!("| situation | what happens | test |\n|---|---|---|\n| It rains | It gets wet | {test} |\n")
    };
    for right in ["`stories::one`", "`stories::tests::two`, `stories::one`"] {
        assert_eq!(unknown(&row(right), &known), [""; 0]);
    }
    for wrong in [
        "`stories::two`",
        "`stories::one`, `stories::helper`",
        "`stories::three`",
        "stories::one",
        "",
        "`stories::one` | more",
    ] {
        let seen = unknown(&row(wrong), &known);
        assert!(matches!(&seen[..], [line] if line.starts_with("3: | It rains")), "{wrong}: {seen:?}");
    }
}
