//! A CustomResourceDefinition -> its kind, and stored objects decoded by that kind. No I/O.

use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, OnceLock},
};

use parking_lot::Mutex;
use serde_json::Value;

use super::super::{
    object::{self, Object, text_at},
    schema::Structural,
    status::qualified,
};
use super::{Behaviour, Column, Resource, ScalePaths, Version};

impl Resource {
    /// The object as decoded from the store, where that differs from the stored one: by the current schema, regardless
    /// of the schema with which it was written.
    pub fn decoded(&self, version: &Version, object: &Object) -> Option<Object> {
        let schema = version.schema.as_ref().filter(|_| object.version() <= self.since)?;
        let mut value = object.value().clone();
        schema.prune(&mut value);
        schema.default(&mut value);
        (value != *object.value()).then(|| Object::new(value, object.version()))
    }
}

/// The kind of a CustomResourceDefinition.
///
/// # Errors
/// When a schema is not structural.
pub fn from_definition(definition: &Value) -> Result<Resource, String> {
    let names = |key: &str| text_at(definition, &["spec", "names", key]).to_owned();
    let list = |key: &str| strings(object::at(definition, &["spec", "names", key]));
    let (group, plural, kind) = (text_at(definition, &["spec", "group"]).to_owned(), names("plural"), names("kind"));
    let declared = definition.get("spec").and_then(|spec| spec.get("versions")).and_then(Value::as_array);
    let mut versions = Vec::new();
    let mut stored_as = String::new();
    for version in declared.into_iter().flatten() {
        let name = text_at(version, &["name"]);
        if version.get("storage").and_then(Value::as_bool) == Some(true) {
            stored_as = format!("{group}/{name}");
        }
        if version.get("served").and_then(Value::as_bool) == Some(true) {
            versions.push(known_version(version, name)?);
        }
    }
    versions.sort_by_key(|version| std::cmp::Reverse(priority(&version.name)));
    let singular = Some(names("singular")).filter(|name| !name.is_empty()).unwrap_or_else(|| kind.to_lowercase());
    let list_kind = Some(names("listKind")).filter(|name| !name.is_empty()).unwrap_or_else(|| format!("{kind}List"));
    Ok(Resource {
        bucket: qualified(&plural, &group).into(),
        group,
        plural,
        singular,
        kind,
        list_kind,
        short_names: list("shortNames"),
        categories: list("categories"),
        namespaced: text_at(definition, &["spec", "scope"]) == "Namespaced",
        versions,
        stored_as,
        behaviour: Behaviour { generation: true, custom: true, ..Behaviour::default() },
        defined: Arc::new(definition.get("spec").cloned().unwrap_or_default()),
        since: 0,
    })
}

/// Most versions that are remembered in their compiled form.
const MOST_KNOWN: usize = 256;

/// As [`defined_version`]; the same text is compiled once for all servers of the process.
fn known_version(version: &Value, name: &str) -> Result<Arc<Version>, String> {
    static KNOWN: LazyLock<Mutex<HashMap<Value, Arc<Version>>>> = LazyLock::new(Mutex::default);
    if let Some(known) = KNOWN.lock().get(version) {
        return Ok(Arc::clone(known));
    }
    let made = Arc::new(defined_version(version, name)?);
    let mut known = KNOWN.lock();
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    known.insert(version.clone(), Arc::clone(&made));
    Ok(made)
}

fn defined_version(version: &Value, name: &str) -> Result<Version, String> {
    let schema = object::at(version, &["schema", "openAPIV3Schema"]);
    let subresource = |key: &str| object::at(version, &["subresources", key]).filter(|found| !found.is_null());
    let scale = subresource("scale").map(|scale| ScalePaths {
        spec: text_at(scale, &["specReplicasPath"]).to_owned(),
        status: text_at(scale, &["statusReplicasPath"]).to_owned(),
        selector: scale.get("labelSelectorPath").and_then(Value::as_str).map(str::to_owned),
    });
    let items = |key: &str| version.get(key).and_then(Value::as_array).into_iter().flatten();
    Ok(Version {
        name: name.to_owned(),
        status: subresource("status").is_some(),
        scale,
        columns: items("additionalPrinterColumns").map(column).collect(),
        schema: schema.map(Structural::compile).transpose()?.map(Arc::new),
        raw_schema: schema.cloned().map(Arc::new),
        lists: OnceLock::new(),
        selectable: items("selectableFields").map(|field| text_at(field, &["jsonPath"]).to_owned()).collect(),
        normalise: None,
    })
}

fn column(column: &Value) -> Column {
    Column {
        name: text_at(column, &["name"]).to_owned(),
        path: text_at(column, &["jsonPath"]).to_owned(),
        kind: text_at(column, &["type"]).to_owned(),
        priority: column.get("priority").and_then(Value::as_i64).unwrap_or_default(),
    }
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Order of versions: stable before beta before alpha, higher numbers first.
pub fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    let (major, tail) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    let major = major.parse().unwrap_or_default();
    match (tail.strip_prefix("beta"), tail.strip_prefix("alpha")) {
        (Some(minor), _) => (2, major, minor.parse().unwrap_or_default()),
        (_, Some(minor)) => (1, major, minor.parse().unwrap_or_default()),
        _ if tail.is_empty() => (3, major, 0),
        _ => (0, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut names = ["v1alpha1", "v1", "v2beta1", "v10", "foo", "v2"];
        names.sort_by_key(|name| std::cmp::Reverse(priority(name)));
        assert_eq!(names, ["v10", "v2", "v1", "v2beta1", "v1alpha1", "foo"]);
    }
}
