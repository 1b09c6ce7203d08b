//! Metrics of an HPA beside their targets. No I/O.

use super::model::MetricView;
use crate::api::hpa::{MetricSpec, MetricTarget};
use crate::api::hpa_status::{MetricStatus, MetricValueStatus};
use crate::convert::scaling::target_type;
use crate::decision::quantity::{from_milli, milli};

/// Type, name and container: a metric and its status have the same.
type MetricKey<'a> = (&'a str, &'a str, &'a str);

/// Each metric of the spec with its value among `current`.
pub(super) fn views(spec: &[MetricSpec], current: &[MetricStatus]) -> Vec<MetricView> {
    spec.iter()
        .filter_map(|metric| {
            let (key, target) = wanted(metric)?;
            let value = current.iter().filter_map(found).find(|(known, _)| *known == key).map(|(_, value)| value);
            Some(view(key, target, value))
        })
        .collect()
}

/// Each metric of the spec with the mean of `members`, each counted by its replicas. A metric that is held as a whole
/// in each cluster has no mean.
pub(super) fn means(spec: &[MetricSpec], members: &[(i32, &[MetricStatus])]) -> Vec<MetricView> {
    let of_members: Vec<(i128, Vec<MetricView>)> =
        members.iter().map(|(replicas, current)| ((*replicas).into(), views(spec, current))).collect();
    let mut all = views(spec, &[]);
    for (index, (view, metric)) in all.iter_mut().zip(spec).enumerate() {
        let as_a_whole = wanted(metric).is_none_or(|(_, target)| target_type(&metric.type_, target) == "Value");
        let known = of_members.iter().filter_map(|(replicas, views)| {
            let current = views.get(index).filter(|_| !as_a_whole)?.current.as_deref()?;
            Some((*replicas, i128::from(number(current)?)))
        });
        let (weights, sum) = known.fold((0_i128, 0_i128), |(weights, sum), (weight, value)| {
            (weights.saturating_add(weight), sum.saturating_add(weight.saturating_mul(value)))
        });
        let Some(mean) = sum.checked_div(weights).and_then(|mean| i64::try_from(mean).ok()) else { continue };
        let current = if view.target.ends_with('%') { format!("{}%", mean / 1000) } else { from_milli(mean) };
        view.percent_of_target = share(&current, &view.target);
        view.current = Some(current);
    }
    all
}

fn wanted(metric: &MetricSpec) -> Option<(MetricKey<'_>, &MetricTarget)> {
    let type_ = metric.type_.as_str();
    Some(match type_ {
        "Resource" => metric.resource.as_ref().map(|one| ((type_, &*one.name, ""), &one.target))?,
        "ContainerResource" => {
            metric.container_resource.as_ref().map(|one| ((type_, &*one.name, &*one.container), &one.target))?
        }
        "Pods" => metric.pods.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.target))?,
        "Object" => metric.object.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.target))?,
        "External" => metric.external.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.target))?,
        _ => return None,
    })
}

fn found(metric: &MetricStatus) -> Option<(MetricKey<'_>, &MetricValueStatus)> {
    let type_ = metric.type_.as_str();
    Some(match type_ {
        "Resource" => metric.resource.as_ref().map(|one| ((type_, &*one.name, ""), &one.current))?,
        "ContainerResource" => {
            metric.container_resource.as_ref().map(|one| ((type_, &*one.name, &*one.container), &one.current))?
        }
        "Pods" => metric.pods.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.current))?,
        "Object" => metric.object.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.current))?,
        "External" => metric.external.as_ref().map(|one| ((type_, &*one.metric.name, ""), &one.current))?,
        _ => return None,
    })
}

