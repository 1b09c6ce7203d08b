//! Karmada's own application failover: evicts a workload from a cluster where it stays unhealthy. Client required.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::binding::without_zeros;
use super::interpreter::replicas;
use super::{Karmada, eviction};
use crate::clock::after;
use crate::json::{self, deleting, int, items, name, namespace, text, truth};
use crate::pass::Pass;

/// Producer of its tasks.
const PRODUCER: &str = "resource-binding-application-failover-controller";
/// Default of how long a workload may be unhealthy.
const TOLERATION: i64 = 300;
/// Default of how long to wait for the end of an eviction.
const GRACE: i64 = 600;

impl Karmada {
    /// Evicts workloads from the clusters where they are unhealthy for longer than their policy tolerates.
    pub(super) async fn fail_over(&self, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let bindings = self.objects.all(&self.kinds.binding, "").await?;
        let mut known = BTreeSet::new();
        for binding in bindings.iter().filter(|binding| watched(binding)) {
            let application = binding.pointer("/spec/failover/application").unwrap_or(&Value::Null);
            let toleration = int(application, "/decisionConditions/tolerationSeconds").unwrap_or(TOLERATION);
            let mut after_all = Value::clone(binding);
            for cluster in unhealthy(binding) {
                let key = (format!("{}/{}", namespace(binding), name(binding)), cluster.to_owned());
                known.insert(key.clone());
                let since = self.remember(|memory| *memory.unhealthy.entry(key).or_insert(now));
                let end = after(since, SignedDuration::from_secs(toleration));
                if now > end {
                    eviction::evict(&mut after_all, cluster, &task(application));
                } else {
                    pass.look_at(after(end, SignedDuration::from_millis(1)));
                }
            }
            if after_all != **binding {
                pass.count(&self.objects.replace(&self.kinds.binding, &without_zeros(&after_all)).await?);
            }
        }
        self.remember(|memory| memory.unhealthy.retain(|key, _| known.contains(key)));
        Ok(pass)
    }
}

/// Whether the controller handles the binding: its policy enables it and propagates dependencies, too.
fn watched(binding: &Value) -> bool {
    let resource = binding.pointer("/spec/resource").unwrap_or(&Value::Null);
    binding.pointer("/spec/failover/application").is_some_and(Value::is_object)
        && truth(binding, "/spec/propagateDeps")
        && replicas(resource).is_some()
        && !deleting(binding)
}

/// The targets in which the workload is unhealthy and from which it is not being evicted yet.
fn unhealthy(binding: &Value) -> Vec<&str> {
    let targets = items(binding, "/spec/clusters");
    let leaving = items(binding, "/spec/gracefulEvictionTasks");
    let listed = |list: &[Value], field: &str, cluster: &str| list.iter().any(|entry| text(entry, field) == cluster);
    let aggregated = items(binding, "/status/aggregatedStatus").iter();
    let clusters =
        aggregated.filter(|status| text(status, "/health") == "Unhealthy").map(|status| text(status, "/clusterName"));
    clusters.filter(|cluster| listed(targets, "/name", cluster) && !listed(leaving, "/fromCluster", cluster)).collect()
}

fn task(application: &Value) -> Value {
    let purge = text(application, "/purgeMode");
    let purge = if purge.is_empty() { "Gracefully" } else { purge };
    let mut task = json!({"producer": PRODUCER, "reason": "ApplicationFailure", "purgeMode": purge});
    match purge {
        "Gracefully" | "Graciously" => {
            let grace = int(application, "/gracePeriodSeconds").unwrap_or(GRACE);
            json::set(&mut task, &["gracePeriodSeconds"], json!(grace));
        }
        "Never" => json::set(&mut task, &["suppressDeletion"], json!(true)),
        _ => {}
    }
    task
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{task, unhealthy, watched};

    #[test]
    fn only_a_policy_that_propagates_dependencies_is_followed() {
        let mut binding = json!({"spec": {"propagateDeps": true, "failover": {"application": {}},
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment"}}});
        assert!(watched(&binding));
        binding["spec"]["propagateDeps"] = json!(false);
        assert!(!watched(&binding));
    }

    #[test]
    fn a_cluster_that_is_left_already_is_not_left_again() {
        let status = |cluster: &str, health: &str| json!({"clusterName": cluster, "health": health});
        let binding = json!({"spec": {"clusters": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
            "gracefulEvictionTasks": [{"fromCluster": "b"}]}, "status": {"aggregatedStatus": [
            status("a", "Unhealthy"), status("b", "Unhealthy"), status("c", "Unknown"), status("d", "Unhealthy")]}});
        assert_eq!(unhealthy(&binding), ["a"]);
    }

    #[test]
    fn the_purge_mode_says_how_the_task_ends() {
        assert_eq!(task(&json!({}))["gracePeriodSeconds"], 600);
        assert_eq!(task(&json!({"purgeMode": "Never"}))["suppressDeletion"], true);
        let directly = task(&json!({"purgeMode": "Directly", "gracePeriodSeconds": 5}));
        assert_eq!((directly.get("gracePeriodSeconds"), directly.get("suppressDeletion")), (None, None));
    }
}
