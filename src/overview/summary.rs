//! A FederatedHPA -> one line. No I/O.

use super::conditions;
use super::model::{ClusterCounts, FederatedHpaSummary, Target};
use crate::api::FederatedHPA;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::api::hpa_status::Condition;
use crate::decision::mirror::MODE;

/// One line of a FederatedHPA.
#[must_use]
pub fn summary(hpa: &FederatedHPA) -> FederatedHpaSummary {
    let (metadata, spec, status) = (&hpa.metadata, &hpa.spec, hpa.status.as_ref());
    let mirror = || metadata.annotations.as_ref().and_then(|all| all.get(MODE).cloned());
    let current = status.and_then(|status| status.current_replicas);
    FederatedHpaSummary {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        mode: spec.mode.clone().or_else(mirror),
        target: Target::of(&spec.scale_target_ref),
        min_replicas: spec.min_replicas.unwrap_or(1),
        max_replicas: spec.max_replicas,
        current_replicas: current,
        desired_replicas: current.and(status).map(|status| status.desired_replicas),
        at_max: current.is_some_and(|current| current >= spec.max_replicas),
        deleting: metadata.deletion_timestamp.is_some(),
        ready: conditions::ready(conditions_of(status)),
        cluster_counts: counts(status),
    }
}

fn counts(status: Option<&FederatedHPAStatus>) -> ClusterCounts {
    let counts = status.and_then(|status| status.clusters).unwrap_or_default();
    ClusterCounts {
        total: counts.total,
        ready: counts.ready,
        limited: counts.limited,
        unknown: counts.unknown,
        scaled_to_zero: counts.scaled_to_zero,
    }
}

pub(super) fn conditions_of(status: Option<&FederatedHPAStatus>) -> &[Condition] {
    status.and_then(|status| status.conditions.as_deref()).unwrap_or_default()
}
