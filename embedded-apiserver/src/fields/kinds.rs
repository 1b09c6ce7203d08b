//! How each list and object of a kind is owned - map, set, granular or atomic - compiled from its schema. No I/O.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::builtins;

/// A type in [`ListKinds`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeId(usize);

/// Allowed scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    /// Integers and floats.
    Numeric,
    /// Strings.
    Text,
    /// Booleans.
    Boolean,
    /// Any of them.
    Untyped,
}

/// A list.
#[derive(Clone, Debug)]
pub(crate) struct ListOf {
    /// Owned as one value.
    pub(crate) atomic: bool,
    /// The members that identify an element; empty in a list that is not atomic: a set.
    pub(crate) keys: Vec<String>,
    /// The type of the elements.
    pub(crate) element: TypeId,
}

/// A declared member of an object.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    /// Its type.
    pub(crate) of: TypeId,
    /// Its default, which completes a list key.
    pub(crate) default: Option<Value>,
}

/// An object.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapOf {
    /// Owned as one value.
    pub(crate) atomic: bool,
    /// Declared members.
    pub(crate) fields: BTreeMap<String, Field>,
    /// The type of all other members; `None`: others are not allowed.
    pub(crate) element: Option<TypeId>,
}

impl MapOf {
    /// The type of a member.
    pub(crate) fn of(&self, name: &str) -> Option<TypeId> {
        self.fields.get(name).map(|field| field.of).or(self.element)
    }
}

/// A type: the allowed values, and how they are owned.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atom {
    /// As a scalar.
    pub(crate) scalar: Option<Scalar>,
    /// As a list.
    pub(crate) list: Option<ListOf>,
    /// As an object.
    pub(crate) map: Option<MapOf>,
}

/// The shape of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Number, string or boolean.
    Scalar,
    /// List.
    List,
    /// Object.
    Map,
}

impl Atom {
    /// The shape that matches the value; if none does, the first that the type allows.
    pub(crate) const fn shape(&self, value: Option<&Value>) -> Shape {
        match value {
            Some(Value::Number(_) | Value::String(_) | Value::Bool(_)) if self.scalar.is_some() => Shape::Scalar,
            Some(Value::Array(_)) if self.list.is_some() => Shape::List,
            _ if self.map.is_some() => Shape::Map,
            _ if self.scalar.is_some() => Shape::Scalar,
            _ => Shape::List,
        }
    }
}

/// How the fields of one kind are owned and merged.
#[derive(Clone, Debug)]
pub struct ListKinds {
    types: Vec<Atom>,
    root: TypeId,
    status_subresource: bool,
    built_in: bool,
    blank: Value,
}

/// Any value, owned as a whole.
const UNTYPED: TypeId = TypeId(0);
/// Any value; objects are granular, lists atomic.
const DEDUCED: TypeId = TypeId(1);

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
/// Any value, which the client library describes as an object.
const ANY: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Compiled tables of built-in kinds by (group, version, kind).
type ListKindsCache = Mutex<BTreeMap<(String, String, String), Arc<ListKinds>>>;

impl ListKinds {
    /// The table of a built-in kind; `None` when the kind is not built in.
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Arc<Self>> {
        static CACHE: LazyLock<ListKindsCache> = LazyLock::new(ListKindsCache::default);
        let key = (group.to_owned(), version.to_owned(), kind.to_owned());
        let mut cache = CACHE.lock();
        if let Some(found) = cache.get(&key) {
            return Some(Arc::clone(found));
        }
        let name = builtins::definition_name(group, version, kind)?;
        let schema = builtins::definition(name)?;
        let status = schema.pointer("/properties/status").is_some();
        let blank = builtins::blank(schema);
        let kinds = Self { built_in: true, status_subresource: status, blank, ..Self::compile(schema) };
        let kinds = Arc::new(kinds);
        cache.insert(key, Arc::clone(&kinds));
        Some(kinds)
    }

    /// The table of a custom kind, from the `openAPIV3Schema` of its version.
    #[must_use]
    pub fn custom(schema: &Value) -> Self {
        let mut schema = schema.clone();
        let text = || serde_json::json!({ "type": "string" });
        if let Some(root) = schema.as_object_mut() {
            let properties = root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            if let Some(properties) = properties.as_object_mut() {
                properties.insert("apiVersion".into(), text());
                properties.insert("kind".into(), text());
                let meta = format!("#/components/schemas/{OBJECT_META}");
                properties.insert("metadata".into(), serde_json::json!({ "$ref": meta }));
            }
        }
        Self::compile(&schema)
    }

    /// The table for a schema whose references lead to built-in definitions.
    #[must_use]
    pub fn compile(schema: &Value) -> Self {
        let list = |element| Some(ListOf { atomic: true, keys: Vec::new(), element });
        let map = |atomic, element| Some(MapOf { atomic, element: Some(element), ..MapOf::default() });
        let untyped = Atom { scalar: Some(Scalar::Untyped), list: list(UNTYPED), map: map(true, UNTYPED) };
        let deduced = Atom { scalar: Some(Scalar::Untyped), list: list(UNTYPED), map: map(false, DEDUCED) };
        let mut compiler = Compiler { types: vec![untyped, deduced], named: BTreeMap::new() };
        let root = compiler.inline(schema, false);
        Self {
            types: compiler.types,
            root,
            status_subresource: false,
            built_in: false,
            blank: Value::Object(Map::new()),
        }
    }

    /// Sets whether `status` is written through its subresource only.
    #[must_use]
    pub fn with_status_subresource(mut self, yes: bool) -> Self {
        self.status_subresource = yes;
        self
    }

