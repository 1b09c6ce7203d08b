//! Selects the policy that claims a workload, as Karmada's detector does. No I/O.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::propagation_policy::{PropagationPolicy, ResourceSelector};
use crate::api::resource_binding::ObjectReference;
use crate::convert;
use crate::decision::fleet::affinity;
use crate::decision::fleet::taint::{NO_EXECUTE, NOT_READY, UNREACHABLE};
use crate::run::forecast::{CLUSTER_POLICY, POLICY};

/// Default toleration, in seconds, that Karmada's webhook adds to a placement for clusters that do not answer.
const TOLERATED: u32 = 300;

/// How closely a selector matches: all of a kind, by label, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Kind,
    Label,
    Name,
}

/// The policy that claims the workload: first one of its namespace, then the greatest priority, then the closest
/// selector, then the first name.
///
/// # Errors
/// A selector uses labels, and the workload is not given.
pub(super) fn choose<'a>(
    policies: &'a [PropagationPolicy],
    target: &ObjectReference,
    workload: Option<&Value>,
) -> Result<Option<&'a PropagationPolicy>, String> {
    let mut best = None;
    for policy in policies {
        let namespace = policy.metadata.namespace.as_deref();
        if namespace.is_some_and(|namespace| namespace != target.namespace) {
            continue;
        }
        let mut closest = None;
        for selector in &policy.spec.resource_selectors {
            closest = closest.max(fit(selector, target, workload).map_err(|()| unlabelled(policy, target))?);
        }
        let Some(closest) = closest else { continue };
        let rank = (namespace.is_some(), policy.spec.priority, closest, Reverse(name(policy)));
        if best.as_ref().is_none_or(|(other, _)| rank > *other) {
            best = Some((rank, policy));
        }
    }
    Ok(best.map(|(_, policy)| policy))
}

fn unlabelled(policy: &PropagationPolicy, target: &ObjectReference) -> String {
    let ObjectReference { kind, namespace, name: workload, .. } = target;
    format!("the policy {} selects by labels: give {kind} {namespace}/{workload} too", name(policy))
}

fn name(policy: &PropagationPolicy) -> &str {
    policy.metadata.name.as_deref().unwrap_or_default()
}

fn fit(selector: &ResourceSelector, target: &ObjectReference, workload: Option<&Value>) -> Result<Option<Fit>, ()> {
    let ResourceSelector { api_version, kind, namespace, name, label_selector } = selector;
    let elsewhere = !namespace.is_empty() && *namespace != target.namespace;
    if *api_version != target.api_version || *kind != target.kind || elsewhere {
        return Ok(None);
    }
    if !name.is_empty() {
        return Ok((*name == target.name).then_some(Fit::Name));
    }
    let Some(labels) = label_selector else { return Ok(Some(Fit::Kind)) };
    let own = workload.ok_or(())?.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    let own: BTreeMap<_, _> =
        own.filter_map(|(key, value)| Some((Cow::Borrowed(key.as_str()), Cow::Borrowed(value.as_str()?)))).collect();
    Ok(affinity::selects(&convert::fleet::label_selector(labels), &own).then_some(Fit::Label))
}

/// Annotations that the policy leaves on a binding.
pub(super) fn marks(policy: &PropagationPolicy) -> BTreeMap<String, String> {
    let key = if policy.metadata.namespace.is_some() { POLICY } else { CLUSTER_POLICY };
    BTreeMap::from([(key.to_owned(), name(policy).to_owned())])
}

/// The placement as Karmada's webhook completes it, with tolerations for clusters that do not answer.
pub(super) fn placement(policy: &PropagationPolicy) -> Value {
    let mut placement = policy.spec.placement.clone();
    if placement.is_null() {
        placement = json!({});
    }
    let Some(members) = placement.as_object_mut() else { return placement };
    let tolerations = members.entry("clusterTolerations").or_insert_with(|| json!([]));
    if let Some(tolerations) = tolerations.as_array_mut() {
        for key in [NOT_READY, UNREACHABLE] {
            let is_tolerated = |toleration: &Value| {
                let text = |member| toleration.get(member).and_then(Value::as_str).unwrap_or_default();
                text("key") == key && matches!(text("effect"), "" | NO_EXECUTE)
            };
            if !tolerations.iter().any(is_tolerated) {
                let toleration =
                    json!({"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": TOLERATED});
                tolerations.push(toleration);
            }
        }
    }
    placement
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(name: &str, namespace: Option<&str>, priority: i32, selector: &Value) -> PropagationPolicy {
        let mut all = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        all.as_object_mut().unwrap().extend(selector.as_object().unwrap().clone());
        let metadata = json!({"name": name, "namespace": namespace});
        let spec = json!({"resourceSelectors": [all], "priority": priority});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn target() -> ObjectReference {
        let text = |text: &str| text.to_owned();
        let (kind, namespace, name) = (text("Deployment"), text("shop"), text("web"));
        ObjectReference { api_version: text("apps/v1"), kind, namespace, name, resource_version: String::new() }
    }

    fn chosen(policies: &[PropagationPolicy]) -> Option<String> {
        let workload = json!({"metadata": {"labels": {"app": "web"}}});
        choose(policies, &target(), Some(&workload)).unwrap().map(|policy| name(policy).to_owned())
    }

    #[test]
    fn the_closest_policy_claims_the_workload_unless_a_priority_says_otherwise() {
        let (any, named) = (json!({}), json!({"name": "web"}));
        let labelled = json!({"labelSelector": {"matchLabels": {"app": "web"}}});
        let at = |name: &str, priority, selector: &Value| policy(name, Some("shop"), priority, selector);
        assert_eq!(chosen(&[at("a", 0, &any), at("b", 0, &labelled), at("c", 0, &named)]).as_deref(), Some("c"));
        assert_eq!(chosen(&[at("a", 0, &any), at("b", 0, &labelled)]).as_deref(), Some("b"));
        assert_eq!(chosen(&[at("a", 1, &any), at("c", 0, &named)]).as_deref(), Some("a"));
        assert_eq!(chosen(&[at("b", 0, &any), at("a", 0, &any)]).as_deref(), Some("a"));
        assert_eq!(chosen(&[at("a", 0, &any), policy("w", None, 9, &named)]).as_deref(), Some("a"));
        assert_eq!(chosen(&[policy("e", Some("elsewhere"), 0, &named)]), None);
        assert_eq!(chosen(&[at("o", 0, &json!({"name": "other"}))]), None);
    }

    #[test]
    fn labels_of_a_workload_that_is_not_given_are_not_guessed() {
        let policies = [policy("a", Some("shop"), 0, &json!({"labelSelector": {"matchLabels": {"app": "web"}}}))];
        let said = choose(&policies, &target(), None).unwrap_err();
        assert_eq!(said, "the policy a selects by labels: give Deployment shop/web too");
    }

    #[test]
    fn a_placement_tolerates_silence_unless_it_says_otherwise() {
        let mut given = policy("a", Some("shop"), 0, &json!({}));
        given.spec.placement = json!({"clusterTolerations": [{"key": NOT_READY, "tolerationSeconds": 5}]});
        let tolerations = placement(&given)["clusterTolerations"].clone();
        let seconds: Vec<_> =
            tolerations.as_array().unwrap().iter().map(|one| one["tolerationSeconds"].as_i64()).collect();
        assert_eq!(seconds, [Some(5), Some(300)]);
        assert_eq!(placement(&policy("a", None, 0, &json!({})))["clusterTolerations"].as_array().unwrap().len(), 2);
    }
}
