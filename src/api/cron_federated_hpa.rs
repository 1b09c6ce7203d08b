//! `CronFederatedHPA` (`autoscaling.karmada.io/v1alpha1`), the superset of Karmada's kind (design: API). No I/O, no decisions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hpa::CrossVersionObjectReference;
use super::lenient::null_as_default;

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
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPASpec {
    /// A FederatedHPA, or any object with the `scale` subresource.
    #[serde(deserialize_with = "null_as_default")]
    pub scale_target_ref: CrossVersionObjectReference,
    /// When to set which replicas; at least one.
    #[serde(deserialize_with = "null_as_default")]
    pub rules: Vec<CronFederatedHPARule>,
}

/// One schedule and what it sets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPARule {
    /// Name, unique in this object, 1 to 32 characters. A renamed rule starts a new history.
    #[serde(deserialize_with = "null_as_default")]
    pub name: String,
    /// Five-field cron expression, for example `30 8 * * 1-5`.
    #[serde(deserialize_with = "null_as_default")]
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
    pub suspend: Option<bool>,
    /// IANA name of the zone of `schedule`, for example `Europe/Berlin`. Default: the zone of the controller process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_zone: Option<String>,
    /// Successful runs that are remembered, 1 to 32. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successful_history_limit: Option<i32>,
    /// Failed runs that are remembered, 0 to 32. Default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_history_limit: Option<i32>,
    /// Seconds a missed run may be late and still be made up; less than the shortest interval between two runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_delay_seconds: Option<i64>,
}

/// What has run and what runs next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPAStatus {
    /// One entry per rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_histories: Option<Vec<ExecutionHistory>>,
}

/// The history of one rule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ExecutionHistory {
    /// Name of the rule.
    #[serde(deserialize_with = "null_as_default")]
    pub rule_name: String,
    /// The next run; absent while the rule is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_execution_time: Option<Time>,
}
