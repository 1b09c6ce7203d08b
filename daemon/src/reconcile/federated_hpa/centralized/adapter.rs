//! Answers of karmada-metrics-adapter, which asks all members and leaves out those that fail without a word
//! (docs/centralized.md#what-it-does). What it cannot have known counts as missing. No I/O.

use std::collections::BTreeMap;

use super::metrics::MetricsApiResponse;
use super::readings::in_cluster;
use crate::decision::hpa::metric::{Reading, Source};
use crate::decision::hpa::multi_cluster::{Cluster, Readings, Silent};
use crate::decision::hpa::pod::Pod;

/// Name of the adapter, where it is reported like a cluster.
const ADAPTER: &str = "karmada-metrics-adapter";

/// The readings of a metric of pods or of an object.
pub(super) fn read<'a>(source: &Source, answer: &MetricsApiResponse, of: &[Cluster<'a>]) -> Readings<'a> {
    if let MetricsApiResponse::Total(total) = answer {
        let why = "it sums the value over the clusters and does not say which of them failed".to_owned();
        return Readings::Incomplete(Reading::Total(*total), Silent { cluster: ADAPTER.to_owned(), why });
    }
    let known = || of.iter().filter_map(|cluster| Some((cluster.name, cluster.pods.as_deref().ok()?)));
    let mut clusters_of: BTreeMap<&str, usize> = BTreeMap::new();
    for pod in known().flat_map(|(_, pods)| pods) {
        let count = clusters_of.entry(&*pod.name).or_default();
        *count = count.saturating_add(1);
    }
    let shared = |pod: &Pod| clusters_of.get(&*pod.name).is_some_and(|count| *count > 1) && is_one(answer, pod);
    let readings = known().filter(|(_, pods)| !pods.is_empty()).map(|(name, pods)| {
        if pods.iter().any(shared) {
            let why = "the adapter makes one value of pods that have the same name in other clusters";
            return (name, Reading::Unavailable(why.to_owned()));
        }
        (name, in_cluster(name, pods, source, answer).unwrap_or_else(Reading::Unavailable))
    });
    Readings::Clusters(readings.collect())
}

/// Whether one value covers all pods of this name.
fn is_one(answer: &MetricsApiResponse, pod: &Pod) -> bool {
    match answer {
        MetricsApiResponse::Usage(usages) => usages.of(&pod.name).any(|usage| usage.cluster().is_empty()),
        _ => true,
    }
}
