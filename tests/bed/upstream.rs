//! What Karmada's own FederatedHPA controller writes of an object that it runs.

use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, Error};
use serde_json::{Value, json};

/// Its field manager.
const MANAGER: &str = "karmada-controller-manager";
/// The fields that it knows.
const KNOWN: [&str; 6] =
    ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas", "currentMetrics", "conditions"];

/// Its status of the FederatedHPA `name` in `prod`, where it found so many replicas. It writes the whole status as it knows
/// it; conditions of other types stay.
pub async fn writes(client: Client, name: &str, replicas: i64) -> Result<(), Error> {
    let kind = GroupVersionKind::gvk("autoscaling.karmada.io", "v1alpha1", "FederatedHPA");
    let hpas: Api<DynamicObject> =
        Api::namespaced_with(client, "prod", &ApiResource::from_gvk_with_plural(&kind, "federatedhpas"));
    let mut hpa = hpas.get(name).await?;
    hpa.metadata.managed_fields = None;
    let before = hpa.data.get("status").cloned().unwrap_or_default();
    hpa.data["status"] = status(before, replicas);
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    hpas.replace_status(name, &parameters, &hpa).await.map(drop)
}

fn status(before: Value, replicas: i64) -> Value {
    let mut status = before.as_object().cloned().unwrap_or_default();
    status.retain(|field, _| KNOWN.contains(&&**field));
    status.entry("lastScaleTime").or_insert_with(|| json!("2026-11-19T08:00:00Z"));
    let metric = json!({"type": "Resource", "resource": {"name": "cpu",
        "current": {"averageUtilization": 50, "averageValue": "50m"}}});
    status.extend([
        ("currentReplicas".to_owned(), json!(replicas)),
        ("desiredReplicas".to_owned(), json!(replicas)),
        ("currentMetrics".to_owned(), json!([metric])),
        ("conditions".to_owned(), json!(conditions(status.get("conditions")))),
    ]);
    Value::Object(status)
}

fn conditions(before: Option<&Value>) -> Vec<Value> {
    let own = [
        ("AbleToScale", "True", "ReadyForNewScale", "recommended size matches current size"),
        (
            "ScalingActive",
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
        ),
        ("ScalingLimited", "False", "DesiredWithinRange", "the desired count is within the acceptable range"),
    ];
    let mut all: Vec<Value> = before.and_then(Value::as_array).cloned().unwrap_or_default();
    all.retain(|one| own.iter().all(|(type_, ..)| one["type"] != *type_));
    for one in &mut all {
        one.as_object_mut().unwrap().remove("observedGeneration");
    }
    all.extend(own.map(|(type_, status, reason, message)| {
        json!({"type": type_, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-11-19T08:00:00Z"})
    }));
    all
}
