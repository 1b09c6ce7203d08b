//! What a ResourceBinding says of a workload among others. No I/O, no decisions.

use decision::json::null_as_default;
use serde::{Deserialize, Serialize};

/// The priority of a workload among others: greater ones come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchedulePriority {
    /// `priority`
    #[serde(deserialize_with = "null_as_default")]
    pub priority: i32,
}

/// Groups of a workload in its namespace, as Karmada derives them from `workloadAffinity` of the placement and the labels
/// of the template: `LABEL=VALUE`; empty: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct WorkloadAffinityGroups {
    /// Its workloads are in the same clusters.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub affinity_group: String,
    /// Its workloads are in different clusters.
    #[serde(deserialize_with = "null_as_default", skip_serializing_if = "String::is_empty")]
    pub anti_affinity_group: String,
}
