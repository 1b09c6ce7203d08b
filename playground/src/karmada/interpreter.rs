//! Karmada's interpreter: replicas, fields that a member keeps, reflected status, health, and aggregation of kinds. No
//! I/O.
//!
//! Customizations are Lua in Karmada. This interpreter does not run Lua: it recognizes plain copies in a script
//! (`desiredObj.spec.replicas = observedObj.spec.replicas`, `status.x = observedObj.status.x`, `return
//! observedObj.status`), and for retention whether they depend on the retain-replicas label. That covers the scripts
//! that fhpa installs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::json::{annotation, count, int, items, label, set, text};

/// Label of a template: members keep their own replicas.
pub const RETAIN_REPLICAS: &str = "resourcetemplate.karmada.io/retain-replicas";
/// Annotation of a member's object: generation of the applied template.
pub const TEMPLATE_GENERATION: &str = "resourcetemplate.karmada.io/generation";

/// Path of the replicas of a kind that is divided.
#[must_use]
pub fn replicas(object: &Value) -> Option<i32> {
    matches!(
        (text(object, "/apiVersion"), text(object, "/kind")),
        ("apps/v1", "Deployment" | "StatefulSet" | "ReplicaSet")
    )
    .then(|| count(object, "/spec/replicas").unwrap_or(1))
}

/// Copies of a script: from the observed object into the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// Into, from, and whether only for objects with the retain-replicas label.
    paths: Vec<(Vec<String>, Vec<String>, bool)>,
}

impl Copies {
    /// The copies of a script, or `None` when it has none in a known form.
    #[must_use]
    pub fn of(script: &str) -> Option<Self> {
        let observed = script.split_once('(')?.1.split_once(')')?.0.split(',').next_back()?.trim().to_owned();
        let (mut paths, mut labelled) = (Vec::new(), false);
        for line in script.lines().map(|line| line.split("--").next().unwrap_or_default().trim()) {
            labelled |= line.contains(RETAIN_REPLICAS);
            let (to, from) = match line.strip_prefix("return ") {
                Some(from) => ("status", from),
                None => match line.split_once('=') {
                    Some((to, from)) => (to, from),
                    None => continue,
                },
            };
            let (Some(to), Some(from)) = (dotted(to), dotted(from)) else { continue };
            if from.first() == Some(&observed) && to.first() != Some(&observed) {
                paths.push((to.into_iter().skip(1).collect(), from.into_iter().skip(1).collect(), labelled));
            }
        }
        (!paths.is_empty()).then_some(Self { paths })
    }

    /// Copies; `labelled` is whether the object has the label.
    fn copy(&self, from: &Value, into: &mut Value, labelled: bool) {
        for (to, path, _) in self.paths.iter().filter(|(_, _, needs)| labelled || !needs) {
            let parts = path.iter().try_fold(from, |value, part| value.get(part));
            let Some(value) = parts else { continue };
            let keys: Vec<&str> = to.iter().map(String::as_str).collect();
            if keys.is_empty() {
                *into = value.clone();
            } else {
                set(into, &keys, value.clone());
            }
        }
    }
}

/// `a.b.c` as its parts, without the leading `local`.
fn dotted(text: &str) -> Option<Vec<String>> {
    let text = text.trim().trim_end_matches(';').trim();
    let text = text.strip_prefix("local ").unwrap_or(text).trim();
    // `a["x/y"]` is a member whose name is not a word; only at the end.
    let (text, quoted) = match text.strip_suffix("\"]").and_then(|text| text.split_once("[\"")) {
        Some((text, quoted)) => (text, Some(quoted)),
        None => (text, None),
    };
    let mut parts: Vec<String> = text.split('.').map(str::to_owned).collect();
    let plain = |part: &String| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let known = parts.iter().all(plain);
    parts.extend(quoted.map(str::to_owned));
    known.then_some(parts)
}

/// The customizations of a control plane.
#[derive(Debug, Default)]
pub struct Interpreter(Vec<Arc<Value>>);

impl Interpreter {
    /// With these ResourceInterpreterCustomizations.
    #[must_use]
    pub const fn new(customizations: Vec<Arc<Value>>) -> Self {
        Self(customizations)
    }

