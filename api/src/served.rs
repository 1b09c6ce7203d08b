//! Whether a CustomResourceDefinition has every field that fhpa writes. No I/O.

use serde_json::Value;

/// Names of the definitions of both kinds: FederatedHPA, CronFederatedHPA.
pub const DEFINITIONS: [&str; 2] = ["federatedhpas.autoscaling.karmada.io", "cronfederatedhpas.autoscaling.karmada.io"];

/// Annotation of a CustomResourceDefinition: the version of fhpa's schema. It stays when another schema is applied, so
/// it only informs: the fields decide.
pub const SCHEMA_VERSION: &str = "fhpa.karmada.io/schema-version";

/// Marks that a node keeps unknown members.
const KEEPS: &str = "x-kubernetes-preserve-unknown-fields";
/// Most fields that a message names.
const NAMED: usize = 4;

/// Fields of Karmada's CRDs, at the paths where fhpa has more: the index of the kind in [`DEFINITIONS`], the path, and
/// the names.
const KARMADAS: [(usize, &[&str], &[&str]); 6] = [
    (0, &["spec"], &["behavior", "maxReplicas", "metrics", "minReplicas", "scaleTargetRef"]),
    (
        0,
        &["status"],
        &["conditions", "currentMetrics", "currentReplicas", "desiredReplicas", "lastScaleTime", "observedGeneration"],
    ),
    (0, &["status", "conditions", "[]"], &["lastTransitionTime", "message", "reason", "status", "type"]),
    (1, &["spec"], &["rules", "scaleTargetRef"]),
    (
        1,
        &["spec", "rules", "[]"],
        &[
            "failedHistoryLimit",
            "name",
            "schedule",
            "successfulHistoryLimit",
            "suspend",
            "targetMaxReplicas",
            "targetMinReplicas",
            "targetReplicas",
            "timeZone",
        ],
    ),
    (1, &["status"], &["executionHistories"]),
];

/// Fields of `ours`, the CRD with that index in [`DEFINITIONS`], that Karmada's CRD does not have.
#[must_use]
pub fn own(kind: usize, ours: &Value) -> Vec<Field> {
    let schema = ours.pointer("/spec/versions/0/schema/openAPIV3Schema");
    let places = KARMADAS.iter().filter(|(of, ..)| *of == kind);
    let fields = places.flat_map(|(_, path, known)| {
        let members =
            schema.and_then(|schema| node(schema, path.iter().copied())).and_then(|node| node.get("properties"));
        let members = members.and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name);
        let more = members.filter(|name| !known.contains(&name.as_str()));
        more.map(|name| path.iter().map(|step| (*step).to_owned()).chain([name.clone()]).collect())
    });
    fields.collect()
}

/// The node of a schema at a path.
fn node<'a, 'p>(schema: &'a Value, path: impl Iterator<Item = &'p str>) -> Option<&'a Value> {
    let mut node = schema;
    for step in path {
        node = if step == "[]" { node.get("items")? } else { node.get("properties")?.get(step)? };
    }
    Some(node)
}

/// The parts of `old` that a change of a CRD would remove: a pointer into `new`, and the previous schema. Only
/// `fields`, and only where their parents still exist.
#[must_use]
pub fn kept(fields: &[Field], old: &Value, new: &Value) -> Vec<(String, Value)> {
    const VERSION: &str = "v1alpha1";
    let version = |definition: &Value| {
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
        let at = versions.iter().position(|version| version.get("name").and_then(Value::as_str) == Some(VERSION))?;
        Some((at, versions.get(at)?.pointer("/schema/openAPIV3Schema")?.clone()))
    };
    let (Some((_, old)), Some((at, new))) = (version(old), version(new)) else { return Vec::new() };
    let keep = |field: &Field| {
        let (name, path) = field.split_last()?;
        let place = node(&new, path.iter().map(String::as_str))?.get("properties")?;
        let lost = place.get(name).is_none();
        let schema = node(&old, field.iter().map(String::as_str)).filter(|_| lost)?;
        Some((format!("/spec/versions/{at}/schema/openAPIV3Schema{}", pointer(field)), schema.clone()))
    };
    fields.iter().filter_map(keep).collect()
}

/// A field as a JSON pointer into a schema.
#[must_use]
pub fn pointer(field: &[String]) -> String {
    let step = |step: &String| if step == "[]" { "/items".to_owned() } else { format!("/properties/{step}") };
    field.iter().map(step).collect()
}

/// A field of a schema: the path of member names; `[]` for the elements of a list or map.
pub type Field = Vec<String>;

