//! One scenario under several policies, and with plain HPAs, side by side. No I/O.

use std::fmt::Write;

use serde_json::{Value, json};

use super::super::terminal::{BOLD, PLAIN, aligned};
use super::Outcome;
use super::export::{self, decimal};
use super::table::{hours, percent, replicas, whole};
use crate::decision::plan::{Policy, Request};
use crate::simulation::{Driver, Scenario, Second, Workload};

/// A run and its name.
pub(super) struct Run {
    pub(super) name: String,
    pub(super) outcome: Outcome,
}

/// The scenario as configured, under each other policy that keeps the budget, in Centralized mode, and under plain
/// HPAs: with the bounds of its own policy, and with equal ones.
pub(super) fn runs(scenario: &Scenario<'_>, workload: &Workload<'_>, own: Policy, sample: Second) -> Vec<Run> {
    let run = |name: String, policy: Policy, driver: Driver, assist: bool| {
        let asked = Request { scale_assist: workload.asked.scale_assist && assist, ..workload.asked.clone() };
        let changed = Workload { policy: Some(policy), driver, asked, ..workload.clone() };
        let changed = Scenario { workloads: vec![changed], ..scenario.clone() };
        Run { name, outcome: Outcome::of(&changed, sample) }
    };
    let centralized = format!("Centralized, {}", own.name());
    let configured = workload.driver == Driver::Centralized;
    let (first, driver) =
        if configured { (centralized.as_str(), workload.driver) } else { (own.name(), Driver::Controller) };
    let mut runs = vec![run(format!("{first} (as configured)"), own, driver, true)];
    let compared = |policy: &Policy| configured && *policy == own || *policy != own && policy.divides();
    let others = Policy::ALL.into_iter().filter(compared);
    runs.extend(others.map(|policy| run(policy.name().to_owned(), policy, Driver::Controller, true)));
    if own.divides() {
        runs.push(run(format!("{}, no help", own.name()), own, Driver::Controller, false));
    }
    if !configured {
        // karmada-scheduler knows no priorities: it fills as few clusters as possible instead.
        let known = if own == Policy::Prioritized { Policy::Aggregated } else { own };
        runs.push(run(format!("Centralized, {}", known.name()), known, Driver::Centralized, true));
    }
    runs.push(run(format!("plain HPAs, {}", own.name()), own, Driver::Once, false));
    if own != Policy::StaticWeighted {
        runs.push(run("plain HPAs, by weight".to_owned(), Policy::StaticWeighted, Driver::Once, false));
    }
    runs
}

/// A line for each run.
pub(super) fn table(title: &str, runs: &[Run]) -> String {
    let head = [
        "POLICY",
        "SERVED",
        "UNSERVED",
        "PEAK UNSERVED",
        "REPLICA-HOURS",
        "PEAK",
        "SUM OF MAX",
        "REASSIGNMENTS",
        "WRITES",
    ];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for Run { name, outcome } in runs {
        let figures = &outcome.figures;
        lines.push(vec![
            name.clone(),
            percent(figures.served()),
            whole(figures.unserved),
            replicas(figures.unserved_peak),
            hours(figures.replica_seconds),
            figures.peak_replicas.to_string(),
            if figures.peak_max == 0 { "-".to_owned() } else { figures.peak_max.to_string() },
            figures.reassignments.to_string(),
            figures.writes.to_string(),
        ]);
    }
    let legend = "UNSERVED in replica-seconds, PEAK UNSERVED in replicas at a time, PEAK in replicas on nodes.";
    format!("{BOLD}{title}{PLAIN}, compared\n\n{}\n{legend}\n", aligned(&lines))
}

/// A line for each run.
pub(super) fn csv(runs: &[Run]) -> String {
    let mut out = "policy,served_percent,unserved_replica_seconds,unserved_peak,replica_seconds,peak_replicas,\
                   peak_sum_of_max,reassignments,writes\n"
        .to_owned();
    for Run { name, outcome } in runs {
        let figures = &outcome.figures;
        // Without HPAs there are no bounds to add up.
        let max = if figures.peak_max == 0 { String::new() } else { figures.peak_max.to_string() };
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{}",
            cell(name),
            decimal(u128::from(figures.served()).saturating_mul(10)),
            decimal(figures.unserved),
            decimal(figures.unserved_peak.into()),
            figures.replica_seconds,
            figures.peak_replicas,
            max,
            figures.reassignments,
            figures.writes,
        );
    }
    out
}

/// A cell of a line: in quotes where a comma in it would begin the next one.
fn cell(name: &str) -> String {
    if name.contains(',') { format!("\"{name}\"") } else { name.to_owned() }
}

/// One array.
pub(super) fn json(runs: &[Run]) -> String {
    let runs = runs.iter().map(|run| json!({"policy": run.name, "figures": export::figures(&run.outcome.figures)}));
    format!("{:#}\n", runs.collect::<Value>())
}
