//! The status of a CronFederatedHPA: built here, compared with the stored one, and written only when it differs
//! (status). Talks to the API server.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::core::PartialObjectMeta;

use super::entry::{Entry, Remembered};
use crate::api::CronFederatedHPA;
use crate::api::cron_federated_hpa::CronFederatedHPAStatus;
use crate::api::hpa_status::Condition;
use crate::controller::condition::{ConditionParts, condition};
use crate::controller::failure::{Failure, WriteError};
use crate::controller::key::Key;
use crate::controller::managers;
use crate::convert::cron_status::execution_histories;
use crate::convert::fleet::count;
use crate::decision::cron::ledger::History;
use crate::runtime::leader::Leader;

/// Type of the condition that is true when all rules are valid.
pub const SCHEDULED: &str = "Scheduled";
/// Type of the condition that is true when the target can be set.
pub const ABLE_TO_SCALE: &str = "AbleToScale";

/// Type of the condition that is true when the object works as intended.
pub const READY: &str = "Ready";

/// Result of the last attempt to set the target.
#[derive(Clone, Copy, Debug)]
pub enum Tried<'a> {
    /// No attempt in this reconcile: the known state stays.
    Not,
    /// All runs were executed.
    Well,
    /// At least one was not.
    Failed(&'a Failure),
}

/// The status of `entry` after a reconcile.
#[must_use]
pub fn remembered(entry: &Entry, histories: Vec<History>, tried: Tried<'_>, now: Timestamp) -> Remembered {
    let scheduled = Some(scheduled(entry));
    let able = match tried {
        Tried::Not => None,
        Tried::Well => Some(("True", "Executed", "the last run was executed".to_owned())),
        Tried::Failed(failure) => Some(("False", failure.reason, failure.message.clone())),
    };
    let made = |type_, parts| condition(type_, parts, condition_of(entry, type_), Some(entry.generation), now);
    let mut conditions: Vec<Condition> = [(SCHEDULED, scheduled), (ABLE_TO_SCALE, able)]
        .into_iter()
        .filter_map(|(type_, parts)| match parts {
            Some(parts) => Some(made(type_, parts)),
            None => condition_of(entry, type_).cloned(),
        })
        .collect();
    conditions.push(ready(entry, &conditions, &histories, made));
    Remembered { generation: Some(entry.generation), histories, conditions }
}

/// The condition of type `type_` of `entry`.
#[must_use]
pub fn condition_of<'a>(entry: &'a Entry, type_: &str) -> Option<&'a Condition> {
    entry.remembered.conditions.iter().find(|condition| condition.type_ == type_)
}

/// Not ready for the first of `conditions` that is false; otherwise ready for the next run.
fn ready(
    entry: &Entry,
    conditions: &[Condition],
    histories: &[History],
    made: impl Fn(&'static str, ConditionParts) -> Condition,
) -> Condition {
    if let Some(failed) = conditions.iter().find(|condition| condition.status == "False") {
        let text = failed.message.clone().unwrap_or_default();
        return Condition { reason: failed.reason.clone(), ..made(READY, ("False", "", text)) };
    }
    let next = histories.iter().filter_map(|history| Some((history.next?, &history.rule))).min();
    made(
        READY,
        match next {
            Some((at, rule)) => ("True", "RulesReady", format!("rule {rule:?} runs next, at {at}")),
            None if all_suspended(entry) => ("True", "Suspended", "all rules are suspended".to_owned()),
            None => ("True", "NoUpcomingRuns", "no rule runs in the next five years".to_owned()),
        },
    )
}

fn all_suspended(entry: &Entry) -> bool {
    entry.runnable.rules.iter().all(|rule| rule.suspended)
}

/// Why the object of `entry` is not ready; `None` when it is, or when that is unknown.
#[must_use]
pub fn unready(entry: &Entry) -> Option<&str> {
    condition_of(entry, READY).filter(|ready| ready.status == "False").and_then(|ready| ready.reason.as_deref())
}

fn scheduled(entry: &Entry) -> ConditionParts {
    let runnable = &entry.runnable;
    if let Some(refusal) = &runnable.refusal {
        return ("False", "InvalidTarget", format!("no rule runs: {refusal}"));
    }
    let refusals: Vec<&str> =
        runnable.rules.iter().filter_map(|rule| rule.timing.as_ref().err()).map(AsRef::as_ref).collect();
    if !refusals.is_empty() {
        let text = format!("{} of {} rules cannot run: {}", refusals.len(), runnable.rules.len(), refusals.join("; "));
        return ("False", "InvalidRules", text);
    }
    if all_suspended(entry) {
        return (
            "True",
            "Suspended",
            "all rules are suspended: set suspend to false for the rules that should run".to_owned(),
        );
    }
    ("True", "RulesScheduled", "all rules are understood and scheduled".to_owned())
}

/// Writes `remembered` as the status of `entry`, provided that the object is unchanged. Returns the resulting entry.
///
/// # Errors
/// When this process no longer leads, the object changed or is gone, or the API server rejects the request or is
/// unreachable.
pub async fn write(
    client: &Client,
    leader: &Leader,
    key: &Key,
    entry: &Entry,
    remembered: Remembered,
) -> Result<Entry, WriteError> {
    let histories = &remembered.histories;
    let suspended = entry.runnable.rules.iter().filter(|rule| rule.suspended).count();
    let status = CronFederatedHPAStatus {
        observed_generation: remembered.generation,
        next_execution_time: histories.iter().filter_map(|history| history.next).min().map(Time),
        last_execution_time: histories.iter().filter_map(History::last).max().map(Time),
        suspended_rules: Some(count(suspended)),
        execution_histories: Some(execution_histories(histories)),
        conditions: Some(remembered.conditions.clone()),
    };
    let written: PartialObjectMeta<CronFederatedHPA> =
        entry.own(key).write_status(client, leader, managers::CRON_STATUS, &status).await?;
    let version = written.metadata.resource_version.unwrap_or_default().into();
    Ok(Entry { version, remembered, ..entry.clone() })
}
