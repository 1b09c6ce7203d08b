//! Policies and the templates they select -> ResourceBindings. Client required.

use std::sync::Arc;

use serde_json::{Value, json};

use super::Karmada;
use super::binding::{BINDING_ID, without_zeros};
use super::interpreter::{replicas, requirements};
use super::placement::selects;
use super::workload_affinity::groups;
use crate::json::{self, deleting, int, items, label, name, namespace, text};
use crate::pass::Pass;
use decision::fnv::fnv32;
use decision::names::binding;

/// A policy's claim on an object: the greatest wins.
type Rank = (i64, bool, u8, std::cmp::Reverse<String>);

/// Label of what a PropagationPolicy claims: its uid.
const POLICY_ID: &str = "propagationpolicy.karmada.io/permanent-id";
/// Annotations of it: name and namespace of the policy.
const POLICY: [&str; 2] = ["propagationpolicy.karmada.io/name", "propagationpolicy.karmada.io/namespace"];
/// Label of what a ClusterPropagationPolicy claims: its uid.
const CLUSTER_POLICY_ID: &str = "clusterpropagationpolicy.karmada.io/permanent-id";
/// Annotation of it: name of the policy.
const CLUSTER_POLICY: [&str; 1] = ["clusterpropagationpolicy.karmada.io/name"];
/// Label and annotations of each claim.
const CLAIMS: [(&str, &[&str]); 2] = [(POLICY_ID, &POLICY), (CLUSTER_POLICY_ID, &CLUSTER_POLICY)];

/// Whether a policy claims the binding. Karmada's scheduler looks at no other.
pub(super) fn is_claimed(binding: &Value) -> bool {
    CLAIMS.iter().any(|(id, _)| !label(binding, id).is_empty())
}

impl Karmada {
    /// Creates and updates the bindings of all templates that a policy selects.
    pub(super) async fn detect(&self) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut policies = self.objects.all(&self.kinds.policy, "").await?;
        policies.extend(self.objects.all(&self.kinds.cluster_policy, "").await?);
        pass.join(self.unclaim(&policies).await?);
        policies.retain(|policy| !deleting(policy));
        let mut wanted: Vec<(String, String)> = policies
            .iter()
            .flat_map(|policy| items(policy, "/spec/resourceSelectors"))
            .map(|selector| (text(selector, "/apiVersion").to_owned(), text(selector, "/kind").to_owned()))
            .collect();
        wanted.sort();
        wanted.dedup();
        for (api_version, kind) in wanted {
            let Some(kind) = self.objects.kind(&api_version, &kind).await?.filter(|kind| kind.namespaced) else {
                continue;
            };
            for template in self.objects.all(&kind, "").await? {
                let best = policies.iter().filter_map(|policy| Some((rank(policy, &template)?, policy)));
                let Some((_, policy)) = best.max_by(|(a, _), (b, _)| a.cmp(b)) else { continue };
                if !deleting(&template) {
                    pass.join(self.claim(&kind, &template, policy).await?);
                }
            }
        }
        Ok(pass)
    }

    /// Takes the marks of policies that are gone from what they had claimed, template first. The bindings stay.
    async fn unclaim(&self, policies: &[Arc<Value>]) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for binding in self.objects.all(&self.kinds.binding, "").await? {
            for (id, marks) in CLAIMS {
                let uid = label(&binding, id);
                if uid.is_empty() || policies.iter().any(|policy| text(policy, "/metadata/uid") == uid) {
                    continue;
                }
                let mut unmarked = json!({"metadata": {"labels": {id: null}, "annotations": {}}});
                for mark in marks {
                    json::set(&mut unmarked, &["metadata", "annotations", mark], Value::Null);
                }
                let of = |field: &str| text(&binding, &format!("/spec/resource/{field}"));
                if let Some(kind) = self.objects.kind(of("apiVersion"), of("kind")).await?
                    && let Some(template) = self.objects.one(&kind, of("namespace"), of("name")).await?
                    && label(&template, id) == uid
                {
                    pass.count(&self.objects.merge(&kind, &template, "", &unmarked).await?);
                }
                pass.count(&self.objects.merge(&self.kinds.binding, &binding, "", &unmarked).await?);
            }
        }
        Ok(pass)
    }

    async fn claim(&self, kind: &crate::objects::Kind, template: &Value, policy: &Value) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let (labels, annotations) = marks(policy);
        let marked = json!({"metadata": {"labels": labels, "annotations": annotations}});
        if !json::covers(template, &marked) {
            pass.count(&self.objects.merge(kind, template, "", &marked).await?);
            return Ok(pass);
        }
        let own = binding(text(template, "/kind"), name(template));
        let before = self.objects.one(&self.kinds.binding, namespace(template), &own).await?;
        let Some(before) = before else {
            let made = without_zeros(&new_binding(template, policy, &own));
            pass.count(&self.objects.create(&self.kinds.binding, &made).await?);
            return Ok(pass);
        };
        let mut after = Value::clone(&before);
        json::set(&mut after, &["metadata", "labels"], merged(&before, "/metadata/labels", &labels));
        json::set(&mut after, &["metadata", "annotations"], merged(&before, "/metadata/annotations", &annotations));
        for (field, value) in spec(template, policy) {
            match value {
                Value::Null => json::remove(&mut after, &["spec", field]),
                value => json::set(&mut after, &["spec", field], value),
            }
        }
        let (uid, look) = (text(template, "/metadata/uid").to_owned(), look(template));
        if self.remember(|memory| memory.seen.get(&uid) == Some(&look)) {
            let version = before.pointer("/spec/resource/resourceVersion").cloned().unwrap_or_default();
            json::set(&mut after, &["spec", "resource", "resourceVersion"], version);
        }
        let after = without_zeros(&after);
        if after == without_zeros(&before) || deleting(&before) {
            self.remember(|memory| memory.seen.insert(uid, look));
            return Ok(pass);
        }
        let written = self.objects.replace(&self.kinds.binding, &after).await?;
        pass.count(&written);
        if written.done().is_some() {
            self.remember(|memory| memory.seen.insert(uid, look));
        }
        Ok(pass)
    }
}

