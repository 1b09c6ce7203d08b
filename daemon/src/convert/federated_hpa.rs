//! FederatedHPA: the facts that rules for other objects read. No I/O.

use crate::api;
use crate::decision::api_version::ApiVersion;
use crate::decision::defaults::Mode;
use crate::decision::related_objects::{KnownFederatedHPA, Target};
use crate::decision::subject::federated_hpa::FederatedHPASpec;
use crate::decision::{mirror, names};

/// The mode of a FederatedHPA: that of its spec, or the one before a foreign CRD pruned it; `None`: it never had one.
#[must_use]
pub fn mode(hpa: &api::FederatedHPA) -> Option<Mode> {
    if let Some(named) = hpa.spec.mode.as_deref().and_then(Mode::parse) {
        return Some(named);
    }
    // The leader writes the mode at first sight, so this is rare.
    let spec = serde_json::to_value(&hpa.spec).and_then(serde_json::from_value::<FederatedHPASpec<'_>>);
    let stated = spec.ok().and_then(|spec| Mode::stated(&spec));
    stated.or_else(|| Mode::parse(hpa.metadata.annotations.as_ref()?.get(mirror::MODE)?))
}

/// Facts about `hpa` for the rules of other objects; `stored_mode` applies where it has no mode.
#[must_use]
pub fn known_federated_hpa(hpa: &api::FederatedHPA, stored_mode: impl Into<Option<Mode>>) -> KnownFederatedHPA {
    let spec = &hpa.spec;
    KnownFederatedHPA {
        name: hpa.metadata.name.clone().unwrap_or_default(),
        target: target(hpa.metadata.namespace.as_deref(), &spec.scale_target_ref),
        min_replicas: spec.min_replicas,
        max_replicas: spec.max_replicas,
        distributed: mode(hpa).or(stored_mode.into()) == Some(Mode::Distributed),
        suspended: spec.suspend == Some(true),
        deleting: hpa.metadata.deletion_timestamp.is_some(),
        taken_over: taken_over(hpa).map(|reference| target(hpa.metadata.namespace.as_deref(), &reference)),
    }
}

/// The workload that is recorded as taken over. Without the finalizer nothing is: anybody can copy an annotation.
#[must_use]
pub fn taken_over(hpa: &api::FederatedHPA) -> Option<api::hpa::CrossVersionObjectReference> {
    if !hpa.metadata.finalizers.iter().flatten().any(|name| name == names::FINALIZER) {
        return None;
    }
    let mut words = hpa.metadata.annotations.as_ref()?.get(names::WORKLOAD)?.split(' ').map(str::to_owned);
    let (api_version, kind, name) = (words.next()?, words.next()?, words.next()?);
    Some(api::hpa::CrossVersionObjectReference { api_version, kind, name })
}

/// The object that `reference` points to.
#[must_use]
pub fn target(namespace: Option<&str>, reference: &api::hpa::CrossVersionObjectReference) -> Target {
    Target {
        namespace: namespace.unwrap_or_default().to_owned(),
        group: ApiVersion::parse(&reference.api_version).map(|version| version.group.to_owned()).unwrap_or_default(),
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_annotation_alone_takes_nothing_over() {
        let taken = |finalizers: &[&str]| {
            let hpa: api::FederatedHPA =
                serde_json::from_value(json!({"metadata": {"name": "web", "namespace": "prod",
                "finalizers": finalizers, "annotations": {names::WORKLOAD: "apps/v1 Deployment other"}}, "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "maxReplicas": 3}}))
                .unwrap();
            (taken_over(&hpa).map(|other| other.name), known_federated_hpa(&hpa, None).taken_over.is_some())
        };
        assert_eq!(taken(&[]), (None, false));
        assert_eq!(taken(&["example.com/keep"]), (None, false));
        assert_eq!(taken(&["example.com/keep", names::FINALIZER]), (Some("other".to_owned()), true));
    }
}
