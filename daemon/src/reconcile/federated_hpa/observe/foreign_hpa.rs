//! An HPA in a member that is not fhpa's (docs/design.md#on-the-wire). No I/O.

use crate::api::scaler::PlainHPA;
use crate::convert;
use crate::decision::related_objects::Target;
use crate::reconcile::federated_hpa::names;

/// Label of objects that Karmada brought to a member.
const PROPAGATED: &str = "karmada.io/managed";

/// An HPA of a member that is not fhpa's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignHpa {
    /// Its name.
    pub name: String,
    /// The object that it scales.
    pub target: Target,
    /// Its uid.
    pub uid: String,
    /// The owner that would restore it, if any.
    pub owner: Option<String>,
}

impl ForeignHpa {
    /// The facts about an HPA; `None` for one of fhpa's, and for one that is being deleted.
    pub(super) fn of(hpa: &PlainHPA) -> Option<Self> {
        let metadata = &hpa.metadata;
        let ours = metadata.annotations.as_ref().is_some_and(|all| all.contains_key(names::WRITE_ID));
        if ours || metadata.deletion_timestamp.is_some() {
            return None;
        }
        let owners = metadata.owner_references.iter().flatten();
        let owner = owners.map(|owner| format!("{} {}", owner.kind, owner.name)).next();
        let propagated = metadata.labels.as_ref().is_some_and(|all| all.contains_key(PROPAGATED));
        Some(Self {
            name: metadata.name.clone().unwrap_or_default(),
            target: convert::target(metadata.namespace.as_deref(), &hpa.spec.scale_target_ref),
            uid: metadata.uid.clone().unwrap_or_default(),
            owner: owner.or_else(|| propagated.then(|| "a policy of Karmada".to_owned())),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_hpa_of_fhpa_is_not_foreign_and_one_that_would_be_restored_names_its_owner() {
        let of = |metadata: serde_json::Value| {
            let spec = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}});
            ForeignHpa::of(&serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap())
        };
        assert_eq!(of(json!({"name": "web", "annotations": {"fhpa.karmada.io/write-id": "1"}})), None);
        assert_eq!(of(json!({"name": "web", "deletionTimestamp": "2026-11-20T08:00:00Z"})), None);
        let owner = json!([{"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "name": "web", "uid": "u"}]);
        let keda = of(json!({"name": "keda-hpa-web", "ownerReferences": owner})).unwrap();
        assert_eq!(keda.owner.as_deref(), Some("ScaledObject web"));
        let propagated = of(json!({"name": "old", "labels": {"karmada.io/managed": "true"}})).unwrap();
        assert_eq!(propagated.owner.as_deref(), Some("a policy of Karmada"));
        let plain = of(json!({"name": "old", "namespace": "prod"})).unwrap();
        assert_eq!((plain.owner, plain.target.namespace), (None, "prod".to_owned()));
    }
}
