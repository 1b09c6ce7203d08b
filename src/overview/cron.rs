//! Runs of CronFederatedHPAs: the last and the next. No I/O.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions;
use super::model::{CronSummary, LastRun, NextRun};
use super::summary::target;
use crate::api::cron_federated_hpa::{CronFederatedHPARule, ExecutionHistory};
use crate::api::{CronFederatedHPA, FederatedHPA};
use crate::decision::api_version::GROUP;
use crate::decision::cron::zones::Zones;
use crate::decision::cron::{Schedule, zone_name};

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
pub(super) fn summary(cron: &CronFederatedHPA, clock: Clock<'_>) -> CronSummary {
    let status = cron.status.as_ref();
    CronSummary {
        namespace: cron.metadata.namespace.clone().unwrap_or_default(),
        name: cron.metadata.name.clone().unwrap_or_default(),
        target: target(&cron.spec.scale_target_ref),
        next_run: next_runs(cron, clock).into_iter().min_by_key(|run| run.time.0),
        last_run: last_run(cron),
        rules: cron.spec.rules.len(),
        suspended_rules: cron.spec.rules.iter().filter(|rule| is_suspended(rule)).count(),
        ready: conditions::ready(status.and_then(|status| status.conditions.as_deref()).unwrap_or_default()),
    }
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
    let runs = histories(all).flat_map(|history| {
        let run = |schedule_time: &Option<Time>, execution_time: &Option<Time>| LastRun {
            rule: history.rule_name.clone(),
            schedule_time: schedule_time.clone(),
            execution_time: execution_time.clone(),
            succeeded: true,
            message: String::new(),
        };
        let well = history.successful_executions.iter().flatten();
        let well = well.map(move |one| run(&one.schedule_time, &one.execution_time));
        let failed = history.failed_executions.iter().flatten().map(move |one| LastRun {
            succeeded: false,
            message: one.message.clone(),
            ..run(&one.schedule_time, &one.execution_time)
        });
        well.chain(failed).collect::<Vec<_>>()
    });
    runs.max_by_key(|run| run.execution_time.as_ref().map(|time| time.0))
}
