//! Objects of a shop with statuses as the controller writes them. Times are as long ago as they say, at any time.

use fhpa::runtime::clock;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

pub fn ago(minutes: i64) -> String {
    from_now(-minutes).to_string()
}

fn from_now(minutes: i64) -> Timestamp {
    let second = clock::wall().as_second();
    Timestamp::from_second(second).unwrap() + SignedDuration::from_mins(minutes)
}

/// A schedule with one run a year, in so many minutes.
fn schedule(minutes: i64) -> String {
    from_now(minutes).to_zoned(TimeZone::UTC).strftime("%-M %-H %-d %-m *").to_string()
}

/// The path of an object of fhpa or Karmada.
pub fn path(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (version, plural, name) = (text("/apiVersion"), text("/kind").to_lowercase() + "s", text("/metadata/name"));
    match text("/metadata/namespace") {
        "" => format!("/apis/{version}/{plural}/{name}"),
        namespace => format!("/apis/{version}/namespaces/{namespace}/{plural}/{name}"),
    }
}

pub fn condition(type_: &str, status: &str, reason: &str, message: &str, minutes: i64) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(minutes)})
}

/// A FederatedHPA of a Deployment of its name.
pub fn hpa(name: &str, spec: Value, status: Value) -> Value {
    let mut object = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": name, "namespace": "shop"}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "mode": "Distributed", "minReplicas": 3, "maxReplicas": 14,
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 60}}}]}});
    merge(&mut object["spec"], spec);
    object["status"] = status;
    object
}

fn merge(into: &mut Value, members: Value) {
    let Value::Object(members) = members else { return };
    for (name, value) in members {
        into[name] = value;
    }
}

/// What the HPA of a member reports.
pub fn member(name: &str, current: i32, desired: i32, cpu: i32) -> Value {
    json!({"clusterName": name, "status": {"currentReplicas": current, "desiredReplicas": desired,
        "currentMetrics": [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": cpu}}}],
        "conditions": [condition("AbleToScale", "True", "SucceededGetScale", "", 4000),
            condition("ScalingActive", "True", "ValidMetricFound", "", 4000)]}})
}

pub fn cluster(name: &str, ready: &str) -> Value {
    json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster", "metadata": {"name": name},
        "spec": {"syncMode": "Push"}, "status": {"conditions": [{"type": "Ready", "status": ready,
            "reason": "R", "message": "", "lastTransitionTime": ago(700)}]}})
}

/// The binding of a Deployment, with existing and ready replicas of each cluster.
pub fn binding(workload: &str, clusters: &[(&str, i32, i32)]) -> Value {
    let entry = |(name, replicas, _): &(&str, i32, i32)| json!({"name": name, "replicas": replicas});
    let report = |(name, replicas, ready): &(&str, i32, i32)| json!({"clusterName": name, "status": {"replicas": replicas, "readyReplicas": ready}});
    json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": format!("{workload}-deployment"), "namespace": "shop"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "shop", "name": workload},
            "clusters": clusters.iter().map(entry).collect::<Vec<_>>()},
        "status": {"aggregatedStatus": clusters.iter().map(report).collect::<Vec<_>>()}})
}

pub fn event(name: &str, reason: &str, note: &str, minutes: i64) -> Value {
    let time = from_now(-minutes).strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": name, "namespace": "shop"},
        "type": "Normal", "reason": reason, "note": note, "action": "Assign", "eventTime": time,
        "reportingController": "fhpa.karmada.io/controller", "reportingInstance": "a",
        "regarding": {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "namespace": "shop",
            "name": "web"}})
}

/// A CronFederatedHPA that moves the bounds of the FederatedHPA `web`.
pub fn hours() -> Value {
    let run = json!({"scheduleTime": ago(550), "executionTime": ago(550), "appliedMinReplicas": 3});
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "hours", "namespace": "shop"}, "spec": {
            "scaleTargetRef": {"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "name": "web"},
            "rules": [
                {"name": "evening", "schedule": schedule(1470), "timeZone": "UTC", "targetMinReplicas": 3},
                {"name": "morning", "schedule": schedule(870), "timeZone": "UTC", "targetMinReplicas": 6, "targetMaxReplicas": 20},
                {"name": "sale", "schedule": schedule(90), "timeZone": "UTC", "targetMaxReplicas": 40, "suspend": true}]},
        "status": {"observedGeneration": 1,
            "executionHistories": [{"ruleName": "evening", "successfulExecutions": [run]}],
            "conditions": [condition("Ready", "True", "RulesReady", "", 8000)]}})
}

/// `web` with three clusters, `api` at its max, and what belongs to them.
pub fn shop() -> Vec<Value> {
    let share = |name: &str, min: i32, max: i32, reason: &str| json!({"clusterName": name, "minReplicas": min, "maxReplicas": max, "reason": reason});
    let mut blocked = share("member2", 1, 4, "ScaleUpBlocked");
    merge(
        &mut blocked,
        json!({"scaleUpBlockedReason": "Unschedulable", "scaleUpBlockedTime": ago(24), "coveredReplicas": 2}),
    );
    let mut helps = share("member3", 1, 6, "HeadroomReceived");
    helps["lastReceivedTime"] = ago(24).into();
    let web = json!({"observedGeneration": 1, "currentReplicas": 10, "desiredReplicas": 10, "lastScaleTime": ago(25),
        "conditions": [
            condition("Assigned", "False", "WaitingForMembers",
                "setting member3 to 1..6 (raised from 1..5; waits for lower bounds elsewhere to be confirmed)", 24),
            condition("Ready", "True", "MemberHPAsReady", "each member cluster has its HPA as it was written", 3630),
            condition("ScalingActive", "True", "ValidMetricFound", "", 3630),
            condition("ScalingLimited", "True", "TooManyReplicas",
                "in member2: the desired replica count is more than the maximum replica count", 24)],
        "clusters": {"total": 3, "ready": 3, "limited": 1, "unknown": 0, "scaledToZero": 0},
        "clusterHPADesired": [share("member1", 1, 4, "StaticWeighted"), blocked, helps],
        "aggregatedStatus": [member("member1", 2, 2, 42), member("member2", 4, 4, 90), member("member3", 4, 4, 58)]});
    let full = json!({"observedGeneration": 1, "currentReplicas": 8, "desiredReplicas": 8, "conditions": [
        condition("Ready", "False", "UpstreamControllersRunning",
            "karmada-controller-manager writes this object too", 700)]});
    let reports = [("member1", 2, 2), ("member2", 4, 2), ("member3", 4, 4)];
    vec![
        hpa("web", json!({}), web),
        hpa("api", json!({"mode": "Centralized", "minReplicas": 2, "maxReplicas": 8}), full),
        hours(),
        binding("web", &reports),
        cluster("member1", "True"),
        cluster("member2", "True"),
        cluster("member3", "True"),
        event("a", "Assigned", "member1 1..4, member2 1..5, member3 1..5", 3630),
        event("b", "ScaleUpBlocked", "member2 cannot scale: its pods are unschedulable", 24),
        event("c", "Reassigned", "member2 1..4, member3 1..6: unused max was moved", 23),
        event("d", "Reassigned", "member2 1..4, member3 1..6: unused max was moved", 22),
    ]
}

/// The text of an object, without times, which differ from run to run.
pub fn timeless(mut value: Value) -> String {
    times(&mut value);
    serde_json::to_string_pretty(&value).unwrap()
}

fn times(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let is_time = ["since", "time", "lastScaleTime"].contains(&&**name) && value.is_string();
                if is_time { *value = "<time>".into() } else { times(value) }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(times),
        _ => {}
    }
}
