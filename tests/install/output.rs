//! Rendered manifests, without an API server.

use std::collections::BTreeSet;

use super::{DEFINITIONS, documents};
use crate::bed::webhook::certificate;
use crate::cli::command::fhpa;

fn ca() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), certificate("fhpa").1).unwrap();
    file
}

#[test]
fn manifests_are_rendered_without_a_control_plane() {
    let ca = ca();
    let url = ["--url", "https://fhpa.karmada-system.svc:443/", "--ca-file", ca.path().to_str().unwrap()];
    let rendered = fhpa(&[&["install", "--output", "-", "--user", "fhpa"][..], &url].concat());
    assert_eq!((rendered.code, &*rendered.stderr), (0, ""));
    let objects = documents(&rendered.stdout);
    let names: Vec<String> = objects
        .iter()
        .map(|object| format!("{} {}", object["kind"], object["metadata"]["name"]).replace('"', ""))
        .collect();
    insta::assert_snapshot!(names.join("\n"));
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("manifests");
    let written = fhpa(&[&["install", "--output", directory.to_str().unwrap(), "--user", "fhpa"][..], &url].concat());
    assert_eq!(written.code, 0, "{}", written.stderr);
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), objects.len());
}

#[test]
fn the_roles_are_those_of_the_table() {
    let rendered = fhpa(&[
        "install",
        "--output",
        "-",
        "--service-account",
        "karmada-system/fhpa",
        "--scale-kind",
        "argoproj.io/rollouts",
    ]);
    let said = "The webhook is not registered: give --url, and --ca-file or --ca-secret.\nWhat members keep of the kinds of \
                --scale-kind is not in here: only `fhpa install` on a control plane that serves these kinds can tell.\n";
    assert_eq!((rendered.code, &*rendered.stderr), (0, said));
    let roles: Vec<String> = documents(&rendered.stdout)
        .iter()
        .filter(|object| object["kind"].as_str().unwrap().contains("Role"))
        .map(|object| serde_saphyr::to_string(object).unwrap())
        .collect();
    insta::assert_snapshot!(roles.join("---\n"));
}

#[test]
fn members_have_roles_of_their_own() {
    let rendered = fhpa(&["install", "--output", "-", "--member-rbac", "--user", "fhpa"]);
    let kinds: BTreeSet<String> =
        documents(&rendered.stdout).iter().map(|object| object["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["ClusterRole", "ClusterRoleBinding"].map(str::to_owned).into());
}

#[test]
fn wrong_arguments_are_refused_with_what_would_be_right() {
    let empty = tempfile::NamedTempFile::new().unwrap();
    let file = empty.path().to_str().unwrap();
    for (arguments, said) in [
        (&["--url", "http://a:1/", "--ca-file", file][..], "the API server asks no webhook without TLS"),
        (&["--url", "https://a:1/"], "--ca-file <FILE>"),
        (&["--url", "https://a:1/", "--ca-file", file, "--output", "-"], "no certificate found"),
        (&["--user", "a", "--group", "b"], "cannot be used with"),
        (&["--service-account", "a"], "is not NAMESPACE/NAME"),
        (&["--scale-kind", "Rollouts"], "is not GROUP/RESOURCE"),
        (&["--member-rbac"], "--output <DIR|->"),
        (&["--kubeconfig", "/nowhere/at/all"], "/nowhere/at/all"),
    ] {
        let outcome = fhpa(&[&["install"][..], arguments].concat());
        assert!(outcome.code == 2 && outcome.stderr.contains(said), "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn ours_knows_every_field_of_karmadas_own_definitions() {
    let ours = fhpa::api::crd::all().unwrap();
    for theirs in DEFINITIONS {
        let theirs: serde_json::Value = serde_saphyr::from_str(theirs).unwrap();
        let ours = ours.iter().find(|ours| ours["metadata"]["name"] == theirs["metadata"]["name"]).unwrap();
        let whole = fhpa::install::schema_merge::merge(ours, &theirs).unwrap();
        let missing = fhpa::install::compare::changes(ours, &whole);
        assert!(&whole == ours, "{missing:?} are missing in {}", theirs["metadata"]["name"]);
    }
}
