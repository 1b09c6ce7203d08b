//! A field path -> its position in the file. No I/O.

use std::ops::Range;

use super::{Content, Entry, Node, Source};

/// Position to point to for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceLocation {
    /// Bytes of the text; never empty unless the text is.
    pub(crate) span: Range<usize>,
    /// Whether the path itself is written there, not only a parent of it.
    pub(crate) exact: bool,
}

impl SourceLocation {
    /// The position of `path` (Kubernetes' style) in the object `root`; when it is not written, that of the nearest
    /// parent.
    pub(crate) fn of(root: &Node, path: &str, source: &Source) -> Self {
        let (cursor, exact) = walk(root, path);
        Self { span: cursor.span(root, source), exact }
    }

    /// The key of `path` in the object `root`, for a member that should not be there at all.
    pub(crate) fn of_key(root: &Node, path: &str, source: &Source) -> Self {
        let (cursor, exact) = walk(root, path);
        let span = cursor.entry.map_or_else(|| cursor.span(root, source), |entry| entry.key_span.clone());
        Self { span, exact }
    }
}

/// Follows `path` as far as it is written; returns whether that is all of it.
fn walk<'a>(root: &'a Node, path: &str) -> (Cursor<'a>, bool) {
    let mut cursor = Cursor { node: root, entry: None };
    let mut rest = path;
    while !rest.is_empty() {
        match step(cursor.node, rest) {
            Some((next, left)) => (cursor, rest) = (next, left),
            None => return (cursor, false),
        }
    }
    (cursor, true)
}

/// A node on the path, and the entry whose value it is.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    node: &'a Node,
    entry: Option<&'a Entry>,
}

impl Cursor<'_> {
    /// The span to underline: a scalar itself, else its key, else the first line of the collection.
    fn span(&self, root: &Node, source: &Source) -> Range<usize> {
        let scalar = !matches!(self.node.content, Content::List(_) | Content::Map(_));
        if scalar && !self.node.span.is_empty() {
            return first_line(&self.node.span, source);
        }
        if let Some(entry) = self.entry {
            return entry.key_span.clone();
        }
        // The object itself is marked at its kind; other nodes at their first line.
        let kind = root.entry("kind").filter(|_| std::ptr::eq(self.node, root));
        kind.map_or_else(|| first_line(&self.node.span, source), |kind| kind.key_span.start..kind.value.span.end)
    }
}

fn first_line(span: &Range<usize>, source: &Source) -> Range<usize> {
    let line = source.line_of(span.start);
    span.start..span.end.min(line.end).max(span.start)
}

/// The member with which `rest` begins, and the remaining path. Keys may contain dots and brackets: the longest match
/// wins.
fn step<'a, 'p>(node: &'a Node, rest: &'p str) -> Option<(Cursor<'a>, &'p str)> {
    match &node.content {
        Content::Map(entries) => {
            let fitting = entries.iter().filter_map(|entry| Some((entry, after_key(rest, &entry.key)?)));
            let (entry, left) = fitting.min_by_key(|(_, left)| left.len())?;
            Some((Cursor { node: &entry.value, entry: Some(entry) }, left))
        }
        Content::List(items) => {
            let (index, left) = rest.strip_prefix('[')?.split_once(']')?;
            let item = items.get(index.parse::<usize>().ok()?)?;
            Some((Cursor { node: item, entry: None }, left))
        }
        _ => None,
    }
}

/// The path after `key` in `.key...`, `key...` or `[key]...`.
fn after_key<'p>(rest: &'p str, key: &str) -> Option<&'p str> {
    if let Some(left) = rest.strip_prefix('[').and_then(|rest| rest.strip_prefix(key)?.strip_prefix(']')) {
        return Some(left);
    }
    let left = rest.strip_prefix('.').unwrap_or(rest).strip_prefix(key)?;
    (left.is_empty() || left.starts_with(['.', '['])).then_some(left)
}
