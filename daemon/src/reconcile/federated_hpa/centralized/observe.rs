//! Pods and metrics of members -> input of the algorithm for a Centralized workload (observe). Queries members, decides
//! nothing.

use std::time::Duration;

use futures::future::join_all;
use jiff::Timestamp;

use super::metrics::{CONTROL_PLANE, MetricQuery, MetricsApiQuery, MetricsApiResponse};
use super::readings::in_cluster;
use super::{Centralized, MetricsSource, Settings, adapter};
use crate::api::hpa::{MetricIdentifier, MetricSpec};
use crate::convert;
use crate::convert::fleet::replicas;
use crate::decision::fleet::Member;
use crate::decision::fleet::candidates::candidates;
use crate::decision::fleet::tolerance::{ClusterHistory, FailureTolerance};
use crate::decision::hpa::metric::{Reading, Source, Target};
use crate::decision::hpa::multi_cluster::{Cluster, ClusterMetric, Gathered, Readings};
use crate::decision::hpa::pod::Pod;
use crate::decision::plan::Policy;
use crate::decision::selector::Selector;
use crate::reconcile::federated_hpa::cache::View;
use crate::reconcile::federated_hpa::cache::entry::Binding;
use crate::reconcile::federated_hpa::evictions::text_of;
use crate::reconcile::federated_hpa::observe::PlacementSpec;

/// How long to wait for pods that were never listed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Access to the pods and metrics of a workload.
pub trait Members {
    /// Its pods in a cluster that is Ready.
    ///
    /// # Errors
    /// Why they are unknown.
    fn pods(&self, cluster: &str) -> Result<Vec<Pod>, String>;

    /// The answer of a cluster, or of [`CONTROL_PLANE`].
    ///
    /// # Errors
    /// Why there is none.
    fn answer(&self, cluster: &str, source: &Source, query: &MetricsApiQuery) -> Result<MetricsApiResponse, String>;
}

/// The queries for one observation.
pub struct MetricQueries<'a> {
    clusters: Vec<Assigned<'a>>,
    metrics: Vec<Option<Asking>>,
    duplicated: bool,
    evicting: bool,
}

/// A cluster of the binding.
struct Assigned<'a> {
    name: &'a str,
    replicas: u32,
    ready: bool,
}

/// The members as watches and queries have brought them.
struct Live<'a> {
    of: &'a Centralized,
    namespace: &'a str,
    selector: &'a Selector,
}

impl Members for Live<'_> {
    fn pods(&self, cluster: &str) -> Result<Vec<Pod>, String> {
        self.of.pods.select(cluster, self.namespace, self.selector)
    }

    fn answer(&self, cluster: &str, _: &Source, query: &MetricsApiQuery) -> Result<MetricsApiResponse, String> {
        self.of.metrics.answer(cluster, query)
    }
}

impl Centralized {
    /// Observes the workload whose pods `selector` selects.
    pub async fn observe<'a>(
        &self,
        view: &'a View,
        binding: &'a Binding,
        selector: &Selector,
        now: Timestamp,
    ) -> Gathered<'a> {
        let queries = MetricQueries::of(view, binding, &self.settings, now);
        let namespace = view.federated_hpa.object.metadata.namespace.as_deref().unwrap_or_default();
        let clusters = queries.clusters.iter();
        let ready: Vec<&str> = clusters.filter(|cluster| cluster.ready).map(|cluster| cluster.name).collect();
        let asked = queries.metrics.iter().flatten().map(|asking| async {
            match asking.of {
                Respondent::Members => self.metrics.ask(&ready, &asking.query).await,
                Respondent::ControlPlane => self.metrics.ask(&[CONTROL_PLANE], &asking.query).await,
            }
        });
        tokio::join!(self.pods.listed(&ready, namespace, PATIENCE), join_all(asked));
        queries.gather(&Live { of: self, namespace, selector })
    }
}

