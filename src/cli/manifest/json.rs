//! JSON files: recognized by their first character, checked by serde_json, then read like YAML for positions. No I/O.

use std::ops::Range;
use std::rc::Rc;

use serde::de::IgnoredAny;

use super::{Node, Source, SyntaxError, tree};

/// Most JSON documents in a file.
const MAX_DOCUMENTS: usize = 100_000;

/// The spans of the JSON values of a text; `None` when it is not JSON. A text in braces that is not JSON is YAML in
/// flow style, unless the file name ends in JSON's extension.
pub(super) fn segments(source: &Source) -> Option<Result<Vec<Range<usize>>, SyntaxError>> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let offset = source.text.len() - text.len();
    let named_json = std::path::Path::new(&source.name).extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    if !named_json && !text.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    let mut spans = Vec::new();
    loop {
        let start = values.byte_offset();
        match values.next() {
            None => return Some(Ok(spans)),
            Some(Ok(_)) if spans.len() == MAX_DOCUMENTS => {
                return Some(Err(SyntaxError::new(
                    "the file holds too many documents",
                    start + offset..start + offset,
                )));
            }
            Some(Ok(_)) => spans.push(start + offset..values.byte_offset() + offset),
            Some(Err(error)) if named_json => return Some(Err(syntax_error(source, offset, &error))),
            Some(Err(_)) => return None,
        }
    }
}

fn syntax_error(source: &Source, offset: usize, error: &serde_json::Error) -> SyntaxError {
    let place = format!(" at line {} column {}", error.line(), error.column());
    let mut span = source.at(error.line(), error.column());
    if error.line() == 1 {
        span = span.start + offset..span.end + offset;
    }
    SyntaxError::new(error.to_string().replace(&place, ""), span)
}

/// The documents at `segments`.
pub(super) fn load(source: &Source, segments: &[Range<usize>]) -> Result<Vec<Rc<Node>>, SyntaxError> {
    let mut documents = Vec::new();
    let mut budget = tree::Budget::default();
    for segment in segments {
        let text = source.text.get(segment.clone()).unwrap_or_default();
        documents.extend(tree::load_json(text, &neutral(text), segment.start, &mut budget)?);
    }
    Ok(documents)
}

/// The text in the same length, with surrogate pairs such as `\ud83d\ude00` replaced: YAML has no such pairs. The value
/// of a string is read from the original.
fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let surrogate =
            matches!(escape.as_bytes(), [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a'..=b'f' | b'A'..=b'F', _, _, ..]);
        let escaped = || escape.get(1..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let width = if surrogate { 6 } else { 1 + escaped() };
        out.push_str(if surrogate { "\\ufffd" } else { escape.get(..width).unwrap_or(escape) });
        rest = escape.get(width..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}
