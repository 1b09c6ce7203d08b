//! Pods: created, bound to nodes, started, ready. The decisions need no I/O; the passes need the client.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::nodes::{Room, choose, free};
use super::pod::{ended, ready};
use super::{Member, MemberView};
use crate::clock::{after, parse, rfc3339};
use crate::json::{condition, deleting, int, items, name, namespace, text};
use crate::pass::Pass;

/// A new pod of `workload`.
#[must_use]
pub fn pod(workload: &Value, name: &str, hash: &str) -> Value {
    let template = workload.pointer("/spec/template").unwrap_or(&Value::Null);
    let mut labels = template.pointer("/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    crate::json::set(&mut labels, &["pod-template-hash"], json!(hash));
    let kind = text(workload, "/kind");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": name, "namespace": namespace(workload), "labels": labels,
            "annotations": template.pointer("/metadata/annotations").cloned().unwrap_or_else(|| json!({})),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": kind, "name": self::name(workload),
                "uid": text(workload, "/metadata/uid"), "controller": true, "blockOwnerDeletion": true}],
        },
        "spec": template.pointer("/spec").cloned().unwrap_or_else(|| json!({})),
        "status": {"phase": "Pending"},
    })
}

fn scheduled_false(message: &str, now: &str) -> Value {
    json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": message, "lastProbeTime": null, "lastTransitionTime": now}]})
}

/// Status of a pod on a node since `started`, ready or not yet.
fn running(pod: &Value, started: &str, ready_since: Option<&str>, number: u32) -> Value {
    let ready = ready_since.is_some();
    let since = ready_since.unwrap_or(started);
    let (status, reason) = if ready { ("True", Value::Null) } else { ("False", json!("ContainersNotReady")) };
    let containers: Vec<Value> = items(pod, "/spec/containers")
        .iter()
        .map(|container| {
            json!({"name": text(container, "/name"), "image": text(container, "/image"), "imageID": "", "ready": ready,
                "started": true, "restartCount": 0, "state": {"running": {"startedAt": started}}})
        })
        .collect();
    let [high, low] = u16::try_from(number % 65_025).unwrap_or_default().to_be_bytes();
    json!({
        "phase": "Running", "startTime": started, "podIP": format!("10.1.{high}.{low}"), "containerStatuses": containers,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": started},
            {"type": "Initialized", "status": "True", "lastTransitionTime": started},
            {"type": "ContainersReady", "status": status, "reason": reason, "lastTransitionTime": since},
            {"type": "Ready", "status": status, "reason": reason, "lastTransitionTime": since},
        ],
    })
}

/// When a pod that is being deleted is gone. Its `deletionTimestamp` is the end of its grace period.
fn stopped(pod: &Value, delay: SignedDuration, now: Timestamp) -> Timestamp {
    let grace = SignedDuration::from_secs(int(pod, "/metadata/deletionGracePeriodSeconds").unwrap_or_default());
    let end = parse(text(pod, "/metadata/deletionTimestamp")).unwrap_or(now);
    after(end, delay.min(grace).saturating_sub(grace))
}

impl Member {
    /// Scheduler: pods without a node get one, or the condition with the reason.
    pub(super) async fn bind(&self, seen: &MemberView, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        let mut free = free(&seen.nodes, &seen.pods);
        let mut waiting: Vec<&Value> = seen
            .pods
            .iter()
            .map(AsRef::as_ref)
            .filter(|pod| text(pod, "/spec/nodeName").is_empty() && !ended(pod))
            .collect();
        waiting.sort_by_key(|pod| (text(pod, "/metadata/creationTimestamp"), namespace(pod), name(pod)));
        for pod in waiting {
            let need = Room::requested(pod.pointer("/spec").unwrap_or(&Value::Null));
            match choose(&mut free, need) {
                Ok(node) => {
                    let bound = json!({"spec": {"nodeName": node}});
                    pass.count(&self.objects.merge(&self.kinds.pod, pod, "", &bound).await?);
                }
                Err(message) => {
                    let known = condition(pod, "/status/conditions", "PodScheduled");
                    if known.is_none_or(|known| text(known, "/message") != message) {
                        let since = known.map_or("", |known| text(known, "/lastTransitionTime"));
                        let since = if since.is_empty() { rfc3339(now) } else { since.to_owned() };
                        let status = json!({"status": scheduled_false(&message, &since)});
                        pass.count(&self.objects.merge(&self.kinds.pod, pod, "status", &status).await?);
                    }
                }
            }
        }
        Ok(pass)
    }

    /// Kubelet: pods on a node start at once and are ready after the delay; deleted ones are removed after theirs.
    pub(super) async fn run(&self, seen: &MemberView, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for pod in seen.pods.iter().filter(|pod| deleting(pod)) {
            let gone = stopped(pod, self.timing.stop_delay, now);
            if gone > now {
                pass.look_at(gone);
            } else {
                pass.count(&self.objects.force_delete(&self.kinds.pod, pod).await?);
            }
        }
        let delay = self.timing.ready_delay;
        let bound = seen.pods.iter().filter(|pod| !text(pod, "/spec/nodeName").is_empty() && !ended(pod));
        for pod in bound.filter(|pod| !ready(pod)) {
            let started = parse(text(pod, "/status/startTime"));
            let held = self.holds_pods();
            if held && started.is_some() {
                continue;
            }
            let ready_at = after(started.unwrap_or(now), delay);
            if ready_at > now {
                pass.look_at(ready_at);
                if started.is_some() {
                    continue;
                }
            }
            let since = rfc3339(ready_at);
            let begun = rfc3339(started.unwrap_or(now));
            let number = decision::fnv::fnv32(text(pod, "/metadata/uid"));
            let status = running(pod, &begun, (ready_at <= now && !held).then_some(&since), number);
            pass.count(&self.objects.merge(&self.kinds.pod, pod, "status", &json!({"status": status})).await?);
        }
        Ok(pass)
    }
}
