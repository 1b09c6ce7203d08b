//! What the playground changes in the program; the image has none:
//! `cargo test --no-default-features --features png --test shipped`.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

#[path = "cli/command.rs"]
mod command;

use command::fhpa;

#[test]
fn the_playground_is_a_command_only_where_it_was_built() {
    let help = fhpa(&["--help"]).stdout;
    assert!(
        ["webhook", "controller", "run", "validate", "plan", "simulate", "install"]
            .iter()
            .all(|one| help.contains(one))
    );
    assert_eq!(help.contains("playground"), cfg!(feature = "playground"), "{help}");
    let playground = fhpa(&["playground", "--help"]);
    assert_eq!(playground.code == 0, cfg!(feature = "playground"), "{}", playground.stderr);
}

#[test]
fn a_real_webhook_is_asked_over_tls() {
    let outcome = fhpa(&["try"]);
    assert_eq!((outcome.code, &*outcome.stderr), (0, ""));
    assert!(outcome.stdout.contains("over TLS"), "{}", outcome.stdout);
}

#[test]
fn files_are_validated_and_planned_with_and_without_features() {
    for (command, file) in [("validate", "examples/web-shop.yaml"), ("plan", "examples/plan/g1-duplicated.yaml")] {
        let outcome = fhpa(&[command, file]);
        assert_eq!(outcome.code, 0, "{command}: {}{}", outcome.stdout, outcome.stderr);
    }
}
