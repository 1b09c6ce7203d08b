//! Which clusters a placement names, and how it divides replicas. No I/O.

use serde_json::Value;

use crate::playground::json::{int, items, members, name, text};

/// How replicas are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// All of them in each cluster.
    Duplicated,
    /// By the weights of the placement.
    StaticWeight,
    /// By the replicas that would fit.
    DynamicWeight,
    /// In as few clusters as possible.
    Aggregated,
}

/// The strategy of a placement.
#[must_use]
pub fn strategy(placement: &Value) -> Strategy {
    if text(placement, "/replicaScheduling/replicaSchedulingType") != "Divided" {
        return Strategy::Duplicated;
    }
    let dynamic = text(placement, "/replicaScheduling/weightPreference/dynamicWeight");
    match text(placement, "/replicaScheduling/replicaDivisionPreference") {
        "Aggregated" => Strategy::Aggregated,
        _ if !dynamic.is_empty() => Strategy::DynamicWeight,
        _ => Strategy::StaticWeight,
    }
}

/// The static weight of a cluster; without a list all weigh the same, with one the unnamed weigh nothing.
#[must_use]
pub fn weight(placement: &Value, cluster: &Value) -> i64 {
    let list = items(placement, "/replicaScheduling/weightPreference/staticWeightList");
    if list.is_empty() {
        return 1;
    }
    let matching = list.iter().filter(|rule| affine(rule.pointer("/targetCluster").unwrap_or(&Value::Null), cluster));
    matching.filter_map(|rule| int(rule, "/weight")).max().unwrap_or_default().max(0)
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

/// Whether a cluster affinity takes the cluster.
#[must_use]
pub fn affine(affinity: &Value, cluster: &Value) -> bool {
    let listed = |path: &str| items(affinity, path).iter().any(|entry| entry.as_str() == Some(name(cluster)));
    if listed("/exclude") {
        return false;
    }
    if !items(affinity, "/clusterNames").is_empty() && !listed("/clusterNames") {
        return false;
    }
    selects(affinity.pointer("/labelSelector").unwrap_or(&Value::Null), cluster) && fields(affinity, cluster)
}

/// Whether a label selector takes the object.
#[must_use]
pub fn selects(selector: &Value, object: &Value) -> bool {
    let label =
        |key: &str| object.pointer("/metadata/labels").and_then(|labels| labels.get(key)).and_then(Value::as_str);
    members(selector, "/matchLabels").all(|(key, value)| label(key) == value.as_str())
        && items(selector, "/matchExpressions").iter().all(|wanted| expression(wanted, label(text(wanted, "/key"))))
}

fn expression(wanted: &Value, found: Option<&str>) -> bool {
    let listed = found.is_some_and(|found| items(wanted, "/values").iter().any(|value| value.as_str() == Some(found)));
    match text(wanted, "/operator") {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => found.is_some(),
        "DoesNotExist" => found.is_none(),
        _ => false,
    }
}

fn fields(affinity: &Value, cluster: &Value) -> bool {
    items(affinity, "/fieldSelector/matchExpressions").iter().all(|wanted| match text(wanted, "/key") {
        "zone" => {
            let mut zones = items(cluster, "/spec/zones").iter().filter_map(Value::as_str);
            let single = text(cluster, "/spec/zone");
            if single.is_empty() {
                zones.any(|zone| expression(wanted, Some(zone)))
            } else {
                expression(wanted, Some(single))
            }
        }
        key => expression(wanted, Some(text(cluster, &format!("/spec/{key}")))),
    })
}

/// Whether one of `tolerations` tolerates the taint, and for how many seconds when that is bounded.
#[must_use]
pub fn toleration<'a>(taint: &Value, tolerations: &'a [Value]) -> Option<&'a Value> {
    tolerations.iter().find(|toleration| {
        let (key, effect) = (text(toleration, "/key"), text(toleration, "/effect"));
        let same_value =
            text(toleration, "/operator") == "Exists" || text(toleration, "/value") == text(taint, "/value");
        (effect.is_empty() || effect == text(taint, "/effect"))
            && (key.is_empty() || key == text(taint, "/key"))
            && (!key.is_empty() || text(toleration, "/operator") == "Exists")
            && same_value
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Strategy, affine, strategy, toleration, weight};

    #[test]
    fn a_cluster_is_taken_by_name_label_and_field() {
        let cluster = json!({"metadata": {"name": "member1", "labels": {"tier": "own"}}, "spec": {"region": "eu"}});
        for (affinity, taken) in [
            (json!({}), true),
            (json!({"clusterNames": ["member1"]}), true),
            (json!({"clusterNames": ["member2"]}), false),
            (json!({"exclude": ["member1"]}), false),
            (json!({"labelSelector": {"matchLabels": {"tier": "own"}}}), true),
            (
                json!({"labelSelector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["own"]}]}}),
                false,
            ),
            (
                json!({"fieldSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}}),
                true,
            ),
        ] {
            assert_eq!(affine(&affinity, &cluster), taken, "{affinity}");
        }
    }

    #[test]
    fn a_placement_names_its_strategy() {
        let divided = |rest: serde_json::Value| {
            let mut scheduling = json!({"replicaSchedulingType": "Divided"});
            scheduling.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            strategy(&json!({"replicaScheduling": scheduling}))
        };
        assert_eq!(strategy(&json!({})), Strategy::Duplicated);
        assert_eq!(divided(json!({"replicaDivisionPreference": "Aggregated"})), Strategy::Aggregated);
        assert_eq!(divided(json!({"replicaDivisionPreference": "Weighted"})), Strategy::StaticWeight);
        let preference = json!({"dynamicWeight": "AvailableReplicas"});
        assert_eq!(divided(json!({"weightPreference": preference})), Strategy::DynamicWeight);
    }

    #[test]
    fn a_cluster_weighs_what_the_list_says() {
        let list = json!([{"targetCluster": {"clusterNames": ["a"]}, "weight": 2}]);
        let placement = json!({"replicaScheduling": {"weightPreference": {"staticWeightList": list}}});
        let weigh = |name: &str| weight(&placement, &json!({"metadata": {"name": name}}));
        assert_eq!((weigh("a"), weigh("b")), (2, 0));
    }

    #[test]
    fn a_taint_is_tolerated_by_key_and_effect() {
        let taint = json!({"key": "k", "effect": "NoExecute"});
        assert!(toleration(&taint, &[json!({"operator": "Exists"})]).is_some());
        assert!(toleration(&taint, &[json!({"key": "k", "operator": "Exists", "effect": "NoSchedule"})]).is_none());
        assert!(toleration(&taint, &[]).is_none());
    }
}
