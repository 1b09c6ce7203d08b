//! Wire -> what the rules know of other objects.

use kube::ResourceExt as _;

use crate::api::hpa::CrossVersionObjectReference;
use crate::api::{CronFederatedHPA, FederatedHPA};
use crate::decision::neighbours::{KnownCronFederatedHPA, KnownFederatedHPA, Target};

/// What is known of a FederatedHPA.
#[must_use]
pub fn federated_hpa(object: &FederatedHPA) -> KnownFederatedHPA {
    KnownFederatedHPA {
        name: object.name_any(),
        target: target(&object.namespace().unwrap_or_default(), &object.spec.scale_target_ref),
        min_replicas: object.spec.min_replicas,
        max_replicas: object.spec.max_replicas,
        distributed: object.spec.mode.as_deref() == Some("Distributed"),
        deleting: object.metadata.deletion_timestamp.is_some(),
    }
}

/// What is known of a CronFederatedHPA.
#[must_use]
pub fn cron_federated_hpa(object: &CronFederatedHPA) -> KnownCronFederatedHPA {
    KnownCronFederatedHPA {
        name: object.name_any(),
        target: target(&object.namespace().unwrap_or_default(), &object.spec.scale_target_ref),
        deleting: object.metadata.deletion_timestamp.is_some(),
    }
}

/// What `reference` in `namespace` names.
#[must_use]
pub fn target(namespace: &str, reference: &CrossVersionObjectReference) -> Target {
    let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
    Target {
        namespace: namespace.to_owned(),
        group: group.to_owned(),
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    }
}
