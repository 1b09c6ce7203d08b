//! A CronFederatedHPA as the user wrote it. Pure.

use serde::Deserialize;

use super::{Metadata, TargetRef, Text};
use crate::json::{elements, null_as_default};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPA<'a> {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: Text<'a>,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text<'a>,
    /// `metadata`
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata<'a>,
    /// `spec`
    #[serde(deserialize_with = "null_as_default")]
    pub spec: CronFederatedHPASpec<'a>,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct CronFederatedHPASpec<'a> {
    /// `scaleTargetRef`
    #[serde(deserialize_with = "null_as_default")]
    pub scale_target_ref: TargetRef<'a>,
    /// `rules`
    #[serde(deserialize_with = "elements")]
    pub rules: Vec<Rule<'a>>,
}

/// One of `rules`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Rule<'a> {
    /// `name`
    #[serde(deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// `schedule`
    #[serde(deserialize_with = "null_as_default")]
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
