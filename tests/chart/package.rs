//! Programs from Python packages, in a directory of their own below `target/`. They are downloaded only where the
//! environment allows it, and then reused. I/O: environment, pip with its configured index.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use parking_lot::Mutex;

use crate::rig::absent;

/// One pip at a time.
static PIP: Mutex<()> = Mutex::new(());

/// Allows a download.
const FETCH: &str = "FHPA_FETCH";

fn may_fetch() -> bool {
    std::env::var_os(FETCH).is_some_and(|allowed| allowed == "1")
}

/// Says that `shows` did not run for want of `what`. Panics where it is required, and where a download was allowed.
pub fn without(what: &str, shows: &str, why: &str) {
    assert!(!may_fetch(), "{FETCH} is set, and {what} cannot be had: {why}");
    absent::without(what, shows, &format!("put it on PATH, {why}"));
}

/// The directory of the package that `requirements` (a file with versions and hashes) names. `try_it` is a line of
/// Python that works when all is there; `also` is what it may need beside the package.
///
/// # Errors
/// It is not there, and nobody allowed a download; or it cannot be had: no Python, no pip, no index, no build for this
/// machine.
pub fn found(requirements: &Path, try_it: &str, also: &[&str]) -> Result<PathBuf, String> {
    let _one = PIP.lock();
    let line = std::fs::read_to_string(requirements).map_err(|error| error.to_string())?;
    let line = line.lines().find(|line| line.contains("==")).ok_or("no requirement")?;
    let name = line.split_whitespace().next().unwrap_or_default();
    let shelf = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let home = shelf.join(name);
    if home.exists() {
        return Ok(home);
    }
    if !may_fetch() {
        return Err(format!("or allow pip to fetch {name} by {FETCH}=1"));
    }
    std::fs::create_dir_all(&shelf).map_err(|error| error.to_string())?;
    let fresh = tempfile::tempdir_in(&shelf).map_err(|error| error.to_string())?;
    // The engine's package names a newer Python than it needs.
    let exact = ["--no-deps", "--ignore-requires-python", "--require-hashes", "-r"].map(OsStr::new);
    pip(fresh.path(), exact.into_iter().chain([requirements.as_os_str()]))?;
    if python(fresh.path(), &["-c", try_it]).is_err() && !also.is_empty() {
        pip(fresh.path(), also.iter().map(OsStr::new))?;
    }
    python(fresh.path(), &["-c", try_it])?;
    match std::fs::rename(fresh.path(), &home) {
        Err(error) if !home.exists() => Err(error.to_string()),
        _ => Ok(home),
    }
}

fn pip<'a>(target: &Path, what: impl Iterator<Item = &'a OsStr>) -> Result<(), String> {
    let fixed = ["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", "--only-binary=:all:"];
    let mut command = Command::new("python3");
    command.args(fixed).args(["--timeout=20", "--retries=1", "--target"]).arg(target).args(what);
    said(command).map(drop)
}

/// What Python prints with the packages of `home`.
pub fn python(home: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new("python3");
    command.args(arguments).env("PYTHONPATH", home).env("PYTHONDONTWRITEBYTECODE", "1");
    said(command)
}

/// Runs a program to its end.
///
/// # Errors
/// It is not there, or failed; then the last lines it printed.
pub fn said(mut command: Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let all = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&all);
    let mut last: Vec<&str> = text.lines().rev().filter(|line| !line.trim().is_empty()).take(40).collect();
    last.reverse();
    Err(format!("{program}: {}", last.join("\n")))
}
