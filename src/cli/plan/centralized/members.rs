//! Pods and metrics as a scenario has them -> the answers of members. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Number, Value};

use super::super::PlanError;
use crate::api::ResourceBinding;
use crate::api::hpa::MetricSpec;
use crate::api::pod;
use crate::convert;
use crate::convert::usage::Usages;
use crate::decision::hpa::metric::{Sample, Source, Target};
use crate::decision::hpa::pod::{Phase, Pod, Readiness, ReadyCondition, Requests};
use crate::decision::quantity::milli;
use crate::run::forecast::centralized::{CONTROL_PLANE, Members, MetricsApiQuery, MetricsApiResponse};

/// Request of a replica whose workload is not given, in thousandths: only its relation to the usage matters.
const REQUEST: i64 = 1000;

/// Values of one metric as written: one for all pods, or one for each.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::cli::plan) enum Amounts {
    One(Amount),
    Each(Vec<Amount>),
}

/// A quantity, or a part of the requests such as `80%`.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(in crate::cli::plan) enum Amount {
    Number(Number),
    Text(String),
}

/// Metrics by name; one without a value does not answer.
pub(in crate::cli::plan) type Written = BTreeMap<String, Option<Amounts>>;

/// A value of a metric.
#[derive(Clone, Copy, Debug)]
enum Measured {
    /// In thousandths.
    Quantity(i64),
    /// Percent of the requests.
    Percent(i64),
}

/// The members of a scenario.
pub(in crate::cli::plan) struct Given {
    /// Pods by cluster: all and ready ones.
    pods: BTreeMap<String, (u32, u32)>,
    /// Values by cluster and metric.
    metrics: BTreeMap<String, BTreeMap<String, Vec<Measured>>>,
    requests: Arc<Requests>,
    now: Timestamp,
    /// Whether the requests are not known, so that only utilizations mean something.
    pub(in crate::cli::plan) assumed: bool,
}

impl Given {
    /// The members with the pods that `binding` reports, and these metrics by cluster; [`CONTROL_PLANE`] has those of
    /// karmada-apiserver.
    pub(in crate::cli::plan) fn of(
        binding: &ResourceBinding,
        written: &BTreeMap<String, Written>,
        specs: &[MetricSpec],
        workload: Option<&Value>,
        now: Timestamp,
    ) -> Result<Self, PlanError> {
        let metrics: Vec<(Source, Target)> = convert::scaling::metrics(specs, "").into_iter().flatten().collect();
        let requests = workload.and_then(requests);
        let assumed = requests.is_none();
        let mut read = BTreeMap::new();
        for (cluster, written) in written {
            let mut values = BTreeMap::new();
            for (name, amounts) in written.iter().filter_map(|(name, amounts)| Some((name, amounts.as_ref()?))) {
                let path = match cluster.as_str() {
                    CONTROL_PLANE => format!("metrics.{name}"),
                    cluster => format!("clusters.{cluster}.metrics.{name}"),
                };
                let known = metrics.iter().find(|(source, _)| title(source) == *name);
                let names: Vec<String> = metrics.iter().map(|(source, _)| title(source)).collect();
                let none =
                    || PlanError::wrong(format!("{path}: the FederatedHPA has no such metric: {}", names.join(", ")));
                let (source, target) = known.ok_or_else(none)?;
                let amounts = amounts.read().and_then(|read| check(source, *target, assumed, read));
                let amounts = amounts.map_err(|why| PlanError::wrong(format!("{path}: {why}")))?;
                values.insert(name.clone(), amounts);
            }
            read.insert(cluster.clone(), values);
        }
        let natural = |number: i32| u32::try_from(number).unwrap_or_default();
        let reports = binding.status.aggregated_status.iter();
        let pods = reports.filter_map(|report| {
            let status = report.status?;
            Some((report.cluster_name.clone(), (natural(status.replicas), natural(status.ready_replicas))))
        });
        let requests = Arc::new(requests.unwrap_or_else(|| assume(&metrics)));
        Ok(Self { pods: pods.collect(), metrics: read, requests, now, assumed })
    }

    fn request(&self, source: &Source) -> i64 {
        let sum = |resource: &str, container: Option<&str>| {
            let containers = self.requests.containers.iter();
            let of = containers.filter(|own| container.is_none_or(|name| own.name == name));
            of.fold(0_i64, |sum, own| sum.saturating_add(own.requests.get(resource).copied().unwrap_or_default()))
        };
        match source {
            Source::Resource { name } => self.requests.pod.get(name).copied().unwrap_or_else(|| sum(name, None)),
            Source::ContainerResource { name, container } => sum(name, Some(container)),
            Source::Pods { .. } | Source::Object { .. } | Source::External { .. } => 0,
        }
    }
}

