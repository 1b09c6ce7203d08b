//! fhpa's CRDs in a real kube-apiserver: it serves them, and judges objects like the evaluator of the tests.

use std::collections::BTreeSet;

use fhpa::decision::limits;
use kube::Client;
use serde_json::{Value, json};

use super::control_plane::ControlPlane;
use crate::crds::agreement::{self, Case};
use crate::crds::evaluator::evaluator;
use crate::crds::upstream::{CRON, FEDERATED};

/// The API server's note that it stopped early, and its word on numbers beyond int32, have no place.
const NOWHERE: &str = "<nil>";
/// Every how many-th of the recorded objects is sent.
const STEP: usize = 12;

/// The places that the API server refuses in the creation of `object`, a dry run.
async fn refused(client: &Client, object: &Value) -> BTreeSet<String> {
    let plural = if object["kind"] == "FederatedHPA" { "federatedhpas" } else { "cronfederatedhpas" };
    let path = format!("/apis/autoscaling.karmada.io/v1alpha1/namespaces/default/{plural}?dryRun=All");
    let request = http::Request::post(path).header("content-type", "application/json");
    match client.request::<Value>(request.body(object.to_string().into_bytes()).unwrap()).await {
        Ok(_) => BTreeSet::new(),
        Err(kube::Error::Api(status)) => {
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            assert!(!causes.is_empty(), "{}", status.message);
            causes.into_iter().map(|cause| cause.field).collect()
        }
        Err(error) => panic!("{error}"),
    }
}

/// Whether a whole number is written as a fraction, such as `10.0`. The schema takes that, CEL does not. (kubectl never
/// writes it, and the API server rewrites it when a mutating webhook has patched the object.)
fn has_whole_fraction(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.is_f64() && number.as_f64().is_some_and(|number| number.fract() == 0.0),
        Value::Array(items) => items.iter().any(has_whole_fraction),
        Value::Object(members) => members.values().any(has_whole_fraction),
        _ => false,
    }
}

#[tokio::test]
async fn a_real_api_server_agrees_on_the_cases_of_the_rules() {
    let Some(plane) = ControlPlane::shared("verdicts of the CRDs on the agreement cases") else { return };
    let client = plane.client().await;
    for Case { object, refused_at } in agreement::cases() {
        let mut places = refused(&client, &object).await;
        places.remove(NOWHERE);
        assert_eq!(places.is_empty(), refused_at.is_none(), "{places:?}: {}", object["spec"]);
        let at = refused_at.unwrap_or_default();
        assert!(places.iter().all(|place| agreement::is_within(place, at)), "{places:?}: {}", object["spec"]);
    }
}

/// The metadata of the recorded objects is replaced: the schema says nothing about it.
#[tokio::test]
async fn a_real_api_server_and_the_evaluator_give_the_same_verdicts() {
    let Some(plane) = ControlPlane::shared("the evaluator of the CRDs against the real one") else { return };
    let client = plane.client().await;
    let mut disagreements = Vec::new();
    for (kind, lines) in [("FederatedHPA", &*FEDERATED), ("CronFederatedHPA", &*CRON)] {
        for line in lines.iter().step_by(STEP) {
            let mut object = line.object.clone();
            let Some(members) = object.as_object_mut() else { continue };
            members.insert("apiVersion".into(), json!("autoscaling.karmada.io/v1alpha1"));
            members.insert("kind".into(), json!(kind));
            members.insert("metadata".into(), json!({"name": "sample", "namespace": "default"}));
            let ours: BTreeSet<String> = evaluator(kind).faults(&object).into_iter().map(|fault| fault.path).collect();
            let mut theirs = refused(&client, &object).await;
            let one_verdict = ours.is_empty() == theirs.is_empty();
            // The server leaves some checks out once one has failed, so it may name fewer places, never others.
            theirs.remove(NOWHERE);
            if !(one_verdict && theirs.is_subset(&ours) || has_whole_fraction(&object["spec"]) && !theirs.is_empty()) {
                disagreements.push(format!("{}: evaluator {ours:?}, API server {theirs:?}", line.name));
            }
        }
    }
    assert!(disagreements.is_empty(), "{}", disagreements.join("\n"));
}

const WRONG_METRICS: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  minReplicas: 5
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Utilization, averageValue: 500m}}
  - type: Pods
    object:
      describedObject: {apiVersion: v1, kind: Service, name: web}
      metric: {name: queue}
      target: {type: Value, value: "0"}
"#;

const WRONG_TARGET: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: nightly, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
  - {name: down, schedule: "0 22 * * *", targetMinReplicas: 1, targetMaxReplicas: 3, timeZone: Local}
  - {name: up, schedule: "0 6 * * *", targetReplicas: 8}
  - {name: up, schedule: "0 7 * * 1", targetReplicas: 9}
"#;

