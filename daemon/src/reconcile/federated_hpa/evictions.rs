//! Evictions of a binding: what they say, and how long they must last. Pure.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::cache::entry::Binding;
use super::names;
use crate::decision::plan::{Action, Note, Plan, Purge, Step, UNREADY};

/// A field of an eviction task that is text; empty where it is absent.
pub(super) fn text_of<'a>(task: &'a Value, path: &str) -> &'a str {
    task.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Whether another controller evicts, such as Karmada's own failover.
pub(super) fn is_foreign(task: &Value) -> bool {
    text_of(task, "/producer") != names::PRODUCER
}

/// Whether Karmada evicts for a taint of the cluster: the cluster is judged by that taint, and stays out no longer than
/// that is there.
pub(super) fn is_for_a_taint(task: &Value) -> bool {
    text_of(task, "/producer") == names::TAINT_MANAGER
}

/// The cluster of an eviction task, and when it began.
pub(super) fn begun(task: &Value) -> Option<(&str, Timestamp)> {
    Some((text_of(task, "/fromCluster"), text_of(task, "/creationTimestamp").parse().ok()?))
}

/// Whether Karmada ends the eviction by itself, not when a user confirms it.
fn is_timed(task: &Value) -> bool {
    let suppressed = task.pointer("/suppressDeletion").and_then(Value::as_bool).unwrap_or_default();
    !suppressed && text_of(task, "/purgeMode") != "Never"
}

/// When Karmada ends the eviction at the latest; `None` where it waits for a user.
pub(super) fn end(task: &Value) -> Option<Timestamp> {
    let (_, since) = begun(task).filter(|_| is_timed(task))?;
    let own = task.pointer("/gracePeriodSeconds").and_then(Value::as_i64).map(SignedDuration::from_secs);
    since.checked_add(own.unwrap_or(UNREADY)).ok()
}

/// Whether replicas are evicted gracefully, or are to be now, that do not run elsewhere yet, that no cluster can run now,
/// or is asked to: the cluster may answer again with all of them. Karmada ends such an eviction after its own time limit
/// all the same.
pub(super) fn evicts_unreplaced(binding: &Binding, plan: &Plan<'_>) -> bool {
    let mut tasks = binding.object.spec.graceful_eviction_tasks.iter();
    // It has two names, by the version of Karmada, and is the default.
    let is_graceful =
        |task: &Value| is_timed(task) && !matches!(text_of(task, "/purgeMode"), "Directly" | "Immediately");
    let begins = |step: &Step<'_>| match &step.action {
        Action::UpdateBinding { evictions, .. } => evictions.iter().any(|one| one.purge == Purge::Gracefully),
        _ => false,
    };
    let missing = |note: &Note| {
        matches!(note, Note::Missing { .. } | Note::AllLost { .. } | Note::NoCandidates | Note::Suspended)
    };
    (tasks.any(is_graceful) || plan.now().any(begins)) && plan.notes.iter().any(missing)
}

/// Whether a cluster should be added while others are evicted. Karmada ends an eviction when all clusters of a division
/// that counts as scheduled are healthy: until the addition is written, the division must not count as scheduled. While
/// the object is suspended nothing is added.
pub(super) fn replaces_evicted(binding: &Binding, plan: &Plan<'_>, suspended: bool) -> bool {
    let spec = &binding.object.spec;
    let has = |cluster: &str| binding.entries().any(|(name, _)| name == cluster);
    let adds = |action: &Action<'_>| match action {
        Action::UpdateBinding { entries, .. } => entries.iter().any(|entry| !has(entry.cluster)),
        _ => false,
    };
    !spec.graceful_eviction_tasks.is_empty() && (suspended || plan.steps.iter().any(|step| adds(&step.action)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_eviction_ends_after_its_grace_period_or_ten_minutes_unless_it_waits_for_a_user() {
        let ends = |field: &str, value: Value| {
            let mut task = json!({"fromCluster": "member1", "creationTimestamp": "2026-11-20T08:00:00Z"});
            task[field] = value;
            end(&task).map(|end| end.to_string())
        };
        assert_eq!(ends("purgeMode", json!("Gracefully")).as_deref(), Some("2026-11-20T08:10:00Z"));
        assert_eq!(ends("gracePeriodSeconds", json!(60)).as_deref(), Some("2026-11-20T08:01:00Z"));
        assert_eq!(ends("suppressDeletion", json!(false)).as_deref(), Some("2026-11-20T08:10:00Z"));
        assert_eq!([ends("suppressDeletion", json!(true)), ends("purgeMode", json!("Never"))], [None, None]);
    }
}