/// Digest of the parts of a template that its binding depends on: all except the status and metadata that changes with
/// every write.
fn look(template: &Value) -> u32 {
    let mut template = template.clone();
    json::remove(&mut template, &["status"]);
    json::remove(&mut template, &["metadata", "resourceVersion"]);
    json::remove(&mut template, &["metadata", "managedFields"]);
    fnv32(&template.to_string())
}

/// The rank of the policy for the object; `None` when it does not select it.
fn rank(policy: &Value, template: &Value) -> Option<Rank> {
    let spaced = !namespace(policy).is_empty();
    if spaced && namespace(policy) != namespace(template) {
        return None;
    }
    let precision =
        items(policy, "/spec/resourceSelectors").iter().filter_map(|selector| precision(selector, template)).max()?;
    Some((
        int(policy, "/spec/priority").unwrap_or_default(),
        spaced,
        precision,
        std::cmp::Reverse(name(policy).to_owned()),
    ))
}

/// 3 by name, 2 by label, 1 by kind.
fn precision(selector: &Value, template: &Value) -> Option<u8> {
    let same = |field: &str| text(selector, field) == text(template, field);
    let space = text(selector, "/namespace");
    if !same("/apiVersion") || !same("/kind") || (!space.is_empty() && space != namespace(template)) {
        return None;
    }
    if !text(selector, "/name").is_empty() {
        return (text(selector, "/name") == name(template)).then_some(3);
    }
    match selector.get("labelSelector").filter(|labels| !labels.is_null()) {
        Some(labels) => selects(labels, template).then_some(2),
        None => Some(1),
    }
}

