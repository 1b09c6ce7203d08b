//! Schedules and zones that are valid and probably meant otherwise, and good ones, of which nothing is said.

use super::cases::{cron, told};

/// A rule with this schedule, and more members.
fn rule(schedule: &str, more: &str) -> String {
    cron(&format!(r#"{{"name":"a","schedule":"{schedule}","targetReplicas":5{more}}}"#))
}

#[test]
fn a_schedule_with_both_day_fields_is_told_when_it_runs_and_what_to_write() {
    insta::assert_snapshot!(told(&rule("0 0 24 11 5", "")), @r#"warning: spec.rules[0].schedule: runs on the 24th and on each Friday in November (next 2026-11-24, 2026-11-27, 2027-11-05): write "0 0 24 11 *" for the date, "0 0 * 11 5" for the weekday, a rule for each date that is both (first 2028-11-24)"#);
    insta::assert_snapshot!(told(&rule("30 8 1-7 * MON", "")), @r#"warning: spec.rules[0].schedule: runs on the 1st to 7th and on each Monday (next 2026-11-23, 2026-11-30, 2026-12-01): write "30 8 1-7 * *" for the date, "30 8 * * MON" for the weekday, a rule for each date that is both (first 2026-12-07)"#);
    insta::assert_snapshot!(told(&rule("*/5 9-17 1,15 1,2,6-8 1-5", r#","timeZone":"Asia/Tokyo""#)), @r#"warning: spec.rules[0].schedule: runs on the 1st and 15th and on each Monday to Friday in January, February and June to August (next 2027-01-01, 2027-01-04, 2027-01-05): write "*/5 9-17 1,15 1,2,6-8 *" for the date, "*/5 9-17 * 1,2,6-8 1-5" for the weekday, a rule for each date that is both (first 2027-01-01)"#);
    insta::assert_snapshot!(told(&rule("0 0 */10 * 0-6", "")), @r#"
    warning: spec.rules[0].schedule: runs on 4 days of the month and on each day of the week (next 2026-11-21, 2026-11-22, 2026-11-23): write "0 0 */10 * *" for the date, "0 0 * * 0-6" for the weekday, a rule for each date that is both (first 2026-11-21)
    warning: spec.rules[0].schedule: */10 of day-of-month is uneven: the 31st is followed by the 1st after 1 day
    "#);
}

#[test]
fn a_zone_that_is_an_offset_is_told_with_the_place_that_changes_its_clocks() {
    let zone = |name: &str| told(&rule("0 8 * * *", &format!(r#","timeZone":"{name}""#)));
    insta::assert_snapshot!(["EST", "MST", "HST", "Etc/GMT+5", "Etc/GMT-1", "Etc/GMT-8", "Etc/GMT+12"].map(zone).join("\n"), @r#"
    warning: spec.rules[0].timeZone: "EST" is UTC-05:00 all year, an hour off in summer where clocks change: write America/New_York, or America/Panama where they do not
    warning: spec.rules[0].timeZone: "MST" is UTC-07:00 all year, an hour off in summer where clocks change: write America/Denver, or America/Phoenix where they do not
    warning: spec.rules[0].timeZone: "HST" is UTC-10:00 all year, an hour off in summer where clocks change: write America/Adak, or Pacific/Honolulu where they do not
    warning: spec.rules[0].timeZone: "Etc/GMT+5" is UTC-05:00 all year, an hour off in summer where clocks change: write the place, such as America/New_York
    warning: spec.rules[0].timeZone: "Etc/GMT-1" is UTC+01:00 all year, an hour off in summer where clocks change: write the place, such as Europe/Berlin
    warning: spec.rules[0].timeZone: "Etc/GMT-8" is UTC+08:00 all year: write the place, such as Asia/Shanghai
    warning: spec.rules[0].timeZone: "Etc/GMT+12" is UTC-12:00 all year: write the place
    "#);
}

#[test]
fn a_zone_that_several_rules_have_is_told_once() {
    let rules = ["a", "b", "c"]
        .map(|name| format!(r#"{{"name":"{name}","schedule":"0 8 * * *","timeZone":"EST","targetReplicas":5}}"#));
    assert_eq!(told(&cron(&rules.join(","))).lines().count(), 1);
}

#[test]
fn a_step_that_does_not_divide_its_range_is_told_with_those_that_do() {
    let steps = [
        "*/7 * * * *",
        "5/7 * * * *",
        "0-59/25 * * * *",
        "*/90 * * * *",
        "0 */5 * * *",
        "0 0 */2 * *",
        "0 0 1 */5 *",
        "0 0 * * */2",
    ];
    insta::assert_snapshot!(steps.map(|step| told(&rule(step, ""))).join("\n"), @r"
    warning: spec.rules[0].schedule: */7 of minute is uneven: 56 is followed by 0 after 4 minutes; even are 6 and 10
    warning: spec.rules[0].schedule: 5/7 of minute is uneven: 54 is followed by 5 after 11 minutes; even are 6 and 10
    warning: spec.rules[0].schedule: 0-59/25 of minute is uneven: 50 is followed by 0 after 10 minutes; even are 20 and 30
    warning: spec.rules[0].schedule: */90 of minute is uneven: 0 is followed by 0 after 60 minutes; even are 30
    warning: spec.rules[0].schedule: */5 of hour is uneven: 20 is followed by 0 after 4 hours; even are 4 and 6
    warning: spec.rules[0].schedule: */2 of day-of-month is uneven: the 31st is followed by the 1st after 1 day
    warning: spec.rules[0].schedule: */5 of month is uneven: November is followed by January after 2 months; even are 4 and 6
    warning: spec.rules[0].schedule: */2 of day-of-week is uneven: Saturday is followed by Sunday after 1 day
    ");
}

#[test]
fn of_ordinary_schedules_and_zones_nothing_is_said() {
    for schedule in [
        "*/1 * * * *",
        "*/5 * * * *",
        "*/15 8-18 * * 1-5",
        "5/15 * * * *",
        "1-59/2 * * * *",
        "0 */6 * * *",
        "0 8-18/3 * * *",
        "30-59/7 9 * * *",
        "0 0 1 */3 *",
        "0 0 1,15 * *",
        "0 8 * * MON-FRI",
        "0 22 * * 5",
        "@daily",
        "@weekly",
        "0 0 ? * 1",
        "0 0 13 * ?",
        "0 0 */1 * 1",
        "0 0 1 1 *",
        "* * * * *",
        "0,20,40 * * * *",
    ] {
        assert_eq!(told(&rule(schedule, "")), "", "{schedule}");
    }
    for zone in [
        "UTC",
        "Etc/UTC",
        "GMT",
        "Etc/GMT",
        "Etc/GMT0",
        "Zulu",
        "Asia/Shanghai",
        "Asia/Kolkata",
        "America/Phoenix",
        "Pacific/Honolulu",
        "America/New_York",
        "EST5EDT",
        "CET",
        "Japan",
        "Europe/Berlin",
        "Singapore",
    ] {
        assert_eq!(told(&rule("0 8 * * *", &format!(r#","timeZone":"{zone}""#))), "", "{zone}");
    }
}
