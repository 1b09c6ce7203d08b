//! The status of an HPA, as caches share it. No I/O.

use std::cmp::Ordering;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use crate::api::hpa_status::HorizontalPodAutoscalerStatus;
use crate::controller::intern::Shared;

/// The status of an HPA. That of a Work and the one that its FederatedHPA shows are stored once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HpaStatus(HorizontalPodAutoscalerStatus);

impl HpaStatus {
    /// The stored status that is equal to `status`.
    #[must_use]
    pub fn shared(mut status: HorizontalPodAutoscalerStatus) -> Arc<Self> {
        static STATUSES: LazyLock<Shared<HpaStatus>> = LazyLock::new(Shared::default);
        // Decoding leaves room for more.
        status.conditions.iter_mut().for_each(Vec::shrink_to_fit);
        status.current_metrics.iter_mut().for_each(Vec::shrink_to_fit);
        STATUSES.keep(Self(status))
    }
}

impl Deref for HpaStatus {
    type Target = HorizontalPodAutoscalerStatus;

    fn deref(&self) -> &HorizontalPodAutoscalerStatus {
        &self.0
    }
}

impl Eq for HpaStatus {}

impl PartialOrd for HpaStatus {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Any order will do. The types of metrics have none, but their JSON has.
impl Ord for HpaStatus {
    fn cmp(&self, other: &Self) -> Ordering {
        let [one, other] = [self, other].map(|status| {
            let HorizontalPodAutoscalerStatus {
                observed_generation,
                last_scale_time,
                current_replicas,
                desired_replicas,
                current_metrics,
                conditions,
            } = &status.0;
            let rest = (last_scale_time, conditions, current_replicas, desired_replicas, observed_generation);
            (rest, current_metrics)
        });
        one.0.cmp(&other.0).then_with(|| {
            let [one, other] = [one.1, other.1].map(|metrics| serde_json::to_string(metrics).unwrap_or_default());
            one.cmp(&other)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_statuses_are_stored_once_and_those_that_differ_in_a_measurement_are_not() {
        let of = |percent: i32| {
            let metric = json!({"type": "Resource", "resource": {"name": "cpu",
                "current": {"averageUtilization": percent}}});
            let wire = json!({"currentReplicas": 2, "currentMetrics": [metric],
                "conditions": [{"type": "AbleToScale", "status": "True"}]});
            HpaStatus::shared(serde_json::from_value(wire).unwrap())
        };
        let status = of(48);
        assert!(Arc::ptr_eq(&status, &of(48)) && !Arc::ptr_eq(&status, &of(49)));
        assert_eq!(status.current_replicas, Some(2));
    }
}
