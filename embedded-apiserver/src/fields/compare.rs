//! Walks one or two objects along the types of their kind: differences, owned fields, validity. No I/O.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::element::{Element, Ordered, same};
use super::kinds::{ListKinds, ListOf, MapOf, Scalar, Shape, TypeId};
use super::set::Set;

/// Differences between two objects.
#[derive(Clone, Debug, Default)]
pub(crate) struct Comparison {
    /// Fields that only the first has.
    pub(crate) removed: Set,
    /// Fields that both have, with different values.
    pub(crate) modified: Set,
    /// Fields that only the second has.
    pub(crate) added: Set,
}

/// The path element of a list element, or why it has none.
pub(crate) fn element_of(kinds: &ListKinds, list: &ListOf, item: &Value) -> Result<Element, String> {
    if list.keys.is_empty() {
        return match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            scalar => Ok(Element::Value(Ordered(scalar.clone()))),
        };
    }
    let members = match item {
        Value::Object(members) => members,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let declared = kinds.atom(list.element).map.as_ref();
    let default = |key: &String| declared.and_then(|map| map.fields.get(key)).and_then(|field| field.default.clone());
    let found = list.keys.iter().filter_map(|key| {
        let value = members.get(key).cloned().or_else(|| default(key))?;
        Some((key.clone(), Ordered(value)))
    });
    let mut keys: Vec<(String, Ordered)> = found.collect();
    keys.sort();
    if keys.is_empty() {
        let names: Vec<String> = list.keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    Ok(Element::Key(keys))
}

/// Elements by path element, in the order of their first occurrence; elements without one are left out.
fn grouped<'a>(kinds: &ListKinds, list: &ListOf, items: &'a [Value]) -> BTreeMap<Element, Vec<&'a Value>> {
    let mut out: BTreeMap<Element, Vec<&Value>> = BTreeMap::new();
    for item in items {
        if let Ok(element) = element_of(kinds, list, item) {
            out.entry(element).or_default().push(item);
        }
    }
    out
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|members| !members.is_empty())
}

/// The differences between two objects of one kind.
pub(crate) fn compare(kinds: &ListKinds, old: &Value, new: &Value) -> Comparison {
    let mut walk = Walk { kinds, path: Vec::new(), found: Comparison::default() };
    walk.at(kinds.root(), Some(old), Some(new));
    walk.found
}

struct Walk<'a> {
    kinds: &'a ListKinds,
    path: Vec<Element>,
    found: Comparison,
}

impl Walk<'_> {
    fn at(&mut self, of: TypeId, old: Option<&Value>, new: Option<&Value>) {
        let atom = self.kinds.atom(of);
        let (was, is) = (atom.shape(old), atom.shape(new));
        let leaf = if new.is_none() {
            self.shaped(was, of, old, new)
        } else {
            if old.is_some() && was != is {
                self.shaped(was, of, old, new);
            }
            self.shaped(is, of, old, new)
        };
        if !leaf && old.is_none() {
            self.found.added.insert(&self.path);
        } else if !leaf && new.is_none() {
            self.found.removed.insert(&self.path);
        }
    }

    /// Returns whether the path is a leaf.
    fn shaped(&mut self, shape: Shape, of: TypeId, old: Option<&Value>, new: Option<&Value>) -> bool {
        let atom = self.kinds.atom(of);
        match (shape, &atom.list, &atom.map) {
            (Shape::List, Some(list), _) => {
                if list.atomic || (items(old).is_empty() && items(new).is_empty()) {
                    return self.leaf(old, new);
                }
                self.list(list, items(old), items(new));
                false
            }
            (Shape::Map, _, Some(map)) => {
                if map.atomic || (members(old).is_none() && members(new).is_none()) {
                    return self.leaf(old, new);
                }
                self.map(map, members(old), members(new));
                false
            }
            _ => self.leaf(old, new),
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) -> bool {
        match (old, new) {
            (None, _) => self.found.added.insert(&self.path),
            (_, None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            _ => {}
        }
        true
    }

    fn descend(&mut self, element: Element, of: TypeId, old: Option<&Value>, new: Option<&Value>) {
        self.path.push(element);
        self.at(of, old, new);
        self.path.pop();
    }

    fn map(&mut self, map: &MapOf, old: Option<&Map<String, Value>>, new: Option<&Map<String, Value>>) {
        let mut names: Vec<&String> = old.into_iter().flatten().map(|(name, _)| name).collect();
        names.extend(
            new.into_iter()
                .flatten()
                .map(|(name, _)| name)
                .filter(|name| !old.is_some_and(|old| old.contains_key(*name))),
        );
        for name in names {
            let of = map.of(name).unwrap_or_else(|| self.kinds.root());
            let (was, is) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
            if map.of(name).is_some() {
                self.descend(Element::Field(name.clone()), of, was, is);
            } else {
                self.path.push(Element::Field(name.clone()));
                self.leaf(was, is);
                self.path.pop();
            }
        }
    }

    fn list(&mut self, list: &ListOf, old: &[Value], new: &[Value]) {
        let (old, new) = (grouped(self.kinds, list, old), grouped(self.kinds, list, new));
        let mut elements: Vec<Element> = old.keys().cloned().collect();
        elements.extend(new.keys().filter(|element| !old.contains_key(*element)).cloned());
        for element in elements {
            let was = old.get(&element).map_or(&[][..], Vec::as_slice);
            let is = new.get(&element).map_or(&[][..], Vec::as_slice);
            self.item(list, element, was, is);
        }
    }

    /// An element that occurs more than once in a list is owned as a whole.
    fn item(&mut self, list: &ListOf, element: Element, old: &[&Value], new: &[&Value]) {
        let (was, is) = (old.first().copied(), new.first().copied());
        match (old.len() > 1, new.len() > 1) {
            (false, false) => self.descend(element, list.element, was, is),
            (true, true) => {
                let equal = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| same(old, new));
                if !equal {
                    self.path.push(element);
                    self.found.modified.insert(&self.path);
                    self.path.pop();
                }
            }
            (true, false) => {
                if is.is_some() {
                    self.descend(element.clone(), list.element, None, is);
                }
                self.path.push(element);
                self.found.removed.insert(&self.path);
                self.path.pop();
            }
            (false, true) => {
                if was.is_some() {
                    self.descend(element.clone(), list.element, was, None);
                }
                self.path.push(element);
                self.found.added.insert(&self.path);
                self.path.pop();
            }
        }
    }
}

