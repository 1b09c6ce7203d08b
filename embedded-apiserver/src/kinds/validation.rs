//! Checks of metadata and of the built-in kinds, with the messages of kube-apiserver. No I/O.

use serde_json::{Value, json};

use super::super::{
    object::{self, at, meta, text_at},
    resources::Resource,
    selectors::selects,
    status::Cause,
};

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// Findings on a new or changed object of any kind for a server of this version of Kubernetes. `new` is in its stored
/// form.
pub fn check(resource: &Resource, new: &Value, old: Option<&Value>, kubernetes: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    name(resource, new, &mut causes);
    labels(new, &mut causes);
    if let Some(old) = old {
        finalizers(new, old, &mut causes);
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", _) => workload(new, old, &mut causes),
        ("", "Pod") => containers(new, &["spec", "containers"], &mut causes),
        ("autoscaling", _) => autoscaler(new, kubernetes, &mut causes),
        _ => {}
    }
    causes
}

fn name(resource: &Resource, new: &Value, causes: &mut Vec<Cause>) {
    let name = object::name(new);
    if name.is_empty() {
        causes.push(Cause::required("metadata.name", "name or generateName is required"));
        return;
    }
    if resource.group == "rbac.authorization.k8s.io" {
        return;
    }
    let is_label = matches!((resource.group.as_str(), resource.kind.as_str()), ("", "Namespace" | "Service"));
    let (limit, text) = if is_label { (63, LABEL) } else { (253, SUBDOMAIN) };
    if name.len() > limit {
        causes.push(Cause::invalid("metadata.name", &name.into(), &format!("must be no more than {limit} bytes")));
    }
    let parts_fit = name.split('.').all(is_dns_label);
    if !parts_fit || (is_label && name.contains('.')) {
        causes.push(Cause::invalid("metadata.name", &name.into(), text));
    }
}

fn is_dns_label(part: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
}

fn labels(new: &Value, causes: &mut Vec<Cause>) {
    for value in meta(new, "labels").and_then(Value::as_object).into_iter().flat_map(serde_json::Map::values) {
        let text = value.as_str().unwrap_or_default();
        if text.len() > 63 {
            causes.push(Cause::invalid("metadata.labels", value, "must be no more than 63 bytes"));
        }
        let edges = text.chars().next().into_iter().chain(text.chars().last()).all(|c| c.is_ascii_alphanumeric());
        if !edges || !text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)) {
            causes.push(Cause::invalid("metadata.labels", value, LABEL_VALUE));
        }
    }
}

fn finalizers(new: &Value, old: &Value, causes: &mut Vec<Cause>) {
    if !object::is_terminating(old) {
        return;
    }
    let had: Vec<&str> = object::finalizers(old).collect();
    let added: Vec<String> =
        object::finalizers(new).filter(|one| !had.contains(one)).map(|one| format!("\"{one}\"")).collect();
    if !added.is_empty() {
        let list = added.join(", ");
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"
        );
        // Both the general checks and those of each kind include it; both causes are listed.
        causes.extend([(), ()].map(|()| Cause::forbidden("metadata.finalizers", &detail)));
    }
}

fn not_negative(object: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    if let Some(number) = at(object, path).filter(|value| value.as_i64().is_some_and(|number| number < 0)) {
        causes.push(Cause::invalid(&path.join("."), number, "must be greater than or equal to 0"));
    }
}

fn workload(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    not_negative(new, &["spec", "replicas"], causes);
    let selector = at(new, &["spec", "selector"]).cloned().unwrap_or_default();
    if selector.as_object().is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required("spec.selector", ""));
    } else {
        let labels = at(new, &["spec", "template", "metadata", "labels"]);
        if !selects(&selector, labels) {
            let detail = "`selector` does not match template `labels`";
            causes.push(Cause::invalid("spec.template.metadata.labels", labels.unwrap_or(&Value::Null), detail));
        }
        if old.is_some_and(|old| at(old, &["spec", "selector"]) != Some(&selector)) {
            causes.push(Cause::invalid("spec.selector", &selector, "field is immutable"));
        }
    }
    containers(new, &["spec", "template", "spec", "containers"], causes);
}

fn containers(new: &Value, path: &[&str], causes: &mut Vec<Cause>) {
    let field = path.join(".");
    let list = at(new, path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    if list.is_empty() {
        causes.push(Cause::required(&field, ""));
    }
    for (index, container) in list.iter().enumerate() {
        for key in ["name", "image"] {
            if text_at(container, &[key]).is_empty() {
                causes.push(Cause::required(&format!("{field}[{index}].{key}"), ""));
            }
        }
    }
}

/// From Kubernetes 1.37 on, with a metric that does not come from the pods.
fn scales_to_zero(autoscaler: &Value, kubernetes: &str) -> bool {
    let metrics = at(autoscaler, &["spec", "metrics"]).and_then(Value::as_array).into_iter().flatten();
    let mut kinds = metrics.map(|metric| text_at(metric, &["type"]));
    super::release(kubernetes).is_some_and(|release| release >= (1, 37))
        && kinds.any(|kind| matches!(kind, "Object" | "External"))
}

fn autoscaler(new: &Value, kubernetes: &str, causes: &mut Vec<Cause>) {
    let number = |key: &str| at(new, &["spec", key]).and_then(Value::as_i64);
    let (least, most) = (number("minReplicas").unwrap_or(1), number("maxReplicas").unwrap_or_default());
    if least < 1 && !(least == 0 && scales_to_zero(new, kubernetes)) {
        causes.push(Cause::invalid("spec.minReplicas", &json!(least), "must be greater than or equal to 1"));
    }
    if most == 0 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    } else if most < 0 {
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), "must be greater than 0"));
    }
    if most < least {
        causes.push(Cause::invalid("spec.maxReplicas", &json!(most), "must be greater than or equal to `minReplicas`"));
    }
    for key in ["kind", "name"] {
        if text_at(new, &["spec", "scaleTargetRef", key]).is_empty() {
            causes.push(Cause::required(&format!("spec.scaleTargetRef.{key}"), ""));
        }
    }
}
