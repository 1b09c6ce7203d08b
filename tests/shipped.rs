//! What features change in the program. The image has neither the playground nor charts as PNG:
//! `cargo test --no-default-features --test shipped`.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::{Command, Output};

fn fhpa(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_playground_is_a_command_only_where_it_was_built() {
    let help = fhpa(&["--help"]);
    assert!(help.status.success());
    let help = text(&help.stdout);
    assert!(
        ["webhook", "controller", "run", "validate", "plan", "simulate", "install"]
            .iter()
            .all(|one| help.contains(one))
    );
    assert_eq!(help.contains("playground"), cfg!(feature = "playground"), "{help}");
    let playground = fhpa(&["playground", "--help"]);
    assert_eq!(playground.status.success(), cfg!(feature = "playground"), "{}", text(&playground.stderr));
}

#[test]
fn files_are_validated_and_planned_with_and_without_features() {
    for (command, file) in [("validate", "examples/web-shop.yaml"), ("plan", "examples/plan/g1-duplicated.yaml")] {
        let outcome = fhpa(&[command, file]);
        assert!(outcome.status.success(), "{command}: {}{}", text(&outcome.stdout), text(&outcome.stderr));
    }
}

#[test]
fn a_build_that_draws_svg_only_says_so_before_it_simulates() {
    let folder = tempfile::tempdir().unwrap();
    let chart = |name: &str| {
        let file = folder.path().join(name);
        let outcome = fhpa(&["simulate", "examples/simulate/capped.yaml", "--chart", file.to_str().unwrap()]);
        (outcome, file.exists())
    };
    let (outcome, drawn) = chart("day.svg");
    assert!(outcome.status.success() && drawn, "{}", text(&outcome.stderr));
    let (outcome, drawn) = chart("day.png");
    let told = text(&outcome.stderr);
    assert_eq!(told.contains("this build draws SVG only"), !cfg!(feature = "png"), "{told}");
    if !cfg!(feature = "png") {
        assert_eq!((outcome.stdout.len(), outcome.status.code(), drawn), (0, Some(2), false));
    }
}
