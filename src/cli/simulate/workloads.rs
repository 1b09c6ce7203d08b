//! The workloads of a scenario, as written. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::clusters::{Cluster, numbered};
use super::load::{Load, load};
use super::reader::{Fields, REPLICAS, Reader, known};
use crate::decision::capacity::{Amounts, Demand, PODS, Summary};
use crate::decision::finding::Cause;
use crate::decision::split::Replicas;
use crate::simulation::one_pod;

/// Most workloads.
const WORKLOADS: usize = 1_000;
/// Most pairs of a workload and a cluster.
const PAIRS: usize = 20_000;

/// A workload.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    /// Its name; empty for the only one.
    pub(super) name: String,
    /// Name of its FederatedHPA, where it is not the only one.
    pub(super) federated_hpa: Option<String>,
    /// The place of `federated_hpa` in the document.
    pub(super) path: String,
    pub(super) each: Demand,
    pub(super) priority: i32,
    pub(super) load: Load,
    /// Replicas at the start, by cluster.
    pub(super) replicas: BTreeMap<String, Replicas>,
}

impl Workload {
    /// The only workload of a scenario: clusters have their capacity in its replicas.
    pub(super) fn only(load: Load, clusters: &[Cluster]) -> Self {
        let replicas = clusters.iter().filter_map(|cluster| Some((cluster.name.clone(), cluster.replicas?)));
        Self {
            name: String::new(),
            federated_hpa: None,
            path: String::new(),
            each: one_pod(),
            priority: 0,
            load,
            replicas: replicas.collect(),
        }
    }
}

/// Reads the list, the oldest first.
pub(super) fn workloads(fields: &mut Fields<'_>, reader: &Reader, clusters: &[Cluster]) -> Vec<Workload> {
    fields.elsewhere("load", "is given for each workload: write it there");
    let mut workloads: Vec<Workload> = Vec::new();
    for own in fields.list("workloads", WORKLOADS) {
        read(own, reader, clusters, &mut workloads);
    }
    if workloads.is_empty() {
        let detail =
            "name at least one: [{name: shop, requests: {cpu: 500m}, load: {points: [{at: 0s, replicas: 10}]}}]";
        fields.missing("workloads", detail);
    }
    let mut names = BTreeSet::new();
    for workload in &workloads {
        if !names.insert(&workload.name) {
            reader.add("workloads", Cause::Duplicate(workload.name.as_str().into()), "each needs a name of its own");
        }
    }
    if workloads.len() > WORKLOADS || workloads.len().saturating_mul(clusters.len()) > PAIRS {
        let detail = format!("at most {WORKLOADS} workloads are simulated, and at most {PAIRS} times clusters");
        reader.add("workloads", Cause::TooLong { max: WORKLOADS }, detail);
    }
    workloads
}

fn read(mut own: Fields<'_>, reader: &Reader, clusters: &[Cluster], workloads: &mut Vec<Workload>) {
    let name = own.text("name").map(str::to_owned);
    if name.is_none() && own.value("name").is_none() {
        own.missing("name", "a name of its own");
    }
    let names: BTreeSet<&str> = clusters.iter().map(|cluster| cluster.name.as_str()).collect();
    let mut replicas = BTreeMap::new();
    for (cluster, path, value) in own.entries("replicas") {
        known(cluster, &path, &names, reader);
        let number = value.as_u64().and_then(|number| Replicas::try_from(number).ok());
        if let Some(number) = number.filter(|number| *number <= REPLICAS) {
            replicas.insert(cluster.to_owned(), number);
        } else {
            let detail = format!("must be a whole number from 0 to {REPLICAS}");
            reader.add(&path, Cause::Invalid(value.to_string().as_str().into()), detail);
        }
    }
    let workload = Workload {
        name: name.unwrap_or_default(),
        federated_hpa: own.text("federatedHPA").map(str::to_owned),
        path: own.at("federatedHPA"),
        each: requests(&mut own, clusters),
        priority: own.priority("schedulePriority").unwrap_or_default(),
        load: load(&mut own, reader, &names),
        replicas,
    };
    let count = own.number("count", 1..=WORKLOADS);
    own.done();
    let Some(count) = count else { return workloads.push(workload) };
    for (number, name) in (0..).zip(numbered(&workload.name, count)) {
        let mut load = workload.load.clone();
        // Each deviates on its own.
        load.curve.seed = load.curve.seed.wrapping_add(number);
        workloads.push(Workload { name, load, ..workload.clone() });
    }
}

/// What each replica requests.
fn requests(own: &mut Fields<'_>, clusters: &[Cluster]) -> Demand {
    let Some(amounts) = own.amounts("requests") else {
        own.missing("requests", "what each replica requests: {cpu: 500m, memory: 256Mi}");
        return one_pod();
    };
    for (name, amount) in amounts.iter().filter(|(name, amount)| **amount > 0 && *name != PODS) {
        let alone = Demand::from_iter([(name.clone(), *amount)]);
        let most = |cluster: &Cluster| {
            let all: &Amounts = cluster.growth.as_ref().map_or(&cluster.capacity, |growth| &growth.capacity);
            Summary::idle(all).whole(&alone)
        };
        if !clusters.is_empty() && clusters.iter().all(|cluster| most(cluster) == 0) {
            own.wrong("requests", name, "no cluster has as much of it for one replica");
        }
    }
    amounts.into_iter().collect()
}
