//! Strategic merge patch: lists of built-in kinds are merged by their keys. No I/O.

use serde_json::{Map, Value};
use thiserror::Error;

use super::builtins;
use super::fields::compare::go_plain;
use super::fields::element::same;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList/";
const ELEMENT_ORDER: &str = "$setElementOrder/";

/// Why a patch cannot be applied.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum PatchError {
    /// The patch is not an object.
    #[error("invalid JSON document")]
    NoObject,
    /// Custom kinds have no strategic merge patch.
    #[error("strategic merge patch format is not supported")]
    Unsupported,
    /// A list element lacks the merge key of its list.
    #[error("map: {element} does not contain declared merge key: {key}")]
    NoMergeKey {
        /// The element.
        element: String,
        /// The member.
        key: String,
    },
    /// `$patch` has an unknown value.
    #[error("unknown patch type: {directive} in map: {element}")]
    Directive {
        /// The value.
        directive: String,
        /// The element that contains it.
        element: String,
    },
    /// `$patch: merge` is in a list.
    #[error("merging lists cannot yet be specified in the patch")]
    MergeDirective,
    /// `$retainKeys` is not a list, or lacks a member of the patch.
    #[error("invalid patch format of retainKeys")]
    RetainKeys,
    /// `$setElementOrder` is not a list.
    #[error("invalid patch format of setElementOrder list")]
    ElementOrder,
    /// `$setElementOrder` and the list of the patch disagree.
    #[error("The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n")]
    OrderMismatch {
        /// The list of the patch.
        patch: String,
        /// The order.
        order: String,
    },
    /// `$deleteFromPrimitiveList` is not a list of scalars.
    #[error("invalid patch format of primitive list")]
    PrimitiveList,
}

impl PatchError {
    /// The HTTP status of kube-apiserver.
    #[must_use]
    pub const fn code(&self) -> u16 {
        match self {
            Self::NoObject | Self::RetainKeys | Self::ElementOrder | Self::PrimitiveList => 400,
            Self::Unsupported => 415,
            Self::NoMergeKey { .. } | Self::Directive { .. } | Self::MergeDirective | Self::OrderMismatch { .. } => 500,
        }
    }
}

/// The schema of a value; `None` below free-form members.
#[derive(Clone, Copy)]
struct SchemaNode(Option<&'static Value>);

/// How a list is merged.
struct Strategy {
    merge: bool,
    key: String,
}

impl SchemaNode {
    fn resolve(schema: &'static Value) -> &'static Value {
        let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref")).and_then(Value::as_str);
        let name = reference.and_then(|path| path.rsplit('/').next());
        name.and_then(builtins::definition).unwrap_or(schema)
    }

    /// The declaration of a member, with its markers.
    fn member(self, name: &str) -> Option<&'static Value> {
        let schema = Self::resolve(self.0?);
        schema.get("properties").and_then(|all| all.get(name)).or_else(|| schema.get("additionalProperties"))
    }

    fn below(self, name: &str) -> Self {
        Self(self.member(name))
    }

    fn items(self, name: &str) -> Self {
        Self(self.member(name).and_then(|list| list.get("items")))
    }

    fn strategy(self, name: &str) -> Strategy {
        let text = |key: &str| self.member(name).and_then(|member| member.get(key)).and_then(Value::as_str);
        Strategy {
            merge: text("x-kubernetes-patch-strategy").is_some_and(|all| all.split(',').any(|one| one == "merge")),
            key: text("x-kubernetes-patch-merge-key").unwrap_or_default().to_owned(),
        }
    }
}

/// The patched object.
///
/// # Errors
/// The kind is not built in, or lists or directives of the patch are malformed.
pub fn apply(group: &str, kind: &str, current: &Value, patch: &Value) -> Result<Value, PatchError> {
    let name = builtins::definition_name_of_kind(group, kind).ok_or(PatchError::Unsupported)?;
    let place = SchemaNode(builtins::definition(name));
    let (Value::Object(current), Value::Object(patch)) = (current, patch) else { return Err(PatchError::NoObject) };
    merge_map(current.clone(), patch.clone(), place).map(Value::Object)
}

type Members = Map<String, Value>;

fn merge_map(mut original: Members, mut patch: Members, place: SchemaNode) -> Result<Members, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(Members::new()),
            _ => Err(unknown(&directive, &patch)),
        };
    }
    retain_keys(&mut original, &mut patch)?;
    order_lists(&mut original, &mut patch, place)?;
    for (key, value) in patch {
        if let Some(name) = key.strip_prefix(DELETE_FROM_LIST) {
            if let Some(list) = original.get_mut(name).and_then(Value::as_array_mut) {
                let gone = value.as_array().ok_or(PatchError::PrimitiveList)?;
                list.retain(|item| !gone.iter().any(|one| same(one, item)));
            }
            continue;
        }
        merge_member(&mut original, key, value, place)?;
    }
    Ok(original)
}

