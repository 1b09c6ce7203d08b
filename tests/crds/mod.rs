//! The CustomResourceDefinitions: the files, the objects they accept, and their agreement with the rules.

pub mod agreement;
mod bases;
pub mod evaluator;
mod sizes;
pub mod structural;
pub mod upstream;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use fhpa::api::crd;

/// Karmada's own definitions of both kinds, as its upgrades apply them.
pub const DEFINITIONS: [&str; 2] = [
    include_str!("../fixtures/karmada/federatedhpas.yaml"),
    include_str!("../fixtures/karmada/cronfederatedhpas.yaml"),
];

#[test]
fn the_files_are_what_the_code_makes() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let made = crd::files().unwrap();
    for (name, text) in &made {
        let file = std::fs::read_to_string(directory.join(name)).unwrap_or_default();
        assert!(file == *text, "crds/{name} is missing or out of date: run `fhpa crds --output crds`");
    }
    let names: BTreeSet<_> = made.iter().map(|(name, _)| (*name).to_owned()).collect();
    let present: BTreeSet<_> =
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert_eq!(present, names);
}

#[test]
fn the_command_prints_both_files_or_writes_them() {
    let run =
        |arguments: &[&str]| Command::new(env!("CARGO_BIN_EXE_fhpa")).arg("crds").args(arguments).output().unwrap();
    let made = crd::files().unwrap();
    let printed = String::from_utf8(run(&[]).stdout).unwrap();
    assert_eq!(printed, made.iter().map(|(_, text)| text.as_str()).collect::<String>());
    assert_eq!(String::from_utf8(run(&["-o", "-"]).stdout).unwrap(), printed);

    let directory = tempfile::tempdir().unwrap();
    let below = directory.path().join("a/b");
    assert!(run(&["--output", below.to_str().unwrap()]).status.success());
    for (name, text) in made {
        assert_eq!(std::fs::read_to_string(below.join(name)).unwrap(), text);
    }

    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let failed = run(&["--output", file.to_str().unwrap()]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(String::from_utf8(failed.stderr).unwrap().starts_with("fhpa crds: "));
}
