//! A run of a fleet -> a table for users, with the figures of each workload. No I/O; the writer strips colours.

use super::FleetOutcome;
use crate::cli::simulate::reader::clock;
use crate::cli::simulate::table::{events, hours, percent, replicas, whole};
use crate::cli::terminal::{BOLD, PLAIN, aligned, printable};
use crate::simulation::{Figures, Scenario, Second, Tally};

/// Most workloads with a line of their own.
const LINES: usize = 40;

/// Head, samples, figures.
pub(in crate::cli::simulate) fn render(title: &str, scenario: &Scenario<'_>, outcome: &FleetOutcome) -> String {
    let mut out = format!("{BOLD}{title}{PLAIN}: {}\n\n", size(scenario));
    let head = ["TIME", "LOAD", "WANTED", "READY", "STARTING", "PENDING", "BELOW MIN", "EVENTS"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let mut before: Option<Second> = None;
    for sample in &outcome.table.samples {
        let Tally { load, wanted, ready, placed, pending, below_min, .. } = sample.whole();
        let starting = placed.saturating_sub(ready);
        lines.push(vec![
            clock(sample.second),
            replicas(load),
            wanted.to_string(),
            ready.to_string(),
            or_none(starting),
            or_none(pending),
            or_none(below_min),
            events(scenario, &outcome.table.events, before, sample.second),
        ]);
        before = Some(sample.second);
    }
    out.push_str(&aligned(&lines));
    out.push_str("\nReplicas of all workloads; BELOW MIN: workloads with fewer ready replicas than minReplicas.\n\n");
    out.push_str(&aligned(&figures(scenario, outcome)));
    out.push_str("\nUNSERVED in replica-seconds, BELOW MIN in seconds.\n");
    out
}

/// How many workloads, in how many clusters, for how long.
pub(super) fn size(scenario: &Scenario<'_>) -> String {
    let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let (workloads, clusters) = (scenario.workloads.len(), scenario.sites.len());
    format!("{} in {}, {} long", count(workloads, "workload"), count(clusters, "cluster"), clock(scenario.duration))
}

/// A line for each workload, and one for all.
fn figures(scenario: &Scenario<'_>, outcome: &FleetOutcome) -> Vec<Vec<String>> {
    let head = ["WORKLOAD", "BOUNDS", "PRIORITY", "SERVED", "UNSERVED", "BELOW MIN", "REPLICA-HOURS", "WRITES"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    let workloads = scenario.workloads.iter().zip(&outcome.figures.workloads);
    lines.extend(workloads.take(LINES).map(|(workload, own)| {
        let known = vec![printable(&workload.name), workload.asked.total.to_string(), workload.priority.to_string()];
        line(known, own)
    }));
    let more = scenario.workloads.len().saturating_sub(LINES);
    if more > 0 {
        lines.push(vec![format!("{more} more")]);
    }
    lines.push(line(vec!["all".to_owned(), String::new(), String::new()], &outcome.figures.whole));
    lines
}

fn line(mut known: Vec<String>, own: &Figures) -> Vec<String> {
    known.extend([
        percent(own.served()),
        whole(own.unserved),
        own.below_min_seconds.to_string(),
        hours(own.replica_seconds),
        own.writes.to_string(),
    ]);
    known
}

fn or_none(number: u64) -> String {
    if number == 0 { "-".to_owned() } else { number.to_string() }
}
