//! Worked cases: clock changes, intervals, clashes.

use fhpa::decision::cron::{DstEffect, Prospect, Schedule, first_overlap};
use jiff::{SignedDuration, Timestamp};

use super::zone;

/// The next `count` runs as wall-clock times with offset.
fn walls(expr: &str, name: &str, after: &str, count: usize) -> Vec<String> {
    let (schedule, zone) = (Schedule::parse(expr).unwrap(), zone(name));
    let mut at: Timestamp = after.parse().unwrap();
    (0..count)
        .map_while(|_| {
            at = schedule.next_after(&zone, at)?;
            Some(zone.to_offset(at).to_datetime(at).strftime("%F %H:%M ").to_string() + &zone.to_offset(at).to_string())
        })
        .collect()
}

#[test]
fn a_skipped_fixed_time_runs_at_the_end_of_the_gap() {
    assert_eq!(
        walls("30 2 * * *", "America/New_York", "2027-03-13T12:00:00Z", 2),
        ["2027-03-14 03:00 -04", "2027-03-15 02:30 -04"]
    );
}

#[test]
fn several_skipped_times_run_once() {
    assert_eq!(
        walls("*/20 2,3 * * *", "America/New_York", "2027-03-13T12:00:00Z", 3),
        ["2027-03-14 03:00 -04", "2027-03-14 03:20 -04", "2027-03-14 03:40 -04"]
    );
}

#[test]
fn a_repeated_fixed_time_runs_the_first_time_only() {
    assert_eq!(
        walls("30 1 * * *", "America/New_York", "2027-11-07T04:00:00Z", 2),
        ["2027-11-07 01:30 -04", "2027-11-08 01:30 -05"]
    );
    // Also when the question is asked between the two.
    assert_eq!(walls("*/30 1 * * *", "America/New_York", "2027-11-07T06:10:00Z", 1), ["2027-11-08 01:00 -05"]);
}

#[test]
fn a_wildcard_hour_follows_elapsed_time() {
    assert_eq!(
        walls("30 * * * *", "America/New_York", "2027-11-07T05:00:00Z", 3),
        ["2027-11-07 01:30 -04", "2027-11-07 01:30 -05", "2027-11-07 02:30 -05"]
    );
    assert_eq!(
        walls("30 * * * *", "America/New_York", "2027-03-14T06:00:00Z", 2),
        ["2027-03-14 01:30 -05", "2027-03-14 03:30 -04"]
    );
}

#[test]
fn a_change_at_midnight_moves_the_run_to_one_o_clock() {
    assert_eq!(
        walls("0 0 * * *", "Africa/Cairo", "2027-04-29T12:00:00Z", 2),
        ["2027-04-30 01:00 +03", "2027-05-01 00:00 +03"]
    );
}

#[test]
fn a_change_of_half_an_hour_moves_or_drops_by_half_an_hour() {
    assert_eq!(walls("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00:00Z", 1), ["2027-10-03 02:30 +11"]);
    assert_eq!(
        walls("45 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00:00Z", 2),
        ["2027-04-04 01:45 +11", "2027-04-05 01:45 +10:30"]
    );
}

#[test]
fn a_skipped_day_runs_once_at_its_end() {
    // Samoa had no 30 December 2011.
    assert_eq!(
        walls("0 8,20 * * *", "Pacific/Apia", "2011-12-29T20:00:00Z", 4),
        ["2011-12-29 20:00 -10", "2011-12-31 00:00 +14", "2011-12-31 08:00 +14", "2011-12-31 20:00 +14"]
    );
    assert_eq!(walls("0 8 30 12 *", "Pacific/Apia", "2011-06-01T00:00:00Z", 1), ["2011-12-31 00:00 +14"]);
}

#[test]
fn morocco_stays_on_winter_time() {
    assert_eq!(walls("0 8 * * *", "Africa/Casablanca", "2026-12-01T00:00:00Z", 1), ["2026-12-01 08:00 +00"]);
}

