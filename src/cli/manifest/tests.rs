//! Reading manifests, and pointing into them.
#![allow(clippy::string_slice, clippy::format_push_string)]

use serde_json::{Value, json};

use super::{Source, SourceLocation, SyntaxError, load};

fn source(text: &str) -> Source {
    Source::new("shop.yaml", text.as_bytes().to_vec()).unwrap()
}

fn values(text: &str) -> Vec<Value> {
    load(&source(text)).unwrap().iter().map(|node| node.to_value()).collect()
}

fn error(text: &str) -> SyntaxError {
    load(&source(text)).unwrap_err()
}

/// The text at the position of `path`, and whether it is exact.
fn pointed(text: &str, path: &str) -> (String, bool) {
    let source = source(text);
    let documents = load(&source).unwrap();
    let place = SourceLocation::of(&documents[0], path, &source);
    (source.text[place.span].to_owned(), place.exact)
}

#[test]
fn scalars_are_read_as_kubernetes_reads_them() {
    let text =
        "[yes, On, n, off, 'yes', \"1\", 0o17, 017, 0x1F, 0b11, 1_000, 08, 10.0, 1.5, .5, ~, null, '', 1e3, +7, -7,
        2026-01-02, 12:30, 18446744073709551615, 1e400, 0x, '~', true, .inf5, -x, 1__, 6.]";
    assert_eq!(
        values(text),
        [json!([
            true,
            true,
            false,
            false,
            "yes",
            "1",
            15,
            15,
            31,
            3,
            1000,
            8,
            10,
            1.5,
            0.5,
            null,
            null,
            "",
            1000,
            7,
            -7,
            "2026-01-02",
            "12:30",
            18_446_744_073_709_551_615_u64,
            "1e400",
            "0x",
            "~",
            true,
            ".inf5",
            "-x",
            1,
            6
        ])]
    );
}

#[test]
fn an_infinite_number_is_refused() {
    assert_eq!(error("a: .inf").message, ".inf is no number that JSON can hold");
}

#[test]
fn tags_of_the_core_schema_decide_the_type() {
    assert_eq!(
        values("[!!str 1, ! 2, !!int 3, !!float 4, !own x, !!binary aGk=]"),
        [json!(["1", "2", 3, 4, "x", "aGk="])]
    );
    assert_eq!(error("a: !!int x").message, "\"x\" is no !!int");
}

#[test]
fn documents_are_separated_and_empty_ones_left_out() {
    let text =
        "\u{feff}# only a comment\r\n---\r\n...\r\n--- # nothing\r\n---\r\na: 1\r\n---\r\n- b\r\n--- c\r\n...\r\n";
    assert_eq!(values(text), [json!({"a": 1}), json!(["b"]), json!("c")]);
    assert_eq!(values(""), Vec::<Value>::new());
}

#[test]
fn aliases_and_merge_keys_are_written_out() {
    let text = "base: &base {a: 1, b: 2}\nx:\n  b: 3\n  <<: *base\nv: {<<: [{a: 5}, *base]}\nz: *base\n";
    assert_eq!(
        values(text),
        [json!({"base": {"a": 1, "b": 2}, "x": {"a": 1, "b": 3}, "v": {"a": 5, "b": 2}, "z": {"a": 1, "b": 2}})]
    );
    assert_eq!(error("a: {<<: 1}").message, "`<<` merges a mapping or a list of mappings");
}

#[test]
fn anchors_end_with_their_document() {
    assert!(load(&source("a: &a 1\n---\nb: *a\n")).is_err());
}

#[test]
fn an_alias_inside_of_its_anchor_is_refused() {
    assert_eq!(error("a: &a [*a]").message, "this alias is inside the node it refers to");
}

