//! Load up and down, and idle periods: no request without a reason.

use fhpa::api::Work;
use fhpa::playground::objects::Objects;
use futures::StreamExt as _;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde_json::{Value, json};

use super::edits::running;
use super::{Stage, deployment, hpa, kind, weights};

#[tokio::test(start_paused = true)]
async fn replicas_follow_the_load_within_the_bounds_and_the_status_sums_them() {
    let (stage, _one) = running().await;
    stage.fleet.load().set("prod", "web", 3_000);
    stage.pass(120).await;
    assert_eq!(stage.replicas().await, "1 4 5");
    let status = stage.get("FederatedHPA", "web").await["status"].clone();
    assert_eq!((&status["currentReplicas"], &status["desiredReplicas"]), (&json!(10), &json!(10)));
    assert_eq!(status["aggregatedStatus"][1]["status"]["conditions"][0]["type"], "AbleToScale", "{status}");
    assert!(status["aggregatedStatus"][1]["status"]["currentMetrics"][0]["resource"].is_object(), "{status}");
    let cpu = status["currentMetrics"][0].clone();
    assert_eq!(cpu["resource"]["name"], "cpu", "{cpu}");
    assert!(cpu["resource"]["current"]["averageUtilization"].as_i64().is_some_and(|percent| percent > 50), "{cpu}");
    stage.fleet.load().set("prod", "web", 100);
    stage.pass(600).await;
    assert_eq!(stage.replicas().await, "1 1 1");
    assert_eq!((stage.bounds().await, stage.budget.most()), ("1..1 1..4 1..5".into(), 10));
}

/// Karmada, as far as it is needed to come to rest: every HPA that is sent is seen applied at once.
async fn echo(works: Api<Work>, control: Objects) {
    let events = watcher(works, watcher::Config::default()).default_backoff();
    futures::pin_mut!(events);
    while let Some(event) = events.next().await {
        let Ok(watcher::Event::Apply(work) | watcher::Event::InitApply(work)) = event else { continue };
        let manifest = &work.spec.workload.manifests[0];
        let token = &manifest["metadata"]["annotations"]["fhpa.karmada.io/write-id"];
        let identifier = json!({"ordinal": 0, "group": "autoscaling", "version": "v2", "resource": "",
            "kind": "HorizontalPodAutoscaler", "namespace": "prod", "name": manifest["metadata"]["name"]});
        let status = json!({"manifestStatuses": [{"identifier": identifier, "status": {"writeID": token}}]});
        let about = json!({"metadata": {"namespace": work.metadata.namespace, "name": work.metadata.name}});
        control.merge(&kind("Work"), &about, "status", &json!({"status": status})).await.unwrap();
    }
}

/// Requests by verb and answer, but watches and what is for the Lease.
fn requests(metrics: &str) -> Vec<&str> {
    let lines = metrics.lines().filter(|line| line.starts_with("fhpa_api_requests_total{"));
    lines.filter(|line| !["update", "watch", "list"].iter().any(|verb| line.contains(verb))).collect()
}

/// A control plane on which all of Karmada that there is tells that what is sent is applied, with so many workloads
/// that run in two clusters, and the FederatedHPA of each.
pub async fn standing(objects: usize, more: impl Fn(&str) -> Value) -> Stage {
    let mut stage = Stage::still(2).await;
    let status = json!({"conditions": [{"type": "Ready", "status": "True", "reason": "r", "message": "m",
        "lastTransitionTime": super::START}], "kubernetesVersion": "v1.36.2"});
    for name in ["member1", "member2"] {
        let about = json!({"metadata": {"name": name}});
        stage.control.merge(&kind("Cluster"), &about, "status", &json!({"status": status})).await.unwrap();
    }
    let client = stage.fleet.control().client();
    stage.runs.spawn(echo(Api::all(client.clone()), Objects::new(client)));
    for number in 0..objects {
        let name = format!("web{number}");
        stage.create(deployment(&name, 2)).await;
        let resource = json!({"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": name});
        stage
            .create(json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
            "metadata": {"name": format!("{name}-deployment"), "namespace": "prod"},
            "spec": {"resource": resource, "replicas": 2, "placement": weights(&[1, 1]),
                "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 1}]}}))
            .await;
        let running = ["member1", "member2"].map(|member| {
            json!({"clusterName": member, "applied": true,
            "status": {"replicas": 1, "readyReplicas": 1, "observedGeneration": 1}})
        });
        let about = json!({"metadata": {"namespace": "prod", "name": format!("{name}-deployment")}});
        let status = json!({"status": {"aggregatedStatus": running}});
        stage.control.merge(&kind("ResourceBinding"), &about, "status", &status).await.unwrap();
        let mut object = hpa(1, 4, more(&name));
        object["metadata"]["name"] = json!(name);
        object["spec"]["scaleTargetRef"]["name"] = json!(name);
        stage.create(object).await;
    }
    stage
}

#[tokio::test(start_paused = true)]
async fn two_hundred_objects_at_rest_cost_no_request() {
    let stage = standing(200, |_| json!({})).await;
    let one = stage.leads("one").await;
    // What members measure is written each half minute at most.
    stage.pass(180).await;
    let last = stage.get("FederatedHPA", "web199").await;
    assert_eq!(last["status"]["conditions"][0]["reason"], "Assigned", "{last}");
    let text = one.metrics.text();
    let before = requests(&text);
    assert!(!before.is_empty(), "{text}");
    stage.pass(600).await;
    // The lease is renewed every 2 seconds.
    assert_eq!(requests(&one.metrics.text()), before);
}
