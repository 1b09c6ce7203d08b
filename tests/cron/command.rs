//! `fhpa cron`, run as a process.

use serde_json::{Value, json};

use crate::cli::command::{Outcome, fhpa, fhpa_with_input};

const MANIFEST: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: other}
---
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: shop, namespace: web}
spec:
  rules:
    - name: morning
      schedule: "0 8 * * 1-5"
      timeZone: Asia/Shanghai
    - name: night
      schedule: "0 25 * * *"
      suspend: true
"#;

fn json_of(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", outcome.stdout, outcome.stderr))
}

#[test]
fn runs_are_shown_in_the_zone_and_in_utc_with_what_is_odd() {
    let fixed =
        fhpa(&["cron", "30 2 * * *", "--time-zone", "America/New_York", "--after", "2027-03-12T12:00:00Z", "-n", "3"]);
    assert_eq!(fixed.code, 0, "{}", fixed.stderr);
    let (head, runs) = fixed.stdout.split_once('\n').unwrap();
    assert!(head.starts_with("30 2 * * * in America/New_York, zone rules 20"), "{head}");
    insta::assert_snapshot!(runs);
    let hourly = fhpa(&["cron", "30 * * * *", "-z", "America/New_York", "--after", "2027-11-07T04:45:00Z", "-n", "4"]);
    insta::assert_snapshot!(hourly.stdout.split_once('\n').unwrap().1);
}

#[test]
fn a_rare_schedule_says_where_the_search_ends() {
    let rare = fhpa(&["cron", "0 0 29 2 *", "-z", "UTC", "--after", "2094-01-01T00:00:00Z"]);
    assert_eq!(rare.code, 0);
    assert!(rare.stdout.ends_with("2096-02-29T00:00:00Z\n  no further run within five years\n"), "{}", rare.stdout);
}

#[test]
fn json_holds_the_expression_the_zone_and_the_instants() {
    let outcome = fhpa(&[
        "cron",
        "@hourly",
        "--time-zone",
        "Asia/Kolkata",
        "--after",
        "2026-11-20T10:17:00Z",
        "-n",
        "2",
        "-o",
        "json",
    ]);
    assert_eq!(outcome.code, 0);
    assert_eq!(
        json_of(&outcome),
        json!({"expression": "@hourly", "timeZone": "Asia/Kolkata", "next": ["2026-11-20T10:30:00Z", "2026-11-20T11:30:00Z"]})
    );
}

