//! Lists: the state of a bucket at a version, in pages. No I/O.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use super::{
    super::{object::Object, selectors::Selection},
    Bucket,
};

/// Parameters of a list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// One namespace, or all.
    pub namespace: Option<String>,
    /// Labels and fields.
    pub selection: Selection,
    /// Most objects; 0 for all.
    pub limit: usize,
    /// State to read; the current one if absent.
    pub version: Option<u64>,
    /// Path after which to continue.
    pub after: Option<String>,
}

/// Result of a list.
#[derive(Debug)]
pub struct Page {
    /// The objects, in order of namespace and name.
    pub items: Vec<Arc<Object>>,
    /// Resource version of the state that was read.
    pub version: u64,
    /// Path of the last object when there are more.
    pub more: Option<String>,
    /// Number of further objects; known only without selectors.
    pub remaining: Option<usize>,
}

/// The range from a path on.
pub(super) fn from(start: &str) -> (Bound<&str>, Bound<&str>) {
    (Bound::Included(start), Bound::Unbounded)
}

/// Reads a bucket at a version that its log contains.
pub(super) fn read_page(bucket: &Bucket, query: &Query, version: u64) -> Page {
    let prefix = query.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    // The state at an earlier version: each object before its first change since then.
    let mut earlier: BTreeMap<&str, Option<&Arc<Object>>> = BTreeMap::new();
    for change in bucket.since(version) {
        earlier.entry(&change.path).or_insert(change.before.as_ref());
    }
    let start = query.after.as_deref().filter(|after| *after > prefix.as_str()).unwrap_or(prefix.as_str());
    let is_inside = |path: &str| path.starts_with(&prefix) && query.after.as_deref().is_none_or(|after| path > after);
    let mut now = bucket
        .objects
        .range::<str, _>(from(start))
        .map(|(path, object)| (&**path, object))
        .take_while(|(path, _)| path.starts_with(&prefix))
        .filter(|(path, _)| is_inside(path) && !earlier.contains_key(path))
        .peekable();
    let mut then = earlier
        .range::<str, _>(from(start))
        .filter_map(|(path, object)| object.map(|object| (*path, object)))
        .filter(|(path, _)| is_inside(path))
        .peekable();
    let mut page = Page { items: Vec::new(), version, more: None, remaining: None };
    let mut last = None;
    loop {
        let from_now = match (now.peek(), then.peek()) {
            (Some((a, _)), Some((b, _))) => a < b,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => break,
        };
        let Some((path, object)) = (if from_now { now.next() } else { then.next() }) else { break };
        if !query.selection.matches(object.value()) {
            continue;
        }
        if query.limit > 0 && page.items.len() == query.limit {
            page.more = last.map(str::to_owned);
            page.remaining = query.selection.is_everything().then(|| 1 + now.count() + then.count());
            break;
        }
        page.items.push(object.clone());
        last = Some(path);
    }
    page
}