impl<'a> MetricQueries<'a> {
    /// The queries for the workload of this binding.
    #[must_use]
    pub fn of(view: &'a View, binding: &'a Binding, settings: &Settings, now: Timestamp) -> Self {
        let object = &view.federated_hpa.object;
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let specs = object.spec.metrics.as_deref().unwrap_or_default();
        let metrics = convert::scaling::metrics(specs, namespace)
            .into_iter()
            .enumerate()
            .map(|(at, metric)| metric.map(|metric| asking(settings, metric, specs.get(at), namespace)))
            .collect();
        let mut clusters: Vec<_> = binding.entries().map(|(name, number)| assigned(view, name, number)).collect();
        if clusters.is_empty() && binding.object.spec.replicas.unwrap_or_default() == 0 {
            clusters = selected(view, binding, now);
        }
        let more: Vec<_> = evicted(view, binding).filter(|one| clusters.iter().all(|it| it.name != one.name)).collect();
        clusters.extend(more);
        let evicting = !binding.object.spec.graceful_eviction_tasks.is_empty();
        Self { clusters, metrics, duplicated: duplicated(binding), evicting }
    }

    /// Gathers the answers.
    pub fn gather(self, members: &impl Members) -> Gathered<'a> {
        let pods = |cluster: &Assigned<'_>| {
            if !cluster.ready {
                return Err("the cluster is not Ready".to_owned());
            }
            members.pods(cluster.name)
        };
        let clusters = self.clusters.iter();
        let clusters: Vec<Cluster<'a>> = clusters
            .map(|cluster| Cluster { name: cluster.name, assigned: cluster.replicas, pods: pods(cluster) })
            .collect();
        let metrics = self.metrics.into_iter().map(|asking| {
            let Some(asking) = asking else { return unreadable() };
            let readings = read(members, &asking, &clusters);
            ClusterMetric { source: asking.source, target: asking.target, readings }
        });
        let metrics = metrics.collect();
        Gathered { clusters, metrics, duplicated: self.duplicated, evicting: self.evicting }
    }
}

/// The query for a metric, and where it is sent.
fn asking(
    settings: &Settings,
    (source, target): (Source, Target),
    spec: Option<&MetricSpec>,
    namespace: &str,
) -> Asking {
    let namespace: Box<str> = namespace.into();
    let named = |identifier: Option<&MetricIdentifier>| identifier.map(MetricQuery::of);
    let fallback = |name: &str| MetricQuery { name: name.into(), selector: Box::default() };
    let usual = match settings.metrics_source {
        MetricsSource::Members => Respondent::Members,
        MetricsSource::Adapter => Respondent::ControlPlane,
    };
    let (query, of) = match &source {
        Source::Resource { .. } | Source::ContainerResource { .. } => (MetricsApiQuery::Usage { namespace }, usual),
        Source::Pods { metric } => {
            let known = named(spec.and_then(|spec| spec.pods.as_ref()).map(|pods| &pods.metric));
            (MetricsApiQuery::Pods { namespace, metric: known.unwrap_or_else(|| fallback(metric)) }, usual)
        }
        Source::Object { metric, kind, name, .. } => {
            let known = spec.and_then(|spec| spec.object.as_ref());
            let version = known.map(|object| object.described_object.api_version.as_str()).unwrap_or_default();
            let object = (version.into(), kind.as_str().into(), name.as_str().into());
            let metric = named(known.map(|object| &object.metric)).unwrap_or_else(|| fallback(metric));
            (MetricsApiQuery::Object { namespace, object, metric }, usual)
        }
        Source::External { metric, .. } => {
            let sum = settings.external_sum.contains(metric);
            let known = named(spec.and_then(|spec| spec.external.as_ref()).map(|external| &external.metric));
            let query = MetricsApiQuery::External { namespace, metric: known.unwrap_or_else(|| fallback(metric)) };
            (query, if sum { Respondent::Members } else { Respondent::ControlPlane })
        }
    };
    Asking { source, target, query, of }
}

