//! The status of an HPA: conditions, replicas and current metrics, as in kube-controller-manager. No I/O.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::clock::rfc3339;
use crate::json::{count, items, set, text};
use api::hpa::MetricSpec;
use decision::hpa::decide::Decision;
use fhpa_daemon::convert::scaling;

/// The conditions of an HPA. The transition time is kept while the status is unchanged.
pub(super) struct Conditions {
    list: Vec<Value>,
    now: String,
}

impl Conditions {
    pub(super) fn of(object: &Value, now: Timestamp) -> Self {
        Self { list: items(object, "/status/conditions").to_vec(), now: rfc3339(now) }
    }

    /// Sets whether it scaled to zero by itself, as in Kubernetes 1.37.
    pub(super) fn scaled_to_zero(&mut self, went: bool) {
        let (reason, message) = if went {
            ("ScaledToZero", "the HPA controller scaled the workload to zero")
        } else {
            ("NotScaledToZero", "the HPA controller did not scale the workload to zero")
        };
        self.set("ScaledToZero", went, reason, message);
    }

    pub(super) fn set(&mut self, kind: &str, holds: bool, reason: &str, message: &str) {
        let status = if holds { "True" } else { "False" };
        let known = self.list.iter_mut().find(|condition| text(condition, "/type") == kind);
        if let Some(known) = known {
            if text(known, "/status") != status {
                set(known, &["lastTransitionTime"], json!(self.now));
            }
            set(known, &["status"], json!(status));
            set(known, &["reason"], json!(reason));
            set(known, &["message"], json!(message));
        } else {
            self.list.push(json!({"type": kind, "status": status, "reason": reason, "message": message,
                "lastTransitionTime": self.now}));
        }
    }
}

/// The whole status: after a decision about an existing target, or without one.
pub(super) fn status(
    object: &Value,
    specs: &[MetricSpec],
    found: Option<(&Value, i32, &Decision)>,
    conditions: &Conditions,
    last_scale: Option<Value>,
) -> Value {
    let old = |path: &str| count(object, path).unwrap_or_default();
    let mut status = json!({"conditions": conditions.list});
    let (current, desired) = found.map_or_else(
        || (old("/status/currentReplicas"), old("/status/desiredReplicas")),
        |(target, desired, _)| (count(target, "/spec/replicas").unwrap_or(1), desired),
    );
    set(&mut status, &["currentReplicas"], json!(current));
    set(&mut status, &["desiredReplicas"], json!(desired));
    if let Some(time) = last_scale.filter(|time| !time.is_null()) {
        set(&mut status, &["lastScaleTime"], time);
    }
    let values = found.map(|(_, _, decision)| decision.current.as_slice()).unwrap_or_default();
    if !values.is_empty() {
        set(&mut status, &["currentMetrics"], json!(scaling::reported(specs, values)));
    }
    status
}
