//! Pods and metrics of members -> input of the algorithm for a Centralized workload (observe). Queries members, decides
//! nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join_all;

use super::metrics::{Answer, CONTROL_PLANE, MetricQuery, Question};
use super::pods::key;
use super::{Centralized, MetricsSource, adapter};
use crate::api::hpa::{MetricIdentifier, MetricSpec};
use crate::convert;
use crate::convert::fleet::replicas;
use crate::convert::pods::Usage;
use crate::decision::fleet::Member;
use crate::decision::hpa::clusters::{self, Cluster, Pods, Silent};
use crate::decision::hpa::metric::{self, Reading, Sample, Source, Target};
use crate::decision::plan::Policy;
use crate::decision::selector::Selector;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::observe::answers;

/// How long to wait for pods that were never listed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Input of the algorithm, without the replicas of the workload.
pub(super) struct Observed {
    /// Its pods.
    pub(super) pods: Pods,
    /// Its metrics.
    pub(super) metrics: Vec<metric::Metric>,
    /// Clusters with missing data.
    pub(super) silent: Vec<Silent>,
    /// Running replicas for each requested replica of the workload.
    pub(super) calibration: f64,
}

/// A cluster of the binding.
struct Assigned<'a> {
    name: &'a str,
    replicas: u32,
    ready: bool,
}

impl Centralized {
    /// Observes the workload whose pods `selector` selects.
    pub(super) async fn observe(&self, view: &View, binding: &Binding, selector: &Selector) -> Observed {
        let object = &view.order.object;
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let assigned: Vec<Assigned<'_>> =
            binding.object.spec.clusters.iter().map(|target| assigned(view, target)).collect();
        let ready: Vec<&str> = assigned.iter().filter(|cluster| cluster.ready).map(|cluster| cluster.name).collect();
        let specs = object.spec.metrics.as_deref().unwrap_or_default();
        let questions: Vec<Option<Asking>> = convert::scaling::metrics(specs, namespace)
            .into_iter()
            .enumerate()
            .map(|(at, metric)| metric.map(|metric| self.asking(metric, specs.get(at), namespace)))
            .collect();
        let asked = questions.iter().flatten().map(|asking| async {
            match asking.of {
                Respondent::Members => self.metrics.ask(&ready, &asking.question).await,
                Respondent::ControlPlane => self.metrics.ask(&[CONTROL_PLANE], &asking.question).await,
            }
        });
        tokio::join!(self.pods.listed(&ready, namespace, PATIENCE), join_all(asked));
        let pods = |cluster: &Assigned<'_>| {
            if !cluster.ready {
                return Err("the cluster is not Ready".to_owned());
            }
            self.pods.select(cluster.name, namespace, selector)
        };
        let by_cluster: Vec<Cluster<'_>> = assigned
            .iter()
            .map(|cluster| Cluster { name: cluster.name, assigned: cluster.replicas, pods: pods(cluster) })
            .collect();
        let mut silent = Vec::new();
        let metrics = questions.iter().map(|asking| {
            let Some(asking) = asking else { return unreadable() };
            let (reading, missing) = self.read(asking, &by_cluster);
            silent.extend(missing);
            metric::Metric { source: asking.source.clone(), target: asking.target, reading }
        });
        let metrics = metrics.collect();
        let pods = clusters::pods(by_cluster);
        silent.splice(0..0, pods.silent.iter().cloned());
        Observed { pods, metrics, silent, calibration: calibration(binding, &assigned) }
    }

    /// The query for a metric, and where it is sent.
    fn asking(&self, (source, target): (Source, Target), spec: Option<&MetricSpec>, namespace: &str) -> Asking {
        let namespace: Box<str> = namespace.into();
        let named = |identifier: Option<&MetricIdentifier>| identifier.map(MetricQuery::of);
        let fallback = |name: &str| MetricQuery { name: name.into(), selector: Box::default() };
        let usual = match self.settings.metrics_source {
            MetricsSource::Members => Respondent::Members,
            MetricsSource::Adapter => Respondent::ControlPlane,
        };
        let (question, of) = match &source {
            Source::Resource { .. } | Source::ContainerResource { .. } => (Question::Usage { namespace }, usual),
            Source::Pods { metric } => {
                let known = named(spec.and_then(|spec| spec.pods.as_ref()).map(|pods| &pods.metric));
                (Question::Pods { namespace, metric: known.unwrap_or_else(|| fallback(metric)) }, usual)
            }
            Source::Object { metric, kind, name, .. } => {
                let known = spec.and_then(|spec| spec.object.as_ref());
                let version = known.map(|object| object.described_object.api_version.as_str()).unwrap_or_default();
                let object = (version.into(), kind.as_str().into(), name.as_str().into());
                let metric = named(known.map(|object| &object.metric)).unwrap_or_else(|| fallback(metric));
                (Question::Object { namespace, object, metric }, usual)
            }
            Source::External { metric, .. } => {
                let sum = self.settings.external_sum.contains(metric);
                let known = named(spec.and_then(|spec| spec.external.as_ref()).map(|external| &external.metric));
                let question = Question::External { namespace, metric: known.unwrap_or_else(|| fallback(metric)) };
                (question, if sum { Respondent::Members } else { Respondent::ControlPlane })
            }
        };
        Asking { source, target, question, of }
    }

    fn read(&self, asking: &Asking, clusters: &[Cluster<'_>]) -> (Reading, Vec<Silent>) {
        let external = matches!(asking.source, Source::External { .. });
        if asking.of == Respondent::ControlPlane && !external {
            return match self.metrics.answer(CONTROL_PLANE, &asking.question) {
                Ok(answer) => adapter::read(&asking.source, &answer, clusters),
                Err(why) => (Reading::Unavailable(why), Vec::new()),
            };
        }
        if asking.of == Respondent::ControlPlane {
            let reading = match self.metrics.answer(CONTROL_PLANE, &asking.question) {
                Ok(Answer::Total(total)) => Reading::Total(total),
                Ok(_) => Reading::Unavailable("the answer is of another kind".to_owned()),
                Err(why) => Reading::Unavailable(format!(
                    "{why}; a metric that members have is summed over them when --external-metrics-sum names it"
                )),
            };
            return (reading, Vec::new());
        }
        // A cluster with unknown pods is reported for its pods only, not also for its metrics.
        let known = clusters.iter().filter_map(|cluster| Some((cluster.name, cluster.pods.as_ref().ok()?)));
        let whole = !matches!(asking.source, Source::Object { .. } | Source::External { .. });
        let readings: Vec<(&str, Reading)> = known
            .filter(|(_, pods)| !whole || !pods.is_empty())
            .map(|(name, pods)| {
                let answer = self.metrics.answer(name, &asking.question);
                let names = pods.iter().map(|pod| pod.name.as_str());
                let reading = answer.and_then(|answer| in_cluster(name, names, &asking.source, &answer));
                (name, reading.unwrap_or_else(Reading::Unavailable))
            })
            .collect();
        if readings.is_empty() {
            return (Reading::Unavailable(nothing(clusters)), Vec::new());
        }
        clusters::reading(readings)
    }
}

