//! What the HPAs of all members measure -> one status: the mean over the replicas. No I/O.

use super::scaling;
use crate::api::hpa_status::{MetricStatus, MetricValueStatus};
use crate::api::quantity::Quantity;
use crate::decision::quantity::from_milli;

/// Weighted values.
#[derive(Default)]
struct Sum {
    total: i128,
    weights: i128,
}

impl Sum {
    fn add(&mut self, value: Option<i64>, weight: i128) {
        if let Some(value) = value {
            self.total = self.total.saturating_add(i128::from(value).saturating_mul(weight));
            self.weights = self.weights.saturating_add(weight);
        }
    }

    /// Rounded to the nearest whole number; `None` without a value.
    fn mean(&self) -> Option<i64> {
        let half = self.weights.checked_div(2)?;
        let mean = self.total.checked_add(half)?.checked_div_euclid(self.weights)?;
        i64::try_from(mean).ok()
    }
}

/// One metric over all members.
struct Mean<'a> {
    /// The metric as the first member reports it.
    of: &'a MetricStatus,
    value: Sum,
    average_value: Sum,
    utilization: Sum,
}

/// The mean of each metric over members, each weighted by its replicas, in the metric's own unit; in the order of the
/// first member that reports. `None` while none does.
#[must_use]
pub fn mean<'a>(members: impl Iterator<Item = (&'a [MetricStatus], i32)>) -> Option<Vec<MetricStatus>> {
    let mut all: Vec<Mean<'_>> = Vec::new();
    for (metrics, replicas) in members {
        let weight = i128::from(replicas.max(1));
        for of in metrics {
            let Some(current) = scaling::current(of).map(scaling::measured) else { continue };
            let at = all.iter().position(|mean| identity(mean.of) == identity(of)).unwrap_or_else(|| {
                all.push(Mean {
                    of,
                    value: Sum::default(),
                    average_value: Sum::default(),
                    utilization: Sum::default(),
                });
                all.len().saturating_sub(1)
            });
            let Some(mean) = all.get_mut(at) else { continue };
            mean.value.add(current.value, weight);
            mean.average_value.add(current.average_value, weight);
            mean.utilization.add(current.utilization.map(i64::from), weight);
        }
    }
    let means: Vec<MetricStatus> = all.iter().map(Mean::status).collect();
    (!means.is_empty()).then_some(means)
}

impl Mean<'_> {
    fn status(&self) -> MetricStatus {
        let quantity = |sum: &Sum| sum.mean().map(|value| Quantity(from_milli(value)));
        let mut status = self.of.clone();
        if let Some(current) = value_of(&mut status) {
            *current = MetricValueStatus {
                value: quantity(&self.value),
                average_value: quantity(&self.average_value),
                average_utilization: self.utilization.mean().and_then(|percent| percent.try_into().ok()),
            };
        }
        status
    }
}

/// What a metric is, without its value.
fn identity(metric: &MetricStatus) -> impl PartialEq {
    let MetricStatus { type_, resource, container_resource, pods, object, external } = metric;
    (
        type_,
        resource.as_ref().map(|one| &one.name),
        container_resource.as_ref().map(|one| (&one.name, &one.container)),
        pods.as_ref().map(|one| &one.metric),
        object.as_ref().map(|one| (&one.described_object, &one.metric)),
        external.as_ref().map(|one| &one.metric),
    )
}

/// Where the value of a metric is.
fn value_of(metric: &mut MetricStatus) -> Option<&mut MetricValueStatus> {
    let MetricStatus { type_: _, resource, container_resource, pods, object, external } = metric;
    let resource = resource.as_mut().map(|one| &mut one.current);
    let container = container_resource.as_mut().map(|one| &mut one.current);
    let pods = pods.as_mut().map(|one| &mut one.current);
    let object = object.as_mut().map(|one| &mut one.current);
    resource.or(container).or(pods).or(object).or(external.as_mut().map(|one| &mut one.current))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn means(members: &[(Value, i32)]) -> Value {
        let metrics = |wire: &Value| -> Vec<MetricStatus> { serde_json::from_value(wire.clone()).unwrap() };
        let members: Vec<_> = members.iter().map(|(wire, replicas)| (metrics(wire), *replicas)).collect();
        json!(mean(members.iter().map(|(metrics, replicas)| (&**metrics, *replicas))))
    }

    fn cpu(percent: i32, average: &str) -> Value {
        json!({"type": "Resource", "resource": {"name": "cpu", "current":
            {"averageUtilization": percent, "averageValue": average}}})
    }

    #[test]
    fn each_metric_is_the_mean_over_the_replicas_in_its_own_unit() {
        let queue = |value: &str| json!({"type": "External", "external": {"metric": {"name": "queue"}, "current": {"value": value}}});
        let found = means(&[(json!([cpu(50, "50m"), queue("10")]), 1), (json!([cpu(90, "90m"), queue("20")]), 3)]);
        assert_eq!(found, json!([cpu(80, "80m"), queue("17500m")]));
    }

    #[test]
    fn a_metric_that_only_some_members_report_is_the_mean_of_these() {
        let found = means(&[(json!([]), 5), (json!([cpu(40, "1")]), 0), (json!([cpu(60, "2")]), 1)]);
        assert_eq!(found, json!([cpu(50, "1500m")]));
        assert_eq!(means(&[(json!([]), 5)]), Value::Null);
        assert_eq!(means(&[(json!([{"type": "Resource"}]), 5)]), Value::Null, "no source");
    }
}
