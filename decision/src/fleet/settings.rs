//! Settings of the user for single clusters: weight, priority, bounds. Pure.

use std::collections::BTreeMap;

use super::Member;
use super::affinity::takes;
use super::placement::{Placement, StaticWeight};
use crate::plan::{Limits, Policy};
use crate::split::Replicas;
use crate::subject::federated_hpa::{Assignment, ClusterAffinity, ClusterAutoscalingPreference};

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

/// The policy of the user, else the one of the placement (docs/design.md#initial-assignment). An unknown name cannot be
/// stored.
/// `overflows` is whether the group of clusters in use has others for what it cannot run.
#[must_use]
pub fn policy(assignment: Option<&Assignment<'_>>, placement: &Placement<'_>, overflows: bool) -> Policy {
    let placed = || match placement.policy() {
        divided if overflows && divided.divides() => Policy::Prioritized,
        policy => policy,
    };
    assignment.and_then(|assignment| Policy::parse(&assignment.type_)).unwrap_or_else(placed)
}

/// Settings of clusters: the preferences of the FederatedHPA, and weights of its placement where it has neither a policy
/// nor a weight.
///
/// Several entries may select a cluster: the greatest weight and priority count, as in Karmada, and the tightest
/// bounds; where these cross, the upper one. A cluster without a weight has weight 0; where no entry has a weight, all
/// clusters weigh the same.
pub struct Preferences<'a> {
    own: ByName<'a, ClusterAutoscalingPreference<'a>>,
    weights: Weights<'a>,
}

/// Where the weights of clusters stand.
enum Weights<'a> {
    /// In the preferences of the FederatedHPA.
    Own,
    /// In the placement.
    Placed(ByName<'a, StaticWeight<'a>>),
    /// Nowhere: all clusters weigh the same.
    Even,
}

impl<'a> Preferences<'a> {
    /// The preferences of a FederatedHPA and its placement.
    #[must_use]
    pub fn of(assignment: Option<&'a Assignment<'a>>, placement: &'a Placement<'a>) -> Self {
        let own = assignment.map_or(&[][..], |assignment| &assignment.preferences);
        let list = placement.scheduling.as_ref().map_or(&[][..], |scheduling| &scheduling.weights.list);
        let has_policy = assignment.is_some_and(|assignment| !assignment.type_.is_empty());
        let weights = match own.iter().any(|entry| entry.static_weight.is_some_and(|weight| weight > 0)) {
            true => Weights::Own,
            false if has_policy || list.is_empty() => Weights::Even,
            false => Weights::Placed(ByName::of(list, |entry| &entry.target)),
        };
        Self { own: ByName::of(own, ClusterAutoscalingPreference::clusters), weights }
    }

    /// Settings of the cluster.
    #[must_use]
    pub fn settings(&self, member: &Member<'_>) -> Settings {
        let weight = match &self.weights {
            Weights::Own => self.own.taking(member).filter_map(|entry| entry.static_weight).max().unwrap_or(0),
            Weights::Placed(list) => list.taking(member).map(|entry| entry.weight).max().unwrap_or(0),
            Weights::Even => 1,
        };
        let mut settings = Settings { weight: u64::try_from(weight).unwrap_or(0), ..Settings::default() };
        let replicas = |bound: i32| Replicas::try_from(bound).unwrap_or_default();
        for entry in self.own.taking(member) {
            settings.priority = settings.priority.max(entry.priority);
            let limits = &mut settings.limits;
            limits.least = limits.least.max(entry.min_threshold.map_or(0, replicas));
            limits.most = limits.most.min(entry.max_threshold.map_or(Replicas::MAX, replicas));
        }
        settings.limits.least = settings.limits.least.min(settings.limits.most);
        settings
    }
}

/// Entries with affinities, found by the names of clusters: each of hundreds of clusters may have an entry of its own.
pub struct ByName<'a, T> {
    affinity: fn(&'a T) -> &'a ClusterAffinity<'a>,
    named: BTreeMap<&'a str, Vec<&'a T>>,
    /// Entries that name no cluster.
    others: Vec<&'a T>,
}