/// All fields an object sets.
pub(crate) fn field_set(kinds: &ListKinds, object: &Value) -> Set {
    let mut set = Set::default();
    own(kinds, kinds.root(), object, &mut Vec::new(), &mut set);
    set
}

fn own(kinds: &ListKinds, of: TypeId, value: &Value, path: &mut Vec<Element>, set: &mut Set) {
    let atom = kinds.atom(of);
    match (atom.shape(Some(value)), &atom.list, &atom.map) {
        (Shape::List, Some(list), _) if !list.atomic => {
            for (element, found) in grouped(kinds, list, items(Some(value))) {
                path.push(element);
                if let [only] = found.as_slice() {
                    own(kinds, list.element, only, path, set);
                }
                set.insert(path);
                path.pop();
            }
        }
        (Shape::Map, _, Some(map)) if !map.atomic => {
            for (name, member) in value.as_object().into_iter().flatten() {
                path.push(Element::Field(name.clone()));
                if let Some(of) = map.of(name) {
                    own(kinds, of, member, path, set);
                }
                let empty = member.is_null() || member.as_object().is_some_and(Map::is_empty);
                if empty || !map.fields.contains_key(name) {
                    set.insert(path);
                }
                path.pop();
            }
        }
        _ => set.insert(path),
    }
}

/// The parts of an object that do not match its kind, as `path: error`.
pub(crate) fn misfits(kinds: &ListKinds, object: &Value) -> Vec<String> {
    let mut found = Vec::new();
    fit(kinds, kinds.root(), object, "", &mut found);
    found
}

fn fit(kinds: &ListKinds, of: TypeId, value: &Value, path: &str, found: &mut Vec<String>) {
    let atom = kinds.atom(of);
    let say = |what: String| if path.is_empty() { what } else { format!("{path}: {what}") };
    match (atom.shape(Some(value)), &atom.scalar, &atom.list, &atom.map) {
        (Shape::List, _, Some(list), _) => match value {
            Value::Array(items) => fit_list(kinds, list, items, path, found),
            Value::Null => {}
            other => found.push(say(format!("expected list, got {}", go_wrapped(other)))),
        },
        (Shape::Map, _, _, Some(map)) => match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let below = format!("{path}.{name}");
                    match map.of(name) {
                        Some(of) => fit(kinds, of, member, &below, found),
                        None => found.push(format!("{below}: field not declared in schema")),
                    }
                }
            }
            Value::Null => {}
            other => found.push(say(format!("expected map, got {}", go_wrapped(other)))),
        },
        (_, Some(scalar), _, _) => found.extend(misfit(*scalar, value).map(say)),
        _ => {}
    }
}

fn fit_list(kinds: &ListKinds, list: &ListOf, items: &[Value], path: &str, found: &mut Vec<String>) {
    let mut seen = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let element = if list.atomic { Ok(Element::Index(at)) } else { element_of(kinds, list, item) };
        match element {
            Ok(element) => {
                if seen.contains(&element) {
                    let dot = if path.is_empty() { String::new() } else { format!("{path}: ") };
                    found.push(format!("{dot}duplicate entries for key {element}"));
                }
                fit(kinds, list.element, item, &format!("{path}{element}"), found);
                seen.push(element);
            }
            Err(why) => {
                found.push(format!("{path}: element {at}: {why}"));
                return;
            }
        }
    }
}

fn misfit(scalar: Scalar, value: &Value) -> Option<String> {
    let fits = match scalar {
        Scalar::Numeric => value.is_number(),
        Scalar::Text => value.is_string(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Untyped => !value.is_array() && !value.is_object(),
    };
    (!fits && !value.is_null()).then(|| match scalar {
        Scalar::Numeric => format!("expected numeric (int or float), got {}", go_type(value)),
        Scalar::Text => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_syntax(value)),
        Scalar::Boolean => format!("expected boolean, got {}", go_wrapped(value)),
        Scalar::Untyped => format!("expected any scalar, got {}", go_wrapped(value)),
    })
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn go_wrapped(value: &Value) -> String {
    format!("&{{{}}}", go_plain(value))
}

/// A value as Go's `%v` prints it.
pub(crate) fn go_plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_plain).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut members: Vec<String> = map.iter().map(|(k, v)| format!("{k}:{}", go_plain(v))).collect();
            members.sort();
            format!("map[{}]", members.join(" "))
        }
        other => other.to_string(),
    }
}

/// A value as Go's `%#v` prints it.
pub(crate) fn go_syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(go_syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let mut members: Vec<String> = map.iter().map(|(k, v)| format!("{k:?}:{}", go_syntax(v))).collect();
            members.sort();
            format!("map[string]interface {{}}{{{}}}", members.join(", "))
        }
        other => other.to_string(),
    }
}
