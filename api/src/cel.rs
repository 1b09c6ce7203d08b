//! The CEL rules of both CRDs, one function per type (docs/distributed.md#fields).
//! No I/O, no decisions.
//!
//! They apply while no webhook answers, so they match the webhook's rules. Three properties make them safe for old
//! objects: none rejects an object that Karmada's webhook accepts, except where the design is stricter; none uses
//! `oldSelf`; and each is at the smallest type with all fields that it reads, because the API server ignores a stored
//! error while that type is unchanged.

use serde_json::{Value, json};

/// An element of `x-kubernetes-validations`: `holds` must be true, else `message` is reported at `field`, or at the
/// type of the rule where that is empty.
fn rule(holds: &str, field: &str, reason: &str, message: &str) -> Value {
    let holds = holds.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut rule = json!({"rule": holds, "reason": reason, "message": message});
    if let Some(members) = rule.as_object_mut().filter(|_| !field.is_empty()) {
        members.insert("fieldPath".to_owned(), field.into());
    }
    rule
}

const INVALID: &str = "FieldValueInvalid";
const REQUIRED: &str = "FieldValueRequired";
const FORBIDDEN: &str = "FieldValueForbidden";

/// `FederatedHPA.spec.scaleTargetRef`: a reference with an API version, which `describedObject` may omit.
pub(super) fn scale_target() -> Value {
    let message = "write the API version of the target, for example apps/v1";
    let given = rule("has(self.apiVersion) && self.apiVersion != ''", ".apiVersion", REQUIRED, message);
    let readable = rule(
        "!has(self.apiVersion) || self.apiVersion == '' || self.apiVersion.matches('^([^/]+/)?[^/]+$')",
        ".apiVersion",
        INVALID,
        message,
    );
    and(object_reference(), [given, readable])
}

/// `CronFederatedHPA.spec.scaleTargetRef`: as [`scale_target`], and valid for the API group.
pub(super) fn cron_target() -> Value {
    let kind = rule(
        "!has(self.apiVersion) || !self.apiVersion.startsWith('autoscaling.karmada.io/') || self.kind == 'FederatedHPA'",
        ".kind",
        INVALID,
        "write FederatedHPA: it is the only kind of autoscaling.karmada.io that can be scaled",
    );
    and(scale_target(), [kind])
}

/// The list `rules` with `more` at its end.
fn and<const N: usize>(mut rules: Value, more: [Value; N]) -> Value {
    if let Some(rules) = rules.as_array_mut() {
        rules.extend(more);
    }
    rules
}

/// The fields of `FederatedHPA.spec` that only Distributed mode has, and when the value of each is not its default.
const DISTRIBUTED: [(&str, &str); 7] = [
    ("federatedHPAAssignment", ""),
    (
        "clusterAffinity",
        " && (has(self.clusterAffinity.labelSelector) || has(self.clusterAffinity.fieldSelector)
         || (has(self.clusterAffinity.clusterNames) && size(self.clusterAffinity.clusterNames) > 0)
         || (has(self.clusterAffinity.exclude) && size(self.clusterAffinity.exclude) > 0))",
    ),
    ("autoscaleMultiClusterDelay", " && self.autoscaleMultiClusterDelay > 0"),
    ("scaleAssist", " && !self.scaleAssist"),
    ("scalingToZero", " && self.scalingToZero"),
    ("clusterHPAPreference", " && size(self.clusterHPAPreference) > 0"),
    ("minCoveredLosses", " && self.minCoveredLosses > 0"),
];

/// `FederatedHPA.spec`.
pub(super) fn federated_hpa_spec() -> Value {
    let bounds = rule(
        "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
        ".maxReplicas",
        INVALID,
        "must not be less than minReplicas: raise maxReplicas or lower minReplicas",
    );
    let of_mode = DISTRIBUTED.map(|(field, and_set)| {
        rule(
            &format!("!has(self.mode) || self.mode != 'Centralized' || !(has(self.{field}){and_set})"),
            &format!(".{field}"),
            FORBIDDEN,
            "only mode Distributed has it: remove it (null in a patch), or set spec.mode to Distributed",
        )
    });
    let zero = rule(
        "!has(self.minReplicas) || self.minReplicas > 0
         || (has(self.metrics) && self.metrics.exists(m, m.type == 'Object' || m.type == 'External'))",
        ".minReplicas",
        INVALID,
        "must be at least 1: only a metric of type Object or External is there without pods",
    );
    and(json!([bounds, zero]), of_mode)
}

/// Whether the target is a FederatedHPA, by its API group.
const FEDERATED: &str =
    "(has(self.scaleTargetRef.apiVersion) && self.scaleTargetRef.apiVersion.startsWith('autoscaling.karmada.io/'))";

/// A rule over `spec.rules`: `each` is true for every `r`, or `unless` is true.
///
/// It cannot name the violating rules: the API server has no cost bound for a concatenated text.
fn each_rule(unless: &str, each: &str, reason: &str, message: &str) -> Value {
    rule(&format!("{unless} || self.rules.all(r, {each})"), ".rules", reason, message)
}

