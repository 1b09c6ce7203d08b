//! The inputs of `fhpa validate`, and its messages for unreadable ones.

use std::fs;

use super::command::{fhpa, fhpa_with_input};

/// Output and exit code for this text on standard input.
fn stdin(text: &str) -> (String, i32) {
    let outcome = fhpa_with_input(&["validate", "-"], text.as_bytes());
    assert_eq!(outcome.stderr, "");
    (outcome.stdout, outcome.code)
}

#[test]
fn a_key_that_stands_twice_is_shown_with_both_places() {
    let (shown, code) = stdin("kind: FederatedHPA\nspec:\n  maxReplicas: 1\n  minReplicas: 1\n  maxReplicas: 2\n");
    assert_eq!(code, 2);
    insta::assert_snapshot!("key_twice", shown);
}

#[test]
fn a_tab_is_shown_where_it_stands() {
    let (shown, code) = stdin("kind: FederatedHPA\nspec:\n  maxReplicas: 1\n\tminReplicas: 1\n");
    assert_eq!(code, 2);
    insta::assert_snapshot!("tab", shown);
}

#[test]
fn a_control_character_is_shown_where_it_stands() {
    let (shown, code) = stdin("kind: FederatedHPA\nspec:\n  maxReplicas: \u{0}1\n");
    assert_eq!(code, 2);
    assert!(shown.contains("a control character, U+0000, must not be in YAML"), "{shown}");
    assert!(shown.contains("<stdin>:3:16") && !shown.contains('\u{0}'), "{}", shown.escape_debug());
}

#[test]
fn a_template_is_told_from_a_manifest() {
    let (shown, code) = stdin("kind: FederatedHPA\nspec:\n  maxReplicas: {{ .Values.max }}\n");
    assert_eq!(code, 2);
    insta::assert_snapshot!("template", shown);
}

#[test]
fn a_place_far_into_a_long_line_is_shown_with_its_column() {
    let long = "x".repeat(5000);
    let (shown, code) = stdin(&format!("a: '{long}' 'b'\n"));
    assert_eq!(code, 2);
    insta::assert_snapshot!("long_line", shown);
}

#[test]
fn what_is_missing_or_no_text_is_unreadable() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("empty")).unwrap();
    fs::write(directory.path().join("latin1.yaml"), b"kind: \xe9\n").unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let outcome = fhpa(&["validate", &path("nope.yaml"), &path("empty"), &path("latin1.yaml")]);
    assert_eq!(outcome.code, 2);
    let shown = outcome.stdout.replace(&directory.path().display().to_string(), "[DIR]");
    insta::assert_snapshot!("unreadable", shown);
}

#[test]
fn a_directory_is_searched_for_manifests() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str| {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\"}").unwrap();
    };
    for name in ["a.yaml", "b/c.yml", "b/d/e.JSON", "b/notes.txt", ".git/f.yaml", "g.yaml.bak"] {
        write(name);
    }
    let root = directory.path().display().to_string();
    let outcome = fhpa(&["validate", &root, &format!("{root}/a.yaml")]);
    assert_eq!(
        outcome.stdout,
        "no FederatedHPA or CronFederatedHPA found, 3 objects of other kinds skipped: nothing was checked\n"
    );
    assert_eq!(outcome.code, 0);
}

#[test]
fn a_document_that_is_no_object_is_an_error() {
    for (text, shown) in [
        ("just a sentence\n", "Invalid value: \"just a sentence\""),
        ("<!DOCTYPE html><html></html>\n", "Invalid value: \"<!DOCTYPE html><html></html>\""),
        (r#"[{"apiVersion": "v1", "kind": "ConfigMap"}]"#, "Invalid value: a list"),
        ("42", "Invalid value: 42"),
    ] {
        let (told, code) = stdin(text);
        assert!(code == 1 && told.contains(&format!("error[no-object]: {shown}")), "{text}: {code} {told}");
        assert!(told.contains("is a mapping with apiVersion and kind"), "{told}");
    }
}

#[test]
fn a_mapping_without_api_version_and_kind_is_warned_of() {
    let (told, code) = stdin("replicaCount: 3\nimage: {tag: v1}\n");
    assert!(code == 0 && told.contains("warning[type-meta]: apiVersion: Required value"), "{code} {told}");
    assert!(told.ends_with("skipped: 1 warning\n"), "{told}");
}

#[test]
fn where_nothing_was_checked_it_says_so_and_a_strict_check_fails() {
    for text in ["", "---\n", "apiVersion: v1\nkind: ConfigMap\n"] {
        let (told, code) = stdin(text);
        assert!(code == 0 && told.ends_with(": nothing was checked\n"), "{text:?}: {code} {told}");
        assert_eq!(fhpa_with_input(&["validate", "--strict", "-"], text.as_bytes()).code, 1, "{text:?}");
    }
    assert_eq!(fhpa(&["validate", "--strict", "examples/web-shop.yaml"]).code, 0);
}

#[test]
fn a_finding_in_a_very_long_line_has_no_empty_note() {
    let (told, _) = stdin(&format!("a: '{}' 'b'\n", "x".repeat(5000)));
    assert!(!told.contains("= note: \n") && !told.contains("= note:\n"), "{told}");
}

#[test]
fn a_namespace_is_a_name() {
    let outcome = fhpa(&["validate", "-n", "a/b", "examples/web-shop.yaml"]);
    assert!(outcome.code == 2 && outcome.stderr.contains("RFC 1123 label"), "{}", outcome.stderr);
}

fn refuses(wrong: &[&str], rule: &str) {
    let outcome = fhpa(wrong);
    assert!(outcome.code == 2 && outcome.stderr.contains(rule), "{wrong:?}: {}", outcome.stderr);
}

#[test]
fn what_becomes_a_part_of_a_url_is_a_name() {
    refuses(&["controller", "--lease-name", "a/b"], "RFC 1123 subdomain");
    refuses(&["recover", "--lease-namespace", "a.b"], "RFC 1123 label");
}

#[test]
fn what_is_told_to_a_playground_is_a_name() {
    refuses(&["playground", "load", "a?b", "2"], "RFC 1123 subdomain");
    refuses(&["playground", "load", "web", "2", "--namespace", ".."], "RFC 1123 label");
    refuses(&["playground", "fail", "../status"], "RFC 1123 subdomain");
}

#[test]
fn the_flag_of_kubectl_works_too() {
    let outcome = fhpa(&["validate", "-f", "examples/web-shop.yaml", "-f", "examples/data-centre-first.yaml"]);
    assert_eq!(
        (outcome.stdout.as_str(), outcome.code),
        ("2 FederatedHPAs checked, 6 objects of other kinds skipped: nothing wrong\n", 0)
    );
}

#[test]
fn without_a_file_the_usage_is_shown() {
    let outcome = fhpa(&["validate"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("Usage: fhpa validate <FILE|DIR|->..."), "{}", outcome.stderr);
}
