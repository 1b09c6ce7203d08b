//! Validates a value against its schema, with kube-apiserver's messages, and ignores unchanged errors of the old value.
//! No I/O.

use serde_json::{Map, Value};

use super::formats;
use super::lists::key_of;
use super::node::{Bound, ListType, Node, Others};
use crate::field::{Fault, FieldError};
use crate::fields::element::same;

/// Result of one path: its errors and the number of passed checks, by which the best alternative is selected.
#[derive(Default)]
struct Outcome {
    errors: Vec<FieldError>,
    held: usize,
}

impl Outcome {
    fn merge(&mut self, other: Self) {
        self.errors.extend(other.errors);
        self.held += other.held;
    }

    fn fails(error: FieldError) -> Self {
        Self { errors: vec![error], held: 0 }
    }
}

/// The old value at a path, if any.
pub(super) type Old<'a> = Option<&'a Value>;

/// All errors against the schema except those of CEL rules.
pub(super) fn validate(node: &Node, new: &Value, old: Old<'_>) -> Vec<FieldError> {
    let mut errors = place(node, "", new, old).errors;
    if old.is_some_and(|old| same(old, new)) {
        errors.clear();
    }
    errors
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// A child: if it is unchanged, its errors do not count.
fn ratcheted(node: &Node, path: &str, value: &Value, old: Old<'_>) -> Outcome {
    let mut outcome = place(node, path, value, old);
    if old.is_some_and(|old| same(old, value)) {
        outcome.errors.clear();
    }
    outcome
}

fn place(node: &Node, path: &str, value: &Value, old: Old<'_>) -> Outcome {
    let mut out = Outcome::default();
    if value.is_null() {
        out.merge(type_of(node, path, value));
        out.merge(enumerated(node, path, value));
        return out;
    }
    let typed = !node.types.is_empty() || !node.format.is_empty();
    if typed {
        out.merge(type_of(node, path, value));
        out.held += 1;
    }
    out.merge(junctors(node, path, value, old));
    out.held += 1;
    match value {
        Value::String(text) => {
            out.merge(string(node, path, text));
            out.held += 1;
            if !node.format.is_empty() && !matches!(node.type_name(), "integer" | "number") {
                out.merge(format(node, path, text));
                out.held += 1;
            }
        }
        Value::Number(_) => {
            out.merge(number(node, path, value));
            out.held += 1;
        }
        Value::Array(items) => {
            out.merge(list(node, path, items, old));
            out.held += 1;
        }
        _ => {}
    }
    out.merge(enumerated(node, path, value));
    out.held += 1;
    if let Value::Object(members) = value {
        out.merge(object(node, path, members, old));
        out.held += 1;
    }
    out.held += 1;
    out
}

fn body(path: &str, rest: &str) -> String {
    format!("{path} in body {rest}")
}

/// The JSON type and the format of a decoded value.
fn seen(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
    }
}

fn type_of(node: &Node, path: &str, value: &Value) -> Outcome {
    let wrong = |want: &str, got: &str| {
        let detail = body(path, &format!("must be of type {want}: {got:?}"));
        Outcome::fails(FieldError::new(Fault::TypeInvalid, path, got, detail))
    };
    let wanted = node.types.join(",");
    let fine = Outcome { errors: Vec::new(), held: 1 };
    let takes = |name: &str| node.types.iter().any(|type_| type_ == name);
    let (type_, format) = seen(value);
    if value.is_null() {
        return if node.types.is_empty() || node.nullable { fine } else { wrong(&wanted, "null") };
    }
    let small = value.as_f64().is_some_and(|number| number.abs() < 9.007_199_254_740_992e15);
    let whole_float = type_ == "number" && whole_number(value) && small && takes("integer");
    let int_as_number = type_ == "integer" && takes("number");
    let text = matches!(value, Value::String(_) | Value::Array(_));
    let numeric = takes("number") || takes("integer");
    let fits = takes(type_) || whole_float || int_as_number;
    match (text, node.format.is_empty()) {
        (false, false) if !fits && format != node.format => wrong(&node.format, format),
        (true, false) if !numeric => fine,
        _ if fits => fine,
        _ => wrong(&wanted, type_),
    }
}

fn enumerated(node: &Node, path: &str, value: &Value) -> Outcome {
    if node.enum_.is_empty() || node.enum_.iter().any(|one| same(one, value)) {
        return Outcome::default();
    }
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = node.enum_.iter().map(|value| format!("{:?}", shown(value))).collect();
    let detail = format!("supported values: {}", values.join(", "));
    Outcome::fails(FieldError::new(Fault::NotSupported, path, value.clone(), detail))
}

