//! Metrics and behavior of an HPA of any kind, wire -> the algorithm of `decision::hpa`. No I/O.

use crate::api::hpa::{HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior, MetricSpec, MetricTarget};
use crate::api::hpa_status::{
    ContainerResourceMetricStatus, ExternalMetricStatus, MetricStatus, MetricValueStatus, ObjectMetricStatus,
    PodsMetricStatus, ResourceMetricStatus,
};
use crate::api::quantity::Quantity;
use crate::decision::hpa::behavior::{Behavior, Policy, Rules, Select, Unit};
use crate::decision::hpa::load;
use crate::decision::hpa::metric::{Current, Source, Target, types_by_value};
use crate::decision::load::Load;
use crate::decision::quantity::{from_milli, milli};

/// Target CPU utilization of an HPA without metrics.
const DEFAULT_UTILIZATION: i32 = 80;

/// Source and target of each metric; CPU at 80% when there is none. A metric without a source is `None`.
#[must_use]
pub fn metrics(specs: &[MetricSpec], namespace: &str) -> Vec<Option<(Source, Target)>> {
    if specs.is_empty() {
        let source = Source::Resource { name: "cpu".to_owned() };
        return vec![Some((source, Target::Utilization(DEFAULT_UTILIZATION)))];
    }
    specs.iter().map(|spec| metric(spec, namespace)).collect()
}

/// Load of the workload of an HPA, by its metrics and their reported values; `None` where these do not determine it.
#[must_use]
pub fn load(specs: &[MetricSpec], reported: &[MetricStatus]) -> Option<Load> {
    let of = |is_of: &dyn Fn(&MetricStatus) -> bool| -> Vec<Current> {
        reported.iter().filter(|status| is_of(status)).filter_map(current).map(measured).collect()
    };
    if specs.is_empty() {
        let is_cpu = |status: &MetricStatus| status.resource.as_ref().is_some_and(|resource| resource.name == "cpu");
        return load::load(&[Some((Target::Utilization(DEFAULT_UTILIZATION), of(&is_cpu)))]);
    }
    let metrics = specs.iter().map(|spec| Some((metric(spec, "")?.1, of(&|status| is_of(status, spec)))));
    load::load(&metrics.collect::<Vec<_>>())
}

/// Whether a status is about the metric of `spec`. Two metrics may differ by their selectors alone.
fn is_of(status: &MetricStatus, spec: &MetricSpec) -> bool {
    let resource = || Some(status.resource.as_ref()?.name == spec.resource.as_ref()?.name);
    let container = || {
        let (of, by) = (status.container_resource.as_ref()?, spec.container_resource.as_ref()?);
        Some((&of.name, &of.container) == (&by.name, &by.container))
    };
    let pods = || Some(status.pods.as_ref()?.metric == spec.pods.as_ref()?.metric);
    let object = || {
        let (of, by) = (status.object.as_ref()?, spec.object.as_ref()?);
        Some(of.described_object == by.described_object && of.metric == by.metric)
    };
    let external = || Some(status.external.as_ref()?.metric == spec.external.as_ref()?.metric);
    let same = match spec.type_.as_str() {
        "Resource" => resource(),
        "ContainerResource" => container(),
        "Pods" => pods(),
        "Object" => object(),
        "External" => external(),
        _ => None,
    };
    status.type_ == spec.type_ && same.unwrap_or_default()
}

/// The value of a metric; `None` where it has none of its type.
pub(super) fn current(status: &MetricStatus) -> Option<&MetricValueStatus> {
    match status.type_.as_str() {
        "Resource" => status.resource.as_ref().map(|of| &of.current),
        "ContainerResource" => status.container_resource.as_ref().map(|of| &of.current),
        "Pods" => status.pods.as_ref().map(|of| &of.current),
        "Object" => status.object.as_ref().map(|of| &of.current),
        "External" => status.external.as_ref().map(|of| &of.current),
        _ => None,
    }
}

/// A value in numbers.
pub(super) fn measured(value: &MetricValueStatus) -> Current {
    let number = |quantity: &Option<Quantity>| quantity.as_ref().and_then(|quantity| milli(&quantity.0));
    Current {
        value: number(&value.value),
        average_value: number(&value.average_value),
        utilization: value.average_utilization,
    }
}

