//! The status of an HPA as caches keep it: there may be a million, and most parts of one are those of many others. No
//! I/O.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::api::hpa_status::{Condition, HorizontalPodAutoscalerStatus, MetricStatus, MetricValueStatus};
use crate::api::quantity::Quantity;
use crate::controller::shared::{One, Shared};
use crate::convert::mean::Measurement;

/// A status; repeated parts are shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoldedStatus {
    /// `lastScaleTime`
    last_scale_time: Instant,
    /// `currentReplicas`
    pub current_replicas: Option<i32>,
    /// `desiredReplicas`
    pub desired_replicas: Option<i32>,
    observed_generation: Generation,
    metrics: Option<FoldedMetrics>,
    conditions: Option<FoldedConditions>,
}

/// Metrics without their values, and these.
type FoldedMetrics = (One<Metrics>, Box<[Value]>);
/// Conditions without their times, and these.
type FoldedConditions = (One<Vec<Condition>>, Box<[Instant]>);

/// Microseconds since 1970. Kubernetes stores whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instant(i64);

impl Instant {
    /// No time.
    const NONE: Self = Self(i64::MIN);

    fn of(time: Option<&Time>) -> Self {
        time.map_or(Self::NONE, |time| Self(time.0.as_microsecond()))
    }

    fn time(self) -> Option<Timestamp> {
        Some(self).filter(|at| *at != Self::NONE).and_then(|at| Timestamp::from_microsecond(at.0).ok())
    }
}

impl Default for Instant {
    fn default() -> Self {
        Self::NONE
    }
}

/// `observedGeneration`; the least number where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Generation(i64);

impl Generation {
    fn of(number: Option<i64>) -> Self {
        number.map_or_else(Self::default, Self)
    }

    fn number(self) -> Option<i64> {
        Some(self.0).filter(|_| self != Self::default())
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self(i64::MIN)
    }
}

/// The metrics without their values, and their wire form, by which they are compared.
#[derive(Clone, Debug)]
struct Metrics {
    wire: Box<str>,
    all: Vec<MetricStatus>,
}

impl PartialEq for Metrics {
    fn eq(&self, other: &Self) -> bool {
        self.wire == other.wire
    }
}

impl Eq for Metrics {}

impl PartialOrd for Metrics {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Metrics {
    fn cmp(&self, other: &Self) -> Ordering {
        self.wire.cmp(&other.wire)
    }
}

/// The value of a metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    whole: Option<Box<str>>,
    average: Option<Box<str>>,
    utilization: Option<i32>,
}

impl Value {
    fn of(status: MetricValueStatus) -> Self {
        let text = |quantity: Quantity| quantity.0.into_boxed_str();
        Self {
            whole: status.value.map(text),
            average: status.average_value.map(text),
            utilization: status.average_utilization,
        }
    }

    fn status(&self) -> MetricValueStatus {
        let quantity = |text: &Option<Box<str>>| text.as_deref().map(|text| Quantity(text.to_owned()));
        MetricValueStatus {
            value: quantity(&self.whole),
            average_value: quantity(&self.average),
            average_utilization: self.utilization,
        }
    }
}

/// The values of a metric: one, as it has one source. A malformed one may have more.
fn values(metric: &mut MetricStatus) -> impl Iterator<Item = &mut MetricValueStatus> {
    let MetricStatus { type_: _, resource, container_resource, pods, object, external } = metric;
    let resource = resource.as_mut().map(|source| &mut source.current);
    let container = container_resource.as_mut().map(|source| &mut source.current);
    let pods = pods.as_mut().map(|source| &mut source.current);
    let object = object.as_mut().map(|source| &mut source.current);
    let external = external.as_mut().map(|source| &mut source.current);
    [resource, container, pods, object, external].into_iter().flatten()
}

/// Number of values of a metric.
fn sources(metric: &MetricStatus) -> usize {
    let MetricStatus { type_: _, resource, container_resource, pods, object, external } = metric;
    let named =
        [resource.is_some(), container_resource.is_some(), pods.is_some(), object.is_some(), external.is_some()];
    named.into_iter().filter(|is| *is).count()
}

