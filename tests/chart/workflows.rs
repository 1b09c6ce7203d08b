//! The workflows of CI and of a release: what they name exists, and what they run is pinned.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value};

use super::{path, text};

const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yaml", ".github/workflows/release.yaml"];

/// The keys that a runner knows, of those that are used.
const OF_WORKFLOW: [&str; 5] = ["concurrency", "jobs", "name", "on", "permissions"];
const OF_JOB: [&str; 7] = ["env", "environment", "needs", "permissions", "runs-on", "steps", "timeout-minutes"];
const OF_STEP: [&str; 5] = ["env", "name", "run", "uses", "with"];
/// What an expression may begin with.
const CONTEXTS: [&str; 4] = ["github.", "runner.", "secrets.", "vars."];
/// Variables that the runner sets.
const OF_RUNNER: [&str; 5] = ["GITHUB_ENV", "GITHUB_REF_NAME", "GITHUB_SHA", "PATH", "RUNNER_TEMP"];

fn map(value: &Value) -> &Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{value}"))
}

fn unknown(found: &Map<String, Value>, known: &[&str], at: &str) -> Vec<String> {
    let unknown = found.keys().filter(|key| !known.contains(&key.as_str()));
    unknown.map(|key| format!("{at}: {key} is no key")).collect()
}

/// The names of the variables that a script reads, and of those that it sets.
fn variables(script: &str) -> (BTreeSet<&str>, BTreeSet<&str>) {
    let name = |text: &'_ str| text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let read = script.match_indices('$').filter_map(|(at, _)| {
        let rest = script[at + 1..].trim_start_matches('{');
        Some(&rest[..name(rest)]).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))
    });
    let words = script.split(|c: char| c.is_whitespace() || c == '"' || c == ';');
    let set = words.clone().filter_map(|word| word.split_once('=').map(|(name, _)| name));
    let loops = words.clone().zip(words.skip(1)).filter_map(|(word, next)| (word == "for").then_some(next));
    (read.collect(), set.chain(loops).collect())
}

/// What is wrong with a script: Bash does not understand it, or it names a file or a variable that is not there.
fn script(script: &str, environment: &BTreeSet<String>, at: &str) -> Vec<String> {
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    bash.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let said = bash.wait_with_output().unwrap();
    let mut wrong = Vec::new();
    if !said.status.success() {
        wrong.push(format!("{at}: {}", String::from_utf8_lossy(&said.stderr)));
    }
    let files = script.split_whitespace().filter(|word| word.starts_with(".ci/"));
    wrong.extend(files.filter(|file| !path(file).exists()).map(|file| format!("{at}: there is no {file}")));
    let (read, set) = variables(script);
    let is_set = |name: &str| set.contains(name) || environment.contains(name) || OF_RUNNER.contains(&name);
    wrong.extend(read.into_iter().filter(|name| !is_set(name)).map(|name| format!("{at}: nobody sets {name}")));
    wrong
}

/// What is wrong with a workflow.
fn faults(workflow: &Value) -> Vec<String> {
    let mut wrong = unknown(map(workflow), &OF_WORKFLOW, "workflow");
    if workflow["permissions"] != serde_json::json!({"contents": "read"}) {
        wrong.push("workflow: it may do more than read, unless a job says so".to_owned());
    }
    let source = workflow.to_string();
    for (at, _) in source.match_indices("${{") {
        let inside = source[at + 3..].trim_start();
        if !CONTEXTS.iter().any(|context| inside.starts_with(context)) {
            wrong.push(format!("workflow: what is {}", inside.split("}}").next().unwrap_or_default()));
        }
    }
    let jobs = map(&workflow["jobs"]);
    for (name, job) in jobs {
        wrong.extend(unknown(map(job), &OF_JOB, name));
        for (key, is) in [("runs-on", job["runs-on"].is_string()), ("timeout-minutes", job["timeout-minutes"].is_u64())]
        {
            if !is {
                wrong.push(format!("{name}: it has no {key}"));
            }
        }
        if job["needs"].as_str().is_some_and(|needed| !jobs.contains_key(needed)) {
            wrong.push(format!("{name}: there is no job {}", job["needs"]));
        }
        let of =
            |value: &Value| value.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        let mut environment: BTreeSet<String> = of(&job["env"]).into_iter().collect();
        for (number, step) in job["steps"].as_array().unwrap().iter().enumerate() {
            let at = format!("{name}, step {}", number + 1);
            wrong.extend(unknown(map(step), &OF_STEP, &at));
            match (step["run"].as_str(), step["uses"].as_str()) {
                (Some(run), None) => {
                    let own = of(&step["env"]).into_iter().chain(environment.iter().cloned()).collect();
                    wrong.extend(script(run, &own, &at));
                    // What a script writes there is a variable of the steps after it.
                    let told = run.lines().filter(|line| line.contains("$GITHUB_ENV"));
                    environment.extend(told.filter_map(|line| line.split(['"', '=']).nth(1)).map(str::to_owned));
                }
                (None, Some(uses)) => {
                    let commit = uses.split_once('@').map_or("", |(_, commit)| commit);
                    if commit.len() != 40 || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                        wrong.push(format!("{at}: {uses} is not pinned by its commit"));
                    }
                }
                _ => wrong.push(format!("{at}: it runs a script, or uses an action")),
            }
        }
    }
    wrong
}

fn workflow(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn workflows_name_what_exists_and_pin_what_they_run() {
    for file in WORKFLOWS {
        assert_eq!(faults(&workflow(&text(file))), [""; 0], "{file}");
    }
}

#[test]
fn workflows_build_with_the_toolchain_of_the_package() {
    let manifest = text("Cargo.toml");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = ")).unwrap().trim_matches('"');
    for file in WORKFLOWS {
        let text = text(file);
        let installs = text.lines().filter(|line| line.contains("rustup"));
        for line in installs {
            assert!(
                line.contains(&format!("install {version} ")) && line.ends_with(&format!("default {version}")),
                "{line}"
            );
        }
    }
    assert!(text("Dockerfile").contains(&format!("FROM rust:{version}-alpine")));
}

#[test]
fn a_fault_of_a_workflow_is_seen() {
    let cases = [
        ("    needs: check\n", "    needs: chekc\n", "release: there is no job \"chekc\""),
        (
            "@3d3c42e5aac5ba805825da76410c181273ba90b1",
            "@v7",
            "check, step 1: actions/checkout@v7 is not pinned by its commit",
        ),
        ("- run: .ci/run\n", "- run: .ci/rum\n", "check, step 4: there is no .ci/rum"),
        ("    timeout-minutes: 60\n", "    timeout-minuets: 60\n", "check: timeout-minuets is no key"),
        ("version=${GITHUB_REF_NAME#v}\n", "versoin=${GITHUB_REF_NAME#v}\n", "release, step 7: nobody sets version"),
        ("          for arch in amd64 arm64; do\n", "          for arch in amd64 arm64\n", "release, step 8: bash"),
        ("${{ vars.IMAGE }}", "${{ var.IMAGE }}", "workflow: what is var.IMAGE "),
        ("  contents: read\n", "  contents: write\n", "workflow: it may do more than read, unless a job says so"),
    ];
    let whole = text(WORKFLOWS[1]);
    for (right, wrong, fault) in cases {
        assert!(whole.contains(right), "{right}");
        let found = faults(&workflow(&whole.replacen(right, wrong, 1)));
        assert!(found.iter().any(|one| one.starts_with(fault)), "{fault}: {found:?}");
    }
}
