//! A stored CronFederatedHPA: API object -> core, and the history of its rules in both directions. No I/O.

use std::borrow::Cow;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, Time};

use crate::api::CronFederatedHPA as Stored;
use crate::api::cron_federated_hpa::{
    CronFederatedHPARule, CronFederatedHPAStatus, ExecutionHistory, FailedExecution, SuccessfulExecution,
};
use crate::decision::cron::ledger::{Action, Execution, FailedRun, History};
use crate::decision::subject::cron_federated_hpa::{CronFederatedHPA, CronFederatedHPASpec, Rule};
use crate::decision::subject::{Metadata, TargetRef};

/// The object as input of the rules: its spec, name and namespace.
#[must_use]
pub fn cron_subject(cron: &Stored) -> CronFederatedHPA<'_> {
    let target = &cron.spec.scale_target_ref;
    CronFederatedHPA {
        metadata: Metadata {
            name: cron.metadata.name.as_deref().unwrap_or_default().into(),
            namespace: cron.metadata.namespace.as_deref().unwrap_or_default().into(),
            ..Metadata::default()
        },
        spec: CronFederatedHPASpec {
            scale_target_ref: TargetRef {
                api_version: target.api_version.as_str().into(),
                kind: target.kind.as_str().into(),
                name: target.name.as_str().into(),
            },
            rules: cron.spec.rules.iter().map(rule).collect(),
        },
        ..CronFederatedHPA::default()
    }
}

fn rule(rule: &CronFederatedHPARule) -> Rule<'_> {
    Rule {
        name: rule.name.as_str().into(),
        schedule: rule.schedule.as_str().into(),
        target_replicas: rule.target_replicas,
        target_min_replicas: rule.target_min_replicas,
        target_max_replicas: rule.target_max_replicas,
        suspend: rule.suspend,
        time_zone: rule.time_zone.as_deref().map(Cow::from),
        successful_history_limit: rule.successful_history_limit,
        failed_history_limit: rule.failed_history_limit,
        max_delay_seconds: rule.max_delay_seconds,
    }
}

/// When the spec was last written, as far as known: the newest entry of `managedFields` about it, else the creation. A
/// label, or fhpa's own copy of the spec, moves no run.
#[must_use]
pub fn written(cron: &Stored) -> Timestamp {
    let of_spec = |entry: &&ManagedFieldsEntry| {
        entry.fields_v1.as_ref().is_none_or(|fields| fields.0.get("f:spec").is_some())
            && entry.subresource.as_deref().is_none_or(str::is_empty)
    };
    let entries = cron.metadata.managed_fields.iter().flatten().filter(of_spec);
    let newest = entries.filter_map(|entry| entry.time.as_ref()).map(|time| time.0).max();
    newest.or(cron.metadata.creation_timestamp.as_ref().map(|time| time.0)).unwrap_or(Timestamp::MIN)
}

/// The history of each rule. Records without a time are left out, because they are of no use.
#[must_use]
pub fn histories(status: &CronFederatedHPAStatus) -> Vec<History> {
    let at = |time: &Option<Time>| time.as_ref().map(|time| time.0);
    let history = |history: &ExecutionHistory| History {
        rule: history.rule_name.as_str().into(),
        next: at(&history.next_execution_time),
        executions: exact(history.successful_executions.iter().flatten().filter_map(|execution| {
            let scheduled = at(&execution.schedule_time)?;
            let executed = at(&execution.execution_time).unwrap_or(scheduled);
            let applied = Action {
                replicas: execution.applied_replicas,
                min_replicas: execution.applied_min_replicas,
                max_replicas: execution.applied_max_replicas,
            };
            Some(Execution { scheduled, executed, applied })
        }))
        .into(),
        failures: exact(history.failed_executions.iter().flatten().filter_map(|failure| {
            let scheduled = at(&failure.schedule_time)?;
            let executed = at(&failure.execution_time).unwrap_or(scheduled);
            Some(FailedRun { scheduled, executed, message: failure.message.clone() })
        }))
        .into(),
    };
    exact(status.execution_histories.iter().flatten().map(history))
}

