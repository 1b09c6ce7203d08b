//! The fields that only fhpa knows, from stored objects and from objects under review. No I/O.

use kube::core::ObjectMeta;
use serde_json::Value;

use crate::api;
use crate::decision::mirror::{self, Notes, OF_CRON_FEDERATED_HPA, OF_FEDERATED_HPA, OF_RULE, Own};
use crate::decision::subject::{CronFederatedHPA, Metadata};

/// Fields of a FederatedHPA.
#[must_use]
pub fn federated_hpa(hpa: &api::FederatedHPA) -> Own {
    // A decoded spec is an object.
    mirror::of_federated_hpa(&serde_json::to_value(&hpa.spec).unwrap_or_default())
}

/// Fields of a CronFederatedHPA.
#[must_use]
pub fn cron_federated_hpa(cron: &api::CronFederatedHPA) -> Own {
    mirror::of_rules(cron.spec.rules.iter().map(|rule| (rule.name.as_str(), rule.max_delay_seconds)))
}

/// Fields of a CronFederatedHPA under review.
#[must_use]
pub fn cron_subject(cron: &CronFederatedHPA<'_>) -> Own {
    mirror::of_rules(cron.spec.rules.iter().map(|rule| (&*rule.name, rule.max_delay_seconds)))
}

/// Fields of a FederatedHPA under review.
#[must_use]
pub fn federated_hpa_value(object: &Value) -> Own {
    object.get("spec").map(mirror::of_federated_hpa).unwrap_or_default()
}

/// The copy of what is `known` in annotations.
#[must_use]
pub fn notes<'a>(known: &'static [&'static str], metadata: &'a ObjectMeta) -> Notes<'a> {
    Notes::of(known, metadata.annotations.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// The copy of what is `known` in annotations of an object under review.
#[must_use]
pub fn subject_notes<'a>(known: &'static [&'static str], metadata: &'a Metadata<'_>) -> Notes<'a> {
    Notes::of(known, metadata.annotations.iter().map(|(name, value)| (&**name, &**value)))
}

/// Fields of a stored object, given as JSON, that restrict where a workload runs, and that Karmada does not know:
/// `spec.clusterAffinity`. For an object read through a foreign CRD, those of its copy.
#[must_use]
pub fn restricting(object: &Value) -> Vec<String> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let rules = spec.get("rules").and_then(Value::as_array).into_iter().flatten();
    let rules = rules.filter_map(|rule| {
        Some((
            rule.get("name")?.as_str()?,
            rule.get(OF_RULE.first().copied().unwrap_or_default()).and_then(Value::as_i64),
        ))
    });
    let mut own = mirror::of_federated_hpa(spec);
    own.extend(mirror::of_rules(rules));
    if own.is_empty() {
        let copy = object.pointer("/metadata/annotations").and_then(|notes| notes.get(mirror::SPEC)?.as_str());
        own = copy.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        own.retain(|name, _| OF_FEDERATED_HPA.iter().chain(&OF_CRON_FEDERATED_HPA).any(|known| known == name));
    }
    let mut fields = Vec::new();
    for (name, value) in own {
        match &*name {
            // These allow more replicas or clusters, or select how fhpa works and what it tells.
            "autoscaleMultiClusterDelay" | "minCoveredLosses" | "mode" | "scaleAssist" | "scalingToZero" => {}
            "suspend" if value != true => {}
            "federatedHPAAssignment" => {
                let preferences =
                    value.get("clusterAutoscalingPreference").and_then(Value::as_array).into_iter().flatten();
                let has =
                    |name: &str| preferences.clone().any(|one| one.get(name).is_some_and(|value| !value.is_null()));
                let thresholds =
                    ["autoscalingMinThreshold", "autoscalingMaxThreshold"].into_iter().filter(|name| has(name));
                fields.push("spec.federatedHPAAssignment".to_owned());
                fields.extend(thresholds.map(str::to_owned));
            }
            "rules" => {
                let names = value.as_object().into_iter().flatten().map(|(name, _)| name.as_str());
                fields.push(format!("maxDelaySeconds of {}", names.collect::<Vec<_>>().join(", ")));
            }
            _ => fields.push(format!("spec.{name}")),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_that_comes_in_and_one_that_is_stored_have_the_same_fields() {
        let object = json!({"metadata": {"name": "web"}, "spec": {"maxReplicas": 4, "mode": "Distributed", "scaleAssist": false,
            "scaleTargetRef": {"kind": "Deployment", "name": "web"}, "scalingToZero": null,
            "federatedHPAAssignment": {"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": [
                {"targetCluster": {"clusterNames": ["member1"]}, "staticWeight": 2}]},
            "clusterHPAPreference": [{"clusterName": "member1", "maxResourceUsage": 0.5}]}});
        let stored: api::FederatedHPA = serde_json::from_value(object.clone()).unwrap();
        let coming = federated_hpa_value(&object);
        assert_eq!(federated_hpa(&stored), coming);
        assert_eq!(coming.len(), 4, "{coming:?}");
        assert_eq!(restricting(&object), ["spec.clusterHPAPreference", "spec.federatedHPAAssignment"]);
        assert!(federated_hpa_value(&json!(null)).is_empty() && federated_hpa_value(&json!({"spec": null})).is_empty());
    }
}