impl<'a, T> ByName<'a, T> {
    fn of(entries: &'a [T], affinity: fn(&'a T) -> &'a ClusterAffinity<'a>) -> Self {
        let (mut named, mut others): (BTreeMap<&str, Vec<&T>>, _) = (BTreeMap::new(), Vec::new());
        for entry in entries {
            let clusters = &affinity(entry).cluster_names;
            for cluster in clusters {
                named.entry(cluster).or_default().push(entry);
            }
            if clusters.is_empty() {
                others.push(entry);
            }
        }
        Self { affinity, named, others }
    }

    /// The entries that select the cluster.
    fn taking<'s>(&'s self, member: &'s Member<'_>) -> impl Iterator<Item = &'a T> + use<'s, 'a, T> {
        let named = self.named.get(&*member.name).into_iter().flatten();
        named.chain(&self.others).copied().filter(|entry| takes((self.affinity)(entry), member))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::placement::{ReplicaScheduling, WeightPreference};

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
            let placement = Placement { scheduling, ..Placement::default() };
            Preferences::of(None, &placement).settings(&member(name)).weight
        };
        let list: &[(&[&str], i64)] = &[(&["a"], 2), (&["a", "b"], 5), (&["c"], -1)];
        assert_eq!(["a", "b", "c", "d"].map(|name| weigh(list, name)), [5, 5, 0, 0]);
        assert_eq!(weigh(&[], "a"), 1);
    }

    #[test]
    fn of_several_entries_the_greatest_weight_and_the_tightest_bounds_count() {
        let entry = |names: &[&'static str], weight, priority, least, most| ClusterAutoscalingPreference {
            target_cluster: Some(named(names)),
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
        let placement = Placement::default();
        let of = |name| Preferences::of(Some(&assignment), &placement).settings(&member(name));
        assert_eq!(of("a"), Settings { weight: 3, priority: Some(4), limits: Limits { least: 4, most: 4 } });
        assert_eq!(of("b"), Settings { weight: 3, priority: Some(-1), limits: Limits { least: 2, most: 9 } });
        assert_eq!(of("c"), Settings { weight: 0, priority: None, limits: Limits::default() });
        let even = Assignment { preferences: Vec::new(), ..assignment.clone() };
        assert_eq!(Preferences::of(Some(&even), &placement).settings(&member("c")).weight, 1);
        assert_eq!(policy(Some(&assignment), &Placement::default(), true), Policy::StaticWeighted);
        assert_eq!(policy(None, &Placement::default(), true), Policy::Duplicated);
    }

    #[test]
    fn preferences_without_a_policy_leave_policy_and_weights_to_the_placement() {
        let list = vec![StaticWeight { target: named(&["a"]), weight: 3 }];
        let scheduling = ReplicaScheduling {
            type_: "Divided".into(),
            preference: "Weighted".into(),
            weights: WeightPreference { list, ..WeightPreference::default() },
        };
        let placement = Placement { scheduling: Some(scheduling), ..Placement::default() };
        let bounded = |static_weight| ClusterAutoscalingPreference {
            target_cluster: Some(named(&["a"])),
            static_weight,
            max_threshold: Some(4),
            ..ClusterAutoscalingPreference::default()
        };
        let settings = |type_: &'static str, weight| {
            let assignment = Assignment { type_: type_.into(), preferences: vec![bounded(weight)] };
            assert_eq!(policy(Some(&assignment), &placement, false), Policy::StaticWeighted);
            ["a", "b"].map(|name| Preferences::of(Some(&assignment), &placement).settings(&member(name)))
        };
        let limits = Limits { most: 4, ..Limits::default() };
        let is = |weight, limits| Settings { weight, priority: None, limits };
        assert_eq!(settings("", None), [is(3, limits), is(0, Limits::default())]);
        assert_eq!(settings("", Some(7)), [is(7, limits), is(0, Limits::default())]);
        assert_eq!(settings("StaticWeighted", None), [is(1, limits), is(1, Limits::default())]);
    }
}
