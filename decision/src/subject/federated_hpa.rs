//! A FederatedHPA as the user wrote it. Pure.

use serde::Deserialize;

use super::hpa::{Behavior, LabelSelector, Metric, SelectorRequirement};
use super::{Metadata, TargetRef, Text};
use crate::json::{elements, null_as_default};

/// The object.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FederatedHPA<'a> {
    /// `apiVersion`
    #[serde(deserialize_with = "null_as_default")]
    pub api_version: Text<'a>,
    /// `kind`
    #[serde(deserialize_with = "null_as_default")]
    pub kind: Text<'a>,
    /// `metadata`
    #[serde(deserialize_with = "null_as_default")]
    pub metadata: Metadata<'a>,
    /// `spec`; absent or null is a separate case, because a patch must create it first.
    pub spec: Option<FederatedHPASpec<'a>>,
    /// `status`
    #[serde(deserialize_with = "null_as_default")]
    pub status: FederatedHPAStatus,
}

/// `spec`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FederatedHPASpec<'a> {
    /// `scaleTargetRef`
    #[serde(deserialize_with = "null_as_default")]
    pub scale_target_ref: TargetRef<'a>,
    /// `minReplicas`
    pub min_replicas: Option<i32>,
    /// `maxReplicas`
    pub max_replicas: Option<i32>,
    /// `metrics`
    #[serde(deserialize_with = "elements")]
    pub metrics: Vec<Metric<'a>>,
    /// `behavior`
    pub behavior: Option<Behavior<'a>>,
    /// `mode`
    pub mode: Option<Text<'a>>,
    /// `suspend`
    pub suspend: Option<bool>,
    /// `federatedHPAAssignment`
    #[serde(rename = "federatedHPAAssignment")]
    pub assignment: Option<Assignment<'a>>,
    /// `clusterAffinity`
    pub cluster_affinity: Option<ClusterAffinity<'a>>,
    /// `autoscaleMultiClusterDelay`, seconds.
    pub autoscale_multi_cluster_delay: Option<i32>,
    /// `scaleAssist`
    pub scale_assist: Option<bool>,
    /// `scalingToZero`
    pub scaling_to_zero: Option<bool>,
    /// `clusterHPAPreference`
    #[serde(rename = "clusterHPAPreference", deserialize_with = "elements")]
    pub cluster_hpa_preference: Vec<ClusterHPAPreference<'a>>,
    /// `minCoveredLosses`
    pub min_covered_losses: Option<i32>,
}

impl FederatedHPASpec<'_> {
    /// The fields that only Distributed mode has, in the order of the spec. One that has the value of its default says
    /// nothing, so that an object can be switched to Centralized with it.
    pub fn distributed_fields(&self) -> impl Iterator<Item = &'static str> {
        let fields = [
            ("federatedHPAAssignment", self.assignment.is_some()),
            ("clusterAffinity", self.cluster_affinity.as_ref().is_some_and(|it| *it != ClusterAffinity::default())),
            ("autoscaleMultiClusterDelay", self.autoscale_multi_cluster_delay.is_some_and(|delay| delay > 0)),
            ("scaleAssist", self.scale_assist == Some(false)),
            ("scalingToZero", self.scaling_to_zero == Some(true)),
            ("clusterHPAPreference", !self.cluster_hpa_preference.is_empty()),
            ("minCoveredLosses", self.min_covered_losses.is_some_and(|losses| losses > 0)),
        ];
        fields.into_iter().filter_map(|(field, set)| set.then_some(field))
    }
}

/// `federatedHPAAssignment`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Assignment<'a> {
    /// `federatedHPAAssignmentType`
    #[serde(rename = "federatedHPAAssignmentType", deserialize_with = "null_as_default")]
    pub type_: Text<'a>,
    /// `clusterAutoscalingPreference`
    #[serde(rename = "clusterAutoscalingPreference", deserialize_with = "elements")]
    pub preferences: Vec<ClusterAutoscalingPreference<'a>>,
}

/// One of `clusterAutoscalingPreference`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAutoscalingPreference<'a> {
    /// `targetCluster`
    pub target_cluster: Option<ClusterAffinity<'a>>,
    /// `staticWeight`
    pub static_weight: Option<i64>,
    /// `priority`
    pub priority: Option<i32>,
    /// `autoscalingMinThreshold`
    #[serde(rename = "autoscalingMinThreshold")]
    pub min_threshold: Option<i32>,
    /// `autoscalingMaxThreshold`
    #[serde(rename = "autoscalingMaxThreshold")]
    pub max_threshold: Option<i32>,
}

impl<'a> ClusterAutoscalingPreference<'a> {
    /// The clusters that it is about; without a selection all of them.
    #[must_use]
    pub fn clusters(&self) -> &ClusterAffinity<'a> {
        static ALL: ClusterAffinity<'static> = ClusterAffinity {
            label_selector: None,
            field_selector: None,
            cluster_names: Vec::new(),
            exclude: Vec::new(),
        };
        self.target_cluster.as_ref().unwrap_or(&ALL)
    }
}

/// Selects member clusters.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAffinity<'a> {
    /// `labelSelector`
    pub label_selector: Option<LabelSelector<'a>>,
    /// `fieldSelector`
    pub field_selector: Option<FieldSelector<'a>>,
    /// `clusterNames`
    #[serde(deserialize_with = "elements")]
    pub cluster_names: Vec<Text<'a>>,
    /// `exclude`
    #[serde(deserialize_with = "elements")]
    pub exclude: Vec<Text<'a>>,
}

/// `fieldSelector`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldSelector<'a> {
    /// `matchExpressions`
    #[serde(deserialize_with = "elements")]
    pub match_expressions: Vec<SelectorRequirement<'a>>,
}

/// One of `clusterHPAPreference`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterHPAPreference<'a> {
    /// `clusterName`
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_name: Text<'a>,
    /// `maxResourceUsage`
    pub max_resource_usage: Option<f64>,
}

/// The part of `status` that rules read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct FederatedHPAStatus {
    /// `currentReplicas`
    #[serde(deserialize_with = "null_as_default")]
    pub current_replicas: i32,
    /// `desiredReplicas`
    #[serde(deserialize_with = "null_as_default")]
    pub desired_replicas: i32,
}
