//! YAML events -> trees. Nesting, size and the cost of merge keys are bounded. No I/O.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};

use super::source::Offsets;
use super::{Content, Entry, MAX_DEPTH, MAX_EXPANDED, Node, Source, SyntaxError, scalar};

/// Approximate bytes of a value without its text.
const NODE_BYTES: usize = 64;

/// Remaining budget of the documents of a file.
pub(super) struct Budget {
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: MAX_EXPANDED }
    }
}

/// The documents of a YAML text.
pub(super) fn load(source: &Source) -> Result<Vec<Rc<Node>>, SyntaxError> {
    let is_control = |character: char| character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\u{85}');
    if let Some((at, character)) = source.text.char_indices().find(|(_, character)| is_control(*character)) {
        let message = format!("a control character, U+{:04X}, must not be in YAML", u32::from(character));
        let help = "remove it, or write it as an escape in double quotes";
        return Err(SyntaxError::new(message, at..at + character.len_utf8()).with_help(help));
    }
    Builder::new(&source.text, None, 0, &mut Budget::default()).run(&source.text)
}

/// The document of a JSON text that starts at `offset` of its file; `neutral` is its form that YAML can parse.
pub(super) fn load_json(
    text: &str,
    neutral: &str,
    offset: usize,
    budget: &mut Budget,
) -> Result<Vec<Rc<Node>>, SyntaxError> {
    Builder::new(neutral, Some(text), offset, budget).run(neutral).map_err(|error| error.shifted(offset))
}

/// A list or mapping that is being read.
struct Frame {
    start: usize,
    anchor: usize,
    open: Open,
}

enum Open {
    List(Vec<Rc<Node>>),
    Map { entries: Vec<Entry>, keys: HashMap<Rc<str>, Range<usize>>, key: Option<Key>, merges: Vec<Rc<Node>> },
}

enum Key {
    Name(Rc<str>, Range<usize>),
    Merge(Range<usize>),
}

struct Builder<'a> {
    offsets: Offsets<'a>,
    /// The original JSON text.
    json: Option<&'a str>,
    /// Offset of every position.
    base: usize,
    budget: &'a mut Budget,
    anchors: HashMap<usize, Rc<Node>>,
    frames: Vec<Frame>,
    documents: Vec<Rc<Node>>,
    /// End of the last token.
    end: usize,
}

impl<'a> Builder<'a> {
    fn new(text: &'a str, json: Option<&'a str>, base: usize, budget: &'a mut Budget) -> Self {
        Self {
            offsets: Offsets::new(text),
            json,
            base,
            budget,
            anchors: HashMap::new(),
            frames: Vec::new(),
            documents: Vec::new(),
            end: 0,
        }
    }

