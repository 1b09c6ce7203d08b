//! The load of a workload as its HPA reports it: the metric that asks for most replicas
//! (docs/design.md#clusters-that-cannot-scale). Pure.

use super::metric::{Current, Source, Target};
use crate::decision::load::Load;

/// The greatest of `metrics` relative to its target, where `current` has a measurement. A metric without one might ask
/// for more than the others: the result is then `None`, unless another metric is already above its target.
#[must_use]
pub fn load(metrics: &[Option<(Source, Target)>], current: &[(Source, Current)]) -> Option<Load> {
    let measured = |(source, target): &(Source, Target)| {
        let (_, current) = current.iter().find(|(of, _)| of == source)?;
        share(*target, *current)
    };
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

    fn cpu() -> Source {
        Source::Resource { name: "cpu".to_owned() }
    }

    fn queue() -> Source {
        Source::External { metric: "queue".to_owned(), namespace: "prod".to_owned() }
    }

    fn percent(utilization: i32) -> Current {
        Current { utilization: Some(utilization), ..Current::default() }
    }

    #[test]
    fn the_metric_that_asks_for_most_counts() {
        let metrics = [Some((cpu(), Target::Utilization(50))), Some((queue(), Target::Value(10_000)))];
        let long = Current { value: Some(40_000), ..Current::default() };
        let of = |current: &[(Source, Current)]| load(&metrics, current);
        assert_eq!(of(&[(cpu(), percent(100)), (queue(), long)]), Some(Load { value: 40_000, target: 10_000 }));
        let average = [Some((queue(), Target::AverageValue(3_000)))];
        let current = Current { value: None, average_value: Some(4_500), utilization: None };
        assert_eq!(load(&average, &[(queue(), current)]), Some(Load { value: 4_500, target: 3_000 }));
    }

    #[test]
    fn what_was_not_measured_may_ask_for_more() {
        let metrics = [Some((cpu(), Target::Utilization(50))), Some((queue(), Target::Value(10_000)))];
        assert_eq!(load(&metrics, &[(cpu(), percent(20))]), None);
        assert_eq!(load(&metrics, &[(cpu(), percent(80))]), Some(Load { value: 80, target: 50 }));
        assert_eq!(load(&metrics, &[]), None);
        assert_eq!(load(&[None], &[(cpu(), percent(20))]), None);
        assert_eq!(load(&[Some((cpu(), Target::Utilization(0)))], &[(cpu(), percent(20))]), None);
    }
}