fn view(
    (type_, name, container): MetricKey<'_>,
    target: &MetricTarget,
    value: Option<&MetricValueStatus>,
) -> MetricView {
    let percent = |number: i32| format!("{number}%");
    let text = |quantity: &crate::api::quantity::Quantity| quantity.0.clone();
    let (wanted, current) = match target_type(type_, target) {
        "Utilization" => {
            (target.average_utilization.map(percent), value.and_then(|value| value.average_utilization).map(percent))
        }
        "Value" => (target.value.as_ref().map(text), value.and_then(|value| value.value.as_ref()).map(text)),
        _ => (target.average_value.as_ref().map(text), value.and_then(|value| value.average_value.as_ref()).map(text)),
    };
    let wanted = wanted.unwrap_or_default();
    let percent_of_target = current.as_deref().and_then(|current| share(current, &wanted));
    let name = if container.is_empty() { name.to_owned() } else { format!("{name} of {container}") };
    MetricView { type_: type_.to_owned(), name, current, target: wanted, percent_of_target }
}

/// `current` in percent of `target`.
fn share(current: &str, target: &str) -> Option<i64> {
    number(current)?.checked_mul(100)?.checked_div(number(target)?)
}

/// A value in thousandths of its unit.
fn number(text: &str) -> Option<i64> {
    milli(text.trim_end_matches('%'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(
        spec: serde_json::Value,
        current: serde_json::Value,
    ) -> Vec<(String, Option<String>, String, Option<i64>)> {
        let (spec, current): (Vec<MetricSpec>, Vec<MetricStatus>) =
            (serde_json::from_value(spec).unwrap(), serde_json::from_value(current).unwrap());
        let views = views(&spec, &current).into_iter();
        views.map(|view| (view.name, view.current, view.target, view.percent_of_target)).collect()
    }

    #[test]
    fn each_metric_has_the_value_of_its_name_in_the_unit_of_its_target() {
        let spec = json!([
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app",
                "target": {"type": "AverageValue", "averageValue": "500m"}}},
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}},
        ]);
        let current = json!([
            {"type": "External", "external": {"metric": {"name": "queue"}, "current": {"value": "45"}}},
            {"type": "ContainerResource", "containerResource": {"name": "cpu", "container": "app", "current": {"averageValue": "250m"}}},
            {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 42, "averageValue": "420m"}}},
        ]);
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown(spec, current),
            [
                ("cpu".to_owned(), text("42%"), "60%".to_owned(), Some(70)),
                ("cpu of app".to_owned(), text("250m"), "500m".to_owned(), Some(50)),
                ("queue".to_owned(), text("45"), "30".to_owned(), Some(150)),
            ]
        );
    }

    #[test]
    fn a_mean_counts_each_cluster_by_its_replicas() {
        let spec = json!([
            {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}},
            {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "2"}}},
            {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}},
        ]);
        let member = |cpu: i32, hits: &str| {
            json!([
                {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": cpu}}},
                {"type": "Pods", "pods": {"metric": {"name": "hits"}, "current": {"averageValue": hits}}},
                {"type": "External", "external": {"metric": {"name": "queue"}, "current": {"value": "45"}}},
            ])
        };
        let spec: Vec<MetricSpec> = serde_json::from_value(spec).unwrap();
        let [one, two] = [member(20, "1"), member(80, "3")].map(|all| serde_json::from_value::<Vec<_>>(all).unwrap());
        let shown = |members: &[(i32, &[MetricStatus])]| -> Vec<_> {
            means(&spec, members).into_iter().map(|view| (view.current, view.percent_of_target)).collect()
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(shown(&[(3, &one), (1, &two)]), [(text("35%"), Some(70)), (text("1500m"), Some(75)), (None, None)]);
        assert_eq!(shown(&[(0, &one)]), [(None, None), (None, None), (None, None)]);
    }

    #[test]
    fn a_metric_without_a_value_is_shown_with_its_target_alone() {
        let spec = json!([
            {"type": "Pods", "pods": {"metric": {"name": "hits"}, "target": {"type": "AverageValue", "averageValue": "0"}}},
            {"type": "Strange"},
        ]);
        assert_eq!(shown(spec.clone(), json!([])), [("hits".to_owned(), None, "0".to_owned(), None)]);
        let current = json!([{"type": "Pods", "pods": {"metric": {"name": "hits"}, "current": {"averageValue": "1"}}}]);
        assert_eq!(shown(spec, current)[0].3, None, "nothing is a share of zero");
    }
}