#[test]
fn the_search_ends_with_the_fifth_year() {
    assert_eq!(walls("0 0 29 2 *", "UTC", "2096-03-01T00:00:00Z", 1), [""; 0]);
    assert_eq!(walls("0 0 29 2 *", "UTC", "2099-01-01T00:00:00Z", 2), ["2104-02-29 00:00 +00", "2108-02-29 00:00 +00"]);
    assert_eq!(walls("0 0 1 1 0", "UTC", "2350-12-30T00:00:00Z", 2), ["2351-01-01 00:00 +00", "2351-01-07 00:00 +00"]);
}

#[test]
fn before_the_years_that_the_stepper_knows_the_calendar_is_the_same() {
    let schedule = Schedule::parse("0 12 29 2 *").unwrap();
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let utc = jiff::tz::TimeZone::UTC;
    assert_eq!(schedule.previous_before(&utc, at("1970-01-01T00:00:00Z")), Some(at("1968-02-29T12:00:00Z")));
    assert_eq!(schedule.next_after(&utc, at("1903-01-01T00:00:00Z")), Some(at("1904-02-29T12:00:00Z")));
}

#[test]
fn the_shortest_interval_is_exact() {
    let minutes = |expr: &str| Schedule::parse(expr).unwrap().shortest_interval().as_mins();
    let day = 24 * 60;
    for (expr, expected) in [
        ("* * * * *", 1),
        ("*/7 * * * *", 4), // 56 to 60
        ("0 * * * *", 60),
        ("0,50 * * * *", 10),
        ("59 23,0 * * *", 60),
        ("0 8 * * *", day),
        ("0 8 * * 1-5", day),
        ("0 8 * * 1,4", 3 * day),
        ("0 8 * * 1", 7 * day),
        ("0 0 1,31 * *", day),
        ("0 0 1 * *", 28 * day),
        ("0 0 31 * *", 31 * day),
        ("0,59 0,23 1,31 * *", 1),
        ("0 0,23 1,31 * *", 60),
        ("59 23 31 12 *", 365 * day),
        ("0 0 29 2 *", 1461 * day),
        ("0 0 13 * 5", day),
        ("0 0 29 2 1", day),
        ("0 12 1 1,12 *", 31 * day),
    ] {
        assert_eq!(minutes(expr), expected, "{expr}");
    }
}

#[test]
fn a_clash_is_found_where_both_run() {
    let clash = |a: (&str, &str), b: (&str, &str)| {
        let at = "2026-11-20T10:00:00Z".parse().unwrap();
        let (one, two) = (Schedule::parse(a.0).unwrap(), Schedule::parse(b.0).unwrap());
        let (zone_a, zone_b, mut steps) = (zone(a.1), zone(b.1), 2_000);
        let (one, two) = (Prospect::new(&one, &zone_a, at), Prospect::new(&two, &zone_b, at));
        first_overlap(Timestamp::MAX, &one, &two, &mut steps).map(|at| at.to_string())
    };
    let utc = "UTC";
    assert_eq!(clash(("0 8 * * *", utc), ("0 8 * * 1-5", utc)).as_deref(), Some("2026-11-23T08:00:00Z"));
    assert_eq!(clash(("0 8 * * *", utc), ("0 20 * * *", utc)), None);
    assert_eq!(clash(("0 0 29 2 *", utc), ("*/5 * * * *", utc)).as_deref(), Some("2028-02-29T00:00:00Z"));
    assert_eq!(clash(("0 0 * * 1", utc), ("0 0 * * 2", utc)), None);
    assert_eq!(clash(("0 0 13 * *", utc), ("0 0 * * 5", utc)).as_deref(), Some("2027-08-13T00:00:00Z"));
    // 8 o'clock in New York is 13 o'clock in London, but for some weeks in spring.
    assert_eq!(
        clash(("0 8 * * *", "America/New_York"), ("0 13 * * *", "Europe/London")).as_deref(),
        Some("2026-11-20T13:00:00Z")
    );
    assert_eq!(
        clash(("0 8 * * *", "America/New_York"), ("0 12 * * *", "Europe/London")).as_deref(),
        Some("2027-03-14T12:00:00Z")
    );
    assert_eq!(clash(("0 8 * * *", "Asia/Kolkata"), ("0 8 * * *", utc)), None);
    assert_eq!(clash(("0 8 * * *", "Asia/Kolkata"), ("30 2 * * *", utc)).as_deref(), Some("2026-11-21T02:30:00Z"));
}

