//! Wire types -> the CustomResourceDefinitions of both kinds. No I/O.
//!
//! The derive generates names, types, bounds and descriptions; one walk over its schema adds what it cannot express and
//! removes what Karmada's CRDs do not have, so that both accept the same objects.

use std::sync::{LazyLock, OnceLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::CustomResourceExt;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::served::{self, Field, SCHEMA_VERSION};
use super::{CronFederatedHPA, FederatedHPA, selector};

/// Why a CRD could not be built. This does not happen in a build that passed the tests, which build both.
#[derive(Debug, thiserror::Error)]
pub enum CrdError {
    /// The derived CRD is not JSON.
    #[error("derived CRD: {0}")]
    Json(#[from] serde_json::Error),
    /// The completed CRD cannot be written as YAML.
    #[error("as YAML: {0}")]
    Yaml(String),
}

/// Both CRDs as they are applied: `CronFederatedHPA`, `FederatedHPA`. Built once.
///
/// # Errors
/// When a derived CRD cannot be written as JSON.
pub fn all() -> Result<&'static [Value; 2], CrdError> {
    static MADE: OnceLock<[Value; 2]> = OnceLock::new();
    if let Some(made) = MADE.get() {
        return Ok(made);
    }
    let made = [
        complete(serde_json::to_value(CronFederatedHPA::crd())?),
        complete(serde_json::to_value(FederatedHPA::crd())?),
    ];
    Ok(MADE.get_or_init(|| made))
}

/// The fields of both kinds that Karmada's CRDs do not have, in the order of
/// [`DEFINITIONS`](super::served::DEFINITIONS). Built once.
///
/// # Errors
/// As [`all`].
pub fn own_fields() -> Result<&'static [Vec<Field>; 2], CrdError> {
    static FIELDS: OnceLock<[Vec<Field>; 2]> = OnceLock::new();
    let [cron, federated] = all()?;
    Ok(FIELDS.get_or_init(|| [served::own(0, federated), served::own(1, cron)]))
}

/// The CRDs as files: name and text, each text one YAML document.
///
/// # Errors
/// As [`all`], or when one cannot be written as YAML.
pub fn files() -> Result<[(&'static str, String); 2], CrdError> {
    let [cron, federated] = all()?;
    Ok([
        ("autoscaling.karmada.io_cronfederatedhpas.yaml", document(cron)?),
        ("autoscaling.karmada.io_federatedhpas.yaml", document(federated)?),
    ])
}

fn document(crd: &Value) -> Result<String, CrdError> {
    let yaml = serde_saphyr::to_string(crd).map_err(|error| CrdError::Yaml(error.to_string()))?;
    Ok(format!("---\n# Written by `fhpa crds`.\n{yaml}"))
}

/// The schema of the one version of a CRD.
pub fn schema(crd: &Value) -> Option<&Value> {
    crd.pointer("/spec/versions/0/schema/openAPIV3Schema")
}

/// The kinds, each with the schema of its objects and of their metadata, which a definition leaves to the API server.
/// Built once.
pub fn schemas() -> &'static [(&'static str, Value)] {
    static SCHEMAS: LazyLock<Vec<(&'static str, Value)>> = LazyLock::new(|| {
        let mut settings = SchemaSettings::openapi3();
        settings.inline_subschemas = true;
        let mut metadata = settings.into_generator().into_root_schema_for::<ObjectMeta>().to_value();
        // Sets of fields are of any form.
        if let Some(sets) = metadata.pointer_mut("/properties/managedFields/items/properties/fieldsV1") {
            *sets = json!({});
        }
        let whole = |crd: &'static Value| {
            let mut schema = schema(crd)?.clone();
            *schema.pointer_mut("/properties/metadata")? = metadata.clone();
            Some((crd.pointer("/spec/names/kind")?.as_str()?, schema))
        };
        all().into_iter().flatten().filter_map(whole).collect()
    });
    &SCHEMAS
}

/// The schema of objects of `kind`, as in [`schemas`].
pub fn schema_of(kind: &str) -> Option<&'static Value> {
    schemas().iter().find(|(name, _)| *name == kind).map(|(_, schema)| schema)
}

fn complete(mut crd: Value) -> Value {
    if let Some(kind) = crd.pointer("/spec/names/kind").and_then(Value::as_str).map(str::to_owned)
        && let Some(names) = crd.pointer_mut("/spec/names").and_then(Value::as_object_mut)
    {
        names.insert("listKind".into(), json!(format!("{kind}List")));
    }
    if let Some(metadata) = crd.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.insert("annotations".into(), json!({SCHEMA_VERSION: env!("CARGO_PKG_VERSION")}));
    }
    if let Some(schema) = crd.pointer_mut("/spec/versions/0/schema/openAPIV3Schema") {
        walk(schema);
        if let Some(status) = schema.pointer_mut("/properties/status") {
            unchecked(status);
        }
        if let Some(properties) = schema.pointer_mut("/properties").and_then(Value::as_object_mut) {
            properties.extend(type_and_metadata());
        }
    }
    crd
}

/// The members of every object except spec and status.
fn type_and_metadata() -> Map<String, Value> {
    let member = |name: &str, kind: &str, description: &str| {
        (name.to_owned(), json!({"type": kind, "description": description}))
    };
    Map::from_iter([
        member("apiVersion", "string", "Group and version of this kind."),
        member("kind", "string", "Name of this kind."),
        ("metadata".to_owned(), json!({"type": "object"})),
    ])
}

/// Converts `node` and all below it to a structural schema.
fn walk(node: &mut Value) {
    let Some(node) = node.as_object_mut() else { return };
    node.remove("title");
    // Absent and null mean the same, and the API server drops nulls of members that are not nullable.
    node.remove("nullable");
    for bound in ["minimum", "maximum"] {
        if let Some(whole) = node.get(bound).and_then(whole_number) {
            node.insert(bound.into(), json!(whole));
        }
    }
    if node.contains_key("x-kubernetes-int-or-string") {
        node.insert("anyOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    let required: Vec<String> = node
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if let Some(properties) = node.get_mut("properties").and_then(Value::as_object_mut) {
        // A missing required member is zero for the decoder, but missing for the API.
        for name in required {
            if let Some(member) = properties.get_mut(&name).and_then(Value::as_object_mut) {
                member.remove("default");
            }
        }
        if properties.contains_key("matchLabels") {
            selector::complete(node);
            return;
        }
        properties.values_mut().for_each(walk);
    }
    for below in ["items", "additionalProperties"] {
        if let Some(below) = node.get_mut(below) {
            walk(below);
        }
    }
}

/// Removes the value checks from a status, because it repeats arbitrary reports of member clusters. Also removes its
/// defaults: an unreported value would otherwise look reported.
fn unchecked(node: &mut Value) {
    let Some(node) = node.as_object_mut() else { return };
    for check in ["x-kubernetes-validations", "minLength", "maxLength", "default"] {
        node.remove(check);
    }
    node.get_mut("properties").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut).for_each(unchecked);
    if let Some(items) = node.get_mut("items") {
        unchecked(items);
    }
}

/// Converts `32.0`, the form of bounds in k8s-openapi, to `32`.
fn whole_number(bound: &Value) -> Option<i64> {
    bound.as_f64().filter(|bound| bound.fract() == 0.0).and_then(|bound| format!("{bound:.0}").parse().ok())
}
