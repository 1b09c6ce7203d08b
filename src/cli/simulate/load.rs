//! The load of a workload in a scenario, as written. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{DAY, Fields, LONGEST, REPLICAS, Reader, clock, known};
use crate::decision::finding::Cause;
use crate::simulation::{Curve, Daily, Point};

/// Most points of a load.
const POINTS: usize = 10_000;

/// The load.
#[derive(Clone, Debug, Default)]
pub(super) struct Load {
    pub(super) curve: Curve,
    /// A file with rows of time and load.
    pub(super) file: Option<String>,
    /// Its place in the document.
    pub(super) path: String,
    pub(super) shares: BTreeMap<String, u64>,
}

pub(super) fn load(fields: &mut Fields<'_>, reader: &Reader, names: &BTreeSet<&str>) -> Load {
    let Some(mut own) = fields.fields("load") else {
        if fields.value("load").is_none() {
            fields.missing("load", "the load over time, such as {points: [{at: 0s, replicas: 10}]}");
        }
        return Load::default();
    };
    let path = fields.at("load");
    let mut points: Vec<Point> = Vec::new();
    for mut point in own.list("points", POINTS) {
        let at = point.time("at", 0..=LONGEST).unwrap_or_default();
        let load = point.thousandths("replicas", u64::from(REPLICAS));
        if load.is_none() && point.value("replicas").is_none() {
            point.missing("replicas", "the load, as the replicas that it keeps at their target");
        }
        if points.last().is_some_and(|last| last.at > at) {
            point.wrong("at", &clock(at), "must not be before the point above it");
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
    Load { curve: Curve { points, daily, noise, seed }, file, path, shares }
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
