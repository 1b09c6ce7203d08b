//! The life cycle of graceful eviction tasks, as in Karmada's graceful eviction controller. No I/O.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::clock::{after, parse, rfc3339};
use crate::json::{self, int, items, text};
use crate::pass::Pass;

/// Clusters whose Works stay although they are no longer targets: those that are evicted gracefully.
pub fn leaving(binding: &Value) -> impl Iterator<Item = &str> {
    let tasks = items(binding, "/spec/gracefulEvictionTasks").iter();
    tasks.filter(|task| !is_direct(task)).map(|task| text(task, "/fromCluster"))
}

/// Clusters whose Works must be gone before any other is written.
pub fn purged(binding: &Value) -> impl Iterator<Item = &str> {
    let tasks = items(binding, "/spec/gracefulEvictionTasks").iter();
    tasks.filter(|task| is_direct(task)).map(|task| text(task, "/fromCluster"))
}

/// The mode has two names, and absent it is graceful.
fn is_direct(task: &Value) -> bool {
    matches!(text(task, "/purgeMode"), "Directly" | "Immediately")
}

/// Removes the cluster from the result and adds a task for it. As in Karmada, the next pass sets its creation time,
/// which changes the generation of the binding.
pub fn evict(binding: &mut Value, cluster: &str, more: &Value) {
    let targets = items(binding, "/spec/clusters");
    let Some(target) = targets.iter().find(|target| text(target, "/name") == cluster).cloned() else { return };
    let staying: Vec<Value> = targets.iter().filter(|other| **other != target).cloned().collect();
    let mut tasks = items(binding, "/spec/gracefulEvictionTasks").to_vec();
    json::set(binding, &["spec", "clusters"], json!(staying));
    if tasks.iter().any(|task| text(task, "/fromCluster") == cluster) {
        return;
    }
    let mut task = json!({"fromCluster": cluster});
    for (key, value) in json::members(more, "") {
        json::set(&mut task, &[key], value.clone());
    }
    if let Some(replicas) = int(&target, "/replicas").filter(|replicas| *replicas > 0) {
        json::set(&mut task, &["replicas"], json!(replicas));
    }
    tasks.push(task);
    json::set(binding, &["spec", "gracefulEvictionTasks"], json!(tasks));
}

/// Removes the tasks whose replacement runs, or that took too long.
pub fn end(binding: &mut Value, timeout: SignedDuration, now: Timestamp, pass: &mut Pass) {
    let tasks = items(binding, "/spec/gracefulEvictionTasks");
    if tasks.is_empty() {
        return;
    }
    let replaced = replaced(binding);
    let kept: Vec<Value> = tasks.iter().filter_map(|task| assess(task, replaced, timeout, now, pass)).collect();
    if kept != tasks {
        if kept.is_empty() {
            json::remove(binding, &["spec", "gracefulEvictionTasks"]);
        } else {
            json::set(binding, &["spec", "gracefulEvictionTasks"], json!(kept));
        }
    }
}

/// The updated task; `None` when it ends.
fn assess(task: &Value, replaced: bool, timeout: SignedDuration, now: Timestamp, pass: &mut Pass) -> Option<Value> {
    let Some(begun) = parse(text(task, "/creationTimestamp")) else {
        let mut begun = task.clone();
        json::set(&mut begun, &["creationTimestamp"], json!(rfc3339(now)));
        return Some(begun);
    };
    if let Some(suppressed) = task.pointer("/suppressDeletion").and_then(Value::as_bool) {
        return suppressed.then(|| task.clone());
    }
    let own = int(task, "/gracePeriodSeconds").map(SignedDuration::from_secs);
    let end = after(begun, own.unwrap_or(timeout));
    if end < now || replaced {
        return None;
    }
    pass.look_at(end.max(after(now, SignedDuration::from_millis(1))));
    Some(task.clone())
}

