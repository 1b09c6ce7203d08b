//! Console blocks in documents are the output of the program.

use std::fs;

use super::command::fhpa;
use crate::chart::documents::guides;
use crate::structure::sources::root;

fn text(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

/// Blocks `$ fhpa ...` with what they show below.
fn shown(guide: &str) -> Vec<(String, String)> {
    let document = text(guide);
    let blocks = document.split("```console\n$ fhpa ").skip(1);
    blocks
        .map(|block| {
            let (block, _) = block.split_once("```").unwrap();
            let (arguments, output) = block.split_once('\n').unwrap();
            (arguments.to_owned(), output.to_owned())
        })
        .collect()
}

#[test]
fn what_documents_show_is_what_is_printed() {
    let mut seen = Vec::new();
    for guide in guides() {
        // Those of `status` need a control plane: tests/status.
        for (arguments, output) in shown(&guide).into_iter().filter(|(line, _)| !line.starts_with("status")) {
            let words: Vec<&str> = arguments.split(' ').collect();
            assert_eq!(output, fhpa(&words).stdout, "{guide}: fhpa {arguments}");
            seen.push(words[0].to_owned());
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, ["plan", "plan", "plan", "simulate", "simulate", "validate"]);
}

#[test]
fn the_readme_shows_the_manifest_that_it_plans() {
    let example = text("examples/plan/shop/federatedhpa.yaml");
    let manifest: Vec<&str> = example.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(text("README.md").contains(&format!("```yaml\n{}\n```", manifest.join("\n"))));
}

#[test]
fn the_scenario_that_is_planned_is_shown() {
    let example = text("examples/plan/edit.yaml");
    let (_, scenario) = example.split_once("---\n").unwrap();
    assert!(text("docs/cli.md").contains(&format!("```yaml\n{scenario}```")));
}

#[test]
fn the_readme_has_its_two_commands_and_is_short() {
    let readme = text("README.md");
    for command in ["cargo run -- playground", "cargo test"] {
        assert!(readme.contains(&format!("\n```console\n{command}\n```\n")), "{command} is not in the README");
    }
    assert!(readme.lines().count() <= 150, "{} lines", readme.lines().count());
}

#[test]
fn every_command_is_in_the_table_of_commands() {
    let table = text("docs/cli.md");
    let help = fhpa(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    for command in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(table.contains(&format!("| `fhpa {command}")), "{command} is not in the table of commands");
    }
}
