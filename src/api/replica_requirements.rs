//! What each replica of a workload asks for (`spec.replicaRequirements` of Karmada's `ResourceBinding`). No I/O, no
//! decisions.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{NodeSelector, Toleration};
use serde::Deserialize;

use super::lenient::null_as_default;
use super::quantity::Quantity;

/// What each replica asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ReplicaRequirements {
    /// Which nodes will do.
    pub node_claim: Option<NodeClaim>,
    /// Resources, by name.
    #[serde(deserialize_with = "null_as_default")]
    pub resource_request: BTreeMap<String, Quantity>,
    /// Whose resource quota it goes by.
    #[serde(deserialize_with = "null_as_default")]
    pub namespace: String,
    /// Which resource quota it goes by.
    #[serde(deserialize_with = "null_as_default")]
    pub priority_class_name: String,
}

/// Which nodes will do.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeClaim {
    /// The affinity that must hold.
    pub hard_node_affinity: Option<NodeSelector>,
    /// Labels that nodes must have.
    #[serde(deserialize_with = "null_as_default")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that nodes may have.
    #[serde(deserialize_with = "null_as_default")]
    pub tolerations: Vec<Toleration>,
}
