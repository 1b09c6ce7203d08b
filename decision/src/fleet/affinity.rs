//! Which clusters a ClusterAffinity selects, as in Karmada. Pure.

use std::collections::BTreeMap;

use super::Member;
use crate::subject::Text;
use crate::subject::federated_hpa::ClusterAffinity;
use crate::subject::hpa::{LabelSelector, SelectorRequirement};

/// Whether the affinity selects the cluster: not excluded, named where names are given, with matching labels and
/// fields.
#[must_use]
pub fn takes(affinity: &ClusterAffinity<'_>, member: &Member<'_>) -> bool {
    let fields = |selector: &crate::subject::federated_hpa::FieldSelector<'_>| {
        selector.match_expressions.iter().all(|requirement| field_meets(requirement, member))
    };
    !affinity.exclude.contains(&member.name)
        && (affinity.cluster_names.is_empty() || affinity.cluster_names.contains(&member.name))
        && affinity.label_selector.as_ref().is_none_or(|selector| selects(selector, &member.labels))
        && affinity.field_selector.as_ref().is_none_or(fields)
}

/// Whether a label selector selects an object with these labels.
#[must_use]
pub fn selects(selector: &LabelSelector<'_>, labels: &BTreeMap<Text<'_>, Text<'_>>) -> bool {
    let label = |key: &str| labels.get(key).map(AsRef::as_ref);
    selector.match_labels.iter().all(|(key, value)| label(key) == Some(&**value))
        && selector.match_expressions.iter().all(|requirement| meets(requirement, label(&requirement.key)))
}

fn meets(requirement: &SelectorRequirement<'_>, found: Option<&str>) -> bool {
    let listed = || found.is_some_and(|found| requirement.values.iter().flatten().any(|value| **value == *found));
    match &*requirement.operator {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

/// A cluster with several zones matches a requirement when one of its zones does.
fn field_meets(requirement: &SelectorRequirement<'_>, member: &Member<'_>) -> bool {
    match &*requirement.key {
        "provider" => meets(requirement, Some(&member.provider)),
        "region" => meets(requirement, Some(&member.region)),
        "zone" => member.zones.iter().any(|zone| meets(requirement, Some(zone))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::federated_hpa::FieldSelector;

    fn requirement(key: &'static str, operator: &'static str, values: &[&'static str]) -> SelectorRequirement<'static> {
        SelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|v| Some((*v).into())).collect(),
        }
    }

    fn member() -> Member<'static> {
        let labels = BTreeMap::from([("tier".into(), "own".into())]);
        let zones = vec!["eu-1".into(), "eu-2".into()];
        Member { name: "member1".into(), region: "eu".into(), labels, zones, ..Member::default() }
    }

    fn by_label(operator: &'static str, values: &[&'static str]) -> ClusterAffinity<'static> {
        let selector = LabelSelector {
            match_expressions: vec![requirement("tier", operator, values)],
            ..LabelSelector::default()
        };
        ClusterAffinity { label_selector: Some(selector), ..ClusterAffinity::default() }
    }

    fn by_field(key: &'static str, operator: &'static str, value: &'static str) -> ClusterAffinity<'static> {
        let selector = FieldSelector { match_expressions: vec![requirement(key, operator, &[value])] };
        ClusterAffinity { field_selector: Some(selector), ..ClusterAffinity::default() }
    }

    #[test]
    fn a_cluster_is_taken_by_name_label_and_field() {
        let named = |name: &'static str| ClusterAffinity { cluster_names: vec![name.into()], ..<_>::default() };
        let without = |name: &'static str| ClusterAffinity { exclude: vec![name.into()], ..<_>::default() };
        for (affinity, taken) in [
            (ClusterAffinity::default(), true),
            (named("member1"), true),
            (named("member2"), false),
            (without("member1"), false),
            (without("member2"), true),
            (by_label("In", &["own"]), true),
            (by_label("In", &["cloud"]), false),
            (by_label("NotIn", &["own"]), false),
            (by_label("Exists", &[]), true),
            (by_label("DoesNotExist", &[]), false),
            (by_label("Gt", &["1"]), false),
            (by_field("region", "In", "eu"), true),
            (by_field("region", "NotIn", "eu"), false),
            (by_field("provider", "In", "eu"), false),
            (by_field("zone", "In", "eu-2"), true),
            (by_field("zone", "In", "us-1"), false),
            (by_field("rack", "In", "eu"), false),
        ] {
            assert_eq!(takes(&affinity, &member()), taken, "{affinity:?}");
        }
    }
}
