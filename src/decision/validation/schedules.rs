//! When cron rules run: `schedule`, `timeZone`, `maxDelaySeconds`, and rules that meet. Pure.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{Surroundings, sizes};
use crate::decision::cron::{Outlook, Schedule, first_clash_before, zone_name};
use crate::decision::finding::Findings;
use crate::decision::path::Path;
use crate::decision::subject::Rule;
use crate::limits;

/// When a rule runs.
pub(super) struct Timing {
    pub(super) schedule: Schedule,
    pub(super) zone: TimeZone,
}

impl Timing {
    /// The name that zones are told apart by: every zone of a database has one.
    fn zone_name(&self) -> &str {
        self.zone.iana_name().unwrap_or_default()
    }

    /// Reads schedule and zone of a rule and adds what is wrong with them; `None` when either is wrong.
    pub(super) fn of(
        rule: &Rule<'_>,
        around: &Surroundings<'_>,
        path: &Path<'_>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let schedule = read_schedule(&rule.schedule, &path.field("schedule"), findings);
        let zone = match rule.time_zone.as_deref() {
            None => around.zones.get(&around.settings.default_time_zone),
            Some(name) if !sizes::text("time-zone", name, limits::TIME_ZONE, &path.field("timeZone"), findings) => None,
            Some(name) => match zone_name::find(around.zones, name) {
                Ok(zone) => Some(zone),
                Err(error) => {
                    findings.invalid("time-zone", &path.field("timeZone"), name, error.message);
                    None
                }
            },
        };
        Some(Self { schedule: schedule?, zone: zone? })
    }
}

fn read_schedule(text: &str, path: &Path<'_>, findings: &mut Findings) -> Option<Schedule> {
    if text.is_empty() {
        findings.required("schedule", path, "must be a cron expression, for example \"30 8 * * 1-5\"");
        return None;
    }
    if !sizes::text("schedule", text, limits::SCHEDULE, path, findings) {
        return None;
    }
    match Schedule::parse(text) {
        Ok(schedule) => Some(schedule),
        Err(error) => {
            findings.invalid("schedule", path, text, error.message);
            None
        }
    }
}

/// Adds what is wrong with `maxDelaySeconds`: a run made up that late must not meet the next one.
pub(super) fn validate_delay(rule: &Rule<'_>, timing: Option<&Timing>, path: &Path<'_>, findings: &mut Findings) {
    let Some(delay) = rule.max_delay_seconds else { return };
    let path = path.field("maxDelaySeconds");
    if delay < 0 {
        findings.invalid("max-delay", &path, delay, "must be 0 or more");
        return;
    }
    let shortest = timing.map(|timing| timing.schedule.shortest_interval().as_secs());
    if let Some(shortest) = shortest.filter(|shortest| delay >= *shortest) {
        let detail = format!("must be less than {shortest}, the fewest seconds between two runs of the rule");
        findings.invalid("max-delay", &path, delay, detail);
    }
}

/// Pairs of rules that are looked at; an object with more is looked at in part.
const PAIRS: usize = 10_000;
/// Pairs whose schedules are compared: fifty rules, each with each.
const COMPARED: usize = 1_225;

/// Warns of the first instant at which two rules fire together and set different values.
pub(super) fn warn_of_clashes(
    rules: &[Rule<'_>],
    timings: &[Option<Timing>],
    around: &Surroundings<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let running = || {
        let timed = rules.iter().zip(timings).enumerate();
        timed.filter_map(|(index, (rule, timing))| {
            let runs = rule.suspend != Some(true);
            timing.as_ref().filter(|_| runs).map(|timing| (index, rule, timing))
        })
    };
    if running().nth(1).is_none() {
        return;
    }
    let mut outlooks: BTreeMap<&str, Outlook<'_>> = BTreeMap::new();
    for (_, _, timing) in running() {
        outlooks.entry(timing.zone_name()).or_insert_with(|| Outlook::new(&timing.zone, around.now));
    }
    let clocks: Vec<_> = running().filter_map(|rule| Some((rule, outlooks.get(rule.2.zone_name())?))).collect();
    let pairs =
        clocks.iter().enumerate().flat_map(|(count, later)| clocks.iter().take(count).map(move |one| (one, later)));
    let mut first: Option<(Timestamp, usize, &Rule<'_>)> = None;
    for (one, later) in pairs.take(PAIRS).filter(|(one, later)| disagree(one.0.1, later.0.1)).take(COMPARED) {
        let ((_, rule, early), in_early) = one;
        let ((index, _, late), in_late) = later;
        let limit = first.map_or(Timestamp::MAX, |(at, ..)| at);
        if let Some(at) = first_clash_before(limit, &early.schedule, in_early, &late.schedule, in_late) {
            first = Some((at, *index, rule));
        }
    }
    if let Some((at, index, other)) = first {
        let text = format!("sets other values than rule {:?} at {at}, when both run: this rule wins", &*other.name);
        findings.warn("clash", &path.index(index), text);
    }
}

/// Whether two rules set one thing to different values.
fn disagree(one: &Rule<'_>, other: &Rule<'_>) -> bool {
    let values = |rule: &Rule<'_>| [rule.target_replicas, rule.target_min_replicas, rule.target_max_replicas];
    values(one).into_iter().zip(values(other)).any(|pair| matches!(pair, (Some(one), Some(other)) if one != other))
}
