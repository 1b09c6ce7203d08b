//! Output of findings: as JSON, in colour, bounded; and their effect on the exit code.

use super::command::{fhpa, fhpa_with_input};

#[test]
fn findings_are_written_as_json_with_their_places() {
    let outcome = fhpa(&["validate", "-o", "json", "examples/wrong/kinds.yaml"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, ""));
    insta::assert_snapshot!("kinds_json", outcome.stdout);
}

#[test]
fn nothing_wrong_is_an_empty_array() {
    let outcome = fhpa(&["validate", "-o", "json", "examples/web-shop.yaml"]);
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "[]\n"));
}

#[test]
fn an_unreadable_file_is_a_finding_too() {
    let outcome = fhpa(&["validate", "-o", "json", "nope.yaml"]);
    assert_eq!(outcome.code, 2);
    let findings: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(
        (&findings[0]["file"], &findings[0]["line"], &findings[0]["rule"]),
        (&"nope.yaml".into(), &0.into(), &"unreadable".into())
    );
}

#[test]
fn colours_come_only_when_they_are_asked_for() {
    let coloured = |flag| fhpa(&["validate", "--color", flag, "examples/wrong/kinds.yaml"]).stdout.contains('\u{1b}');
    assert!(!coloured("auto"), "standard output is no terminal here");
    assert!(!coloured("never"));
    assert!(coloured("always"));
}

#[test]
fn output_is_bounded_and_the_count_is_not() {
    let outcome = fhpa(&["validate", "--max-findings", "1", "examples/wrong/kinds.yaml"]);
    assert_eq!(outcome.stdout.matches("error[").count(), 1);
    assert!(outcome.stdout.contains("... and 3 more"), "{}", outcome.stdout);
    assert!(outcome.stdout.ends_with("4 errors\n"), "{}", outcome.stdout);
}

#[test]
fn warnings_fail_only_a_strict_check() {
    let foreign = b"{apiVersion: example.com/v1, kind: FederatedHPA, metadata: {name: theirs}}";
    let loose = fhpa_with_input(&["validate", "-"], foreign);
    assert_eq!(loose.code, 0);
    insta::assert_snapshot!("foreign_group", loose.stdout);
    assert_eq!(fhpa_with_input(&["validate", "--strict", "-"], foreign).code, 1);
}

#[test]
fn an_object_in_a_list_is_named_by_its_place_in_it() {
    let list = b"kind: List\napiVersion: v1\nitems:\n- {apiVersion: v1, kind: ConfigMap}\n- apiVersion: autoscaling.karmada.io/v1\n  kind: FederatedHPA\n";
    let outcome = fhpa_with_input(&["validate", "-"], list);
    assert_eq!(outcome.code, 1);
    insta::assert_snapshot!("in_a_list", outcome.stdout);
}

#[test]
fn the_same_object_given_twice_is_warned_of() {
    let outcome = fhpa(&["validate", "examples/web-shop.yaml", "examples/../examples/web-shop.yaml"]);
    assert!(
        outcome.stdout.ends_with("1 FederatedHPA checked, 3 objects of other kinds skipped: nothing wrong\n"),
        "one file by two names: {}",
        outcome.stdout
    );
    let good = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/web-shop.yaml")).unwrap();
    let outcome = fhpa_with_input(&["validate", "examples/web-shop.yaml", "-"], &good);
    assert_eq!(outcome.code, 0);
    insta::assert_snapshot!("given_twice", outcome.stdout);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let outcome = fhpa_with_input(
        &["validate", "-"],
        b"apiVersion: autoscaling.karmada.io/v1alpha1\nkind: \"X\\e[31m\"\n\"a\\eb\": \"\\e]0;x\\a\"\n",
    );
    assert!(!outcome.stdout.contains(['\u{1b}', '\u{7}']), "{:?}", outcome.stdout);
}

#[test]
fn conflicts_are_found_between_files_and_only_within_a_namespace() {
    let hpa = |name: &str, metadata: &str| {
        format!(
            "{{apiVersion: autoscaling.karmada.io/v1alpha1, kind: FederatedHPA, metadata: {{name: {name}{metadata}}}, spec: \
             {{scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: web}}, maxReplicas: 3}}}}"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a.yaml").display().to_string();
    std::fs::write(&file, hpa("a", "")).unwrap();
    let check = |args: &[&str], second: String| {
        fhpa_with_input(&[&["validate", file.as_str(), "-"], args].concat(), second.as_bytes())
    };
    let clash = check(&[], hpa("b", ", namespace: default"));
    assert_eq!(clash.code, 1);
    assert_eq!(clash.stdout.matches("error[conflict]").count(), 2, "{}", clash.stdout);
    let warned = check(&["--conflict-policy", "warn"], hpa("b", ""));
    assert_eq!((warned.code, warned.stdout.matches("warning[conflict]").count()), (0, 2), "{}", warned.stdout);
    let other = |version: &str, kind: &str| {
        format!(
            "{{apiVersion: {version}, kind: {kind}, metadata: {{name: old}}, spec: {{scaleTargetRef: {{apiVersion: apps/v1, \
                 kind: Deployment, name: web}}}}}}"
        )
    };
    for (version, kind) in [("autoscaling/v2", "HorizontalPodAutoscaler"), ("keda.sh/v1alpha1", "ScaledObject")] {
        let found = check(&[], other(version, kind));
        assert_eq!((found.code, found.stdout.matches("error[conflict]").count()), (1, 1), "{}", found.stdout);
        assert!(found.stdout.contains(&format!(r#"{kind} "old" scales this Deployment too"#)), "{}", found.stdout);
    }
    assert_eq!(check(&[], hpa("b", ", namespace: other")).code, 0);
    assert_eq!(check(&["--namespace", "other"], hpa("b", ", namespace: default")).code, 0);
}
