//! What README shows is what the program prints.

use super::command::fhpa;

#[test]
fn the_refusal_in_the_readme_is_real() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let file = "examples/wrong/proposal.yaml";
    let (_, shown) = readme.split_once(&format!("$ fhpa validate {file}\n")).unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert_eq!(shown, fhpa(&["validate", file]).stdout);
}

#[test]
fn the_plan_in_the_readme_is_real() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let file = "examples/plan/edit.yaml";
    let (_, shown) = readme.split_once(&format!("$ fhpa plan {file}\n")).unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    assert_eq!(shown, fhpa(&["plan", file]).stdout);
    let example = std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let (_, scenario) = example.split_once("---\n").unwrap();
    assert!(readme.contains(&format!("```yaml\n{scenario}```")));
}

#[test]
fn the_readme_names_every_command() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let help = fhpa(&["--help"]).stdout;
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let (commands, _) = commands.split_once("\n\n").unwrap();
    for command in commands.lines().filter_map(|line| line.split_whitespace().next()) {
        assert!(readme.contains(&format!("| `fhpa {command}")), "{command} is not in the table of commands");
    }
}
