//! `FederatedHPA` (`autoscaling.karmada.io/v1alpha1`), the superset of Karmada's kind (docs/distributed.md#fields). No
//! I/O, no decisions.

use std::sync::Arc;

use decision::json::null_as_default;
use decision::limits::{
    CLUSTER_NAME, CLUSTERS, COVERED_LOSSES, DELAYS, FIELD_VALUE, METRICS, PRIORITIES, RECENT_SCALE_UPS, REQUIREMENTS,
    THRESHOLDS, VALUES, WEIGHTS,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cel;
use super::hpa::{CrossVersionObjectReference, HorizontalPodAutoscalerBehavior, MetricSpec};
use super::hpa_status::{Condition, HorizontalPodAutoscalerStatus, MetricStatus};

/// Scales one workload over many member clusters.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "autoscaling.karmada.io",
    version = "v1alpha1",
    kind = "FederatedHPA",
    plural = "federatedhpas",
    namespaced
)]
#[kube(shortname = "fhpa", category = "karmada-io", status = "FederatedHPAStatus")]
#[kube(doc = "Scales one workload over many member clusters.")]
#[kube(
    printcolumn = r#"{"name": "REFERENCE-KIND", "type": "string", "jsonPath": ".spec.scaleTargetRef.kind"}"#,
    printcolumn = r#"{"name": "REFERENCE-NAME", "type": "string", "jsonPath": ".spec.scaleTargetRef.name"}"#,
    printcolumn = r#"{"name": "MINPODS", "type": "integer", "jsonPath": ".spec.minReplicas"}"#,
    printcolumn = r#"{"name": "MAXPODS", "type": "integer", "jsonPath": ".spec.maxReplicas"}"#,
    printcolumn = r#"{"name": "REPLICAS", "type": "integer", "jsonPath": ".status.currentReplicas"}"#,
    printcolumn = r#"{"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}"#,
    printcolumn = r#"{"name": "MODE", "type": "string", "jsonPath": ".spec.mode"}"#,
    printcolumn = r#"{"name": "READY", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name": "ASSIGNED", "type": "string", "jsonPath": ".status.conditions[?(@.type==\"Assigned\")].status"}"#,
    printcolumn = r#"{"name": "DESIRED", "type": "integer", "priority": 1, "jsonPath": ".status.desiredReplicas"}"#,
    printcolumn = r#"{"name": "CLUSTERS", "type": "integer", "priority": 1, "jsonPath": ".status.clusters.total"}"#,
    printcolumn = r#"{"name": "CLUSTERS-READY", "type": "integer", "priority": 1, "jsonPath": ".status.clusters.ready"}"#,
    printcolumn = r#"{"name": "REASON", "type": "string", "priority": 1, "jsonPath": ".status.conditions[?(@.type==\"Ready\")].reason"}"#
)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["maxReplicas", "scaleTargetRef"]))]
#[schemars(extend("x-kubernetes-validations" = cel::federated_hpa_spec()))]
pub struct FederatedHPASpec {
    /// The workload to scale. Its kind needs the `scale` subresource.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("x-kubernetes-validations" = cel::scale_target()))]
    pub scale_target_ref: CrossVersionObjectReference,
    /// Fewest replicas over all clusters. Default 1. 0 needs a metric of type Object or External, and in Distributed
    /// mode scalingToZero.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub min_replicas: Option<i32>,
    /// Most replicas over all clusters; not less than `minReplicas`.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(range(min = 1))]
    pub max_replicas: i32,
    /// Metrics to scale on; the one that asks for most replicas decides. Default: 80% of the CPU requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = METRICS), extend("x-kubernetes-list-type" = "atomic"))]
    pub metrics: Option<Vec<MetricSpec>>,
    /// How fast to scale, per direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<HorizontalPodAutoscalerBehavior>,
    /// `Distributed`: member clusters scale by HPAs of their own. `Centralized`: one calculation for all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Distributed", "Centralized"]))]
    pub mode: Option<String>,
    /// True: bounds and replicas stay as they are, and nothing moves, until it is false again. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// How min and max are divided. Absent: derived from the placement of the workload.
    #[serde(rename = "federatedHPAAssignment", skip_serializing_if = "Option::is_none")]
    pub federated_hpa_assignment: Option<FederatedHPAAssignment>,
    /// Restricts the candidate clusters. Absent: the candidates of the placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_affinity: Option<ClusterAffinity>,
    /// Seconds a cluster must be unable to scale before others help, up to a day. Default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *DELAYS.start(), max = *DELAYS.end()))]
    pub autoscale_multi_cluster_delay: Option<i32>,
    /// False: after the assignment the bounds are kept and no cluster helps another. Default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_assist: Option<bool>,
    /// True: idle clusters go to zero replicas. Needs `scaleAssist`. Default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling_to_zero: Option<bool>,
    /// Per cluster: the share of its allocatable resources that this workload may take.
    #[serde(rename = "clusterHPAPreference", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CLUSTERS), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["clusterName"]))]
    pub cluster_hpa_preference: Option<Vec<ClusterHPAPreference>>,
    /// 1: the condition `FailoverCovered` says whether the others would run the replicas of any one cluster that is lost.
    /// 0: nothing is said. Default: that of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *COVERED_LOSSES.start(), max = *COVERED_LOSSES.end()))]
    pub min_covered_losses: Option<i32>,
}

