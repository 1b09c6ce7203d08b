//! What goes over the wire to karmada-scheduler-estimator, as protocol buffers. No I/O.
//!
//! Servers before Karmada 1.18 read the typed fields and know no others. From 1.19 on they read the fields of bytes, which
//! hold the encodings of the same Kubernetes types. Both are filled.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "what the derive makes")]

use std::collections::BTreeMap;

use prost::Message;

/// `MaxAvailableReplicasRequest`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MaxAvailableReplicasRequest {
    /// Name of the cluster.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// What each replica asks for.
    #[prost(message, optional, tag = "2")]
    pub replica_requirements: Option<ReplicaRequirements>,
}

/// `MaxAvailableReplicasResponse`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct MaxAvailableReplicasResponse {
    /// Further replicas that fit; below 0: not known.
    #[prost(int32, tag = "1")]
    pub max_replicas: i32,
}

/// `ReplicaRequirements`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ReplicaRequirements {
    /// Which nodes will do.
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<NodeClaim>,
    /// Resources by name, typed.
    #[prost(btree_map = "string, message", tag = "2")]
    pub resource_request: BTreeMap<String, Quantity>,
    /// Whose resource quota it goes by.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Which resource quota it goes by.
    #[prost(string, tag = "4")]
    pub priority_class_name: String,
    /// Resources by name, each an encoded [`Quantity`].
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub resource_request_bytes: BTreeMap<String, Vec<u8>>,
}

/// `NodeClaim`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeClaim {
    /// The affinity that must hold, typed.
    #[prost(message, optional, tag = "1")]
    pub node_affinity: Option<NodeSelector>,
    /// Labels that nodes must have.
    #[prost(btree_map = "string, string", tag = "2")]
    pub node_selector: BTreeMap<String, String>,
    /// Taints that nodes may have, typed.
    #[prost(message, repeated, tag = "3")]
    pub tolerations: Vec<Toleration>,
    /// The affinity that must hold, an encoded [`NodeSelector`].
    #[prost(bytes = "vec", tag = "4")]
    pub node_affinity_bytes: Vec<u8>,
    /// Taints that nodes may have, each an encoded [`Toleration`].
    #[prost(bytes = "vec", repeated, tag = "5")]
    pub tolerations_bytes: Vec<Vec<u8>>,
}

/// Kubernetes `resource.Quantity`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Quantity {
    /// Its text.
    #[prost(string, optional, tag = "1")]
    pub string: Option<String>,
}

/// Kubernetes `core/v1.NodeSelector`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeSelector {
    /// One of them must hold.
    #[prost(message, repeated, tag = "1")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Kubernetes `core/v1.NodeSelectorTerm`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeSelectorTerm {
    /// About labels.
    #[prost(message, repeated, tag = "1")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// About fields.
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// Kubernetes `core/v1.NodeSelectorRequirement`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeSelectorRequirement {
    /// The label or field.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// How it compares.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// With what.
    #[prost(string, repeated, tag = "3")]
    pub values: Vec<String>,
}

/// Kubernetes `core/v1.Toleration`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Toleration {
    /// Key; none: every key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// `Exists` or `Equal`, the default.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// Value.
    #[prost(string, optional, tag = "3")]
    pub value: Option<String>,
    /// Effect; none: every effect.
    #[prost(string, optional, tag = "4")]
    pub effect: Option<String>,
    /// For how long; none: for ever.
    #[prost(int64, optional, tag = "5")]
    pub toleration_seconds: Option<i64>,
}

/// `UnschedulableReplicasRequest`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct UnschedulableReplicasRequest {
    /// Name of the cluster.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// The workload.
    #[prost(message, optional, tag = "2")]
    pub resource: Option<ObjectReference>,
    /// Nanoseconds for which a pod must have been unschedulable to count.
    #[prost(int64, tag = "3")]
    pub unschedulable_threshold: i64,
}

/// `ObjectReference`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ObjectReference {
    /// API version of the workload.
    #[prost(string, tag = "1")]
    pub api_version: String,
    /// Kind of the workload.
    #[prost(string, tag = "2")]
    pub kind: String,
    /// Namespace of the workload.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Name of the workload.
    #[prost(string, tag = "4")]
    pub name: String,
}

/// `UnschedulableReplicasResponse`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct UnschedulableReplicasResponse {
    /// Replicas that cannot be scheduled.
    #[prost(int32, tag = "1")]
    pub unschedulable_replicas: i32,
}