/// A metric and its query.
struct Asking {
    source: Source,
    target: Target,
    question: Question,
    of: Respondent,
}

/// Where a query is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Respondent {
    Members,
    ControlPlane,
}

fn unreadable() -> metric::Metric {
    let source = Source::Pods { metric: String::new() };
    let reading = Reading::Unavailable("spec.metrics names no source or no target".to_owned());
    metric::Metric { source, target: Target::AverageValue(1), reading }
}

/// Why there is no data.
fn nothing(clusters: &[Cluster<'_>]) -> String {
    let failed = clusters.iter().find_map(|cluster| Some((cluster.name, cluster.pods.as_ref().err()?)));
    failed.map_or_else(
        || "no pods of the workload run in any cluster".to_owned(),
        |(name, why)| format!("in {name} {why}"),
    )
}

/// The reading of a metric in one cluster, for the pods of the workload.
pub(super) fn in_cluster<'a>(
    cluster: &str,
    mut pods: impl Iterator<Item = &'a str>,
    source: &Source,
    answer: &Answer,
) -> Result<Reading, String> {
    let mut samples: BTreeMap<String, Sample> = BTreeMap::new();
    match (source, answer) {
        (Source::Resource { name }, Answer::Usage(usages)) => {
            for (pod, usage) in pods.filter_map(|pod| Some((pod, usage_of(usages, pod, cluster)?))) {
                samples.extend(usage.sample(name, None)?.map(|sample| (key(cluster, pod), sample)));
            }
        }
        (Source::ContainerResource { name, container }, Answer::Usage(usages)) => {
            for (pod, usage) in pods.filter_map(|pod| Some((pod, usage_of(usages, pod, cluster)?))) {
                samples.extend(usage.sample(name, Some(container))?.map(|sample| (key(cluster, pod), sample)));
            }
        }
        (Source::Pods { .. }, Answer::Values(values)) => {
            samples.extend(pods.by_ref().filter_map(|pod| {
                let at = values.binary_search_by(|(name, _)| (**name).cmp(pod)).ok()?;
                Some((key(cluster, pod), values.get(at)?.1))
            }));
        }
        (Source::Object { .. } | Source::External { .. }, Answer::Total(total)) => return Ok(Reading::Total(*total)),
        _ => return Err("the answer is of another kind".to_owned()),
    }
    Ok(Reading::PerPod(samples))
}

fn usage_of<'a>(usages: &'a [Usage], pod: &str, cluster: &str) -> Option<&'a Usage> {
    let from = usages.get(usages.partition_point(|usage| &*usage.pod < pod)..)?;
    let mut named = from.iter().take_while(|usage| &*usage.pod == pod);
    named.find(|usage| usage.cluster.is_empty() || &*usage.cluster == cluster)
}

fn assigned<'a>(view: &View, target: &'a crate::api::resource_binding::TargetCluster) -> Assigned<'a> {
    let member: Option<&Member<'static>> = view.fleet.get(&target.name).map(|(member, _)| member);
    Assigned { name: &target.name, replicas: replicas(target.replicas), ready: member.is_some_and(answers) }
}

/// Under `Duplicated` each cluster runs all requested replicas of the workload.
fn calibration(binding: &Binding, clusters: &[Assigned<'_>]) -> f64 {
    let duplicated = binding
        .placement()
        .is_ok_and(|placement| matches!(convert::fleet::placement(placement).policy(), Policy::Duplicated));
    let clusters = u32::try_from(clusters.len()).unwrap_or(u32::MAX).max(1);
    if duplicated { f64::from(clusters) } else { 1.0 }
}
