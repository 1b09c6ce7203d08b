//! Deployments and stateful sets: creates and deletes pods, and reports their numbers. Client required.

use std::sync::atomic::Ordering;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::rollout::{Step, hash, ordered, ordinal, step, wanted};
use super::{Member, MemberView, pod, pods};
use crate::clock::rfc3339;
use crate::json::{condition, deleting, int, label, name, text};
use crate::objects::Kind;
use crate::pass::Pass;
use decision::fnv::fnv32;
use decision::names::safe_encode;

/// Most pods that one pass creates for one workload; the next pass continues.
const BATCH: usize = 200;

/// Numbers of pods of a workload.
struct Numbers {
    all: usize,
    updated: usize,
    ready: usize,
}

impl Member {
    /// Creates and deletes pods.
    pub(super) async fn roll_out(&self, seen: &MemberView, _: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for workload in &seen.workloads {
            let pods: Vec<&Value> = seen.pods_of(workload).collect();
            let Step { create, delete } = step(workload, &pods);
            for pod in delete {
                pass.count(&self.objects.delete(&self.kinds.pod, pod).await?);
            }
            for name in self.new_names(workload, &pods, create.min(BATCH)) {
                pass.count(&self.objects.create(&self.kinds.pod, &pods::pod(workload, &name, &hash(workload))).await?);
            }
        }
        Ok(pass)
    }

    fn new_names(&self, workload: &Value, pods: &[&Value], count: usize) -> Vec<String> {
        let base = name(workload);
        if ordered(workload) {
            let taken: Vec<usize> = pods.iter().map(|pod| ordinal(pod)).collect();
            return (0..)
                .filter(|at| !taken.contains(at))
                .take(count)
                .map(|at: usize| format!("{base}-{at}"))
                .collect();
        }
        let hash = hash(workload);
        let suffix = || {
            let birth = self.births.fetch_add(1, Ordering::Relaxed);
            let letters = safe_encode(fnv32(&format!("{}/{base}/{birth}", self.name)));
            letters.chars().chain("bcdfg".chars()).take(5).collect::<String>()
        };
        (0..count).map(|_| format!("{base}-{hash}-{}", suffix())).collect()
    }

    /// Writes the status of the workloads whose numbers changed.
    pub(super) async fn report(&self, seen: &MemberView, now: Timestamp) -> Result<Pass, kube::Error> {
        let mut pass = Pass::default();
        for workload in seen.workloads.iter().filter(|workload| !deleting(workload)) {
            let numbers = count(seen, workload);
            let (kind, status) = self.status(workload, &numbers, now);
            if self.objects.set_status(kind, workload, &status).await? {
                pass.wrote();
            }
        }
        Ok(pass)
    }

    fn status(&self, workload: &Value, numbers: &Numbers, now: Timestamp) -> (&Kind, Value) {
        let generation = int(workload, "/metadata/generation").unwrap_or(1);
        let mut status = json!({"observedGeneration": generation});
        let mut put = |key: &str, value: usize| {
            if value > 0 {
                crate::json::set(&mut status, &[key], json!(value));
            }
        };
        put("updatedReplicas", numbers.updated);
        put("readyReplicas", numbers.ready);
        put("availableReplicas", numbers.ready);
        if ordered(workload) {
            put("currentReplicas", numbers.updated);
            let revision = format!("{}-{}", name(workload), hash(workload));
            crate::json::set(&mut status, &["replicas"], json!(numbers.all));
            crate::json::set(&mut status, &["collisionCount"], json!(0));
            crate::json::set(&mut status, &["currentRevision"], json!(revision));
            crate::json::set(&mut status, &["updateRevision"], json!(revision));
            return (&self.kinds.stateful_set, status);
        }
        put("replicas", numbers.all);
        let wanted = wanted(workload);
        put("unavailableReplicas", wanted.max(numbers.all).saturating_sub(numbers.ready));
        let enough = numbers.ready >= wanted.saturating_sub(wanted / 4);
        let conditions = json!([
            kept(workload, "Available", enough, if enough { AVAILABLE } else { UNAVAILABLE }, now),
            kept(workload, "Progressing", true, PROGRESSING, now),
        ]);
        crate::json::set(&mut status, &["conditions"], conditions);
        (&self.kinds.deployment, status)
    }
}

const AVAILABLE: (&str, &str) = ("MinimumReplicasAvailable", "Deployment has minimum availability.");
const UNAVAILABLE: (&str, &str) = ("MinimumReplicasUnavailable", "Deployment does not have minimum availability.");
const PROGRESSING: (&str, &str) = ("NewReplicaSetAvailable", "The pods of the newest template have been made.");

/// The condition, with the time of its last change.
fn kept(workload: &Value, kind: &str, holds: bool, why: (&str, &str), now: Timestamp) -> Value {
    let status = if holds { "True" } else { "False" };
    let before = condition(workload, "/status/conditions", kind);
    let same = before.filter(|before| text(before, "/status") == status && text(before, "/reason") == why.0);
    same.cloned().unwrap_or_else(|| {
        let now = rfc3339(now);
        json!({"type": kind, "status": status, "reason": why.0, "message": why.1,
            "lastUpdateTime": now, "lastTransitionTime": now})
    })
}

fn count(seen: &MemberView, workload: &Value) -> Numbers {
    let hash = hash(workload);
    let mut numbers = Numbers { all: 0, updated: 0, ready: 0 };
    for pod in seen.pods_of(workload).filter(|pod| !pod::ended(pod)) {
        numbers.all = numbers.all.saturating_add(1);
        numbers.updated = numbers.updated.saturating_add(usize::from(label(pod, "pod-template-hash") == hash));
        numbers.ready = numbers.ready.saturating_add(usize::from(pod::ready(pod)));
    }
    numbers
}
