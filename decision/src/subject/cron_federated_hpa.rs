//! A CronFederatedHPA as the user wrote it. Pure.

use super::{Metadata, TargetRef, Text};

/// The object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CronFederatedHPA<'a> {
    /// `apiVersion`
    pub api_version: Text<'a>,
    /// `kind`
    pub kind: Text<'a>,
    /// `metadata`
    pub metadata: Metadata<'a>,
    /// `spec`
    pub spec: CronFederatedHPASpec<'a>,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CronFederatedHPASpec<'a> {
    /// `scaleTargetRef`
    pub scale_target_ref: TargetRef<'a>,
    /// `rules`
    pub rules: Vec<Rule<'a>>,
}

/// One of `rules`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rule<'a> {
    /// `name`
    pub name: Text<'a>,
    /// `schedule`
    pub schedule: Text<'a>,
    /// `targetReplicas`
    pub target_replicas: Option<i32>,
    /// `targetMinReplicas`
    pub target_min_replicas: Option<i32>,
    /// `targetMaxReplicas`
    pub target_max_replicas: Option<i32>,
    /// `suspend`
    pub suspend: Option<bool>,
    /// `timeZone`
    pub time_zone: Option<Text<'a>>,
    /// `successfulHistoryLimit`
    pub successful_history_limit: Option<i32>,
    /// `failedHistoryLimit`
    pub failed_history_limit: Option<i32>,
    /// `maxDelaySeconds`
    pub max_delay_seconds: Option<i64>,
}
