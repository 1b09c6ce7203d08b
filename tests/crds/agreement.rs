//! All judges of an object have one verdict: the CRD (schema and CEL), the rules of the webhook, a real API server.
//!
//! A case is a valid object with some changed members, and the path that must be rejected. The webhook may report a
//! path below (`spec.rules[1].targetReplicas` where CEL can only report `spec.rules`), never another one.

use fhpa::admission::endpoint::Endpoint;
use fhpa::admission::verdict::Denial;
use fhpa::decision::limits;
use serde_json::{Value, json};

use super::bases::{
    centralized, federated_hpa, labels, many, named, of_federated_hpa, of_workload, preferences, shares, text, with,
};
use super::evaluator::evaluator;
use crate::rules::world::create;

/// A good object with changes.
pub struct Case {
    pub object: Value,
    /// Where it is refused; `None`: it is good.
    pub refused_at: Option<&'static str>,
}

/// Good objects that are easily refused.
fn good() -> Vec<Value> {
    let (hpa, cron, cron_of_hpa) = (federated_hpa, of_workload, of_federated_hpa);
    vec![
        hpa(),
        cron(),
        cron_of_hpa(),
        with(
            hpa(),
            &[("/spec/minReplicas", Value::Null), ("/spec/metrics", json!([])), ("/spec/behavior", Value::Null)],
        ),
        with(hpa(), &[("/spec/minReplicas", json!(10))]),
        with(
            hpa(),
            &[
                ("/spec/minReplicas", json!(0)),
                (
                    "/spec/metrics",
                    json!([{"type": "External", "external": {"metric": {"name": "queue"},
                        "target": {"type": "AverageValue", "averageValue": "5"}}}]),
                ),
            ],
        ),
        with(hpa(), &[("/spec/metrics/2/pods/target/averageValue", json!("100m"))]),
        // Autoscalers do not read these types.
        with(hpa(), &[("/spec/metrics/2/pods/target", json!({"type": "Value", "averageValue": "700m", "value": "1"}))]),
        with(hpa(), &[("/spec/metrics/0/resource/target", json!({"type": "Value", "averageUtilization": 80}))]),
        with(hpa(), &[("/spec/metrics/0/resource/target", json!({"type": "Utilization", "averageValue": "1"}))]),
        with(hpa(), &[("/spec/metrics/2/pods/target/averageValue", json!("+0.5"))]),
        with(hpa(), &[("/spec/metrics/2/pods/target/averageValue", json!("2e3"))]),
        with(
            hpa(),
            &[("/spec/metrics/3/object/target", json!({"type": "AverageValue", "averageValue": "3", "value": "4"}))],
        ),
        with(hpa(), &[("/spec/metrics/3/object/describedObject/apiVersion", Value::Null)]),
        with(hpa(), &[("/spec/metrics/1/containerResource/name", json!("hugepages-2Mi"))]),
        with(hpa(), &[("/spec/metrics/1/containerResource/name", json!("example.com/gpu"))]),
        with(hpa(), &[("/spec/behavior/scaleDown/tolerance", json!("-0.00"))]),
        with(hpa(), &[("/spec/behavior/scaleDown/tolerance", json!(0))]),
        with(hpa(), &[("/spec/behavior/scaleDown/stabilizationWindowSeconds", json!(3600))]),
        with(hpa(), &[("/spec/scalingToZero", json!(true)), ("/spec/scaleAssist", json!(false))]),
        with(hpa(), &[("/spec/federatedHPAAssignment/federatedHPAAssignmentType", Value::Null)]),
        with(hpa(), &[("/spec/federatedHPAAssignment", json!({}))]),
        with(
            hpa(),
            &[
                ("/spec/scaleTargetRef/apiVersion", json!("v1")),
                ("/spec/scaleTargetRef/kind", json!("ReplicationController")),
            ],
        ),
        // As much as there may be.
        with(
            hpa(),
            &[(
                "/spec/clusterAffinity",
                json!({"clusterNames": many(limits::CLUSTERS), "exclude": [text(limits::CLUSTER_NAME)]}),
            )],
        ),
        with(
            hpa(),
            &[(
                "/spec/federatedHPAAssignment/clusterAutoscalingPreference/0",
                json!({
            "targetCluster": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "NotIn", "values": [text(limits::LABEL_VALUE)]}]}},
            "staticWeight": limits::WEIGHTS.end(), "priority": limits::PRIORITIES.start(),
            "autoscalingMaxThreshold": limits::THRESHOLDS.end()}),
            )],
        ),
        with(hpa(), &[("/spec/autoscaleMultiClusterDelay", json!(limits::DELAYS.end()))]),
        with(
            hpa(),
            &[
                ("/spec/mode", json!("Centralized")),
                ("/spec/federatedHPAAssignment", Value::Null),
                ("/spec/clusterAffinity", json!({"clusterNames": [], "exclude": []})),
                ("/spec/autoscaleMultiClusterDelay", json!(0)),
                ("/spec/minCoveredLosses", json!(0)),
                ("/spec/clusterHPAPreference", json!([])),
            ],
        ),
        with(hpa(), &[("/spec/metrics", vec![hpa()["spec"]["metrics"][0].clone(); limits::METRICS].into())]),
        with(cron(), &[("/spec/rules", named(limits::RULES))]),
        with(cron(), &[("/spec/rules/0/schedule", json!(format!("0 6 * * {}1", "1,".repeat(123))))]),
        // Ignored by Karmada: worth a warning, not a refusal.
        with(cron(), &[("/spec/rules/0/targetMinReplicas", json!(-3))]),
        with(cron_of_hpa(), &[("/spec/rules/0/targetReplicas", json!(-3))]),
        with(
            cron(),
            &[
                ("/spec/scaleTargetRef/apiVersion", json!("example.com/v1")),
                ("/spec/scaleTargetRef/kind", json!("FederatedHPA")),
            ],
        ),
    ]
}

