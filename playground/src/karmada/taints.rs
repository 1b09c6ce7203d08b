//! Taints of failed clusters, and the evictions that they cause. Client required.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::binding::without_zeros;
use super::clusters::ready;
use super::placement::{taint, tolerations};
use super::scheduler::APPLIED_PLACEMENT;
use super::{Karmada, eviction};
use crate::clock::rfc3339;
use crate::json::{annotation, deleting, items, name, text};
use crate::pass::Pass;
use decision::fleet::taint::{NO_EXECUTE, NO_SCHEDULE, NOT_READY, Tolerated, tolerated};

impl Karmada {
    /// Taints failed clusters, evicts bindings that do not tolerate it, and ends evictions.
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
        for binding in self.objects.all(&self.kinds.binding, "").await? {
            if deleting(&binding) {
                continue;
            }
            let mut after = Value::clone(&binding);
            for cluster in clusters.iter().filter(|_| self.timing.failover) {
                leave_cluster(&mut after, cluster, now, &mut pass);
            }
            if after == *binding {
                eviction::end(&mut after, self.timing.eviction_timeout, now, &mut pass);
            }
            if after != *binding {
                pass.count(&self.objects.replace(&self.kinds.binding, &without_zeros(&after)).await?);
            }
        }
        Ok(pass)
    }

    /// The desired taints of the cluster, when these differ from the current ones.
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
}

/// Moves the cluster from the result to the evictions when it has a taint that is no longer tolerated.
fn leave_cluster(binding: &mut Value, cluster: &Value, now: Timestamp, pass: &mut Pass) {
    let targets = items(binding, "/spec/clusters");
    if !targets.iter().any(|target| text(target, "/name") == name(cluster)) {
        return;
    }
    let Ok(applied) = serde_json::from_str::<Value>(annotation(binding, APPLIED_PLACEMENT)) else { return };
    let tolerations = tolerations(&applied);
    let taints = items(cluster, "/spec/taints").iter().map(taint).filter(|taint| taint.effect == NO_EXECUTE);
    let Some(Tolerated::Until(end)) = taints.map(|taint| tolerated(&taint, &tolerations, now)).min() else { return };
    if end > now {
        pass.look_at(end);
        return;
    }
    let purge = text(binding, "/spec/failover/cluster/purgeMode");
    let purge = if purge.is_empty() { "Gracefully" } else { purge };
    let task = json!({"producer": "TaintManager", "reason": "TaintUntolerated", "purgeMode": purge});
    eviction::evict(binding, name(cluster), &task);
}

#[cfg(test)]
mod tests {
    use super::super::condition;

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
