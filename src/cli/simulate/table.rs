//! A run -> a table for users, with its figures. No I/O; the writer strips colours.

use std::fmt::Write;

use super::super::terminal::{BOLD, PLAIN, aligned, printable};
use super::Outcome;
use super::reader::clock;
use crate::decision::plan::Policy;
use crate::simulation::{Driver, Event, EventKind, Figures, Row, Sample, Scenario, Second, Workload};

/// Most clusters with a column of their own.
const COLUMNS: usize = 8;

/// Head, samples, figures.
pub(super) fn render(
    title: &str,
    policy: Policy,
    (scenario, workload): (&Scenario<'_>, &Workload<'_>),
    outcome: &Outcome,
) -> String {
    let total = workload.asked.total;
    let clusters = scenario.sites.len();
    let plural = if clusters == 1 { "" } else { "s" };
    let mut out = format!(
        "{BOLD}{title}{PLAIN}: {total} in {clusters} cluster{plural}, {}, {} long\n\n",
        divided(policy, workload.driver),
        clock(scenario.duration)
    );
    let mut head = vec!["TIME".to_owned(), "LOAD".to_owned(), "UNSERVED".to_owned(), "READY".to_owned()];
    let own = clusters <= COLUMNS;
    let centralized = workload.driver == Driver::Centralized;
    if centralized {
        head.push("REPLICAS".to_owned());
    }
    if own {
        head.extend(scenario.sites.iter().map(|site| printable(&site.member.name)));
    } else {
        head.extend(["PENDING", "CAPACITY"].map(str::to_owned));
        head.extend((!centralized).then(|| "SUM OF MAX".to_owned()));
    }
    head.push("EVENTS".to_owned());
    let mut lines = vec![head];
    let mut before: Option<Second> = None;
    for sample in &outcome.table.samples {
        let mut line = vec![clock(sample.second), replicas(sample.load), unserved(sample)];
        line.push(sum(sample, |row| row.ready).to_string());
        line.extend(sample.replicas.map(|replicas| replicas.to_string()));
        if own {
            line.extend(sample.rows.iter().map(cell));
        } else {
            line.push(sum(sample, |row| row.pending).to_string());
            line.push(sum(sample, |row| row.capacity).to_string());
            let max = || sum(sample, |row| row.bounds.map_or(0, |bounds| bounds.max)).to_string();
            line.extend((!centralized).then(max));
        }
        line.push(events(scenario, &outcome.table.events, before, sample.second));
        before = Some(sample.second);
        lines.push(line);
    }
    out.push_str(&aligned(&lines));
    if own && centralized {
        out.push_str(
            "\nA cluster: ready replicas, +starting, !without a node. REPLICAS: what all clusters have to run.\n",
        );
    } else if own {
        out.push_str("\nA cluster: ready replicas, +starting, !without a node, its bounds; * it may not scale down.\n");
    }
    out.push('\n');
    out.push_str(&figures(&outcome.figures, workload.driver));
    out
}

/// The policy; in Centralized mode that of karmada-scheduler.
pub(super) fn divided(policy: Policy, driver: Driver) -> String {
    let name = policy.name();
    if driver == Driver::Centralized { format!("Centralized, {name}") } else { name.to_owned() }
}

fn sum(sample: &Sample, of: impl Fn(&Row) -> u32) -> u64 {
    sample.rows.iter().map(|row| u64::from(of(row))).sum()
}

/// The average unserved load since the last sample, and its peak.
fn unserved(sample: &Sample) -> String {
    if sample.unserved_peak == 0 { "-".to_owned() } else { replicas(sample.unserved_peak) }
}

fn cell(row: &Row) -> String {
    let mut text = if row.up { row.ready.to_string() } else { "down".to_owned() };
    let starting = row.placed.saturating_sub(row.ready);
    // Writing to a string cannot fail.
    if row.up && starting > 0 {
        let _ = write!(text, "+{starting}");
    }
    if row.up && row.pending > 0 {
        let _ = write!(text, "!{}", row.pending);
    }
    match row.bounds {
        Some(bounds) => format!("{text} {bounds}{}", if row.held { "*" } else { "" }),
        None => text,
    }
}