    fn copies(&self, object: &Value, operation: &str) -> Option<Copies> {
        let about = |custom: &&Arc<Value>| {
            text(custom, "/spec/target/apiVersion") == text(object, "/apiVersion")
                && text(custom, "/spec/target/kind") == text(object, "/kind")
        };
        let path = format!("/spec/customizations/{operation}/luaScript");
        self.0.iter().filter(about).find_map(|custom| Copies::of(text(custom, &path)))
    }

    /// `desired` with the fields that the member keeps of `observed`.
    #[must_use]
    pub fn retain(&self, mut desired: Value, observed: &Value) -> Value {
        let labelled = label(&desired, RETAIN_REPLICAS) == "true";
        if let Some(copies) = self.copies(&desired, "retention") {
            copies.copy(observed, &mut desired, labelled);
            return desired;
        }
        if labelled
            && text(&desired, "/kind") == "Deployment"
            && let Some(replicas) = observed.pointer("/spec/replicas")
        {
            set(&mut desired, &["spec", "replicas"], replicas.clone());
        }
        desired
    }

    /// The reflected status of a member's object.
    #[must_use]
    pub fn reflect(&self, object: &Value) -> Value {
        if let Some(copies) = self.copies(object, "statusReflection") {
            let mut status = json!({});
            copies.copy(object, &mut status, true);
            return status;
        }
        let fields: &[&str] = match text(object, "/kind") {
            "Deployment" => &[
                "replicas",
                "readyReplicas",
                "updatedReplicas",
                "availableReplicas",
                "unavailableReplicas",
                "observedGeneration",
            ],
            "StatefulSet" => &[
                "replicas",
                "readyReplicas",
                "currentReplicas",
                "updatedReplicas",
                "availableReplicas",
                "updateRevision",
                "currentRevision",
                "observedGeneration",
            ],
            "HorizontalPodAutoscaler" if text(object, "/apiVersion") == "autoscaling/v2" => {
                &["currentReplicas", "desiredReplicas"]
            }
            _ => return object.get("status").cloned().unwrap_or(Value::Null),
        };
        let mut status = json!({});
        for field in fields {
            let value = object.pointer(&format!("/status/{field}"));
            if let Some(value) = value.filter(|value| **value != json!(0)) {
                set(&mut status, &[field], value.clone());
            }
        }
        if fields.contains(&"observedGeneration") {
            set(&mut status, &["generation"], json!(int(object, "/metadata/generation").unwrap_or(1)));
            if let Ok(generation) = annotation(object, TEMPLATE_GENERATION).parse::<i64>() {
                set(&mut status, &["resourceTemplateGeneration"], json!(generation));
            }
        }
        status
    }

    /// `Healthy`, `Unhealthy` or `Unknown`.
    #[must_use]
    pub fn health(&self, object: &Value) -> &'static str {
        let Some(wanted) = replicas(object) else { return "Healthy" };
        let status = |field: &str| count(object, &format!("/status/{field}")).unwrap_or_default();
        let seen = int(object, "/status/observedGeneration") == int(object, "/metadata/generation");
        // More replicas than wanted also count as healthy.
        if seen && status("updatedReplicas") >= wanted && status("availableReplicas") >= status("updatedReplicas") {
            "Healthy"
        } else {
            "Unhealthy"
        }
    }

    /// The status of a template from those of its clusters, or `None` when its kind is not aggregated.
    #[must_use]
    pub fn aggregate(&self, template: &Value, aggregated: &[Value]) -> Option<Value> {
        let fields: &[&str] = match text(template, "/kind") {
            "Deployment" => {
                &["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"]
            }
            "StatefulSet" => &["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
            "HorizontalPodAutoscaler" => &["currentReplicas", "desiredReplicas"],
            _ => return None,
        };
        let mut status = template.get("status").cloned().unwrap_or_else(|| json!({}));
        for field in fields {
            let path = format!("/status/{field}");
            let sum: i64 = aggregated.iter().filter_map(|cluster| int(cluster, &path)).sum();
            if sum == 0 && *field != "desiredReplicas" && *field != "replicas" {
                crate::json::remove(&mut status, &[field]);
            } else {
                set(&mut status, &[field], json!(sum));
            }
        }
        if fields.contains(&"updatedReplicas") {
            let generation = int(template, "/metadata/generation").unwrap_or(1);
            let followed = |cluster: &Value| {
                int(cluster, "/status/resourceTemplateGeneration") == Some(generation)
                    && int(cluster, "/status/observedGeneration") == int(cluster, "/status/generation")
            };
            if aggregated.iter().all(followed) {
                set(&mut status, &["observedGeneration"], json!(generation));
            }
        }
        Some(status)
    }
}

