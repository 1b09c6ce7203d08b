//! The status of a Centralized object: like an HPA's, with Kubernetes' conditions and reasons. No I/O.

use jiff::Timestamp;

use crate::api::federated_hpa::FederatedHPAStatus;
use crate::api::hpa_status::{Condition, MetricStatus};
use crate::controller::condition::ConditionParts;
use crate::convert::instant::stored;
use crate::decision::health::{ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED};
use crate::decision::hpa::decide::{self, Decision};
use crate::reconcile::federated_hpa::cache::entry::FederatedHpaEntry;
use crate::reconcile::federated_hpa::status::{READY, SCALING, condition, conditions};

/// Reason of `AbleToScale` when the scale of the workload cannot be read.
pub(crate) const FAILED_GET_SCALE: &str = "FailedGetScale";
/// Reason of `AbleToScale` when the scale of the workload cannot be written.
pub(crate) const FAILED_UPDATE_SCALE: &str = "FailedUpdateScale";
/// Reason of `ScalingActive` when the scale of the workload has no usable selector of its pods.
pub(crate) const INVALID_SELECTOR: &str = "InvalidSelector";

/// A status under construction. Conditions that are not set keep their state.
pub(crate) struct Report<'a> {
    entry: &'a FederatedHpaEntry,
    now: Timestamp,
    conditions: Vec<Condition>,
    pub(crate) current: Option<i32>,
    pub(crate) desired: Option<i32>,
    pub(crate) metrics: Option<Vec<MetricStatus>>,
    pub(crate) scaled: Option<Timestamp>,
}

impl<'a> Report<'a> {
    pub(crate) fn of(entry: &'a FederatedHpaEntry, now: Timestamp) -> Self {
        let known = SCALING.iter().filter_map(|type_| entry.condition(type_).cloned()).collect();
        Self { entry, now, conditions: known, current: None, desired: None, metrics: None, scaled: None }
    }

    pub(crate) fn set(&mut self, type_: &str, said: ConditionParts) {
        let made = condition(self.entry, type_, said, self.now);
        self.conditions.retain(|known| known.type_ != type_);
        self.conditions.push(made);
    }

    pub(crate) fn decided(&mut self, decision: &Decision) {
        for decide::Condition { kind, status, reason, message } in &decision.conditions {
            self.set(kind, (if *status { "True" } else { "False" }, reason, message.clone()));
        }
    }

    /// Reports that the workload cannot be scaled at all.
    pub(crate) fn unable(&mut self, reason: &'static str, message: &str) {
        let able = format!("the HPA controller was unable to get the target's current scale: {message}");
        self.set(ABLE_TO_SCALE, ("False", FAILED_GET_SCALE, able));
        self.set(READY, ("False", reason, message.to_owned()));
    }

    /// Reports that the user suspends the object, unless it is not ready for another reason.
    pub(crate) fn suspended(&mut self) {
        let parts = |status| {
            (
                status,
                conditions::SUSPENDED,
                "spec.suspend is true: the replicas of the workload are not changed".to_owned(),
            )
        };
        self.set(SCALING_ACTIVE, parts("False"));
        self.set(SCALING_LIMITED, parts("False"));
        if self.conditions.iter().any(|condition| condition.type_ == READY && condition.status == "True") {
            self.set(READY, parts("True"));
        }
    }

    /// Reports that nothing is computed, as it is unknown which pods are those of the workload.
    pub(crate) fn unselected(&mut self, reason: &'static str, message: String) {
        self.set(SCALING_ACTIVE, ("False", reason, message.clone()));
        self.set(READY, ("False", reason, message));
    }

    pub(crate) fn status(self) -> FederatedHPAStatus {
        let Self { entry, conditions, current, desired, metrics, scaled, .. } = self;
        let known = entry.object.status.as_ref();
        let mut conditions = conditions;
        conditions.sort_by_key(|condition| rank(&condition.type_));
        for condition in &mut conditions {
            condition.observed_generation = entry.object.metadata.generation;
        }
        FederatedHPAStatus {
            observed_generation: entry.object.metadata.generation,
            last_scale_time: scaled.and_then(stored).or_else(|| known.and_then(|known| known.last_scale_time.clone())),
            current_replicas: current.or_else(|| known.and_then(|known| known.current_replicas)),
            desired_replicas: desired.or_else(|| known.map(|known| known.desired_replicas)).unwrap_or_default(),
            current_metrics: metrics,
            conditions: Some(conditions),
            ..FederatedHPAStatus::default()
        }
    }
}

/// The order of Kubernetes, followed by our own conditions.
fn rank(type_: &str) -> usize {
    let all = [ABLE_TO_SCALE, SCALING_ACTIVE, SCALING_LIMITED, READY];
    all.iter().position(|known| *known == type_).unwrap_or(all.len())
}
