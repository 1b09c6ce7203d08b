//! A computation -> text for users. No I/O; the writer strips colours.

use std::fmt::Write;

use super::super::super::terminal::{BOLD, PLAIN, YELLOW, aligned, printable};
use super::outline::{Measured, Outline, Row};

/// The head, the clusters, the metrics, the result, the notes.
pub(in crate::cli::plan) fn render(outline: &Outline) -> String {
    let Outline { namespace, name, target, mode, min_replicas, max_replicas, .. } = outline;
    let title = format!("FederatedHPA {namespace}/{name}");
    let mut out = format!(
        "{BOLD}{}{PLAIN}: {} {}, {min_replicas}..{max_replicas}, {mode}\n\n",
        printable(&title),
        printable(&target.kind),
        printable(&target.name),
    );
    out.push_str(&headed(&clusters(outline)));
    if !outline.metrics.is_empty() {
        out.push('\n');
        out.push_str(&headed(&metrics(outline)));
    }
    result(outline, &mut out);
    if !outline.notes.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "\n{YELLOW}Notes{PLAIN}");
    }
    for note in &outline.notes {
        let _ = writeln!(out, "  - {}", printable(&note.message));
    }
    out
}

fn headed(lines: &[Vec<String>]) -> String {
    let text = aligned(lines);
    let (head, rest) = text.split_once('\n').unwrap_or_default();
    format!("{BOLD}{head}{PLAIN}\n{rest}")
}

fn clusters(outline: &Outline) -> Vec<Vec<String>> {
    let mut names: Vec<&str> = Vec::new();
    for measured in outline.clusters.iter().flat_map(|row| &row.metrics) {
        if !names.contains(&measured.metric.as_str()) {
            names.push(&measured.metric);
        }
    }
    let mut head = ["CLUSTER", "REPLICAS", "PODS", "READY"].map(str::to_owned).to_vec();
    head.extend(names.iter().map(|name| printable(name)));
    let number = |number: Option<usize>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
    let line = |row: &Row| {
        let mut line = vec![printable(&row.name), row.assigned_replicas.to_string()];
        line.extend([number(row.pods), number(row.ready_pods)]);
        line.extend(names.iter().map(|name| {
            let own = row.metrics.iter().find(|measured| measured.metric == *name);
            own.map_or_else(|| "-".to_owned(), shown)
        }));
        line
    };
    let mut lines = vec![head];
    lines.extend(outline.clusters.iter().map(line));
    lines
}

fn metrics(outline: &Outline) -> Vec<Vec<String>> {
    let mut lines = vec![["METRIC", "CURRENT", "TARGET", "REPLICAS"].map(str::to_owned).to_vec()];
    lines.extend(outline.metrics.iter().map(|metric| {
        let replicas = match (metric.proposed_replicas, &metric.measured.unavailable) {
            (Some(replicas), _) => replicas.to_string(),
            (None, why) => printable(why.as_deref().unwrap_or("-")),
        };
        vec![printable(&metric.measured.metric), shown(&metric.measured), shown(&metric.target), replicas]
    }));
    lines
}

/// A utilization in percent, an average of pods, or a value as a whole.
fn shown(measured: &Measured) -> String {
    let Measured { value, average_value, average_utilization, .. } = measured;
    let text = match (average_utilization, average_value, value) {
        (Some(percent), Some(average), _) => format!("{percent}% ({average} a pod)"),
        (Some(percent), None, _) => format!("{percent}%"),
        (None, Some(average), _) => format!("{average} a pod"),
        (None, None, Some(value)) => value.clone(),
        (None, None, None) => "-".to_owned(),
    };
    printable(&text)
}

fn result(outline: &Outline, out: &mut String) {
    let Outline { current_replicas: current, desired_replicas: desired, settled_replicas: settled, .. } = outline;
    // Writing to a string cannot fail.
    let _ = if current == desired {
        writeln!(out, "\n{BOLD}Result{PLAIN}: {current} replicas stay")
    } else {
        writeln!(out, "\n{BOLD}Result{PLAIN}: {current} -> {desired} replicas ({})", printable(&outline.reason))
    };
    for condition in &outline.conditions {
        let message = printable(&condition.message);
        let _ = writeln!(out, "  {}={} {}: {message}", condition.type_, condition.status, condition.reason);
    }
    if settled != desired {
        let _ = writeln!(
            out,
            "  When the windows of stabilization are over and nothing else has changed: {current} -> {settled} replicas"
        );
    }
}