const WRONG_WORDS: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: FederatedHPA
metadata: {name: web, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 10
  mode: distributed
  federatedHPAAssignment:
    federatedHPAAssignmentType: StaticWeight
  clusterHPAPreference:
  - {clusterName: m1, maxResourceUsage: 1.5}
"#;

#[test]
fn kubectl_prints_what_to_write_instead() {
    let Some(plane) = ControlPlane::shared("what kubectl prints of the CRDs' refusals") else { return };
    // The order in which the API server goes through the members of an object is not fixed.
    let said = |manifest| {
        let said = plane.kubectl(&["create", "-f", "-"], manifest).1;
        let mut lines: Vec<&str> = said.lines().map(str::trim_end).collect();
        lines[1..].sort_unstable();
        lines.join("\n")
    };
    insta::assert_snapshot!(said(WRONG_METRICS), @r#"
    The FederatedHPA "web" is invalid:
    * spec.maxReplicas: Invalid value: must not be less than minReplicas: raise maxReplicas or lower minReplicas
    * spec.metrics[0].resource.target.type: Invalid value: type is Utilization, but averageUtilization is not given: write it, or the type of the value that is given
    * spec.metrics[1].object.target.value: Invalid value: must be greater than 0
    * spec.metrics[1].object: Forbidden: only the source that type names may be set: remove object, or write type: Object
    * spec.metrics[1].pods: Required value: type is Pods: describe the metric under pods
    * spec.scaleTargetRef.apiVersion: Required value: write the API version of the target, for example apps/v1
    "#);
    insta::assert_snapshot!(said(WRONG_TARGET), @r#"
    The CronFederatedHPA "nightly" is invalid:
    * spec.rules: Invalid value: each rule has a name of its own: rename all but one of those with equal names
    * spec.rules: Required value: the target is not a FederatedHPA: write targetReplicas in each rule
    * spec.rules[0].timeZone: Invalid value: Local differs from machine to machine: write an IANA name such as Europe/Berlin, or leave timeZone out
    "#);
    insta::assert_snapshot!(said(WRONG_WORDS), @r#"
    The FederatedHPA "web" is invalid:
    * <nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation
    * spec.clusterHPAPreference[0].maxResourceUsage: Invalid value: 1.5: spec.clusterHPAPreference[0].maxResourceUsage in body should be less than or equal to 1
    * spec.federatedHPAAssignment.federatedHPAAssignmentType: Unsupported value: "StaticWeight": supported values: "Duplicated", "Aggregated", "StaticWeighted", "DynamicWeighted", "Prioritized"
    * spec.mode: Unsupported value: "distributed": supported values: "Distributed", "Centralized"
    "#);
}

#[test]
fn kubectl_get_prints_the_columns_of_karmada_and_then_those_of_fhpa() {
    let Some(plane) = ControlPlane::shared("the columns of kubectl get") else { return };
    let namespace = plane.namespace("columns");
    for object in agreement::cases().into_iter().take(2).map(|case| case.object) {
        let object = object.to_string().replace(r#""namespace":"default""#, r#""namespace":"columns""#);
        let (created, said) = plane.kubectl(&["create", "-f", "-"], &object);
        assert!(created, "{said}");
    }
    let columns = |name| {
        let said = plane.kubectl(&["get", name, "-n", namespace], "").1;
        let rows: Vec<Vec<String>> =
            said.lines().map(|row| row.split_whitespace().map(str::to_owned).collect()).collect();
        // Nobody has written a status, and the age differs.
        let head = rows[0].join(" ");
        let values = rows[1].iter().filter(|value| !value.ends_with('s'));
        [head, values.cloned().collect::<Vec<_>>().join(" ")]
    };
    assert_eq!(
        columns("fhpa"),
        [
            "NAME REFERENCE-KIND REFERENCE-NAME MINPODS MAXPODS REPLICAS AGE MODE READY ASSIGNED",
            "web Deployment web 2 10 Distributed"
        ]
    );
    assert_eq!(
        columns("cronfhpa"),
        ["NAME REFERENCE-KIND REFERENCE-NAME AGE SUSPENDED NEXT LAST READY", "nightly Deployment web"]
    );
    let defaults = "-o=jsonpath={.spec.rules[0].suspend} {.spec.rules[0].successfulHistoryLimit} {.spec.rules[0].failedHistoryLimit}";
    assert_eq!(plane.kubectl(&["get", "cronfhpa", "nightly", "-n", namespace, defaults], "").1, "false 3 3");
}

/// The rules are one list: who applies them owns all of them.
#[test]
fn two_appliers_do_not_mix_their_rules() {
    let Some(plane) = ControlPlane::shared("server-side apply of rules by two") else { return };
    let namespace = plane.namespace("appliers");
    let apply = |manager: &str, rule: &str, more: &[&str]| {
        let object = json!({
            "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
            "metadata": {"name": "shared", "namespace": namespace},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "rules": [{"name": rule, "schedule": "0 6 * * *", "targetReplicas": 4}],
            },
        });
        let manager = format!("--field-manager={manager}");
        let arguments = [&["apply", "--server-side", &manager, "-f", "-"], more].concat();
        plane.kubectl(&arguments, &object.to_string())
    };
    let (applied, said) = apply("day", "up", &[]);
    assert!(applied, "{said}");
    let (applied, said) = apply("night", "down", &[]);
    assert!(!applied && said.contains(".spec.rules"), "{said}");
    let (applied, said) = apply("night", "down", &["--force-conflicts"]);
    assert!(applied, "{said}");
    let names =
        plane.kubectl(&["get", "cronfhpa", "shared", "-n", namespace, "-o=jsonpath={.spec.rules[*].name}"], "").1;
    assert_eq!(names, "down");
}

/// Removes from a CRD what refuses values, so that it stores what ours does not.
fn relaxed(node: &mut Value) {
    match node {
        Value::Object(members) => {
            for check in [
                "x-kubernetes-validations",
                "x-kubernetes-list-type",
                "x-kubernetes-list-map-keys",
                "enum",
                "minimum",
                "maximum",
                "maxItems",
                "maxLength",
            ] {
                members.remove(check);
            }
            members.values_mut().for_each(relaxed);
        }
        Value::Array(items) => items.iter_mut().for_each(relaxed),
        _ => {}
    }
}

const OLD_NIGHTLY: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: nightly, namespace: default}
spec:
  scaleTargetRef: {kind: Deployment, name: web}
  rules:
  - {name: down, schedule: "0 22 * * *", targetReplicas: 1, timeZone: Local}
  - {name: up, schedule: "0 6 * * *", targetReplicas: 8}
"#;

const OLD_TWINS: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: twins, namespace: default}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  rules:
  - {name: up, schedule: "0 6 * * *", targetReplicas: 8}
  - {name: up, schedule: "0 7 * * 1", targetReplicas: 9}
"#;

/// One rule more than there may be.
fn long_list() -> Value {
    let rule = |index: usize| json!({"name": format!("r{index}"), "schedule": "0 6 * * *", "targetReplicas": 8});
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA",
        "metadata": {"name": "long", "namespace": "default"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "rules": (0..=limits::RULES).map(rule).collect::<Vec<_>>(),
        },
    })
}

