//! Shell completions.

use super::command::fhpa;

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let outcome = fhpa(&["completions", shell]);
        assert_eq!(outcome.code, 0, "{shell}");
        for word in ["validate", "webhook", "controller", "lease-namespace", "max-findings", "plan"] {
            assert!(outcome.stdout.contains(word), "{shell} does not know {word}");
        }
    }
}

#[test]
fn an_unknown_shell_is_refused() {
    let outcome = fhpa(&["completions", "cmd"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("bash, elvish, fish, powershell, zsh"), "{}", outcome.stderr);
}
