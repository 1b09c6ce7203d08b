//! The policy that preserves fhpa's fields in the CRDs of both kinds when another client applies others
//! (docs/design.md#law-10-act-only-on-whole-objects). It adds fields that would be lost, and keeps new ones. No I/O.

use serde_json::{Value, json};

use crate::api::crd::{self, CrdError};
use crate::api::served::{self, DEFINITIONS};

/// Name of the policy and of its binding.
pub const NAME: &str = "fhpa";

/// Indexes of the versions of a CRD that are checked.
const VERSIONS: &str = "[0, 1, 2, 3, 4, 5, 6, 7]";

/// The policy and its binding. Kubernetes serves these kinds from 1.36 on.
///
/// # Errors
/// When fhpa's CRDs cannot be built.
pub fn objects() -> Result<[Value; 2], CrdError> {
    let fields = crd::own_fields()?;
    let kinds = DEFINITIONS.iter().zip(fields);
    let patches: Vec<String> =
        kinds.flat_map(|(definition, fields)| fields.iter().map(|field| patch(definition, field))).collect();
    let version =
        |of: &str| format!("{of}.spec.versions.filter(one, one.name == 'v1alpha1')[0].schema.openAPIV3Schema");
    let has = "[object, oldObject].all(definition, definition.spec.versions.exists(one, one.name == 'v1alpha1' && \
               has(one.schema) && has(one.schema.openAPIV3Schema)))";
    let at = format!(
        "'/spec/versions/' + string({VERSIONS}.filter(at, at < object.spec.versions.size() && \
         object.spec.versions[at].name == 'v1alpha1')[0]) + '/schema/openAPIV3Schema'"
    );
    let metadata = json!({"name": NAME, "labels": {"app.kubernetes.io/name": "fhpa"}});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy", "metadata": metadata,
        "spec": {
            // A policy that cannot be evaluated must not block upgrades: objects are then frozen until the leader has
            // corrected the CRDs.
            "failurePolicy": "Ignore",
            "reinvocationPolicy": "IfNeeded",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": ["apiextensions.k8s.io"], "apiVersions": ["*"], "operations": ["UPDATE"],
                "resources": ["customresourcedefinitions"], "resourceNames": DEFINITIONS, "scope": "Cluster",
            }]},
            "matchConditions": [{"name": "v1alpha1", "expression": has}],
            "variables": [
                {"name": "new", "expression": version("object")},
                {"name": "old", "expression": version("oldObject")},
                {"name": "at", "expression": at},
            ],
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": patches.join(" + ")}}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata,
        "spec": {"policyName": NAME},
    });
    Ok([policy, binding])
}

/// A list with the patch that preserves one field, or an empty one where nothing is lost.
fn patch(definition: &str, field: &[String]) -> String {
    let (name, path) = field.split_last().map_or(("", &[][..]), |(name, path)| (name.as_str(), path));
    let (mut conditions, new) = there("variables.new", path);
    conditions.insert(0, format!("request.name == '{definition}'"));
    conditions.push(format!("has({new}.properties) && !('{name}' in {new}.properties)"));
    let (has, old) = there("variables.old", field);
    conditions.extend(has);
    let at = served::pointer(field);
    let add = format!("JSONPatch{{op: 'add', path: variables.at + '{at}', value: {old}}}");
    format!("({} ? [{add}] : [])", conditions.join(" && "))
}

/// The conditions under which a path exists, and its expression.
fn there(from: &str, path: &[String]) -> (Vec<String>, String) {
    let mut conditions = Vec::new();
    let mut at = from.to_owned();
    for step in path {
        if step == "[]" {
            conditions.push(format!("has({at}.items)"));
            at.push_str(".items");
        } else {
            conditions.push(format!("has({at}.properties) && '{step}' in {at}.properties"));
            at = format!("{at}.properties['{step}']");
        }
    }
    (conditions, at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decision::mirror::{OF_FEDERATED_HPA, OF_RULE};

    #[test]
    fn the_copy_has_the_fields_of_the_spec_that_the_policy_keeps() {
        let names = |fields: &[served::Field], at: &[&str]| {
            let of = fields.iter().filter(|field| field.iter().take(field.len() - 1).eq(at.iter()));
            of.map(|field| field.last().unwrap().clone()).collect::<Vec<_>>()
        };
        let [federated, cron] = crd::own_fields().unwrap();
        assert_eq!(names(federated, &["spec"]), OF_FEDERATED_HPA, "a new field of the spec is copied, too");
        assert_eq!(names(cron, &["spec", "rules", "[]"]), OF_RULE, "a new field of a rule is copied, too");
        assert_eq!(names(cron, &["spec"]), [""; 0], "a new field of the spec has no copy yet");
    }

    #[test]
    fn each_field_has_its_patch() {
        let [policy, binding] = objects().unwrap();
        let text = policy.pointer("/spec/mutations/0/jsonPatch/expression").unwrap().as_str().unwrap();
        let [federated, cron] = crd::own_fields().unwrap();
        assert_eq!(text.matches("JSONPatch{").count(), federated.len() + cron.len());
        let late = "(request.name == 'cronfederatedhpas.autoscaling.karmada.io' && has(variables.new.properties) && 'spec' in \
                    variables.new.properties && has(variables.new.properties['spec'].properties) && 'rules' in \
                    variables.new.properties['spec'].properties && has(variables.new.properties['spec'].properties['rules'].items)";
        assert!(text.contains(late), "{text}");
        assert_eq!(binding.pointer("/spec/policyName").unwrap(), NAME);
    }
}
