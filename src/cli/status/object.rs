//! One FederatedHPA -> text: head, clusters, what is waited for, decisions, runs to come. No I/O.

use std::fmt::Write as _;

use super::super::terminal::{BOLD, GREEN, PLAIN, RED, YELLOW, aligned, cut, printable};
use super::list::{number, replicas, status, target};
use super::screen::Layout;
use crate::overview::age::{since, until};
use crate::overview::model::{ClusterView, ConditionView, Detail, MetricView, Waiting};
use crate::overview::sets;

/// Most clusters that are shown without `--all-clusters`.
const ROWS: usize = 40;
/// Widest reason of a cluster. The conditions above the table have it in full.
const WORDS: usize = 80;
/// Cells of a bar: a metric at its target fills it.
const CELLS: i64 = 10;

pub(super) fn render(detail: &Detail, layout: Layout) -> String {
    let parts = [
        head(detail, layout),
        conditions(detail, layout),
        clusters(detail, layout),
        waits(detail, layout),
        decisions(detail, layout),
        runs(detail, layout),
        super::unread(&detail.unread),
    ];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn head(detail: &Detail, layout: Layout) -> String {
    let hpa = &detail.summary;
    let title = printable(&format!("FederatedHPA {}/{}", hpa.namespace, hpa.name));
    let mode = hpa.mode.as_deref().unwrap_or("mode not set");
    let deleting = if hpa.deleting { ", being deleted" } else { "" };
    let (mode, workload) = (printable(mode), printable(&target(&hpa.target)));
    let scaled = detail.last_scale_time.as_ref();
    let scaled = scaled.map(|_| format!(", last scaled {} ago", since(scaled, layout.now))).unwrap_or_default();
    let mut lines = vec![
        vec![
            "  replicas".to_owned(),
            format!(
                "{} of {}..{}, {} desired{scaled}",
                replicas(hpa),
                hpa.min_replicas,
                hpa.max_replicas,
                number(hpa.desired_replicas)
            ),
        ],
        vec!["  ready".to_owned(), ready(&hpa.ready, layout)],
    ];
    let counts = detail.summary.cluster_counts;
    if counts.total > 0 {
        let of = |count: i32, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
        let text = format!(
            "{}, {} ready{}{}{}",
            counts.total,
            counts.ready,
            of(counts.limited, "limited"),
            of(counts.unknown, "unknown"),
            of(counts.scaled_to_zero, "scaled to zero"),
        );
        lines.push(vec!["  clusters".to_owned(), text]);
    }
    lines.extend(detail.metrics.iter().map(|one| vec!["  metric".to_owned(), metric(one)]));
    format!("{BOLD}{title}{PLAIN}: {workload}, {mode}{deleting}\n{}", aligned(&lines))
}

fn ready(ready: &ConditionView, layout: Layout) -> String {
    let since = ready.since.as_ref().map(|time| format!(", since {}", since(Some(time), layout.now)));
    let reason = if ready.reason.is_empty() { String::new() } else { format!(" {}", printable(&ready.reason)) };
    format!("{}{reason}{}", status(ready), since.unwrap_or_default())
}

/// The conditions that are not as they should be; those with one reason and message together.
fn conditions(detail: &Detail, layout: Layout) -> String {
    let mut bad: Vec<&ConditionView> = detail.conditions.iter().filter(|one| one.needs_attention).collect();
    let mut out = String::new();
    while let Some(first) = bad.first().copied() {
        let ConditionView { reason, message, since: time, to_do, .. } = first;
        let (same, others) = bad.iter().partition(|one| (&one.reason, &one.message) == (reason, message));
        bad = others;
        let names: Vec<String> =
            same.iter().map(|one: &&ConditionView| format!("{}={}", one.type_, one.status)).collect();
        let name = printable(&format!("{} {reason}", names.join(", ")));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{YELLOW}{name}{PLAIN}, since {}", since(time.as_ref(), layout.now));
        let _ = writeln!(out, "  {}", printable(message));
        if !to_do.is_empty() {
            let _ = writeln!(out, "  -> {to_do}");
        }
    }
    out
}

/// A line for each cluster; of many, those with something to say.
fn clusters(detail: &Detail, layout: Layout) -> String {
    let all = &detail.clusters;
    if all.is_empty() {
        return String::new();
    }
    let rows = shown(all, layout);
    let head = ["CLUSTER", "MIN", "MAX", "REPLICAS", "READY", "PENDING", "DESIRED", "METRIC", "SINCE", "REASON"];
    let head = head.map(|word| format!("{BOLD}{word}{PLAIN}")).to_vec();
    let lines: Vec<Vec<String>> =
        std::iter::once(head).chain(rows.iter().map(|cluster| cells(cluster, layout).to_vec())).collect();
    aligned(&lines) + &left_out(all, rows.len())
}

/// The clusters that are shown: of many, those with something to say first.
pub(super) fn shown(all: &[ClusterView], layout: Layout) -> Vec<&ClusterView> {
    if layout.all_clusters || all.len() <= ROWS {
        return all.iter().collect();
    }
    let (worse, well): (Vec<&ClusterView>, Vec<_>) = all.iter().partition(|cluster| cluster.needs_attention);
    worse.into_iter().chain(well).take(ROWS).collect()
}

fn left_out(all: &[ClusterView], shown: usize) -> String {
    let more = all.len().saturating_sub(shown);
    let worse = all.iter().filter(|cluster| cluster.needs_attention).count().saturating_sub(shown);
    match (more, worse) {
        (0, _) => String::new(),
        (more, 0) => format!("and {more} more, all as they should be (--all-clusters shows each)\n"),
        (more, worse) => {
            format!("and {more} more, {worse} of them not as they should be (--all-clusters shows each)\n")
        }
    }
}

fn cells(cluster: &ClusterView, layout: Layout) -> [String; 10] {
    let said = if cluster.message.is_empty() || !cluster.needs_attention {
        printable(&cluster.reason)
    } else {
        cut(&printable(&format!("{}: {}", cluster.reason, cluster.message)), WORDS)
    };
    let reason = if cluster.needs_attention { format!("{YELLOW}{said}{PLAIN}") } else { said };
    // The metric that asks for most decides.
    let highest = cluster.metrics.iter().max_by_key(|metric| metric.percent_of_target);
    [
        printable(&cluster.name),
        number(cluster.min_replicas),
        number(cluster.max_replicas),
        number(cluster.replicas),
        number(cluster.ready_replicas),
        number(cluster.pending_replicas),
        number(cluster.desired_replicas),
        highest.map_or_else(|| "-".to_owned(), metric),
        since(cluster.since.as_ref(), layout.now),
        if reason.is_empty() { "-".to_owned() } else { reason },
    ]
}

/// `cpu #######...  42%/60%`; above its target `cpu ##########> 90%/60%`.
fn metric(metric: &MetricView) -> String {
    let MetricView { name, current, target, percent_of_target, .. } = metric;
    let current = current.as_deref().unwrap_or("?");
    let numbers = format!("{}/{}", printable(current), printable(target));
    let Some(percent) = percent_of_target else { return format!("{} {numbers}", printable(name)) };
    let filled = (percent.saturating_mul(CELLS) / 100).clamp(0, CELLS);
    let filled = usize::try_from(filled).unwrap_or_default();
    let cells = usize::try_from(CELLS).unwrap_or_default();
    let (color, end) = if *percent > 100 { (RED, '>') } else { (GREEN, ' ') };
    let bar = format!("{color}{}{PLAIN}{}{end}", "#".repeat(filled), ".".repeat(cells.saturating_sub(filled)));
    format!("{} {bar} {numbers}", printable(name))
}

fn waits(detail: &Detail, layout: Layout) -> String {
    let line = |wait: &Waiting| {
        let to_do = if wait.to_do.is_empty() { String::new() } else { format!("    -> {}\n", wait.to_do) };
        let since = wait.since.as_ref().map(|time| format!(", since {}", since(Some(time), layout.now)));
        let reason = printable(&wait.reason);
        format!("  {reason}{}: {}\n{to_do}", since.unwrap_or_default(), printable(&wait.message))
    };
    section("Waiting for", detail.waits_for.iter().map(line).collect())
}

fn decisions(detail: &Detail, layout: Layout) -> String {
    let lines: Vec<Vec<String>> = detail
        .decisions
        .iter()
        .map(|one| {
            let times = if one.count > 1 { format!(" ({} times)", one.count) } else { String::new() };
            let said = format!("{}: {}{times}", one.reason, one.message);
            let said =
                if one.type_ == "Warning" { format!("{YELLOW}{}{PLAIN}", printable(&said)) } else { printable(&said) };
            vec![format!("  {} ago", since(one.time.as_ref(), layout.now)), said]
        })
        .collect();
    section("Last decisions", aligned(&lines))
}

fn runs(detail: &Detail, layout: Layout) -> String {
    let lines: Vec<Vec<String>> = detail
        .next_runs
        .iter()
        .map(|run| {
            let name = printable(&format!("{}, rule {}", run.name, run.rule));
            vec![
                format!("  {}", until(&run.time, layout.now)),
                name,
                sets(run.target_replicas, run.target_min_replicas, run.target_max_replicas),
            ]
        })
        .collect();
    section("Next cron runs", aligned(&lines))
}

fn section(title: &str, lines: String) -> String {
    if lines.is_empty() { lines } else { format!("{BOLD}{title}{PLAIN}\n{lines}") }
}
