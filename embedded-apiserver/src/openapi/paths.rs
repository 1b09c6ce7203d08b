//! The paths of a document: which verbs a resource has, with which parameters and bodies. No I/O.

use serde_json::{Map, Value, json};

use super::schemas::reference;
use super::{Served, place};

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const JSON: &[&str] = &["application/json", "application/yaml"];
const PATCHES: &[&str] =
    &["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
const STRATEGIC: &str = "application/strategic-merge-patch+json";

struct Writer<'a> {
    gvk: Value,
    tag: String,
    built_in: bool,
    schema: &'a str,
    /// Path parameters.
    parameters: Vec<Value>,
}

fn parameter(place: &str, name: &str, type_: &str, required: bool) -> Value {
    let mut out = json!({ "name": name, "in": place, "schema": { "type": type_, "uniqueItems": true } });
    if let (true, Some(members)) = (required, out.as_object_mut()) {
        members.insert("required".to_owned(), true.into());
    }
    out
}

fn queries(names: &[(&str, &str)]) -> Vec<Value> {
    names.iter().map(|(name, type_)| parameter("query", name, type_, false)).collect()
}

const WRITE: &[(&str, &str)] = &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string")];
const APPLY: &[(&str, &str)] =
    &[("dryRun", "string"), ("fieldManager", "string"), ("fieldValidation", "string"), ("force", "boolean")];
const LIST: &[(&str, &str)] = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const DELETE: &[(&str, &str)] = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];

fn content(types: &[&str], schema: &str) -> Value {
    types
        .iter()
        .map(|type_| ((*type_).to_owned(), json!({ "schema": reference(schema) })))
        .collect::<Map<_, _>>()
        .into()
}

impl Writer<'_> {
    fn operation(&self, action: &str, answer: &str, body: Option<Value>, query: &[(&str, &str)]) -> Value {
        let mut out = json!({
            "tags": [self.tag],
            "parameters": queries(query),
            "responses": { "200": { "description": "OK", "content": content(JSON, answer) } },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self.gvk,
        });
        if let (Some(body), Some(members)) = (body, out.as_object_mut()) {
            members.insert("requestBody".to_owned(), json!({ "content": body, "required": true }));
        }
        out
    }

    fn collection(&self) -> Value {
        let list = format!("{}List", self.schema);
        let options = content(JSON, &format!("{META}.DeleteOptions"));
        json!({
            "get": self.operation("list", &list, None, LIST),
            "post": self.operation("post", self.schema, Some(content(JSON, self.schema)), WRITE),
            "delete": self.operation("deletecollection", &format!("{META}.Status"), Some(options), DELETE),
            "parameters": self.parameters,
        })
    }

    fn item(&self, schema: &str, with_delete: bool) -> Value {
        let mut types = PATCHES.to_vec();
        if self.built_in {
            types.push(STRATEGIC);
        }
        let patch = content(&types, &format!("{META}.Patch"));
        let mut parameters = vec![parameter("path", "name", "string", true)];
        parameters.extend(self.parameters.iter().cloned());
        let mut out = json!({
            "get": self.operation("get", schema, None, &[]),
            "put": self.operation("put", schema, Some(content(JSON, schema)), WRITE),
            "patch": self.operation("patch", schema, Some(patch), APPLY),
            "parameters": parameters,
        });
        if let (true, Some(members)) = (with_delete, out.as_object_mut()) {
            let options = content(JSON, &format!("{META}.DeleteOptions"));
            let delete = self.operation("delete", &format!("{META}.Status"), Some(options), DELETE);
            members.insert("delete".to_owned(), delete);
        }
        out
    }
}

/// Adds the paths of one resource.
pub(super) fn add(paths: &mut Map<String, Value>, group: &str, version: &str, served: &Served<'_>, schema: &str) {
    let base = format!("/{}", place(group, version));
    let resource = served.resource;
    let named = if group.is_empty() { "core".to_owned() } else { group.replace(['.', '-'], "_") };
    let mut writer = Writer {
        gvk: json!({ "group": group, "kind": served.kind, "version": version }),
        tag: format!("{named}_{version}"),
        built_in: served.schema.is_none(),
        schema,
        parameters: Vec::new(),
    };
    let root = if served.namespaced {
        let all = json!({ "get": writer.operation("list", &format!("{schema}List"), None, LIST), "parameters": [] });
        paths.insert(format!("{base}/{resource}"), all);
        writer.parameters = vec![parameter("path", "namespace", "string", true)];
        format!("{base}/namespaces/{{namespace}}/{resource}")
    } else {
        format!("{base}/{resource}")
    };
    paths.insert(root.clone(), writer.collection());
    paths.insert(format!("{root}/{{name}}"), writer.item(schema, true));
    for subresource in served.subresources {
        let scale = *subresource == "scale";
        writer.gvk = if scale {
            json!({ "group": "autoscaling", "kind": "Scale", "version": "v1" })
        } else {
            json!({ "group": group, "kind": served.kind, "version": version })
        };
        let of = if scale { SCALE } else { schema };
        paths.insert(format!("{root}/{{name}}/{subresource}"), writer.item(of, false));
    }
}
