//! The placement of a workload as Karmada stores it on the ResourceBinding, and the policy that follows from it. Pure.

use serde::Deserialize;

use super::spread::{self, Spread};
use super::taint::Toleration;
use crate::json::{elements, null_as_default};
use crate::plan::Policy;
use crate::subject::Text;
use crate::subject::federated_hpa::ClusterAffinity;

/// `spec.placement` of a ResourceBinding.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Placement<'a> {
    /// `clusterAffinity`
    #[serde(rename = "clusterAffinity")]
    pub affinity: Option<ClusterAffinity<'a>>,
    /// `clusterAffinities`: tried in their order.
    #[serde(rename = "clusterAffinities", deserialize_with = "elements")]
    pub groups: Vec<Group<'a>>,
    /// `clusterTolerations`
    #[serde(rename = "clusterTolerations", deserialize_with = "elements")]
    pub tolerations: Vec<Toleration<'a>>,
    /// `replicaScheduling`
    #[serde(rename = "replicaScheduling")]
    pub scheduling: Option<ReplicaScheduling<'a>>,
    /// `spreadConstraints`
    #[serde(rename = "spreadConstraints", deserialize_with = "spread::known")]
    pub spread: Vec<Spread<'a>>,
}

/// One of `clusterAffinities`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Group<'a> {
    /// `affinityName`
    #[serde(rename = "affinityName", deserialize_with = "null_as_default")]
    pub name: Text<'a>,
    /// The affinity of the group.
    #[serde(flatten)]
    pub affinity: ClusterAffinity<'a>,
    /// `overflowAffinities`: clusters for what the group cannot run, in their order.
    #[serde(rename = "overflowAffinities", deserialize_with = "elements")]
    pub overflow: Vec<ClusterAffinity<'a>>,
}

/// `replicaScheduling`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicaScheduling<'a> {
    /// `replicaSchedulingType`: `Divided` or `Duplicated`, the default.
    #[serde(rename = "replicaSchedulingType", deserialize_with = "null_as_default")]
    pub type_: Text<'a>,
    /// `replicaDivisionPreference`: `Aggregated` or `Weighted`, the default.
    #[serde(rename = "replicaDivisionPreference", deserialize_with = "null_as_default")]
    pub preference: Text<'a>,
    /// `weightPreference`
    #[serde(rename = "weightPreference", deserialize_with = "null_as_default")]
    pub weights: WeightPreference<'a>,
}

/// `weightPreference`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct WeightPreference<'a> {
    /// `staticWeightList`
    #[serde(rename = "staticWeightList", deserialize_with = "elements")]
    pub list: Vec<StaticWeight<'a>>,
    /// `dynamicWeight`; only `AvailableReplicas`.
    #[serde(rename = "dynamicWeight", deserialize_with = "null_as_default")]
    pub dynamic: Text<'a>,
}

/// One of `staticWeightList`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StaticWeight<'a> {
    /// `targetCluster`
    #[serde(rename = "targetCluster", deserialize_with = "null_as_default")]
    pub target: ClusterAffinity<'a>,
    /// `weight`
    #[serde(deserialize_with = "null_as_default")]
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
    use serde_json::json;

    use super::super::spread::SpreadBy;
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

    #[test]
    fn a_placement_is_read_as_karmada_writes_it() {
        let read: Placement<'_> = serde_json::from_value(json!({
            "clusterAffinities": [{"affinityName": "own", "clusterNames": ["a"], "exclude": null}],
            "clusterTolerations": [{"key": "k", "operator": "Exists", "tolerationSeconds": 300}],
            "spreadConstraints": [{"spreadByField": "zone", "maxGroups": 1}, {"spreadByField": "rack", "maxGroups": 1},
                {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 2}, {"spreadByLabel": "tier", "maxGroups": 1}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
                "weightPreference": {"staticWeightList": [{"targetCluster": {"clusterNames": ["a"]}, "weight": 2}]}},
        }))
        .unwrap();
        assert_eq!(read.policy(), Policy::StaticWeighted);
        assert_eq!((&*read.groups[0].name, &*read.groups[0].affinity.cluster_names[0]), ("own", "a"));
        let spread = |by, least, most| Spread { by, least, most: Some(most) };
        let expected = [
            spread(SpreadBy::Zone, 0, 1),
            spread(SpreadBy::Cluster, 1, 2),
            spread(SpreadBy::Label("tier".into()), 0, 1),
        ];
        assert_eq!(read.spread, expected);
        assert_eq!((read.tolerations[0].seconds, &*read.tolerations[0].operator), (Some(300), "Exists"));
    }
}
