//! Messages of karmada-scheduler-estimator, as protocol buffers. No I/O.
//!
//! Servers before Karmada 1.18 read only the typed fields. From 1.19 on they read the fields of bytes, which hold the
//! encodings of the same Kubernetes types. Both are filled. They are few and written by hand, so that no build needs a
//! compiler of protocol buffers; `tests/capacity/grpc.rs` compares the bytes with those of Karmada.

#![allow(clippy::trivially_copy_pass_by_ref, reason = "what the derive makes")]

use std::collections::BTreeMap;

use prost::Message;

/// `MaxAvailableReplicasRequest`, without `assumedWorkloads` (field 3): what is promised stays with the leader
/// (docs/decisions/0009-promises-stay-with-the-leader.md).
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct MaxAvailableReplicasRequest {
    /// Name of the cluster.
    #[prost(string, tag = "1")]
    pub cluster: String,
    /// Requests of each replica.
    #[prost(message, optional, tag = "2")]
    pub replica_requirements: Option<ReplicaRequirements>,
}

/// `MaxAvailableReplicasResponse`
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct MaxAvailableReplicasResponse {
    /// Further replicas that fit; below 0: unknown.
    #[prost(int32, tag = "1")]
    pub max_replicas: i32,
}

/// `ReplicaRequirements`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct ReplicaRequirements {
    /// Requirements on nodes.
    #[prost(message, optional, tag = "1")]
    pub node_claim: Option<NodeClaim>,
    /// Resources by name, typed.
    #[prost(btree_map = "string, message", tag = "2")]
    pub resource_request: BTreeMap<String, Quantity>,
    /// Namespace of the resource quota that applies.
    #[prost(string, tag = "3")]
    pub namespace: String,
    /// Priority class of the resource quota that applies.
    #[prost(string, tag = "4")]
    pub priority_class_name: String,
    /// Resources by name, each an encoded [`Quantity`].
    #[prost(btree_map = "string, bytes", tag = "5")]
    pub resource_request_bytes: BTreeMap<String, Vec<u8>>,
}

/// `NodeClaim`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeClaim {
    /// Required node affinity, typed.
    #[prost(message, optional, tag = "1")]
    pub node_affinity: Option<NodeSelector>,
    /// Required labels of nodes.
    #[prost(btree_map = "string, string", tag = "2")]
    pub node_selector: BTreeMap<String, String>,
    /// Tolerated taints of nodes, typed.
    #[prost(message, repeated, tag = "3")]
    pub tolerations: Vec<Toleration>,
    /// Required node affinity, an encoded [`NodeSelector`].
    #[prost(bytes = "vec", tag = "4")]
    pub node_affinity_bytes: Vec<u8>,
    /// Tolerated taints of nodes, each an encoded [`Toleration`].
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
    /// Terms, one of which must match.
    #[prost(message, repeated, tag = "1")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// Kubernetes `core/v1.NodeSelectorTerm`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeSelectorTerm {
    /// Requirements on labels.
    #[prost(message, repeated, tag = "1")]
    pub match_expressions: Vec<NodeSelectorRequirement>,
    /// Requirements on fields.
    #[prost(message, repeated, tag = "2")]
    pub match_fields: Vec<NodeSelectorRequirement>,
}

/// Kubernetes `core/v1.NodeSelectorRequirement`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct NodeSelectorRequirement {
    /// Name of the label or field.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// Comparison operator.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// Values to compare with.
    #[prost(string, repeated, tag = "3")]
    pub values: Vec<String>,
}

/// Kubernetes `core/v1.Toleration`
#[derive(Clone, PartialEq, Eq, Hash, Message)]
pub struct Toleration {
    /// Key; `None`: every key.
    #[prost(string, optional, tag = "1")]
    pub key: Option<String>,
    /// `Exists` or `Equal`, the default.
    #[prost(string, optional, tag = "2")]
    pub operator: Option<String>,
    /// Value.
    #[prost(string, optional, tag = "3")]
    pub value: Option<String>,
    /// Effect; `None`: every effect.
    #[prost(string, optional, tag = "4")]
    pub effect: Option<String>,
    /// Seconds; `None`: without limit.
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
    /// Nanoseconds that a pod must have been unschedulable to count.
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
    /// Unschedulable replicas.
    #[prost(int32, tag = "1")]
    pub unschedulable_replicas: i32,
}
