//! A computation -> its output for programs. The format is stable: members are only added. No I/O.

use serde::Serialize;

use super::super::outline::{CodedMessage, Target};
use super::members::title;
use crate::api::FederatedHPA;
use crate::decision::hpa::metric::{self, Metric, Reading};
use crate::decision::hpa::multi_cluster::{Cluster, ClusterMetric, Observed, Readings, partial};
use crate::decision::hpa::pod::Pod;
use crate::decision::hpa::replicas::replicas;
use crate::decision::quantity::from_milli;
use crate::run::forecast::centralized::Computation;

/// The output of a plan in Centralized mode.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::cli::plan) struct Outline {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) mode: &'static str,
    pub(super) min_replicas: i32,
    pub(super) max_replicas: i32,
    pub(super) current_replicas: i32,
    pub(super) clusters: Vec<Row>,
    /// Empty where the bounds decide.
    pub(super) metrics: Vec<MetricRow>,
    pub(super) desired_replicas: i32,
    /// Why the replicas change; empty when they do not.
    pub(super) reason: String,
    /// The replicas when the windows of stabilization are over and nothing else has changed.
    pub(super) settled_replicas: i32,
    pub(super) conditions: Vec<Condition>,
    pub(super) notes: Vec<CodedMessage>,
}

/// A cluster.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) name: String,
    /// Its replicas in the binding.
    pub(super) assigned_replicas: u32,
    /// `None` while unknown.
    pub(super) pods: Option<usize>,
    pub(super) ready_pods: Option<usize>,
    pub(super) metrics: Vec<Measured>,
}

/// A metric of a cluster, or of all.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measured {
    pub(super) metric: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) average_value: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) average_utilization: Option<i32>,
    /// Why there is no number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unavailable: Option<String>,
}

/// A metric over all clusters.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetricRow {
    #[serde(flatten)]
    pub(super) measured: Measured,
    pub(super) target: Measured,
    /// The replicas that it asks for.
    pub(super) proposed_replicas: Option<i32>,
}

/// A condition as the status would have it.
#[derive(Debug, Serialize)]
pub(super) struct Condition {
    #[serde(rename = "type")]
    pub(super) type_: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'static str,
    pub(super) message: String,
}

impl Outline {
    /// Namespace and name of the object.
    pub(in crate::cli::plan) fn name(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }

    /// `assumed`: the requests of pods are not known.
    pub(in crate::cli::plan) fn of(hpa: &FederatedHPA, of: &Computation<'_>, assumed: bool) -> Self {
        let Computation { current, controls, gathered, observed, decision, settled, .. } = of;
        let range = controls.policy.range;
        let metrics = if controls.use_metrics(*current) { proposals(of, assumed) } else { Vec::new() };
        let conditions = decision.conditions.iter().map(|condition| Condition {
            type_: condition.kind,
            status: if condition.status { "True" } else { "False" },
            reason: condition.reason,
            message: condition.message.clone(),
        });
        let note = |silent: &crate::decision::hpa::multi_cluster::Silent| CodedMessage {
            code: "MissingData",
            message: format!("{}: {}", silent.cluster, silent.why),
        };
        Self {
            namespace: hpa.metadata.namespace.clone().unwrap_or_default(),
            name: hpa.metadata.name.clone().unwrap_or_default(),
            target: Target::of(&hpa.spec.scale_target_ref),
            mode: "Centralized",
            min_replicas: range.min,
            max_replicas: range.max,
            current_replicas: *current,
            clusters: gathered.clusters.iter().map(|cluster| row(of, cluster, assumed)).collect(),
            metrics,
            desired_replicas: decision.write.unwrap_or(*current),
            reason: decision.write.map(|_| decision.why.clone()).unwrap_or_default(),
            settled_replicas: settled.write.unwrap_or(*current),
            conditions: conditions.collect(),
            notes: observed.silent.iter().map(note).collect(),
        }
    }
}

fn row(of: &Computation<'_>, cluster: &Cluster<'_>, assumed: bool) -> Row {
    let pods = cluster.pods.as_deref().ok();
    let count = |counts: fn(&Pod) -> bool| pods.map(|pods| pods.iter().filter(|pod| counts(pod)).count());
    let metrics = of.gathered.metrics.iter().filter_map(|metric| in_cluster(of, cluster, metric, assumed));
    Row {
        name: cluster.name.to_owned(),
        assigned_replicas: cluster.assigned,
        pods: count(Pod::is_alive),
        ready_pods: count(Pod::serves),
        metrics: metrics.collect(),
    }
}

/// The value of a metric in one cluster, by the algorithm for that cluster alone. `None` where it was not asked.
fn in_cluster(
    of: &Computation<'_>,
    cluster: &Cluster<'_>,
    metric: &ClusterMetric<'_>,
    assumed: bool,
) -> Option<Measured> {
    let ClusterMetric { source, target, readings } = metric;
    let Readings::Clusters(readings) = readings else { return None };
    let (_, reading) = readings.iter().find(|(name, _)| *name == cluster.name)?;
    let pods = cluster.pods.clone().unwrap_or_default();
    let alone = Observed::of(pods);
    let workload = alone.workload(&of.controls, of.current, None, of.now);
    let current = match reading {
        Reading::Total(value) => Ok(metric::Current { value: Some(*value), ..metric::Current::default() }),
        Reading::Unavailable(why) => Err(why.clone()),
        Reading::PerPod(_) => {
            let metric = Metric { source: source.clone(), target: *target, reading: reading.clone() };
            replicas(&workload, &metric).map(|(_, current)| current)
        }
    };
    Some(measured(source, current, assumed))
}

fn proposals(of: &Computation<'_>, assumed: bool) -> Vec<MetricRow> {
    let partial = partial(&of.observed.silent);
    let workload = of.observed.workload(&of.controls, of.current, partial.as_deref(), of.now);
    let proposed = of.observed.metrics.iter().map(|metric| {
        let (proposed, current) = match replicas(&workload, metric) {
            Ok((proposed, current)) => (Some(proposed), Ok(current)),
            Err(why) => (None, Err(why)),
        };
        MetricRow {
            measured: measured(&metric.source, current, assumed),
            target: wanted(&metric.source, metric.target),
            proposed_replicas: proposed,
        }
    });
    proposed.collect()
}

fn measured(source: &metric::Source, current: Result<metric::Current, String>, assumed: bool) -> Measured {
    let metric = title(source);
    match current {
        Err(why) => Measured { metric, unavailable: Some(why), ..Measured::default() },
        Ok(metric::Current { value, average_value, utilization }) => Measured {
            metric,
            value: value.map(from_milli),
            average_value: average_value.filter(|_| !assumed || utilization.is_none()).map(from_milli),
            average_utilization: utilization,
            unavailable: None,
        },
    }
}

fn wanted(source: &metric::Source, target: metric::Target) -> Measured {
    let none = Measured { metric: title(source), ..Measured::default() };
    match target {
        metric::Target::Utilization(percent) => Measured { average_utilization: Some(percent), ..none },
        metric::Target::AverageValue(value) => Measured { average_value: Some(from_milli(value)), ..none },
        metric::Target::Value(value) => Measured { value: Some(from_milli(value)), ..none },
    }
}