/// How min and max are divided over the clusters.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = cel::assignment()))]
pub struct FederatedHPAAssignment {
    /// `Duplicated`, `Aggregated`, `StaticWeighted`, `DynamicWeighted` or `Prioritized`. Absent: what the placement says.
    #[serde(rename = "federatedHPAAssignmentType", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = ["Duplicated", "Aggregated", "StaticWeighted", "DynamicWeighted", "Prioritized"]))]
    pub federated_hpa_assignment_type: Option<String>,
    /// Weights, priorities and bounds of clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CLUSTERS), extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_autoscaling_preference: Option<Vec<ClusterAutoscalingPreference>>,
}

/// Weight, priority and bounds of the clusters that `targetCluster` selects.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["targetCluster"]))]
#[schemars(extend("x-kubernetes-validations" = cel::cluster_autoscaling_preference()))]
pub struct ClusterAutoscalingPreference {
    /// Which clusters.
    #[serde(deserialize_with = "null_as_default")]
    pub target_cluster: ClusterAffinity,
    /// Weight of each of them, for `StaticWeighted`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *WEIGHTS.start(), max = *WEIGHTS.end()))]
    pub static_weight: Option<i64>,
    /// Priority of each of them, for `Prioritized`; the greater comes first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *PRIORITIES.start(), max = *PRIORITIES.end()))]
    pub priority: Option<i32>,
    /// Fewest replicas each of them is assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *THRESHOLDS.start(), max = *THRESHOLDS.end()))]
    pub autoscaling_min_threshold: Option<i32>,
    /// Most replicas each of them is assigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = *THRESHOLDS.start(), max = *THRESHOLDS.end()))]
    pub autoscaling_max_threshold: Option<i32>,
}

/// Selects member clusters, as Karmada's ClusterAffinity does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterAffinity {
    /// By the labels of the Cluster objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "super::selector::of_clusters")]
    pub label_selector: Option<LabelSelector>,
    /// By provider, region or zone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field_selector: Option<FieldSelector>,
    /// By name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CLUSTERS), inner(length(min = 1, max = CLUSTER_NAME)))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub cluster_names: Option<Vec<String>>,
    /// Clusters that are left out, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = CLUSTERS), inner(length(min = 1, max = CLUSTER_NAME)))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub exclude: Option<Vec<String>>,
}

/// Selects clusters by fields of their spec.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct FieldSelector {
    /// All of them must hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = REQUIREMENTS), extend("x-kubernetes-list-type" = "atomic"))]
    pub match_expressions: Option<Vec<FieldSelectorRequirement>>,
}

/// One condition on a field.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["key", "operator"]))]
#[schemars(extend("x-kubernetes-validations" = cel::field_selector_requirement()))]
pub struct FieldSelectorRequirement {
    /// `provider`, `region` or `zone`.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("enum" = ["provider", "region", "zone"]))]
    pub key: String,
    /// `In` or `NotIn`.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(extend("enum" = ["In", "NotIn"]))]
    pub operator: String,
    /// The values that are compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = VALUES), inner(length(max = FIELD_VALUE)))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub values: Option<Vec<String>>,
}

/// A cap on what the workload may take of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterName", "maxResourceUsage"]))]
pub struct ClusterHPAPreference {
    /// Name of the member cluster.
    #[serde(deserialize_with = "null_as_default")]
    #[schemars(length(min = 1, max = CLUSTER_NAME))]
    pub cluster_name: String,
    /// Share of its allocatable resources, greater than 0 and at most 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minimum" = 0, "exclusiveMinimum" = true, "maximum" = 1))]
    pub max_resource_usage: Option<f64>,
}

