//! The status of an HPA, as caches share it. No I/O.

use std::sync::{Arc, LazyLock};

use crate::api::hpa_status::HorizontalPodAutoscalerStatus;
use crate::controller::intern::Shared;

/// The stored status that is equal to `status`: that of a Work and the one that its FederatedHPA shows are stored once.
#[must_use]
pub(super) fn shared(mut status: HorizontalPodAutoscalerStatus) -> Arc<HorizontalPodAutoscalerStatus> {
    static STATUSES: LazyLock<Shared<HorizontalPodAutoscalerStatus>> = LazyLock::new(Shared::default);
    // Decoding leaves room for more.
    status.conditions.iter_mut().for_each(Vec::shrink_to_fit);
    status.current_metrics.iter_mut().for_each(Vec::shrink_to_fit);
    STATUSES.keep(status)
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
            shared(serde_json::from_value(wire).unwrap())
        };
        let status = of(48);
        assert!(Arc::ptr_eq(&status, &of(48)) && !Arc::ptr_eq(&status, &of(49)));
        assert_eq!(status.current_replicas, Some(2));
    }
}
