//! OpenAPI v3 documents, as far as `kubectl explain`, `apply` and `diff` read them. No I/O.

use serde_json::{Map, Value, json};

use super::builtins;

/// A kind of one group and version.
#[derive(Debug, Clone, Copy)]
pub struct Kind<'a> {
    /// `Deployment`.
    pub kind: &'a str,
    /// `deployments`.
    pub plural: &'a str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// Whether `status` is a subresource.
    pub status: bool,
    /// Whether `scale` is a subresource.
    pub scale: bool,
    /// `openAPIV3Schema` of a custom kind.
    pub schema: Option<&'a Value>,
}

/// The document of one group and version.
pub fn document(group: &str, version: &str, kinds: &[Kind<'_>]) -> Value {
    let (mut schemas, mut paths) = (Map::new(), Map::new());
    for kind in kinds {
        let name = schema(group, version, kind, &mut schemas);
        paths_of(group, version, kind, &name, &mut paths);
    }
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.33.0"}, "paths": paths,
        "components": {"schemas": schemas}})
}

/// Adds the schema of a kind and all that it refers to; gives its name.
fn schema(group: &str, version: &str, kind: &Kind<'_>, schemas: &mut Map<String, Value>) -> String {
    if let Some(name) = builtins::definition_name(group, version, kind.kind) {
        take(name, schemas);
        return name.to_owned();
    }
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    take(meta, schemas);
    let reversed: Vec<&str> = group.split('.').rev().collect();
    let name = format!("{}.{version}.{}", reversed.join("."), kind.kind);
    let mut schema = kind.schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
    let gvk = json!([{"group": group, "version": version, "kind": kind.kind}]);
    super::object::put_at(&mut schema, &["x-kubernetes-group-version-kind"], gvk);
    let reference = json!({"allOf": [{"$ref": format!("#/components/schemas/{meta}")}], "default": {}});
    super::object::put_at(&mut schema, &["properties", "metadata"], reference);
    schemas.insert(name.clone(), schema);
    name
}

fn take(name: &str, schemas: &mut Map<String, Value>) {
    if schemas.contains_key(name) {
        return;
    }
    let Some(definition) = builtins::definition(name) else { return };
    schemas.insert(name.to_owned(), definition.clone());
    let mut names = Vec::new();
    references(definition, &mut names);
    for name in names {
        take(name, schemas);
    }
}

fn references<'a>(value: &'a Value, names: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value.as_str() {
                    Some(path) if key == "$ref" => names.extend(path.rsplit('/').next()),
                    _ => references(value, names),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|value| references(value, names)),
        _ => {}
    }
}

fn paths_of(group: &str, version: &str, kind: &Kind<'_>, schema: &str, paths: &mut Map<String, Value>) {
    let base = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
    let gvk = json!({"group": group, "version": version, "kind": kind.kind});
    let operation = |action: &str| operation(action, &gvk, schema);
    let place = if kind.namespaced { format!("{base}/namespaces/{{namespace}}") } else { base.clone() };
    let collection = format!("{place}/{}", kind.plural);
    let all = json!({"get": operation("list"), "post": operation("post"), "delete": operation("deletecollection")});
    let one = json!({"get": operation("get"), "put": operation("put"), "patch": operation("patch"),
        "delete": operation("delete")});
    if kind.namespaced {
        paths.insert(format!("{base}/{}", kind.plural), json!({"get": operation("list")}));
    }
    paths.insert(format!("{collection}/{{name}}"), one.clone());
    if kind.status {
        paths.insert(format!("{collection}/{{name}}/status"), one.clone());
    }
    if kind.scale {
        let gvk = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        let scale = |action: &str| self::operation(action, &gvk, "io.k8s.api.autoscaling.v1.Scale");
        let operations = json!({"get": scale("get"), "put": scale("put"), "patch": scale("patch")});
        paths.insert(format!("{collection}/{{name}}/scale"), operations);
    }
    paths.insert(collection, all);
}

fn operation(action: &str, gvk: &Value, schema: &str) -> Value {
    let parameter =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters: Vec<Value> = match action {
        "get" | "list" => vec![parameter("pretty")],
        "delete" | "deletecollection" => vec![parameter("dryRun"), parameter("propagationPolicy")],
        "patch" => ["dryRun", "fieldManager", "fieldValidation", "force"].map(parameter).to_vec(),
        _ => ["dryRun", "fieldManager", "fieldValidation"].map(parameter).to_vec(),
    };
    let body = json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    json!({"x-kubernetes-action": action, "x-kubernetes-group-version-kind": gvk, "parameters": parameters,
        "responses": {"200": {"description": "OK", "content": {"application/json": body}}}})
}
