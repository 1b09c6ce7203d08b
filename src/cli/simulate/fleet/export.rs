//! A run of a fleet -> CSV and JSON. No I/O.

use std::fmt::Write;

use serde_json::{Value, json};

use super::FleetOutcome;
use crate::cli::simulate::export::{self, decimal, number, quoted};
use crate::cli::simulate::table::event_text;
use crate::simulation::{FleetRecord, FleetSample, Scenario, Tally};

/// A line for each sample, with five columns for each workload.
pub(in crate::cli::simulate) fn csv(scenario: &Scenario<'_>, record: &FleetRecord) -> String {
    let mut out = "second".to_owned();
    for workload in &scenario.workloads {
        let name = quoted(&workload.name);
        for column in ["load", "wanted", "ready", "placed", "pending"] {
            // Writing to a string cannot fail.
            let _ = write!(out, ",{name}.{column}");
        }
    }
    out.push('\n');
    for sample in &record.samples {
        let _ = write!(out, "{}", sample.second);
        for Tally { load, wanted, ready, placed, pending, .. } in &sample.workloads {
            let _ = write!(out, ",{},{wanted},{ready},{placed},{pending}", decimal((*load).into()));
        }
        out.push('\n');
    }
    out
}

/// The whole run, as one object.
pub(in crate::cli::simulate) fn json(title: &str, scenario: &Scenario<'_>, outcome: &FleetOutcome) -> String {
    let record = &outcome.table;
    let events =
        record.events.iter().map(|event| json!({"second": event.second, "event": event_text(scenario, event)}));
    let object = json!({
        "scenario": title,
        "figures": figures(scenario, outcome),
        "events": events.collect::<Vec<_>>(),
        "samples": record.samples.iter().map(|found| sample(scenario, found)).collect::<Vec<_>>(),
    });
    format!("{object:#}\n")
}

/// The figures of all workloads together, and of each.
pub(super) fn figures(scenario: &Scenario<'_>, outcome: &FleetOutcome) -> Value {
    let workloads = scenario.workloads.iter().zip(&outcome.figures.workloads);
    let each = workloads.map(|(workload, own)| {
        let total = workload.asked.total;
        json!({
            "name": workload.name, "minReplicas": total.min, "maxReplicas": total.max,
            "schedulePriority": workload.priority, "figures": one(own),
        })
    });
    json!({"all": one(&outcome.figures.whole), "workloads": each.collect::<Vec<_>>()})
}

fn one(figures: &crate::simulation::Figures) -> Value {
    let mut value = export::figures(figures);
    if let Some(members) = value.as_object_mut() {
        members.insert("belowMinSeconds".to_owned(), figures.below_min_seconds.into());
    }
    value
}

fn sample(scenario: &Scenario<'_>, sample: &FleetSample) -> Value {
    let workload = |(name, tally): (&str, &Tally)| {
        json!({
            "name": name, "load": number(tally.load.into()), "wanted": tally.wanted, "ready": tally.ready,
            "placed": tally.placed, "pending": tally.pending,
        })
    };
    let names = scenario.workloads.iter().map(|workload| &*workload.name);
    json!({
        "second": sample.second,
        "workloads": names.zip(&sample.workloads).map(workload).collect::<Vec<_>>(),
    })
}
