//! Next and previous runs compared with the recorded results of robfig/cron, and with fhpa's rules around clock
//! changes.

use std::collections::BTreeMap;

use fhpa::decision::cron::Schedule;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;

use super::reference::Reference;
use super::{lines, zone};

#[derive(Deserialize)]
struct Line {
    class: String,
    expr: String,
    tz: String,
    after: Timestamp,
    next: Vec<Timestamp>,
}

fn runs(schedule: &Schedule, zone: &TimeZone, after: Timestamp, count: usize) -> Vec<Timestamp> {
    std::iter::successors(schedule.next_after(zone, after), |at| schedule.next_after(zone, *at)).take(count).collect()
}

/// Whether `at` is the first instant after a gap.
fn ends_a_gap(zone: &TimeZone, at: Timestamp) -> bool {
    let before = at - SignedDuration::from_nanos(1);
    zone.to_offset(at) > zone.to_offset(before)
}

fn in_second_pass(zone: &TimeZone, at: Timestamp) -> bool {
    matches!(zone.to_ambiguous_timestamp(zone.to_datetime(at)).offset(),
        AmbiguousOffset::Fold { after, .. } if after == zone.to_offset(at))
}

fn near_a_change(zone: &TimeZone, at: Timestamp) -> bool {
    let day = SignedDuration::from_hours(24);
    zone.following(at - day).next().is_some_and(|change| change.timestamp() <= at + day)
}

/// Whether the clock changes between the recorded run before `at`, or the day before it, and the day after `at`.
fn steps_over_a_change(line: &Line, zone: &TimeZone, at: Timestamp) -> bool {
    let day = SignedDuration::from_hours(24);
    let from = (*line.next.iter().rfind(|recorded| **recorded < at).unwrap_or(&line.after)).min(at - day);
    zone.following(from).next().is_some_and(|change| change.timestamp() <= at + day)
}

/// Why our runs differ from the recorded ones; an error when no rule of ours explains it.
fn classify(line: &Line, zone: &TimeZone, ours: &[Timestamp]) -> Result<&'static str, String> {
    let reference = Reference::new(&line.expr);
    let last = *ours.iter().chain(&line.next).max().unwrap();
    let expected: Vec<Timestamp> = reference.runs(zone, line.after, last).into_iter().take(ours.len()).collect();
    if expected != ours {
        return Err(format!("the plain evaluator has {expected:?}, not {ours:?}"));
    }
    let end = (*ours.last().unwrap()).min(*line.next.last().unwrap());
    let mut class = "";
    let only_ours = ours.iter().filter(|at| **at <= end && !line.next.contains(at));
    let only_theirs = line.next.iter().filter(|at| **at <= end && !ours.contains(at));
    for at in only_ours {
        class = match () {
            () if reference.fixed() && ends_a_gap(zone, *at) => "a skipped time runs at the end of the gap",
            () if steps_over_a_change(line, zone, *at) => "the recorded program steps over a run at a change",
            () => return Err(format!("{at} is only ours")),
        };
    }
    for at in only_theirs {
        class = match () {
            () if reference.fixed() && in_second_pass(zone, *at) => "a repeated time runs once",
            () if *at <= line.after => "the recorded program goes back in time",
            () if near_a_change(zone, *at) && !reference.matches(zone.to_datetime(*at)) => {
                "the recorded program runs at a time that the schedule does not name, near a change"
            }
            () => return Err(format!("{at} is only theirs")),
        };
    }
    Ok(class)
}

#[test]
fn next_runs_are_those_recorded_but_for_our_rules_at_clock_changes() {
    let mut classes: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in lines::<Line>("cron_next.jsonl") {
        let class = match Schedule::parse(&line.expr) {
            _ if line.expr.starts_with("@every") => "@every is refused".to_owned(),
            Err(error) if line.next.is_empty() && error.message.contains("never fires") => "never fires".to_owned(),
            Err(error) => {
                wrong.push(format!("{}: {error}", line.expr));
                continue;
            }
            Ok(schedule) => {
                let zone = zone(&line.tz);
                let ours = runs(&schedule, &zone, line.after, 5);
                if ours == line.next {
                    "agreed".to_owned()
                } else {
                    match classify(&line, &zone, &ours) {
                        Ok(class) => class.to_owned(),
                        Err(why) => {
                            wrong.push(format!(
                                "{} {} {} {}: {why}\n  recorded {:?}",
                                line.class, line.expr, line.tz, line.after, line.next
                            ));
                            continue;
                        }
                    }
                }
            }
        };
        *classes.entry(class).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}\n{classes:#?}", wrong.len(), wrong[..wrong.len().min(30)].join("\n"));
    let counts: Vec<(&str, usize)> = classes.iter().map(|(class, count)| (class.as_str(), *count)).collect();
    assert_eq!(
        counts,
        [
            ("@every is refused", 532),
            ("a repeated time runs once", 120),
            ("a skipped time runs at the end of the gap", 83),
            ("agreed", 8590),
            ("never fires", 589),
            ("the recorded program runs at a time that the schedule does not name, near a change", 6),
            ("the recorded program steps over a run at a change", 51),
        ]
    );
}