    fn run(mut self, text: &str) -> Result<Vec<Rc<Node>>, SyntaxError> {
        let mut parser: Parser<'_, StrInput<'_>> = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| self.scan_error(&error))?;
            let span = self.bytes(span);
            match event {
                Event::StreamEnd => break,
                Event::DocumentEnd => self.anchors.clear(),
                Event::Alias(anchor) => self.alias(anchor, span)?,
                Event::Scalar(text, style, anchor, tag) => self.scalar(text, style, anchor, tag.as_deref(), span)?,
                Event::SequenceStart(anchor, _) => self.open(Open::List(Vec::new()), anchor, &span)?,
                Event::MappingStart(anchor, _) => {
                    let map = Open::Map { entries: Vec::new(), keys: HashMap::new(), key: None, merges: Vec::new() };
                    self.open(map, anchor, &span)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(&span)?,
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            }
        }
        Ok(self.documents)
    }

    fn bytes(&self, span: Span) -> Range<usize> {
        self.offsets.byte(span.start.index())..self.offsets.byte(span.end.index())
    }

    fn scan_error(&self, error: &ScanError) -> SyntaxError {
        let at = self.offsets.byte(error.marker().index());
        if error.info().contains("tab") {
            // The parser may stop at the end of the line before.
            let text = self.offsets.text();
            let ahead = text.get(at..).and_then(|rest| rest.find('\t')).unwrap_or_default();
            return SyntaxError::new("a tab cannot indent YAML", at + ahead..at + ahead)
                .with_help("indent with spaces");
        }
        let (message, help) = explained(error.info());
        // An unquoted special character extends to the end of its line.
        let rest = self.offsets.text().get(at..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let end = if help.is_some() { at + rest.trim_end().len() } else { at };
        SyntaxError { help, ..SyntaxError::new(message, at..end) }
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), SyntaxError> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(SyntaxError::new("this alias is inside the node it refers to", span));
        };
        self.charge(node.size, &span)?;
        if self.frames.len() + node.height >= MAX_DEPTH {
            return Err(too_deep(span));
        }
        self.end = span.end;
        self.place(node, span, 0)
    }

    fn scalar(
        &mut self,
        text: Cow<'_, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        mut span: Range<usize>,
    ) -> Result<(), SyntaxError> {
        if text.is_empty() && style == ScalarStyle::Plain {
            // The parser reports the next token.
            span = self.end..self.end;
        }
        self.end = span.end;
        if self.expects_key() && style == ScalarStyle::Plain && tag.is_none() && text == "<<" {
            return self.key(Key::Merge(span));
        }
        let content = match (tag, style) {
            (Some(tag), _) if tag.is_yaml_core_schema() => scalar::tagged(&tag.suffix, &text),
            (None, ScalarStyle::Plain) => scalar::plain(&text),
            (None, ScalarStyle::DoubleQuoted) if self.json.is_some() => self.json_text(&span),
            _ => Ok(Content::Text(text.into_owned())),
        };
        let content = content.map_err(|message| SyntaxError::new(message, span.clone()))?;
        if self.expects_key() {
            let name = key_text(content).ok_or_else(|| SyntaxError::new("a key must not be null", span.clone()))?;
            return self.key(Key::Name(name.into(), span));
        }
        self.finish(content, span, anchor)
    }

    fn json_text(&self, span: &Range<usize>) -> Result<Content, String> {
        let quoted = self.json.and_then(|text| text.get(span.clone())).unwrap_or_default();
        serde_json::from_str(quoted).map(Content::Text).map_err(|_| "this text holds half a surrogate pair".to_owned())
    }

    fn expects_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { open: Open::Map { key: None, .. }, .. }))
    }

    fn key(&mut self, new: Key) -> Result<(), SyntaxError> {
        if let Key::Name(name, span) = &new {
            self.charge(name.len(), span)?;
        }
        let Some(Frame { open: Open::Map { keys, key, .. }, .. }) = self.frames.last_mut() else { return Ok(()) };
        if let Key::Name(name, span) = &new
            && let Some(first) = keys.insert(Rc::clone(name), span.clone())
        {
            let mut error = SyntaxError::new(format!("the key {name:?} is a duplicate in this mapping"), span.clone());
            error.other = Some((first, "first here"));
            return Err(error.with_help("only one of them would count: remove or rename the other"));
        }
        *key = Some(new);
        Ok(())
    }

    fn open(&mut self, open: Open, anchor: usize, span: &Range<usize>) -> Result<(), SyntaxError> {
        if self.expects_key() {
            return Err(SyntaxError::new("a key must be text, not a list or a mapping", span.clone()).with_help(
                "is this a template? Validate what it renders to, for example `helm template . | fhpa validate -`",
            ));
        }
        if self.frames.len() + 1 >= MAX_DEPTH {
            return Err(too_deep(span.clone()));
        }
        self.end = span.end;
        self.frames.push(Frame { start: span.start, anchor, open });
        Ok(())
    }

    fn close(&mut self, span: &Range<usize>) -> Result<(), SyntaxError> {
        let Some(frame) = self.frames.pop() else { return Ok(()) };
        // Only a flow collection has its own end; a block ends with its last element.
        self.end = if span.is_empty() { self.end } else { span.end };
        let whole = frame.start..self.end.max(frame.start);
        let content = match frame.open {
            Open::List(items) => Content::List(items),
            Open::Map { mut entries, keys, merges, .. } => {
                self.merge(&mut entries, keys, &merges, &whole)?;
                Content::Map(entries)
            }
        };
        self.finish(content, whole, frame.anchor)
    }

    /// Adds the entries of the merged mappings; entries of the mapping itself, and earlier ones, win.
    fn merge(
        &mut self,
        entries: &mut Vec<Entry>,
        keys: HashMap<Rc<str>, Range<usize>>,
        merges: &[Rc<Node>],
        span: &Range<usize>,
    ) -> Result<(), SyntaxError> {
        if merges.is_empty() {
            return Ok(());
        }
        let mut seen: HashSet<Rc<str>> = keys.into_keys().collect();
        for node in merges {
            let Content::Map(theirs) = &node.content else { continue };
            self.charge(theirs.len() * NODE_BYTES, span)?;
            entries.extend(theirs.iter().filter(|entry| seen.insert(Rc::clone(&entry.key))).cloned());
        }
        Ok(())
    }

    fn finish(&mut self, content: Content, span: Range<usize>, anchor: usize) -> Result<(), SyntaxError> {
        let (height, size) = measure(&content);
        let own = match &content {
            Content::Text(text) => NODE_BYTES + text.len(),
            _ => NODE_BYTES,
        };
        self.charge(own, &span)?;
        let node = Rc::new(Node { span: moved(&span, self.base), content, height, size });
        self.place(node, span, anchor)
    }

    /// Adds a finished value to its parent: the list, the mapping, or the documents.
    fn place(&mut self, node: Rc<Node>, span: Range<usize>, anchor: usize) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        match self.frames.last_mut().map(|frame| &mut frame.open) {
            None => {
                if !matches!(node.content, Content::Null) {
                    self.documents.push(node);
                }
            }
            Some(Open::List(items)) => items.push(node),
            Some(Open::Map { entries, key, merges, .. }) => match key.take() {
                Some(Key::Name(key, key_span)) => {
                    entries.push(Entry { key, key_span: moved(&key_span, self.base), value: node });
                }
                Some(Key::Merge(at)) => merges.extend(mergeable(&node).ok_or_else(|| {
                    SyntaxError::new("`<<` merges a mapping or a list of mappings", at.start..span.end.max(at.end))
                })?),
                None => return Err(SyntaxError::new("a key must be text, not an alias", span)),
            },
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize, span: &Range<usize>) -> Result<(), SyntaxError> {
        match self.budget.bytes.checked_sub(bytes) {
            Some(left) => {
                self.budget.bytes = left;
                Ok(())
            }
            None => Err(SyntaxError::new(
                format!("here the file holds more than {} MiB, with its aliases written out", MAX_EXPANDED >> 20),
                span.clone(),
            )),
        }
    }
}

