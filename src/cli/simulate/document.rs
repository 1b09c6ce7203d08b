//! `kind: Simulation` -> its content, or all its errors. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reader::{Fields, Reader};
use crate::api::resource_binding::Placement;
use crate::decision::finding::{Cause, Violation};
use crate::decision::split::Replicas;
use crate::decision::suggestion::{did_you_mean, nearest};
use crate::simulation::{Curve, Daily, Growth, Point, Second, Timing};

/// Longest time: a month.
const LONGEST: Second = 31 * 86_400;
const DAY: Second = 86_400;
/// Most clusters.
const CLUSTERS: usize = 5_000;
/// Most replicas anywhere.
const REPLICAS: Replicas = 10_000_000;
/// Most points of a load.
const POINTS: usize = 10_000;
/// Most faults.
const FAULTS: usize = 1_000;

/// A scenario as written.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) duration: Second,
    /// Seconds between two lines of the table.
    pub(super) sample: Second,
    pub(super) placement: Placement,
    pub(super) clusters: Vec<Cluster>,
    pub(super) load: Load,
    pub(super) faults: Vec<Fault>,
    pub(super) saturation: u64,
    pub(super) pod_start: Second,
    pub(super) timing: Timing,
}

/// A cluster.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) provider: String,
    pub(super) region: String,
    pub(super) zone: String,
    pub(super) kubernetes_version: String,
    pub(super) capacity: Replicas,
    pub(super) growth: Option<Growth>,
    pub(super) pod_start: Option<Second>,
    pub(super) replicas: Option<Replicas>,
    pub(super) writable: bool,
}