#[test]
fn what_was_probably_not_meant_is_noted_beside_the_runs() {
    let ask = |more: &[&str]| {
        let question = ["cron", "0 */5 24 11 5", "-z", "EST", "--after", "2027-11-01T12:00:00Z", "-n", "2"];
        let outcome = fhpa(&[&question, more].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        outcome
    };
    insta::assert_snapshot!(ask(&[]).stdout.split_once('\n').unwrap().1, @r#"
      Fri 2027-11-05 00:00 -05:00  2027-11-05T05:00:00Z
      Fri 2027-11-05 05:00 -05:00  2027-11-05T10:00:00Z
      note: runs on the 24th and on each Friday in November (next 2027-11-05, 2027-11-12, 2027-11-19): write "0 */5 24 11 *" for the date, "0 */5 * 11 5" for the weekday, a rule for each date that is both (first 2028-11-24)
      note: */5 of hour is uneven: 20 is followed by 0 after 4 hours; even are 4 and 6
      note: "EST" is UTC-05:00 all year, an hour off in summer where clocks change: write America/New_York, or America/Panama where they do not
    "#);
    let notes = &json_of(&ask(&["-o", "json"]))["notes"];
    assert_eq!(notes.as_array().unwrap().len(), 3, "{notes}");
    let plain = json_of(&fhpa(&["cron", "*/5 * * * *", "-z", "UTC", "-o", "json"]));
    assert_eq!(plain.get("notes"), None);
}

#[test]
fn a_wrong_schedule_is_answered_with_1_and_its_field() {
    let text = fhpa(&["cron", "0 25 * * *"]);
    assert_eq!((text.code, text.stdout.as_str()), (1, ""));
    assert_eq!(text.stderr, "error: hour 25 is out of range 0-23\n  0 25 * * *\n    ^^\n");
    let json = fhpa(&["cron", "61 * * * *", "-o", "json"]);
    assert_eq!(json.code, 1);
    assert_eq!(json_of(&json), json!({"error": {"field": "minute", "message": "minute 61 is out of range 0-59"}}));
    let whole = json_of(&fhpa(&["cron", "* * *", "-o", "json"]));
    assert_eq!(whole["error"]["field"], "schedule");
    let zone = fhpa(&["cron", "0 8 * * *", "--time-zone", "asia/shanghai", "-o", "json"]);
    assert_eq!(zone.code, 1);
    assert_eq!(
        json_of(&zone),
        json!({"error": {"field": "timeZone", "message": "\"asia/shanghai\" is not a time zone, case counts; write Asia/Shanghai"}})
    );
}

#[test]
fn every_rule_of_a_manifest_is_answered() {
    let arguments = ["cron", "-", "--after", "2026-11-20T00:00:00Z", "-n", "1", "-o", "json"];
    let outcome = fhpa_with_input(&arguments, MANIFEST.as_bytes());
    assert_eq!(outcome.code, 1, "{}", outcome.stderr);
    assert_eq!(
        json_of(&outcome),
        json!([
            {"file": "<stdin>", "line": 11, "namespace": "web", "name": "shop", "rule": "morning", "suspended": false,
             "expression": "0 8 * * 1-5", "timeZone": "Asia/Shanghai", "next": ["2026-11-23T00:00:00Z"]},
            {"file": "<stdin>", "line": 14, "namespace": "web", "name": "shop", "rule": "night", "suspended": true,
             "error": {"field": "hour", "message": "hour 25 is out of range 0-23"}},
        ])
    );
    let text = fhpa_with_input(&arguments[..6], MANIFEST.as_bytes());
    insta::assert_snapshot!(text.stdout.split_once('\n').unwrap().1);
}

#[test]
fn a_list_in_json_is_read_like_its_items() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [{
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": {"name": "a"},
        "spec": {"rules": [{"name": "r", "schedule": "0 0 1 1 *", "timeZone": "UTC"}]}}]});
    let outcome = fhpa_with_input(
        &["cron", "-", "--after", "2026-01-01T00:00:00Z", "-n", "1", "-o", "json"],
        list.to_string().as_bytes(),
    );
    assert_eq!(json_of(&outcome)[0]["next"], json!(["2027-01-01T00:00:00Z"]));
}

#[test]
fn what_cannot_be_read_is_answered_with_2() {
    for arguments in [
        &["cron", "missing.yaml"][..],
        &["cron", "0 8 * * *", "--after", "tomorrow"],
        &["cron", "0", "8", "*", "*", "*"],
        &["cron"],
    ] {
        let outcome = fhpa(arguments);
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(!outcome.stderr.is_empty());
    }
    assert_eq!(fhpa_with_input(&["cron", "-"], b"a: [").code, 2);
    assert_eq!(
        fhpa(&["cron", "0", "8", "*", "*", "*"]).stderr,
        "error: put the schedule in quotes: fhpa cron '0 8 * * *'\n"
    );
}

#[test]
fn several_schedules_in_quotes_are_answered_each() {
    let asked = ["cron", "0 8 * * MON-FRI", "@daily", "-z", "UTC", "--after", "2027-01-01T00:00:00Z", "-n", "1"];
    let text = fhpa(&asked);
    assert_eq!((text.code, &*text.stderr), (0, ""));
    for part in ["\n0 8 * * MON-FRI in UTC\n  Fri 2027-01-01 08:00", "\n@daily in UTC\n  Sat 2027-01-02 00:00"] {
        assert!(text.stdout.contains(part), "{part:?} is not in\n{}", text.stdout);
    }
    let json = json_of(&fhpa(&[&asked[..], &["-o", "json"]].concat()));
    assert_eq!(json[0]["expression"], "0 8 * * MON-FRI");
    assert_eq!(json[1]["next"], json!(["2027-01-02T00:00:00Z"]));
    let wrong = fhpa(&["cron", "0 8 * * *", "0 25 * * *"]);
    assert!(wrong.code == 1 && wrong.stdout.contains("0 25 * * * in"), "{}", wrong.stdout);
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let manifest = MANIFEST.replace("Asia/Shanghai", r#""a\e[31m""#).replace("0 8 * * 1-5", r"0 8 * * \e[31m");
    let outcome = fhpa_with_input(&["cron", "-"], manifest.as_bytes());
    assert!(outcome.stdout.contains("night") && !outcome.stdout.contains('\u{1b}'), "{:?}", outcome.stdout);
}
