//! One workload in several clusters, seen as one (docs/centralized.md#what-it-does). Pure.
//!
//! Missing data of a cluster never scales a workload down: unknown pods count as pods without a sample, and while any
//! data is missing, the proposed replicas never decrease.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::decide::{Decision, History, Policy, decide};
use super::metric::{Metric, Reading, Samples, Source, Target};
use super::pod::{Phase, Pod, Startup};
use super::replicas::{Tolerance, Workload};
use crate::few::Few;

/// How a workload is scaled.
#[derive(Clone, Debug, PartialEq)]
pub struct Controls {
    /// Bounds, behavior and window.
    pub policy: Policy,
    /// Distances that cause no scaling.
    pub tolerance: Tolerance,
    /// How the age of a pod counts.
    pub startup: Startup,
}

impl Controls {
    /// Whether the metrics decide: outside the bounds they are not evaluated. A workload without replicas is within them
    /// only where `minReplicas` is 0, too.
    #[must_use]
    pub fn use_metrics(&self, current: i32) -> bool {
        let range = self.policy.range;
        (range.min..=range.max).contains(&current)
    }
}

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
struct Pods {
    /// The known pods, and one pod without a sample for each unknown one.
    all: Vec<Pod>,
    /// Clusters with unknown pods.
    silent: Vec<Silent>,
}

/// Pods and metrics of a workload in each of its clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Gathered<'a> {
    /// Its pods.
    pub clusters: Vec<Cluster<'a>>,
    /// Its metrics.
    pub metrics: Vec<ClusterMetric<'a>>,
    /// Whether each cluster runs all requested replicas.
    pub duplicated: bool,
    /// Whether it also runs in a cluster that it is evicted from, which is no cluster of its binding any more.
    pub evicting: bool,
}

/// A metric in each cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterMetric<'a> {
    /// Source of the metric.
    pub source: Source,
    /// Target of the metric.
    pub target: Target,
    /// Its measurements.
    pub readings: Readings<'a>,
}

/// Measurements of a metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readings<'a> {
    /// One for all clusters.
    Whole(Reading),
    /// One for all clusters, which may lack some of them.
    Incomplete(Reading, Silent),
    /// One of each cluster that was asked.
    Clusters(Vec<(&'a str, Reading)>),
}

/// A workload in all its clusters, seen as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Observed {
    /// Its pods.
    pub pods: Vec<Pod>,
    /// Its metrics.
    pub metrics: Vec<Metric>,
    /// Clusters with missing data.
    pub silent: Vec<Silent>,
    /// Running replicas for each requested replica.
    pub calibration: f64,
    /// Whether the pods are in several clusters.
    pub spread: bool,
}

impl Gathered<'_> {
    /// Combines the clusters.
    #[must_use]
    pub fn combined(self) -> Observed {
        let Self { clusters, metrics, duplicated, evicting } = self;
        let spread = clusters.len() > 1 || evicting;
        let count = u32::try_from(clusters.len()).unwrap_or(u32::MAX).max(1);
        let calibration = if duplicated { f64::from(count) } else { 1.0 };
        let first = firsts(&clusters);
        let mut missing = Vec::new();
        let metrics = metrics.into_iter().map(|ClusterMetric { source, target, readings }| {
            let reading = match readings {
                Readings::Whole(reading) => reading,
                Readings::Incomplete(reading, silent) => {
                    missing.push(silent);
                    reading
                }
                Readings::Clusters(readings) if readings.is_empty() => {
                    Reading::Unavailable(nothing(&source, &clusters))
                }
                Readings::Clusters(readings) => {
                    let (reading, silent) = self::reading(readings, &first);
                    missing.extend(silent);
                    reading
                }
            };
            Metric { source, target, reading }
        });
        let metrics = metrics.collect();
        let Pods { all, mut silent } = pods(clusters, spread);
        silent.extend(missing);
        Observed { pods: all, metrics, silent, calibration, spread }
    }
}

/// The index that the first pod of each cluster with known pods has among the pods of all clusters.
fn firsts<'a>(clusters: &[Cluster<'a>]) -> BTreeMap<&'a str, u32> {
    let known = clusters.iter().filter_map(|cluster| Some((cluster.name, cluster.pods.as_ref().ok()?.len())));
    let mut next = 0_u32;
    let placed = known.map(|(name, pods)| {
        let first = next;
        next = next.saturating_add(u32::try_from(pods).unwrap_or(u32::MAX));
        (name, first)
    });
    placed.collect()
}