impl Members for Given {
    fn pods(&self, cluster: &str) -> Result<Vec<Pod>, String> {
        let (all, ready) = self.pods.get(cluster).copied().ok_or("its pods are not given")?;
        let pod = |number: u32| {
            let is_ready = number < ready;
            let since = if is_ready { Timestamp::UNIX_EPOCH } else { self.now };
            let readiness = if is_ready { Readiness::Ready } else { Readiness::NotReady };
            Pod {
                name: name(number).into(),
                phase: Phase::Running,
                deleted: false,
                ready: Some(ReadyCondition::new(readiness, since)),
                started: Some(since.into()),
                requests: Arc::clone(&self.requests),
            }
        };
        Ok((0..all).map(pod).collect())
    }

    fn answer(&self, cluster: &str, source: &Source, _: &MetricsApiQuery) -> Result<MetricsApiResponse, String> {
        let title = title(source);
        let values = self.metrics.get(cluster).and_then(|metrics| metrics.get(&title));
        let values = values.ok_or_else(|| format!("{title} is not given"))?;
        let request = self.request(source);
        let thousandths = |value: &Measured| match value {
            Measured::Quantity(value) => *value,
            Measured::Percent(percent) => request.saturating_mul(*percent) / 100,
        };
        let (pods, _) = self.pods.get(cluster).copied().unwrap_or_default();
        let each = (0..pods).filter_map(|number| {
            let at = if values.len() == 1 { 0 } else { usize::try_from(number).ok()? };
            Some((Box::from(name(number)), thousandths(values.get(at)?)))
        });
        let (at, window) = (self.now, SignedDuration::ZERO);
        let usage = |resource: &str, container: &str| {
            let mut usages = Usages::default();
            for (pod, value) in each.clone() {
                usages.add((&pod, ""), &[(container, vec![(resource, value)])], at, window);
            }
            MetricsApiResponse::Usage(Arc::new(usages.sorted()))
        };
        Ok(match source {
            Source::Resource { name } => usage(name, ""),
            Source::ContainerResource { name, container } => usage(name, container),
            Source::Pods { .. } => MetricsApiResponse::Values(Arc::new(
                each.map(|(pod, value)| (pod, Sample { value, at, window })).collect(),
            )),
            Source::Object { .. } | Source::External { .. } => MetricsApiResponse::Total(
                values.iter().fold(0, |sum, value| i64::saturating_add(sum, thousandths(value))),
            ),
        })
    }
}

/// Sorted as the numbers are.
fn name(number: u32) -> String {
    format!("{number:010}")
}

/// The name of a metric in a scenario.
pub(super) fn title(source: &Source) -> String {
    match source {
        Source::Resource { name } => name.clone(),
        Source::ContainerResource { name, container } => format!("{container}/{name}"),
        Source::Pods { metric } | Source::Object { metric, .. } | Source::External { metric, .. } => metric.clone(),
    }
}

impl Amounts {
    fn read(&self) -> Result<Vec<Measured>, String> {
        match self {
            Self::One(amount) => Ok(vec![amount.read()?]),
            // One value would count for all pods.
            Self::Each(amounts) if amounts.len() == 1 => {
                Err("write one value for all pods, or one for each".to_owned())
            }
            Self::Each(amounts) => amounts.iter().map(Amount::read).collect(),
        }
    }
}

impl Amount {
    fn read(&self) -> Result<Measured, String> {
        let text = match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        };
        let read = match text.strip_suffix('%') {
            Some(percent) => percent.parse().ok().filter(|percent| *percent >= 0).map(Measured::Percent),
            None => milli(&text).filter(|value| *value >= 0).map(Measured::Quantity),
        };
        read.ok_or_else(|| {
            format!("{text:?} is neither a quantity such as 250m nor a part of the requests such as 80%")
        })
    }
}

fn check(source: &Source, target: Target, assumed: bool, read: Vec<Measured>) -> Result<Vec<Measured>, String> {
    let of_requests = matches!(source, Source::Resource { .. } | Source::ContainerResource { .. });
    let utilization = matches!(target, Target::Utilization(_));
    let percent = read.iter().any(|value| matches!(value, Measured::Percent(_)));
    let quantity = read.iter().any(|value| matches!(value, Measured::Quantity(_)));
    if percent && !(of_requests && (utilization || !assumed)) {
        return Err("write a quantity: there are no requests that it could be a part of".to_owned());
    }
    if quantity && utilization && assumed {
        return Err(
            "give the workload, whose requests it is compared with, or write a part of them such as 80%".to_owned()
        );
    }
    Ok(read)
}

/// Requests of each replica of a workload with a pod template.
fn requests(workload: &Value) -> Option<Requests> {
    let template = workload.pointer("/spec/template")?;
    let pod: pod::Pod = serde_json::from_value(template.clone()).ok()?;
    Some(convert::pods::requests(&pod))
}

fn assume(metrics: &[(Source, Target)]) -> Requests {
    let mut requests = Requests::default();
    for (source, _) in metrics {
        requests.add(source, REQUEST);
    }
    requests
}