/// The load.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub(super) curve: Curve,
    /// A file with rows of time and load.
    pub(super) file: Option<String>,
    pub(super) shares: BTreeMap<String, u64>,
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
    let clusters = clusters(&mut fields, reader);
    let names: BTreeSet<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let load = load(&mut fields, reader, &names);
    let faults = fields.list("faults", FAULTS).into_iter().filter_map(|fault| self::fault(fault, &names, reader));
    let faults = faults.collect();
    let mut saturation = None;
    let mut pod_start = None;
    if let Some(mut workload) = fields.fields("workload") {
        saturation = workload.number("saturationPercent", 100..=10_000_u64);
        pod_start = workload.time("podStart", 0..=DAY);
        workload.done();
    }
    let timing = fields.fields("timing").map(timing).unwrap_or_default();
    fields.done();
    Document {
        duration,
        sample,
        placement,
        clusters,
        load,
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

fn placement(fields: &mut Fields<'_>, reader: &Reader) -> Placement {
    let Some(value) = fields.value("placement") else { return Placement::default() };
    serde_path_to_error::deserialize(value).unwrap_or_else(|error| {
        let path = fields.at(&format!("placement.{}", error.path()));
        reader.add(path.trim_end_matches(".."), Cause::Forbidden, error.inner().to_string());
        Placement::default()
    })
}

fn clusters(fields: &mut Fields<'_>, reader: &Reader) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let entries = fields.entries("clusters");
    if entries.is_empty() {
        fields.missing("clusters", "name at least one, with its capacity in replicas: {member1: {capacity: 20}}");
    }
    for (name, path, value) in entries {
        let mut own = Fields::of(reader, path, value);
        let count = own.number("count", 1..=CLUSTERS);
        let cluster = cluster(name, &mut own);
        own.done();
        let Some(count) = count else {
            clusters.push(cluster);
            continue;
        };
        let width = count.to_string().len();
        let numbered = (1..=count.min(CLUSTERS.saturating_sub(clusters.len())))
            .map(|number| Cluster { name: format!("{name}-{number:0width$}"), ..cluster.clone() });
        clusters.extend(numbered);
    }
    let mut names = BTreeSet::new();
    for cluster in &clusters {
        if !names.insert(&cluster.name) {
            reader.add("clusters", Cause::Duplicate(cluster.name.as_str().into()), "duplicate of a counted name");
        }
    }
    if clusters.len() >= CLUSTERS {
        reader.add(
            "clusters",
            Cause::TooLong { max: CLUSTERS },
            format!("fewer than {CLUSTERS} clusters are simulated"),
        );
    }
    clusters
}

fn cluster(name: &str, own: &mut Fields<'_>) -> Cluster {
    let capacity = own.number("capacity", 0..=REPLICAS);
    if capacity.is_none() && own.value("capacity").is_none() {
        own.missing("capacity", "how many replicas fit on its nodes");
    }
    let capacity = capacity.unwrap_or_default();
    let growth = own.fields("nodes").map(|mut nodes| {
        let most = nodes.number("capacity", 0..=REPLICAS);
        match most {
            None if nodes.value("capacity").is_none() => {
                nodes.missing("capacity", "how many replicas fit when all nodes are there");
            }
            Some(most) if most < capacity => {
                nodes.wrong(
                    "capacity",
                    &most.to_string(),
                    format!("must not be less than the initial capacity, {capacity}"),
                );
            }
            _ => {}
        }
        let step = nodes.number("step", 1..=REPLICAS).unwrap_or(1);
        let delay = nodes.time("delay", 0..=DAY).unwrap_or(120);
        nodes.done();
        Growth { capacity: most.unwrap_or(capacity), step, delay }
    });
    let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
    Cluster {
        name: name.to_owned(),
        labels: own.texts("labels"),
        provider: text(own.text("provider")),
        region: text(own.text("region")),
        zone: text(own.text("zone")),
        kubernetes_version: text(own.text("kubernetesVersion")),
        capacity,
        growth,
        pod_start: own.time("podStart", 0..=DAY),
        replicas: own.number("replicas", 0..=REPLICAS),
        writable: own.flag("writable").unwrap_or(true),
    }
}

fn load(fields: &mut Fields<'_>, reader: &Reader, names: &BTreeSet<&str>) -> Load {
    let Some(mut own) = fields.fields("load") else {
        if fields.value("load").is_none() {
            fields.missing("load", "the load over time, such as {points: [{at: 0s, replicas: 10}]}");
        }
        return Load::default();
    };
    let mut points: Vec<Point> = Vec::new();
    for mut point in own.list("points", POINTS) {
        let at = point.time("at", 0..=LONGEST).unwrap_or_default();
        let load = point.thousandths("replicas", u64::from(REPLICAS));
        if load.is_none() && point.value("replicas").is_none() {
            point.missing("replicas", "the load, as the replicas that it keeps at their target");
        }
        if points.last().is_some_and(|last| last.at > at) {
            point.wrong("at", &super::reader::clock(at), "must not be before the point above it");
        }
        let ramp = point.time("ramp", 0..=LONGEST).unwrap_or_default();
        point.done();
        points.push(Point { at, ramp, load: load.unwrap_or_default() });
    }
    let daily = own.fields("daily").map(daily);
    let file = own.text("file").map(str::to_owned);
    if points.is_empty() && daily.is_none() && file.is_none() {
        own.missing("points", "give points, a daily shape or a file");
    }
    if !points.is_empty() && file.is_some() {
        own.wrong("file", file.as_deref().unwrap_or_default(), "give points or a file, not both");
    }
    let noise = own.number("noisePercent", 0..=50_u8).unwrap_or_default();
    let seed = own.number("seed", 0..=u64::MAX).unwrap_or_default();
    let mut shares = BTreeMap::new();
    for (name, path, value) in own.entries("shares") {
        if let Some(share) = value.as_u64().filter(|share| *share <= 1_000_000) {
            shares.insert(name.to_owned(), share);
        } else {
            let cause = Cause::Invalid(value.to_string().as_str().into());
            reader.add(&path, cause, "must be a number from 0 to 1000000");
        }
        known(name, &path, names, reader);
    }
    if !shares.is_empty() && shares.values().all(|share| *share == 0) {
        own.wrong("shares", "0", "some cluster must get some of the load");
    }
    own.done();
    Load { curve: Curve { points, daily, noise, seed }, file, shares }
}

fn daily(mut own: Fields<'_>) -> Daily {
    let most = u64::from(REPLICAS);
    let (low, high) = (own.thousandths("low", most).unwrap_or_default(), own.thousandths("high", most));
    if high.is_none() && own.value("high").is_none() {
        own.missing("high", "the load at the peak, as the replicas that it keeps at their target");
    }
    let high = high.unwrap_or(low);
    if high < low {
        own.wrong("high", &(high / 1000).to_string(), "must not be less than low");
    }
    let peak = own.time("peak", 0..=DAY).unwrap_or(DAY / 2);
    own.done();
    Daily { low, high, peak }
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

fn known(name: &str, path: &str, names: &BTreeSet<&str>, reader: &Reader) {
    if !names.contains(name) {
        let meant = did_you_mean(nearest(name, names.iter().copied()));
        reader.add(path, Cause::Invalid(name.into()), format!("there is no such cluster in the scenario{meant}"));
    }
}

fn timing(mut own: Fields<'_>) -> Timing {
    let usual = Timing::default();
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
        ..usual
    };
    own.done();
    timing
}