impl FoldedStatus {
    /// Folds a status. That of an HPA is kept with its Work, and with the FederatedHPA that shows it.
    #[must_use]
    pub fn shared(status: HorizontalPodAutoscalerStatus) -> Arc<Self> {
        static STATUSES: LazyLock<Shared<FoldedStatus>> = LazyLock::new(Shared::default);
        STATUSES.keep(Self::of(status))
    }

    /// Folds a status.
    #[must_use]
    pub fn of(status: HorizontalPodAutoscalerStatus) -> Self {
        let HorizontalPodAutoscalerStatus {
            observed_generation,
            last_scale_time,
            current_replicas,
            desired_replicas,
            current_metrics,
            conditions,
        } = status;
        Self {
            last_scale_time: Instant::of(last_scale_time.as_ref()),
            current_replicas,
            desired_replicas,
            observed_generation: Generation::of(observed_generation),
            metrics: current_metrics.map(fold_metrics),
            conditions: conditions.map(fold_conditions),
        }
    }

    /// The status.
    #[must_use]
    pub fn unfold(&self) -> HorizontalPodAutoscalerStatus {
        HorizontalPodAutoscalerStatus {
            observed_generation: self.observed_generation.number(),
            last_scale_time: self.last_scale_time().map(Time),
            current_replicas: self.current_replicas,
            desired_replicas: self.desired_replicas,
            current_metrics: self.metrics.as_ref().map(|(metrics, values)| unfold_metrics(&metrics.0, values)),
            conditions: self.conditions.as_ref().map(|(conditions, times)| {
                let timed = |(condition, time): (&Condition, &Instant)| Condition {
                    last_transition_time: time.time().map(Time),
                    ..condition.clone()
                };
                conditions.0.iter().zip(times).map(timed).collect()
            }),
        }
    }

    /// Whether this is the folded form of `status`.
    #[must_use]
    pub fn is(&self, status: &HorizontalPodAutoscalerStatus) -> bool {
        let HorizontalPodAutoscalerStatus {
            observed_generation,
            last_scale_time,
            current_replicas,
            desired_replicas,
            current_metrics,
            conditions,
        } = status;
        let same = |(known, time): (&Condition, &Instant), condition: &Condition| {
            let Condition { type_, status, last_transition_time, reason, message, observed_generation } = condition;
            *time == Instant::of(last_transition_time.as_ref())
                && (&known.type_, &known.status, &known.observed_generation) == (type_, status, observed_generation)
                && (&known.reason, &known.message) == (reason, message)
        };
        let conditions = match (&self.conditions, conditions) {
            (Some((known, times)), Some(conditions)) => {
                known.0.len() == conditions.len()
                    && known.0.iter().zip(times).zip(conditions).all(|(known, condition)| same(known, condition))
            }
            (known, conditions) => known.is_none() && conditions.is_none(),
        };
        let numbers = (self.observed_generation.number(), self.current_replicas, self.desired_replicas);
        conditions
            && numbers == (*observed_generation, *current_replicas, *desired_replicas)
            && self.last_scale_time == Instant::of(last_scale_time.as_ref())
            && self.metrics.as_ref().map(|(metrics, values)| unfold_metrics(&metrics.0, values)) == *current_metrics
    }

    /// The metrics with their values; without those that have no source.
    pub fn measurements(&self) -> impl Iterator<Item = Measurement<'_>> {
        self.metrics.iter().flat_map(|(metrics, values)| {
            let mut left = &**values;
            metrics.0.all.iter().filter_map(move |metric| {
                let (own, rest) = left.split_at_checked(sources(metric))?;
                left = rest;
                let Value { whole, average, utilization } = own.first()?;
                let (value, average_value) = (whole.as_deref(), average.as_deref());
                Some(Measurement { metric, value, average_value, utilization: *utilization })
            })
        })
    }

    /// `lastScaleTime`
    #[must_use]
    pub fn last_scale_time(&self) -> Option<Timestamp> {
        self.last_scale_time.time()
    }

    /// The conditions, without their times.
    #[must_use]
    pub fn conditions(&self) -> Option<&[Condition]> {
        self.conditions.as_ref().map(|(conditions, _)| conditions.0.as_slice())
    }
}

