//! What Karmada makes of the replicas of a binding. No I/O.

use crate::api::ResourceBinding;
use crate::decision::plan::Entry;
use crate::decision::split::Replicas;
use crate::reconcile::federated_hpa::cache::entry::Binding;

/// Whether Karmada divides the replicas of the kind. For other kinds each cluster gets the number of the template.
#[must_use]
pub fn is_counted(binding: &ResourceBinding) -> bool {
    let resource = &binding.spec.resource;
    let native =
        matches!((&*resource.api_version, &*resource.kind), ("apps/v1", "Deployment" | "StatefulSet" | "ReplicaSet"));
    native || binding.spec.replicas.is_some_and(|replicas| replicas > 0)
}

/// Replicas of the template with which the scheduler keeps the entries: their sum where the placement divides. Where
/// every cluster gets all of them: the greatest entry, so that no pod is removed.
pub(super) fn whole(binding: &Binding, entries: &[Entry<'_>]) -> Replicas {
    let replicas = entries.iter().map(|entry| entry.replicas);
    if is_counted(&binding.object) && binding.divides() {
        replicas.fold(0, Replicas::saturating_add)
    } else {
        replicas.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::convert::fleet::replicas;

    #[test]
    fn a_binding_that_no_decision_may_be_based_on_is_handed_back_with_what_it_asks_for() {
        let whole = |placement: Value, scheduler: Value| {
            let binding = json!({"metadata": {"name": "web-deployment", "namespace": "prod"},
                "spec": {"placement": placement, "schedulerName": scheduler, "replicas": 4,
                    "clusters": [{"name": "a", "replicas": 8}, {"name": "b", "replicas": 6}]}});
            let binding = Binding::of(&serde_json::from_value(binding).unwrap());
            let entries: Vec<Entry<'_>> = binding
                .entries()
                .iter()
                .map(|(cluster, number)| Entry { cluster, replicas: replicas(*number) })
                .collect();
            (binding.placement().is_ok(), whole(&binding, &entries))
        };
        let placement = |kind: &str| json!({"replicaScheduling": {"replicaSchedulingType": kind}});
        assert_eq!(whole(placement("Divided"), json!("")), (true, 14));
        assert_eq!(whole(placement("Duplicated"), json!("")), (true, 8));
        // Karmada is newer: one member is of another type, or the placement itself.
        assert_eq!(whole(placement("Divided"), json!(5)), (false, 14));
        let newer = |kind: &str| json!({"spreadConstraints": 5, "replicaScheduling": {"replicaSchedulingType": kind}});
        assert_eq!(whole(newer("Divided"), json!("")), (false, 14));
        assert_eq!(whole(newer("Duplicated"), json!("")), (false, 8));
    }
}
