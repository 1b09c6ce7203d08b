//! Number of FederatedHPAs by condition, while this process leads. No I/O.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::registered;

/// Labels of one condition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    condition: String,
    status: String,
    reason: String,
}

/// The gauge.
#[derive(Clone, Debug)]
pub struct ConditionMetrics {
    gauges: Family<Labels, Gauge>,
    known: Arc<Mutex<ObjectConditions>>,
}

/// Conditions of each object. Objects with equal conditions share them.
#[derive(Debug, Default)]
struct ObjectConditions {
    objects: HashMap<Box<str>, Box<[Arc<Labels>]>>,
    counts: HashMap<Arc<Labels>, i64>,
}

impl ConditionMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let help = "FederatedHPAs by type, status and reason of their conditions";
        let gauges = registered::<Family<Labels, Gauge>>(registry, "federated_hpa_conditions", help);
        Self { gauges, known: Arc::default() }
    }

    /// Sets the conditions of an object: type, status and reason of each.
    pub fn set<'a>(&self, object: &str, conditions: impl Iterator<Item = (&'a str, &'a str, &'a str)>) {
        let mut known = self.known.lock();
        let labels = conditions.map(|(condition, status, reason)| {
            let labels =
                Labels { condition: condition.to_owned(), status: status.to_owned(), reason: reason.to_owned() };
            known.counts.get_key_value(&labels).map_or_else(|| Arc::new(labels), |(shared, _)| Arc::clone(shared))
        });
        let labels: Box<[Arc<Labels>]> = labels.collect();
        if known.objects.get(object).is_some_and(|before| *before == labels) {
            return;
        }
        for labels in &labels {
            let count = known.counts.entry(Arc::clone(labels)).or_default();
            *count = count.saturating_add(1);
            self.gauges.get_or_create(labels).set(*count);
        }
        if let Some(before) = known.objects.insert(object.into(), labels) {
            self.take(&mut known, &before);
        }
    }

    /// Removes an object that is gone, or is no longer handled.
    pub fn forget(&self, object: &str) {
        let mut known = self.known.lock();
        if let Some(before) = known.objects.remove(object) {
            self.take(&mut known, &before);
        }
    }

    /// Removes all objects: another process reports them now.
    pub fn clear(&self) {
        *self.known.lock() = ObjectConditions::default();
        self.gauges.clear();
    }

    fn take(&self, known: &mut ObjectConditions, before: &[Arc<Labels>]) {
        for labels in before {
            let left = known.counts.get(labels).map_or(0, |count| count.saturating_sub(1));
            if left > 0 {
                known.counts.insert(Arc::clone(labels), left);
                self.gauges.get_or_create(labels).set(left);
            } else {
                known.counts.remove(labels);
                self.gauges.remove(labels);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::runtime::metrics::Metrics;

    fn lines(metrics: &Metrics) -> Vec<String> {
        let text = metrics.text();
        let mut lines: Vec<String> =
            text.lines().filter(|line| line.starts_with("fhpa_federated_hpa_conditions{")).map(str::to_owned).collect();
        lines.sort();
        lines
    }

    #[test]
    fn objects_are_counted_by_what_they_say_now() {
        let metrics = Metrics::new();
        let conditions = &metrics.controller().conditions;
        let (well, ill) = (("Ready", "True", "MemberHPAsReady"), ("Ready", "False", "AmbiguousSelector"));
        for object in ["prod/web", "prod/api"] {
            conditions.set(object, [well].into_iter());
        }
        conditions.set("prod/web", [ill].into_iter());
        conditions.set("prod/web", [ill].into_iter());
        assert_eq!(
            lines(&metrics),
            [
                r#"fhpa_federated_hpa_conditions{condition="Ready",status="False",reason="AmbiguousSelector"} 1"#,
                r#"fhpa_federated_hpa_conditions{condition="Ready",status="True",reason="MemberHPAsReady"} 1"#,
            ]
        );
        conditions.forget("prod/api");
        conditions.forget("prod/api");
        assert_eq!(lines(&metrics).len(), 1);
        metrics.controller().leads(true);
        metrics.controller().leads(false);
        assert_eq!(lines(&metrics), [""; 0]);
    }
}
