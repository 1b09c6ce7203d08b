//! Which webhooks a request matches: rules, selectors, conditions. No I/O.

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::Value;

use super::hook::Hook;
use super::outcome::{Failed, forbidden, not_found};
use super::request::{AdmissionRequest, Invocation, Kind, Operation, Resource};

fn any(items: Option<&Vec<String>>, wanted: &str) -> bool {
    items.is_some_and(|items| items.iter().any(|item| item == "*" || item == wanted))
}

fn is_namespace(resource: &Resource) -> bool {
    resource.group.is_empty() && resource.resource == "namespaces"
}

fn in_scope(rule: &RuleWithOperations, resource: &Resource, namespace: &str) -> bool {
    let cluster_wide = is_namespace(resource) || namespace.is_empty();
    match rule.scope.as_deref() {
        None | Some("*") => true,
        Some("Namespaced") => !cluster_wide,
        Some("Cluster") => cluster_wide,
        Some(_) => false,
    }
}

fn names_resource(rule: &RuleWithOperations, resource: &str, subresource: &str) -> bool {
    rule.resources.iter().flatten().any(|item| {
        let (name, below) = item.split_once('/').unwrap_or((item, ""));
        (name == "*" || name == resource) && (below == "*" || below == subresource)
    })
}

fn matches(rule: &RuleWithOperations, resource: &Resource, request: &AdmissionRequest) -> bool {
    in_scope(rule, resource, &request.namespace)
        && any(rule.operations.as_ref(), request.operation.as_str())
        && any(rule.api_groups.as_ref(), &resource.group)
        && any(rule.api_versions.as_ref(), &resource.version)
        && names_resource(rule, &resource.resource, &request.subresource)
}

fn is_everything(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(std::collections::BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

/// Whether labels match a selector.
pub(super) fn selects(selector: &LabelSelector, labels: Option<&Value>) -> bool {
    let value = |key: &str| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str);
    let equal = selector.match_labels.iter().flatten().all(|(key, wanted)| value(key) == Some(wanted));
    let held = selector.match_expressions.iter().flatten().all(|expression| {
        let value = value(&expression.key);
        let listed = value.is_some_and(|value| expression.values.iter().flatten().any(|one| one == value));
        match expression.operator.as_str() {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    equal && held
}

fn labels(object: Option<&Value>) -> Option<&Value> {
    object?.get("metadata")?.get("labels")
}

/// `Err`: the namespace does not exist.
fn namespace_selected(selector: &LabelSelector, request: &AdmissionRequest) -> Result<bool, Failed> {
    let namespace = is_namespace(&request.resource);
    if (request.namespace.is_empty() && !namespace) || is_everything(selector) {
        return Ok(true);
    }
    let written = matches!(request.operation, Operation::Create | Operation::Update) && request.subresource.is_empty();
    if namespace && written {
        return Ok(selects(selector, labels(request.object.as_ref())));
    }
    match &request.namespace_labels {
        Some(labels) => Ok(selects(selector, Some(labels))),
        None => Err(Failed::Refused { status: not_found("namespaces", &request.namespace), warnings: Vec::new() }),
    }
}

fn object_selected(selector: &LabelSelector, request: &AdmissionRequest) -> bool {
    let fits = |object: Option<&Value>| object.is_some() && selects(selector, labels(object));
    is_everything(selector) || fits(request.object.as_ref()) || fits(request.old_object.as_ref())
}

impl Hook {
    /// The version in which to call the webhook about the request; `None`: it does not match.
    pub(super) fn concerns(&self, request: &AdmissionRequest) -> Result<Option<Invocation>, Failed> {
        let selected = namespace_selected(&self.namespaces, request);
        if matches!(selected, Ok(false)) || !object_selected(&self.objects, request) {
            return Ok(None);
        }
        let Some(invocation) = self.invocation(request) else { return Ok(None) };
        selected?;
        match self.conditions.hold(request, &invocation) {
            Ok(true) => Ok(Some(invocation)),
            Ok(false) => Ok(None),
            Err(why) => {
                Err(Failed::Refused { status: forbidden(&request.resource, &request.name, &why), warnings: Vec::new() })
            }
        }
    }

    /// Whether a rule covers requests like this one; the objects, their labels and the conditions do not matter.
    pub(super) fn has_rule(&self, request: &AdmissionRequest) -> bool {
        self.invocation(request).is_some()
    }

    fn invocation(&self, request: &AdmissionRequest) -> Option<Invocation> {
        if self.rules.iter().any(|rule| matches(rule, &request.resource, request)) {
            return Some(Invocation { resource: request.resource.clone(), kind: request.kind.clone() });
        }
        let others =
            request.equivalents.iter().filter(|(resource, _)| self.equivalent && *resource != request.resource);
        let others: Vec<&(Resource, Kind)> = others.collect();
        let found =
            self.rules.iter().find_map(|rule| others.iter().find(|(resource, _)| matches(rule, resource, request)));
        found.map(|(resource, kind)| Invocation { resource: resource.clone(), kind: kind.clone() })
    }
}
