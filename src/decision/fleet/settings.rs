//! Settings of the user for single clusters: weight, priority, bounds. Pure.

use super::Member;
use super::affinity::takes;
use super::placement::Placement;
use crate::decision::plan::{Limits, Policy};
use crate::decision::split::Replicas;
use crate::decision::subject::federated_hpa::Assignment;

/// Settings of one cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Its weight for StaticWeighted.
    pub weight: u64,
    /// Its priority for Prioritized; the greater is first, `None` is last.
    pub priority: Option<i32>,
    /// Its thresholds.
    pub limits: Limits,
}

/// The policy of the user, else the one of the placement (docs/design.md#api). An unknown name cannot be stored.
/// `overflows` is whether the group of clusters in use has others for what it cannot run.
#[must_use]
pub fn policy(assignment: Option<&Assignment<'_>>, placement: &Placement<'_>, overflows: bool) -> Policy {
    let placed = || match placement.policy() {
        divided if overflows && divided.divides() => Policy::Prioritized,
        policy => policy,
    };
    assignment.and_then(|assignment| Policy::parse(&assignment.type_)).unwrap_or_else(placed)
}

/// Settings of the cluster, from the preferences of the FederatedHPA or else from the weights of the placement.
///
/// Several entries may select a cluster: the greatest weight and priority count, as in Karmada, and the tightest
/// bounds; where these cross, the upper one. A cluster without a weight has weight 0; where no entry has a weight, all
/// clusters weigh the same.
#[must_use]
pub fn settings(assignment: Option<&Assignment<'_>>, placement: &Placement<'_>, member: &Member<'_>) -> Settings {
    let Some(assignment) = assignment else {
        return Settings { weight: placed_weight(placement, member), ..Settings::default() };
    };
    let weighted = assignment.preferences.iter().any(|entry| entry.static_weight.is_some());
    let mut settings = Settings { weight: u64::from(!weighted), ..Settings::default() };
    let replicas = |bound: i32| Replicas::try_from(bound).unwrap_or_default();
    for entry in assignment.preferences.iter().filter(|entry| takes(&entry.target_cluster, member)) {
        let weight = entry.static_weight.and_then(|weight| u64::try_from(weight).ok());
        settings.weight = settings.weight.max(weight.unwrap_or_default());
        settings.priority = settings.priority.max(entry.priority);
        let limits = &mut settings.limits;
        limits.least = limits.least.max(entry.min_threshold.map_or(0, replicas));
        limits.most = limits.most.min(entry.max_threshold.map_or(Replicas::MAX, replicas));
    }
    settings.limits.least = settings.limits.least.min(settings.limits.most);
    settings
}

fn placed_weight(placement: &Placement<'_>, member: &Member<'_>) -> u64 {
    let list = placement.scheduling.as_ref().map(|scheduling| &scheduling.weights.list).filter(|list| !list.is_empty());
    let Some(list) = list else { return 1 };
    let weights = list.iter().filter(|entry| takes(&entry.target, member)).map(|entry| entry.weight);
    weights.max().and_then(|weight| u64::try_from(weight).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::fleet::placement::{ReplicaScheduling, StaticWeight, WeightPreference};
    use crate::decision::subject::federated_hpa::{ClusterAffinity, ClusterAutoscalingPreference};

    fn named(names: &[&'static str]) -> ClusterAffinity<'static> {
        ClusterAffinity { cluster_names: names.iter().map(|name| (*name).into()).collect(), ..<_>::default() }
    }

    fn member(name: &'static str) -> Member<'static> {
        Member { name: name.into(), ..Member::default() }
    }

    #[test]
    fn a_cluster_weighs_what_the_list_of_the_placement_says() {
        let weigh = |list: &[(&[&'static str], i64)], name| {
            let list =
                list.iter().map(|(names, weight)| StaticWeight { target: named(names), weight: *weight }).collect();
            let weights = WeightPreference { list, ..WeightPreference::default() };
            let scheduling = Some(ReplicaScheduling { weights, ..ReplicaScheduling::default() });
            settings(None, &Placement { scheduling, ..Placement::default() }, &member(name)).weight
        };
        let list: &[(&[&str], i64)] = &[(&["a"], 2), (&["a", "b"], 5), (&["c"], -1)];
        assert_eq!(["a", "b", "c", "d"].map(|name| weigh(list, name)), [5, 5, 0, 0]);
        assert_eq!(weigh(&[], "a"), 1);
    }

    #[test]
    fn of_several_entries_the_greatest_weight_and_the_tightest_bounds_count() {
        let entry = |names: &[&'static str], weight, priority, least, most| ClusterAutoscalingPreference {
            target_cluster: named(names),
            static_weight: weight,
            priority,
            min_threshold: least,
            max_threshold: most,
        };
        let preferences = vec![
            entry(&["a", "b"], Some(3), Some(-1), Some(2), Some(9)),
            entry(&["a"], Some(1), Some(4), Some(5), Some(4)),
        ];
        let assignment = Assignment { type_: "StaticWeighted".into(), preferences };
        let of = |name| settings(Some(&assignment), &Placement::default(), &member(name));
        assert_eq!(of("a"), Settings { weight: 3, priority: Some(4), limits: Limits { least: 4, most: 4 } });
        assert_eq!(of("b"), Settings { weight: 3, priority: Some(-1), limits: Limits { least: 2, most: 9 } });
        assert_eq!(of("c"), Settings { weight: 0, priority: None, limits: Limits::default() });
        let even = Assignment { preferences: Vec::new(), ..assignment.clone() };
        assert_eq!(settings(Some(&even), &Placement::default(), &member("c")).weight, 1);
        assert_eq!(policy(Some(&assignment), &Placement::default(), true), Policy::StaticWeighted);
        assert_eq!(policy(None, &Placement::default(), true), Policy::Duplicated);
    }
}
