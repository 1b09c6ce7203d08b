//! Fields and values of a placement that fhpa does not apply (docs/placement.md#fields). Pure.
//!
//! fhpa divides in place of karmada-scheduler. What a newer Karmada can say in a placement must be reported, not
//! ignored.

use Supported::{Any, Members, More, Texts};
use serde_json::{Map, Value};

/// Most fields that are reported.
const MOST: usize = 16;

/// What fhpa applies of a value.
enum Supported {
    /// It applies any value.
    Any,
    /// It applies these texts.
    Texts(&'static [&'static str]),
    /// It applies these members of an object, or of each object of a list.
    Members(&'static [(&'static str, Supported)]),
    /// It applies those of another object, and these.
    More(&'static Supported, &'static [(&'static str, Supported)]),
}

impl Supported {
    /// What it knows of a member; `None`: it does not apply it.
    fn member(&self, name: &str) -> Option<&Self> {
        let find = |members: &'static [(&str, Self)]| members.iter().find(|(member, _)| *member == name);
        match self {
            Any | Texts(_) => None,
            Members(members) => find(members).map(|(_, known)| known),
            More(others, members) => find(members).map(|(_, known)| known).or_else(|| others.member(name)),
        }
    }
}

const AFFINITY: Supported = Members(&[
    ("labelSelector", Any),
    ("fieldSelector", Members(&[("matchExpressions", Any)])),
    ("clusterNames", Any),
    ("exclude", Any),
]);

const GROUP: Supported = More(&OVERFLOW, &[("overflowAffinities", OVERFLOW)]);

const OVERFLOW: Supported = More(&AFFINITY, &[("affinityName", Any)]);

const TOLERATION: Supported = Members(&[
    ("key", Any),
    ("operator", Texts(&["Exists", "Equal"])),
    ("value", Any),
    ("effect", Any),
    ("tolerationSeconds", Any),
]);

const SPREAD: Supported = Members(&[
    ("spreadByField", Texts(&["cluster", "region", "zone", "provider"])),
    ("spreadByLabel", Any),
    ("maxGroups", Any),
    ("minGroups", Any),
]);

const SCHEDULING: Supported = Members(&[
    ("replicaSchedulingType", Texts(&["Duplicated", "Divided"])),
    ("replicaDivisionPreference", Texts(&["Aggregated", "Weighted"])),
    (
        "weightPreference",
        Members(&[
            ("staticWeightList", Members(&[("targetCluster", AFFINITY), ("weight", Any)])),
            ("dynamicWeight", Texts(&["AvailableReplicas"])),
        ]),
    ),
]);

const GROUPED: Supported = Members(&[("groupByLabelKey", Any)]);

const PLACEMENT: Supported = Members(&[
    ("clusterAffinity", AFFINITY),
    ("clusterAffinities", GROUP),
    ("clusterTolerations", TOLERATION),
    ("spreadConstraints", SPREAD),
    ("replicaScheduling", SCHEDULING),
    ("workloadAffinity", Members(&[("affinity", GROUPED), ("antiAffinity", GROUPED)])),
]);

/// What of `spec.placement` of a ResourceBinding, as stored, has no effect under fhpa: paths such as
/// `clusterAffinity.zones`, and unknown values with their path. Each once, in the order of the object; at most 16.
#[must_use]
pub fn unsupported(placement: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(placement, &PLACEMENT, "", &mut found);
    found.truncate(MOST);
    found
}

fn look(value: &Value, known: &Supported, path: &str, found: &mut Vec<String>) {
    match (value, known) {
        (Value::Null, _) | (_, Any) => {}
        (Value::Array(list), _) => list.iter().for_each(|one| look(one, known, path, found)),
        (Value::String(text), Texts(texts)) if text.is_empty() || texts.contains(&&**text) => {}
        (Value::Object(object), Members(_) | More(..)) => look_into(object, known, path, found),
        (other, _) => add(format!("{path}: {other}"), found),
    }
}

fn look_into(object: &Map<String, Value>, known: &Supported, path: &str, found: &mut Vec<String>) {
    for (name, value) in object.iter().filter(|(_, value)| !is_empty(value)) {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match known.member(name) {
            Some(known) => look(value, known, &path, found),
            None => add(path, found),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(object) => object.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn add(what: String, found: &mut Vec<String>) {
    if found.len() < MOST && !found.contains(&what) {
        found.push(what);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::unsupported;

    #[test]
    fn what_fhpa_applies_is_not_reported() {
        let cloud =
            json!({"affinityName": "cloud", "clusterNames": ["c"], "fieldSelector": {"matchExpressions": [{}]}});
        let placement = json!({
            "clusterAffinities": [{"affinityName": "own", "labelSelector": {"matchLabels": {"a": "b"}}, "exclude": null,
                "overflowAffinities": [cloud]}],
            "clusterTolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}],
            "spreadConstraints": [{"spreadByField": "region", "maxGroups": 2}, {"spreadByLabel": "rack"}],
            "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "",
                "weightPreference": {"dynamicWeight": "AvailableReplicas",
                    "staticWeightList": [{"targetCluster": {"clusterNames": ["c"]}, "weight": 1}]}},
            "workloadAffinity": {"affinity": {"groupByLabelKey": "app"}, "antiAffinity": {}}});
        assert_eq!(unsupported(&placement), [] as [&str; 0]);
        assert_eq!(unsupported(&json!(null)), [] as [&str; 0]);
    }

    #[test]
    fn fields_and_values_of_a_newer_karmada_are_reported_once() {
        let placement = json!({
            "clusterAffinity": {"clusterNames": ["a"], "zones": ["z"]},
            "replicaScheduling": {"replicaSchedulingType": "Pooled"},
            "spreadConstraints": [{"spreadByField": "rack"}, {"spreadByField": "rack"}],
            "workloadAffinity": {"antiAffinity": {"groupByLabelKey": "app"}, "preferredAffinity": {"weight": 1}}});
        let mut found = unsupported(&placement);
        found.sort();
        let expected = [
            "clusterAffinity.zones",
            "replicaScheduling.replicaSchedulingType: \"Pooled\"",
            "spreadConstraints.spreadByField: \"rack\"",
            "workloadAffinity.preferredAffinity",
        ];
        assert_eq!(found, expected);
        let many: serde_json::Map<_, _> = (0..99).map(|number| (format!("f{number}"), json!(1))).collect();
        assert_eq!(unsupported(&many.into()).len(), 16, "bounded");
    }
}