fn metric(spec: &MetricSpec, namespace: &str) -> Option<(Source, Target)> {
    let namespace = namespace.to_owned();
    Some(match spec.type_.as_str() {
        "Resource" => {
            let resource = spec.resource.as_ref()?;
            (Source::Resource { name: resource.name.clone() }, target(spec, &resource.target)?)
        }
        "ContainerResource" => {
            let resource = spec.container_resource.as_ref()?;
            let (name, container) = (resource.name.clone(), resource.container.clone());
            (Source::ContainerResource { name, container }, target(spec, &resource.target)?)
        }
        "Pods" => {
            let pods = spec.pods.as_ref()?;
            (Source::Pods { metric: pods.metric.name.clone() }, target(spec, &pods.target)?)
        }
        "Object" => {
            let object = spec.object.as_ref()?;
            let (metric, about) = (object.metric.name.clone(), &object.described_object);
            let (kind, name) = (about.kind.clone(), about.name.clone());
            (Source::Object { metric, kind, namespace, name }, target(spec, &object.target)?)
        }
        "External" => {
            let external = spec.external.as_ref()?;
            (Source::External { metric: external.metric.name.clone(), namespace }, target(spec, &external.target)?)
        }
        _ => return None,
    })
}

/// What was measured, as an HPA reports it. `current` has an entry for each of `specs`; one that failed is left out.
#[must_use]
pub fn reported(specs: &[MetricSpec], current: &[Option<Current>]) -> Vec<MetricStatus> {
    if specs.is_empty() {
        let cpu = |current: &Current| MetricStatus {
            type_: "Resource".to_owned(),
            resource: Some(ResourceMetricStatus { name: "cpu".to_owned(), current: value(current) }),
            ..MetricStatus::default()
        };
        return current.iter().flatten().map(cpu).collect();
    }
    let both = specs.iter().zip(current);
    both.filter_map(|(spec, current)| status(spec, value(current.as_ref()?))).collect()
}

fn status(spec: &MetricSpec, current: MetricValueStatus) -> Option<MetricStatus> {
    let mut status = MetricStatus { type_: spec.type_.clone(), ..MetricStatus::default() };
    match spec.type_.as_str() {
        "Resource" => {
            let name = spec.resource.as_ref()?.name.clone();
            status.resource = Some(ResourceMetricStatus { name, current });
        }
        "ContainerResource" => {
            let of = spec.container_resource.as_ref()?;
            let (name, container) = (of.name.clone(), of.container.clone());
            status.container_resource = Some(Box::new(ContainerResourceMetricStatus { name, container, current }));
        }
        "Pods" => {
            let metric = spec.pods.as_ref()?.metric.clone();
            status.pods = Some(Box::new(PodsMetricStatus { metric, current }));
        }
        "Object" => {
            let of = spec.object.as_ref()?;
            let (described_object, metric) = (of.described_object.clone(), of.metric.clone());
            status.object = Some(Box::new(ObjectMetricStatus { described_object, metric, current }));
        }
        "External" => {
            let metric = spec.external.as_ref()?.metric.clone();
            status.external = Some(Box::new(ExternalMetricStatus { metric, current }));
        }
        _ => return None,
    }
    Some(status)
}

fn value(current: &Current) -> MetricValueStatus {
    let quantity = |milli: i64| Quantity(from_milli(milli));
    MetricValueStatus {
        value: current.value.map(quantity),
        average_value: current.average_value.map(quantity),
        average_utilization: current.utilization,
    }
}

/// The metrics as members get them: each target with the type of the value that counts.
#[must_use]
pub fn fitting(specs: &[MetricSpec]) -> Vec<MetricSpec> {
    let mut specs = specs.to_vec();
    for MetricSpec { type_, resource, container_resource, pods, .. } in &mut specs {
        let targets = [
            resource.as_mut().map(|source| &mut source.target),
            container_resource.as_mut().map(|source| &mut source.target),
            pods.as_mut().map(|source| &mut source.target),
        ];
        for target in targets.into_iter().flatten() {
            target.type_ = target_type(type_, target).to_owned();
        }
    }
    specs
}

/// The type of the target of a metric of `type`: that of the value that is set, where autoscalers take it whatever the
/// type says.
#[must_use]
pub fn target_type<'a>(type_: &str, target: &'a MetricTarget) -> &'a str {
    let is_set = |type_: &&&str| match **type_ {
        "AverageValue" => target.average_value.is_some(),
        _ => target.average_utilization.is_some(),
    };
    types_by_value(type_).iter().find(is_set).copied().unwrap_or(&target.type_)
}

fn target(spec: &MetricSpec, target: &MetricTarget) -> Option<Target> {
    let value = |quantity: &Option<Quantity>| quantity.as_ref().and_then(|quantity| milli(&quantity.0));
    match target_type(&spec.type_, target) {
        "Utilization" => target.average_utilization.map(Target::Utilization),
        "AverageValue" => value(&target.average_value).map(Target::AverageValue),
        "Value" => value(&target.value).map(Target::Value),
        _ => None,
    }
}