fn moved(span: &Range<usize>, base: usize) -> Range<usize> {
    span.start + base..span.end + base
}

fn too_deep(span: Range<usize>) -> SyntaxError {
    SyntaxError::new(format!("values are nested deeper than {MAX_DEPTH} levels"), span)
}

/// Height and approximate size of a value.
fn measure(content: &Content) -> (usize, usize) {
    let children = |nodes: &mut dyn Iterator<Item = &Rc<Node>>| {
        nodes.fold((0, NODE_BYTES), |(height, size), node| (node.height.max(height), node.size.saturating_add(size)))
    };
    match content {
        Content::List(items) => {
            let (height, size) = children(&mut items.iter());
            (height + 1, size)
        }
        Content::Map(entries) => {
            let (height, size) = children(&mut entries.iter().map(|entry| &entry.value));
            (height + 1, size)
        }
        Content::Text(text) => (0, NODE_BYTES + text.len()),
        Content::Null | Content::Bool(_) | Content::Number(_) => (0, NODE_BYTES),
    }
}

/// The text of a key: other scalars are formatted, as in Kubernetes.
fn key_text(content: Content) -> Option<String> {
    match content {
        Content::Text(text) => Some(text),
        Content::Bool(flag) => Some(flag.to_string()),
        Content::Number(number) => Some(number.to_string()),
        Content::Null | Content::List(_) | Content::Map(_) => None,
    }
}

/// The mappings that a merge key adds.
fn mergeable(node: &Rc<Node>) -> Option<Vec<Rc<Node>>> {
    match &node.content {
        Content::Map(_) => Some(vec![Rc::clone(node)]),
        Content::List(items) if items.iter().all(|item| matches!(item.content, Content::Map(_))) => Some(items.clone()),
        _ => None,
    }
}

/// A parser error in plain words, and its most frequent cause.
fn explained(info: &str) -> (&str, Option<&'static str>) {
    if info.contains("anchor") || info.contains("alias") {
        let message = "`*` starts an alias and `&` an anchor, and this is neither";
        (message, Some("a value that starts with `*` or `&` needs quotes: schedule: \"*/5 * * * *\""))
    } else if info.starts_with("unexpected character: `@'") {
        ("no value starts with `@`", Some("put it in quotes: schedule: \"@daily\""))
    } else if info.starts_with("unexpected character") {
        (info, Some("a value that starts with this character needs quotes"))
    } else if info.starts_with("mapping values are not allowed") {
        let message = "there is a second `: ` in this value, or the line is indented too far";
        (message, Some("check the indentation, and put a value that contains `: ` in quotes"))
    } else {
        (info, None)
    }
}