/// `CronFederatedHPA.spec`. The allowed fields of a rule depend on the target, so these rules are here and not at the
/// rule.
pub(super) fn cron_federated_hpa_spec() -> Value {
    let other = format!("!{FEDERATED}");
    json!([
        each_rule(
            &other,
            "has(r.targetMinReplicas) || has(r.targetMaxReplicas)",
            REQUIRED,
            "the target is a FederatedHPA: write targetMinReplicas, targetMaxReplicas or both in each rule",
        ),
        each_rule(
            &other,
            "(!has(r.targetMinReplicas) || r.targetMinReplicas >= 1) && (!has(r.targetMaxReplicas) || r.targetMaxReplicas >= 1)",
            INVALID,
            "targetMinReplicas and targetMaxReplicas must be at least 1 in each rule",
        ),
        each_rule(
            &other,
            "!has(r.targetMinReplicas) || !has(r.targetMaxReplicas) || r.targetMinReplicas <= r.targetMaxReplicas",
            INVALID,
            "targetMaxReplicas must not be less than targetMinReplicas in any rule",
        ),
        each_rule(
            FEDERATED,
            "has(r.targetReplicas)",
            REQUIRED,
            "the target is not a FederatedHPA: write targetReplicas in each rule",
        ),
        each_rule(
            FEDERATED,
            "!has(r.targetReplicas) || r.targetReplicas >= 0",
            INVALID,
            "targetReplicas must be at least 0 in each rule"
        ),
    ])
}

/// Most rules of a CronFederatedHPA that are checked for equal names; with more only the webhook checks, because the
/// API server limits the cost of comparing a list with itself.
const COMPARED: usize = 200;

/// `CronFederatedHPA.spec.rules`. A list map would enforce unique names, but then every write of a stored object with
/// equal names would fail, including the removal of its finalizer.
pub(super) fn cron_rules() -> Value {
    let holds = format!(
        "size(self) > {COMPARED} || [self.map(rule, rule.name)].all(names,
         names.all(name, names.indexOf(name) == names.lastIndexOf(name)))"
    );
    json!([rule(&holds, "", INVALID, "each rule has a name of its own: rename all but one of those with equal names")])
}

/// `CronFederatedHPA.spec.rules[]`.
pub(super) fn cron_rule() -> Value {
    json!([rule(
        "!has(self.timeZone) || self.timeZone != 'Local'",
        ".timeZone",
        INVALID,
        "Local differs from machine to machine: write an IANA name such as Europe/Berlin, or leave timeZone out",
    )])
}

/// A reference by kind and name: both become segments of a URL path.
pub(super) fn object_reference() -> Value {
    let segment = |member: &str| {
        rule(
            &format!("self.{member}.matches('^[^/%]*$') && !(self.{member} in ['.', '..'])"),
            &format!(".{member}"),
            INVALID,
            &format!("write the {member} alone: without '/' and '%', and neither '.' nor '..'"),
        )
    };
    json!([segment("kind"), segment("name")])
}

/// The member of a metric that belongs to each of its types.
const SOURCES: [(&str, &str); 5] = [
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("Pods", "pods"),
    ("Object", "object"),
    ("External", "external"),
];

/// `spec.metrics[]`: exactly the source that `type` names.
pub(super) fn metric_spec() -> Value {
    let given = SOURCES.iter().map(|(kind, member)| {
        rule(
            &format!("self.type != '{kind}' || has(self.{member})"),
            &format!(".{member}"),
            REQUIRED,
            &format!("type is {kind}: describe the metric under {member}"),
        )
    });
    let alone = SOURCES.iter().map(|(kind, member)| {
        rule(
            &format!("!has(self.{member}) || self.type == '{kind}'"),
            &format!(".{member}"),
            FORBIDDEN,
            &format!("only the source that type names may be set: remove {member}, or write type: {kind}"),
        )
    });
    Value::Array(given.chain(alone).collect())
}

/// `target` of a metric: quantities are positive.
pub(super) fn metric_target() -> Value {
    let positive = ["value", "averageValue"].map(|member| {
        rule(
            &format!("!has(self.{member}) || {}", quantity(member, POSITIVE, "> 0")),
            &format!(".{member}"),
            INVALID,
            "must be greater than 0",
        )
    });
    json!(positive)
}

/// Text of a quantity above zero: no minus, and a digit other than 0 before the unit.
const POSITIVE: &str = r"^[+]?[0-9.]*[1-9]";
/// Text of a quantity that is not below zero.
const NOT_NEGATIVE: &str = r"^([+]?[0-9.]|-[0.]*([^0-9.]|$))";

/// A condition on `self.<member>`, a quantity: `pattern` for text, `comparison` for a number.
///
/// `quantity()` would read both, but the API server supports it only since 1.29, and has no cost bound for `string()`.
fn quantity(member: &str, pattern: &str, comparison: &str) -> String {
    format!("(type(self.{member}) == string ? self.{member}.matches('{pattern}') : self.{member} {comparison})")
}

