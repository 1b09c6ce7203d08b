//! Queries to an estimator, from API objects. No I/O.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1 as core;
use prost::Message as _;

use super::messages::{
    NodeClaim, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ObjectReference, Quantity, ReplicaRequirements,
    Toleration,
};
use crate::api::replica_requirements as api;

/// A query to the estimator of a cluster. Equal queries have the same result.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EstimatorQuery {
    /// How many further replicas fit.
    Available(Arc<ReplicaRequirements>),
    /// How many replicas have been unschedulable for this many nanoseconds.
    Unschedulable(Arc<ObjectReference>, i64),
}

impl EstimatorQuery {
    /// The number of further replicas with these requirements that fit.
    #[must_use]
    pub fn available(requirements: &api::ReplicaRequirements) -> Self {
        Self::Available(Arc::new(self::requirements(requirements)))
    }

    /// The number of replicas of this workload that have been unschedulable for longer than `threshold`. Estimators
    /// support Deployments only.
    #[must_use]
    pub fn unschedulable(workload: ObjectReference, threshold: Duration) -> Self {
        let nanoseconds = i64::try_from(threshold.as_nanos()).unwrap_or(i64::MAX);
        Self::Unschedulable(Arc::new(workload), nanoseconds)
    }
}

fn requirements(from: &api::ReplicaRequirements) -> ReplicaRequirements {
    let quantities = from.resource_request.iter();
    let typed: std::collections::BTreeMap<_, _> =
        quantities.map(|(name, quantity)| (name.clone(), Quantity { string: Some(quantity.0.clone()) })).collect();
    ReplicaRequirements {
        node_claim: from.node_claim.as_ref().map(node_claim),
        resource_request_bytes: typed.iter().map(|(name, quantity)| (name.clone(), quantity.encode_to_vec())).collect(),
        resource_request: typed,
        namespace: from.namespace.clone(),
        priority_class_name: from.priority_class_name.clone(),
    }
}

fn node_claim(from: &api::NodeClaim) -> NodeClaim {
    let node_affinity = from.hard_node_affinity.as_ref().map(node_selector);
    let tolerations: Vec<Toleration> = from.tolerations.iter().map(toleration).collect();
    NodeClaim {
        node_affinity_bytes: node_affinity.as_ref().map(NodeSelector::encode_to_vec).unwrap_or_default(),
        node_affinity,
        node_selector: from.node_selector.clone(),
        tolerations_bytes: tolerations.iter().map(Toleration::encode_to_vec).collect(),
        tolerations,
    }
}

fn node_selector(from: &core::NodeSelector) -> NodeSelector {
    let list = |from: &Option<Vec<core::NodeSelectorRequirement>>| from.iter().flatten().map(requirement).collect();
    let term = |from: &core::NodeSelectorTerm| NodeSelectorTerm {
        match_expressions: list(&from.match_expressions),
        match_fields: list(&from.match_fields),
    };
    NodeSelector { node_selector_terms: from.node_selector_terms.iter().map(term).collect() }
}

fn requirement(from: &core::NodeSelectorRequirement) -> NodeSelectorRequirement {
    NodeSelectorRequirement {
        key: Some(from.key.clone()),
        operator: Some(from.operator.clone()),
        values: from.values.clone().unwrap_or_default(),
    }
}

fn toleration(from: &core::Toleration) -> Toleration {
    Toleration {
        key: from.key.clone(),
        operator: from.operator.clone(),
        value: from.value.clone(),
        effect: from.effect.clone(),
        toleration_seconds: from.toleration_seconds,
    }
}
