//! The parser compared with the recorded decisions of kube-apiserver.

use std::collections::BTreeMap;

use fhpa::decision::cron::{Field, Schedule};
use serde::Deserialize;

use super::lines;

#[derive(Deserialize)]
struct Line {
    class: String,
    expr: String,
    k8s_apiserver_ok: bool,
    #[serde(default)]
    never_fires: bool,
}

/// The deliberate difference that a line falls in, by its text alone.
fn deliberate(line: &Line) -> Option<&'static str> {
    if line.k8s_apiserver_ok && line.expr.starts_with("@every ") {
        return Some("@every is refused");
    }
    if line.k8s_apiserver_ok && line.never_fires {
        return Some("never fires is refused");
    }
    let weekday = line.expr.split_whitespace().nth(4).unwrap_or_default();
    let seven = weekday.split(',').any(|item| {
        let range = item.split('/').next().unwrap_or_default();
        range.split('-').any(|value| value.trim_start_matches('+').trim_start_matches('0') == "7")
    });
    if !line.k8s_apiserver_ok && seven && line.expr.split_whitespace().count() == 5 {
        return Some("7 is Sunday");
    }
    None
}

#[test]
fn every_recorded_expression_is_decided_as_kube_apiserver_does_but_for_the_deliberate_classes() {
    let mut differences: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut agreed = 0;
    for line in lines::<Line>("cron_syntax.jsonl") {
        let ours = Schedule::parse(&line.expr);
        if ours.is_ok() == line.k8s_apiserver_ok {
            agreed += 1;
            continue;
        }
        match deliberate(&line) {
            Some(class) => differences.entry(class).or_insert((0, line.expr.clone())).0 += 1,
            None => wrong.push(format!("{} {:?}: {ours:?}", line.class, line.expr)),
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let counts: Vec<_> = differences.iter().map(|(class, (count, _))| (*class, *count)).collect();
    assert_eq!(
        (agreed, counts),
        (2559, vec![("7 is Sunday", 21), ("@every is refused", 15), ("never fires is refused", 11)])
    );
}

/// Each refusal: what was written, the field it names, what it says.
#[test]
fn every_refusal_says_what_to_write() {
    let texts = [
        "",
        "   ",
        "61 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * 32 * *",
        "* * * 13 *",
        "* * * * 8",
        "* * * * 1-9",
        "-1 * * * *",
        "1- * * * *",
        "1-2-3 * * * *",
        "/5 * * * *",
        "*/ * * * *",
        "*/0 * * * *",
        "*/-5 * * * *",
        "1-5/x * * * *",
        "*/2/3 * * * *",
        "*/99999999999999999999 * * * *",
        "* 22-6 * * *",
        "* * * * fri-mon",
        "* 20-4/2 * * *",
        "* * mon * *",
        "* * * mon *",
        "* * * * jan",
        "* * * january *",
        "* * * * monday",
        "* * * * foo",
        "x * * * *",
        "1.5 * * * *",
        "* * L * *",
        "* * 15W * *",
        "* * LW * *",
        "* * * * 5L",
        "* * * * 1#2",
        "H * * * *",
        "* * 30 2 *",
        "* * 31 4,6 *",
        "* * 31 2,4,6,9,11 *",
        ", * * * *",
        "* * * * ,",
        "* * * *",
        "*",
        "0 0 8 * * 1-5",
        "0 8 * * 1-5 2027",
        "0 0 8 * * 1-5 2027",
        "0 0 0 0 0 0",
        "* * * * * * * *",
        "@HOURLY",
        "@Daily",
        " @daily",
        "@dayly",
        "@every 5m",
        "@every 1h",
        "@every 1h30m",
        "@every",
        "@5minutes",
        "@30minutes",
        "@always",
        "@reboot",
        "@fortnightly",
        "TZ=Asia/Shanghai 0 8 * * *",
        "CRON_TZ=UTC 0 8 * * *",
        "TZ=UTC",
        "0 8 * * MON..FRI",
        "0 8 * * 1\u{7}",
    ];
    let mut out = String::new();
    for text in texts {
        let error = Schedule::parse(text).unwrap_err();
        out += &format!(
            "{text:?}: {}{}\n",
            error.field.map_or(String::new(), |field| format!("[{field}] ")),
            error.message
        );
    }
    insta::assert_snapshot!(out);
}

#[test]
fn a_hostile_text_gets_a_short_answer() {
    for text in [
        "9".repeat(10_000),
        "a ".repeat(8_000),
        "*,".repeat(9_000),
        format!("* * * * {}", "1#".repeat(5_000)),
        "\u{1f600}".repeat(4_000),
    ] {
        let error = Schedule::parse(&text).unwrap_err();
        assert!(error.message.len() < 300, "{}", error.message);
    }
}

#[test]
fn seven_is_sunday_alone_and_as_the_end_of_a_range() {
    let same = [
        ("* * * * 7", "* * * * 0"),
        ("* * * * 5-7", "* * * * 0,5,6"),
        ("* * * * 1-7", "* * * * 0-6"),
        ("* * * * 1-7/3", "* * * * 1,4,0"),
        ("* * * * 7/2", "* * * * 0"),
        ("* * * * fri-7", "* * * * 0,5,6"),
        ("* * * * 1/2", "* * * * 1,3,5"),
    ];
    for (text, like) in same {
        assert_eq!(Schedule::parse(text).unwrap(), Schedule::parse(like).unwrap(), "{text}");
    }
    assert_eq!(Schedule::parse("* * * * 8").unwrap_err().field, Some(Field::DayOfWeek));
}