fn string(node: &Node, path: &str, text: &str) -> Outcome {
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    if let Some(most) = node.max_length.filter(|most| length > *most) {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {unit}");
        return Outcome::fails(FieldError::bare(Fault::TooLong, path, detail));
    }
    let invalid = |detail: String| Outcome::fails(FieldError::new(Fault::Invalid, path, text, body(path, &detail)));
    if let Some(least) = node.min_length.filter(|least| length < *least) {
        return invalid(format!("should be at least {least} chars long"));
    }
    match &node.pattern {
        Some((pattern, regex)) if !regex.is_match(text) => invalid(format!("should match '{pattern}'")),
        _ => Outcome::default(),
    }
}

fn format(node: &Node, path: &str, text: &str) -> Outcome {
    if formats::holds(&node.format, text) {
        return Outcome::default();
    }
    let detail = body(path, &format!("must be of type {}: {text:?}", node.format));
    Outcome::fails(FieldError::new(Fault::TypeInvalid, path, text, detail))
}

fn number(node: &Node, path: &str, value: &Value) -> Outcome {
    let mut out = Outcome { errors: Vec::new(), held: 1 };
    let given = value.as_f64().unwrap_or_default();
    if let Some(what) = out_of_range(node, value) {
        out.errors.push(whole(format!("Checked value must be of type {what} in {path}")));
    }
    let mut fail = |detail: String| out.errors.push(FieldError::new(Fault::Invalid, path, value.clone(), detail));
    if let Some(factor) = node.multiple_of {
        let rest = (given / factor).fract();
        if rest != 0.0 {
            fail(body(path, &format!("should be a multiple of {factor}")));
        }
    }
    // Kubernetes compares whole numbers with whole bounds.
    let cut = |bound: Bound| Bound { at: if value.is_i64() { bound.at.trunc() } else { bound.at }, ..bound };
    let Bound { at, exclusive } = node.minimum.map_or(Bound { at: f64::NEG_INFINITY, exclusive: false }, cut);
    if given < at || (exclusive && given <= at) {
        let than = if exclusive { "greater than" } else { "greater than or equal to" };
        fail(body(path, &format!("should be {than} {at}")));
    }
    let Bound { at, exclusive } = node.maximum.map_or(Bound { at: f64::INFINITY, exclusive: false }, cut);
    if given > at || (exclusive && given >= at) {
        let than = if exclusive { "less than" } else { "less than or equal to" };
        fail(body(path, &format!("should be {than} {at}")));
    }
    out
}

fn whole_number(value: &Value) -> bool {
    value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// The type that cannot represent the number.
fn out_of_range(node: &Node, value: &Value) -> Option<String> {
    let type_ = node.types.first().filter(|_| node.types.len() == 1)?;
    let fits = match (type_.as_str(), node.format.as_str()) {
        ("integer", "int32") => {
            whole_number(value) && value.as_f64().is_some_and(|n| (-2_147_483_648.0..=2_147_483_647.0).contains(&n))
        }
        ("integer", _) => {
            value.as_i64().is_some() || (whole_number(value) && value.as_f64().is_some_and(|n| n.abs() < 9.2e18))
        }
        ("number", "float") => value.as_f64().is_some_and(|number| number.abs() <= f64::from(f32::MAX)),
        _ => true,
    };
    (!fits).then(|| {
        if node.format.is_empty() {
            format!("{type_} (default format)")
        } else {
            format!("{type_} with format {}", node.format)
        }
    })
}

fn size_errors(path: &str, size: usize, least: Option<i64>, most: Option<i64>, what: &str) -> Vec<FieldError> {
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let mut errors = Vec::new();
    if let Some(least) = least.filter(|least| size < *least) {
        let detail = body(path, &format!("should have at least {least} {what}"));
        errors.push(FieldError::new(Fault::Invalid, path, size, detail));
    }
    if let Some(most) = most.filter(|most| size > *most) {
        let items = if most == 1 { "item" } else { "items" };
        errors.push(FieldError::new(Fault::TooMany, path, size, format!("must have at most {most} {items}")));
    }
    errors
}

/// The old element that matches an element of a list: only lists of kind `map` have one.
pub(super) fn old_item<'a>(node: &Node, item: &Value, old: Old<'a>) -> Old<'a> {
    if node.list_type != ListType::Map {
        return None;
    }
    let key = key_of(node, item);
    old?.as_array()?.iter().find(|candidate| same(&key_of(node, candidate), &key))
}

