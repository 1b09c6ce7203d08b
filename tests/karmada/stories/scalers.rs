//! Other autoscalers of a workload: HPAs that a policy propagates, and HPAs of members.

use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::both::{MEMBERS, World as _, deployment, federated, policy};
use crate::stand::Stand;

/// A plain HPA of another name than its workload.
fn plain(name: &str, of: &str) -> Value {
    let cpu = json!({"type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"minReplicas": 1, "maxReplicas": 5, "metrics": [cpu],
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": of}}})
}

async fn ready(stand: &Stand, name: &str) -> String {
    let hpa = stand.hpa(name).await.unwrap_or_default();
    let conditions = hpa["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|one| one["type"] == "Ready").cloned().unwrap_or_default();
    let text = |field: &str| ready[field].as_str().unwrap_or_default().to_owned();
    format!("{} {}: {}", text("status"), text("reason"), text("message"))
}

/// A propagated HPA is refused at admission, or told while it is there; an HPA that only a member has is adopted.
pub async fn another_hpa_is_found_and_adopted(stand: &mut Stand) {
    let name = "shared";
    stand.each_wants(name, [2; 3]);
    stand.apply(&deployment(name, 3)).await;
    stand.apply(&plain("legacy", name)).await;
    let mut policy = policy(name, &MEMBERS);
    let selectors = policy["spec"]["resourceSelectors"].as_array_mut().unwrap();
    selectors.push(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "name": "legacy"}));
    stand.apply(&policy).await;
    stand
        .soon("members have the propagated HPA", async |stand| {
            let api = stand.api("member2", "HorizontalPodAutoscaler", "prod");
            api.get_opt("legacy").await.is_ok_and(|found| found.is_some())
        })
        .await;
    let api = stand.api("", "FederatedHPA", "prod");
    let mut object = federated(name, 3, 30, json!({}));
    let typed = |object: &Value| serde_json::from_value::<DynamicObject>(object.clone()).unwrap();
    let refused = api.create(&PostParams::default(), &typed(&object)).await.unwrap_err().to_string();
    assert!(refused.contains("legacy"), "{refused}");
    object["metadata"]["annotations"] = json!({"fhpa.karmada.io/adopt-hpa": "true"});
    api.create(&PostParams::default(), &typed(&object)).await.unwrap();
    stand
        .soon("it is told of", async |stand| {
            let said = ready(stand, name).await;
            said.starts_with("False AmbiguousSelector") && said.contains("legacy")
        })
        .await;
    let count = stand.note(name);
    stand.delete("HorizontalPodAutoscaler", "legacy").await;
    let well = async |stand: &Stand| ready(stand, name).await.starts_with("True");
    stand.later(120, "all is well", well).await;
    // One that only a member has, under a name of its own.
    let hpas = stand.api("member2", "HorizontalPodAutoscaler", "prod");
    hpas.create(&PostParams::default(), &typed(&plain("forgotten", name))).await.unwrap();
    stand
        .later(120, "it is adopted", async |_| hpas.get_opt("forgotten").await.is_ok_and(|found| found.is_none()))
        .await;
    stand.soon("all is well again", async |stand| ready(stand, name).await.starts_with("True")).await;
    assert!(stand.least(name) >= count.min(3), "no pod was ended");
    stand.clear(name).await;
}
