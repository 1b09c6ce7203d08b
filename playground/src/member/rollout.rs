//! Which pods a workload must create and which it must delete. No I/O.

use serde_json::Value;

use super::pod;
use crate::json::{count, deleting, label, name, text};
use decision::fnv::fnv32;
use decision::names::safe_encode;

/// Changes to the pods of one workload.
#[derive(Debug, Default, PartialEq)]
pub struct Step<'a> {
    /// Number of pods to create. For a stateful set, from its lowest missing ordinal.
    pub create: usize,
    /// Pods to delete.
    pub delete: Vec<&'a Value>,
}

/// Hash of the workload's pod template.
#[must_use]
pub fn hash(workload: &Value) -> String {
    safe_encode(fnv32(&workload.pointer("/spec/template").map(ToString::to_string).unwrap_or_default()))
}

/// Desired replicas of the workload.
#[must_use]
pub fn wanted(workload: &Value) -> usize {
    usize::try_from(count(workload, "/spec/replicas").unwrap_or(1)).unwrap_or_default()
}

/// Whether the workload is a stateful set.
#[must_use]
pub fn ordered(workload: &Value) -> bool {
    text(workload, "/kind") == "StatefulSet"
}

/// Ordinal of a stateful set's pod.
#[must_use]
pub fn ordinal(pod: &Value) -> usize {
    name(pod).rsplit('-').next().and_then(|tail| tail.parse().ok()).unwrap_or(usize::MAX)
}

/// Deletion order: no node, not ready, youngest; of a stateful set the highest ordinal.
fn worth(workload: &Value, pod: &Value) -> (usize, bool, bool, std::cmp::Reverse<String>) {
    let order = if ordered(workload) { usize::MAX - ordinal(pod) } else { 0 };
    let age = format!("{}/{}", text(pod, "/metadata/creationTimestamp"), name(pod));
    (order, !text(pod, "/spec/nodeName").is_empty(), pod::ready(pod), std::cmp::Reverse(age))
}

/// The next step from the existing pods towards the desired ones. A changed template is rolled out to a quarter of the
/// replicas at a time, for stateful sets to one.
#[must_use]
pub fn step<'a>(workload: &Value, all: &[&'a Value]) -> Step<'a> {
    let wanted = if deleting(workload) { 0 } else { wanted(workload) };
    let hash = hash(workload);
    let alive = all.iter().copied().filter(|pod| !pod::ended(pod));
    let (mut new, mut old): (Vec<&Value>, Vec<&Value>) = alive.partition(|pod| label(pod, "pod-template-hash") == hash);
    new.sort_by_key(|pod| worth(workload, pod));
    old.sort_by_key(|pod| worth(workload, pod));
    let excess = new.len().saturating_sub(wanted);
    let mut delete: Vec<&Value> = new.drain(..excess).collect();
    if old.is_empty() {
        return Step { create: wanted.saturating_sub(new.len()), delete };
    }
    let (surge, spare) = if ordered(workload) { (0, 1) } else { (wanted.div_ceil(4).max(1), wanted / 4) };
    let ready = new.iter().chain(&old).filter(|pod| pod::ready(pod)).count();
    let mut may_go = ready.saturating_sub(wanted.saturating_sub(spare));
    for pod in &old {
        if !pod::ready(pod) {
            delete.push(pod);
        } else if may_go > 0 {
            may_go -= 1;
            delete.push(pod);
        }
    }
    let staying = old.len().saturating_sub(delete.len().saturating_sub(excess));
    let room = wanted.saturating_add(surge).saturating_sub(new.len().saturating_add(staying));
    Step { create: room.min(wanted.saturating_sub(new.len())), delete }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{hash, step};
    use crate::json::name;

    fn deployment(replicas: usize) -> Value {
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": replicas, "template": {"v": 1}}})
    }

    fn pod(name: &str, hash: &str, ready: bool) -> Value {
        let status = if ready { "True" } else { "False" };
        json!({"metadata": {"name": name, "labels": {"pod-template-hash": hash}}, "spec": {"nodeName": "n"},
            "status": {"conditions": [{"type": "Ready", "status": status}]}})
    }

    #[test]
    fn pods_that_are_not_ready_go_first() {
        let workload = deployment(1);
        let hash = hash(&workload);
        let (ready, starting) = (pod("a", &hash, true), pod("b", &hash, false));
        let step = step(&workload, &[&ready, &starting]);
        assert_eq!((step.create, step.delete.iter().map(|pod| name(pod)).collect::<Vec<_>>()), (0, vec!["b"]));
    }

    #[test]
    fn a_new_template_replaces_a_quarter_at_a_time() {
        let workload = deployment(4);
        let pods: Vec<Value> = ["a", "b", "c", "d"].iter().map(|name| pod(name, "old", true)).collect();
        let all: Vec<&Value> = pods.iter().collect();
        let step = step(&workload, &all);
        assert_eq!((step.create, step.delete.len()), (2, 1));
    }

    #[test]
    fn nothing_is_done_when_all_is_there() {
        let workload = deployment(2);
        let hash = hash(&workload);
        let (a, b) = (pod("a", &hash, true), pod("b", &hash, true));
        assert_eq!(step(&workload, &[&a, &b]), super::Step::default());
    }
}
