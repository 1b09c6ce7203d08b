//! The model of a running system. Its JSON is stable: members are only added. No I/O.

mod cron;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::Serialize;

use crate::api::hpa::CrossVersionObjectReference;

pub use cron::{CronDetail, CronSummary, LastRun, NextRun, PastRun, RuleView, RunView};

/// All objects, by namespace and name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// The FederatedHPAs.
    #[serde(rename = "federatedHPAs")]
    pub federated_hpas: Vec<FederatedHpaSummary>,
    /// The CronFederatedHPAs.
    #[serde(rename = "cronFederatedHPAs")]
    pub cron_federated_hpas: Vec<CronSummary>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// A FederatedHPA in one line.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FederatedHpaSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `Distributed` or `Centralized`; absent while no process has written it.
    pub mode: Option<String>,
    /// The workload.
    pub target: Target,
    /// Fewest replicas over all clusters.
    pub min_replicas: i32,
    /// Most replicas over all clusters.
    pub max_replicas: i32,
    /// Replicas that run; absent while unknown.
    pub current_replicas: Option<i32>,
    /// Replicas that are wanted; absent while unknown.
    pub desired_replicas: Option<i32>,
    /// Whether as many replicas run as the spec allows.
    pub at_max: bool,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The condition `Ready`.
    pub ready: ConditionView,
    /// How many clusters are how.
    pub cluster_counts: ClusterCounts,
}

impl FederatedHpaSummary {
    /// Whether a user should look at it: it is not ready, at its max, or a cluster is limited or unknown.
    #[must_use]
    pub fn needs_attention(&self) -> bool {
        let counts = self.cluster_counts;
        self.ready.status != "True" || self.at_max || counts.limited > 0 || counts.unknown > 0
    }
}

/// The object that is scaled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Target {
    /// Its API version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

impl Target {
    pub(super) fn of(reference: &CrossVersionObjectReference) -> Self {
        let CrossVersionObjectReference { api_version, kind, name } = reference.clone();
        Self { api_version, kind, name }
    }
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionView {
    /// Its type.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Its reason; empty where there is no such condition.
    pub reason: String,
    /// Its message.
    pub message: String,
    /// When its status last changed.
    pub since: Option<Time>,
    /// Whether it is not as it should be.
    pub needs_attention: bool,
    /// What to do; empty where there is nothing to do.
    pub to_do: String,
}

/// One FederatedHPA with all that belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Detail {
    /// The line of the object.
    #[serde(flatten)]
    pub summary: FederatedHpaSummary,
    /// When its replicas last changed.
    pub last_scale_time: Option<Time>,
    /// Its conditions.
    pub conditions: Vec<ConditionView>,
    /// Its metrics over all clusters.
    pub metrics: Vec<MetricView>,
    /// The clusters, by name.
    pub clusters: Vec<ClusterView>,
    /// What is waited for.
    pub waits_for: Vec<Waiting>,
    /// The last decisions, newest first.
    pub decisions: Vec<Decision>,
    /// The next run of each rule that moves it, the first run first.
    pub next_runs: Vec<NextRun>,
    /// What could not be read.
    pub unread: Vec<Unread>,
}

/// How many clusters are how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterCounts {
    /// Clusters that take part.
    pub total: i32,
    /// Clusters whose HPA is there as written.
    pub ready: i32,
    /// Clusters that cannot have as many replicas as they want.
    pub limited: i32,
    /// Clusters of which nothing is known.
    pub unknown: i32,
    /// Clusters that are scaled to zero.
    pub scaled_to_zero: i32,
}

/// A metric beside its target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricView {
    /// `Resource`, `ContainerResource`, `Pods`, `Object` or `External`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its name.
    pub name: String,
    /// Its value, with its unit; absent while unknown.
    pub current: Option<String>,
    /// The value that it is held at.
    pub target: String,
    /// Its value in percent of the target; absent while unknown.
    pub percent_of_target: Option<i64>,
}

