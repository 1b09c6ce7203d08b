//! The load of a workload as its HPA reports it: the metric that asks for most replicas
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use super::metric::{Current, Target};
use crate::load::Load;

/// The greatest of `metrics` relative to its target: target and measurements of each, of which the first counts that has
/// the value of the target; a metric of an unknown kind is `None`. A metric without a measurement might ask for more than
/// the others: the result is then `None`, unless another metric is already above its target.
#[must_use]
pub fn load(metrics: &[Option<(Target, Vec<Current>)>]) -> Option<Load> {
    let measured =
        |(target, current): &(Target, Vec<Current>)| current.iter().find_map(|current| share(*target, *current));
    let all: Vec<Option<Load>> = metrics.iter().map(|metric| metric.as_ref().and_then(measured)).collect();
    let whole = all.iter().all(Option::is_some);
    let greatest = all.into_iter().flatten().reduce(Load::max)?;
    (whole || greatest.is_above()).then_some(greatest)
}

fn share(target: Target, current: Current) -> Option<Load> {
    let (value, target) = match target {
        Target::Utilization(percent) => (current.utilization?.into(), percent.into()),
        Target::AverageValue(average) => (current.average_value?, average),
        Target::Value(value) => (current.value?, value),
    };
    let target = u64::try_from(target).ok().filter(|target| *target > 0)?;
    Some(Load { value: u64::try_from(value).unwrap_or_default(), target })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Target = Target::Utilization(50);
    const QUEUE: Target = Target::Value(10_000);

    fn percent(utilization: i32) -> Vec<Current> {
        vec![Current { utilization: Some(utilization), ..Current::default() }]
    }

    fn value(value: i64) -> Vec<Current> {
        vec![Current { value: Some(value), ..Current::default() }]
    }

    #[test]
    fn the_metric_that_asks_for_most_counts() {
        let both = [Some((CPU, percent(100))), Some((QUEUE, value(40_000)))];
        assert_eq!(load(&both), Some(Load { value: 40_000, target: 10_000 }));
        let current = Current { value: None, average_value: Some(4_500), utilization: None };
        let average = [Some((Target::AverageValue(3_000), vec![current]))];
        assert_eq!(load(&average), Some(Load { value: 4_500, target: 3_000 }));
    }

    #[test]
    fn the_first_measurement_with_the_value_of_the_target_counts() {
        let both = [value(1), percent(75)].concat();
        assert_eq!(load(&[Some((CPU, both))]), Some(Load { value: 75, target: 50 }));
    }

    #[test]
    fn what_was_not_measured_may_ask_for_more() {
        let none = Vec::new;
        assert_eq!(load(&[Some((CPU, percent(20))), Some((QUEUE, none()))]), None);
        let above = [Some((CPU, percent(80))), Some((QUEUE, none()))];
        assert_eq!(load(&above), Some(Load { value: 80, target: 50 }));
        assert_eq!(load(&[Some((CPU, none())), Some((QUEUE, none()))]), None);
        assert_eq!(load(&[None]), None);
        assert_eq!(load(&[Some((Target::Utilization(0), percent(20)))]), None);
    }
}