fn list(node: &Node, path: &str, items: &[Value], old: Old<'_>) -> Outcome {
    let mut out = Outcome { errors: Vec::new(), held: 1 };
    if let Some(of) = &node.items {
        for (at, item) in items.iter().enumerate() {
            out.merge(ratcheted(of, &format!("{path}[{at}]"), item, old_item(node, item, old)));
        }
    }
    out.errors.extend(size_errors(path, items.len(), node.min_items, node.max_items, "items"));
    let repeated = |at: usize, item: &Value| items.iter().take(at).any(|other| same(other, item));
    if node.unique && items.iter().enumerate().any(|(at, item)| repeated(at, item)) {
        out.errors.push(FieldError::new(Fault::Invalid, path, "", body(path, "shouldn't contain duplicates")));
    }
    out
}

pub(super) fn old_member<'a>(path: &str, name: &str, old: Old<'a>) -> Old<'a> {
    if path.is_empty() && matches!(name, "kind" | "apiVersion") { None } else { old?.get(name) }
}

fn object(node: &Node, path: &str, members: &Map<String, Value>, old: Old<'_>) -> Outcome {
    let mut out = Outcome::default();
    out.errors.extend(size_errors(path, members.len(), node.min_properties, node.max_properties, "properties"));
    for (name, member) in members.iter().filter(|(name, _)| !node.properties.contains_key(*name)) {
        match &node.others {
            Others::Never => {
                let detail = format!("{path}.{name} in body is a forbidden property");
                out.errors.push(FieldError::new(Fault::Invalid, path, name.as_str(), detail));
            }
            Others::Like(node) => {
                out.merge(ratcheted(node, &format!("{path}.{name}"), member, old_member(path, name, old)));
            }
            Others::Unsaid | Others::Any => {}
        }
    }
    for (name, node) in &node.properties {
        if let Some(member) = members.get(name) {
            out.merge(ratcheted(node, &join(path, name), member, old_member(path, name, old)));
        }
    }
    for name in node.required.iter().filter(|name| !members.contains_key(*name)) {
        out.errors.push(FieldError::bare(Fault::Required, &format!("{path}.{name}"), ""));
    }
    out
}

fn whole(detail: String) -> FieldError {
    FieldError::new(Fault::Invalid, "", "", detail)
}

fn junctors(node: &Node, path: &str, value: &Value, old: Old<'_>) -> Outcome {
    let mut out = Outcome::default();
    if !node.any_of.is_empty() {
        let all: Vec<Outcome> = node.any_of.iter().map(|one| place(one, path, value, old)).collect();
        if all.iter().all(|outcome| !outcome.errors.is_empty()) {
            out.errors.push(whole(format!("{path:?} must validate at least one schema (anyOf)")));
        }
        out.merge(chosen(all));
    }
    if !node.one_of.is_empty() {
        let all: Vec<Outcome> = node.one_of.iter().map(|one| place(one, path, value, old)).collect();
        let valid = all.iter().filter(|outcome| outcome.errors.is_empty()).count();
        if valid != 1 {
            let why =
                if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
            out.errors.push(whole(format!("{path:?} must validate one and only one schema (oneOf). {why}")));
        }
        if valid <= 1 {
            out.merge(chosen(all));
        }
    }
    if !node.all_of.is_empty() {
        let mut valid = 0;
        for one in &node.all_of {
            let outcome = place(one, path, value, old);
            valid += usize::from(outcome.errors.is_empty());
            out.merge(outcome);
        }
        if valid < node.all_of.len() {
            let why = if valid == 0 { ". None validated" } else { "" };
            out.errors.push(whole(format!("{path:?} must validate all the schemas (allOf){why}")));
        }
    }
    if node.not.as_ref().is_some_and(|not| place(not, path, value, old).errors.is_empty()) {
        out.errors.push(whole(format!("{path:?} must not validate the schema (not)")));
    }
    out.held += 1;
    out
}

/// The first alternative without errors, otherwise the one with the most passed checks.
fn chosen(all: Vec<Outcome>) -> Outcome {
    let mut best: Option<Outcome> = None;
    for outcome in all {
        if outcome.errors.is_empty() {
            return outcome;
        }
        if best.as_ref().is_none_or(|best| outcome.held > best.held) {
            best = Some(outcome);
        }
    }
    best.unwrap_or_default()
}