fn read<'a>(members: &impl Members, asking: &Asking, clusters: &[Cluster<'a>]) -> Readings<'a> {
    let Asking { source, query, of, .. } = asking;
    if *of == Respondent::ControlPlane && !matches!(source, Source::External { .. }) {
        return match members.answer(CONTROL_PLANE, source, query) {
            Ok(answer) => adapter::read(source, &answer, clusters),
            Err(why) => Readings::Whole(Reading::Unavailable(why)),
        };
    }
    if *of == Respondent::ControlPlane {
        return Readings::Whole(match members.answer(CONTROL_PLANE, source, query) {
            Ok(MetricsApiResponse::Total(total)) => Reading::Total(total),
            Ok(_) => Reading::Unavailable("the answer is of another kind".to_owned()),
            Err(why) => Reading::Unavailable(format!(
                "{why}; a metric that members have is summed over them when --external-metrics-sum names it"
            )),
        });
    }
    // A cluster with unknown pods is reported for its pods only, not also for its metrics.
    let known = clusters.iter().filter_map(|cluster| Some((cluster.name, cluster.pods.as_ref().ok()?)));
    let readings = known.filter(|(_, pods)| source.is_outer() || !pods.is_empty()).map(|(name, pods)| {
        let answer = members.answer(name, source, query);
        let reading = answer.and_then(|answer| in_cluster(name, pods, source, &answer));
        (name, reading.unwrap_or_else(Reading::Unavailable))
    });
    Readings::Clusters(readings.collect())
}

/// A metric and its query.
struct Asking {
    source: Source,
    target: Target,
    query: MetricsApiQuery,
    of: Respondent,
}

/// Where a query is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Respondent {
    Members,
    ControlPlane,
}

fn unreadable<'a>() -> ClusterMetric<'a> {
    let source = Source::Pods { metric: String::new() };
    let reading = Reading::Unavailable("spec.metrics names no source or no target".to_owned());
    ClusterMetric { source, target: Target::AverageValue(1), readings: Readings::Whole(reading) }
}

fn assigned<'a>(view: &View, name: &'a str, number: i32) -> Assigned<'a> {
    let member: Option<&Member<'static>> = view.fleet.get(name).map(|(member, _)| member);
    Assigned { name, replicas: replicas(number), ready: member.is_some_and(Member::answers) }
}

/// The clusters that answer and that the workload is evicted from. Their pods carry load until Karmada ends that, and none
/// of the requested replicas is theirs.
fn evicted<'a>(view: &'a View, binding: &'a Binding) -> impl Iterator<Item = Assigned<'a>> {
    let tasks = binding.object.spec.graceful_eviction_tasks.iter();
    tasks.map(|task| assigned(view, text_of(task, "/fromCluster"), 0)).filter(|cluster| cluster.ready)
}

/// The clusters that the placement selects, none of which has replicas: karmada-scheduler may leave all of them out of the
/// binding of a workload at 0 replicas, and the metrics that start it again are in them.
fn selected<'a>(view: &'a View, binding: &Binding, now: Timestamp) -> Vec<Assigned<'a>> {
    let Ok(spec) = PlacementSpec::of(view, binding) else { return Vec::new() };
    let found =
        candidates(&spec.intent(), &view.fleet.members, &ClusterHistory::default(), &FailureTolerance::default(), now);
    let chosen = found.clusters.iter().filter(|cluster| cluster.chosen);
    let members = chosen.filter_map(|cluster| view.fleet.get(cluster.name));
    members.map(|(member, _)| assigned(view, &member.name, 0)).collect()
}

/// Under `Duplicated` each cluster runs all requested replicas of the workload.
fn duplicated(binding: &Binding) -> bool {
    binding.placement().is_ok_and(|placement| matches!(placement.policy(), Policy::Duplicated))
}