fn unknown(directive: &Value, patch: &Members) -> PatchError {
    let mut element = patch.clone();
    element.insert(DIRECTIVE.to_owned(), directive.clone());
    let directive = directive.as_str().map_or_else(|| go_plain(directive), str::to_owned);
    PatchError::Directive { directive, element: go_plain(&Value::Object(element)) }
}

fn merge_member(original: &mut Members, key: String, value: Value, place: SchemaNode) -> Result<(), PatchError> {
    if value.is_null() {
        original.remove(&key);
        return Ok(());
    }
    let merged = match (original.remove(&key), value) {
        (Some(Value::Object(old)), Value::Object(new)) => Some(Value::Object(merge_map(old, new, place.below(&key))?)),
        (Some(Value::Array(old)), Value::Array(new)) => {
            let strategy = place.strategy(&key);
            if strategy.merge {
                Some(Value::Array(merge_list(old, new, &strategy.key, place.items(&key))?))
            } else {
                Some(Value::Array(new.into_iter().map(plain).collect()))
            }
        }
        (_, mut new) => {
            discard_nulls(&mut new);
            without_directives(new)
        }
    };
    if let Some(merged) = merged {
        original.insert(key, merged);
    }
    Ok(())
}

fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// A new value, as stored; `None`: it was only a directive.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(members) if members.contains_key(DIRECTIVE) => None,
        Value::Object(members) => {
            let kept = members.into_iter().filter_map(|(name, member)| Some((name, without_directives(member)?)));
            Some(Value::Object(kept.filter(|(name, _)| !is_directive(name)).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

/// An element of a list that is not merged: directives have no meaning in it.
fn plain(item: Value) -> Value {
    match item {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, _)| name != DIRECTIVE && !is_directive(name));
            Value::Object(kept.map(|(name, member)| (name, plain(member))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(plain).collect()),
        scalar => scalar,
    }
}

fn is_directive(name: &str) -> bool {
    name == RETAIN_KEYS || name.starts_with(ELEMENT_ORDER) || name.starts_with(DELETE_FROM_LIST)
}

fn retain_keys(original: &mut Members, patch: &mut Members) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let keys = keys.as_array().ok_or(PatchError::RetainKeys)?;
    let kept = |name: &str| keys.iter().any(|key| key == name);
    let stray = patch.iter().any(|(name, value)| !value.is_null() && !is_directive(name) && !kept(name));
    if stray {
        return Err(PatchError::RetainKeys);
    }
    original.retain(|name, _| kept(name));
    Ok(())
}

fn merge_list(original: Vec<Value>, patch: Vec<Value>, key: &str, items: SchemaNode) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    let objects = original.iter().chain(&patch).any(Value::is_object);
    if !objects {
        let mut merged: Vec<Value> = Vec::new();
        for item in original.iter().chain(&patch) {
            if !merged.iter().any(|known| same(known, item)) {
                merged.push(item.clone());
            }
        }
        return Ok(ordered(merged, &patch, &original, ""));
    }
    let (base, fresh) = directives(&original, patch, key)?;
    let Some(fresh) = fresh else { return Ok(base) };
    let mut merged = base;
    for item in &fresh {
        let id = merge_key(item, key)?;
        let known = merged.iter_mut().find(|known| known.get(key).is_some_and(|value| same(value, id)));
        if let (Some(known), Value::Object(new)) = (known, item) {
            let old = known.as_object().cloned().unwrap_or_default();
            *known = Value::Object(merge_map(old, new.clone(), items)?);
        } else {
            let mut item = item.clone();
            discard_nulls(&mut item);
            merged.extend(without_directives(item));
        }
    }
    Ok(ordered(merged, &fresh, &original, key))
}

fn merge_key<'a>(item: &'a Value, key: &str) -> Result<&'a Value, PatchError> {
    item.get(key).ok_or_else(|| PatchError::NoMergeKey { element: go_plain(item), key: key.to_owned() })
}