/// A cluster. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterView {
    /// Its name.
    pub name: String,
    /// `minReplicas` of its HPA; absent in Centralized mode, and for a cluster that takes no part any more.
    pub min_replicas: Option<i32>,
    /// `maxReplicas` of its HPA.
    pub max_replicas: Option<i32>,
    /// Replicas that exist.
    pub replicas: Option<i32>,
    /// Replicas that are ready.
    pub ready_replicas: Option<i32>,
    /// Replicas that are not ready: they start, or find no node.
    pub pending_replicas: Option<i32>,
    /// Replicas that its HPA wants.
    pub desired_replicas: Option<i32>,
    /// Replicas that would still fit by what the Cluster says of its resources.
    pub available_replicas: Option<u32>,
    /// Its metrics.
    pub metrics: Vec<MetricView>,
    /// Why it has these bounds, or what is not as it should be.
    pub reason: String,
    /// The same in a sentence; may be empty.
    pub message: String,
    /// Since when.
    pub since: Option<Time>,
    /// Whether something is not as it should be.
    pub needs_attention: bool,
    /// Whether it cannot scale up.
    pub blocked: bool,
}

/// How much of its bounds a cluster uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Pressure {
    /// Its replicas or its max are not known.
    #[default]
    Unknown,
    /// It runs nothing.
    Idle,
    /// Below half of its max.
    Low,
    /// From half of its max.
    Medium,
    /// From four fifths of its max.
    High,
    /// At its max.
    Full,
    /// It cannot have the replicas that it wants.
    Blocked,
}

impl ClusterView {
    /// How much of its bounds it uses.
    #[must_use]
    pub fn pressure(&self) -> Pressure {
        let (Some(replicas), Some(max)) = (self.replicas, self.max_replicas) else { return Pressure::Unknown };
        let (replicas, max) = (i64::from(replicas), i64::from(max));
        let wants_more = self.desired_replicas.is_some_and(|desired| i64::from(desired) > replicas.min(max));
        match () {
            () if self.blocked || wants_more && replicas >= max => Pressure::Blocked,
            () if replicas <= 0 => Pressure::Idle,
            () if replicas >= max => Pressure::Full,
            () if replicas.saturating_mul(5) >= max.saturating_mul(4) => Pressure::High,
            () if replicas.saturating_mul(2) >= max => Pressure::Medium,
            () => Pressure::Low,
        }
    }
}

/// A member cluster with all that uses it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterDetail {
    /// Its name.
    pub name: String,
    /// Its condition `Ready`.
    pub ready: ConditionView,
    /// Version of Kubernetes; may be empty.
    pub kubernetes_version: String,
    /// `Push` or `Pull`.
    pub sync_mode: String,
    /// Provider, region and zones, as far as they are set.
    pub location: Vec<String>,
    /// Its taints as `key=value:effect`, with the time since when.
    pub taints: Vec<(String, Option<Time>)>,
    /// Its resources.
    pub resources: Vec<ResourceView>,
    /// The FederatedHPAs with bounds or replicas there.
    pub uses: Vec<ClusterUse>,
    /// Workloads that leave it.
    pub evictions: Vec<Eviction>,
}

/// A resource of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceView {
    /// Its name.
    pub name: String,
    /// What its nodes have, as a quantity.
    pub allocatable: String,
    /// What pods have or wait for, as a quantity.
    pub used: String,
    /// The used part in percent; absent where nothing is allocatable.
    pub percent: Option<i64>,
}

/// A FederatedHPA in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterUse {
    /// Namespace of the FederatedHPA.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What is known of it in the cluster.
    #[serde(flatten)]
    pub view: ClusterView,
}

/// A workload that Karmada moves away from a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Eviction {
    /// Namespace of the workload.
    pub namespace: String,
    /// Kind of the workload.
    pub kind: String,
    /// Name of the workload.
    pub name: String,
    /// Why, as Karmada names it.
    pub reason: String,
}

/// Something that is waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// Its reason, as in conditions.
    pub reason: String,
    /// What for.
    pub message: String,
    /// Since when.
    pub since: Option<Time>,
    /// What would end it; empty when it ends by itself.
    pub to_do: String,
}

/// A decision, from the Events of the object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// When it was last made.
    pub time: Option<Time>,
    /// `Normal` or `Warning`.
    #[serde(rename = "type")]
    pub type_: String,
    /// Its reason.
    pub reason: String,
    /// What was decided, and why.
    pub message: String,
    /// How often it was made in a row.
    pub count: i32,
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unread {
    /// `get` or `list`, as roles name it; `decode` for objects of another form.
    pub verb: String,
    /// What, as roles name it.
    pub resource: String,
    /// Why, in a few words.
    pub reason: String,
    /// Why, in a sentence that says what to do.
    pub message: String,
}
