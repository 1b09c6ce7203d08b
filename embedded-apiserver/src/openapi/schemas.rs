//! The schemas of a document: kinds, their lists, and all schemas they refer to. No I/O.

use serde_json::{Map, Value, json};

use super::Served;
use crate::builtins;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
                           convert recognized schemas to the latest internal value, and may reject unrecognized values. \
                           More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this \
                    from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
                    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
                        https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const PATCH: &str = "Patch is provided to give a concrete name and type to the Kubernetes PATCH request body.";

/// A reference to a definition.
pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

/// The collected schemas.
pub(super) struct Schemas {
    group: String,
    version: String,
    found: Map<String, Value>,
}

impl Schemas {
    pub(super) fn new(group: &str, version: &str) -> Self {
        let mut schemas = Self { group: group.to_owned(), version: version.to_owned(), found: Map::new() };
        for name in ["DeleteOptions", "Status", "ListMeta", "ObjectMeta"] {
            schemas.collect(&format!("{META}.{name}"));
        }
        schemas.found.insert(format!("{META}.Patch"), json!({ "description": PATCH, "type": "object" }));
        schemas
    }

    /// Adds a kind with its list; returns the name of its schema.
    pub(super) fn add(&mut self, served: &Served<'_>) -> String {
        let built_in = builtins::definition_name(&self.group, &self.version, served.kind);
        let name = match (served.schema, built_in) {
            (None, Some(name)) => {
                self.collect(name);
                name.to_owned()
            }
            (schema, _) => {
                let mut labels: Vec<&str> = self.group.split('.').collect();
                labels.reverse();
                let name = format!("{}.{}.{}", labels.join("."), self.version, served.kind);
                let schema = self.custom(schema, served.kind);
                self.found.insert(name.clone(), schema);
                name
            }
        };
        let list = self.list(served.kind, &name);
        self.found.insert(format!("{name}List"), list);
        let scale = builtins::definition_name("autoscaling", "v1", "Scale");
        if let Some(scale) = scale.filter(|_| served.subresources.contains(&"scale")) {
            self.collect(scale);
        }
        name
    }

    pub(super) fn done(self) -> Value {
        Value::Object(self.found)
    }

    fn gvk(&self, kind: &str) -> Value {
        json!([{ "group": self.group, "kind": kind, "version": self.version }])
    }

    fn custom(&self, schema: Option<&Value>, kind: &str) -> Value {
        let free = || json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let mut schema = schema.cloned().unwrap_or_else(free);
        let gvk = self.gvk(kind);
        if let Some(members) = schema.as_object_mut() {
            let properties = members.entry("properties").or_insert_with(|| json!({}));
            if let Some(properties) = properties.as_object_mut() {
                properties.insert("apiVersion".into(), json!({ "description": API_VERSION, "type": "string" }));
                properties.insert("kind".into(), json!({ "description": KIND, "type": "string" }));
                let meta = reference(&format!("{META}.ObjectMeta"));
                properties.insert("metadata".into(), json!({ "description": METADATA, "allOf": [meta] }));
            }
            members.insert("x-kubernetes-group-version-kind".into(), gvk);
        }
        schema
    }

    fn list(&self, kind: &str, name: &str) -> Value {
        json!({
            "description": format!("{kind}List is a list of {kind}"),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": { "description": API_VERSION, "type": "string" },
                "items": { "description": format!("List of {kind}."), "type": "array", "items": reference(name) },
                "kind": { "description": KIND, "type": "string" },
                "metadata": { "description": METADATA, "allOf": [reference(&format!("{META}.ListMeta"))] },
            },
            "x-kubernetes-group-version-kind": self.gvk(&format!("{kind}List")),
        })
    }

    /// Adds a built-in definition and all definitions it refers to.
    fn collect(&mut self, name: &str) {
        let mut waiting = vec![name.to_owned()];
        while let Some(name) = waiting.pop() {
            if self.found.contains_key(&name) {
                continue;
            }
            let Some(definition) = builtins::definition(&name) else { continue };
            let mut definition = definition.clone();
            settle(&mut definition, &mut waiting);
            union(&name, &mut definition);
            self.found.insert(name, definition);
        }
    }
}

/// Moves references beside other members into an `allOf`, as OpenAPI v3 requires, and collects their targets.
fn settle(schema: &mut Value, waiting: &mut Vec<String>) {
    match schema {
        Value::Object(members) => {
            let target = members.get("$ref").and_then(Value::as_str).map(str::to_owned);
            if let Some(target) = target {
                waiting.extend(target.rsplit('/').next().map(str::to_owned));
                if members.len() > 1 {
                    members.remove("$ref");
                    members.insert("allOf".to_owned(), json!([{ "$ref": target }]));
                    return;
                }
            }
            members.values_mut().for_each(|member| settle(member, waiting));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| settle(item, waiting)),
        _ => {}
    }
}

/// The two definitions with more than one type.
fn union(name: &str, definition: &mut Value) {
    let other = match name.rsplit('.').next() {
        Some("Quantity") => "number",
        Some("IntOrString") => "integer",
        _ => return,
    };
    if let Some(members) = definition.as_object_mut() {
        members.remove("x-kubernetes-int-or-string");
        members.insert("oneOf".to_owned(), json!([{ "type": "string" }, { "type": other }]));
        if other == "integer" {
            members.insert("format".to_owned(), "int-or-string".into());
        }
    }
}
