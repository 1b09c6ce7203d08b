//! The Dockerfile, by hadolint.

use std::process::Command;

use super::package::{found, said, without};
use super::path;

#[test]
fn hadolint_has_nothing_against_the_dockerfile() {
    let own = said({
        let mut version = Command::new("hadolint");
        version.arg("--version");
        version
    });
    let program = match own {
        Ok(_) => "hadolint".into(),
        Err(_) => match found(&path("tests/chart/hadolint.requirements.txt"), "pass", &[]) {
            Ok(home) => home.join("bin/hadolint"),
            Err(why) => return without("hadolint", "the Dockerfile", &why),
        },
    };
    let mut lint = Command::new(program);
    lint.args(["--no-color", "--failure-threshold", "style"]).arg(path("Dockerfile"));
    assert_eq!(said(lint), Ok(String::new()));
}
