//! A plan -> text for users. No I/O; the writer strips colours.

use std::fmt::Write;

use super::super::terminal::{BOLD, PLAIN, YELLOW, aligned, printable};
use super::outline::{ClusterReplicas, Move, Outline, Range, Row};
use crate::decision::plan::Policy;
use crate::decision::split::Replicas;

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

/// One line per cluster.
fn table(outline: &Outline) -> String {
    let rank = match Policy::parse(outline.policy) {
        Some(Policy::StaticWeighted) => Some("WEIGHT"),
        Some(Policy::Prioritized) => Some("PRIORITY"),
        _ => None,
    };
    let head = ["CLUSTER", rank.unwrap_or_default(), "CAPACITY", "MIN", "MAX", "CURRENT", "PLANNED", "REASON"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(outline.clusters.iter().map(|row| cells(row).to_vec()));
    if rank.is_none() {
        for line in &mut lines {
            line.remove(1);
        }
    }
    let text = aligned(&lines);
    let (head, rest) = text.split_once('\n').unwrap_or_default();
    format!("{BOLD}{head}{PLAIN}\n{rest}")
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
