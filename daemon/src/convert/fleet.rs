//! Member clusters and the settings of the user for clusters: API objects -> core. No I/O.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;

use crate::api::cluster::{Cluster, ClusterCondition};
use crate::api::federated_hpa as api;
use crate::decision::fleet::api_enablements::ApiEnablements;
use crate::decision::fleet::taint::Taint;
use crate::decision::fleet::{Member, Readiness};
use crate::decision::plan::HpaVersion;
use crate::decision::split::Replicas;
use crate::decision::subject::Text;
use crate::decision::subject::federated_hpa::{
    Assignment, ClusterAffinity, ClusterAutoscalingPreference, FieldSelector,
};
use crate::decision::subject::hpa::{LabelSelector, SelectorRequirement};

/// `spec.federatedHPAAssignment`
#[must_use]
pub fn assignment(assignment: &api::FederatedHPAAssignment) -> Assignment<'_> {
    let preferences = assignment.cluster_autoscaling_preference.iter().flatten();
    Assignment {
        type_: assignment.federated_hpa_assignment_type.as_deref().unwrap_or_default().into(),
        preferences: preferences.map(preference).collect(),
    }
}

fn preference(entry: &api::ClusterAutoscalingPreference) -> ClusterAutoscalingPreference<'_> {
    ClusterAutoscalingPreference {
        target_cluster: Some(affinity(&entry.target_cluster)),
        static_weight: entry.static_weight,
        priority: entry.priority,
        min_threshold: entry.autoscaling_min_threshold,
        max_threshold: entry.autoscaling_max_threshold,
    }
}

/// A ClusterAffinity.
#[must_use]
pub fn affinity(affinity: &api::ClusterAffinity) -> ClusterAffinity<'_> {
    ClusterAffinity {
        label_selector: affinity.label_selector.as_ref().map(label_selector),
        field_selector: affinity.field_selector.as_ref().map(|selector| FieldSelector {
            match_expressions: selector
                .match_expressions
                .iter()
                .flatten()
                .map(|requirement| SelectorRequirement {
                    key: text(&requirement.key),
                    operator: text(&requirement.operator),
                    values: texts(requirement.values.as_deref()).into_iter().map(Some).collect(),
                })
                .collect(),
        }),
        cluster_names: texts(affinity.cluster_names.as_deref()),
        exclude: texts(affinity.exclude.as_deref()),
    }
}

/// A label selector.
#[must_use]
pub fn label_selector(selector: &meta::LabelSelector) -> LabelSelector<'_> {
    let labels = selector.match_labels.iter().flatten();
    LabelSelector {
        match_labels: labels.map(|(key, value)| (text(key), text(value))).collect(),
        match_expressions: selector
            .match_expressions
            .iter()
            .flatten()
            .map(|requirement| SelectorRequirement {
                key: text(&requirement.key),
                operator: text(&requirement.operator),
                values: texts(requirement.values.as_deref()).into_iter().map(Some).collect(),
            })
            .collect(),
    }
}

/// The parts of a member cluster that selection and failover read.
#[must_use]
pub fn member(cluster: &Cluster) -> Member<'static> {
    let own = |text: &str| Cow::Owned::<str>(text.to_owned());
    let spec = &cluster.spec;
    let zones = if spec.zones.is_empty() { std::slice::from_ref(&spec.zone) } else { &spec.zones };
    let labels = cluster.metadata.labels.iter().flatten();
    Member {
        name: own(cluster.metadata.name.as_deref().unwrap_or_default()),
        labels: labels.map(|(key, value)| (own(key), own(value))).collect(),
        provider: own(&spec.provider),
        region: own(&spec.region),
        zones: zones.iter().filter(|zone| !zone.is_empty()).map(|zone| own(zone)).collect(),
        taints: spec
            .taints
            .iter()
            .map(|taint| Taint {
                key: own(&taint.key),
                value: own(&taint.value),
                effect: own(&taint.effect),
                added: taint.time_added.as_ref().map(|time| time.0),
            })
            .collect(),
        enablements: enablements(cluster),
        readiness: readiness(cluster),
        since: ready(cluster).and_then(|ready| ready.last_transition_time.as_ref()).map(|time| time.0),
        deleting: cluster.metadata.deletion_timestamp.is_some(),
    }
}

fn condition<'a>(cluster: &'a Cluster, type_: &str) -> Option<&'a ClusterCondition> {
    cluster.status.conditions.iter().find(|condition| condition.type_ == type_)
}

fn ready(cluster: &Cluster) -> Option<&ClusterCondition> {
    condition(cluster, "Ready")
}

/// The kinds that a member cluster serves, as last collected.
fn enablements(cluster: &Cluster) -> ApiEnablements<'static> {
    let mut kinds: BTreeMap<Text<'static>, Vec<Text<'static>>> = BTreeMap::new();
    for served in &cluster.status.api_enablements {
        let own = served.resources.iter().map(|resource| Cow::Owned(resource.kind.clone()));
        kinds.entry(Cow::Owned(served.group_version.clone())).or_default().extend(own);
    }
    let complete = condition(cluster, "CompleteAPIEnablements").is_some_and(|complete| complete.status == "True");
    ApiEnablements::Collected { kinds: Arc::new(kinds), complete }
}

