//! Merges an applied configuration into an object, and removes fields from it, by the types of the kind. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::compare::element_of;
use super::element::Element;
use super::kinds::{ListKinds, ListOf, MapOf, Shape, TypeId};
use super::set::Set;

/// The live object merged with the applied one. Errors: a list element without its keys, or a duplicate.
pub(crate) fn merge(kinds: &ListKinds, live: &Value, applied: &Value) -> Result<Value, String> {
    let mut errors = Vec::new();
    let merged = at(kinds, kinds.root(), Some(live), Some(applied), &mut errors);
    if errors.is_empty() { Ok(merged.unwrap_or_else(|| Value::Object(Map::new()))) } else { Err(errors.join("\n")) }
}

fn keep_applied(live: Option<&Value>, applied: Option<&Value>) -> Option<Value> {
    applied.or(live).cloned()
}

fn at(
    kinds: &ListKinds,
    of: TypeId,
    live: Option<&Value>,
    applied: Option<&Value>,
    errors: &mut Vec<String>,
) -> Option<Value> {
    let atom = kinds.atom(of);
    match (atom.shape(applied.or(live)), &atom.list, &atom.map) {
        (Shape::List, Some(list), _) => {
            let [l, r] = [live, applied].map(|side| side.and_then(Value::as_array).map_or(&[][..], Vec::as_slice));
            if list.atomic || (l.is_empty() && r.is_empty()) {
                return keep_applied(live, applied);
            }
            merge_list(kinds, list, l, r, errors)
        }
        (Shape::Map, _, Some(map)) => {
            let [l, r] = [live, applied].map(|side| side.and_then(Value::as_object).filter(|map| !map.is_empty()));
            if map.atomic || (l.is_none() && r.is_none()) {
                return keep_applied(live, applied);
            }
            merge_map(kinds, map, l, r, errors)
        }
        _ => keep_applied(live, applied),
    }
}

fn merge_map(
    kinds: &ListKinds,
    map: &MapOf,
    live: Option<&Map<String, Value>>,
    applied: Option<&Map<String, Value>>,
    errors: &mut Vec<String>,
) -> Option<Value> {
    let mut out = Map::new();
    let names: BTreeSet<&String> = live.into_iter().chain(applied).flatten().map(|(name, _)| name).collect();
    for name in names {
        let (l, r) = (live.and_then(|live| live.get(name)), applied.and_then(|applied| applied.get(name)));
        let merged = match map.of(name) {
            Some(of) => at(kinds, of, l, r, errors),
            None => keep_applied(l, r),
        };
        if let Some(merged) = merged {
            out.insert(name.clone(), merged);
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Path elements in order with their values. A duplicate live element has no value to merge with.
struct Indexed<'a> {
    order: Vec<(Element, &'a Value)>,
    values: BTreeMap<Element, Option<&'a Value>>,
}

fn index<'a>(
    kinds: &ListKinds,
    list: &ListOf,
    items: &'a [Value],
    duplicates: bool,
    errors: &mut Vec<String>,
) -> Indexed<'a> {
    let mut out = Indexed { order: Vec::new(), values: BTreeMap::new() };
    for (number, item) in items.iter().enumerate() {
        match element_of(kinds, list, item) {
            Ok(element) => {
                let found = out.values.contains_key(&element);
                if found && !duplicates {
                    errors.push(format!("duplicate entries for key {element}"));
                    continue;
                }
                out.values.insert(element.clone(), (!found).then_some(item));
                out.order.push((element, item));
            }
            Err(why) => errors.push(format!("element {number}: {why}")),
        }
    }
    out
}

/// The applied order of shared and new elements, with live elements that are not applied kept in their positions.
fn merge_list(
    kinds: &ListKinds,
    list: &ListOf,
    live: &[Value],
    applied: &[Value],
    errors: &mut Vec<String>,
) -> Option<Value> {
    let rhs = index(kinds, list, applied, false, errors);
    let lhs = index(kinds, list, live, true, errors);
    let mut out = Vec::new();
    let mut shared = rhs.order.iter().map(|(element, _)| element).filter(|element| lhs.values.contains_key(*element));
    let mut next_shared = shared.next();
    let mut merged: BTreeSet<&Element> = BTreeSet::new();
    let (mut l, mut r) = (0, 0);
    let both = |element: &Element, errors: &mut Vec<String>| {
        let old = lhs.values.get(element).map(|value| value.unwrap_or(&Value::Null));
        let new = rhs.values.get(element).copied().flatten();
        at(kinds, list.element, old, new, errors)
    };
    loop {
        let (left, right) = (lhs.order.get(l), rhs.order.get(r));
        match (left, right) {
            (None, None) => break,
            (Some((le, _)), Some((re, _))) if le == re => {
                merged.insert(re);
                out.extend(both(re, errors));
                l += 1;
                r += 1;
                next_shared = shared.next();
                continue;
            }
            (Some((le, _)), Some(_)) if rhs.values.contains_key(le) && next_shared.is_some_and(|next| next != le) => {
                l += 1;
                continue;
            }
            _ => {}
        }
        if let Some((le, item)) = left {
            if !rhs.values.contains_key(le) {
                out.extend(at(kinds, list.element, Some(item), None, errors));
                l += 1;
                continue;
            }
            if merged.contains(le) {
                l += 1;
            }
        }
        if let Some((re, _)) = right {
            merged.insert(re);
            out.extend(both(re, errors));
            r += 1;
            if next_shared == Some(re) {
                next_shared = shared.next();
            }
        }
    }
    (!out.is_empty()).then_some(Value::Array(out))
}

/// The object without these fields. Empty lists and objects stay in custom kinds; built-in kinds omit them.
pub(crate) fn remove(kinds: &ListKinds, object: &Value, fields: &Set) -> Value {
    remove_at(kinds, kinds.root(), object, fields)
}

fn remove_at(kinds: &ListKinds, of: TypeId, value: &Value, fields: &Set) -> Value {
    let atom = kinds.atom(of);
    match (value, &atom.list, &atom.map) {
        (Value::Array(items), Some(list), _) if !list.atomic => {
            let mut kept = Vec::new();
            for item in items {
                let Ok(element) = element_of(kinds, list, item) else {
                    kept.push(item.clone());
                    continue;
                };
                if !fields.has_member(&element) {
                    kept.push(remove_below(kinds, list.element, item, fields.below(&element)));
                }
            }
            Value::Array(kept)
        }
        (Value::Object(members), _, Some(map)) if !map.atomic => {
            let mut kept = Map::new();
            for (name, member) in members {
                let element = Element::Field(name.clone());
                if fields.has_member(&element) {
                    continue;
                }
                let below = fields.below(&element);
                let value = match map.of(name) {
                    Some(of) => remove_below(kinds, of, member, below),
                    None => member.clone(),
                };
                let emptied = below.is_some() && map.of(name).is_some_and(|of| kinds.drops_when_empty(of, &value));
                if !emptied {
                    kept.insert(name.clone(), value);
                }
            }
            Value::Object(kept)
        }
        // Fields below an atomic value were owned before it became atomic; the value itself is removed.
        (Value::Array(_), Some(_), _) => Value::Array(Vec::new()),
        (Value::Object(_), _, Some(_)) => Value::Object(Map::new()),
        (other, ..) => other.clone(),
    }
}

fn remove_below(kinds: &ListKinds, of: TypeId, value: &Value, fields: Option<&Set>) -> Value {
    fields.map_or_else(|| value.clone(), |fields| remove_at(kinds, of, value, fields))
}