/// The items in no more memory than they need: they are kept until the next run, for many rules.
fn exact<T>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.shrink_to_fit();
    items
}

/// The reverse of [`histories`].
#[must_use]
pub fn execution_histories(histories: &[History]) -> Vec<ExecutionHistory> {
    let history = |history: &History| ExecutionHistory {
        rule_name: history.rule.to_string(),
        next_execution_time: history.next.map(Time),
        successful_executions: some(history.executions.iter().map(|execution| SuccessfulExecution {
            schedule_time: Some(Time(execution.scheduled)),
            execution_time: Some(Time(execution.executed)),
            applied_replicas: execution.applied.replicas,
            applied_min_replicas: execution.applied.min_replicas,
            applied_max_replicas: execution.applied.max_replicas,
        })),
        failed_executions: some(history.failures.iter().map(|failure| FailedExecution {
            schedule_time: Some(Time(failure.scheduled)),
            execution_time: Some(Time(failure.executed)),
            message: failure.message.clone(),
        })),
    };
    histories.iter().map(history).collect()
}

/// The items as a list; `None` when it is empty.
fn some<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect::<Vec<T>>()).filter(|items| !items.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cron() -> Stored {
        let object = json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": "shop", "namespace": "prod", "creationTimestamp": "2026-11-01T00:00:00Z", "managedFields": [
                {"manager": "kubectl", "operation": "Apply", "time": "2026-11-02T00:00:00Z"},
                {"manager": "fhpa", "operation": "Apply", "time": "2026-11-09T00:00:00Z", "subresource": "status"}]},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "rules": [{"name": "up", "schedule": "30 8 * * *", "targetReplicas": 5}]},
            "status": {"executionHistories": [{"ruleName": "up", "nextExecutionTime": "2026-11-21T08:30:00Z",
                "successfulExecutions": [{"scheduleTime": "2026-11-20T08:30:00Z", "executionTime": "2026-11-20T08:30:01Z",
                    "appliedReplicas": 5}],
                "failedExecutions": [{"scheduleTime": "2026-11-19T08:30:00Z", "executionTime": "2026-11-19T09:30:01Z",
                    "message": "missed"}]}]}});
        serde_json::from_value(object).unwrap()
    }

    #[test]
    fn what_is_remembered_comes_back_as_it_was_written() {
        let status = cron().status.unwrap();
        assert_eq!(Some(execution_histories(&histories(&status))), status.execution_histories);
    }

    #[test]
    fn a_write_of_the_status_does_not_count_as_one_of_the_spec() {
        assert_eq!(written(&cron()).to_string(), "2026-11-02T00:00:00Z");
        let mut bare = cron();
        bare.metadata.managed_fields = None;
        assert_eq!(written(&bare).to_string(), "2026-11-01T00:00:00Z");
    }

    #[test]
    fn a_write_of_a_label_does_not_count_as_one_of_the_spec() {
        let mut labelled = cron();
        let label = |fields: serde_json::Value| {
            let time = "2026-11-10T00:00:00Z";
            json!({"manager": "kubectl-label", "operation": "Update", "time": time, "fieldsV1": fields})
        };
        for (fields, time) in [
            (json!({"f:metadata": {"f:labels": {}}}), "2026-11-02T00:00:00Z"),
            (json!({"f:metadata": {}, "f:spec": {"f:rules": {}}}), "2026-11-10T00:00:00Z"),
        ] {
            let entries = labelled.metadata.managed_fields.as_mut().unwrap();
            entries.truncate(2);
            entries.push(serde_json::from_value(label(fields)).unwrap());
            assert_eq!(written(&labelled).to_string(), time);
        }
    }

    #[test]
    fn a_record_without_a_time_is_left_out() {
        let mut status = cron().status.unwrap();
        for history in status.execution_histories.iter_mut().flatten() {
            history.failed_executions.iter_mut().flatten().for_each(|failure| failure.schedule_time = None);
        }
        assert_eq!(histories(&status)[0].failures.len(), 0);
    }
}
