//! One fleet under fhpa, under what else there is, and at its best, side by side. No I/O.

use std::fmt::Write;

use serde_json::{Value, json};

use super::table::size;
use super::{FleetOutcome, export};
use crate::cli::simulate::export::{decimal, quoted};
use crate::cli::simulate::reader::clock;
use crate::cli::simulate::table::{hours, percent, whole};
use crate::cli::terminal::{BOLD, PLAIN, aligned, printable};
use crate::decision::plan::{Policy, Request};
use crate::simulation::{Driver, Scenario, Second, Sharing, Workload};

/// Columns of the table of ready replicas.
const MOMENTS: usize = 10;

/// A run and its name.
pub(in crate::cli::simulate) struct FleetRun {
    pub(in crate::cli::simulate) name: &'static str,
    pub(in crate::cli::simulate) outcome: FleetOutcome,
}

/// The fleet as configured; without the ledger, so that each workload is planned against all that is free; under
/// Karmada, whose scheduler divides what one computation asks for by free capacity, without and with its gate; under
/// plain HPAs; and what is possible.
pub(in crate::cli::simulate) fn runs(scenario: &Scenario<'_>, sample: Second) -> Vec<FleetRun> {
    let own = |workload: &Workload<'_>| (workload.driver, workload.policy);
    let karmada = |_: &Workload<'_>| (Driver::Centralized, Some(Policy::DynamicWeighted));
    let plain = |_: &Workload<'_>| (Driver::Once, Some(Policy::StaticWeighted));
    let run = |name, sharing, how: &dyn Fn(&Workload<'_>) -> (Driver, Option<Policy>)| {
        let changed = scenario.workloads.iter().map(|workload| {
            let (driver, policy) = how(workload);
            let assist = workload.asked.scale_assist && driver != Driver::Once;
            let asked = Request { scale_assist: assist, ..workload.asked.clone() };
            Workload { asked, policy, driver, ..workload.clone() }
        });
        let changed = Scenario { workloads: changed.collect(), sharing, ..scenario.clone() };
        FleetRun { name, outcome: FleetOutcome::of(&changed, sample) }
    };
    vec![
        run("fhpa", Sharing::Ledger, &own),
        run("fhpa, each alone", Sharing::Alone, &own),
        run("Karmada", Sharing::Alone, &karmada),
        run("Karmada, SchedulingOvercommitProtection", Sharing::Assumed, &karmada),
        run("plain HPAs, by weight", Sharing::Alone, &plain),
        FleetRun { name: "optimum", outcome: FleetOutcome::optimum(scenario, sample) },
    ]
}

/// A line for each run with its figures, and one with its ready replicas over time.
pub(in crate::cli::simulate) fn table(title: &str, scenario: &Scenario<'_>, runs: &[FleetRun]) -> String {
    let head = ["RUN", "SERVED", "UNSERVED", "BELOW MIN", "REPLICA-HOURS", "WRITES", "WORST WORKLOAD"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for FleetRun { name, outcome } in runs {
        let figures = &outcome.figures.whole;
        lines.push(vec![
            (*name).to_owned(),
            percent(figures.served()),
            whole(figures.unserved),
            figures.below_min_seconds.to_string(),
            hours(figures.replica_seconds),
            figures.writes.to_string(),
            worst(scenario, outcome),
        ]);
    }
    let head = format!("{BOLD}{title}{PLAIN}, compared: {}", size(scenario));
    let legend = "UNSERVED in replica-seconds, BELOW MIN in seconds over all workloads.";
    let (figures, ready) = (aligned(&lines), aligned(&ready(scenario, runs)));
    format!("{head}\n\n{figures}\n{legend}\n\n{BOLD}Ready replicas{PLAIN}\n\n{ready}")
}

/// The workload that is worst off: what is served of its load, and how long it is below its min.
fn worst(scenario: &Scenario<'_>, outcome: &FleetOutcome) -> String {
    outcome.worst(scenario).map_or_else(String::new, |(workload, own)| {
        format!("{} {}, {}s", printable(&workload.name), percent(own.served()), own.below_min_seconds)
    })
}

/// Ready replicas of all workloads at a few moments, beside what is wanted.
fn ready(scenario: &Scenario<'_>, runs: &[FleetRun]) -> Vec<Vec<String>> {
    let Some(first) = runs.first() else { return Vec::new() };
    let moments = moments(scenario, &first.outcome);
    let cells = |name: &str, of: &dyn Fn(usize) -> Option<u64>| {
        let number = |at: &usize| of(*at).map_or_else(|| "-".to_owned(), |number| number.to_string());
        [name.to_owned()].into_iter().chain(moments.iter().map(number)).collect::<Vec<String>>()
    };
    let samples = &first.outcome.table.samples;
    let times = moments.iter().filter_map(|at| samples.get(*at)).map(|sample| clock(sample.second));
    let mut lines = vec![["RUN".to_owned()].into_iter().chain(times).collect::<Vec<String>>()];
    lines.push(cells("wanted", &|at| samples.get(at).map(|sample| sample.whole().wanted)));
    for FleetRun { name, outcome } in runs {
        lines.push(cells(name, &|at| outcome.table.samples.get(at).map(|sample| sample.whole().ready)));
    }
    lines
}

/// The samples to show: the last one before the first fault, and others after it at equal distances.
fn moments(scenario: &Scenario<'_>, outcome: &FleetOutcome) -> Vec<usize> {
    let samples = &outcome.table.samples;
    let begins = scenario.faults.iter().map(|fault| fault.from).min().unwrap_or_default();
    let first = samples.iter().rposition(|sample| sample.second < begins).unwrap_or_default();
    let left = samples.len().saturating_sub(first);
    let step = left.div_ceil(MOMENTS).max(1);
    (first..samples.len()).step_by(step).collect()
}

/// A line for each run and workload; the line of all workloads together has no name of one.
pub(in crate::cli::simulate) fn csv(scenario: &Scenario<'_>, runs: &[FleetRun]) -> String {
    let mut out =
        "run,workload,served_percent,unserved_replica_seconds,below_min_seconds,replica_seconds,writes\n".to_owned();
    for FleetRun { name, outcome } in runs {
        let workloads = scenario.workloads.iter().map(|workload| &*workload.name).zip(&outcome.figures.workloads);
        for (workload, own) in [("", &outcome.figures.whole)].into_iter().chain(workloads) {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "\"{name}\",{},{},{},{},{},{}",
                quoted(workload),
                decimal(u128::from(own.served()).saturating_mul(10)),
                decimal(own.unserved),
                own.below_min_seconds,
                own.replica_seconds,
                own.writes,
            );
        }
    }
    out
}

/// One array.
pub(in crate::cli::simulate) fn json(scenario: &Scenario<'_>, runs: &[FleetRun]) -> String {
    let runs = runs.iter().map(|run| json!({"run": run.name, "figures": export::figures(scenario, &run.outcome)}));
    format!("{:#}\n", runs.collect::<Value>())
}
