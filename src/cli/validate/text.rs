//! Findings -> text for users: each in its file, underlined. No I/O; the writer strips colours.

use std::fmt::Write;
use std::ops::Range;
use std::rc::Rc;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::super::manifest::Source;
use super::super::terminal::printable;
use super::report::{Finding, Report, Severity, Spot};

/// Longest line, in characters, with the detail beside the underlined text.
const WIDTH: usize = 120;
/// Most bytes of one line around a position.
const WINDOW: usize = 400;

/// The first `most` findings, and the summary.
pub(crate) fn render(report: &Report, most: usize) -> String {
    let renderer = Renderer::styled();
    let mut out = String::new();
    for finding in report.findings.iter().take(most) {
        out.push_str(&renderer.render(&[group(finding)]));
        out.push_str("\n\n");
    }
    if let Some(more @ 1..) = report.findings.len().checked_sub(most) {
        let _ = writeln!(out, "... and {more} more (--max-findings)\n");
    }
    out.push_str(&report.summary());
    out.push('\n');
    out
}

/// The findings of a report that refuses nothing, a line each.
pub(crate) fn warnings(report: &Report) -> String {
    let line = |finding: &Finding| {
        let line = finding.spot.as_ref().map_or(0, |spot| spot.source.position(spot.span.start).line);
        let text = format!("{}:{line}: {}: {}", finding.file, finding.path, finding.message());
        format!("warning: {}\n", printable(&text))
    };
    report.findings.iter().map(line).collect()
}

fn group(finding: &Finding) -> Group<'_> {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let separator = if finding.path.is_empty() { "" } else { ": " };
    let title = printable(&format!("{}{separator}{}", finding.path, finding.head));
    let column = finding.spot.as_ref().map_or(0, |spot| spot.source.position(spot.span.end).column);
    let beside = column + finding.detail.chars().count() <= WIDTH;
    let label = if beside { printable(&finding.detail) } else { String::new() };
    let mut group = Group::with_title(level.primary_title(title).id(finding.rule.clone()));
    group = match &finding.spot {
        None => group.element(Origin::path(printable(&finding.file))),
        Some(spot) => {
            let other = finding.other.as_ref().filter(|(other, _)| Rc::ptr_eq(&other.source, &spot.source));
            shown(group, &finding.file, spot, label, other)
        }
    };
    if !beside && !finding.detail.is_empty() {
        group = group.element(Level::NOTE.message(printable(&finding.detail)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(printable(help)));
    }
    group
}

/// Adds the lines of a position, and of a related one when it is near and before it.
fn shown<'a>(group: Group<'a>, file: &str, spot: &Spot, label: String, other: Option<&'a (Spot, String)>) -> Group<'a> {
    let source = &spot.source;
    let mut window = window(source, &spot.span);
    let other = other.filter(|(other, _)| other.span.start <= spot.span.start);
    if let Some((other, _)) = other {
        let joined = self::window(source, &other.span).start..window.end;
        window = if joined.len() <= 10 * WINDOW { joined } else { window };
    }
    let within = |span: &Range<usize>| {
        let start = span.start.clamp(window.start, window.end) - window.start;
        start..(span.end.clamp(window.start, window.end) - window.start).max(start)
    };
    let position = source.position(window.start);
    let mut snippet = Snippet::source(source.text.get(window.clone()).unwrap_or_default().to_owned())
        .line_start(position.line)
        .annotation(AnnotationKind::Primary.span(within(&spot.span)).label((!label.is_empty()).then_some(label)));
    if let Some((other, label)) = other.filter(|(other, _)| window.contains(&other.span.start)) {
        snippet = snippet.annotation(AnnotationKind::Context.span(within(&other.span)).label(label.as_str()));
    }
    let file = printable(file);
    if position.column == 1 {
        return group.element(snippet.path(file));
    }
    // The line is cut at its start: the column in the snippet differs from that in the file.
    let position = source.position(spot.span.start);
    group.element(Origin::path(file).line(position.line).char_column(position.column)).element(snippet)
}

/// The lines of `span`, truncated when they are very long.
fn window(source: &Source, span: &Range<usize>) -> Range<usize> {
    let (first, last) = (source.line_of(span.start), source.line_of(span.end));
    let mut start = first.start.max(span.start.saturating_sub(WINDOW));
    let mut end = last.end.min(span.end.saturating_add(WINDOW)).min(span.start.saturating_add(4 * WINDOW)).max(start);
    while !source.text.is_char_boundary(start) {
        start -= 1;
    }
    while !source.text.is_char_boundary(end) {
        end -= 1;
    }
    start..end
}
