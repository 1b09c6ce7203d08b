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
