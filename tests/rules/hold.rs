//! What fhpa holds a FederatedHPA by is written by fhpa alone, whoever writes the rest (docs/design.md#on-the-wire).

use fhpa::admission::endpoint::Endpoint::{MutateFederatedHPA, MutateResourceBinding, MutateWorkload};
use fhpa::admission::envelope::Operation::{Create, Update};
use fhpa::admission::verdict::patched;
use fhpa::convert;
use fhpa::decision::validation::Settings;
use serde_json::{Value, json};

use super::world::{Others, review, review_of, reviewer, reviewer_with, said};

const FINALIZER: &str = "fhpa.karmada.io/finalizer";
const WORKLOAD: &str = "fhpa.karmada.io/workload";
const OWN: &str = "fhpa-finalizer";

fn object(metadata: &Value, mode: &str) -> Value {
    let mut all = json!({"name": "web", "namespace": "prod"});
    all.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "metadata": all, "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 1,
        "maxReplicas": 4, "mode": mode, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80}}}]}})
}

fn held() -> Value {
    json!({"finalizers": ["a/b", FINALIZER], "annotations": {"a": "b", WORKLOAD: "apps/v1 Deployment web"}})
}

/// Finalizers and annotation of what is stored when `manager` writes `new`.
fn stored(manager: &str, new: &Value, old: Option<&Value>) -> (Value, Value) {
    let operation = if old.is_some() { Update } else { Create };
    let new = object(new, "Centralized");
    let old = old.map(|old| object(old, "Distributed").to_string());
    let reviewer = reviewer(Others::default());
    let verdict = review_of(manager, &reviewer, MutateFederatedHPA, operation, &new.to_string(), old.as_deref());
    assert_eq!(said(&verdict), "");
    let written = patched(new, &verdict.patch).unwrap();
    let again = review_of(manager, &reviewer, MutateFederatedHPA, operation, &written.to_string(), old.as_deref());
    assert!(again.patch.is_empty(), "{:?}", again.patch);
    let metadata = &written["metadata"];
    assert_eq!(metadata["annotations"]["fhpa.karmada.io/mode"], "Centralized", "the copy is written beside");
    (metadata["finalizers"].clone(), metadata["annotations"][WORKLOAD].clone())
}

#[test]
fn whoever_writes_a_held_object_leaves_it_held() {
    let kept = (json!(["a/b", FINALIZER]), json!("apps/v1 Deployment web"));
    for new in [
        json!({"finalizers": ["a/b"]}),
        json!({"finalizers": ["a/b"], "annotations": {"c": "d"}}),
        json!({"finalizers": ["a/b", FINALIZER], "annotations": {WORKLOAD: "apps/v1 Deployment other"}}),
        json!({"finalizers": ["a/b", FINALIZER]}),
        json!({"finalizers": ["a/b"], "annotations": {WORKLOAD: "apps/v1 Deployment web"}}),
    ] {
        assert_eq!(stored("user", &new, Some(&held())), kept, "{new}");
    }
    let bare = stored("", &json!({}), Some(&held()));
    assert_eq!(bare, (json!([FINALIZER]), kept.1), "a manifest has neither");
}

#[test]
fn fhpa_lets_go_and_takes_hold() {
    let free = json!({"finalizers": ["a/b"], "annotations": {"a": "b"}});
    assert_eq!(stored(OWN, &free, Some(&held())), (json!(["a/b"]), Value::Null));
    assert_eq!(stored(OWN, &held(), Some(&free)), (held()["finalizers"].clone(), json!("apps/v1 Deployment web")));
}

#[test]
fn who_deletes_an_object_may_force_it() {
    let mut deleted = held();
    deleted["deletionTimestamp"] = json!("2026-11-20T09:00:00Z");
    assert_eq!(stored("user", &json!({"finalizers": ["a/b"]}), Some(&deleted)), (json!(["a/b"]), Value::Null));
}

#[test]
fn an_object_that_holds_nothing_yet_cannot_be_made_to() {
    assert_eq!(stored("user", &held(), None), (json!(["a/b"]), Value::Null), "an exported object");
    let copied = json!({"annotations": {WORKLOAD: "apps/v1 Deployment other"}});
    assert_eq!(stored("user", &copied, None), (Value::Null, Value::Null));
    assert_eq!(stored("user", &held(), Some(&json!({"finalizers": ["a/b"]}))), (json!(["a/b"]), Value::Null));
}

/// The only other object: Centralized, on `other`, with this metadata.
fn around(metadata: &Value) -> Others {
    let mut hpa = object(metadata, "Centralized");
    hpa["spec"]["scaleTargetRef"]["name"] = json!("other");
    let hpa = convert::known_federated_hpa(&serde_json::from_value(hpa).unwrap(), None);
    Others { federated: vec![hpa], kept: Some(Vec::new()), ..Others::default() }
}

#[test]
fn a_workload_that_is_handed_back_keeps_its_label_and_a_new_binding_waits() {
    let workload = |labels: Value| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "prod", "labels": labels}})
            .to_string()
    };
    let binding = json!({"metadata": {"name": "web-deployment", "namespace": "prod"}, "spec": {"resource": {
        "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "web"}}})
    .to_string();
    let (new, old) = (workload(json!({})), workload(json!({"resourcetemplate.karmada.io/retain-replicas": "true"})));
    let asked = |metadata: &Value| {
        let reviewer = reviewer_with(around(metadata), Settings::default());
        let label = review(&reviewer, MutateWorkload, Update, &new, Some(&old));
        let suspends = review(&reviewer, MutateResourceBinding, Create, &binding, None);
        (label.patch.len(), suspends.patch.len(), said(&label))
    };
    let (label, suspends, said) = asked(&held());
    assert_eq!((label, suspends), (1, 2));
    assert_eq!(
        said,
        "warning: metadata.labels: FederatedHPA prod/web scales this workload in member clusters: \
         resourcetemplate.karmada.io/retain-replicas stays, and fhpa removes it when that is deleted or hands the workload \
         back; keep it out of manifests"
    );
    let copied = json!({"annotations": held()["annotations"]});
    assert_eq!(asked(&copied), (0, 0, String::new()), "an annotation alone holds nothing");
}
