//! The values of an object that have another type than the schema of its kind says, all of them. Only objects without
//! any are decoded as they are. No I/O.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::api::crd::schema_of;
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
    let mut found = Vec::new();
    if let Some(schema) = schema_of(kind) {
        walk(object, schema, &Path::Root(""), &mut found);
    }
    found
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
fn walk(value: &Value, schema: &Value, path: &Path<'_>, found: &mut Vec<WrongType>) {
    if found.len() == MOST || value.is_null() {
        return;
    }
    if let Some((cause, detail)) = mismatch(value, schema) {
        let violation = Violation::new(RULE, path, cause, detail);
        found.push(WrongType { pointer: path.pointer(), nothing: nothing(path, schema), violation });
        return;
    }
    match value {
        Value::Object(members) => {
            let properties = schema.get("properties");
            for (name, member) in members {
                if let Some(schema) = properties.and_then(|properties| properties.get(name)) {
                    walk(member, schema, &path.field(name), found);
                } else if let Some(schema) = schema.get("additionalProperties") {
                    walk(member, schema, &path.key(name), found);
                }
            }
        }
        Value::Array(elements) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, element) in elements.iter().enumerate() {
                walk(element, schema, &path.index(index), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Why `value` is not of the type of `schema`, and what would be right.
fn mismatch(value: &Value, schema: &Value) -> Option<(Cause, String)> {
    let keyword = |name: &str| schema.get(name).and_then(Value::as_str).unwrap_or_default();
    let (fits, expected) = match (keyword("type"), keyword("format")) {
        _ if schema.get("x-kubernetes-int-or-string").is_some() => return not_a_quantity(value),
        ("string", "date-time") => (is_time(value), "a time such as \"2026-01-31T08:30:00Z\""),
        ("string", _) => (value.is_string(), "a string"),
        ("boolean", _) => (value.is_boolean(), "true or false"),
        ("integer", "int32") => {
            let fits = value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
            (fits, "a whole number from -2147483648 to 2147483647")
        }
        ("integer", _) => (value.is_i64(), "a whole number from -9223372036854775808 to 9223372036854775807"),
        ("number", _) => (value.is_number(), "a number"),
        ("object", _) => (value.is_object(), "an object"),
        ("array", _) => match value.as_array() {
            Some(list) => return too_many(list.len(), schema),
            None => (false, "a list"),
        },
        _ => return None,
    };
    (!fits).then(|| (Cause::TypeInvalid(shown(value)), format!("must be {expected}")))
}

/// Why a list of `count` elements is not looked into. Up to twice the limit of the schema the rules tell it, with all
/// else: a body of empty elements would otherwise take a multiple of its size in memory.
fn too_many(count: usize, schema: &Value) -> Option<(Cause, String)> {
    let limit = schema.get("maxItems").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
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

/// What a value at `path` is replaced with: a member is absent, an element or an entry of a map is empty.
fn nothing(path: &Path<'_>, schema: &Value) -> Value {
    if matches!(path, Path::Field(..)) {
        return Value::Null;
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => json!({}),
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(0),
        _ => json!(""),
    }
}
