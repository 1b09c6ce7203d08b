//! Responses -> text for users. The writer strips colours where they are disabled.

use std::io::{self, Write};
use std::net::SocketAddr;

use super::super::terminal::{BOLD, GREEN, PLAIN, RED, YELLOW, printable};
use super::super::validate::Given;
use super::Tally;
use super::ask::{Answer, PatchLine};
use crate::decision::finding::Violation;

/// Most characters of a default that are shown.
const DEFAULT_LENGTH: usize = 160;
/// Most defaults of one object that are shown.
const DEFAULTS: usize = 6;

pub(super) fn greeting(out: &mut impl Write, address: SocketAddr) -> io::Result<()> {
    writeln!(out, "A webhook listens on https://{address}, with a certificate made just now.")
}

/// The line that names an object.
pub(super) fn object(out: &mut impl Write, given: &Given) -> io::Result<()> {
    let line = given.source.position(given.subject.node.span.start).line;
    let name = &given.name;
    let title = format!("{} {}/{}", name.kind, name.namespace, name.name);
    writeln!(out, "\n{BOLD}{}{PLAIN}  {}:{line}", printable(&title), printable(&given.source.name))
}

pub(super) fn skipped(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "  not sent: the webhook only reviews FederatedHPA and CronFederatedHPA")
}

pub(super) fn near_miss(out: &mut impl Write, violation: &Violation) -> io::Result<()> {
    writeln!(out, "  {YELLOW}not sent{PLAIN}: the API server does not know it")?;
    writeln!(out, "    {}", printable(&violation.to_string()))
}

/// The response of one endpoint.
pub(super) fn answer(out: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let verdict = match &answer.status {
        None if answer.patch.is_empty() => format!("{GREEN}allowed{PLAIN}"),
        None => format!("{GREEN}allowed{PLAIN}, and completed with"),
        Some((code, reason)) => format!("{RED}denied{PLAIN}, {code} {}", printable(reason)),
    };
    writeln!(out, "  POST {:<27} {verdict}", answer.path)?;
    for PatchLine { path, value } in answer.patch.iter().take(DEFAULTS) {
        let value = value.to_string();
        let shown: String = value.chars().take(DEFAULT_LENGTH).collect();
        let more = if shown.len() < value.len() { "..." } else { "" };
        writeln!(out, "    {GREEN}+{PLAIN} {} {}{more}", printable(path), printable(&shown))?;
    }
    if let Some(more @ 1..) = answer.patch.len().checked_sub(DEFAULTS) {
        writeln!(out, "    {GREEN}+{PLAIN} {more} more defaults")?;
    }
    for cause in &answer.causes {
        writeln!(out, "    {RED}-{PLAIN} {}", printable(cause))?;
    }
    for warning in &answer.warnings {
        writeln!(out, "    {YELLOW}Warning:{PLAIN} {}", printable(warning))?;
    }
    Ok(())
}

/// The last line.
pub(super) fn tally(out: &mut impl Write, tally: &Tally) -> io::Result<()> {
    let Tally { allowed, denied, skipped, reviews, took } = tally;
    let skipped = if *skipped > 0 { format!(", {skipped} not sent") } else { String::new() };
    let milliseconds = took.as_secs_f64() * 1000.0;
    let s = if *reviews == 1 { "" } else { "s" };
    writeln!(out, "\n{allowed} allowed, {denied} denied{skipped}; {reviews} review{s} over TLS in {milliseconds:.1} ms")
}
