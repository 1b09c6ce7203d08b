//! Nodes, and the pods that fit on them. No I/O.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::pod;
use crate::json::{items, name, text};
use decision::quantity::{milli, whole};

/// Requests of a pod, or resources of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// CPU in thousandths.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// Pods.
    pub pods: i64,
}

impl Room {
    /// The remainder without `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_sub(other.cpu),
            memory: self.memory.saturating_sub(other.memory),
            pods: self.pods.saturating_sub(other.pods),
        }
    }

    /// The sum of both.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            cpu: self.cpu.saturating_add(other.cpu),
            memory: self.memory.saturating_add(other.memory),
            pods: self.pods.saturating_add(other.pods),
        }
    }

    /// The resources of a node's or quota's list that count here.
    #[must_use]
    pub fn of(resources: &Value) -> Self {
        Self {
            cpu: milli(text(resources, "/cpu")).unwrap_or_default(),
            memory: whole(text(resources, "/memory")).unwrap_or_default(),
            pods: whole(text(resources, "/pods")).unwrap_or_default(),
        }
    }

    /// The requests of a pod's containers.
    #[must_use]
    pub fn requested(spec: &Value) -> Self {
        let none = Self { pods: 1, ..Self::default() };
        items(spec, "/containers").iter().fold(none, |sum, container| {
            let requests = container.pointer("/resources/requests").unwrap_or(&Value::Null);
            sum.with(Self { pods: 0, ..Self::of(requests) })
        })
    }
}

/// A node of the playground.
#[must_use]
pub fn node(name: &str, cpu: u32, memory: &str, now: &str) -> Value {
    let resources = json!({"cpu": cpu.to_string(), "memory": memory, "pods": "110", "ephemeral-storage": "100Gi"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}},
        "spec": {},
        "status": {
            "capacity": resources, "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                "message": "kubelet is posting ready status", "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "nodeInfo": {"kubeletVersion": "v1.36.2", "osImage": "playground", "architecture": "amd64",
                "operatingSystem": "linux", "containerRuntimeVersion": "playground://1", "kernelVersion": "",
                "machineID": "", "systemUUID": "", "bootID": "", "kubeProxyVersion": "v1.36.2"},
        },
    })
}

/// Whether the node runs pods.
#[must_use]
pub fn ready(node: &Value) -> bool {
    let ready = crate::json::condition(node, "/status/conditions", "Ready");
    ready.is_some_and(|condition| text(condition, "/status") == "True")
}

/// The free resources of each node that accepts pods.
#[must_use]
pub fn free(nodes: &[Arc<Value>], all: &[Arc<Value>]) -> BTreeMap<String, Room> {
    let open = nodes.iter().filter(|node| ready(node) && !crate::json::truth(node, "/spec/unschedulable"));
    let mut free: BTreeMap<String, Room> = open
        .map(|node| (name(node).to_owned(), Room::of(node.pointer("/status/allocatable").unwrap_or(&Value::Null))))
        .collect();
    for pod in all.iter().filter(|pod| !pod::ended(pod)) {
        if let Some(room) = free.get_mut(text(pod, "/spec/nodeName")) {
            *room = room.without(Room::requested(pod.pointer("/spec").unwrap_or(&Value::Null)));
        }
    }
    free
}

/// Reserves the resources for a pod on the node with the most free ones.
///
/// # Errors
/// The message of kube-scheduler when it fits on none.
pub fn choose(free: &mut BTreeMap<String, Room>, need: Room) -> Result<String, String> {
    let lacks = |room: &Room| (room.cpu < need.cpu, room.memory < need.memory, room.pods < need.pods);
    let fitting = free.iter_mut().filter(|(_, room)| lacks(room) == (false, false, false));
    // The first of equals: `max_by_key` would return the last.
    let best = fitting.rev().max_by_key(|(_, room)| (room.cpu, room.memory));
    if let Some((name, room)) = best {
        *room = room.without(need);
        return Ok(name.clone());
    }
    let count = |lack: fn((bool, bool, bool)) -> bool| free.values().filter(|room| lack(lacks(room))).count();
    let reasons = [
        (count(|l| l.0), "Insufficient cpu"),
        (count(|l| l.1), "Insufficient memory"),
        (count(|l| l.2), "Too many pods"),
    ];
    let reasons: Vec<String> =
        reasons.iter().filter(|(nodes, _)| *nodes > 0).map(|(nodes, reason)| format!("{nodes} {reason}")).collect();
    let reasons =
        if reasons.is_empty() { "no nodes available to schedule pods".to_owned() } else { reasons.join(", ") };
    Err(format!("0/{} nodes are available: {reasons}.", free.len()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{Room, choose};

    #[test]
    fn pods_spread_over_the_nodes_until_none_has_room() {
        let room = Room { cpu: 2000, memory: 1 << 30, pods: 110 };
        let mut free = BTreeMap::from([("a".to_owned(), room), ("b".to_owned(), room)]);
        let need = Room { cpu: 1000, memory: 1 << 20, pods: 1 };
        let chosen: Vec<_> = (0..4).map(|_| choose(&mut free, need).unwrap()).collect();
        assert_eq!(chosen, ["a", "b", "a", "b"]);
        assert_eq!(choose(&mut free, need).unwrap_err(), "0/2 nodes are available: 2 Insufficient cpu.");
        let all = Room { cpu: 0, memory: 2 << 30, pods: 1 };
        assert_eq!(choose(&mut free, all).unwrap_err(), "0/2 nodes are available: 2 Insufficient memory.");
    }
}