#[test]
fn billion_laughs_are_refused_before_they_cost_memory() {
    let mut text = "a0: &a0 [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n".to_owned();
    for level in 1..40 {
        let aliases = vec![format!("*a{}", level - 1); 9].join(",");
        text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert!(error(&text).message.contains("with its aliases written out"));
}

#[test]
fn merging_the_same_mapping_over_and_over_is_bounded() {
    let keys: Vec<String> = (0..1000).map(|key| format!("k{key}: 1")).collect();
    let aliases = vec!["*a"; 100_000].join(",");
    let text = format!("a: &a {{{}}}\nb: {{<<: [{aliases}]}}\n", keys.join(","));
    assert!(error(&text).message.contains("with its aliases written out"));
}

#[test]
fn deep_nesting_is_refused_however_it_is_built() {
    let deep = "nested deeper than 100 levels";
    assert!(error(&"[".repeat(150)).message.contains(deep));
    assert!(error(&"- ".repeat(100_000)).message.contains(deep));
    let mut chain = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert!(error(&chain).message.contains(deep));
}

#[test]
fn a_key_that_stands_twice_is_refused_with_both_places() {
    let text = "a: 1\nb: 2\n\"a\": 3\n";
    let error = error(text);
    assert_eq!(error.message, "the key \"a\" is a duplicate in this mapping");
    assert_eq!((&text[error.span], &text[error.other.unwrap().0]), ("\"a\"", "a"));
}

#[test]
fn keys_that_are_not_text_are_written_out() {
    assert_eq!(values("{1: a, true: b, 1.5: c}"), [json!({"1": "a", "true": "b", "1.5": "c"})]);
    assert!(error("? [x]\n: y\n").message.contains("a key must be text"));
    assert!(error("replicas: {{ .Values.replicas }}\n").help.unwrap().contains("helm template"));
}

#[test]
fn typical_slips_get_a_hint() {
    assert!(error("schedule: */5 * * * *\n").help.unwrap().contains("needs quotes"));
    assert!(error("schedule: * * * * *\n").help.unwrap().contains("needs quotes"));
    assert!(error("schedule: @daily\n").help.unwrap().contains("\"@daily\""));
    assert_eq!(error("a:\n\tb: 1\n").help, Some("indent with spaces"));
    assert!(error("a: 1\n b: 2\n").message.contains("indented too far"));
}

#[test]
fn places_are_counted_in_bytes_and_columns_in_characters() {
    let text = "é: ü\nschlüssel: 'wört'\n";
    let source = source(text);
    let documents = load(&source).unwrap();
    let place = SourceLocation::of(&documents[0], "schlüssel", &source);
    assert_eq!(&source.text[place.span.clone()], "'wört'");
    let position = source.position(place.span.start);
    assert_eq!((position.line, position.column), (2, 12));
}

#[test]
fn offsets_hold_far_into_a_text_that_is_not_ascii() {
    let text = format!("{}x: last\n", "ключ: значение 🦀\n---\n".repeat(500));
    let source = source(&text);
    let last = load(&source).unwrap().pop().unwrap();
    assert_eq!(&source.text[SourceLocation::of(&last, "x", &source).span], "last");
}

const RULES: &str = "kind: CronFederatedHPA
metadata:
  annotations: {a.b/c: x, \"d[0]\": y}
spec:
  rules:
  - name: up
    schedule: |
      61 * * * *
    empty:
  - {name: down, schedule: '0 11 * * *'}
";

#[test]
fn a_path_points_to_the_value_it_names() {
    assert_eq!(pointed(RULES, "spec.rules[1].schedule"), ("'0 11 * * *'".into(), true));
    assert_eq!(pointed(RULES, "spec.rules[0].schedule"), ("61 * * * *".into(), true));
    assert_eq!(pointed(RULES, "metadata.annotations[a.b/c]"), ("x".into(), true));
    assert_eq!(pointed(RULES, "metadata.annotations.d[0]"), ("y".into(), true));
    assert_eq!(pointed(RULES, "spec.rules"), ("rules".into(), true));
    assert_eq!(pointed(RULES, "spec.rules[0].empty"), ("empty".into(), true));
    assert_eq!(pointed(RULES, "spec.rules[0]"), ("name: up".into(), true));
}

#[test]
fn a_path_that_is_not_written_points_to_the_nearest_parent() {
    assert_eq!(pointed(RULES, "spec.rules[0].targetReplicas"), ("name: up".into(), false));
    assert_eq!(pointed(RULES, "spec.rules[1].targetReplicas"), ("{name: down, schedule: '0 11 * * *'}".into(), false));
    assert_eq!(pointed(RULES, "spec.rules[7].name"), ("rules".into(), false));
    assert_eq!(pointed(RULES, "spec.scaleTargetRef.name"), ("spec".into(), false));
    assert_eq!(pointed(RULES, "metadata.name"), ("metadata".into(), false));
    assert_eq!(pointed(RULES, "status"), ("kind: CronFederatedHPA".into(), false));
    assert_eq!(pointed(RULES, ""), ("kind: CronFederatedHPA".into(), true));
    assert_eq!(pointed(RULES, "spec.rules[99999999999999999999999].x"), ("rules".into(), false));
}

#[test]
fn json_is_read_with_places() {
    let text = "{\n\t\"a\": {\"b\": [1, \"\\ud83d\\ude00\\/\\\\ud83d\"]}\n}\n{\"c\": 10.0}{\"d\": 1}";
    assert_eq!(values(text), [json!({"a": {"b": [1, "😀/\\ud83d"]}}), json!({"c": 10}), json!({"d": 1})]);
    let source = source(text);
    let documents = load(&source).unwrap();
    assert_eq!(&source.text[SourceLocation::of(&documents[2], "d", &source).span], "1");
    assert_eq!(source.position(SourceLocation::of(&documents[0], "a.b[1]", &source).span.start).line, 2);
}

#[test]
fn json_errors_keep_their_place() {
    let read = |text: &str| load(&Source::new("shop.json", text.as_bytes().to_vec()).unwrap());
    let error = read("{\n  \"a\": 1,\n  \"b\" 2\n}").unwrap_err();
    assert_eq!((error.message.as_str(), error.span), ("expected `:`", 18..19));
    let error = read("{\"a\": 1}\n{\"b\": 1, \"b\": 2}").unwrap_err();
    assert_eq!(error.span, 18..21);
    assert!(read("{\"a\": \"\\ud83d\"}").unwrap_err().message.contains("surrogate"));
    assert!(read("a: 1").is_err());
}

#[test]
fn a_text_in_braces_may_be_yaml() {
    assert_eq!(values("{a: 1, b: [yes]}"), [json!({"a": 1, "b": [true]})]);
}

#[test]
fn what_is_not_utf8_or_too_large_is_refused() {
    let refusal = |bytes: &[u8]| Source::new("x", bytes.to_vec()).unwrap_err();
    assert_eq!(refusal(b"a: 1\nb: \xe9\n"), "the file is not UTF-8 (first on line 2); save it as UTF-8");
    assert!(refusal(b"\xff\xfea\0:\0").contains("UTF-16"));
    assert_eq!(refusal(&vec![b' '; super::MAX_BYTES + 1]), "the file is larger than 16 MiB");
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[a-c\\[\\]{}:,&*<!|>'\"\\\\#%@`?~0-9 \t\r\n-]{0,80}") {
        let source = source(&text);
        match load(&source) {
            Ok(documents) => for document in &documents {
                for path in ["", "a", "a.b[0]", "[0].a", "c[1]"] {
                    let place = SourceLocation::of(document, path, &source);
                    assert!(source.text.get(place.span).is_some());
                }
            },
            Err(error) => assert!(source.text.get(error.span).is_some()),
        }
    }

    #[test]
    fn what_json_writes_is_read_back(keys in proptest::collection::btree_map("\\PC{0,12}", "\\PC{0,12}", 0..6), n in proptest::num::i64::ANY) {
        let value = json!({"n": n, "list": [keys, {"x": null}]});
        assert_eq!(values(&value.to_string()), std::slice::from_ref(&value));
        assert_eq!(values(&serde_json::to_string_pretty(&value).unwrap()), [value]);
    }
}
