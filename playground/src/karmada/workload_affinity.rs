//! The groups of workloads, and the filters of karmada-scheduler for them, as with the feature gate `WorkloadAffinity`.
//! Client required to read the other bindings only.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Karmada;
use crate::json::{items, members, name, namespace, text};

/// Field of a binding with a group, and the term of a policy that it comes from.
const AFFINITY: (&str, &str) = ("affinityGroup", "affinity");
const ANTI_AFFINITY: (&str, &str) = ("antiAffinityGroup", "antiAffinity");

/// `workloadAffinityGroups` of the binding of a template; null where it is in none.
pub(super) fn groups(template: &Value, policy: &Value) -> Value {
    let group = |(field, term): (&str, &str)| {
        let key = text(policy, &format!("/spec/placement/workloadAffinity/{term}/groupByLabelKey"));
        let (_, value) = members(template, "/metadata/labels").find(|(label, _)| *label == key)?;
        Some((field.to_owned(), json!(format!("{key}={}", value.as_str()?))))
    };
    let found: Map<String, Value> = [AFFINITY, ANTI_AFFINITY].into_iter().filter_map(group).collect();
    if found.is_empty() { Value::Null } else { found.into() }
}

fn group<'b>(binding: &'b Value, (field, _): (&str, &str)) -> &'b str {
    text(binding, &format!("/spec/workloadAffinityGroups/{field}"))
}

fn has(binding: &Value, cluster: &Value) -> bool {
    items(binding, "/spec/clusters").iter().any(|target| text(target, "/name") == name(cluster))
}

/// Whether the other bindings of its namespace leave the cluster to a binding. It keeps what it has.
pub(super) fn admits(binding: &Value, others: &[Arc<Value>], cluster: &Value) -> bool {
    let of = |which| {
        let own = group(binding, which);
        others.iter().filter(move |other| !own.is_empty() && group(other, which) == own)
    };
    let mut placed = of(AFFINITY).filter(|other| !items(other, "/spec/clusters").is_empty());
    has(binding, cluster)
        || placed.all(|other| has(other, cluster)) && !of(ANTI_AFFINITY).any(|other| has(other, cluster))
}

impl Karmada {
    /// The other bindings of the namespace of one that is in a group, as they are now.
    pub(super) async fn others(&self, binding: &Value) -> Result<Vec<Arc<Value>>, kube::Error> {
        if binding.pointer("/spec/workloadAffinityGroups").is_none() {
            return Ok(Vec::new());
        }
        let mut all = self.objects.all(&self.kinds.binding, namespace(binding)).await?;
        all.retain(|other| name(other) != name(binding));
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_label_of_the_template_that_the_policy_names() {
        let template = json!({"metadata": {"labels": {"app.io/group": "x", "tier": "web"}}});
        let policy = |affinity: Value| json!({"spec": {"placement": {"workloadAffinity": affinity}}});
        let by = |key: &str| json!({"groupByLabelKey": key});
        let both = policy(json!({"affinity": by("app.io/group"), "antiAffinity": by("tier")}));
        let expected = json!({"affinityGroup": "app.io/group=x", "antiAffinityGroup": "tier=web"});
        assert_eq!(groups(&template, &both), expected);
        assert_eq!(groups(&template, &policy(json!({"affinity": by("other")}))), Value::Null);
        assert_eq!(groups(&template, &json!({"spec": {"placement": {}}})), Value::Null);
    }

    #[test]
    fn a_cluster_is_left_to_a_binding_by_those_of_its_groups_and_it_keeps_what_it_has() {
        let binding = |affinity: &str, anti_affinity: &str, clusters: &[&str]| {
            let clusters: Vec<_> = clusters.iter().map(|name| json!({"name": name})).collect();
            let groups = json!({"affinityGroup": affinity, "antiAffinityGroup": anti_affinity});
            json!({"spec": {"workloadAffinityGroups": groups, "clusters": clusters}})
        };
        let left = |own: &Value, others: &[Value]| -> String {
            let others: Vec<_> = others.iter().cloned().map(Arc::new).collect();
            let admitted = |name: &&str| admits(own, &others, &json!({"metadata": {"name": name}}));
            ["a", "b", "c"].into_iter().filter(admitted).collect()
        };
        let together = |clusters: &[&str]| binding("g=1", "", clusters);
        assert_eq!(left(&together(&[]), &[together(&[])]), "abc", "the first one");
        assert_eq!(left(&together(&[]), &[together(&["a", "b"]), together(&["b"])]), "b");
        assert_eq!(left(&together(&["c"]), &[together(&["a"])]), "ac");
        let apart = |clusters: &[&str]| binding("", "g=1", clusters);
        assert_eq!(left(&apart(&[]), &[apart(&["a"]), apart(&["b"]), together(&["c"])]), "c");
        assert_eq!(left(&apart(&["a"]), &[apart(&["a", "b"])]), "ac");
        assert_eq!(left(&binding("", "", &[]), &[binding("", "", &["a"])]), "abc");
    }
}
