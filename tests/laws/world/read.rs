//! Reads stored objects into the world.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use fhpa::decision::plan::Note;
use fhpa::decision::quantity::milli;
use fhpa::playground::json::{annotation, at, deleting};
pub use fhpa::playground::json::{int, items, text, truth};
use fhpa::reconcile::federated_hpa::names;
use fhpa::runtime::watch::{MANAGED_BY, OURS};
use jiff::Timestamp;
use serde_json::Value;

use super::{Binding, Bounds, Condition, Desired, Federated, MemberHpa, Name, Place, Sent, Target, Workload};

pub fn label<'a>(object: &'a Value, map: &str, key: &str) -> &'a str {
    let map = object.get("metadata").and_then(|metadata| metadata.get(map));
    map.and_then(|map| map.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object of this kind is a workload that a FederatedHPA could scale.
pub fn target_of(kind: &str, object: &Value) -> Option<Target> {
    let scaled = at(object, "/spec/template").is_some() && !matches!(kind, "ReplicaSet" | "Job" | "DaemonSet");
    scaled.then(|| Target { kind: format!("{} {kind}", text(object, "/apiVersion")), name: Name::of(object) })
}

pub(super) fn workload(object: &Value) -> Workload {
    Workload {
        asked: int(object, "/spec/replicas").unwrap_or(1),
        ready: int(object, "/status/readyReplicas").unwrap_or_default(),
        deleting: deleting(object),
    }
}

fn bounds(spec: Option<&Value>) -> Bounds {
    let bound = |field: &str| spec.and_then(|spec| spec.get(field)).and_then(Value::as_i64);
    Bounds { min: bound("minReplicas").unwrap_or(1), max: bound("maxReplicas").unwrap_or_default() }
}

pub(super) fn member_hpa(object: &Value) -> MemberHpa {
    MemberHpa {
        bounds: bounds(object.get("spec")),
        ours: label(object, "labels", MANAGED_BY) == OURS,
        deleting: deleting(object),
    }
}

pub(super) fn federated(object: &Value, before: Option<Federated>, now: Timestamp) -> Federated {
    let namespace = text(object, "/metadata/namespace");
    let target = |field: &str| text(object, &format!("/spec/scaleTargetRef/{field}")).to_owned();
    let taken = label(object, "annotations", names::WORKLOAD);
    let taken =
        taken.rsplit_once(' ').map(|(kind, name)| Target { kind: kind.to_owned(), name: Name::new(namespace, name) });
    let kind = at(object, "/spec/federatedHPAAssignment/federatedHPAAssignmentType").and_then(Value::as_str);
    let preferences = items(object, "/spec/federatedHPAAssignment/clusterAutoscalingPreference").iter();
    let conditions = items(object, "/status/conditions").iter().map(|condition| Condition {
        kind: text(condition, "/type").to_owned(),
        status: text(condition, "/status").to_owned(),
        reason: text(condition, "/reason").to_owned(),
    });
    let desired = items(object, "/status/clusterHPADesired").iter();
    let given = |one: &Value| {
        let replicas = |field: &str| int(one, field).unwrap_or_default();
        // A min is held while it runs the replicas of others.
        let bounds = bounds(Some(one));
        let min = bounds.min.max(replicas("/replacementMinReplicas")).min(bounds.max.max(bounds.min));
        let (share, helps) = (replicas("/minReplicas"), replicas("/assistReplicas"));
        (text(one, "/clusterName").to_owned(), Desired { share, bounds: Bounds { min, ..bounds }, helps })
    };
    let out = desired.clone().filter(|one| !text(one, "/evictionTime").is_empty());
    let evicted = out.map(|one| text(one, "/clusterName").to_owned()).collect();
    let chooses = ["/spec/clusterAffinity", "/spec/federatedHPAAssignment"].map(|path| at(object, path).cloned());
    let chooses = chooses.map(Option::unwrap_or_default);
    let narrowed =
        before.as_ref().and_then(|before| if before.chooses == chooses { before.narrowed } else { Some(now) });
    let chases = |metric: &Value| text(metric, "/external/target/type") == "Value";
    let mut hpa = Federated {
        chases: items(object, "/spec/metrics").iter().any(chases),
        chooses,
        narrowed,
        uid: text(object, "/metadata/uid").to_owned(),
        bounds: bounds(object.get("spec")),
        thresholds: preferences.filter_map(|one| int(one, "/autoscalingMaxThreshold")).collect(),
        target: Target {
            kind: format!("{} {}", target("apiVersion"), target("kind")),
            name: Name::new(namespace, &target("name")),
        },
        taken,
        centralized: text(object, "/spec/mode") == "Centralized",
        duplicated: kind.filter(|kind| !kind.is_empty()).map(|kind| kind == "Duplicated"),
        scales_to_zero: truth(object, "/spec/scalingToZero"),
        suspends: truth(object, "/spec/suspend"),
        suspended: (truth(object, "/spec/suspend") || serves_nowhere(object)).then_some(now),
        assists: at(object, "/spec/scaleAssist").and_then(Value::as_bool).unwrap_or(true),
        deleting: deleting(object),
        held: items(object, "/metadata/finalizers").iter().any(|name| name == names::FINALIZER),
        desired: desired.map(given).collect(),
        evicted,
        conditions: conditions.collect(),
        current: int(object, "/status/currentReplicas").unwrap_or_default(),
        is_current: int(object, "/status/observedGeneration") == int(object, "/metadata/generation"),
        older: VecDeque::new(),
        copied: None,
    };
    if let Some(before) = before.filter(|before| before.uid == hpa.uid) {
        hpa.copied = if before.copies() && !hpa.copies() { Some(now) } else { before.copied };
        hpa.older = before.older;
        hpa.suspended = hpa.suspended.map(|now| before.suspended.unwrap_or(now));
        // Each cluster has the whole of it: there is no sum that was allowed.
        let duplicated = before.duplicated == Some(true) && hpa.duplicated != Some(true);
        if duplicated || before.bounds.max != hpa.bounds.max {
            hpa.was_allowed(now, if duplicated { i64::MAX } else { before.bounds.max });
        }
    }
    hpa
}

/// Whether it has no cluster to write to: what was written before stays.
fn serves_nowhere(object: &Value) -> bool {
    let mut conditions = items(object, "/status/conditions").iter();
    let nowhere = [Note::NoCandidates.code(), Note::AllLost { candidates: 0 }.code()];
    conditions.any(|condition| text(condition, "/type") == "Assigned" && nowhere.contains(&text(condition, "/reason")))
}

fn digest(value: Option<&Value>) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.map(Value::to_string).hash(&mut hasher);
    hasher.finish()
}