/// Rules of both directions, completed as in Kubernetes.
#[must_use]
pub fn behavior(behavior: &HorizontalPodAutoscalerBehavior) -> Behavior {
    Behavior {
        up: rules(behavior.scale_up.as_ref(), Rules::default_up()),
        down: rules(behavior.scale_down.as_ref(), Rules::default_down()),
    }
}

fn rules(given: Option<&HPAScalingRules>, default: Rules) -> Rules {
    let Some(given) = given else { return default };
    Rules {
        window_seconds: given.stabilization_window_seconds.or(default.window_seconds),
        select: given.select_policy.as_deref().map_or(default.select, select),
        policies: given.policies.as_ref().map_or(default.policies, |list| list.iter().map(policy).collect()),
        tolerance: given.tolerance.as_ref().and_then(|tolerance| share(&tolerance.0)),
    }
}

fn select(policy: &str) -> Select {
    match policy {
        "Min" => Select::Min,
        "Disabled" => Select::Disabled,
        _ => Select::Max,
    }
}

fn policy(policy: &HPAScalingPolicy) -> Policy {
    let unit = if policy.type_ == "Percent" { Unit::Percent } else { Unit::Pods };
    Policy { unit, value: policy.value, period_seconds: policy.period_seconds }
}

fn share(text: &str) -> Option<f64> {
    i32::try_from(milli(text)?).ok().map(|thousandths| f64::from(thousandths) / 1000.0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{behavior, load, metrics};
    use crate::decision::hpa::behavior::{Rules, Select};
    use crate::decision::hpa::metric::{Source, Target};
    use crate::decision::load::Load;

    #[test]
    fn an_hpa_without_metrics_holds_the_cpu() {
        let cpu = Source::Resource { name: "cpu".into() };
        assert_eq!(metrics(&[], "shop"), [Some((cpu, Target::Utilization(80)))]);
    }

    #[test]
    fn what_an_hpa_reports_is_compared_with_what_it_holds() {
        let specs = json!([{"type": "Pods", "pods": {"metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "2"}}}]);
        let reported = json!([{"type": ""}, {"type": "Pods", "pods": {"metric": {"name": "qps"}, "current": {"averageValue": "2500m"}}}]);
        let specs: Vec<_> = serde_json::from_value(specs).unwrap();
        let found = load(&specs, &serde_json::from_value::<Vec<_>>(reported).unwrap());
        assert_eq!(found, Some(Load { value: 2_500, target: 2_000 }));
        assert_eq!(load(&specs, &[]), None);
    }

    #[test]
    fn metrics_that_differ_by_their_selectors_or_their_targets_alone_are_two() {
        let of = |specs: Value, reported: Value| {
            let specs: Vec<_> = serde_json::from_value(specs).unwrap();
            load(&specs, &serde_json::from_value::<Vec<_>>(reported).unwrap())
        };
        let queue = |name: &str| json!({"name": "queue", "selector": {"matchLabels": {"queue": name}}});
        let spec = |name| json!({"type": "External", "external": {"metric": queue(name), "target": {"type": "Value", "value": "100"}}});
        let status =
            |name, value| json!({"type": "External", "external": {"metric": queue(name), "current": {"value": value}}});
        let found = of(json!([spec("a"), spec("b")]), json!([status("a", "10"), status("b", "300")]));
        assert_eq!(found, Some(Load { value: 300_000, target: 100_000 }));
        let cpu = |of: Value| json!({"type": "Resource", "resource": {"name": "cpu", "target": of}});
        let specs = json!([
            cpu(json!({"type": "AverageValue", "averageValue": "1"})),
            cpu(json!({"type": "Utilization", "averageUtilization": 50}))
        ]);
        let cpu = |of: Value| json!({"type": "Resource", "resource": {"name": "cpu", "current": of}});
        let reported = json!([
            cpu(json!({"averageValue": "500m"})),
            cpu(json!({"averageValue": "500m", "averageUtilization": 45}))
        ]);
        assert_eq!(of(specs, reported), Some(Load { value: 45, target: 50 }));
    }

    #[test]
    fn behavior_is_completed() {
        let given = json!({"scaleDown": {"selectPolicy": "Disabled", "tolerance": "50m"}});
        let rules = behavior(&serde_json::from_value(given).unwrap());
        assert_eq!(rules.up, Rules::default_up());
        assert_eq!((rules.down.select, rules.down.tolerance), (Select::Disabled, Some(0.05)));
        assert_eq!(rules.down.policies, Rules::default_down().policies);
    }
}
