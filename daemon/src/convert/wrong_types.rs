//! The values of an object that have another type than the schema of its kind says, all of them. Only objects without
//! any are decoded as they are. No I/O.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::crd::schemas;
use crate::decision::finding::{BadValue, Cause, Violation};
use crate::decision::path::Path;
use crate::decision::quantity;

/// Name of the rule.
const RULE: &str = "decode";
/// Most values that are told: with as many the rest of an object is not looked at.
pub(super) const MOST: usize = 64;
/// Most elements of a list for which the schema has no limit.
const LONGEST_LIST: usize = 10_000;

/// A value of the wrong type.
pub(super) struct WrongType {
    /// JSON pointer of the value.
    pointer: String,
    /// A value of the right type that says nothing.
    nothing: Value,
    /// The error.
    pub(super) violation: Violation,
}

/// The values of `object` with the wrong type; of an unknown kind none.
pub(super) fn find(kind: &str, object: &Value) -> Vec<WrongType> {
    static SHAPES: LazyLock<Vec<(&'static str, Shape)>> =
        LazyLock::new(|| schemas().iter().map(|(kind, schema)| (*kind, Shape::of(schema))).collect());
    let mut found = Vec::new();
    if let Some((_, shape)) = SHAPES.iter().find(|(name, _)| *name == kind) {
        walk(object, shape, &Path::Root(""), &mut found);
    }
    found
}

/// The values that a schema allows, read from it once: each value of each review is compared with one.
enum Shape {
    Any,
    Quantity,
    Time,
    Text,
    Boolean,
    Int32,
    Int64,
    Number,
    Object { members: HashMap<String, Shape>, others: Option<Box<Shape>> },
    List { limit: Option<usize>, elements: Option<Box<Shape>> },
}

impl Shape {
    fn of(schema: &Value) -> Self {
        let keyword = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
        let inner = |name: &str| schema.get(name).map(|schema| Box::new(Self::of(schema)));
        match (keyword("type"), keyword("format")) {
            _ if schema.get("x-kubernetes-int-or-string").is_some() => Self::Quantity,
            ("string", "date-time") => Self::Time,
            ("string", _) => Self::Text,
            ("boolean", _) => Self::Boolean,
            ("integer", "int32") => Self::Int32,
            ("integer", _) => Self::Int64,
            ("number", _) => Self::Number,
            ("object", _) => {
                let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                let members = members.map(|(name, schema)| (name.clone(), Self::of(schema))).collect();
                Self::Object { members, others: inner("additionalProperties") }
            }
            ("array", _) => {
                let limit = schema.get("maxItems").and_then(Value::as_u64);
                let limit = limit.and_then(|most| usize::try_from(most).ok());
                Self::List { limit, elements: inner("items") }
            }
            _ => Self::Any,
        }
    }

    /// Why `value` is not of this shape, and what would be right.
    fn mismatch(&self, value: &Value) -> Option<(Cause, String)> {
        let (fits, expected) = match self {
            Self::Any => return None,
            Self::Quantity => return not_a_quantity(value),
            Self::Time => (is_time(value), "a time such as \"2026-01-31T08:30:00Z\""),
            Self::Text => (value.is_string(), "a string"),
            Self::Boolean => (value.is_boolean(), "true or false"),
            Self::Int32 => {
                let fits = value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
                (fits, "a whole number from -2147483648 to 2147483647")
            }
            Self::Int64 => (value.is_i64(), "a whole number from -9223372036854775808 to 9223372036854775807"),
            Self::Number => (value.is_number(), "a number"),
            Self::Object { .. } => (value.is_object(), "an object"),
            Self::List { limit, .. } => match value.as_array() {
                Some(list) => return too_many(list.len(), *limit),
                None => (false, "a list"),
            },
        };
        (!fits).then(|| (Cause::TypeInvalid(shown(value)), format!("must be {expected}")))
    }

    /// What a value at `path` is replaced with: a member is absent, an element or an entry of a map is empty.
    fn nothing(&self, path: &Path<'_>) -> Value {
        match self {
            _ if matches!(path, Path::Field(..)) => Value::Null,
            Self::Object { .. } => json!({}),
            Self::List { .. } => json!([]),
            Self::Boolean => json!(false),
            Self::Int32 | Self::Int64 | Self::Number => json!(0),
            Self::Any | Self::Quantity | Self::Time | Self::Text => json!(""),
        }
    }
}

/// `object` without the values that were `found` in it.
pub(super) fn removed(mut object: Value, found: &[WrongType]) -> Value {
    for wrong in found {
        if let Some(value) = object.pointer_mut(&wrong.pointer) {
            *value = wrong.nothing.clone();
        }
    }
    object
}

/// Null is of every type: it stands for an absent member, and for an element without members.
fn walk(value: &Value, shape: &Shape, path: &Path<'_>, found: &mut Vec<WrongType>) {
    if found.len() == MOST || value.is_null() {
        return;
    }
    if let Some((cause, detail)) = shape.mismatch(value) {
        let violation = Violation::new(RULE, path, cause, detail);
        found.push(WrongType { pointer: path.pointer(), nothing: shape.nothing(path), violation });
        return;
    }
    match (value, shape) {
        (Value::Object(object), Shape::Object { members, others }) => {
            for (name, member) in object {
                if let Some(shape) = members.get(name) {
                    walk(member, shape, &path.field(name), found);
                } else if let Some(shape) = others {
                    walk(member, shape, &path.key(name), found);
                }
            }
        }
        (Value::Array(list), Shape::List { elements: Some(shape), .. }) => {
            for (index, element) in list.iter().enumerate() {
                walk(element, shape, &path.index(index), found);
            }
        }
        _ => {}
    }
}

/// Why a list of `count` elements is not looked into. Up to twice the limit of the schema the rules tell it, with all
/// else: a body of empty elements would otherwise take a multiple of its size in memory.
fn too_many(count: usize, limit: Option<usize>) -> Option<(Cause, String)> {
    let max = limit.unwrap_or(LONGEST_LIST);
    let most = limit.map_or(max, |limit| limit.saturating_mul(2));
    (count > most).then(|| (Cause::TooMany { count, max }, String::new()))
}

/// Why `value` is not a quantity. The API server cannot store a fraction without quotes.
fn not_a_quantity(value: &Value) -> Option<(Cause, String)> {
    let detail = match value {
        Value::String(text) if quantity::sign(quantity::trimmed(text)).is_some() => return None,
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => return None,
        Value::Number(number) => format!("must be in quotes: \"{number}\""),
        _ => "must be a quantity such as \"500m\", \"2\" or \"1Gi\"".to_owned(),
    };
    Some((Cause::TypeInvalid(shown(value)), detail))
}

/// As Go reads a time, which takes no other character between date and time.
fn is_time(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.get(10..11) == Some("T") && text.parse::<Timestamp>().is_ok())
}

/// A value as the message shows it; of lists and objects only what they are.
fn shown(value: &Value) -> BadValue {
    match value {
        Value::String(text) => BadValue::Text(text.clone()),
        Value::Array(_) => BadValue::Text("list".to_owned()),
        Value::Object(_) => BadValue::Text("object".to_owned()),
        scalar => BadValue::Json(scalar.to_string()),
    }
}