    /// Whether `status` is written through its subresource only.
    pub const fn has_status_subresource(&self) -> bool {
        self.status_subresource
    }

    /// Whether the kind omits a member instead of writing this empty value.
    pub(crate) fn drops_when_empty(&self, of: TypeId, value: &Value) -> bool {
        let plain_map = || self.atom(of).map.as_ref().is_some_and(|map| map.fields.is_empty());
        self.built_in
            && match value {
                Value::Array(items) => items.is_empty(),
                Value::Object(members) => members.is_empty() && plain_map(),
                _ => false,
            }
    }

    /// The content of an object of the kind before anything is set.
    pub(crate) const fn blank(&self) -> &Value {
        &self.blank
    }

    /// Whether the kind is built in.
    pub const fn is_built_in(&self) -> bool {
        self.built_in
    }

    /// The type of the whole object.
    pub(crate) const fn root(&self) -> TypeId {
        self.root
    }

    /// The type with this id.
    pub(crate) fn atom(&self, id: TypeId) -> &Atom {
        static NOTHING: Atom = Atom { scalar: None, list: None, map: None };
        self.types.get(id.0).unwrap_or(&NOTHING)
    }
}

struct Compiler {
    types: Vec<Atom>,
    named: BTreeMap<(String, Option<bool>), TypeId>,
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

/// The definition a schema refers to, directly or as the only part of an `allOf`.
fn reference(schema: &Value) -> Option<&str> {
    let parts = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice);
    let only = match parts {
        Some([only]) => text(only, "$ref"),
        _ => None,
    };
    text(schema, "$ref").or(only).and_then(|path| path.rsplit('/').next())
}

/// Whether the object is atomic, when the schema says so.
fn map_relation(schema: &Value) -> Option<bool> {
    text(schema, "x-kubernetes-map-type").map(|kind| kind == "atomic")
}

impl Compiler {
    fn add(&mut self, atom: Atom) -> TypeId {
        self.types.push(atom);
        TypeId(self.types.len() - 1)
    }

    fn of(&mut self, schema: &Value, preserve: bool) -> TypeId {
        let Some(name) = reference(schema) else { return self.inline(schema, preserve) };
        if name == RAW_EXTENSION {
            return UNTYPED;
        }
        if name == ANY {
            return DEDUCED;
        }
        let key = (name.to_owned(), map_relation(schema));
        if let Some(id) = self.named.get(&key) {
            return *id;
        }
        let Some(definition) = builtins::definition(name) else { return DEDUCED };
        let id = self.add(Atom::default());
        self.named.insert(key, id);
        let mut atom = if name == QUANTITY {
            Atom { scalar: Some(Scalar::Untyped), ..Atom::default() }
        } else {
            self.parse(definition, false)
        };
        if let (Some(atomic), Some(map)) = (map_relation(schema), atom.map.as_mut()) {
            map.atomic = atomic;
        }
        if let Some(place) = self.types.get_mut(id.0) {
            *place = atom;
        }
        id
    }

    fn inline(&mut self, schema: &Value, preserve: bool) -> TypeId {
        let atom = self.parse(schema, preserve);
        self.add(atom)
    }

    fn parse(&mut self, schema: &Value, preserve: bool) -> Atom {
        let preserve =
            preserve || schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool).unwrap_or_default();
        let scalar = |scalar| Atom { scalar: Some(scalar), ..Atom::default() };
        let int_or_string = schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool).unwrap_or_default();
        match text(schema, "type") {
            _ if int_or_string => scalar(Scalar::Untyped),
            Some("object") => Atom { map: Some(self.map(schema, preserve)), ..Atom::default() },
            Some("array") => Atom { list: Some(self.list(schema, preserve)), ..Atom::default() },
            Some("integer" | "number") => scalar(Scalar::Numeric),
            Some("boolean") => scalar(Scalar::Boolean),
            Some("string") if matches!(text(schema, "format"), None | Some("" | "byte")) => scalar(Scalar::Text),
            Some(_) => scalar(Scalar::Untyped),
            None => Atom {
                scalar: Some(Scalar::Untyped),
                list: Some(self.list(schema, preserve)),
                map: Some(self.map(schema, preserve)),
            },
        }
    }

    fn map(&mut self, schema: &Value, preserve: bool) -> MapOf {
        let mut fields = BTreeMap::new();
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let of = self.of(member, preserve);
            fields.insert(name.clone(), Field { of, default: member.get("default").cloned() });
        }
        let element = match schema.get("additionalProperties") {
            None if preserve || fields.is_empty() => Some(DEDUCED),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(DEDUCED),
            Some(other) => Some(self.of(other, preserve)),
        };
        MapOf { atomic: map_relation(schema).unwrap_or_default(), fields, element }
    }

    fn list(&mut self, schema: &Value, preserve: bool) -> ListOf {
        let element = schema.get("items").map_or(UNTYPED, |items| self.of(items, preserve));
        let texts = |value: &Value| -> Vec<String> {
            value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let (atomic, keys) = match text(schema, "x-kubernetes-list-type") {
            Some("set") => (false, Vec::new()),
            Some("map") => (false, schema.get("x-kubernetes-list-map-keys").map(texts).unwrap_or_default()),
            None if text(schema, "x-kubernetes-patch-strategy").is_some_and(|how| how.starts_with("merge")) => {
                (false, text(schema, "x-kubernetes-patch-merge-key").map(str::to_owned).into_iter().collect())
            }
            _ => (true, Vec::new()),
        };
        ListOf { atomic, keys, element }
    }
}