/// Why there is no data.
fn nothing(source: &Source, clusters: &[Cluster<'_>]) -> String {
    let failed = clusters.iter().find_map(|cluster| Some((cluster.name, cluster.pods.as_ref().err()?)));
    let none = if source.is_outer() {
        "no cluster is there that can be asked for it"
    } else {
        "no pods of the workload run in any cluster"
    };
    failed.map_or_else(|| none.to_owned(), |(name, why)| format!("in {name} {why}"))
}

impl Observed {
    /// Pods of one cluster, and no metric.
    #[must_use]
    pub fn of(pods: Vec<Pod>) -> Self {
        Self { pods, metrics: Vec::new(), silent: Vec::new(), calibration: 1.0, spread: false }
    }

    /// The workload as input of the algorithm; `partial` describes the clusters with missing data.
    #[must_use]
    pub fn workload<'a>(
        &'a self,
        controls: &Controls,
        current: i32,
        partial: Option<&'a str>,
        now: Timestamp,
    ) -> Workload<'a> {
        Workload {
            spec_replicas: current,
            status_replicas: i32::try_from(self.pods.iter().filter(|pod| pod.is_alive()).count()).unwrap_or(i32::MAX),
            calibration: self.calibration,
            partial,
            pods: &self.pods,
            spread: self.spread,
            tolerance: controls.tolerance,
            startup: controls.startup,
            now,
        }
    }
}

/// One computation over all clusters. Without an observation, where [`Controls::use_metrics`] is false, bounds decide.
///
/// While the metrics give no number, the replicas stay because of that, and count as recommended: otherwise the first low
/// reading after an outage that is longer than the window would remove them at once, as Kubernetes does.
#[must_use]
pub fn compute(
    controls: &Controls,
    current: i32,
    observed: Option<&Observed>,
    now: Timestamp,
    history: &mut History,
) -> Decision {
    let nothing = Observed::of(Vec::new());
    let observed = observed.unwrap_or(&nothing);
    let partial = partial(&observed.silent);
    let workload = observed.workload(controls, current, partial.as_deref(), now);
    let decision = decide(&controls.policy, &workload, &observed.metrics, history);
    if decision.unknown {
        history.recommendations.hold(current, now);
    }
    decision
}

/// Combines the pods of all clusters. A cluster with unknown pods counts with its assigned number of pods, each with
/// the requests of a known pod. When no pod is known, they are left out, as their requests are unknown. In one of several
/// clusters, assigned pods that do not exist count as Pending: they are on their way, or a quota refuses them, and a
/// division would remove pods of the other clusters for them.
fn pods(clusters: Vec<Cluster<'_>>, spread: bool) -> Pods {
    let mut known = Pods { all: Vec::new(), silent: Vec::new() };
    let count: usize = clusters.iter().filter_map(|cluster| Some(cluster.pods.as_ref().ok()?.len())).sum();
    let mut unseen = Vec::new();
    for Cluster { name, assigned, pods } in clusters {
        if let (true, Ok(pods)) = (spread, &pods) {
            let alive = pods.iter().filter(|pod| pod.is_alive()).count();
            unseen.push((name, Phase::Pending, assigned.saturating_sub(u32::try_from(alive).unwrap_or(u32::MAX))));
        }
        match pods {
            // Those of the first cluster stay where they are: a workload may have a hundred thousand.
            Ok(mut pods) if known.all.is_empty() => {
                pods.reserve_exact(count.saturating_sub(pods.len()));
                known.all = pods;
            }
            Ok(pods) => known.all.extend(pods),
            Err(why) => {
                known.silent.push(Silent { cluster: name.to_owned(), why });
                unseen.push((name, Phase::Running, assigned));
            }
        }
    }
    let Some(like) = known.all.iter().find(|pod| pod.is_alive()).or(known.all.first()).cloned() else { return known };
    for (cluster, phase, missing) in unseen {
        known.all.extend((0..missing).map(|number| Pod {
            name: format!("{number} of {cluster}").into(),
            phase,
            deleted: false,
            ready: None,
            started: None,
            requests: Arc::clone(&like.requests),
        }));
    }
    known
}

/// Combines the readings of one metric in all clusters: samples are joined, totals summed. `first` is the index of the
/// first pod of each cluster. Also returns the clusters without an answer; a metric without any answer is unavailable
/// for the reason of the first cluster.
fn reading(of: Vec<(&str, Reading)>, first: &BTreeMap<&str, u32>) -> (Reading, Vec<Silent>) {
    let mut silent = Vec::new();
    let mut samples = Samples::default();
    let mut total: Option<i64> = None;
    let mut answered = false;
    for (cluster, reading) in of {
        match reading {
            Reading::PerPod(more) => {
                answered = true;
                samples.append(first.get(cluster).copied().unwrap_or_default(), more);
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