/// Objects that were stored before our CRDs came: what an update does not touch is a warning at most. (Needs the CRD
/// validation ratcheting of Kubernetes 1.30.)
#[test]
fn an_update_answers_for_what_it_touches() {
    let Some(plane) = ControlPlane::own("updates of objects that were stored before") else { return };
    for mut crd in fhpa::api::crd::all().unwrap().clone() {
        relaxed(&mut crd);
        plane.apply(&crd.to_string());
    }
    plane.established();
    let long = serde_json::to_string(&long_list()).unwrap();
    for old in [WRONG_METRICS, OLD_NIGHTLY, OLD_TWINS, &long] {
        plane.apply(old);
    }
    plane.install_crds();
    let patched = |object: &str, path: &str, value: Value| {
        let patch = json!([{"op": "add", "path": path, "value": value}]).to_string();
        plane.kubectl(&["patch", object, "--type=json", "--patch", &patch], "")
    };
    for (object, path, value) in [
        ("fhpa/web", "/metadata/labels", json!({"a": "b"})),
        ("fhpa/web", "/spec/maxReplicas", json!(9)),
        ("fhpa/web", "/spec/scaleAssist", json!(false)),
        ("cronfhpa/nightly", "/metadata/finalizers", json!(["example.com/a"])),
        ("cronfhpa/twins", "/metadata/labels", json!({"a": "b"})),
        ("cronfhpa/twins", "/metadata/finalizers", json!(["example.com/a"])),
        ("cronfhpa/twins", "/metadata/finalizers", json!([])),
        ("cronfhpa/twins", "/spec/scaleTargetRef/name", json!("other")),
        ("cronfhpa/long", "/metadata/labels", json!({"a": "b"})),
        ("cronfhpa/long", "/spec/scaleTargetRef/name", json!("other")),
    ] {
        let (passed, said) = patched(object, path, value);
        assert!(passed, "{object} {path}: {said}");
    }
    for (object, path, value) in [
        ("fhpa/web", "/spec/metrics/0/resource/name", json!("memory")),
        ("fhpa/web", "/spec/maxReplicas", json!(4)),
        ("cronfhpa/nightly", "/spec/rules/0/targetReplicas", json!(2)),
        ("cronfhpa/nightly", "/spec/rules/1/targetReplicas", json!(9)),
        ("cronfhpa/twins", "/spec/rules/1/targetReplicas", json!(7)),
        ("cronfhpa/long", "/spec/rules/1/targetReplicas", json!(7)),
        ("cronfhpa/nightly", "/spec/scaleTargetRef/name", json!("other")),
    ] {
        let (passed, said) = patched(object, path, value);
        assert!(!passed, "{object} {path}: {said}");
    }
}
