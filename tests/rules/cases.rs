//! The messages for invalid manifests, word by word.

use fhpa::admission::endpoint::Endpoint;

use super::world::{create, said};

/// A FederatedHPA whose spec is `spec`.
pub fn federated(spec: &str) -> String {
    format!(
        r#"{{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"FederatedHPA","metadata":{{"name":"web","namespace":"prod"}},"spec":{spec}}}"#
    )
}

/// A FederatedHPA that is right but for the members `more` of its spec.
pub fn federated_with(more: &str) -> String {
    federated(&format!(
        r#"{{"scaleTargetRef":{{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}},"minReplicas":2,"maxReplicas":10,{more}}}"#
    ))
}

/// A CronFederatedHPA on a Deployment with these rules.
pub fn cron(rules: &str) -> String {
    cron_on(r#"{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}"#, rules)
}

/// A CronFederatedHPA on a FederatedHPA with these rules.
pub fn cron_on_federated(rules: &str) -> String {
    cron_on(r#"{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"FederatedHPA","name":"web"}"#, rules)
}

pub fn cron_on(target: &str, rules: &str) -> String {
    format!(
        r#"{{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"CronFederatedHPA","metadata":{{"name":"nightly","namespace":"prod"}},"spec":{{"scaleTargetRef":{target},"rules":[{rules}]}}}}"#
    )
}

pub fn told(object: &str) -> String {
    let endpoint = if object.contains("CronFederatedHPA") {
        Endpoint::ValidateCronFederatedHPA
    } else {
        Endpoint::ValidateFederatedHPA
    };
    said(&create(endpoint, object))
}

#[test]
fn a_manifest_from_an_old_document_is_told_the_right_names() {
    let object = r#"{"apiVersion":"autoscaling.karmada.io/v1alpha1","kind":"CronFederatedHPA","metadata":{"name":"nightly","namespace":"prod"},
        "spec":{"scaleTargetRef":{"apiVersion":"app/v1","kind":"Deployment","name":"web"},
        "rules":[{"ruleName":"up","schedule":"30 08 * * *","targetReplicas":10,"timezone":"Asia/Shanghai"}]}}"#;
    insta::assert_snapshot!(told(object), @r#"
    denied: spec.scaleTargetRef.apiVersion: Invalid value: "app/v1": there is no such API group: did you mean "apps/v1"?
    denied: spec.rules[0].name: Required value: must have 1 to 32 characters; "ruleName" is no field: did you mean "name"?
    "#);
}

#[test]
fn an_empty_spec_is_told_all_that_it_lacks() {
    insta::assert_snapshot!(told(&federated("{}")), @r#"
    denied: spec.scaleTargetRef.apiVersion: Required value: must be the API version of the object to scale, for example "apps/v1"
    denied: spec.scaleTargetRef.kind: Required value: must be the kind of the object to scale, for example Deployment
    denied: spec.scaleTargetRef.name: Required value: must be the name of the object to scale
    denied: spec.maxReplicas: Required value: must be the most replicas to have, over all clusters
    "#);
}

#[test]
fn bounds_the_wrong_way_round_are_refused() {
    let object = federated(
        r#"{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deploymnet","name":"web"},"minReplicas":20,"maxReplicas":10}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.scaleTargetRef.kind: Invalid value: "Deploymnet": cannot be scaled: did you mean "Deployment"?
    denied: spec.maxReplicas: Invalid value: 10: must be greater than or equal to minReplicas (20)
    "#);
}

#[test]
fn a_number_in_quotes_is_pointed_at() {
    let object = federated(
        r#"{"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"minReplicas":"2","maxReplicas":10}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"denied: spec.minReplicas: Invalid value: "2": must be a whole number from -2147483648 to 2147483647"#);
}

#[test]
fn a_metric_whose_type_and_value_disagree_is_refused() {
    let object = federated_with(
        r#""metrics":[{"type":"Object","object":{"describedObject":{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","name":"main"},"metric":{"name":"rps"},"target":{"type":"Value","averageValue":"10k"}}},
        {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageValue":"500m"}}},
        {"type":"Pods","pods":{"metric":{"name":"rps"},"target":{"type":"averagevalue","averageValue":"1K"}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.metrics[2].pods.target.averageValue: Invalid value: "1K": must be a quantity such as "500m", "2" or "1Gi"
    denied: spec.metrics[0].object.target.type: Invalid value: "Value": averageValue is set: write type AverageValue, or set value
    denied: spec.metrics[2].pods.target.type: Unsupported value: "averagevalue": supported values: "AverageValue": did you mean "AverageValue"?
    warning: spec.metrics[1].resource.target.type: "Utilization" does not fit: averageValue is set, and counts; write AverageValue
    "#);
}

#[test]
fn a_type_of_a_target_that_autoscalers_do_not_read_is_a_warning() {
    let object = federated_with(
        r#""metrics":[{"type":"Pods","pods":{"metric":{"name":"http_requests"},"target":{"averageValue":"700m","type":"Value"}}},
        {"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageValue":"500m"}}},
        {"type":"Resource","resource":{"name":"cpu","target":{"type":"Value","averageUtilization":50,"value":"5"}}},
        {"type":"ContainerResource","containerResource":{"name":"cpu","container":"app","target":{"type":"AverageValue","averageUtilization":50}}},
        {"type":"Pods","pods":{"metric":{"name":"rps"},"target":{"type":"Utilization","averageValue":"1","averageUtilization":5}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    warning: spec.metrics[0].pods.target.type: "Value" does not fit: averageValue is set, and counts; write AverageValue
    warning: spec.metrics[1].resource.target.type: "Utilization" does not fit: averageValue is set, and counts; write AverageValue
    warning: spec.metrics[2].resource.target.type: "Value" does not fit: averageUtilization is set, and counts; write Utilization
    warning: spec.metrics[2].resource.target.value: has no effect beside averageUtilization
    warning: spec.metrics[3].containerResource.target.type: "AverageValue" does not fit: averageUtilization is set, and counts; write Utilization
    warning: spec.metrics[4].pods.target.type: "Utilization" does not fit: averageValue is set, and counts; write AverageValue
    warning: spec.metrics[4].pods.target.averageUtilization: has no effect beside averageValue
    "#);
    let object = federated_with(
        r#""metrics":[{"type":"Pods","pods":{"metric":{"name":"rps"},"target":{"type":"Value","value":"1"}}},
        {"type":"Resource","resource":{"name":"cpu","target":{"type":"Value","averageUtilization":50,"averageValue":"5"}}},
        {"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"Value","averageValue":"1"}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.metrics[0].pods.target: Required value: must set averageValue
    denied: spec.metrics[1].resource.target.averageValue: Forbidden: a target has one value: remove averageValue or averageUtilization
    denied: spec.metrics[2].external.target.type: Invalid value: "Value": averageValue is set: write type AverageValue, or set value
    "#);
}

#[test]
fn a_metric_with_two_sources_or_none_is_refused() {
    let object = federated_with(
        r#""metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":60}},"pods":{}},
        {"type":"Pods"},{"type":"Cpu"},{},
        {"type":"ContainerResource","containerResource":{"name":"CPU","container":"App","target":{"type":"Utilization","averageUtilization":0}}}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.metrics[0].pods: Forbidden: a metric of type Resource has only resource
    denied: spec.metrics[1].pods: Required value: a metric of type Pods is described here
    denied: spec.metrics[2].type: Unsupported value: "Cpu": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"
    denied: spec.metrics[3].type: Required value: must be one of ContainerResource, External, Object, Pods, Resource
    denied: spec.metrics[4].containerResource.name: Invalid value: "CPU": containers have cpu, memory, ephemeral-storage and hugepages-<size>: did you mean "cpu"?
    denied: spec.metrics[4].containerResource.container: Invalid value: "App": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name')
    denied: spec.metrics[4].containerResource.target.averageUtilization: Invalid value: 0: must be greater than 0
    "#);
}

#[test]
fn external_metrics_are_allowed() {
    let object = federated_with(
        r#""metrics":[{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"AverageValue","averageValue":"30"}}}]"#,
    );
    assert_eq!(told(&object), "");
}

#[test]
fn behavior_out_of_bounds_is_refused() {
    let object = federated_with(
        r#""behavior":{"scaleUp":{"stabilizationWindowSeconds":3601,"selectPolicy":"max","policies":[{"type":"Pod","value":0,"periodSeconds":3600}]},"scaleDown":{"policies":[],"tolerance":"-0.1"}}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be between 0 and 3600 seconds
    denied: spec.behavior.scaleUp.selectPolicy: Unsupported value: "max": supported values: "Disabled", "Max", "Min": did you mean "Max"?
    denied: spec.behavior.scaleUp.policies[0].type: Unsupported value: "Pod": supported values: "Pods", "Percent": did you mean "Pods"?
    denied: spec.behavior.scaleUp.policies[0].value: Invalid value: 0: must be greater than 0
    denied: spec.behavior.scaleUp.policies[0].periodSeconds: Invalid value: 3600: must be between 1 and 1800 seconds
    denied: spec.behavior.scaleDown.policies: Required value: must have at least one policy, for example {type: Percent, value: 100, periodSeconds: 15}
    denied: spec.behavior.scaleDown.tolerance: Invalid value: "-0.1": must not be negative
    "#);
}

#[test]
fn our_own_fields_are_checked() {
    let object = federated_with(
        r#""mode":"distributed","federatedHPAAssignment":{"federatedHPAAssignmentType":"StaticWeight","clusterAutoscalingPreference":[
            {"targetCluster":{"clusterNames":["m1",""]},"staticWeight":-1,"autoscalingMinThreshold":5,"autoscalingMaxThreshold":2},
            {"targetCluster":{"labelSelector":{"matchExpressions":[{"key":"a b","operator":"in","values":["x"]},{"key":"zone","operator":"In"},{"key":"zone","operator":"Exists","values":["x"]}]}}},
            {"targetCluster":{"clusterNames":["m1",""]}}]},
        "clusterAffinity":{"fieldSelector":{"matchExpressions":[{"key":"regions","operator":"In","values":["eu"]}]}},
        "autoscaleMultiClusterDelay":-1,"minCoveredLosses":2,
        "clusterHPAPreference":[{"clusterName":"m1","maxResourceUsage":1.5},{"clusterName":"m1","maxResourceUsage":0},{"maxResourceUsage":1},{"clusterName":"m2"}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.mode: Unsupported value: "distributed": supported values: "Distributed", "Centralized": did you mean "Distributed"?
    denied: spec.federatedHPAAssignment.federatedHPAAssignmentType: Unsupported value: "StaticWeight": supported values: "Duplicated", "Aggregated", "StaticWeighted", "DynamicWeighted", "Prioritized": did you mean "StaticWeighted"?
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].targetCluster.clusterNames[1]: Required value: must be the name of a member cluster
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].staticWeight: Invalid value: -1: must be between 0 and 1000000
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].autoscalingMaxThreshold: Invalid value: 2: must be greater than or equal to autoscalingMinThreshold (5)
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[1].targetCluster.labelSelector.matchExpressions[0].key: Invalid value: "a b": the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName')
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[1].targetCluster.labelSelector.matchExpressions[0].operator: Unsupported value: "in": supported values: "In", "NotIn", "Exists", "DoesNotExist": did you mean "In"?
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[1].targetCluster.labelSelector.matchExpressions[1].values: Required value: operator In needs at least one value
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[1].targetCluster.labelSelector.matchExpressions[2].values: Forbidden: operator Exists takes no values
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[2].targetCluster.clusterNames[1]: Required value: must be the name of a member cluster
    denied: spec.federatedHPAAssignment.clusterAutoscalingPreference[2].targetCluster: Duplicate value: as in spec.federatedHPAAssignment.clusterAutoscalingPreference[0]: each targetCluster must be unique
    denied: spec.clusterAffinity.fieldSelector.matchExpressions[0].key: Unsupported value: "regions": supported values: "provider", "region", "zone": did you mean "region"?
    denied: spec.autoscaleMultiClusterDelay: Invalid value: -1: must be between 0 and 86400
    denied: spec.clusterHPAPreference[0].maxResourceUsage: Invalid value: 1.5: must be a share greater than 0 and at most 1, for example 0.5
    denied: spec.clusterHPAPreference[1].clusterName: Duplicate value: "m1": each cluster must be unique
    denied: spec.clusterHPAPreference[1].maxResourceUsage: Invalid value: 0: must be a share greater than 0 and at most 1, for example 0.5
    denied: spec.clusterHPAPreference[2].clusterName: Required value: must be the name of a member cluster
    denied: spec.clusterHPAPreference[3].maxResourceUsage: Required value: must be a share greater than 0 and at most 1, for example 0.5
    denied: spec.minCoveredLosses: Invalid value: 2: must be between 0 and 1
    "#);
}

#[test]
fn fields_without_effect_are_warned_of() {
    let object = federated_with(
        r#""scaleAssist":false,"scalingToZero":true,"federatedHPAAssignment":{"federatedHPAAssignmentType":"Duplicated","clusterAutoscalingPreference":[{"targetCluster":{},"staticWeight":1,"priority":2}]}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    warning: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].staticWeight: Duplicated does not use it
    warning: spec.federatedHPAAssignment.clusterAutoscalingPreference[0].priority: Duplicated does not use it
    warning: spec.scalingToZero: has no effect while scaleAssist is false
    warning: spec.scalingToZero: has no effect with Duplicated: every cluster keeps minReplicas
    "#);
}

#[test]
fn fields_that_only_distributed_has_are_refused_beside_centralized() {
    let object = federated_with(
        r#""mode":"Centralized","federatedHPAAssignment":{"federatedHPAAssignmentType":"Aggregated"},"clusterAffinity":{"exclude":["m1"]},
        "autoscaleMultiClusterDelay":5,"scaleAssist":false,"scalingToZero":true,"clusterHPAPreference":[{"clusterName":"m1","maxResourceUsage":1}],
        "minCoveredLosses":1"#,
    );
    insta::assert_snapshot!(told(&object), @r"
    denied: spec.federatedHPAAssignment: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.clusterAffinity: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.autoscaleMultiClusterDelay: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.scaleAssist: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.scalingToZero: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.clusterHPAPreference: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    denied: spec.minCoveredLosses: Forbidden: only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed
    warning: spec.autoscaleMultiClusterDelay: has no effect while scaleAssist is false
    warning: spec.scalingToZero: has no effect while scaleAssist is false
    ");
}

#[test]
fn fields_with_the_value_of_their_default_may_stay_in_a_switch_to_centralized() {
    let object = federated_with(
        r#""mode":"Centralized","federatedHPAAssignment":null,"clusterAffinity":{"clusterNames":[]},"autoscaleMultiClusterDelay":0,
        "scaleAssist":true,"scalingToZero":false,"clusterHPAPreference":[],"minCoveredLosses":0"#,
    );
    assert_eq!(told(&object), "");
}

#[test]
fn static_weights_that_are_all_zero_are_refused() {
    let object = federated_with(
        r#""federatedHPAAssignment":{"federatedHPAAssignmentType":"StaticWeighted","clusterAutoscalingPreference":[{"targetCluster":{"clusterNames":["m1"]},"staticWeight":0}]}"#,
    );
    insta::assert_snapshot!(told(&object), @r"denied: spec.federatedHPAAssignment.clusterAutoscalingPreference: Required value: StaticWeighted needs a staticWeight greater than 0 for at least one cluster");
}

#[test]
fn schedules_that_never_run_are_refused() {
    let rules: Vec<String> =
        ["61 * * * *", "0 0 8 * * *", "0 0 L * *", "@every 5m", "@5minutes", "CRON_TZ=UTC 0 8 * * *", "0 0 30 2 *", ""]
            .iter()
            .enumerate()
            .map(|(index, schedule)| format!(r#"{{"name":"r{index}","schedule":"{schedule}","targetReplicas":1}}"#))
            .collect();
    insta::assert_snapshot!(told(&cron(&rules.join(","))), @r#"
    denied: spec.rules[0].schedule: Invalid value: "61 * * * *": minute 61 is out of range 0-59
    denied: spec.rules[1].schedule: Invalid value: "0 0 8 * * *": schedule has six fields; there is no seconds or year field; write 0 8 * * *
    denied: spec.rules[2].schedule: Invalid value: "0 0 L * *": day-of-month L: L (last day) is not supported; write a day, 28 occurs in every month
    denied: spec.rules[3].schedule: Invalid value: "@every 5m": @every 5m is tied to no clock time; write */5 * * * *
    denied: spec.rules[4].schedule: Invalid value: "@5minutes": @5minutes is not supported; write */5 * * * *
    denied: spec.rules[5].schedule: Invalid value: "CRON_TZ=UTC 0 8 * * *": a time zone does not belong in the schedule; write schedule: "0 8 * * *" and timeZone: UTC
    denied: spec.rules[6].schedule: Invalid value: "0 0 30 2 *": never fires: February has no day 30
    denied: spec.rules[7].schedule: Required value: must be a cron expression, for example "30 8 * * 1-5"
    "#);
}

#[test]
fn sunday_may_be_seven() {
    assert_eq!(told(&cron(r#"{"name":"r","schedule":"0 8 * * 7","targetReplicas":1}"#)), "");
}

#[test]
fn time_zones_are_iana_names() {
    let rules: Vec<String> = ["Asia/Shangai", "asia/shanghai", "Local", "", "/etc/passwd", "UTC+8"]
        .iter()
        .enumerate()
        .map(|(index, zone)| {
            format!(r#"{{"name":"r{index}","schedule":"{index} 8 * * *","targetReplicas":1,"timeZone":"{zone}"}}"#)
        })
        .collect();
    insta::assert_snapshot!(told(&cron(&rules.join(","))), @r#"
    denied: spec.rules[0].timeZone: Invalid value: "Asia/Shangai": is not a time zone; did you mean Asia/Shanghai?
    denied: spec.rules[1].timeZone: Invalid value: "asia/shanghai": is not a time zone, case counts; write Asia/Shanghai
    denied: spec.rules[2].timeZone: Invalid value: "Local": would differ from machine to machine; write an IANA name such as Europe/Berlin
    denied: spec.rules[3].timeZone: Invalid value: "": must not be empty; leave the field out or write an IANA name such as Europe/Berlin
    denied: spec.rules[4].timeZone: Invalid value: "/etc/passwd": is a path; write an IANA name such as Europe/Berlin
    denied: spec.rules[5].timeZone: Invalid value: "UTC+8": is an offset, not a place with its clock changes; write a name such as Europe/Berlin, or Etc/GMT-8 for UTC+8
    "#);
}

#[test]
fn rules_are_checked_member_by_member() {
    let object = cron(
        r#"{"name":"a","schedule":"0 8 * * *","targetReplicas":-1,"successfulHistoryLimit":0,"failedHistoryLimit":33},
           {"name":"a","schedule":"0 9 * * *","maxDelaySeconds":9},
           {"name":"abcdefghijklmnopqrstuvwxyz0123456789","schedule":"*/5 * * * *","targetReplicas":1,"maxDelaySeconds":300},
           {"name":"b","schedule":"1-59/5 * * * *","targetReplicas":1,"maxDelaySeconds":299,"targetMinReplicas":3}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.rules[0].targetReplicas: Invalid value: -1: must be 0 or more
    denied: spec.rules[0].successfulHistoryLimit: Invalid value: 0: must be between 1 and 32
    denied: spec.rules[0].failedHistoryLimit: Invalid value: 33: must be between 0 and 32
    denied: spec.rules[1].name: Duplicate value: "a": each rule has a name of its own
    denied: spec.rules[1].targetReplicas: Required value: a rule for a Deployment says how many replicas to set
    denied: spec.rules[1].maxDelaySeconds: Invalid value: 9: must be at least 10: sooner a run would count as late in a busy minute
    denied: spec.rules[2].name: Invalid value: "abcdefghijklmnopqrstuvwxyz0123456789": must have at most 32 characters
    denied: spec.rules[2].maxDelaySeconds: Invalid value: 300: must be less than 300, the fewest seconds between two runs of the rule
    warning: spec.rules[3].targetMinReplicas: has no effect on a Deployment: only a FederatedHPA has bounds
    warning: spec.rules[2]: sets other values than rule "a" at 2026-11-21T08:00:00Z, when both run: this rule wins
    "#);
    insta::assert_snapshot!(told(&cron("")), @r"denied: spec.rules: Required value: must have at least one rule");
}

#[test]
fn rules_for_a_federated_hpa_set_its_bounds() {
    let object = cron_on_federated(
        r#"{"name":"a","schedule":"0 8 * * *","targetReplicas":5},
           {"name":"b","schedule":"0 9 * * *","targetMinReplicas":5,"targetMaxReplicas":3},
           {"name":"c","schedule":"0 10 * * *","targetMinReplicas":0,"targetMaxReplicas":0}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: spec.rules[0].targetMaxReplicas: Required value: a rule for a FederatedHPA sets targetMinReplicas, targetMaxReplicas or both
    denied: spec.rules[1].targetMaxReplicas: Invalid value: 3: must be greater than or equal to targetMinReplicas (5)
    denied: spec.rules[2].targetMinReplicas: Invalid value: 0: must be greater than 0
    denied: spec.rules[2].targetMaxReplicas: Invalid value: 0: must be greater than 0
    warning: spec.rules[0].targetReplicas: has no effect on a FederatedHPA: set targetMinReplicas or targetMaxReplicas
    "#);
    let other = object.replace(r#""kind":"FederatedHPA","name""#, r#""kind":"FederatedHpa","name""#);
    insta::assert_snapshot!(told(&other), @r#"denied: spec.scaleTargetRef.kind: Unsupported value: "FederatedHpa": supported values: "FederatedHPA": of autoscaling.karmada.io/v1alpha1 only a FederatedHPA can be a target"#);
}

#[test]
fn rules_that_meet_with_other_values_are_warned_of() {
    let object = cron(
        r#"{"name":"workday","schedule":"30 8 * * 1-5","targetReplicas":10},
           {"name":"monthly","schedule":"30 8 1 * *","targetReplicas":20}"#,
    );
    insta::assert_snapshot!(told(&object), @r#"warning: spec.rules[1]: sets other values than rule "workday" at 2026-12-01T08:30:00Z, when both run: this rule wins"#);
    let agreed = object.replace("20", "10");
    assert_eq!(told(&agreed), "");
    let suspended = object.replace(r#""targetReplicas":20"#, r#""targetReplicas":20,"suspend":true"#);
    assert_eq!(told(&suspended), "");
}

#[test]
fn an_object_of_another_kind_is_refused() {
    let verdict = create(Endpoint::ValidateFederatedHPA, &cron(""));
    insta::assert_snapshot!(said(&verdict), @r#"undecodable: kind: expected an object of kind FederatedHPA, got kind "CronFederatedHPA""#);
    let verdict = create(Endpoint::ValidateFederatedHPA, &federated("{}").replace("FederatedHPA", "FederatedHpa"));
    insta::assert_snapshot!(said(&verdict), @r#"undecodable: kind: expected an object of kind FederatedHPA, got kind "FederatedHpa""#);
    let verdict = create(Endpoint::ValidateFederatedHPA, &federated("{}").replace("v1alpha1", "v1"));
    insta::assert_snapshot!(said(&verdict), @r#"undecodable: apiVersion: expected autoscaling.karmada.io/v1alpha1, got "autoscaling.karmada.io/v1""#);
    insta::assert_snapshot!(said(&create(Endpoint::MutateFederatedHPA, "null")), @r"undecodable: : expected an object, got null");
    insta::assert_snapshot!(said(&create(Endpoint::ValidateCronFederatedHPA, "[]")), @r"undecodable: : expected an object, got []");
}

#[test]
fn a_name_may_be_left_to_the_api_server() {
    let named = federated_with(r#""mode":"Distributed""#);
    let generated = named.replacen(r#""name":"web""#, r#""generateName":"web-""#, 1);
    assert_eq!(told(&generated), "");
    insta::assert_snapshot!(told(&named.replacen(r#""name":"web","#, "", 1)), @"denied: metadata.name: Required value: name or generateName is required");
}

#[test]
fn metadata_is_checked_as_kubernetes_does() {
    let object = federated_with(r#""mode":"Distributed""#).replace(
        r#""name":"web","namespace":"prod""#,
        r#""name":"Web","namespace":"a.b","generation":-1,"labels":{"a b":"c","d":"e f"},"annotations":{"/x":"y"},"finalizers":["orphan","foregroundDeletion"],
           "ownerReferences":[{"apiVersion":"a/b/c","kind":"","name":"x","uid":"u"}],"managedFields":[{"operation":"apply"}]"#,
    );
    insta::assert_snapshot!(told(&object), @r#"
    denied: metadata.name: Invalid value: "Web": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com')
    denied: metadata.namespace: Invalid value: "a.b": a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name')
    denied: metadata.generation: Invalid value: -1: must be greater than or equal to 0
    denied: metadata.labels: Invalid value: "a b": the name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName')
    denied: metadata.labels[d]: Invalid value: "e f": a label value must be empty or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'my_value')
    denied: metadata.annotations: Invalid value: "/x": the part before '/' must not be empty (e.g. 'example.com/my-name')
    denied: metadata.ownerReferences[0].apiVersion: Invalid value: "a/b/c": must be a version or group/version, for example "apps/v1"
    denied: metadata.ownerReferences[0].kind: Invalid value: "": must not be empty
    denied: metadata.finalizers: Invalid value: "orphan": finalizers orphan and foregroundDeletion cannot both be set
    denied: metadata.managedFields[0].operation: Unsupported value: "apply": supported values: "Apply", "Update": did you mean "Apply"?
    "#);
}

/// So many rules, with these limits of their histories.
fn many(count: usize, limits: &str) -> String {
    let rule = |index| format!(r#"{{"name":"rule-{index}","schedule":"0 8 * * *","targetReplicas":1{limits}}}"#);
    cron(&(0..count).map(rule).collect::<Vec<_>>().join(","))
}

#[test]
fn an_object_whose_history_could_outgrow_the_store_is_refused() {
    assert_eq!(told(&many(1000, "")), "");
    assert!(told(&many(1001, "")).starts_with("denied: spec.rules: Too many: 1001"));
    let limits = r#","successfulHistoryLimit":32,"failedHistoryLimit":32"#;
    insta::assert_snapshot!(told(&many(350, limits)), @"denied: spec.rules: Forbidden: with full histories the object would be too large to store: use fewer rules, or lower successfulHistoryLimit and failedHistoryLimit");
}
