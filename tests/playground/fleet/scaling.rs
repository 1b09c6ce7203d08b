//! Pods that fit or not, and autoscalers in the members.

use fhpa::playground::json::text;
use serde_json::{Value, json};

use super::{Stage, condition, deployment, holds, plan, policy, policy_with};

const LABEL: &str = "resourcetemplate.karmada.io/retain-replicas";

fn retained(name: &str, replicas: i32, cpu: &str) -> Value {
    let mut deployment = deployment(name, replicas, cpu);
    deployment["metadata"]["labels"][LABEL] = json!("true");
    deployment
}

fn autoscaler(min: i32, max: i32) -> Value {
    json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"minReplicas": min, "maxReplicas": max,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 50}}}]},
    })
}

#[tokio::test]
async fn pods_wait_when_they_do_not_fit() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 0])).await;
    stage.create(deployment("web", 12, "1")).await;
    stage.advance(20).await;
    let pods = stage.pods("member1").await;
    let (bound, waiting): (Vec<&Value>, Vec<&Value>) =
        pods.iter().partition(|pod| !text(pod, "/spec/nodeName").is_empty());
    assert_eq!((bound.len(), waiting.len()), (8, 4));
    assert_eq!(condition(waiting[0], "PodScheduled"), holds("False", "Unschedulable"));
    assert_eq!(waiting[0]["status"]["phase"], "Pending");
    let member = stage.member("member1", "Deployment", "web").await.unwrap();
    assert_eq!((&member["status"]["readyReplicas"], &member["status"]["unavailableReplicas"]), (&json!(8), &json!(4)));
    let summary = &stage.get("Cluster", "member1").await["status"]["resourceSummary"];
    assert_eq!((&summary["allocating"]["cpu"], &summary["allocated"]["cpu"]), (&json!("4"), &json!("8")));
    let binding = stage.get("ResourceBinding", "web-deployment").await;
    assert_eq!(binding["status"]["aggregatedStatus"][0]["health"], "Unhealthy");

    assert_eq!(stage.fleet.change_nodes("member1", 1).await.unwrap(), 3);
    stage.advance(5).await;
    assert!(stage.pods("member1").await.iter().all(|pod| !text(pod, "/spec/nodeName").is_empty()));
    stage.fleet.change_nodes("member1", -2).await.unwrap();
    stage.advance(5).await;
    let pods = stage.pods("member1").await;
    assert_eq!((pods.len(), pods.iter().filter(|pod| text(pod, "/spec/nodeName").is_empty()).count()), (12, 8));
}

#[tokio::test]
async fn an_autoscaler_follows_the_load() {
    let stage = Stage::new(plan()).await;
    stage.create(policy_with(json!({"clusterAffinity": {"clusterNames": ["member1"]}}))).await;
    stage.create(retained("web", 2, "200m")).await;
    stage.create(autoscaler(1, 10)).await;
    stage.advance(330).await;
    assert_eq!(stage.replicas("web").await, [1, -1], "no load: the minimum, after the window");

    stage.fleet.load().set("default", "web", 400);
    stage.advance(15).await;
    assert_eq!(stage.replicas("web").await, [4, -1]);
    let hpa = stage.member("member1", "HorizontalPodAutoscaler", "web").await.unwrap();
    assert_eq!(condition(&hpa, "AbleToScale"), holds("True", "SucceededRescale"));
    assert_eq!(condition(&hpa, "ScalingActive"), holds("True", "ValidMetricFound"));
    let current = &hpa["status"]["currentMetrics"][0]["resource"];
    assert_eq!(current, &json!({"name": "cpu", "current": {"averageUtilization": 200, "averageValue": "400m"}}));
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [4, -1], "half of the requests is used: nothing to do");

    stage.fleet.load().set("default", "web", 4000);
    stage.advance(60).await;
    let hpa = stage.member("member1", "HorizontalPodAutoscaler", "web").await.unwrap();
    assert_eq!(stage.replicas("web").await, [10, -1]);
    assert_eq!(condition(&hpa, "ScalingLimited"), holds("True", "TooManyReplicas"));

    stage.fleet.load().set("default", "web", 100);
    stage.advance(290).await;
    assert_eq!(stage.replicas("web").await, [10, -1], "scale-down waits for the window");
    stage.advance(30).await;
    assert_eq!(stage.replicas("web").await, [1, -1]);
}