/// `resource` and `containerResource` of a metric: a share of the requests or an average, not both. The value that is
/// set counts, whatever the type says.
pub(super) fn resource_source() -> Value {
    let both = "!has(self.target.averageUtilization) || !has(self.target.averageValue)";
    json!([
        rule(
            "has(self.target.averageUtilization) || has(self.target.averageValue)",
            ".target",
            REQUIRED,
            "write averageUtilization or averageValue",
        ),
        rule(
            &format!("self.target.type == 'AverageValue' || {both}"),
            ".target.averageValue",
            FORBIDDEN,
            "write either averageUtilization or averageValue, not both",
        ),
        rule(
            &format!("self.target.type != 'AverageValue' || {both}"),
            ".target.averageUtilization",
            FORBIDDEN,
            "type is AverageValue: remove averageUtilization",
        ),
    ])
}

/// As [`resource_source`]; the container has a name, the resource is one that a container can request.
pub(super) fn container_resource_source() -> Value {
    let container = rule(
        "self.container.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",
        ".container",
        INVALID,
        "write the name of a container: lowercase letters, digits and '-', not at the ends",
    );
    let name = rule(
        "self.name in ['cpu', 'memory', 'ephemeral-storage'] || self.name.startsWith('hugepages-')
         || self.name.contains('/')",
        ".name",
        INVALID,
        "write what a container requests: cpu, memory, ephemeral-storage, hugepages-<size> or a name such as example.com/gpu",
    );
    and(resource_source(), [container, name])
}

/// `pods` of a metric: an average over the pods, whatever the type says.
pub(super) fn pods_source() -> Value {
    let given =
        rule("has(self.target.averageValue)", ".target", REQUIRED, "a Pods metric is averaged: write averageValue");
    json!([given, metric_name(message_of_name())])
}

/// `object` and `external` of a metric: the member that the type names is set.
pub(super) fn object_source() -> Value {
    let (whole, averaged) = ("has(self.target.value)", "has(self.target.averageValue)");
    let types = [("Value", "value", whole, averaged), ("AverageValue", "averageValue", averaged, whole)];
    let given = types.map(|(kind, member, this, other)| {
        rule(
            &format!("self.target.type != '{kind}' || {this} || {other}"),
            &format!(".target.{member}"),
            REQUIRED,
            &format!("type is {kind}: write {member}"),
        )
    });
    let fitting = types.map(|(kind, member, this, other)| {
        rule(
            &format!("self.target.type != '{kind}' || {this} || !{other}"),
            ".target.type",
            INVALID,
            &format!("type is {kind}, but {member} is not given: write it, or the type of the value that is given"),
        )
    });
    let known = rule(
        "self.target.type != 'Utilization'",
        ".target.type",
        INVALID,
        "this metric has type Value or AverageValue",
    );
    Value::Array(given.into_iter().chain(fitting).chain([known, metric_name(message_of_name())]).collect())
}

/// As [`object_source`]; only one of the two values counts, so only one may be set.
pub(super) fn external_source() -> Value {
    let one = rule(
        "!has(self.target.value) || !has(self.target.averageValue)",
        ".target.averageValue",
        FORBIDDEN,
        "write either value or averageValue, not both",
    );
    and(object_source(), [one])
}

const fn message_of_name() -> &'static str {
    "write the name of the metric alone: without '/' and '%', and neither '.' nor '..'"
}

/// The name of the metric becomes a segment of a URL path.
fn metric_name(message: &str) -> Value {
    rule("self.metric.name.matches('^[^/%]*$') && !(self.metric.name in ['.', '..'])", ".metric.name", INVALID, message)
}

/// `scaleUp` and `scaleDown` of `spec.behavior`.
pub(super) fn scaling_rules() -> Value {
    json!([rule(
        &format!("!has(self.tolerance) || {}", quantity("tolerance", NOT_NEGATIVE, ">= 0")),
        ".tolerance",
        INVALID,
        "must not be negative",
    )])
}

/// `spec.federatedHPAAssignment`: with zero weights only, no cluster would get replicas.
pub(super) fn assignment() -> Value {
    json!([rule(
        "!has(self.federatedHPAAssignmentType) || self.federatedHPAAssignmentType != 'StaticWeighted'
         || !has(self.clusterAutoscalingPreference)
         || size(self.clusterAutoscalingPreference) == 0
         || self.clusterAutoscalingPreference.exists(p, has(p.staticWeight) && p.staticWeight > 0)",
        ".clusterAutoscalingPreference",
        REQUIRED,
        "StaticWeighted divides by weight: write a staticWeight greater than 0 for at least one entry",
    )])
}

/// `clusterAutoscalingPreference[]`.
pub(super) fn cluster_autoscaling_preference() -> Value {
    json!([rule(
        "!has(self.autoscalingMinThreshold) || !has(self.autoscalingMaxThreshold)
         || self.autoscalingMinThreshold <= self.autoscalingMaxThreshold",
        ".autoscalingMaxThreshold",
        INVALID,
        "must not be less than autoscalingMinThreshold",
    )])
}

/// A requirement on a field of a Cluster: `In` and `NotIn` need values.
pub(super) fn field_selector_requirement() -> Value {
    json!([rule(
        "has(self.values) && size(self.values) > 0",
        ".values",
        REQUIRED,
        "write at least one value to compare with"
    )])
}