pub(super) fn binding(object: &Value) -> Binding {
    let resource = |field: &str| text(object, &format!("/spec/resource/{field}")).to_owned();
    let entries = items(object, "/spec/clusters").iter();
    let entries = entries.map(|entry| (text(entry, "/name").to_owned(), int(entry, "/replicas").unwrap_or_default()));
    let evicting =
        items(object, "/spec/gracefulEvictionTasks").iter().map(|task| text(task, "/fromCluster").to_owned());
    let told = items(object, "/status/aggregatedStatus").iter();
    let told = told.filter_map(|item| Some((text(item, "/clusterName").to_owned(), int(item, "/status/replicas")?)));
    let purge = text(object, "/spec/failover/cluster/purgeMode");
    let applied: Option<Value> = serde_json::from_str(annotation(object, names::APPLIED_PLACEMENT)).ok();
    Binding {
        target: Target {
            kind: format!("{} {}", resource("apiVersion"), resource("kind")),
            name: Name::new(&resource("namespace"), &resource("name")),
        },
        suspended: truth(object, "/spec/suspension/scheduling"),
        divides: text(object, "/spec/placement/replicaScheduling/replicaSchedulingType") == "Divided",
        divided: None,
        placement: digest(at(object, "/spec/placement")),
        applied: applied.as_ref() == at(object, "/spec/placement"),
        entries: entries.collect(),
        requests: amounts(object, "/spec/replicaRequirements/resourceRequest"),
        told: told.collect(),
        evicting: evicting.collect(),
        purges_at_once: matches!(purge, "Directly" | "Immediately"),
        deleting: deleting(object),
    }
}

/// Thousandths of each resource.
pub(super) fn amounts(object: &Value, path: &str) -> BTreeMap<String, i64> {
    let all = at(object, path).and_then(Value::as_object).into_iter().flatten();
    all.filter_map(|(resource, amount)| Some((resource.clone(), milli(amount.as_str()?)?))).collect()
}

/// The FederatedHPA and the cluster of a Work.
pub fn address(work: &Value) -> Option<(Name, String)> {
    let cluster = text(work, "/metadata/namespace").strip_prefix("karmada-es-")?.to_owned();
    let (namespace, name) = label(work, "annotations", names::OWNER).split_once('/')?;
    Some((Name::new(namespace, name), cluster))
}

/// What a Work of ours sends.
pub fn sent(work: &Value) -> Option<Sent> {
    let (owner, cluster) = address(work)?;
    let spec = at(work, "/spec/workload/manifests/0/spec");
    let ours = label(work, "labels", MANAGED_BY) == OURS;
    let told = items(work, "/status/manifestStatuses").iter().any(|one| one.get("status").is_some());
    ours.then(|| Sent { cluster, owner, bounds: bounds(spec), deleting: deleting(work), told })
}

pub(super) fn place(object: &Value) -> Place {
    let ready = items(object, "/status/conditions").iter().find(|condition| text(condition, "/type") == "Ready");
    let taints = items(object, "/spec/taints").iter().filter(|taint| text(taint, "/effect") == "NoExecute");
    Place {
        free: free(object),
        ready: ready.is_some_and(|ready| text(ready, "/status") == "True"),
        since: ready.and_then(|ready| text(ready, "/lastTransitionTime").parse().ok()),
        deleting: deleting(object),
        labelled: None,
        tainted: taints.filter_map(|taint| text(taint, "/timeAdded").parse().ok()).min(),
    }
}

/// Whether a definition has the fields that only ours has.
pub(super) fn is_ours(definition: &Value) -> bool {
    let own = match text(definition, "/spec/names/plural") {
        "federatedhpas" => "/schema/openAPIV3Schema/properties/spec/properties/mode",
        "cronfederatedhpas" => {
            "/schema/openAPIV3Schema/properties/spec/properties/rules/items/properties/maxDelaySeconds"
        }
        _ => return true,
    };
    items(definition, "/spec/versions").iter().any(|version| version.pointer(own).is_some())
}

/// Thousandths of each resource that a Cluster reports free.
fn free(cluster: &Value) -> BTreeMap<String, i64> {
    let part = |name: &str| amounts(cluster, &format!("/status/resourceSummary/{name}"));
    let (allocated, allocating) = (part("allocated"), part("allocating"));
    let taken = |name: &String| allocated.get(name).unwrap_or(&0) + allocating.get(name).unwrap_or(&0);
    part("allocatable").into_iter().map(|(name, all)| (name.clone(), (all - taken(&name)).max(0))).collect()
}