fn fold_metrics(mut metrics: Vec<MetricStatus>) -> FoldedMetrics {
    static METRICS: LazyLock<Shared<Metrics>> = LazyLock::new(Shared::default);
    let taken = metrics.iter_mut().flat_map(values).map(|value| Value::of(std::mem::take(value))).collect();
    let wire = serde_json::to_string(&metrics).unwrap_or_default().into_boxed_str();
    (One(METRICS.keep(Metrics { wire, all: metrics })), taken)
}

fn unfold_metrics(metrics: &Metrics, folded: &[Value]) -> Vec<MetricStatus> {
    let mut all = metrics.all.clone();
    for (value, folded) in all.iter_mut().flat_map(values).zip(folded) {
        *value = folded.status();
    }
    all
}

fn fold_conditions(mut conditions: Vec<Condition>) -> FoldedConditions {
    static CONDITIONS: LazyLock<Shared<Vec<Condition>>> = LazyLock::new(Shared::default);
    let times = conditions.iter_mut().map(|condition| Instant::of(condition.last_transition_time.take().as_ref()));
    let times = times.collect();
    conditions.shrink_to_fit();
    (One(CONDITIONS.keep(conditions)), times)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn status(value: serde_json::Value) -> HorizontalPodAutoscalerStatus {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_folded_status_is_unfolded_as_it_was() {
        let labels = json!({"matchLabels": {"a": "b"}});
        let identifier = json!({"name": "hits", "selector": labels});
        let wires = [
            json!({}),
            json!({"currentMetrics": [], "conditions": []}),
            json!({"observedGeneration": 3, "lastScaleTime": "2026-11-20T08:00:00Z", "currentReplicas": 2,
                "desiredReplicas": 3, "currentMetrics": [
                    {"type": "Resource", "resource": {"name": "cpu",
                        "current": {"averageUtilization": 48, "averageValue": "48m"}}},
                    {"type": "Pods", "pods": {"metric": identifier, "current": {"averageValue": "7"}}},
                    {"type": "External", "external": {"metric": identifier, "current": {"value": "1k"}}},
                    {"type": "Odd"},
                    {"type": "Resource", "resource": {"name": "memory", "current": {}},
                        "pods": {"metric": {"name": "x"}, "current": {"value": "1"}}}],
                "conditions": [
                    {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale", "message": "m",
                        "lastTransitionTime": "2026-11-20T08:00:01Z"},
                    {"type": "ScalingActive", "status": "False", "lastTransitionTime": null}]}),
        ];
        for wire in wires {
            let status = status(wire);
            let folded = FoldedStatus::of(status.clone());
            assert!(
                folded.is(&status)
                    && !folded.is(&HorizontalPodAutoscalerStatus { observed_generation: Some(4), ..status.clone() })
            );
            assert_eq!(folded.unfold(), status);
        }
    }

    #[test]
    fn parts_that_repeat_are_stored_once() {
        let of = |time: &str, percent: i32| {
            FoldedStatus::of(status(json!({
                "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "current": {"averageUtilization": percent}}}],
                "conditions": [{"type": "AbleToScale", "status": "True", "lastTransitionTime": time}]})))
        };
        let (one, other) = (of("2026-11-20T08:00:00Z", 48), of("2026-11-20T09:00:00Z", 49));
        assert_ne!(one, other);
        let conditions = [&one, &other].map(|status| status.conditions.as_ref().unwrap().0.0.as_ptr());
        let metrics = [&one, &other].map(|status| status.metrics.as_ref().unwrap().0.0.all.as_ptr());
        assert_eq!((conditions[0], metrics[0]), (conditions[1], metrics[1]));
    }
}
