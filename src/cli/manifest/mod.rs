//! Bytes of a file -> documents, each a tree whose keys and values have their position in the text. No I/O.
//!
//! Findings underline keys and values, and YAML is read as kubectl reads it: YAML 1.1 scalars, merge keys, no duplicate
//! keys. Crates that decode YAML into types do neither, so the trees are built here from the events of
//! `saphyr-parser`.

mod json;
mod place;
mod scalar;
mod source;
mod tree;

use std::ops::Range;
use std::rc::Rc;

use serde_json::{Map, Number, Value};

pub(crate) use place::SourceLocation;
pub(crate) use source::Source;

/// Largest file that is read, in bytes.
pub(crate) const MAX_BYTES: usize = 16 * 1024 * 1024;
/// Deepest nesting, aliases followed. The admission decoder stops at 128.
pub(crate) const MAX_DEPTH: usize = 100;
/// Upper bound of the memory for the documents of a file, with aliases expanded, in approximate bytes.
pub(crate) const MAX_EXPANDED: usize = 8 * MAX_BYTES;
/// Most brackets, commas and colons in a file: the parser keeps some hundred bytes for each while a bracket is open.
const MAX_INDICATORS: usize = 2_000_000;

/// Why a text could not be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct SyntaxError {
    /// The error.
    pub(crate) message: String,
    /// Its position, in bytes of the text.
    pub(crate) span: Range<usize>,
    /// A related position, with a label.
    pub(crate) other: Option<(Range<usize>, &'static str)>,
    /// What to do.
    pub(crate) help: Option<&'static str>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span, other: None, help: None }
    }

    fn with_help(mut self, help: &'static str) -> Self {
        self.help = Some(help);
        self
    }
}

/// A value and its position.
#[derive(Debug)]
pub(crate) struct Node {
    /// Position in bytes of the text; empty where nothing is written.
    pub(crate) span: Range<usize>,
    /// The value.
    pub(crate) content: Content,
    /// Number of levels below it.
    height: usize,
    /// Approximate bytes with aliases expanded.
    size: usize,
}

/// A value, as Kubernetes reads it.
#[derive(Debug)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Rc<Node>>),
    Map(Vec<Entry>),
}

/// One member of a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Rc<str>,
    pub(crate) key_span: Range<usize>,
    pub(crate) value: Rc<Node>,
}

impl Node {
    /// The entry of that key.
    pub(crate) fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| &*entry.key == key),
            _ => None,
        }
    }

    /// The text of that member, when it is text.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.entry(key)?.value.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The plain value, with aliases expanded. Nesting is bounded by [`MAX_DEPTH`], the size by [`MAX_EXPANDED`].
    pub(crate) fn to_value(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(flag) => Value::Bool(*flag),
            Content::Number(number) => Value::Number(number.clone()),
            Content::Text(text) => Value::String(text.clone()),
            Content::List(items) => Value::Array(items.iter().map(|item| item.to_value()).collect()),
            Content::Map(entries) => Value::Object(
                entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }
}

/// The documents of a text, without empty ones. After an error there are none: a file with a syntax error is not
/// applied in part.
pub(crate) fn load(source: &Source) -> Result<Vec<Rc<Node>>, SyntaxError> {
    let indicator = |byte: &u8| matches!(byte, b'[' | b']' | b'{' | b'}' | b',' | b':');
    if source.text.as_bytes().iter().filter(|byte| indicator(byte)).nth(MAX_INDICATORS).is_some() {
        return Err(SyntaxError::new("the file holds too many values", 0..0));
    }
    match json::segments(source) {
        Some(segments) => json::load(source, &segments?),
        None => tree::load(source),
    }
}

#[cfg(test)]
mod tests;
