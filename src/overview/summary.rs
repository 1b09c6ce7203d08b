//! Objects -> one line each. No I/O.

use super::gather::Objects;
use super::model::{ClusterCounts, FederatedHpaSummary, Overview, Target};
use super::{Clock, conditions, cron};
use crate::api::FederatedHPA;
use crate::api::federated_hpa::FederatedHPAStatus;
use crate::api::hpa::CrossVersionObjectReference;
use crate::api::hpa_status::Condition;
use crate::decision::mirror::MODE;

/// All objects, by namespace and name.
#[must_use]
pub fn overview(objects: &Objects, clock: Clock<'_>) -> Overview {
    let mut overview = Overview {
        federated_hpas: objects.federated_hpas.iter().map(summary).collect(),
        cron_federated_hpas: objects.cron_federated_hpas.iter().map(|one| cron::summary(one, clock)).collect(),
        unread: objects.unread.clone(),
    };
    overview.federated_hpas.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    overview.cron_federated_hpas.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
    overview
}

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
        target: target(&spec.scale_target_ref),
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

pub(super) fn target(reference: &CrossVersionObjectReference) -> Target {
    let CrossVersionObjectReference { api_version, kind, name } = reference.clone();
    Target { api_version, kind, name }
}
