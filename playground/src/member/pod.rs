//! What the object of a pod says: its owner, and whether it is ready, ended or unschedulable. No I/O.

use serde_json::Value;

use crate::json::{condition, deleting, items, text, truth};

/// Uid and name of the workload that a pod belongs to.
#[must_use]
pub fn owner(pod: &Value) -> Option<(&str, &str)> {
    let owners = items(pod, "/metadata/ownerReferences").iter();
    let mut owners = owners.filter(|owner| truth(owner, "/controller"));
    owners.next().map(|owner| (text(owner, "/uid"), text(owner, "/name")))
}

/// Whether the pod is ready.
#[must_use]
pub fn ready(pod: &Value) -> bool {
    !deleting(pod)
        && condition(pod, "/status/conditions", "Ready").is_some_and(|ready| text(ready, "/status") == "True")
}

/// Whether the pod has ended.
#[must_use]
pub fn ended(pod: &Value) -> bool {
    deleting(pod) || matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether the scheduler marked the pod as unschedulable.
#[must_use]
pub fn unschedulable(pod: &Value) -> bool {
    let scheduled = condition(pod, "/status/conditions", "PodScheduled");
    scheduled.is_some_and(|scheduled| text(scheduled, "/reason") == "Unschedulable")
}