/// The list without the elements that the patch deletes, and the rest of the patch; without a rest the list is
/// replaced.
fn directives(
    original: &[Value],
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Option<Vec<Value>>), PatchError> {
    let (mut kept, mut rest, mut replace) = (original.to_vec(), Vec::new(), false);
    for item in patch {
        match item.get(DIRECTIVE) {
            None => rest.push(item),
            Some(directive) => match directive.as_str() {
                Some("delete") => {
                    let id = merge_key(&item, key)?;
                    kept.retain(|known| !known.get(key).is_some_and(|value| same(value, id)));
                }
                Some("replace") => replace = true,
                Some("merge") => return Err(PatchError::MergeDirective),
                _ => {
                    let mut element = item.as_object().cloned().unwrap_or_default();
                    element.remove(DIRECTIVE);
                    return Err(unknown(directive, &element));
                }
            },
        }
    }
    Ok(if replace { (rest, None) } else { (kept, Some(rest)) })
}

/// Index of an element in a list, by its key or its value.
fn position(list: &[Value], item: &Value, key: &str) -> Option<usize> {
    list.iter().position(|known| match (known.get(key), item.get(key)) {
        _ if key.is_empty() => same(known, item),
        (Some(known), Some(item)) => same(known, item),
        _ => false,
    })
}

/// Elements of the patch in the patch's order, and those of the server in the server's order, interleaved.
fn ordered(merged: Vec<Value>, patch_order: &[Value], server_order: &[Value], key: &str) -> Vec<Value> {
    let (mut of_patch, mut of_server): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| position(patch_order, item, key).is_some());
    of_patch.sort_by_key(|item| position(patch_order, item, key));
    of_server.sort_by_key(|item| position(server_order, item, key));
    let (mut left, mut right) = (of_server.into_iter().peekable(), of_patch.into_iter().peekable());
    let mut out = Vec::new();
    loop {
        let server_first = match (left.peek(), right.peek()) {
            (None, None) => return out,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(l), Some(r)) => match (position(server_order, l, key), position(server_order, r, key)) {
                (Some(l), Some(r)) => l < r,
                _ => false,
            },
        };
        out.extend(if server_first { left.next() } else { right.next() });
    }
}

/// Merges the lists whose order the patch sets, and sorts them.
fn order_lists(original: &mut Members, patch: &mut Members, place: SchemaNode) -> Result<(), PatchError> {
    let names: Vec<String> =
        patch.keys().filter_map(|key| key.strip_prefix(ELEMENT_ORDER)).map(str::to_owned).collect();
    for name in names {
        let order = patch.remove(&format!("{ELEMENT_ORDER}{name}"));
        let Some(Value::Array(order)) = order else { return Err(PatchError::ElementOrder) };
        let strategy = place.strategy(&name);
        let given = match patch.get(&name) {
            None | Some(Value::Null) => None,
            Some(Value::Array(given)) => Some(given.clone()),
            Some(_) => return Err(PatchError::ElementOrder),
        };
        check_order(given.as_deref().unwrap_or_default(), &order, &strategy.key)?;
        let server: Option<Vec<Value>> = original.get(&name).and_then(Value::as_array).cloned();
        let merged = match (server.clone(), given) {
            (None, None) => continue,
            (Some(server), None) => server,
            (None, Some(given)) => given.into_iter().filter_map(without_directives).collect(),
            (Some(server), Some(given)) if strategy.merge => {
                merge_list(server, given, &strategy.key, place.items(&name))?
            }
            (Some(_), Some(given)) => given,
        };
        patch.remove(&name);
        let merged = ordered(merged, &order, server.as_deref().unwrap_or_default(), &strategy.key);
        original.insert(name, Value::Array(merged));
    }
    Ok(())
}

fn check_order(given: &[Value], order: &[Value], key: &str) -> Result<(), PatchError> {
    if given.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut waiting = given.iter().filter(|item| item.get(DIRECTIVE).is_none()).peekable();
    for place in order {
        let Some(next) = waiting.peek() else { return Ok(()) };
        let matches = if key.is_empty() {
            same(next, place)
        } else {
            let id = merge_key(next, key)?;
            same(id, merge_key(place, key)?)
        };
        if matches {
            waiting.next();
        }
    }
    if waiting.peek().is_none() {
        return Ok(());
    }
    let shown = |list: &[Value]| go_plain(&Value::Array(list.to_vec()));
    Err(PatchError::OrderMismatch { patch: shown(given), order: shown(order) })
}
