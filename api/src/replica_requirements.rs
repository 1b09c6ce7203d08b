//! Requirements of each replica of a workload (`spec.replicaRequirements` of Karmada's `ResourceBinding`). No I/O, no
//! decisions.

use std::collections::BTreeMap;

use decision::json::null_as_default;
use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use serde::Deserialize;

use super::quantity::Quantity;

/// Requirements of each replica.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaRequirements {
    /// Requirements on nodes.
    pub node_claim: Option<NodeClaim>,
    /// Resources, by name.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_request: BTreeMap<String, Quantity>,
    /// Namespace of the resource quota that applies.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Priority class of the resource quota that applies.
    #[serde(deserialize_with = "null_as_default")]
    pub priority_class_name: String,
}

/// Requirements on nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeClaim {
    /// Required node affinity.
    pub hard_node_affinity: Option<NodeSelector>,
    /// Required labels of nodes.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerated taints of nodes.
    #[serde(deserialize_with = "null_as_default")]
    pub tolerations: Vec<Toleration>,
}
