//! Specifics of kinds: defaults, schemas, scales, versions.

use serde_json::{Value, json};

use super::{CRON, cron, deployment, hpa};
use crate::bed::Bed;

#[tokio::test]
async fn new_objects_get_their_defaults() {
    Bed::same("defaults", "line-defaults", async |bed| {
        let made = bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        let scaler = bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &hpa("web")).await;
        let secret = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}});
        let secret = bed.post(&bed.path("v1", "secrets"), &secret).await;
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
        let pod = bed.post(&bed.path("v1", "pods"), &pod).await;
        let mut pod = pod.steady();
        // Admission plugins of the real one add tolerations, priority and more; phase and class are of the strategy.
        let status = pod["body"]["status"].take();
        json!([made.steady(), scaler.steady(), secret.steady(), status["phase"], status["qosClass"]])
    })
    .await;
}

#[tokio::test]
async fn a_scale_is_read_and_written() {
    Bed::same("scale", "line-scale", async |bed| {
        bed.post(&bed.path("apps/v1", "deployments"), &deployment("web")).await;
        let path = bed.path("apps/v1", "deployments/web/scale");
        let now = bed.get(&path).await;
        let mut wanted = now.body.clone();
        wanted["spec"]["replicas"] = json!(4);
        let put = bed.put(&path, &wanted).await.steady();
        let stale = bed.put(&path, &wanted).await.refusal();
        let patched = bed.patch("merge", &path, &json!({"spec": {"replicas": 0}})).await.steady();
        let negative = bed.patch("merge", &path, &json!({"spec": {"replicas": -1}})).await.refusal();
        let object = bed.get(&bed.path("apps/v1", "deployments/web")).await;
        json!([
            now.steady(),
            put,
            stale,
            patched,
            negative,
            object.body["spec"]["replicas"],
            object.body["metadata"]["generation"]
        ])
    })
    .await;
}

#[tokio::test]
async fn custom_objects_are_held_to_their_schema() {
    Bed::same("schema", "line-schema", async |bed| {
        let customs = bed.path(CRON, "cronfederatedhpas");
        let mut said = Vec::new();
        said.push(bed.post(&customs, &cron("ok")).await.steady());
        for (pointer, value) in [
            ("/spec/rules/0/schedule", json!(5)),
            ("/spec/rules/0/name", json!("")),
            ("/spec/rules/0/targetReplicas", json!("three")),
            ("/spec/scaleTargetRef", json!({"kind": "Deployment"})),
            ("/spec/rules", json!(null)),
        ] {
            let mut object = cron("bad");
            *object.pointer_mut(pointer).unwrap() = value;
            said.push(bed.post(&customs, &object).await.refusal());
        }
        let kindless = json!({"apiVersion": CRON, "metadata": {"name": "x"}});
        said.push(json!(bed.post(&customs, &kindless).await.code));
        Value::Array(said)
    })
    .await;
}

#[tokio::test]
async fn one_autoscaler_shows_in_two_versions() {
    Bed::same("conversion", "line-versions", async |bed| {
        let mut object = hpa("web");
        object["spec"]["metrics"].as_array_mut().unwrap().push(json!({"type": "Pods", "pods": {
            "metric": {"name": "qps"}, "target": {"type": "AverageValue", "averageValue": "10"}}}));
        object["spec"]["behavior"] = json!({"scaleDown": {"stabilizationWindowSeconds": 60}});
        bed.post(&bed.path("autoscaling/v2", "horizontalpodautoscalers"), &object).await;
        let mut old = bed.get(&bed.path("autoscaling/v1", "horizontalpodautoscalers/web")).await.steady();
        // The annotations hold JSON whose order of keys means nothing.
        for value in old["body"]["metadata"]["annotations"].as_object_mut().unwrap().values_mut() {
            *value = serde_json::from_str(value.as_str().unwrap()).unwrap();
        }
        let patch = json!({"spec": {"targetCPUUtilizationPercentage": 50}});
        bed.patch("merge", &bed.path("autoscaling/v1", "horizontalpodautoscalers/web"), &patch).await;
        let new = bed.get(&bed.path("autoscaling/v2", "horizontalpodautoscalers/web")).await.steady();
        json!([old, new])
    })
    .await;
}
