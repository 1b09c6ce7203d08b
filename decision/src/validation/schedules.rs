//! When cron rules run: `schedule`, `timeZone`, `maxDelaySeconds`, and rules that run together. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::{ValidationContext, sizes};
use crate::cron::zone_name::{self, ZoneError};
use crate::cron::zones::Zones;
use crate::cron::{Prospect, Schedule, doubts, first_overlap, fixed_offset};
use crate::finding::Findings;
use crate::limits;
use crate::path::Path;
use crate::related_objects::KnownCronFederatedHPA;
use crate::subject::Rule;

/// When a rule runs.
pub(super) struct Timing {
    pub(super) schedule: Schedule,
    pub(super) zone: TimeZone,
}

impl Timing {
    /// Reads schedule and zone of a rule and adds findings on them; `None` when either is invalid.
    pub(super) fn of<'a>(
        rule: &'a Rule<'_>,
        zones: &mut NamedZones<'a>,
        around: &ValidationContext<'_>,
        path: &Path<'_>,
        findings: &mut Findings,
    ) -> Option<Self> {
        let schedule = read_schedule(&rule.schedule, &path.field("schedule"), findings);
        let zone = match rule.time_zone.as_deref() {
            None => around.zones.get(&around.settings.default_time_zone),
            Some(name) if !sizes::text("time-zone", name, limits::TIME_ZONE, &path.field("timeZone"), findings) => None,
            Some(name) => match zones.find(around.zones, name) {
                Ok(zone) => Some(zone),
                Err(error) => {
                    findings.invalid("time-zone", &path.field("timeZone"), name, error.message);
                    None
                }
            },
        };
        Some(Self { schedule: schedule?, zone: zone? })
    }

    /// The runs later than `now`.
    fn runs(&self, now: Timestamp) -> Prospect<'_> {
        Prospect::new(&self.schedule, &self.zone, now)
    }
}

/// The zones that other rules of the object name: most have a few in common.
#[derive(Default)]
pub(super) struct NamedZones<'a>(Vec<(&'a str, TimeZone)>);

impl<'a> NamedZones<'a> {
    /// Zones that are searched one by one.
    const MOST: usize = 16;

