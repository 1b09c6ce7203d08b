//! A plan -> text for users. No I/O; the writer strips colours.

use std::fmt::Write;

use super::outline::{ClusterReplicas, Move, Outline, Range, Row};
use crate::decision::plan::Policy;
use crate::decision::split::Replicas;

const BOLD: &str = "\x1b[1m";
const YELLOW: &str = "\x1b[1;33m";
const PLAIN: &str = "\x1b[0m";

/// The head, the table, the steps, the notes.
pub(super) fn render(outline: &Outline) -> String {
    let Outline { namespace, name, target, min_replicas, max_replicas, policy, policy_from, .. } = outline;
    let title = format!("FederatedHPA {namespace}/{name}");
    let group = &outline.affinity_group;
    let group = if group.is_empty() { String::new() } else { format!(", group {group}") };
    let zero = if outline.scaling_to_zero { ", may scale to zero" } else { "" };
    let mut out = format!(
        "{BOLD}{}{PLAIN}: {} {}, {min_replicas}..{max_replicas}{zero}, {policy} (from {}{})\n\n",
        printable(&title),
        printable(&target.kind),
        printable(&target.name),
        printable(policy_from),
        printable(&group),
    );
    out.push_str(&table(outline));
    // Writing to a string cannot fail.
    if outline.steps.is_empty() {
        let _ = writeln!(out, "\nNothing is left to do.");
    } else {
        let _ = writeln!(out, "\n{BOLD}Steps{PLAIN}");
    }
    for (index, step) in outline.steps.iter().enumerate() {
        let _ = writeln!(out, "{:>3}. {}", index.saturating_add(1), printable(&step_text(step)));
    }
    if !outline.notes.is_empty() {
        let _ = writeln!(out, "\n{YELLOW}Notes{PLAIN}");
    }
    for note in &outline.notes {
        let _ = writeln!(out, "  - {}", printable(&note.message));
    }
    out
}

/// One line per cluster, with columns as wide as their content.
fn table(outline: &Outline) -> String {
    let ranked = match Policy::parse(outline.policy) {
        Some(Policy::StaticWeighted) => Some("WEIGHT"),
        Some(Policy::Prioritized) => Some("PRIORITY"),
        _ => None,
    };
    let head = ["CLUSTER", ranked.unwrap_or_default(), "CAPACITY", "MIN", "MAX", "CURRENT", "PLANNED", "REASON"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(outline.clusters.iter().map(cells));
    let shown: Vec<usize> = (0..head.len()).filter(|column| *column != 1 || ranked.is_some()).collect();
    let cell = |line: &[String; 8], column: usize| line.get(column).cloned().unwrap_or_default();
    let width = |column| lines.iter().map(|line| cell(line, column).chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        let padded = shown.iter().map(|column| {
            let width = widths.get(*column).copied().unwrap_or_default();
            format!("{:<width$}", cell(line, *column))
        });
        let text = padded.collect::<Vec<_>>().join("  ");
        let text = text.trim_end();
        let _ = if number == 0 { writeln!(out, "{BOLD}{text}{PLAIN}") } else { writeln!(out, "{text}") };
    }
    out
}

fn cells(row: &Row) -> [String; 8] {
    let number = |number: Option<Replicas>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let rank = row.weight.map(|weight| weight.to_string()).or(row.priority.map(|priority| priority.to_string()));
    let mut why = row.reason.message.clone();
    if let Some(range) = row.initial_bounds {
        why = format!("{why}; at first {}", bounds(range));
    }
    if let Some(hold) = &row.hold {
        why = format!("{why}: {}", hold.message);
    }
    [
        printable(&row.name),
        rank.unwrap_or_else(|| "-".to_owned()),
        number(row.capacity),
        number(row.bounds.map(|range| range.min_replicas)),
        number(row.bounds.map(|range| range.max_replicas)),
        number(row.current_replicas),
        number(row.planned_replicas),
        printable(&why),
    ]
}

fn bounds(range: Range) -> String {
    if range.max_replicas == 0 {
        "no HPA".to_owned()
    } else {
        format!("{}..{}", range.min_replicas, range.max_replicas)
    }
}

fn step_text(step: &Move) -> String {
    let cluster = step.cluster.as_deref().unwrap_or_default();
    let places = |places: &[ClusterReplicas]| {
        places.iter().map(|place| format!("{} {}", place.cluster, place.replicas)).collect::<Vec<_>>().join(", ")
    };
    let what = match step.action {
        "ApplyHPA" => format!("{cluster}: HPA {}", step.bounds.map(bounds).unwrap_or_default()),
        "UpdateBinding" => {
            let entries = if step.entries.is_empty() { "none".to_owned() } else { places(&step.entries) };
            let evictions = places(&step.evictions);
            let evictions = if evictions.is_empty() { evictions } else { format!("; evicts {evictions}") };
            format!("ResourceBinding: {entries}{evictions}")
        }
        "Scale" => format!("{cluster}: scale to {}", step.replicas.unwrap_or_default()),
        _ => format!("{cluster}: its HPA is deleted"),
    };
    let wait = step.waits_for.as_ref().map(|wait| format!("; when {}", wait.message)).unwrap_or_default();
    format!("{what} ({}){wait}", step.reason.message)
}

/// Removes control characters: names come from anywhere.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
