//! Taints of failed clusters, and what they evict: the taint manager and the end of graceful evictions. Client required.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Karmada;
use super::binding::without_zeros;
use super::clusters::ready;
use super::placement::{taint, tolerations};
use crate::decision::fleet::taint::{NO_EXECUTE, NO_SCHEDULE, NOT_READY, Tolerated, tolerated};
use crate::playground::clock::{after, parse, rfc3339};
use crate::playground::json::{self, deleting, int, items, name, text};
use crate::playground::pass::Pass;

impl Karmada {
    /// Taints failed clusters, evicts what does not tolerate it, and ends evictions.
    pub(super) async fn evict(&self, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let clusters = self.clusters().await?;
        for cluster in clusters.iter().filter(|cluster| !items(cluster, "/status/conditions").is_empty()) {
            if let Some(taints) = self.taints(cluster, now) {
                pass.count(
                    &self.objects.merge(&self.kinds.cluster, cluster, "", &json!({"spec": {"taints": taints}})).await?,
                );
            }
        }
        for binding in self.objects.list(&self.kinds.binding, "").await? {
            if deleting(&binding) {
                continue;
            }
            let mut after = binding.clone();
            for cluster in &clusters {
                leave_cluster(&mut after, cluster, now, &mut pass);
            }
            if after == binding {
                self.end_evictions(&mut after, now, &mut pass);
            }
            if after != binding {
                pass.count(&self.objects.replace(&self.kinds.binding, &without_zeros(&after)).await?);
            }
        }
        Ok(pass)
    }

    /// The taints that the cluster should have, when these differ from those it has.
    fn taints(&self, cluster: &Value, now: Timestamp) -> Option<Vec<Value>> {
        let effects: &[&str] = match (ready(cluster), self.timing.failover) {
            (true, _) => &[],
            (false, false) => &[NO_SCHEDULE],
            (false, true) => &[NO_SCHEDULE, NO_EXECUTE],
        };
        let before = items(cluster, "/spec/taints");
        let ours = |taint: &&Value| text(taint, "/key") == NOT_READY;
        let mut taints: Vec<Value> = before.iter().filter(|taint| !ours(taint)).cloned().collect();
        for effect in effects {
            let there = before.iter().filter(ours).find(|taint| text(taint, "/effect") == *effect).cloned();
            taints
                .push(there.unwrap_or_else(|| json!({"key": NOT_READY, "effect": effect, "timeAdded": rfc3339(now)})));
        }
        (taints != before).then_some(taints)
    }

    /// Drops the evictions whose replacement runs, or that took too long.
    fn end_evictions(&self, binding: &mut Value, now: Timestamp, pass: &mut Pass) {
        let tasks = items(binding, "/spec/gracefulEvictionTasks");
        if tasks.is_empty() {
            return;
        }
        let replaced = replaced(binding);
        let mut left = Vec::new();
        for task in tasks {
            let begun = parse(text(task, "/creationTimestamp")).unwrap_or(now);
            let end = after(begun, self.timing.eviction_timeout);
            if !replaced && end > now {
                pass.look_at(end);
                left.push(task.clone());
            }
        }
        if left.len() != tasks.len() {
            if left.is_empty() {
                json::remove(binding, &["spec", "gracefulEvictionTasks"]);
            } else {
                json::set(binding, &["spec", "gracefulEvictionTasks"], json!(left));
            }
        }
    }
}

/// Moves the cluster from the result to the evictions when it carries a taint that is not tolerated any longer.
fn leave_cluster(binding: &mut Value, cluster: &Value, now: Timestamp, pass: &mut Pass) {
    let targets = items(binding, "/spec/clusters");
    let Some(target) = targets.iter().find(|target| text(target, "/name") == name(cluster)).cloned() else {
        return;
    };
    let tolerations = tolerations(binding.pointer("/spec/placement").unwrap_or(&Value::Null));
    let taints = items(cluster, "/spec/taints").iter().map(taint).filter(|taint| taint.effect == NO_EXECUTE);
    let Some(Tolerated::Until(end)) = taints.map(|taint| tolerated(&taint, &tolerations, now)).min() else { return };
    if end > now {
        pass.look_at(end);
        return;
    }
    let staying: Vec<Value> = targets.iter().filter(|other| **other != target).cloned().collect();
    let mut task = json!({"fromCluster": name(cluster), "producer": "TaintManager", "reason": "TaintUntolerated",
        "purgeMode": "Gracefully", "creationTimestamp": rfc3339(now)});
    if let Some(replicas) = int(&target, "/replicas") {
        json::set(&mut task, &["replicas"], json!(replicas));
    }
    let mut tasks = items(binding, "/spec/gracefulEvictionTasks").to_vec();
    tasks.push(task);
    json::set(binding, &["spec", "clusters"], json!(staying));
    json::set(binding, &["spec", "gracefulEvictionTasks"], json!(tasks));
}

/// Whether the scheduler has answered and every cluster of its answer is healthy.
fn replaced(binding: &Value) -> bool {
    if int(binding, "/status/schedulerObservedGeneration") != int(binding, "/metadata/generation") {
        return false;
    }
    let healthy = |target: &Value| {
        let aggregated = items(binding, "/status/aggregatedStatus").iter();
        let mut own = aggregated.filter(|status| text(status, "/clusterName") == text(target, "/name"));
        own.any(|status| text(status, "/health") == "Healthy")
    };
    let targets = items(binding, "/spec/clusters");
    !targets.is_empty() && targets.iter().all(healthy)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::condition;
    use super::replaced;

    #[test]
    fn an_eviction_waits_for_the_scheduler_and_for_health() {
        let binding = |observed: i64, health: &str| {
            json!({"metadata": {"generation": 2}, "spec": {"clusters": [{"name": "b"}]}, "status": {
                "schedulerObservedGeneration": observed, "aggregatedStatus": [{"clusterName": "b", "health": health}]}})
        };
        assert!(replaced(&binding(2, "Healthy")));
        assert!(!replaced(&binding(1, "Healthy")));
        assert!(!replaced(&binding(2, "Unhealthy")));
    }

    #[test]
    fn a_condition_keeps_the_time_of_its_change() {
        let (first, second) = (jiff::Timestamp::UNIX_EPOCH, jiff::Timestamp::constant(60, 0));
        let before = condition(None, "Ready", true, ("A", "a"), first);
        let same = condition(Some(&before), "Ready", true, ("B", "b"), second);
        assert_eq!(same["lastTransitionTime"], before["lastTransitionTime"]);
        assert_eq!(
            condition(Some(&before), "Ready", false, ("B", "b"), second)["lastTransitionTime"],
            "1970-01-01T00:01:00Z"
        );
    }
}
