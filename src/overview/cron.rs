//! Runs of CronFederatedHPAs: the last and the next. No I/O.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions;
use super::model::{CronDetail, CronSummary, LastRun, NextRun, PastRun, RuleView, RunView, Target};
use crate::api::cron_federated_hpa::{CronFederatedHPARule, ExecutionHistory};
use crate::api::{CronFederatedHPA, FederatedHPA};
use crate::decision::api_version::GROUP;
use crate::decision::cron::upcoming::{Run, upcoming};
use crate::decision::cron::zones::Zones;
use crate::decision::cron::{Schedule, zone_name};
use crate::runtime::metrics::LATE_AFTER;

/// What the next run of a rule is computed with, where no controller has written it.
#[derive(Clone, Copy)]
pub struct Clock<'a> {
    /// The time of the model.
    pub now: Timestamp,
    /// The zones of rules.
    pub zones: &'a dyn Zones,
    /// The zone of rules that name none. That of the controller is not known here.
    pub zone: &'a str,
}

impl std::fmt::Debug for Clock<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clock").field("now", &self.now).field("zone", &self.zone).finish_non_exhaustive()
    }
}

/// One line of a CronFederatedHPA.
#[must_use]
pub fn summary(cron: &CronFederatedHPA, clock: Clock<'_>) -> CronSummary {
    let status = cron.status.as_ref();
    CronSummary {
        namespace: cron.metadata.namespace.clone().unwrap_or_default(),
        name: cron.metadata.name.clone().unwrap_or_default(),
        target: Target::of(&cron.spec.scale_target_ref),
        next_run: next_runs(cron, clock).into_iter().min_by_key(|run| run.time.0),
        last_run: last_run(cron),
        rules: cron.spec.rules.len(),
        suspended_rules: cron.spec.rules.iter().filter(|rule| is_suspended(rule)).count(),
        ready: conditions::ready(status.and_then(|status| status.conditions.as_deref()).unwrap_or_default()),
    }
}

/// Most runs of a rule that are shown.
const RUNS: usize = 60;

/// A CronFederatedHPA with its runs of the next `days`, and its history.
#[must_use]
pub fn cron_detail(cron: &CronFederatedHPA, clock: Clock<'_>, days: i64) -> CronDetail {
    let status = cron.status.as_ref();
    let known = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    let until = clock.now.checked_add(SignedDuration::from_hours(days.saturating_mul(24))).unwrap_or(Timestamp::MAX);
    CronDetail {
        summary: summary(cron, clock),
        conditions: conditions::views(known, false),
        schedule: cron.spec.rules.iter().map(|one| rule(cron, one, clock, until)).collect(),
    }
}

fn rule(cron: &CronFederatedHPA, rule: &CronFederatedHPARule, clock: Clock<'_>, until: Timestamp) -> RuleView {
    let time_zone = rule.time_zone.as_deref().unwrap_or(clock.zone);
    let suspended = is_suspended(rule);
    let (mut runs, problem) = match coming(rule, time_zone, clock, until) {
        Ok(runs) => (if suspended { Vec::new() } else { runs }, String::new()),
        Err(problem) => (Vec::new(), problem),
    };
    let more = runs.len() > RUNS;
    runs.truncate(RUNS);
    RuleView {
        name: rule.name.clone(),
        schedule: rule.schedule.clone(),
        time_zone: time_zone.to_owned(),
        suspended,
        sets: sets(rule.target_replicas, rule.target_min_replicas, rule.target_max_replicas),
        problem,
        runs,
        more,
        history: past(cron, &rule.name),
    }
}

/// The runs until `until`, and one more than are shown; or why there are none.
fn coming(rule: &CronFederatedHPARule, zone: &str, clock: Clock<'_>, until: Timestamp) -> Result<Vec<RunView>, String> {
    let schedule = Schedule::parse(&rule.schedule).map_err(|error| error.message)?;
    let zone = zone_name::find(clock.zones, zone).map_err(|error| format!("{zone:?} {error}"))?;
    let runs = upcoming(&schedule, &zone, clock.now).take_while(|run| run.at <= until);
    let view = |run: Run| RunView {
        time: Time(run.at),
        day: run.wall().strftime("%Y-%m-%d").to_string(),
        clock: run.wall().strftime("%H:%M").to_string(),
        offset: run.offset_text(),
        notes: run.notes,
    };
    Ok(runs.take(RUNS.saturating_add(1)).map(view).collect())
}

