//! `CronFederatedHPA` (`autoscaling.karmada.io/v1alpha1`), the superset of Karmada's kind (docs/distributed.md#fields).
//! No I/O, no decisions.

use decision::json::null_as_default;
use decision::limits::{HISTORY, LATENESS, RULE_NAME, RULES, SCHEDULE, TIME_ZONE};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cel;
use super::hpa::CrossVersionObjectReference;
use super::hpa_status::Condition;

/// Scales a workload or moves the bounds of a FederatedHPA at given times.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "autoscaling.karmada.io",
    version = "v1alpha1",
    kind = "CronFederatedHPA",
    plural = "cronfederatedhpas",
    namespaced
)]
#[kube(shortname = "cronfhpa", category = "karmada-io", status = "CronFederatedHPAStatus")]
#[kube(doc = "Scales a workload or moves the bounds of a FederatedHPA at given times.")]
#[kube(
    printcolumn = r#"{"name": "REFERENCE-KIND", "type": "string", "jsonPath": ".spec.scaleTargetRef.kind"}"#,
    printcolumn = r#"{"name": "REFERENCE-NAME", "type": "string", "jsonPath": ".spec.scaleTargetRef.name"}"#,
    printcolumn = r#"{"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "SUSPENDED", "type": "integer", "jsonPath": ".status.suspendedRules"}"#,
    printcolumn = r#"{"name": "NEXT", "type": "string", "jsonPath": ".status.nextExecutionTime"}"#,
    printcolumn = r#"{"name": "LAST", "type": "date", "jsonPath": ".status.lastExecutionTime"}"#,
    printcolumn = r#"{"name": "READY", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "REASON", "type": "string", "priority": 1, "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#
)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["rules", "scaleTargetRef"]))]
#[schemars(extend("x-kubernetes-validations" = cel::cron_federated_hpa_spec()))]
pub struct CronFederatedHPASpec {
    /// A FederatedHPA, or any object with the `scale` subresource.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("x-kubernetes-validations" = cel::cron_target()))]
    pub scale_target_ref: CrossVersionObjectReference,
    /// When to set which replicas; at least one and at most 1,000, each with a name of its own.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = RULES), extend("x-kubernetes-list-type" = "atomic"))]
    #[schemars(extend("x-kubernetes-validations" = cel::cron_rules()))]
    pub rules: Vec<CronFederatedHPARule>,
}

/// One schedule and what it sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["name", "schedule"]))]
#[schemars(extend("x-kubernetes-validations" = cel::cron_rule()))]
pub struct CronFederatedHPARule {
    /// Name, unique in this object, 1 to 32 characters. A renamed rule starts a new history.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = RULE_NAME))]
    pub name: String,
    /// Five-field cron expression, for example `30 8 * * 1-5`.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = SCHEDULE))]
    pub schedule: String,
    /// Replicas to set, when the target is not a FederatedHPA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_replicas: Option<i32>,
    /// `minReplicas` to set, when the target is a FederatedHPA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_min_replicas: Option<i32>,
    /// `maxReplicas` to set, when the target is a FederatedHPA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_max_replicas: Option<i32>,
    /// True: the rule does not run. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub suspend: Option<bool>,
    /// IANA name of the zone of `schedule`, for example `Europe/Berlin`. Default: the zone of the controller process.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = TIME_ZONE))]
    pub time_zone: Option<String>,
    /// Successful runs that are remembered, 1 to 32. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = HISTORY), extend("default" = 3))]
    pub successful_history_limit: Option<i32>,
    /// Failed runs that are remembered, 0 to 32. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = HISTORY), extend("default" = 3))]
    pub failed_history_limit: Option<i32>,
    /// Seconds a missed run may be late and still be made up; at least 10, and less than the shortest interval between
    /// two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = LATENESS))]
    pub max_delay_seconds: Option<i64>,
}

/// What has run and what runs next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPAStatus {
    /// Generation of the spec this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The first of the next runs of all rules; absent when none is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_execution_time: Option<Time>,
    /// When a rule last ran, or failed to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_execution_time: Option<Time>,
    /// How many rules are suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_rules: Option<i32>,
    /// One entry per rule.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_histories: Option<Vec<ExecutionHistory>>,
    /// Current conditions, each with its reason and what to do about it.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
}

/// The history of one rule, newest run first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["ruleName"]))]
pub struct ExecutionHistory {
    /// Name of the rule.
    #[serde(deserialize_with = "null_as_default")]
    pub rule_name: String,
    /// The next run; absent while the rule is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_execution_time: Option<Time>,
    /// Runs that changed the target, up to `successfulHistoryLimit`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_executions: Option<Vec<SuccessfulExecution>>,
    /// Runs that did not, up to `failedHistoryLimit`.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_executions: Option<Vec<FailedExecution>>,
}

/// A run that changed the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["executionTime", "scheduleTime"]))]
pub struct SuccessfulExecution {
    /// When the schedule asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_time: Option<Time>,
    /// When it took place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time: Option<Time>,
    /// Replicas that were set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_replicas: Option<i32>,
    /// `minReplicas` that was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_min_replicas: Option<i32>,
    /// `maxReplicas` that was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_max_replicas: Option<i32>,
}

/// A run that did not change the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["executionTime", "message", "scheduleTime"]))]
pub struct FailedExecution {
    /// When the schedule asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schedule_time: Option<Time>,
    /// When it was last tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_time: Option<Time>,
    /// Why it failed.
    #[serde(deserialize_with = "null_as_default")]
    pub message: String,
}