/// Steps to compare each of `rules` with each.
fn steps(rules: &[(String, &str)]) -> u32 {
    let at = "2026-11-20T10:00:00Z".parse().unwrap();
    let timed: Vec<_> = rules.iter().map(|(expr, name)| (Schedule::parse(expr).unwrap(), zone(name))).collect();
    let runs: Vec<_> = timed.iter().map(|(schedule, zone)| Prospect::new(schedule, zone, at)).collect();
    let mut left = 100_000;
    for (index, one) in runs.iter().enumerate() {
        for other in &runs[..index] {
            assert_eq!(first_overlap(Timestamp::MAX, one, other, &mut left), None);
        }
    }
    100_000 - left
}

#[test]
fn rules_that_never_meet_cost_few_steps() {
    let minutes = (0..50).map(|minute| (format!("{minute} 8 * * *"), "Europe/Berlin"));
    assert_eq!(steps(&minutes.collect::<Vec<_>>()), 0, "at other times");
    let weekdays = (0..7).map(|day| (format!("0 8 * * {day}"), "Europe/Berlin"));
    assert_eq!(steps(&weekdays.collect::<Vec<_>>()), 0, "on other days");
    let far = ["Europe/Berlin", "Asia/Kolkata", "America/New_York"].map(|zone| ("0 8 * * *".to_owned(), zone));
    assert_eq!(steps(&far), 0, "far from each other");
    let near = ["Europe/Berlin", "Europe/London"].map(|zone| ("0 8 * * *".to_owned(), zone));
    assert_eq!(steps(&near), 800, "an hour from each other on each day");
}

#[test]
fn an_odd_run_says_what_is_odd() {
    let effect = |expr: &str, at: &str| {
        Schedule::parse(expr).unwrap().dst_effect(&zone("America/New_York"), at.parse().unwrap())
    };
    let skipped = jiff::civil::datetime(2027, 3, 14, 2, 20, 0, 0);
    assert_eq!(effect("20,40 2 * * *", "2027-03-14T07:00:00Z"), Some(DstEffect::Moved { skipped }));
    assert_eq!(effect("0 3 * * *", "2027-03-14T07:00:00Z"), None);
    assert_eq!(effect("30 1 * * *", "2027-11-07T05:30:00Z"), Some(DstEffect::RunsOnce));
    assert_eq!(effect("30 * * * *", "2027-11-07T05:30:00Z"), Some(DstEffect::FirstPass));
    assert_eq!(effect("30 * * * *", "2027-11-07T06:30:00Z"), Some(DstEffect::SecondPass));
    assert_eq!(effect("30 * * * *", "2027-11-07T07:30:00Z"), None);
}

#[test]
fn the_search_ends_with_the_calendar() {
    let (first, last) = (Timestamp::MIN, Timestamp::MAX);
    for expr in ["* * * * *", "0 0 1 * *", "0 0 29 2 *", "0 0 13 * 5", "59 23 31 12 *"] {
        let schedule = Schedule::parse(expr).unwrap();
        for name in ["UTC", "Europe/Berlin", "Pacific/Kiritimati", "Etc/GMT+12"] {
            let zone = zone(name);
            assert_eq!(schedule.next_after(&zone, last), None, "{expr} in {name}");
            assert_eq!(schedule.previous_before(&zone, first), None, "{expr} in {name}");
            for near in [0, 1, 20, 400].map(|days| SignedDuration::from_hours(24 * days)) {
                assert!(schedule.next_after(&zone, last - near).is_none_or(|at| at > last - near));
                assert!(schedule.previous_before(&zone, last - near).is_none_or(|at| at < last - near));
                assert!(schedule.next_after(&zone, first + near).is_none_or(|at| at > first + near));
                assert!(schedule.previous_before(&zone, first + near).is_none_or(|at| at < first + near));
                let runs = Prospect::new(&schedule, &zone, last - near);
                assert!(first_overlap(last, &runs, &runs, &mut 100).is_none_or(|at| at > last - near));
                let _ = (schedule.dst_effect(&zone, first + near), schedule.dst_effect(&zone, last - near));
            }
        }
    }
}