/// What a run sets: `replicas 4`, `min 3, max 9`.
#[must_use]
pub fn sets(replicas: Option<i32>, min: Option<i32>, max: Option<i32>) -> String {
    let part = |name: &str, number: Option<i32>| number.map(|number| format!("{name} {number}"));
    let parts = [part("replicas", replicas), part("min", min), part("max", max)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The runs of a rule that are over, newest first.
fn past(cron: &CronFederatedHPA, rule: &str) -> Vec<PastRun> {
    let all = cron.status.as_ref().and_then(|status| status.execution_histories.as_deref());
    let of_rule = histories(all).filter(|history| history.rule_name == rule);
    let mut runs: Vec<PastRun> = of_rule.flat_map(runs_of).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.run.execution_time.as_ref().map(|time| time.0)));
    runs
}

fn runs_of(history: &ExecutionHistory) -> Vec<PastRun> {
    let run = |schedule_time: &Option<Time>, execution_time: &Option<Time>| LastRun {
        rule: history.rule_name.clone(),
        schedule_time: schedule_time.clone(),
        execution_time: execution_time.clone(),
        succeeded: true,
        message: String::new(),
    };
    let well = history.successful_executions.iter().flatten().map(|one| {
        let run = run(&one.schedule_time, &one.execution_time);
        let set = sets(one.applied_replicas, one.applied_min_replicas, one.applied_max_replicas);
        PastRun { late_seconds: late(&run), run, set }
    });
    let failed = history.failed_executions.iter().flatten().map(|one| {
        let run = run(&one.schedule_time, &one.execution_time);
        let run = LastRun { succeeded: false, message: one.message.clone(), ..run };
        PastRun { run, late_seconds: None, set: String::new() }
    });
    well.chain(failed).collect()
}

/// By how many seconds a run was late, where that is late by the metrics of the controller, too.
fn late(run: &LastRun) -> Option<i64> {
    let (due, done) = run.schedule_time.as_ref().zip(run.execution_time.as_ref())?;
    let by = done.0.duration_since(due.0);
    (by.unsigned_abs() >= LATE_AFTER && by.is_positive()).then(|| by.as_secs())
}

/// The next run of each rule that is not suspended.
pub(super) fn next_runs(cron: &CronFederatedHPA, clock: Clock<'_>) -> Vec<NextRun> {
    let name = cron.metadata.name.as_deref().unwrap_or_default();
    let rules = cron.spec.rules.iter().filter(|rule| !is_suspended(rule));
    rules
        .filter_map(|rule| {
            Some(NextRun {
                name: name.to_owned(),
                rule: rule.name.clone(),
                time: written(cron, rule, clock.now).or_else(|| computed(rule, clock))?,
                target_replicas: rule.target_replicas,
                target_min_replicas: rule.target_min_replicas,
                target_max_replicas: rule.target_max_replicas,
            })
        })
        .collect()
}

/// Whether a CronFederatedHPA of the same namespace moves this object: by its bounds, or by its workload.
pub(super) fn moves(cron: &CronFederatedHPA, hpa: &FederatedHPA) -> bool {
    let (target, workload) = (&cron.spec.scale_target_ref, &hpa.spec.scale_target_ref);
    let group = target.api_version.split('/').next().unwrap_or_default();
    let own = target.kind == "FederatedHPA" && group == GROUP;
    let same = target.kind == workload.kind && target.name == workload.name;
    if own { Some(&target.name) == hpa.metadata.name.as_ref() } else { same }
}

fn is_suspended(rule: &CronFederatedHPARule) -> bool {
    rule.suspend.unwrap_or_default()
}

/// The run that the controller has written, while its status is about this spec.
fn written(cron: &CronFederatedHPA, rule: &CronFederatedHPARule, now: Timestamp) -> Option<Time> {
    let status = cron.status.as_ref().filter(|status| status.observed_generation == cron.metadata.generation)?;
    let history = histories(status.execution_histories.as_deref()).find(|history| history.rule_name == rule.name)?;
    history.next_execution_time.clone().filter(|time| time.0 > now)
}

fn computed(rule: &CronFederatedHPARule, clock: Clock<'_>) -> Option<Time> {
    let schedule = Schedule::parse(&rule.schedule).ok()?;
    let zone = zone_name::find(clock.zones, rule.time_zone.as_deref().unwrap_or(clock.zone)).ok()?;
    schedule.next_after(&zone, clock.now).map(Time)
}

fn histories(all: Option<&[ExecutionHistory]>) -> impl Iterator<Item = &ExecutionHistory> {
    all.unwrap_or_default().iter()
}

fn last_run(cron: &CronFederatedHPA) -> Option<LastRun> {
    let all = cron.status.as_ref().and_then(|status| status.execution_histories.as_deref());
    let runs = histories(all).flat_map(runs_of).map(|past| past.run);
    runs.max_by_key(|run| run.execution_time.as_ref().map(|time| time.0))
}
