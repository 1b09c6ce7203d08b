//! What is shown of CronFederatedHPAs. No I/O.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use super::{ConditionView, Target};

/// A CronFederatedHPA in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CronSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it scales.
    pub target: Target,
    /// The first run of all rules; absent when none is due.
    pub next_run: Option<NextRun>,
    /// The last run of all rules.
    pub last_run: Option<LastRun>,
    /// Number of rules.
    pub rules: usize,
    /// Number of rules that are suspended.
    pub suspended_rules: usize,
    /// The condition `Ready`.
    pub ready: ConditionView,
}

/// A run to come.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NextRun {
    /// Name of the CronFederatedHPA.
    pub name: String,
    /// Name of the rule.
    pub rule: String,
    /// When.
    pub time: Time,
    /// Replicas that it sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_replicas: Option<i32>,
    /// `minReplicas` that it sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_min_replicas: Option<i32>,
    /// `maxReplicas` that it sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_max_replicas: Option<i32>,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LastRun {
    /// Name of the rule.
    pub rule: String,
    /// When the schedule asked for it.
    pub schedule_time: Option<Time>,
    /// When it took place, or was last tried.
    pub execution_time: Option<Time>,
    /// Whether it set the target.
    pub succeeded: bool,
    /// Why it did not; empty when it did.
    pub message: String,
}

/// A CronFederatedHPA with its runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CronDetail {
    /// The line of the object.
    #[serde(flatten)]
    pub summary: CronSummary,
    /// Its conditions.
    pub conditions: Vec<ConditionView>,
    /// Its rules in their order.
    pub schedule: Vec<RuleView>,
}

/// A rule of a CronFederatedHPA.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RuleView {
    /// Its name.
    pub name: String,
    /// Its schedule.
    pub schedule: String,
    /// Its time zone.
    pub time_zone: String,
    /// Whether it is suspended.
    pub suspended: bool,
    /// What it sets, as `replicas 4` or `min 3, max 9`.
    pub sets: String,
    /// Why it has no runs; empty where it can run.
    pub problem: String,
    /// The runs to come, the first run first.
    pub runs: Vec<RunView>,
    /// Whether there are further runs in the days that are shown.
    pub more: bool,
    /// The last runs, newest first.
    pub history: Vec<PastRun>,
}

/// A run to come, on the clocks of its zone.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// When.
    pub time: Time,
    /// Its day there, as `2027-03-28`.
    pub day: String,
    /// Its time there, as `08:30`.
    pub clock: String,
    /// The offset of the zone, as `+01:00`.
    pub offset: String,
    /// What a clock change means for it; empty where there is none.
    pub notes: Vec<String>,
}

/// A run that is over.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PastRun {
    /// The run.
    #[serde(flatten)]
    pub run: LastRun,
    /// By how many seconds it was late; absent where it was not, or did not take place.
    pub late_seconds: Option<i64>,
    /// What it set; empty where it failed.
    pub set: String,
}
