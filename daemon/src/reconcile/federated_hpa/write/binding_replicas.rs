//! What Karmada makes of the replicas of a binding. No I/O.

use crate::api::ResourceBinding;
use crate::convert::fleet::replicas;
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

/// Replicas of the workload of `binding` once the FederatedHPA `name` hands it back, as far as members report; `None`
/// where it has not taken it over.
#[must_use]
pub fn handed_back(binding: &Binding, name: &str) -> Option<Replicas> {
    if binding.marked() != Some(name) || binding.entries().next().is_none() {
        return None;
    }
    let runs = |cluster: &str| {
        let status = binding.reports().find(|(reported, _)| *reported == cluster).and_then(|(_, status)| status);
        status.map(|status| replicas(status.replicas))
    };
    let entry = |(cluster, stored): (&'_ str, i32)| runs(cluster).unwrap_or_else(|| replicas(stored));
    Some(together(binding, binding.entries().map(entry)))
}

/// Replicas of the template with which the scheduler keeps the entries: their sum where the placement divides. Where
/// every cluster gets all of them: the greatest entry, so that no pod is removed.
pub(super) fn whole(binding: &Binding, entries: &[Entry<'_>]) -> Replicas {
    together(binding, entries.iter().map(|entry| entry.replicas))
}

fn together(binding: &Binding, replicas: impl Iterator<Item = Replicas>) -> Replicas {
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

    #[test]
    fn a_binding_that_no_decision_may_be_based_on_is_handed_back_with_what_it_asks_for() {
        let whole = |placement: Value, scheduler: Value| {
            let binding = json!({"metadata": {"name": "web-deployment", "namespace": "prod"},
                "spec": {"placement": placement, "schedulerName": scheduler, "replicas": 4,
                    "clusters": [{"name": "a", "replicas": 8}, {"name": "b", "replicas": 6}]}});
            let binding = Binding::of(&serde_json::from_value(binding).unwrap());
            let entry = |(cluster, number)| Entry { cluster, replicas: replicas(number) };
            let entries: Vec<Entry<'_>> = binding.entries().map(entry).collect();
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

    #[test]
    fn what_members_run_is_handed_back_where_the_workload_is_taken_over() {
        let told = |mark: &str, kind: &str| {
            let reports = json!([{"clusterName": "a", "status": {"replicas": 4}}, {"clusterName": "b"}]);
            let binding = json!({"metadata": {"name": "web-deployment", "namespace": "prod",
                    "annotations": {"fhpa.karmada.io/suspended-for": mark}},
                "spec": {"placement": {"replicaScheduling": {"replicaSchedulingType": kind}}, "replicas": 3,
                    "clusters": [{"name": "a", "replicas": 1}, {"name": "b", "replicas": 2}]},
                "status": {"aggregatedStatus": reports}});
            handed_back(&Binding::of(&serde_json::from_value(binding).unwrap()), "web")
        };
        assert_eq!((told("web", "Divided"), told("web", "Duplicated")), (Some(6), Some(4)));
        assert_eq!(told("other", "Divided"), None);
    }
}
