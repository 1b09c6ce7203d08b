//! Every manifest in `examples/`: the valid ones pass, the invalid ones are rejected with a message that says how to
//! fix them.

use std::fs;

use super::command::fhpa;

fn names(directory: &str) -> Vec<String> {
    let entries = fs::read_dir(format!("{}/{directory}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".yaml"));
    names.sort();
    names
}

#[test]
fn the_good_examples_are_accepted_without_a_warning() {
    for name in names("examples") {
        let outcome = fhpa(&["validate", "--strict", &format!("examples/{name}")]);
        assert_eq!(outcome.code, 0, "{name}:\n{}", outcome.stdout);
    }
}

#[test]
fn the_good_examples_do_not_contradict_each_other() {
    let paths: Vec<String> = names("examples").iter().map(|name| format!("examples/{name}")).collect();
    let mut args = vec!["validate", "--strict"];
    args.extend(paths.iter().map(String::as_str));
    let outcome = fhpa(&args);
    assert_eq!(outcome.code, 0, "{}", outcome.stdout);
}

#[test]
fn the_wrong_examples_are_refused_as_the_snapshots_say() {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "[INSTANT]");
    let _bound = settings.bind_to_scope();
    let names = names("examples/wrong");
    assert!(names.len() >= 10);
    for name in names {
        let path = format!("examples/wrong/{name}");
        let outcome = fhpa(&["validate", &path]);
        assert_ne!(outcome.code, 0, "{name} is accepted:\n{}", outcome.stdout);
        assert_eq!(outcome.stderr, "");
        insta::assert_snapshot!(format!("wrong_{}", name.trim_end_matches(".yaml")), outcome.stdout);
    }
}
