//! What the playground changes in the program; the image has none:
//! `cargo test --no-default-features --features png --test shipped`.
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
fn a_real_webhook_is_asked_over_tls() {
    let outcome = fhpa(&["try"]);
    assert!(outcome.status.success(), "{}", text(&outcome.stderr));
    assert!(text(&outcome.stdout).contains("over TLS"), "{}", text(&outcome.stdout));
}

#[test]
fn files_are_validated_and_planned_with_and_without_features() {
    for (command, file) in [("validate", "examples/web-shop.yaml"), ("plan", "examples/plan/g1-duplicated.yaml")] {
        let outcome = fhpa(&[command, file]);
        assert!(outcome.status.success(), "{command}: {}{}", text(&outcome.stdout), text(&outcome.stderr));
    }
}