type Bad = (fn() -> Value, &'static [(&'static str, fn() -> Value)], &'static str);

macro_rules! bad {
    ($($base:ident { $($pointer:literal: $value:tt),+ } $at:literal)*) => {
        &[$(($base, &[$(($pointer, || json!($value))),+], $at)),*]
    };
}

/// Bad objects: the base, what is changed in it, where it is refused.
const BAD: &[Bad] = bad! {
    federated_hpa {"/spec/maxReplicas": 1} "spec.maxReplicas"
    federated_hpa {"/spec/maxReplicas": 0, "/spec/minReplicas": null} "spec.maxReplicas"
    federated_hpa {"/spec/minReplicas": 0, "/spec/metrics": []} "spec.minReplicas"
    federated_hpa {"/spec/minReplicas": (-1)} "spec.minReplicas"
    federated_hpa {"/spec/scaleTargetRef/apiVersion": null} "spec.scaleTargetRef.apiVersion"
    federated_hpa {"/spec/scaleTargetRef/apiVersion": ""} "spec.scaleTargetRef.apiVersion"
    federated_hpa {"/spec/scaleTargetRef/apiVersion": "a/b/c"} "spec.scaleTargetRef.apiVersion"
    federated_hpa {"/spec/scaleTargetRef/apiVersion": "apps/"} "spec.scaleTargetRef.apiVersion"
    federated_hpa {"/spec/scaleTargetRef/kind": ""} "spec.scaleTargetRef.kind"
    federated_hpa {"/spec/scaleTargetRef/kind": "a/b"} "spec.scaleTargetRef.kind"
    federated_hpa {"/spec/scaleTargetRef/name": "50%"} "spec.scaleTargetRef.name"
    federated_hpa {"/spec/scaleTargetRef/name": ".."} "spec.scaleTargetRef.name"
    federated_hpa {"/spec/scaleTargetRef/name": (text(513))} "spec.scaleTargetRef.name"
    federated_hpa {"/spec/metrics/3/object/describedObject/apiVersion": (text(513))} "spec.metrics[3].object.describedObject.apiVersion"
    federated_hpa {"/spec/metrics/2/pods/metric/name": (text(513))} "spec.metrics[2].pods.metric.name"
    federated_hpa {"/spec/metrics/2/pods/metric/selector": {"matchExpressions": [{"operator": "Exists"}]}} "spec.metrics[2].pods.metric.selector.matchExpressions[0]"
    federated_hpa {"/spec/metrics/2/pods/metric/selector": {"matchExpressions": [{"key": "a"}]}} "spec.metrics[2].pods.metric.selector.matchExpressions[0]"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/targetCluster": null} "spec.federatedHPAAssignment.clusterAutoscalingPreference[0]"
    federated_hpa {"/spec/metrics/0/type": "Cpu"} "spec.metrics[0].type"
    federated_hpa {"/spec/metrics/0/resource": null} "spec.metrics[0].resource"
    federated_hpa {"/spec/metrics/0/pods": {"metric": {"name": "a"}, "target": {"type": "AverageValue", "averageValue": "1"}}} "spec.metrics[0].pods"
    federated_hpa {"/spec/metrics/0/external": {"metric": {"name": "a"}, "target": {"type": "Value", "value": "1"}}} "spec.metrics[0].external"
    federated_hpa {"/spec/metrics/0/resource/name": ""} "spec.metrics[0].resource.name"
    federated_hpa {"/spec/metrics/0/resource/target/averageUtilization": 0} "spec.metrics[0].resource.target.averageUtilization"
    federated_hpa {"/spec/metrics/0/resource/target/averageUtilization": null} "spec.metrics[0].resource.target"
    federated_hpa {"/spec/metrics/0/resource/target/averageValue": "1"} "spec.metrics[0].resource.target.averageValue"
    federated_hpa {"/spec/metrics/0/resource/target": {"type": "Value", "value": "1"}} "spec.metrics[0].resource.target"
    federated_hpa {"/spec/metrics/0/resource/target": {"type": "Value", "averageValue": "1", "averageUtilization": 80}} "spec.metrics[0].resource.target.averageValue"
    federated_hpa {"/spec/metrics/0/resource/target/type": "Percent"} "spec.metrics[0].resource.target.type"
    federated_hpa {"/spec/metrics/1/containerResource/container": "App"} "spec.metrics[1].containerResource.container"
    federated_hpa {"/spec/metrics/1/containerResource/container": ""} "spec.metrics[1].containerResource.container"
    federated_hpa {"/spec/metrics/1/containerResource/name": "gpu"} "spec.metrics[1].containerResource.name"
    federated_hpa {"/spec/metrics/1/containerResource/target/averageUtilization": 5} "spec.metrics[1].containerResource.target.averageUtilization"
    federated_hpa {"/spec/metrics/2/pods/target/averageValue": "0"} "spec.metrics[2].pods.target.averageValue"
    federated_hpa {"/spec/metrics/2/pods/target/averageValue": 0} "spec.metrics[2].pods.target.averageValue"
    federated_hpa {"/spec/metrics/2/pods/target/averageValue": "-1"} "spec.metrics[2].pods.target.averageValue"
    federated_hpa {"/spec/metrics/2/pods/target/averageValue": "0.0e5"} "spec.metrics[2].pods.target.averageValue"
    federated_hpa {"/spec/metrics/2/pods/target/averageValue": "ten"} "spec.metrics[2].pods.target.averageValue"
    federated_hpa {"/spec/metrics/2/pods/target": {"type": "Value", "value": "1"}} "spec.metrics[2].pods.target"
    federated_hpa {"/spec/metrics/2/pods/target": {"type": "AverageValue"}} "spec.metrics[2].pods.target"
    federated_hpa {"/spec/metrics/2/pods/metric/name": "a/b"} "spec.metrics[2].pods.metric.name"
    federated_hpa {"/spec/metrics/2/pods/metric/name": ""} "spec.metrics[2].pods.metric.name"
    federated_hpa {"/spec/metrics/3/object/target": {"type": "Value", "averageValue": "1"}} "spec.metrics[3].object.target.type"
    federated_hpa {"/spec/metrics/3/object/target": {"type": "Value"}} "spec.metrics[3].object.target.value"
    federated_hpa {"/spec/metrics/3/object/target/value": (-5)} "spec.metrics[3].object.target.value"
    federated_hpa {"/spec/metrics/3/object/describedObject/name": ""} "spec.metrics[3].object.describedObject.name"
    federated_hpa {"/spec/metrics/4/external/target": {"type": "Utilization", "averageValue": "1", "averageUtilization": 5}} "spec.metrics[4].external.target.type"
    federated_hpa {"/spec/metrics/4/external/target/value": "1"} "spec.metrics[4].external.target.averageValue"
    federated_hpa {"/spec/behavior/scaleDown/stabilizationWindowSeconds": 3601} "spec.behavior.scaleDown.stabilizationWindowSeconds"
    federated_hpa {"/spec/behavior/scaleDown/selectPolicy": "max"} "spec.behavior.scaleDown.selectPolicy"
    federated_hpa {"/spec/behavior/scaleDown/policies": []} "spec.behavior.scaleDown.policies"
    federated_hpa {"/spec/behavior/scaleDown/policies/0/type": "Replicas"} "spec.behavior.scaleDown.policies[0].type"
    federated_hpa {"/spec/behavior/scaleDown/policies/0/value": 0} "spec.behavior.scaleDown.policies[0].value"
    federated_hpa {"/spec/behavior/scaleDown/policies/0/periodSeconds": 1801} "spec.behavior.scaleDown.policies[0].periodSeconds"
    federated_hpa {"/spec/behavior/scaleDown/tolerance": "-0.1"} "spec.behavior.scaleDown.tolerance"
    federated_hpa {"/spec/mode": "distributed"} "spec.mode"
    federated_hpa {"/spec/autoscaleMultiClusterDelay": (-1)} "spec.autoscaleMultiClusterDelay"
    centralized {"/spec/federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}} "spec.federatedHPAAssignment"
    centralized {"/spec/clusterAffinity": {"clusterNames": ["m1"]}} "spec.clusterAffinity"
    centralized {"/spec/clusterAffinity": {"exclude": ["m1"]}} "spec.clusterAffinity"
    centralized {"/spec/clusterAffinity": {"labelSelector": {}}} "spec.clusterAffinity"
    centralized {"/spec/clusterAffinity": {"fieldSelector": {}}} "spec.clusterAffinity"
    centralized {"/spec/autoscaleMultiClusterDelay": 1} "spec.autoscaleMultiClusterDelay"
    centralized {"/spec/minCoveredLosses": 1} "spec.minCoveredLosses"
    federated_hpa {"/spec/minCoveredLosses": (-1)} "spec.minCoveredLosses"
    federated_hpa {"/spec/minCoveredLosses": (limits::COVERED_LOSSES.end() + 1)} "spec.minCoveredLosses"
    centralized {"/spec/scaleAssist": false} "spec.scaleAssist"
    centralized {"/spec/scalingToZero": true} "spec.scalingToZero"
    centralized {"/spec/clusterHPAPreference": [{"clusterName": "m1", "maxResourceUsage": 1}]} "spec.clusterHPAPreference"
    federated_hpa {"/spec/federatedHPAAssignment/federatedHPAAssignmentType": "Weighted"} "spec.federatedHPAAssignment.federatedHPAAssignmentType"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/autoscalingMaxThreshold": 0}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].autoscalingMaxThreshold"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/staticWeight": (-1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].staticWeight"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/staticWeight": 0,
                   "/spec/federatedHPAAssignment/clusterAutoscalingPreference/1/staticWeight": null}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/1/targetCluster/fieldSelector/matchExpressions/0/values": []}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[1].targetCluster.fieldSelector.matchExpressions[0].values"
    federated_hpa {"/spec/clusterAffinity": {"fieldSelector": {"matchExpressions": [{"key": "country", "operator": "In", "values": ["x"]}]}}}
        "spec.clusterAffinity.fieldSelector.matchExpressions[0].key"
    federated_hpa {"/spec/clusterAffinity": {"clusterNames": ["m1", ""]}} "spec.clusterAffinity.clusterNames[1]"
    federated_hpa {"/spec/clusterAffinity": {"clusterNames": (many(limits::CLUSTERS + 1))}} "spec.clusterAffinity.clusterNames"
    federated_hpa {"/spec/clusterAffinity": {"clusterNames": [(text(limits::CLUSTER_NAME + 1))]}} "spec.clusterAffinity.clusterNames[0]"
    federated_hpa {"/spec/clusterAffinity": {"exclude": (many(limits::CLUSTERS + 1))}} "spec.clusterAffinity.exclude"
    federated_hpa {"/spec/clusterAffinity": {"exclude": ["m1", (text(limits::CLUSTER_NAME + 1))]}} "spec.clusterAffinity.exclude[1]"
    federated_hpa {"/spec/clusterAffinity": {"fieldSelector": {"matchExpressions":
        (vec![json!({"key": "zone", "operator": "In", "values": ["a"]}); limits::REQUIREMENTS + 1])}}}
        "spec.clusterAffinity.fieldSelector.matchExpressions"
    federated_hpa {"/spec/clusterAffinity": {"fieldSelector": {"matchExpressions": [
        {"key": "zone", "operator": "In", "values": (many(limits::VALUES + 1))}]}}}
        "spec.clusterAffinity.fieldSelector.matchExpressions[0].values"
    federated_hpa {"/spec/clusterAffinity": {"fieldSelector": {"matchExpressions": [
        {"key": "zone", "operator": "In", "values": [(text(limits::FIELD_VALUE + 1))]}]}}}
        "spec.clusterAffinity.fieldSelector.matchExpressions[0].values[0]"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchLabels": (labels(limits::REQUIREMENTS + 1))}}}
        "spec.clusterAffinity.labelSelector.matchLabels"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchLabels": {"a": (text(limits::LABEL_VALUE + 1))}}}}
        "spec.clusterAffinity.labelSelector.matchLabels"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchExpressions":
        (vec![json!({"key": "a", "operator": "Exists"}); limits::REQUIREMENTS + 1])}}}
        "spec.clusterAffinity.labelSelector.matchExpressions"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchExpressions": [
        {"key": (text(limits::LABEL_KEY + 1)), "operator": "Exists"}]}}}
        "spec.clusterAffinity.labelSelector.matchExpressions[0].key"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Is"}]}}}
        "spec.clusterAffinity.labelSelector.matchExpressions[0].operator"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchExpressions": [
        {"key": "a", "operator": "In", "values": (many(limits::VALUES + 1))}]}}}
        "spec.clusterAffinity.labelSelector.matchExpressions[0].values"
    federated_hpa {"/spec/clusterAffinity": {"labelSelector": {"matchExpressions": [
        {"key": "a", "operator": "In", "values": [(text(limits::LABEL_VALUE + 1))]}]}}}
        "spec.clusterAffinity.labelSelector.matchExpressions[0].values[0]"
    federated_hpa {"/spec/autoscaleMultiClusterDelay": (limits::DELAYS.end() + 1)} "spec.autoscaleMultiClusterDelay"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/staticWeight": (limits::WEIGHTS.end() + 1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].staticWeight"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/priority": (limits::PRIORITIES.end() + 1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].priority"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/priority": (limits::PRIORITIES.start() - 1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].priority"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/autoscalingMaxThreshold": (limits::THRESHOLDS.end() + 1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].autoscalingMaxThreshold"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference/0/autoscalingMinThreshold": (-1)}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference[0].autoscalingMinThreshold"
    federated_hpa {"/spec/federatedHPAAssignment/clusterAutoscalingPreference": (preferences(limits::CLUSTERS + 1))}
        "spec.federatedHPAAssignment.clusterAutoscalingPreference"
    federated_hpa {"/spec/clusterHPAPreference": (shares(limits::CLUSTERS + 1))} "spec.clusterHPAPreference"
    federated_hpa {"/spec/clusterHPAPreference/1/clusterName": (text(limits::CLUSTER_NAME + 1))} "spec.clusterHPAPreference[1].clusterName"
    federated_hpa {"/spec/metrics": (vec![federated_hpa()["spec"]["metrics"][0].clone(); limits::METRICS + 1])} "spec.metrics"
    federated_hpa {"/spec/clusterHPAPreference/1/clusterName": "m1"} "spec.clusterHPAPreference[1]"
    federated_hpa {"/spec/clusterHPAPreference/1/maxResourceUsage": 0} "spec.clusterHPAPreference[1].maxResourceUsage"
    federated_hpa {"/spec/clusterHPAPreference/1/maxResourceUsage": 1.01} "spec.clusterHPAPreference[1].maxResourceUsage"
    federated_hpa {"/spec/clusterHPAPreference/1/maxResourceUsage": null} "spec.clusterHPAPreference[1].maxResourceUsage"
    of_workload {"/spec/rules": []} "spec.rules"
    of_workload {"/spec/scaleTargetRef/apiVersion": null} "spec.scaleTargetRef.apiVersion"
    of_workload {"/spec/scaleTargetRef/kind": "."} "spec.scaleTargetRef.kind"
    of_workload {"/spec/rules/0/name": ""} "spec.rules[0].name"
    of_workload {"/spec/rules/0/name": "a-name-of-more-than-32-characters"} "spec.rules[0].name"
    of_workload {"/spec/rules/1/name": "down"} "spec.rules"
    of_workload {"/spec/rules": (named(limits::RULES + 1))} "spec.rules"
    of_workload {"/spec/rules/0/schedule": (format!("0 6 * * {}", "1,".repeat(limits::SCHEDULE)))} "spec.rules[0].schedule"
    of_workload {"/spec/rules/0/timeZone": (text(limits::TIME_ZONE + 1))} "spec.rules[0].timeZone"
    of_workload {"/spec/rules/0/schedule": ""} "spec.rules[0].schedule"
    of_workload {"/spec/rules/0/timeZone": ""} "spec.rules[0].timeZone"
    of_workload {"/spec/rules/0/timeZone": "Local"} "spec.rules[0].timeZone"
    of_workload {"/spec/rules/0/targetReplicas": null} "spec.rules"
    of_workload {"/spec/rules/0/targetReplicas": null, "/spec/rules/0/targetMaxReplicas": 3} "spec.rules"
    of_workload {"/spec/rules/1/targetReplicas": (-1)} "spec.rules"
    of_workload {"/spec/rules/0/successfulHistoryLimit": 0} "spec.rules[0].successfulHistoryLimit"
    of_workload {"/spec/rules/0/failedHistoryLimit": 33} "spec.rules[0].failedHistoryLimit"
    of_workload {"/spec/rules/0/maxDelaySeconds": (-1)} "spec.rules[0].maxDelaySeconds"
    of_workload {"/spec/rules/0/maxDelaySeconds": 9} "spec.rules[0].maxDelaySeconds"
    of_federated_hpa {"/spec/scaleTargetRef/kind": "Deployment"} "spec.scaleTargetRef.kind"
    of_federated_hpa {"/spec/scaleTargetRef/kind": "federatedhpa"} "spec.scaleTargetRef.kind"
    of_federated_hpa {"/spec/rules/1/targetMaxReplicas": null} "spec.rules"
    of_federated_hpa {"/spec/rules/1/targetMaxReplicas": null, "/spec/rules/1/targetReplicas": 3} "spec.rules"
    of_federated_hpa {"/spec/rules/0/targetMinReplicas": 0} "spec.rules"
    of_federated_hpa {"/spec/rules/0/targetMaxReplicas": 0, "/spec/rules/0/targetMinReplicas": null} "spec.rules"
    of_federated_hpa {"/spec/rules/0/targetMinReplicas": 3} "spec.rules"
};

