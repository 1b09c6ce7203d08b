//! The reviews that the benchmarks send, with all that kube-apiserver puts around an object.

use fhpa::admission::endpoint::Endpoint;
use serde_json::{Value, json};

/// A review and where it is sent.
pub struct Case {
    /// What it is.
    pub name: &'static str,
    /// Where it is sent.
    pub endpoint: Endpoint,
    /// The body.
    pub body: Vec<u8>,
}

/// One of each size.
#[must_use]
pub fn cases() -> Vec<Case> {
    use Endpoint::{MutateCronFederatedHPA, MutateFederatedHPA, ValidateCronFederatedHPA, ValidateFederatedHPA};
    let case = |name, endpoint: Endpoint, object: &Value| Case { name, endpoint, body: review(endpoint, object) };
    vec![
        case("FederatedHPA, validate", ValidateFederatedHPA, &federated_hpa()),
        case("FederatedHPA, mutate", MutateFederatedHPA, &federated_hpa()),
        case("CronFederatedHPA, 1 rule", ValidateCronFederatedHPA, &cron_federated_hpa(1)),
        case("CronFederatedHPA, 5 rules", ValidateCronFederatedHPA, &cron_federated_hpa(5)),
        case("CronFederatedHPA, 50 rules", ValidateCronFederatedHPA, &cron_federated_hpa(50)),
        case("CronFederatedHPA, mutate", MutateCronFederatedHPA, &cron_federated_hpa(5)),
    ]
}

fn metadata(name: &str, fields: &Value) -> Value {
    json!({
        "name": name, "namespace": "production", "uid": "6a0f5e0e-4c58-4a4e-9a57-0f7f1c2f4b11", "generation": 3,
        "resourceVersion": "1838217", "creationTimestamp": "2026-11-20T08:00:00Z",
        "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "helm", "team": "shop"},
        "annotations": {"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": "production"},
        "managedFields": [{
            "manager": "helm", "operation": "Update", "apiVersion": "autoscaling.karmada.io/v1alpha1",
            "time": "2026-11-20T08:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields
        }]
    })
}

fn federated_hpa() -> Value {
    let fields = json!({
        "f:metadata": {"f:annotations": {".": {}, "f:meta.helm.sh/release-name": {}}, "f:labels": {".": {}, "f:team": {}}},
        "f:spec": {"f:behavior": {".": {}, "f:scaleDown": {".": {}, "f:policies": {}, "f:stabilizationWindowSeconds": {}}},
            "f:maxReplicas": {}, "f:metrics": {}, "f:minReplicas": {}, "f:scaleTargetRef": {}}
    });
    let policies = json!([{"type": "Percent", "value": 50, "periodSeconds": 60}, {"type": "Pods", "value": 4, "periodSeconds": 60}]);
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA", "metadata": metadata("checkout", &fields),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "checkout"},
            "minReplicas": 3, "maxReplicas": 40, "mode": "Distributed",
            "metrics": [
                {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}},
                {"type": "Pods", "pods": {"metric": {"name": "requests_per_second"}, "target": {"type": "AverageValue", "averageValue": "250"}}}
            ],
            "behavior": {
                "scaleUp": {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": policies},
                "scaleDown": {"stabilizationWindowSeconds": 300, "selectPolicy": "Min", "policies": policies}
            }
        }
    })
}

fn cron_federated_hpa(rules: usize) -> Value {
    let zones = ["Europe/Berlin", "America/New_York", "Asia/Shanghai", "UTC", "Asia/Kolkata"];
    let rule = |index: usize| {
        json!({
            "name": format!("rule-{index}"), "schedule": format!("{} {} * * 1-5", index % 60, index % 24),
            "targetReplicas": 2 + index, "suspend": false, "timeZone": zones[index % zones.len()],
            "successfulHistoryLimit": 3, "failedHistoryLimit": 3
        })
    };
    let fields = json!({"f:spec": {".": {}, "f:rules": {}, "f:scaleTargetRef": {".": {}, "f:apiVersion": {}, "f:kind": {}, "f:name": {}}}});
    json!({
        "apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "metadata": metadata("nightly", &fields),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "batch"},
            "rules": (0..rules).map(rule).collect::<Vec<_>>()
        }
    })
}

fn review(endpoint: Endpoint, object: &Value) -> Vec<u8> {
    let kind = json!({"group": "autoscaling.karmada.io", "version": "v1alpha1", "kind": endpoint.kind()});
    let resource = json!({"group": "autoscaling.karmada.io", "version": "v1alpha1", "resource": endpoint.kind().to_lowercase() + "s"});
    let object = object.to_string();
    let name = if endpoint.kind() == "FederatedHPA" { "checkout" } else { "nightly" };
    // Members in the order in which kube-apiserver writes them.
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"7f0b3d9a-50a7-4c5f-9a57-9f1f2c3d4e5f","kind":{kind},"resource":{resource},"requestKind":{kind},"requestResource":{resource},"name":"{name}","namespace":"production","operation":"CREATE","userInfo":{{"username":"system:serviceaccount:production:deployer","uid":"0c1f","groups":["system:serviceaccounts","system:serviceaccounts:production","system:authenticated"]}},"object":{object},"oldObject":null,"dryRun":false,"options":{{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"helm"}}}}}}"#
    )
    .into_bytes()
}
