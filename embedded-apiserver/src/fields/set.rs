//! A set of field paths, as a tree: the fields of one manager. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::element::Element;
use super::kinds::{ListKinds, TypeId};

/// A set of field paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Set {
    members: BTreeSet<Element>,
    children: BTreeMap<Element, Set>,
}

impl Set {
    /// A set of these paths, each a list of member names.
    pub(crate) fn of_fields(paths: &[&[&str]]) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<Element> = path.iter().map(|name| Element::Field((*name).to_owned())).collect();
            set.insert(&path);
        }
        set
    }

    /// Adds a path. The empty path is the whole object, which has no owner.
    pub(crate) fn insert(&mut self, path: &[Element]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether the path is a member.
    pub(crate) fn has(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => self.children.get(first).is_some_and(|child| child.has(rest)),
        }
    }

    /// Whether the one-step path is a member.
    pub(crate) fn has_member(&self, element: &Element) -> bool {
        self.members.contains(element)
    }

    /// Whether the set is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.values().all(Self::is_empty)
    }

    /// The set below one step, if it is not empty.
    pub(crate) fn below(&self, element: &Element) -> Option<&Self> {
        self.children.get(element).filter(|child| !child.is_empty())
    }

    /// Only the paths at or below the named member.
    pub(crate) fn only_field(&self, name: &str) -> Self {
        let element = Element::Field(name.to_owned());
        let mut out = Self::default();
        if self.members.contains(&element) {
            out.members.insert(element.clone());
        }
        if let Some(child) = self.children.get(&element) {
            out.children.insert(element, child.clone());
        }
        out
    }

    /// All paths except those at or below the named member.
    pub(crate) fn without_field(&self, name: &str) -> Self {
        let element = Element::Field(name.to_owned());
        let mut out = self.clone();
        out.members.remove(&element);
        out.children.remove(&element);
        out
    }

    /// The paths in either.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut children = self.children.clone();
        for (element, child) in &other.children {
            let merged = children.get(element).map_or_else(|| child.clone(), |mine| mine.union(child));
            children.insert(element.clone(), merged);
        }
        Self { members: self.members.union(&other.members).cloned().collect(), children }
    }

    /// The paths in both.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, mine)| {
            let both = mine.intersection(other.children.get(element)?);
            (!both.is_empty()).then(|| (element.clone(), both))
        });
        Self { members: self.members.intersection(&other.members).cloned().collect(), children: children.collect() }
    }

    /// The paths in this and not in the other.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let children = self.children.iter().filter_map(|(element, mine)| match other.children.get(element) {
            None => Some((element.clone(), mine.clone())),
            Some(theirs) => {
                let left = mine.difference(theirs);
                (!left.is_empty()).then(|| (element.clone(), left))
            }
        });
        Self { members: self.members.difference(&other.members).cloned().collect(), children: children.collect() }
    }

    /// All paths: those that end here first, then those below.
    pub(crate) fn paths(&self) -> Vec<Vec<Element>> {
        let mut out: Vec<Vec<Element>> = self.members.iter().map(|member| vec![member.clone()]).collect();
        for (element, child) in &self.children {
            for mut path in child.paths() {
                path.insert(0, element.clone());
                out.push(path);
            }
        }
        out
    }

    /// The same set where each declared member on the way to a path is in the set itself.
    pub(crate) fn with_declared_parents(&self, kinds: &ListKinds, of: Option<TypeId>) -> Self {
        let atom = of.map(|id| kinds.atom(id));
        let map = atom.and_then(|atom| atom.map.as_ref());
        let list = atom.and_then(|atom| atom.list.as_ref());
        let mut out = Self { members: self.members.clone(), children: BTreeMap::new() };
        for (element, child) in &self.children {
            let mut below = None;
            match element {
                Element::Field(name) => {
                    let declared = map.and_then(|map| map.fields.get(name));
                    if declared.is_some() {
                        out.members.insert(element.clone());
                    }
                    below = declared.map(|field| field.of).or_else(|| map.and_then(|map| map.element));
                }
                Element::Key(_) => below = list.map(|list| list.element),
                Element::Value(_) | Element::Index(_) => {}
            }
            out.children.insert(element.clone(), child.with_declared_parents(kinds, below));
        }
        out
    }

    /// The set adapted to values that the kind now owns as a whole: paths below them are replaced by the value.
    pub(crate) fn reconciled(&self, kinds: &ListKinds) -> Self {
        let mut out = Self::default();
        for path in self.paths() {
            let kept = granular(kinds, &path);
            out.insert(path.get(..kept).unwrap_or_default());
        }
        out
    }

    /// Reads a `fieldsV1` object. Unknown parts are dropped.
    pub(crate) fn decode(fields: &Value) -> Self {
        Self::decode_below(fields, 0).0.unwrap_or_default()
    }

    fn decode_below(fields: &Value, depth: usize) -> (Option<Self>, bool) {
        let mut found: Option<Self> = None;
        let mut member = false;
        let entries = fields.as_object().into_iter().flatten().filter(|_| depth < 128);
        for (key, value) in entries {
            if key == "." {
                member = true;
                continue;
            }
            let Some(element) = Element::parse(key) else { continue };
            let (below, ends_here) = Self::decode_below(value, depth + 1);
            let set = found.get_or_insert_with(Self::default);
            if ends_here {
                set.members.insert(element.clone());
            }
            if let Some(below) = below {
                set.children.insert(element, below);
            }
        }
        let member = member || found.is_none();
        (found, member)
    }

    /// The `fieldsV1` object.
    pub(crate) fn encode(&self) -> Value {
        Value::Object(self.encode_below(false))
    }

    fn encode_below(&self, itself: bool) -> Map<String, Value> {
        let mut out = Map::new();
        if itself {
            out.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for element in self.members.iter().chain(self.children.keys()).collect::<BTreeSet<_>>() {
            let below = self.children.get(element).filter(|child| !child.is_empty());
            let member = self.members.contains(element);
            let value = below.map_or_else(Map::new, |child| child.encode_below(member));
            if member || below.is_some() {
                out.insert(element.encode(), Value::Object(value));
            }
        }
        out
    }
}

/// Number of steps of a path that lead through granular values.
fn granular(kinds: &ListKinds, path: &[Element]) -> usize {
    let mut of = Some(kinds.root());
    for (at, element) in path.iter().enumerate() {
        let Some(atom) = of.map(|id| kinds.atom(id)) else { return path.len() };
        let (atomic, below) = match (element, &atom.map, &atom.list) {
            (Element::Field(name), Some(map), _) => (map.atomic, map.of(name)),
            (Element::Key(_) | Element::Value(_) | Element::Index(_), _, Some(list)) => {
                (list.atomic, Some(list.element))
            }
            _ => return path.len(),
        };
        if atomic && at > 0 {
            return at;
        }
        of = below;
    }
    path.len()
}
