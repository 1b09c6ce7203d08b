//! The placement of a workload as Karmada stores it on the ResourceBinding, and the policy that follows from it. Pure.

use super::spread::Spread;
use super::taint::Toleration;
use crate::plan::Policy;
use crate::subject::Text;
use crate::subject::federated_hpa::ClusterAffinity;

/// `spec.placement` of a ResourceBinding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placement<'a> {
    /// `clusterAffinity`
    pub affinity: Option<ClusterAffinity<'a>>,
    /// `clusterAffinities`: tried in their order.
    pub groups: Vec<Group<'a>>,
    /// `clusterTolerations`
    pub tolerations: Vec<Toleration<'a>>,
    /// `replicaScheduling`
    pub scheduling: Option<ReplicaScheduling<'a>>,
    /// `spreadConstraints`
    pub spread: Vec<Spread<'a>>,
}

/// One of `clusterAffinities`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group<'a> {
    /// `affinityName`
    pub name: Text<'a>,
    /// The affinity of the group.
    pub affinity: ClusterAffinity<'a>,
    /// `overflowAffinities`: clusters for what the group cannot run, in their order.
    pub overflow: Vec<ClusterAffinity<'a>>,
}

/// `replicaScheduling`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplicaScheduling<'a> {
    /// `replicaSchedulingType`: `Divided` or `Duplicated`, the default.
    pub type_: Text<'a>,
    /// `replicaDivisionPreference`: `Aggregated` or `Weighted`, the default.
    pub preference: Text<'a>,
    /// `weightPreference`
    pub weights: WeightPreference<'a>,
}

/// `weightPreference`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightPreference<'a> {
    /// `staticWeightList`
    pub list: Vec<StaticWeight<'a>>,
    /// `dynamicWeight`; only `AvailableReplicas`.
    pub dynamic: Text<'a>,
}

/// One of `staticWeightList`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StaticWeight<'a> {
    /// `targetCluster`
    pub target: ClusterAffinity<'a>,
    /// `weight`
    pub weight: i64,
}

impl Placement<'_> {
    /// How bounds are divided where the FederatedHPA has no policy (docs/design.md#initial-assignment, last column).
    #[must_use]
    pub fn policy(&self) -> Policy {
        match &self.scheduling {
            Some(scheduling) if scheduling.type_ == "Divided" => match &*scheduling.preference {
                "Aggregated" => Policy::Aggregated,
                _ if scheduling.weights.dynamic.is_empty() => Policy::StaticWeighted,
                _ => Policy::DynamicWeighted,
            },
            _ => Policy::Duplicated,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_means_a_policy() {
        let placement = |type_: &'static str, preference: &'static str, dynamic: &'static str| {
            let weights = WeightPreference { dynamic: dynamic.into(), ..WeightPreference::default() };
            let scheduling = ReplicaScheduling { type_: type_.into(), preference: preference.into(), weights };
            Placement { scheduling: Some(scheduling), ..Placement::default() }
        };
        for (placement, policy) in [
            (Placement::default(), Policy::Duplicated),
            (placement("", "", ""), Policy::Duplicated),
            (placement("Duplicated", "Aggregated", ""), Policy::Duplicated),
            (placement("Divided", "Aggregated", ""), Policy::Aggregated),
            (placement("Divided", "Weighted", ""), Policy::StaticWeighted),
            (placement("Divided", "", ""), Policy::StaticWeighted),
            (placement("Divided", "Weighted", "AvailableReplicas"), Policy::DynamicWeighted),
        ] {
            assert_eq!(placement.policy(), policy, "{placement:?}");
        }
    }
}
