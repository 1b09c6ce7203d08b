//! One workload in several clusters, seen as one (docs/design.md#centralized-mode). Pure.
//!
//! What a cluster does not tell never makes a workload smaller: pods that are not seen count as pods without a sample, and
//! while anything is missing no fewer replicas are proposed.

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
    /// Replicas that the cluster should run, as the binding has it.
    pub assigned: u32,
    /// The pods there, or why they are not known.
    pub pods: Result<Vec<Pod>, String>,
}

/// A cluster that does not tell all that is asked, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Silent {
    /// Name of the cluster.
    pub cluster: String,
    /// What it does not tell, in a few words.
    pub why: String,
}

/// The pods of a workload in all its clusters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pods {
    /// The pods that are seen, and one without a sample for each that is not.
    pub all: Vec<Pod>,
    /// Clusters whose pods are not seen.
    pub silent: Vec<Silent>,
}

/// Puts the pods of all clusters together. A cluster whose pods are not known has as many as it is assigned, each with the
/// requests of a pod that is seen; where none is seen they are left out, as nothing can be said of them.
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

/// Puts together what one metric reads in each cluster: samples side by side, totals summed. Returns the clusters that did
/// not answer too; a metric that no cluster answers is unavailable for the reason of the first.
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

/// What is said of clusters that do not tell all; absent when all of them do.
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