#[tokio::test]
async fn an_autoscaler_leaves_a_workload_at_zero_alone() {
    let stage = Stage::new(plan()).await;
    stage.create(policy_with(json!({"clusterAffinity": {"clusterNames": ["member1"]}}))).await;
    stage.create(retained("web", 0, "200m")).await;
    stage.create(autoscaler(1, 10)).await;
    stage.fleet.load().set("default", "web", 4000);
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [0, -1]);
    let hpa = stage.member("member1", "HorizontalPodAutoscaler", "web").await.unwrap();
    assert_eq!(condition(&hpa, "ScalingActive"), holds("False", "ScalingDisabled"));
}

#[tokio::test]
async fn only_the_replicas_of_an_autoscaler_come_back_without_a_customization() {
    let stage = Stage::new(plan()).await;
    stage.create(policy_with(json!({}))).await;
    stage.create(retained("web", 2, "200m")).await;
    stage.create(autoscaler(2, 10)).await;
    stage.advance(30).await;
    let reflected = || async {
        let binding = stage.get("ResourceBinding", "web-horizontalpodautoscaler").await;
        binding["status"]["aggregatedStatus"][0]["status"].clone()
    };
    assert_eq!(reflected().await, json!({"currentReplicas": 2, "desiredReplicas": 2}));
    let template = stage.get("HorizontalPodAutoscaler", "web").await;
    assert_eq!(template["status"]["currentReplicas"], 4);
    let script = "function ReflectStatus(observedObj)\n  return observedObj.status\nend";
    stage
        .create(json!({"apiVersion": "config.karmada.io/v1alpha1", "kind": "ResourceInterpreterCustomization",
            "metadata": {"name": "hpa"}, "spec": {"target": {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"},
            "customizations": {"statusReflection": {"luaScript": script}}}}))
        .await;
    stage.settle().await;
    assert_eq!(reflected().await["conditions"][0]["type"], "AbleToScale");
}

#[tokio::test]
async fn load_is_shared_by_the_ready_pods_of_all_members() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 1])).await;
    stage.create(retained("web", 2, "200m")).await;
    stage.create(autoscaler(1, 10)).await;
    stage.advance(30).await;
    stage.fleet.load().set("default", "web", 400);
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [2, 2], "400m over both at half of 200m is four pods");
    stage.fleet.fail("member2", true).unwrap();
    stage.advance(60).await;
    assert_eq!(stage.replicas("web").await, [4, 2], "what is left takes the load of the lost");
}

#[tokio::test]
async fn a_new_image_is_rolled_out() {
    let stage = Stage::new(plan()).await;
    stage.create(policy(&[1, 0])).await;
    stage.create(deployment("web", 4, "100m")).await;
    stage.advance(5).await;
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "app", "image": "web:2"}]}}}});
    stage.patch("Deployment", "web", image).await;
    stage.advance(30).await;
    let pods = stage.pods("member1").await;
    assert_eq!(pods.len(), 4);
    assert!(pods.iter().all(|pod| pod["spec"]["containers"][0]["image"] == "web:2"));
}

#[tokio::test]
async fn a_stateful_set_has_ordered_pods() {
    let stage = Stage::new(plan()).await;
    let mut set = deployment("db", 3, "100m");
    set["kind"] = json!("StatefulSet");
    set["spec"]["serviceName"] = json!("db");
    stage.fleet.member("member1").unwrap().create(&set).await.unwrap();
    stage.advance(5).await;
    let names = |pods: Vec<Value>| pods.iter().map(|pod| text(pod, "/metadata/name").to_owned()).collect::<Vec<_>>();
    assert_eq!(names(stage.pods("member1").await), ["db-0", "db-1", "db-2"]);
    stage.patch_member("member1", "StatefulSet", "db", json!({"spec": {"replicas": 1}})).await;
    stage.advance(2).await;
    assert_eq!(names(stage.pods("member1").await), ["db-0"]);
}