/// What the autoscaler last saw and did: the status of a Kubernetes HPA, summed over the clusters, and its parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["desiredReplicas"]))]
pub struct FederatedHPAStatus {
    /// Generation of the spec this status answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the number of replicas last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_scale_time: Option<Time>,
    /// Replicas that run, over all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_replicas: Option<i32>,
    /// Replicas that are wanted, over all clusters.
    #[serde(deserialize_with = "null_as_default")]
    pub desired_replicas: i32,
    /// The metrics as they were last read.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_metrics: Option<Vec<MetricStatus>>,
    /// Current conditions, each with its reason and what to do about it.
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<Condition>>,
    /// The bounds each cluster is assigned.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(rename = "clusterHPADesired", skip_serializing_if = "Option::is_none")]
    pub cluster_hpa_desired: Option<Vec<ClusterHPADesired>>,
    /// Hash of the input of the assignment: while it is unchanged, so is the assignment.
    #[schemars(length(max = 64))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignment_hash: Option<String>,
    /// When bounds were last divided: assigned anew, or headroom rebalanced by free capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_rebalance_time: Option<Time>,
    /// Time from which a cluster has been idle enough to go to zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_start_time: Option<Time>,
    /// When failover was last resumed after a pause: no toleration of a failed cluster begins earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failover_resume_time: Option<Time>,
    /// Time from which the workload is being handed back to Karmada.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_back_start_time: Option<Time>,
    /// Number of clusters by their state; always set, and of all clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clusters: Option<ClusterCounts>,
    /// What the HPA of each cluster reports. Of more than 200 clusters (until there are fewer than 180) at most 200
    /// that are not well.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregated_status: Option<Vec<ClusterHPAStatus>>,
    /// How many clusters `aggregatedStatus` leaves out; absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregated_status_omitted: Option<i32>,
}

/// Number of member clusters by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct ClusterCounts {
    /// Clusters that take part.
    pub total: i32,
    /// Clusters whose HPA is there as written, finds its workload, and shares it with no other HPA.
    pub ready: i32,
    /// Clusters that cannot have as many replicas as they want.
    pub limited: i32,
    /// Clusters that do not answer, or whose HPA has not reported yet.
    pub unknown: i32,
    /// Clusters that are scaled to zero.
    pub scaled_to_zero: i32,
}

/// The bounds that are assigned to one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterName"]))]
pub struct ClusterHPADesired {
    /// Name of the member cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_name: String,
    /// `minReplicas` of its HPA; absent, as `maxReplicas`, for a cluster that takes no part any more and is replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_replicas: Option<i32>,
    /// `maxReplicas` of its HPA; 0 means that it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// Why its bounds last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why it cannot scale up: `Unschedulable`, `NoNodesAvailable` or `TooManyReplicas`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up_blocked_reason: Option<String>,
    /// Time from which it has not been able to scale up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scale_up_blocked_time: Option<Time>,
    /// When it gave headroom to other clusters, where it got none since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_donated_time: Option<Time>,
    /// When it got headroom from other clusters, where it gave none since; absent when that no longer matters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_received_time: Option<Time>,
    /// Replicas that other clusters were asked to run in its place while it cannot scale up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covered_replicas: Option<i32>,
    /// Replicas that it should run at once because other clusters cannot scale up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assist_replicas: Option<i32>,
    /// When that was decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assist_time: Option<Time>,
    /// Replicas that fhpa itself added lately to answer load, oldest first; only where `behavior.scaleUp` limits that.
    #[schemars(length(max = RECENT_SCALE_UPS), extend("x-kubernetes-list-type" = "atomic"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recent_scale_ups: Option<Vec<RecentScaleUp>>,
    /// Whether it should have no replicas.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaled_to_zero: Option<bool>,
    /// Fewest replicas that it runs, its own included, while it replaces clusters that leave or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement_min_replicas: Option<i32>,
    /// When the replacement began, or when it was complete; it ends some time later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replacement_time: Option<Time>,
    /// Replicas that it ran when it began to leave or failed; other clusters should run them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_replicas: Option<i32>,
    /// How many of `lostReplicas`, or beyond `replacementMinReplicas`, are due and no cluster has been asked to run yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uncovered_replicas: Option<i32>,
    /// When it began to leave or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_time: Option<Time>,
    /// Replicas that the other clusters ran when it stopped answering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_replicas: Option<i32>,
    /// When Karmada's own failover took the workload away from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eviction_time: Option<Time>,
    /// How often it failed recently, or Karmada's own failover took the workload away from it; each time doubles the time
    /// that it is waited for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failures: Option<i32>,
    /// When it last failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure_time: Option<Time>,
}

/// Replicas that were added to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["replicas"]))]
pub struct RecentScaleUp {
    /// How many.
    #[serde(deserialize_with = "null_as_default")]
    pub replicas: i32,
    /// When they were observed; absent while they are requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
}

/// What the HPA of one cluster reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
#[schemars(extend("required" = ["clusterName"]))]
pub struct ClusterHPAStatus {
    /// Name of the member cluster.
    #[serde(deserialize_with = "null_as_default")]
    pub cluster_name: String,
    /// Status of its HPA.
    // Caches share it.
    #[serde(deserialize_with = "null_as_default")]
    pub status: Arc<HorizontalPodAutoscalerStatus>,
}