    fn find(&mut self, zones: &dyn Zones, name: &'a str) -> Result<TimeZone, ZoneError> {
        if let Some((_, zone)) = self.0.iter().find(|(known, _)| *known == name) {
            return Ok(zone.clone());
        }
        let zone = zone_name::find(zones, name)?;
        if self.0.len() < Self::MOST {
            self.0.push((name, zone.clone()));
        }
        Ok(zone)
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

/// Adds findings on `maxDelaySeconds`: a late run must not reach the next one.
pub(super) fn validate_delay(rule: &Rule<'_>, timing: Option<&Timing>, path: &Path<'_>, findings: &mut Findings) {
    let Some(delay) = rule.max_delay_seconds else { return };
    let path = path.field("maxDelaySeconds");
    let least = limits::LATENESS;
    if delay < least {
        let detail = format!("must be at least {least}: sooner a run would count as late in a busy minute");
        findings.invalid("max-delay", &path, delay, detail);
        return;
    }
    let shortest = timing.map(|timing| delays(&timing.schedule).end);
    if let Some(shortest) = shortest.filter(|shortest| delay >= *shortest) {
        let detail = format!("must be less than {shortest}, the fewest seconds between two runs of the rule");
        findings.invalid("max-delay", &path, delay, detail);
    }
}

/// The values of `maxDelaySeconds` that a rule with this schedule may have.
#[must_use]
pub fn delays(schedule: &Schedule) -> Range<i64> {
    limits::LATENESS..schedule.shortest_interval().as_secs()
}

/// Most rules whose schedules are read for what was probably not meant.
const DOUBTED: usize = 100;

/// Warns of schedules and zones that say something else than most of their authors mean.
pub(super) fn warn_of_doubts(
    rules: &[Rule<'_>],
    timings: &[Option<Timing>],
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let mut zones = BTreeSet::new();
    for (index, (rule, timing)) in rules.iter().zip(timings).enumerate().take(DOUBTED) {
        let (Some(Timing { schedule, zone }), path) = (timing, path.index(index)) else { continue };
        let doubts =
            [doubts::either_day(&rule.schedule, schedule, zone, around.now), doubts::uneven_step(&rule.schedule)];
        for text in doubts.into_iter().flatten() {
            findings.warn("schedule", &path.field("schedule"), text);
        }
        if let Some(name) = rule.time_zone.as_deref().filter(|name| zones.insert(*name))
            && let Some(text) = fixed_offset(around.zones, name, around.now)
        {
            findings.warn("time-zone", &path.field("timeZone"), text);
        }
    }
}

/// Most pairs of rules that are compared; an object with more is compared in part.
const PAIRS: usize = 10_000;
/// Most steps of schedules in all comparisons of a review.
const STEPS: u32 = 2_000;
/// Most rules of other objects that are compared.
const OTHERS: usize = 1_000;

/// A rule that is not suspended.
struct Running<'a> {
    /// Its name; for a rule of another object, the name of that object.
    name: &'a str,
    /// Index of the rule; `None` for a rule of another object.
    index: Option<usize>,
    values: [Option<i32>; 3],
    runs: Prospect<'a>,
}

/// The rules of the object that are not suspended.
fn running<'a>(rules: &'a [Rule<'_>], timings: &'a [Option<Timing>], now: Timestamp) -> Vec<Running<'a>> {
    let timed = rules.iter().zip(timings).enumerate().filter(|(_, (rule, _))| rule.suspend != Some(true));
    let running = timed.filter_map(|(index, (rule, timing))| {
        let values = [rule.target_replicas, rule.target_min_replicas, rule.target_max_replicas];
        Some(Running { name: &rule.name, index: Some(index), values, runs: timing.as_ref()?.runs(now) })
    });
    running.collect()
}

/// Warns of the first instant at which two rules run together and set different values.
pub(super) fn warn_of_clashes(
    rules: &[Rule<'_>],
    timings: &[Option<Timing>],
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let running = running(rules, timings, around.now);
    let pairs = running.iter().enumerate();
    let pairs = pairs.flat_map(|(count, later)| running.iter().take(count).map(move |one| (one, later)));
    if let Some((at, other, index)) = first_meeting(pairs) {
        let text = format!("sets other values than rule {:?} at {at}, when both run: this rule wins", other.name);
        findings.warn("clash", &path.index(index), text);
    }
}

/// Warns of the first instant at which a rule and one of another object run together and set one target to different
/// values.
pub(super) fn warn_of_meetings(
    rules: &[Rule<'_>],
    timings: &[Option<Timing>],
    others: &[KnownCronFederatedHPA],
    around: &ValidationContext<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let known = others.iter().flat_map(|other| other.rules.iter().map(move |rule| (other, rule)));
    let timed: Vec<_> = known
        .filter(|(_, rule)| !rule.suspended)
        .take(OTHERS)
        .filter_map(|(other, rule)| {
            let schedule = Schedule::parse(&rule.schedule).ok()?;
            let zone = around.zones.get(rule.time_zone.as_deref().unwrap_or(&around.settings.default_time_zone))?;
            Some((other, rule, Timing { schedule, zone }))
        })
        .collect();
    let theirs = timed.iter().map(|(other, rule, timing)| Running {
        name: &other.name,
        index: None,
        values: rule.values,
        runs: timing.runs(around.now),
    });
    let theirs: Vec<_> = theirs.collect();
    let ours = running(rules, timings, around.now);
    let pairs = theirs.iter().flat_map(|one| ours.iter().map(move |later| (one, later)));
    if let Some((at, other, index)) = first_meeting(pairs) {
        let text = format!("sets other values than CronFederatedHPA {:?} at {at}, when both run", other.name);
        findings.warn("clash", &path.index(index), text);
    }
}

/// The first instant at which both of a pair run and set one field to different values: with the first of the pair, and
/// the index of the second.
fn first_meeting<'a>(
    pairs: impl Iterator<Item = (&'a Running<'a>, &'a Running<'a>)>,
) -> Option<(Timestamp, &'a Running<'a>, usize)> {
    let mut first: Option<(Timestamp, &Running<'_>, usize)> = None;
    let mut steps = STEPS;
    for (one, later) in pairs.take(PAIRS).filter(|(one, later)| disagree(one, later)) {
        let limit = first.map_or(Timestamp::MAX, |(at, ..)| at);
        if let (Some(at), Some(index)) = (first_overlap(limit, &one.runs, &later.runs, &mut steps), later.index) {
            first = Some((at, one, index));
        }
    }
    first
}

/// Whether two rules set one field to different values.
fn disagree(one: &Running<'_>, other: &Running<'_>) -> bool {
    let differ = |one: Option<i32>, other: Option<i32>| one.zip(other).is_some_and(|(one, other)| one != other);
    let ([replicas, min, max], [other_replicas, other_min, other_max]) = (one.values, other.values);
    differ(replicas, other_replicas) || differ(min, other_min) || differ(max, other_max)
}