/// The requests of each replica: the sum over its containers, by resource.
#[must_use]
pub fn requirements(template: &Value) -> Option<Value> {
    let containers = items(template, "/spec/template/spec/containers");
    let mut sums: std::collections::BTreeMap<&str, i64> = std::collections::BTreeMap::new();
    for container in containers {
        for (resource, value) in crate::json::members(container, "/resources/requests") {
            let milli = value.as_str().and_then(decision::quantity::milli).unwrap_or_default();
            let sum = sums.entry(resource).or_default();
            *sum = sum.saturating_add(milli);
        }
    }
    let mut request = json!({});
    for (resource, milli) in sums {
        let value = if resource == "cpu" {
            decision::quantity::from_milli(milli)
        } else {
            decision::quantity::binary(milli / 1000)
        };
        set(&mut request, &[resource], json!(value));
    }
    let asked = request.as_object().is_some_and(|request| !request.is_empty());
    asked.then(|| json!({"resourceRequest": request}))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::{Copies, Interpreter, RETAIN_REPLICAS};

    fn workload(kind: &str, replicas: i32, retain: bool) -> Value {
        let labels = if retain { json!({RETAIN_REPLICAS: "true"}) } else { json!({}) };
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"labels": labels}, "spec": {"replicas": replicas}})
    }

    fn kept(interpreter: &Interpreter, kind: &str, retain: bool) -> Value {
        interpreter.retain(workload(kind, 2, retain), &workload(kind, 5, false))["spec"]["replicas"].clone()
    }

    #[test]
    fn only_a_labelled_deployment_keeps_its_replicas_out_of_the_box() {
        let plain = Interpreter::default();
        assert_eq!(kept(&plain, "Deployment", true), 5);
        assert_eq!(kept(&plain, "Deployment", false), 2);
        assert_eq!(kept(&plain, "StatefulSet", true), 2);
    }

    #[test]
    fn a_customization_retains_for_other_kinds() {
        let script = format!(
            "function Retain(desiredObj, observedObj)\n  local labels = desiredObj.metadata.labels\n  if labels ~= nil and \
             labels['{RETAIN_REPLICAS}'] == 'true' then\n    desiredObj.spec.replicas = observedObj.spec.replicas\n  end\n  \
             return desiredObj\nend"
        );
        let custom = json!({"spec": {"target": {"apiVersion": "apps/v1", "kind": "StatefulSet"},
            "customizations": {"retention": {"luaScript": script}}}});
        let custom = Interpreter::new(vec![Arc::new(custom)]);
        assert_eq!(kept(&custom, "StatefulSet", true), 5);
        assert_eq!(kept(&custom, "StatefulSet", false), 2);
    }

    #[test]
    fn a_customization_reflects_the_whole_status() {
        let hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "status": {"currentReplicas": 1, "desiredReplicas": 2, "conditions": []}});
        assert_eq!(Interpreter::default().reflect(&hpa), json!({"currentReplicas": 1, "desiredReplicas": 2}));
        let script = "function ReflectStatus(observedObj)\n  return observedObj.status\nend";
        let custom = json!({"spec": {"target": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
            "customizations": {"statusReflection": {"luaScript": script}}}});
        assert_eq!(Interpreter::new(vec![Arc::new(custom)]).reflect(&hpa), hpa["status"]);
    }

    #[test]
    fn a_script_that_computes_is_not_understood() {
        assert_eq!(Copies::of("function Retain(d, o)\n  d.spec.replicas = o.spec.replicas + 1\n  return d\nend"), None);
        assert_eq!(Copies::of(""), None);
    }
}
