//! A text and the lines in it. No I/O.

use std::ops::Range;

use super::{MAX_BYTES, SyntaxError};

/// A text with its display name.
#[derive(Debug)]
pub(crate) struct Source {
    /// Path as the user gave it, `<stdin>` for standard input.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// Byte offsets at which lines start.
    lines: Vec<usize>,
}

/// A position for users: from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Source {
    /// Reads `bytes` as text.
    pub(crate) fn new(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, String> {
        if bytes.len() > MAX_BYTES {
            return Err(format!("the file is larger than {} MiB", MAX_BYTES >> 20));
        }
        let text = String::from_utf8(bytes).map_err(|error| not_utf8(error.as_bytes(), error.utf8_error()))?;
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(breaks).collect();
        Ok(Self { name: name.into(), text, lines })
    }

    /// Line and column of a byte offset.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        let start = self.line_start(line);
        let before = self.text.get(start..offset).unwrap_or_default();
        let before = if start == 0 { before.strip_prefix('\u{feff}').unwrap_or(before) } else { before };
        Position { line, column: before.chars().count() + 1 }
    }

    /// Byte offset at which a line starts, counted from 1.
    pub(crate) fn line_start(&self, line: usize) -> usize {
        self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len())
    }

    /// The line of a byte offset, without its line break.
    pub(crate) fn line_of(&self, offset: usize) -> Range<usize> {
        let line = self.position(offset).line;
        let (start, end) = (self.line_start(line), self.line_start(line + 1));
        let kept = self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']).len();
        start..start + kept
    }

    /// The span of a position given by line and column, counted from 1; columns in bytes. Used for errors of
    /// serde_json.
    pub(super) fn at(&self, line: usize, column: usize) -> Range<usize> {
        let mut start = (self.line_start(line) + column.saturating_sub(1)).min(self.text.len());
        while !self.text.is_char_boundary(start) {
            start -= 1;
        }
        let width = self.text.get(start..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        start..start + width
    }
}

fn not_utf8(bytes: &[u8], error: std::str::Utf8Error) -> String {
    let hint = match bytes {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, _, ..] | [_, 0, ..] => "; it looks like UTF-16: save it as UTF-8",
        _ => "; save it as UTF-8",
    };
    let before = bytes.get(..error.valid_up_to()).unwrap_or_default();
    let line = before.split(|byte| *byte == b'\n').count();
    format!("the file is not UTF-8 (first on line {line}){hint}")
}

/// Byte offsets of the characters of a text, for a parser that counts characters.
#[derive(Debug)]
pub(super) struct Offsets<'a> {
    text: &'a str,
    /// Byte offset of every [`STRIDE`]th character; empty when all characters are one byte.
    marks: Vec<usize>,
}

/// Characters between two marks.
const STRIDE: usize = 64;

impl<'a> Offsets<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let marks = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().step_by(STRIDE).map(|(offset, _)| offset).collect()
        };
        Self { text, marks }
    }

    /// The text itself.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Byte offset of the character `index`.
    pub(super) fn byte(&self, index: usize) -> usize {
        if self.marks.is_empty() {
            return index.min(self.text.len());
        }
        let Some(mark) = self.marks.get(index / STRIDE) else { return self.text.len() };
        let rest = self.text.get(*mark..).unwrap_or_default();
        rest.char_indices().nth(index % STRIDE).map_or(self.text.len(), |(offset, _)| mark + offset)
    }
}

impl SyntaxError {
    /// Moves the positions of an error in a part of a text that starts at `offset`.
    pub(super) fn shifted(mut self, offset: usize) -> Self {
        self.span = self.span.start + offset..self.span.end + offset;
        self.other = self.other.map(|(span, label)| (span.start + offset..span.end + offset, label));
        self
    }
}