/// The topmost fields of `ours` that `live` does not have. `ours` has one version; where `live` does not serve it,
/// everything below it is lost.
#[must_use]
pub fn lost(ours: &Value, live: &Value) -> Vec<Field> {
    let version = |definition: &Value, name: Option<&Value>| {
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array)?;
        let named = |version: &&Value| name.is_none_or(|name| version.get("name") == Some(name));
        versions.iter().find(named).cloned()
    };
    let Some(ours) = version(ours, None) else { return Vec::new() };
    let live = version(live, ours.get("name")).filter(|live| live.get("served") == Some(&Value::Bool(true)));
    let schema = "/schema/openAPIV3Schema";
    let mut fields = Vec::new();
    let live = live.as_ref().and_then(|live| live.pointer(schema)).unwrap_or(&Value::Null);
    if let Some(ours) = ours.pointer(schema) {
        walk(ours, live, &mut Vec::new(), &mut fields);
    }
    fields
}

fn walk(ours: &Value, live: &Value, path: &mut Field, fields: &mut Vec<Field>) {
    if live.get(KEEPS) == Some(&Value::Bool(true)) {
        return;
    }
    for (name, member) in ours.get("properties").and_then(Value::as_object).into_iter().flatten() {
        path.push(name.clone());
        match live.get("properties").and_then(|properties| properties.get(name)) {
            Some(live) => walk(member, live, path, fields),
            None => fields.push(path.clone()),
        }
        path.pop();
    }
    for below in ["items", "additionalProperties"] {
        let (ours, live) = (ours.get(below), live.get(below).unwrap_or(&Value::Null));
        if let Some(ours) = ours.filter(|ours| ours.is_object()) {
            path.push("[]".to_owned());
            walk(ours, live, path, fields);
            path.pop();
        }
    }
}

/// `spec.mode, spec.rules[].maxDelaySeconds and 3 more`
#[must_use]
pub fn shown(fields: &[Field]) -> String {
    let mut all: Vec<String> = fields.iter().take(NAMED).map(|field| field.join(".").replace(".[]", "[]")).collect();
    let last = match fields.len().saturating_sub(NAMED) {
        0 => all.pop(),
        more => Some(format!("{more} more")),
    };
    match last {
        Some(last) if all.is_empty() => last,
        Some(last) => format!("{} and {last}", all.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(version: &str, schema: &Value) -> Value {
        json!({"spec": {"versions": [{"name": version, "served": true, "schema": {"openAPIV3Schema": schema}}]}})
    }

    fn object(properties: &Value) -> Value {
        json!({"type": "object", "properties": properties})
    }

    #[test]
    fn only_what_is_missing_is_lost() {
        let rule = |fields: &Value| json!({"type": "array", "items": object(fields)});
        let ours = object(
            &json!({"spec": object(&json!({"mode": {}, "max": {}, "rules": rule(&json!({"a": {}, "late": {}}))}))}),
        );
        let theirs = object(&json!({"spec": object(&json!({"max": {}, "new": {}, "rules": rule(&json!({"a": {}}))}))}));
        let fields = lost(&definition("v1", &ours), &definition("v1", &theirs));
        assert_eq!(shown(&fields), "spec.mode and spec.rules[].late");
        assert!(lost(&definition("v1", &ours), &definition("v1", &ours)).is_empty());
        assert!(lost(&definition("v1", &theirs), &definition("v1", &ours)).len() == 1, "what they add is theirs");
    }

    #[test]
    fn a_version_that_is_not_served_loses_everything_and_a_place_that_keeps_all_nothing() {
        let ours = object(&json!({"spec": object(&json!({"mode": {}}))}));
        assert_eq!(shown(&lost(&definition("v1", &ours), &definition("v2", &ours))), "spec");
        let keeps = object(&json!({"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}));
        assert!(lost(&definition("v1", &ours), &definition("v1", &keeps)).is_empty());
    }

    #[test]
    fn a_change_that_takes_fields_away_keeps_them_beside_what_is_new() {
        let rule = |fields: &Value| json!({"type": "array", "items": object(fields)});
        let ours = object(
            &json!({"spec": object(&json!({"mode": {"type": "string"}, "rules": rule(&json!({"a": {}, "late": {}}))}))}),
        );
        let theirs = object(&json!({"spec": object(&json!({"new": {}, "rules": rule(&json!({"a": {}}))}))}));
        let fields =
            [vec!["spec".to_owned(), "mode".to_owned()], ["spec", "rules", "[]", "late"].map(str::to_owned).to_vec()];
        let (old, new) = (definition("v1alpha1", &ours), definition("v1alpha1", &theirs));
        let kept = super::kept(&fields, &old, &new);
        let root = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
        assert_eq!(kept[0], (format!("{root}/mode"), json!({"type": "string"})));
        assert_eq!(kept[1].0, format!("{root}/rules/items/properties/late"));
        assert!(super::kept(&fields, &old, &old).is_empty() && super::kept(&fields, &new, &old).is_empty());
    }

    #[test]
    fn a_sentence_names_four_fields() {
        let fields: Vec<Field> = (0..7).map(|at| vec![format!("f{at}")]).collect();
        assert_eq!(shown(&fields), "f0, f1, f2, f3 and 3 more");
        assert_eq!(shown(&fields[..4]), "f0, f1, f2 and f3");
    }
}
