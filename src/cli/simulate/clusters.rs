//! The clusters of a scenario, as written. No I/O.

use std::collections::{BTreeMap, BTreeSet};

use super::reader::{DAY, Fields, REPLICAS, Reader};
use crate::decision::capacity::{Amounts, Demand, PODS, Thousandths};
use crate::decision::finding::Cause;
use crate::decision::split::Replicas;
use crate::simulation::{Growth, Second, one_pod};

/// Most clusters.
const CLUSTERS: usize = 5_000;
/// Pods that fit on a node where nothing else is said, as with a kubelet's defaults.
const PODS_OF_A_NODE: Thousandths = 110_000;

/// A cluster.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) provider: String,
    pub(super) region: String,
    pub(super) zone: String,
    pub(super) kubernetes_version: String,
    pub(super) capacity: Amounts,
    pub(super) growth: Option<Growth>,
    pub(super) pod_start: Option<Second>,
    pub(super) replicas: Option<Replicas>,
    pub(super) writable: bool,
}

pub(super) fn clusters(fields: &mut Fields<'_>, reader: &Reader, is_shared: bool) -> Vec<Cluster> {
    let mut clusters: Vec<Cluster> = Vec::new();
    let entries = fields.entries("clusters");
    if entries.is_empty() && is_shared {
        fields.missing(
            "clusters",
            "name at least one, with its resources: {member1: {allocatable: {cpu: 16, memory: 64Gi}}}",
        );
    } else if entries.is_empty() {
        fields.missing("clusters", "name at least one, with its capacity in replicas: {member1: {capacity: 20}}");
    }
    for (name, path, value) in entries {
        let mut own = Fields::of(reader, path, value);
        let count = own.number("count", 1..=CLUSTERS);
        let cluster = cluster(name, &mut own, is_shared);
        own.done();
        let Some(count) = count else {
            clusters.push(cluster);
            continue;
        };
        let left = CLUSTERS.saturating_sub(clusters.len());
        clusters.extend(numbered(name, count).take(left).map(|name| Cluster { name, ..cluster.clone() }));
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

/// The names of `count` alike, of one width.
pub(super) fn numbered(name: &str, count: usize) -> impl Iterator<Item = String> {
    let width = count.to_string().len();
    (1..=count).map(move |number| format!("{name}-{number:0width$}"))
}

fn cluster(name: &str, own: &mut Fields<'_>, is_shared: bool) -> Cluster {
    let (capacity, growth) = if is_shared { resources(own) } else { replicas(own) };
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
        replicas: if is_shared { None } else { own.number("replicas", 0..=REPLICAS) },
        writable: own.flag("writable").unwrap_or(true),
    }
}

/// Capacity in replicas of the only workload.
fn replicas(own: &mut Fields<'_>) -> (Amounts, Option<Growth>) {
    own.elsewhere(
        "allocatable",
        "is for a scenario with `workloads`: give the capacity of one workload in replicas, as `capacity: 20`",
    );
    let capacity = own.number("capacity", 0..=REPLICAS);
    if capacity.is_none() && own.value("capacity").is_none() {
        own.missing("capacity", "how many replicas fit on its nodes");
    }
    let capacity = capacity.unwrap_or_default();
    let pods = |replicas| Amounts::of(&one_pod(), replicas);
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
        let step = Demand::from_iter([(PODS.to_owned(), Thousandths::from(step).saturating_mul(1000))]);
        Growth { capacity: pods(most.unwrap_or(capacity)), step, delay }
    });
    (pods(capacity), growth)
}

/// Capacity in the resources of nodes, which several workloads share.
fn resources(own: &mut Fields<'_>) -> (Amounts, Option<Growth>) {
    own.elsewhere("capacity", "workloads share resources: write `allocatable: {cpu: 16, memory: 64Gi}`");
    own.elsewhere("replicas", "is given for each workload: write `replicas: {member1: 2}` there");
    let all = Thousandths::from(REPLICAS).saturating_mul(1000);
    let capacity = amounts(own, "allocatable", "what its nodes have for pods: {cpu: 16, memory: 64Gi}", all);
    let growth = own.fields("nodes").map(|mut nodes| {
        nodes.elsewhere("capacity", "workloads share resources: write `allocatable: {cpu: 32, memory: 128Gi}`");
        let detail = "what its nodes have for pods when all are there: {cpu: 32, memory: 128Gi}";
        let most = amounts(&mut nodes, "allocatable", detail, all);
        let less = |(name, most): &(&String, &Thousandths)| capacity.get(*name).is_some_and(|first| first > *most);
        if let Some((name, _)) = most.iter().find(less) {
            nodes.wrong("allocatable", name, "must not be less than what its nodes have at first");
        }
        let step = amounts(&mut nodes, "step", "what a node has for pods: {cpu: 4, memory: 16Gi}", PODS_OF_A_NODE);
        let delay = nodes.time("delay", 0..=DAY).unwrap_or(120);
        nodes.done();
        let (step, most) = (step.into_iter().collect(), most.into_iter().collect());
        Growth { capacity: most, step, delay }
    });
    (capacity.into_iter().collect(), growth)
}

fn amounts(
    own: &mut Fields<'_>,
    name: &'static str,
    missing: &str,
    pods: Thousandths,
) -> BTreeMap<String, Thousandths> {
    let amounts = own.amounts(name);
    if amounts.is_none() {
        own.missing(name, missing);
    }
    let mut amounts = amounts.unwrap_or_default();
    amounts.entry(PODS.to_owned()).or_insert(pods);
    amounts
}