/// Whether a member cluster answers, by its condition `Ready`.
#[must_use]
pub fn readiness(cluster: &Cluster) -> Readiness {
    let Some(ready) = ready(cluster) else { return Readiness::Unsaid };
    let since = ready.last_transition_time.as_ref().map(|time| time.0).unwrap_or_default();
    match &*ready.status {
        "True" => Readiness::Ready,
        "False" => Readiness::NotReady(since),
        _ => Readiness::Unknown(since),
    }
}

/// The API version of HPAs in a cluster with this version of Kubernetes (docs/design.md#on-the-wire): the newer one
/// where the version is unknown.
#[must_use]
pub fn hpa_version(kubernetes: &str) -> HpaVersion {
    match release(kubernetes) {
        Some((1, minor)) if minor < 23 => HpaVersion::V1,
        _ => HpaVersion::V2,
    }
}

/// Major and minor of a version such as `v1.31.2`.
#[must_use]
pub fn release(kubernetes: &str) -> Option<(u32, u32)> {
    let mut parts = kubernetes.trim_start_matches('v').split('.');
    let mut number = || parts.next()?.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok();
    Some((number()?, number()?))
}

/// Converts replicas from the API; negative numbers become 0.
#[must_use]
pub fn replicas(number: i32) -> Replicas {
    Replicas::try_from(number).unwrap_or_default()
}

/// Converts replicas to the API.
#[must_use]
pub fn number(replicas: Replicas) -> i32 {
    i32::try_from(replicas).unwrap_or(i32::MAX)
}

/// Converts a count to the API.
#[must_use]
pub fn count(many: usize) -> i32 {
    i32::try_from(many).unwrap_or(i32::MAX)
}

fn text(text: &str) -> Text<'_> {
    Cow::Borrowed(text)
}

fn texts(texts: Option<&[String]>) -> Vec<Text<'_>> {
    texts.unwrap_or_default().iter().map(|text| Cow::Borrowed(text.as_str())).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::decision::fleet::api_enablements::{ApiEnablement, GroupVersionKind};

    #[test]
    fn a_cluster_below_1_23_gets_the_older_hpa() {
        for (version, expected) in [
            ("v1.22.17", HpaVersion::V1),
            ("v1.22.17-eks-1", HpaVersion::V1),
            ("1.9", HpaVersion::V1),
            ("v1.22+", HpaVersion::V1),
            ("v1.23.0", HpaVersion::V2),
            ("v1.36.2", HpaVersion::V2),
            ("v2.0.0", HpaVersion::V2),
            ("", HpaVersion::V2),
            ("master", HpaVersion::V2),
        ] {
            assert_eq!(hpa_version(version), expected, "{version}");
        }
    }

    #[test]
    fn the_kinds_that_a_cluster_serves_are_read_as_karmada_collects_them() {
        let of = |status: serde_json::Value| {
            let wire: Cluster = serde_json::from_value(json!({"metadata": {"name": "a"}, "status": status})).unwrap();
            let read = member(&wire);
            ["Deployment", "CloneSet"]
                .map(|kind| read.enablements.of(GroupVersionKind { group_version: "apps/v1", kind }))
        };
        let list = json!([{"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]},
            {"groupVersion": "v1", "resources": null}]);
        let complete = |status: &str| json!([{"type": "CompleteAPIEnablements", "status": status}]);
        let (enabled, disabled, unknown) = (ApiEnablement::Enabled, ApiEnablement::Disabled, ApiEnablement::Unknown);
        assert_eq!(of(json!({"apiEnablements": list, "conditions": complete("True")})), [enabled, disabled]);
        assert_eq!(of(json!({"apiEnablements": list, "conditions": complete("False")})), [enabled, unknown]);
        assert_eq!(of(json!({"apiEnablements": list})), [enabled, unknown]);
        assert_eq!(of(json!({"apiEnablements": null, "conditions": complete("True")})), [disabled, disabled]);
        assert_eq!(of(json!({})), [unknown, unknown]);
    }

    #[test]
    fn a_cluster_is_read_with_its_condition_and_its_taints() {
        let wire: Cluster = serde_json::from_value(json!({
            "metadata": {"name": "a", "labels": {"tier": "own"}}, "spec": {"region": "eu", "zone": "eu-1",
                "taints": [{"key": "k", "effect": "NoExecute", "timeAdded": "1970-01-01T00:00:10Z"}]},
            "status": {"kubernetesVersion": "v1.22.0", "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": "1970-01-01T00:00:20Z"}]},
        }))
        .unwrap();
        let read = member(&wire);
        assert_eq!(read.readiness, Readiness::NotReady("1970-01-01T00:00:20Z".parse().unwrap()));
        assert_eq!((&*read.zones[0], read.taints[0].added), ("eu-1", "1970-01-01T00:00:10Z".parse().ok()));
    }
}
