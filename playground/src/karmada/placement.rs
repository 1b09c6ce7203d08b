//! Placements and clusters as input of the rules of `decision::fleet`. No I/O.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::parse;
use crate::json::{deleting, items, members, name, text};
use decision::fleet::placement::Placement;
use decision::fleet::settings::Preferences;
use decision::fleet::taint::{Taint, Toleration};
use decision::fleet::{Member, affinity};
use decision::plan::Policy;
use decision::subject::Text;

/// How the placement divides replicas.
#[must_use]
pub fn policy(placement: &Value) -> Policy {
    read::<Placement<'_>>(placement).policy()
}

/// The static weight of a cluster; without a list all weigh the same, with a list unlisted clusters have weight 0.
#[must_use]
pub fn weight(placement: &Value, cluster: &Value) -> i64 {
    Preferences::of(None, &read(placement)).settings(&member(cluster)).weight.try_into().unwrap_or(i64::MAX)
}

/// The clusters' affinities in the order in which they are tried, each with its name.
#[must_use]
pub fn affinities(placement: &Value) -> Vec<(&str, &Value)> {
    let groups = items(placement, "/clusterAffinities");
    if groups.is_empty() {
        return vec![("", placement.pointer("/clusterAffinity").unwrap_or(&Value::Null))];
    }
    groups.iter().map(|group| (text(group, "/affinityName"), group)).collect()
}

/// Whether a cluster affinity selects the cluster.
#[must_use]
pub fn affine(affinity: &Value, cluster: &Value) -> bool {
    affinity::takes(&read(affinity), &member(cluster))
}

/// Whether a label selector selects the object.
#[must_use]
pub fn selects(selector: &Value, object: &Value) -> bool {
    affinity::selects(&read(selector), &labels(object))
}

/// One of a cluster's taints.
#[must_use]
pub fn taint(taint: &Value) -> Taint<'_> {
    Taint {
        key: text(taint, "/key").into(),
        value: text(taint, "/value").into(),
        effect: text(taint, "/effect").into(),
        added: parse(text(taint, "/timeAdded")),
    }
}

/// The tolerations of a placement.
#[must_use]
pub fn tolerations(placement: &Value) -> Vec<Toleration<'static>> {
    read::<Placement<'_>>(placement).tolerations
}

/// What is stored; the zero value for what cannot be read.
fn read<T: Default + DeserializeOwned>(stored: &Value) -> T {
    T::deserialize(stored).unwrap_or_default()
}

fn texts(list: &[Value]) -> Vec<Text<'_>> {
    list.iter().filter_map(Value::as_str).map(Text::from).collect()
}

fn map<'a>(object: &'a Value, path: &str) -> BTreeMap<Text<'a>, Text<'a>> {
    members(object, path).filter_map(|(key, value)| Some((key.into(), value.as_str()?.into()))).collect()
}

fn labels(object: &Value) -> BTreeMap<Text<'_>, Text<'_>> {
    map(object, "/metadata/labels")
}

/// The cluster as input of selection.
fn member(cluster: &Value) -> Member<'_> {
    let zone = text(cluster, "/spec/zone");
    Member {
        name: name(cluster).into(),
        labels: labels(cluster),
        provider: text(cluster, "/spec/provider").into(),
        region: text(cluster, "/spec/region").into(),
        zones: if zone.is_empty() { texts(items(cluster, "/spec/zones")) } else { vec![zone.into()] },
        deleting: deleting(cluster),
        ..Member::default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{affine, policy, selects, taint, tolerations, weight};
    use decision::plan::Policy;

    #[test]
    fn a_cluster_is_read_with_all_that_it_is_chosen_by() {
        let cluster = json!({"metadata": {"name": "member1", "labels": {"tier": "own"}},
            "spec": {"region": "eu", "provider": "home", "zones": ["a", "b"]}});
        let field = |key: &str, value: &str| json!({"fieldSelector": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}});
        for (affinity, taken) in [
            (json!(null), true),
            (json!({"clusterNames": ["member1"]}), true),
            (json!({"clusterNames": ["member2"]}), false),
            (json!({"exclude": ["member1"]}), false),
            (json!({"labelSelector": {"matchLabels": {"tier": "own"}}}), true),
            (json!({"labelSelector": {"matchLabels": {"tier": "cloud"}}}), false),
            (field("region", "eu"), true),
            (field("provider", "eu"), false),
            (field("zone", "b"), true),
        ] {
            assert_eq!(affine(&affinity, &cluster), taken, "{affinity}");
        }
        assert!(selects(&json!({"matchExpressions": [{"key": "tier", "operator": "Exists"}]}), &cluster));
    }

    #[test]
    fn a_placement_is_read_with_its_policy_weights_and_tolerations() {
        let list = json!([{"targetCluster": {"clusterNames": ["a"]}, "weight": 2}]);
        let placement = json!({
            "replicaScheduling": {"replicaSchedulingType": "Divided", "weightPreference": {"staticWeightList": list}},
            "clusterTolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        });
        assert_eq!((policy(&json!({})), policy(&placement)), (Policy::Duplicated, Policy::StaticWeighted));
        let weigh = |name: &str| weight(&placement, &json!({"metadata": {"name": name}}));
        assert_eq!((weigh("a"), weigh("b")), (2, 0));
        let tolerations = tolerations(&placement);
        assert!(tolerations[0].tolerates(&taint(&json!({"key": "k", "effect": "NoExecute"}))));
        assert_eq!(tolerations[0].seconds, Some(5));
    }
}