/// All cases.
pub fn cases() -> Vec<Case> {
    let bad = BAD.iter().map(|(base, changes, at)| {
        let changes: Vec<_> = changes.iter().map(|(pointer, value)| (*pointer, value())).collect();
        Case { object: with(base(), &changes), refused_at: Some(*at) }
    });
    good().into_iter().map(|object| Case { object, refused_at: None }).chain(bad).collect()
}

/// The places a judge refuses in an object.
type Judge = fn(&Value) -> Vec<String>;

/// Who must agree.
const JUDGES: &[(&str, Judge)] = &[("CRD", by_crd), ("webhook", by_webhook)];

fn by_crd(object: &Value) -> Vec<String> {
    evaluator(object["kind"].as_str().unwrap()).faults(object).into_iter().map(|fault| fault.path).collect()
}

fn by_webhook(object: &Value) -> Vec<String> {
    let federated = object["kind"] == "FederatedHPA";
    let endpoint = if federated { Endpoint::ValidateFederatedHPA } else { Endpoint::ValidateCronFederatedHPA };
    match create(endpoint, &object.to_string()).denial {
        Some(Denial::Invalid(violations)) => violations.into_iter().map(|violation| violation.path).collect(),
        Some(Denial::Undecodable { path, .. }) => vec![path],
        None => Vec::new(),
    }
}

/// Whether `path` is `place` or lies in it.
pub fn is_within(path: &str, place: &str) -> bool {
    path.strip_prefix(place).is_some_and(|below| below.is_empty() || below.starts_with(['.', '[']))
}

#[test]
fn all_judges_give_one_verdict() {
    let mut disagreements = Vec::new();
    for case in cases() {
        for (judge, refuses) in JUDGES {
            let places = refuses(&case.object);
            let agrees = match case.refused_at {
                None => places.is_empty(),
                Some(at) => !places.is_empty() && places.iter().all(|place| is_within(place, at)),
            };
            if !agrees {
                disagreements.push(format!(
                    "{judge} refuses {places:?}, expected {:?}: {}",
                    case.refused_at, case.object["spec"]
                ));
            }
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}
