//! Output that cannot be written.

use std::fs::OpenOptions;
use std::process::Command;

/// Exit code and errors of a command whose standard output is full.
pub fn on_a_full_disk(arguments: &[&str]) -> (i32, String) {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fhpa"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdout(full);
    let output = command.output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn help_that_could_not_be_written_is_no_success() {
    for arguments in [&["--help"][..], &["help", "plan"], &["plan", "-h"], &["--version"]] {
        let (code, said) = on_a_full_disk(arguments);
        assert!(code == 1 && said == "fhpa: standard output: No space left on device (os error 28)\n", "{code} {said}");
    }
}

/// Turns the text behind it around on a terminal, moves its cursor, or cannot be seen.
const HIDDEN: [char; 4] = ['\u{202e}', '\u{1b}', '\u{200b}', '\u{2066}'];

#[test]
fn what_a_terminal_would_obey_or_hide_is_escaped_wherever_it_is_printed() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("a\u{202e}b.yaml");
    let odd = r"a\u202e\e[31m\u200b\u2066b";
    let hpa = format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: FederatedHPA\nmetadata: {{name: \"{odd}\", namespace: \"{odd}\"}}\nspec:\n  \"{odd}\": 1\n  maxReplicas: 3\n  scaleTargetRef: {{apiVersion: apps/v1, kind: \"{odd}\", name: \"{odd}\"}}\n---\n"
    );
    let cron = format!(
        "apiVersion: autoscaling.karmada.io/v1alpha1\nkind: CronFederatedHPA\nmetadata: {{name: \"{odd}\", namespace: a}}\nspec:\n  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}\n  rules:\n    - {{name: \"{odd}\", schedule: \"{odd}\", timeZone: \"{odd}\", targetReplicas: 1}}\n---\n"
    );
    std::fs::write(&file, format!("{hpa}{cron}apiVersion: v1\nkind: \"{odd}\"\nmetadata: {{name: \"{odd}\"}}\n"))
        .unwrap();
    let (file, gone) = (file.to_str().unwrap(), home.path().join("gone\u{202e}"));
    let gone = gone.to_str().unwrap();
    for arguments in [
        &["validate", file][..],
        &["validate", gone],
        &["plan", file],
        &["plan", gone],
        &["try", file],
        &["try", gone],
        &["cron", "-f", file],
        &["cron", "a\u{202e} * * * *"],
        &["simulate", file],
        &["simulate", gone],
        &["status", "--kubeconfig", gone],
        &["doctor", "--kubeconfig", gone],
    ] {
        let outcome = super::command::fhpa(arguments);
        let said = outcome.stdout + &outcome.stderr;
        assert!(!said.is_empty(), "{arguments:?}");
        for hidden in HIDDEN {
            assert!(!said.contains(hidden), "{hidden:?} of {arguments:?}:\n{}", said.escape_debug());
        }
    }
}

#[test]
fn output_that_could_not_be_written_is_told_and_answered_with_2() {
    for arguments in [
        &["validate", "examples/web-shop.yaml"][..],
        &["validate", "examples/wrong/kinds.yaml", "-o", "json"],
        &["plan", "examples/plan/g3-weights.yaml"],
        &["plan", "examples/wrong/min-above-max.yaml"],
        &["simulate", "examples/simulate/cloud-burst.yaml", "-o", "csv"],
        &["cron", "@hourly"],
        &["cron", "@hourly", "-o", "json"],
        &["cron", "@hourly", "@daily"],
        &["crds"],
        &["install", "--output", "-", "--user", "fhpa"],
        &["completions", "bash"],
    ] {
        let (code, said) = on_a_full_disk(arguments);
        let start = format!("fhpa {}: standard output: No space left on device", arguments[0]);
        assert!(code == 2 && said.contains(&start), "{arguments:?}: {code} {said}");
    }
}
