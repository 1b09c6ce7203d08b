//! `kind: Simulation` -> its content, or all its errors. No I/O.

use std::collections::BTreeSet;

use serde_json::Value;

use super::clusters::{Cluster, clusters};
use super::load::load;
use super::reader::{DAY, Fields, LONGEST, Reader, known};
use super::workloads::{Workload, workloads};
use crate::decision::finding::{Cause, Violation};
use crate::decision::fleet::placement::Placement;
use crate::simulation::{Second, Timing};

/// Most faults.
const FAULTS: usize = 1_000;

/// A scenario as written.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) duration: Second,
    /// Seconds between two lines of the table.
    pub(super) sample: Second,
    pub(super) placement: Placement<'static>,
    pub(super) clusters: Vec<Cluster>,
    /// Whether several workloads share the clusters: their capacity is in resources, not in replicas.
    pub(super) is_shared: bool,
    /// At least one, and only one where they are not shared.
    pub(super) workloads: Vec<Workload>,
    pub(super) faults: Vec<Fault>,
    pub(super) saturation: u64,
    pub(super) pod_start: Second,
    pub(super) timing: Timing,
}

/// A fault.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) from: Second,
    pub(super) to: Second,
    pub(super) kind: FaultKind,
    pub(super) cluster: Option<String>,
    pub(super) by: Second,
}

/// Kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    ClusterDown,
    ControlPlaneDown,
    ReportsLate,
}

const FAULT_KINDS: [(&str, FaultKind); 3] = [
    ("ClusterDown", FaultKind::ClusterDown),
    ("ControlPlaneDown", FaultKind::ControlPlaneDown),
    ("ReportsLate", FaultKind::ReportsLate),
];

impl Document {
    /// Reads a document.
    pub(super) fn read(value: &Value) -> Result<Self, Vec<Violation>> {
        let reader = Reader::default();
        let document = document(Fields::of(&reader, "", value), &reader);
        let found = reader.into_found();
        if found.is_empty() { Ok(document) } else { Err(found) }
    }
}

fn document(mut fields: Fields<'_>, reader: &Reader) -> Document {
    // Identifies the document.
    let _ = fields.value("kind");
    let duration = fields.time("duration", 1..=LONGEST);
    if duration.is_none() && fields.value("duration").is_none() {
        fields.missing("duration", "how long to simulate, such as 2h");
    }
    let duration = duration.unwrap_or(DAY);
    let sample = fields.time("sample", 1..=LONGEST).unwrap_or_else(|| sample(duration));
    let placement = placement(&mut fields, reader);
    let is_shared = fields.value("workloads").is_some();
    let clusters = clusters(&mut fields, reader, is_shared);
    let names: BTreeSet<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let workloads = if is_shared {
        workloads(&mut fields, reader, &clusters)
    } else {
        vec![Workload::only(load(&mut fields, reader, &names), &clusters)]
    };
    let faults = fields.list("faults", FAULTS).into_iter().filter_map(|fault| self::fault(fault, &names, reader));
    let faults = faults.collect();
    let mut saturation = None;
    let mut pod_start = None;
    if let Some(mut workload) = fields.fields("workload") {
        saturation = workload.number("saturationPercent", 100..=10_000_u64);
        pod_start = workload.time("podStart", 0..=DAY);
        workload.done();
    }
    let usual =
        if is_shared { Timing { capacity_report: 10, failover: 2, ..Timing::default() } } else { Timing::default() };
    let timing = fields.fields("timing").map_or(usual, |own| timing(own, usual));
    fields.done();
    Document {
        duration,
        sample,
        placement,
        clusters,
        is_shared,
        workloads,
        faults,
        saturation: saturation.unwrap_or(125).saturating_mul(10),
        pod_start: pod_start.unwrap_or(20),
        timing,
    }
}

/// An interval for about thirty lines, at round times.
fn sample(duration: Second) -> Second {
    let steps = [1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600];
    steps.into_iter().find(|step| duration / step <= 32).unwrap_or(DAY)
}

fn placement(fields: &mut Fields<'_>, reader: &Reader) -> Placement<'static> {
    let Some(value) = fields.value("placement") else { return Placement::default() };
    serde_path_to_error::deserialize(value).unwrap_or_else(|error| {
        let path = fields.at(&format!("placement.{}", error.path()));
        reader.add(path.trim_end_matches(".."), Cause::Forbidden, error.inner().to_string());
        Placement::default()
    })
}

fn fault(mut own: Fields<'_>, names: &BTreeSet<&str>, reader: &Reader) -> Option<Fault> {
    let kind = own.word("what", &FAULT_KINDS);
    if kind.is_none() && own.value("what").is_none() {
        own.missing("what", "ClusterDown, ControlPlaneDown or ReportsLate");
    }
    let from = own.time("from", 0..=LONGEST);
    if from.is_none() && own.value("from").is_none() {
        own.missing("from", "when it begins, such as 10m");
    }
    let from = from.unwrap_or_default();
    // Until the end of time, by default.
    let to = own.time("to", 0..=LONGEST).unwrap_or(Second::MAX);
    if to <= from {
        own.wrong("to", &super::reader::clock(to), "must be after from");
    }
    let cluster = own.text("cluster").map(str::to_owned);
    let by = own.time("by", 1..=DAY);
    match (kind, &cluster) {
        (Some(FaultKind::ClusterDown), None) => own.missing("cluster", "which cluster is down"),
        (Some(FaultKind::ControlPlaneDown), Some(name)) => {
            own.wrong("cluster", name, "the control plane belongs to no cluster: leave it out");
        }
        _ => {}
    }
    if let Some(name) = &cluster {
        known(name, &own.at("cluster"), names, reader);
    }
    if kind == Some(FaultKind::ReportsLate) && by.is_none() {
        own.missing("by", "how late, such as 2m");
    }
    own.done();
    Some(Fault { from, to, kind: kind?, cluster, by: by.unwrap_or_default() })
}

fn timing(mut own: Fields<'_>, usual: Timing) -> Timing {
    let (mut capacity_report, mut failover) = (usual.capacity_report, usual.failover);
    // One workload has all capacity for itself, and fails over alone.
    if capacity_report > 0 {
        capacity_report = own.time("capacityReport", 1..=DAY).unwrap_or(capacity_report);
        failover = own.time("failoverInterval", 1..=DAY).unwrap_or(failover);
    }
    let mut time = |name, from, default| own.time(name, from..=DAY).unwrap_or(default);
    let timing = Timing {
        hpa_sync: time("hpaSync", 1, usual.hpa_sync),
        downscale_window: time("downscaleWindow", 0, usual.downscale_window),
        metrics_window: time("metricsWindow", 0, usual.metrics_window),
        apply: time("apply", 0, usual.apply),
        report: time("report", 0, usual.report),
        detect: time("detect", 0, usual.detect),
        settle: time("settle", 1, usual.settle),
        optimize: time("rebalancePeriod", 0, usual.optimize),
        capacity_report,
        failover,
        ..usual
    };
    own.done();
    timing
}
