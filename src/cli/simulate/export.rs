//! A run -> CSV and JSON. No I/O.

use std::fmt::Write;

use serde_json::{Value, json};

use super::Outcome;
use super::table::event_text;
use crate::decision::plan::Policy;
use crate::simulation::{Driver, Figures, Record, Row, Sample, Scenario, Workload};

/// A line for each sample, with six columns for each cluster.
pub(super) fn csv(scenario: &Scenario<'_>, record: &Record) -> String {
    let mut out = "second,load,unserved_replica_seconds,unserved_peak,control_plane_down".to_owned();
    for site in &scenario.sites {
        let name = quoted(&site.member.name);
        for column in ["up", "placed", "ready", "pending", "capacity", "min", "max"] {
            // Writing to a string cannot fail.
            let _ = write!(out, ",{name}.{column}");
        }
    }
    out.push('\n');
    for sample in &record.samples {
        let (load, unserved) = (decimal(sample.load.into()), decimal(sample.unserved));
        let peak = decimal(sample.unserved_peak.into());
        let _ = write!(out, "{},{load},{unserved},{peak},{}", sample.second, sample.frozen);
        for row in &sample.rows {
            let Row { up, placed, ready, pending, capacity, .. } = row;
            let bounds = row.bounds.map_or_else(|| ",".to_owned(), |bounds| format!("{},{}", bounds.min, bounds.max));
            let _ = write!(out, ",{up},{placed},{ready},{pending},{capacity},{bounds}");
        }
        out.push('\n');
    }
    out
}

/// Removes characters that would end a cell; they do not occur in names of clusters.
pub(super) fn quoted(name: &str) -> String {
    name.chars().map(|c| if c.is_control() || matches!(c, ',' | '"') { '_' } else { c }).collect()
}

/// Thousandths as a decimal.
pub(super) fn decimal(thousandths: u128) -> String {
    match thousandths % 1000 {
        0 => (thousandths / 1000).to_string(),
        part => format!("{}.{part:03}", thousandths / 1000).trim_end_matches('0').to_owned(),
    }
}

/// The whole run, as one object.
pub(super) fn json(
    title: &str,
    policy: Policy,
    (scenario, workload): (&Scenario<'_>, &Workload<'_>),
    outcome: &Outcome,
) -> String {
    let record = &outcome.table;
    let events =
        record.events.iter().map(|event| json!({"second": event.second, "event": event_text(scenario, event)}));
    let object = json!({
        "scenario": title,
        "mode": if workload.driver == Driver::Centralized { "Centralized" } else { "Distributed" },
        "policy": policy.name(),
        "minReplicas": workload.asked.total.min,
        "maxReplicas": workload.asked.total.max,
        "figures": figures(&outcome.figures),
        "events": events.collect::<Vec<_>>(),
        "samples": record.samples.iter().map(|found| sample(scenario, found)).collect::<Vec<_>>(),
    });
    format!("{object:#}\n")
}

/// The figures; loads and replicas are in thousandths where the name says so.
pub(super) fn figures(figures: &Figures) -> Value {
    json!({
        "servedPercent": number(u128::from(figures.served()) * 10),
        "unservedReplicaSeconds": number(figures.unserved),
        "unservedSeconds": figures.unserved_seconds,
        "unservedPeak": number(figures.unserved_peak.into()),
        "replicaSeconds": figures.replica_seconds,
        "peakReplicas": figures.peak_replicas,
        "peakSumOfMax": figures.peak_max,
        "decisions": figures.decisions,
        "reassignments": figures.reassignments,
        "writes": figures.writes,
        "busiestMinuteWrites": figures.busiest_minute,
        "lastWriteSecond": figures.last_write,
    })
}

fn sample(scenario: &Scenario<'_>, sample: &Sample) -> Value {
    let cluster = |(name, row): (&str, &Row)| {
        json!({
            "name": name, "up": row.up, "placed": row.placed, "ready": row.ready, "pending": row.pending,
            "capacity": row.capacity, "scaleDownDisabled": row.held,
            "bounds": row.bounds.map(|bounds| json!({"minReplicas": bounds.min, "maxReplicas": bounds.max})),
        })
    };
    let names = scenario.sites.iter().map(|site| &*site.member.name);
    json!({
        "second": sample.second,
        "load": number(sample.load.into()),
        "unservedReplicaSeconds": number(sample.unserved),
        "unservedPeak": number(sample.unserved_peak.into()),
        "controlPlaneDown": sample.frozen,
        "replicas": sample.replicas,
        "clusters": names.zip(&sample.rows).map(cluster).collect::<Vec<_>>(),
    })
}

/// Thousandths as a JSON number.
pub(super) fn number(thousandths: u128) -> Value {
    decimal(thousandths).parse::<serde_json::Number>().map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn thousandths_are_written_exactly() {
        assert_eq!([0, 5, 500, 1250, 3000].map(decimal), ["0", "0.005", "0.5", "1.25", "3"]);
    }
}
