//! The Events of a cluster-autoscaler about pods that find no node. It adds no nodes itself. Client required.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::pod::{ended, unschedulable};
use super::{Member, MemberView};
use crate::clock::rfc3339;
use crate::json::{name, namespace, text};
use crate::pass::Pass;

/// What a cluster-autoscaler says of pods that find no node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeAutoscaler {
    /// Nothing: there is none.
    #[default]
    Absent,
    /// Its node groups are at their limit.
    AtLimit,
    /// It adds a node.
    Grows,
}

impl NodeAutoscaler {
    /// Reason and message of its Event.
    const fn answer(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Absent => None,
            Self::AtLimit => Some(("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")),
            Self::Grows => Some(("TriggeredScaleUp", "pod triggered scale-up: [{nodes 1->2 (max: 3)}]")),
        }
    }
}

impl Member {
    /// Autoscaler of nodes: one Event for each pod without a node, and for each thing that it says of it.
    pub(super) async fn judge_pods(&self, seen: &MemberView, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let Some((reason, message)) = self.node_autoscaler().answer() else { return Ok(pass) };
        for pod in seen.pods.iter().filter(|pod| unschedulable(pod) && !ended(pod)) {
            let event = event(pod, reason, message, now);
            if self.objects.get(&self.kinds.event, namespace(pod), name(&event)).await?.is_none() {
                pass.count(&self.objects.create(&self.kinds.event, &event).await?);
            }
        }
        Ok(pass)
    }
}

/// An Event of the cluster-autoscaler about a pod, with the shape that Kubernetes' own recorder gives it.
#[must_use]
pub fn event(pod: &Value, reason: &str, message: &str, now: Timestamp) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": reason, "message": message, "count": 1,
        "metadata": {"name": format!("{}.{}", name(pod), reason.to_lowercase()), "namespace": namespace(pod)},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": name(pod), "namespace": namespace(pod),
            "uid": text(pod, "/metadata/uid")},
        "source": {"component": "cluster-autoscaler"}, "reportingComponent": "cluster-autoscaler",
        "firstTimestamp": rfc3339(now), "lastTimestamp": rfc3339(now),
    })
}