/// Labels and annotations that the policy adds to its templates.
fn marks(policy: &Value) -> (Value, Value) {
    let uid = text(policy, "/metadata/uid");
    if namespace(policy).is_empty() {
        let [by_name] = CLUSTER_POLICY;
        return (json!({CLUSTER_POLICY_ID: uid}), json!({by_name: name(policy)}));
    }
    let [by_name, by_namespace] = POLICY;
    (json!({POLICY_ID: uid}), json!({by_name: name(policy), by_namespace: namespace(policy)}))
}

fn merged(object: &Value, path: &str, more: &Value) -> Value {
    let mut all = object.pointer(path).cloned().unwrap_or_else(|| json!({}));
    for (key, value) in json::members(more, "") {
        json::set(&mut all, &[key], value.clone());
    }
    all
}

/// Fields of a binding's spec that the detector sets; null for empty ones.
fn spec(template: &Value, policy: &Value) -> Vec<(&'static str, Value)> {
    let given = |field: &str| policy.pointer(&format!("/spec/{field}")).cloned().unwrap_or(Value::Null);
    let or = |value: Value, default: &str| if text(&value, "").is_empty() { json!(default) } else { value };
    let resource = json!({
        "apiVersion": text(template, "/apiVersion"), "kind": text(template, "/kind"), "name": name(template),
        "namespace": namespace(template), "uid": text(template, "/metadata/uid"),
        "resourceVersion": text(template, "/metadata/resourceVersion"),
    });
    let divided = replicas(template);
    vec![
        ("resource", resource),
        ("replicas", divided.map_or(Value::Null, |replicas| json!(replicas))),
        ("replicaRequirements", divided.and_then(|_| requirements(template)).unwrap_or(Value::Null)),
        ("placement", policy.pointer("/spec/placement").cloned().unwrap_or_else(|| json!({}))),
        ("schedulerName", or(given("schedulerName"), "default-scheduler")),
        ("conflictResolution", or(given("conflictResolution"), "Abort")),
        ("propagateDeps", given("propagateDeps")),
        ("failover", given("failover")),
        ("preserveResourcesOnDeletion", given("preserveResourcesOnDeletion")),
        ("workloadAffinityGroups", groups(template, policy)),
    ]
}

fn new_binding(template: &Value, policy: &Value, own: &str) -> Value {
    let (labels, annotations) = marks(policy);
    let uid = text(template, "/metadata/uid");
    let mut binding = json!({
        "apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {
            "name": own, "namespace": namespace(template), "labels": labels, "annotations": annotations,
            "finalizers": ["karmada.io/binding-controller"],
            "ownerReferences": [{"apiVersion": text(template, "/apiVersion"), "kind": text(template, "/kind"),
                "name": name(template), "uid": uid, "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": {},
    });
    json::set(&mut binding, &["metadata", "labels", BINDING_ID], json!(format!("rb-{uid}")));
    for (field, value) in spec(template, policy) {
        if !value.is_null() {
            json::set(&mut binding, &["spec", field], value);
        }
    }
    binding
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{precision, rank};

    #[test]
    fn the_more_precise_policy_wins_unless_priority_says_otherwise() {
        let template = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}}});
        let selector = |rest: serde_json::Value| {
            let mut selector = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
            selector.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            selector
        };
        assert_eq!(precision(&selector(json!({"name": "web"})), &template), Some(3));
        assert_eq!(precision(&selector(json!({"name": "other"})), &template), None);
        assert_eq!(precision(&selector(json!({"labelSelector": {"matchLabels": {"app": "web"}}})), &template), Some(2));
        let policy = |name: &str, namespace: &str, priority: i64, selector: &serde_json::Value| {
            json!({"metadata": {"name": name, "namespace": namespace},
                "spec": {"priority": priority, "resourceSelectors": [selector]}})
        };
        let all = selector(json!({}));
        let named = rank(&policy("a", "shop", 0, &selector(json!({"name": "web"}))), &template);
        assert!(named > rank(&policy("b", "shop", 0, &all), &template));
        assert!(named < rank(&policy("b", "shop", 1, &all), &template));
        assert!(named > rank(&policy("c", "", 0, &all), &template));
        assert_eq!(rank(&policy("d", "elsewhere", 9, &all), &template), None);
    }
}