/// Whether the scheduler has finished and every cluster of its result is healthy. An empty result counts as healthy.
fn replaced(binding: &Value) -> bool {
    let generation = int(binding, "/metadata/generation");
    if int(binding, "/status/schedulerObservedGeneration").unwrap_or_default() != generation.unwrap_or_default() {
        return false;
    }
    let healthy = |target: &Value| {
        let aggregated = items(binding, "/status/aggregatedStatus").iter();
        let mut own = aggregated.filter(|status| text(status, "/clusterName") == text(target, "/name"));
        own.next().is_some_and(|status| text(status, "/health") == "Healthy")
    };
    items(binding, "/spec/clusters").iter().all(healthy)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};
    use serde_json::{Value, json};

    use super::{end, evict, leaving, purged, replaced};
    use crate::pass::Pass;

    const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

    fn binding(observed: i64, health: &str) -> Value {
        json!({"metadata": {"generation": 2}, "spec": {"clusters": [{"name": "b"}]}, "status": {
            "schedulerObservedGeneration": observed, "aggregatedStatus": [{"clusterName": "b", "health": health}]}})
    }

    #[test]
    fn an_eviction_waits_for_the_scheduler_and_for_health() {
        assert!(replaced(&binding(2, "Healthy")));
        assert!(!replaced(&binding(1, "Healthy")));
        assert!(!replaced(&binding(2, "Unhealthy")));
        let mut alone = binding(2, "Unhealthy");
        alone["spec"]["clusters"] = json!([]);
        assert!(replaced(&alone), "no cluster is left, and none is unhealthy");
    }

    /// The tasks that remain of one.
    fn left(task: &Value, health: &str) -> Vec<Value> {
        let mut binding = binding(2, health);
        binding["spec"]["gracefulEvictionTasks"] = json!([task]);
        end(&mut binding, SignedDuration::from_secs(600), NOW, &mut Pass::default());
        binding["spec"]["gracefulEvictionTasks"].as_array().cloned().unwrap_or_default()
    }

    #[test]
    fn a_task_is_stamped_first_and_ends_by_health_timeout_or_word() {
        let stamped = "2027-01-15T08:00:00Z";
        let begun = |before: i64| (NOW - SignedDuration::from_secs(before)).to_string();
        assert_eq!(
            left(&json!({"fromCluster": "a"}), "Healthy"),
            [json!({"fromCluster": "a", "creationTimestamp": stamped})]
        );
        let task = |before: i64| json!({"fromCluster": "a", "creationTimestamp": begun(before)});
        assert_eq!(left(&task(1), "Healthy").len(), 0);
        assert_eq!((left(&task(599), "Unhealthy").len(), left(&task(601), "Unhealthy").len()), (1, 0));
        let with = |more: (&str, Value)| {
            let mut task = task(30);
            task[more.0] = more.1;
            task
        };
        assert_eq!(left(&with(("gracePeriodSeconds", json!(20))), "Unhealthy").len(), 0);
        assert_eq!(left(&with(("suppressDeletion", json!(true))), "Healthy").len(), 1);
        assert_eq!(left(&with(("suppressDeletion", json!(false))), "Unhealthy").len(), 0);
    }

    #[test]
    fn only_a_graceful_task_keeps_the_works_of_its_cluster() {
        let mut binding = json!({"spec": {"clusters": [{"name": "a", "replicas": 2}, {"name": "b"}]}});
        evict(&mut binding, "a", &json!({}));
        evict(&mut binding, "b", &json!({"purgeMode": "Directly"}));
        evict(&mut binding, "c", &json!({"purgeMode": "Gracefully"}));
        assert_eq!(binding["spec"]["clusters"], json!([]));
        assert_eq!(binding["spec"]["gracefulEvictionTasks"][0]["replicas"], 2);
        assert_eq!(binding["spec"]["gracefulEvictionTasks"][1].get("replicas"), None);
        assert_eq!(leaving(&binding).collect::<Vec<_>>(), ["a"]);
        assert_eq!(purged(&binding).collect::<Vec<_>>(), ["b"]);
    }
}