/// The events of a time, as text.
pub(super) fn events(scenario: &Scenario<'_>, all: &[Event], after: Option<Second>, until: Second) -> String {
    let since = |event: &&Event| after.is_none_or(|after| event.second > after) && event.second <= until;
    let texts: Vec<String> = all.iter().filter(since).map(|event| event_text(scenario, event)).collect();
    match texts.len() {
        0..=3 => texts.join(", "),
        more => format!("{more} events"),
    }
}

/// An event as text.
pub(super) fn event_text(scenario: &Scenario<'_>, event: &Event) -> String {
    let site = event.cluster.and_then(|at| scenario.sites.get(at));
    let who = site.map_or_else(|| "all clusters".to_owned(), |site| printable(&site.member.name));
    match event.what {
        EventKind::Down => format!("{who} down"),
        EventKind::Up => format!("{who} up"),
        EventKind::Paused => "control plane paused".to_owned(),
        EventKind::Resumed => "control plane resumed".to_owned(),
        EventKind::Late(by) => format!("reports of {who} {} late", clock(by)),
        EventKind::Prompt => format!("reports of {who} on time"),
        EventKind::Nodes(more) => format!("{who} nodes +{more}"),
    }
}

/// The figures, a line each.
fn figures(figures: &Figures, driver: Driver) -> String {
    let mut lines = vec![
        ["served".to_owned(), format!("{} of the load", percent(figures.served()))],
        [
            "unserved".to_owned(),
            format!(
                "{} replica-seconds, {} at worst, in {}",
                whole(figures.unserved),
                replicas(figures.unserved_peak),
                clock(Second::try_from(figures.unserved_seconds).unwrap_or(Second::MAX))
            ),
        ],
        [
            "replicas".to_owned(),
            format!("{} replica-hours, {} at most", hours(figures.replica_seconds), figures.peak_replicas),
        ],
    ];
    if driver != Driver::Centralized {
        lines.push(["sum of max".to_owned(), format!("{} at most", figures.peak_max)]);
    }
    let settled = figures.last_write.map(|second| format!(", the last at {}", clock(second))).unwrap_or_default();
    if driver != Driver::Centralized {
        lines.push(["reassignments".to_owned(), figures.reassignments.to_string()]);
    }
    let decided = match driver {
        Driver::Controller => format!("{} decisions, {} writes{settled}", figures.decisions, figures.writes),
        Driver::Centralized => {
            format!("{} computations, {} changes of the replicas{settled}", figures.decisions, figures.writes)
        }
        Driver::Once => format!("{} writes, then none", figures.writes),
    };
    lines.push(["control plane".to_owned(), decided]);
    aligned(&lines.into_iter().map(Vec::from).collect::<Vec<_>>())
}

/// Thousandths of a replica with at most one decimal.
pub(super) fn replicas(thousandths: u64) -> String {
    let tenths = thousandths.saturating_add(50) / 100;
    if tenths.is_multiple_of(10) { (tenths / 10).to_string() } else { format!("{}.{}", tenths / 10, tenths % 10) }
}

/// Thousandths of replica-seconds, whole.
pub(super) fn whole(thousandths: u128) -> String {
    (thousandths.saturating_add(500) / 1000).to_string()
}

/// Replica-seconds as replica-hours with one decimal.
pub(super) fn hours(seconds: u64) -> String {
    let tenths = seconds.saturating_add(180) / 360;
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Hundredths of a percent.
pub(super) fn percent(hundredths: u64) -> String {
    format!("{}.{:02}%", hundredths / 100, hundredths % 100)
}

#[cfg(test)]
mod tests {
    use super::{hours, percent, replicas, whole};

    #[test]
    fn numbers_are_rounded_to_what_is_read() {
        assert_eq!([0, 949, 950, 12_500, 99_960].map(replicas), ["0", "0.9", "1", "12.5", "100"]);
        assert_eq!(
            (whole(1499), whole(1500), hours(5400), percent(9_905)),
            ("1".into(), "2".into(), "1.5".into(), "99.05%".into())
        );
    }
}
