//! One workload in several clusters, seen as one (docs/design.md#centralized-mode). Pure.
//!
//! Missing data of a cluster never scales a workload down: unknown pods count as pods without a sample, and while any
//! data is missing, the proposed replicas never decrease.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::metric::Reading;
use super::pod::{Phase, Pod};
use crate::decision::few::Few;

/// The pods of a workload in one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster<'a> {
    /// Name of the cluster.
    pub name: &'a str,
    /// Replicas of the cluster in the binding.
    pub assigned: u32,
    /// The pods there, or why they are unknown.
    pub pods: Result<Vec<Pod>, String>,
}

/// A cluster with missing data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Silent {
    /// Name of the cluster.
    pub cluster: String,
    /// What is missing, in a few words.
    pub why: String,
}

/// The pods of a workload in all its clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pods {
    /// The known pods, and one pod without a sample for each unknown one.
    pub all: Vec<Pod>,
    /// Clusters with unknown pods.
    pub silent: Vec<Silent>,
}

/// Combines the pods of all clusters. A cluster with unknown pods counts with its assigned number of pods, each with
/// the requests of a known pod. When no pod is known, they are left out, as their requests are unknown.
#[must_use]
pub fn pods(clusters: Vec<Cluster<'_>>) -> Pods {
    let mut known = Pods::default();
    let mut unseen = Vec::new();
    for Cluster { name, assigned, pods } in clusters {
        match pods {
            Ok(pods) => known.all.extend(pods),
            Err(why) => {
                known.silent.push(Silent { cluster: name.to_owned(), why });
                unseen.push((name, assigned));
            }
        }
    }
    let alive = |pod: &&Pod| !pod.deleted && pod.phase != Phase::Failed && pod.phase != Phase::Succeeded;
    let Some(like) = known.all.iter().find(alive).or(known.all.first()).cloned() else { return known };
    for (cluster, assigned) in unseen {
        known.all.extend((0..assigned).map(|number| Pod {
            key: format!("{cluster}/{number}"),
            name: format!("{number} of {cluster}"),
            phase: Phase::Running,
            deleted: false,
            ready: None,
            started: None,
            requests: Arc::clone(&like.requests),
        }));
    }
    known
}

/// Combines the readings of one metric in all clusters: samples are joined, totals summed. Also returns the clusters
/// without an answer; a metric without any answer is unavailable for the reason of the first cluster.
#[must_use]
pub fn reading(of: Vec<(&str, Reading)>) -> (Reading, Vec<Silent>) {
    let mut silent = Vec::new();
    let mut samples = BTreeMap::new();
    let mut total: Option<i64> = None;
    let mut answered = false;
    for (cluster, reading) in of {
        match reading {
            Reading::PerPod(more) => {
                answered = true;
                samples.extend(more);
            }
            Reading::Total(value) => {
                answered = true;
                total = Some(total.unwrap_or_default().saturating_add(value));
            }
            Reading::Unavailable(why) => silent.push(Silent { cluster: cluster.to_owned(), why }),
        }
    }
    let reading = match (total, silent.first()) {
        (Some(total), _) => Reading::Total(total),
        (None, _) if answered => Reading::PerPod(samples),
        (None, Some(Silent { why, .. })) => Reading::Unavailable(why.clone()),
        (None, None) => Reading::Unavailable("no cluster runs the workload".to_owned()),
    };
    (reading, silent)
}

/// Describes the clusters with missing data; `None` when nothing is missing.
#[must_use]
pub fn partial(silent: &[Silent]) -> Option<String> {
    let mut by_cluster: BTreeMap<&str, &str> = BTreeMap::new();
    for Silent { cluster, why } in silent {
        by_cluster.entry(cluster).or_insert(why);
    }
    if by_cluster.is_empty() {
        return None;
    }
    let clusters: Vec<String> = by_cluster.into_iter().map(|(cluster, why)| format!("{cluster} ({why})")).collect();
    Some(Few(&clusters).to_string())
}
