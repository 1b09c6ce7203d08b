//! What Karmada's own FederatedHPA controller does wrong, by the numbers of docs/centralized.md: none of it happens
//! here.

use std::collections::BTreeSet;
use std::time::Duration;

use embedded_apiserver::faults::Which;
use embedded_apiserver::status::StatusError;
use fhpa::playground::json::{items, name};
use fhpa::playground::member::Link;
use fhpa::playground::objects::Objects;
use fhpa::reconcile::federated_hpa::centralized::metrics::{MetricQuery, Metrics, MetricsApiQuery};
use serde_json::{Value, json};

use super::super::Process;
use super::super::distributed::{Stage, deployment, kind, policy, weights};
use super::running;

/// 10 of an Object metric for each pod of `web`; its value is the whole load.
pub fn per_pod() -> Value {
    let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    json!({"metrics": [{"type": "Object", "object": {"describedObject": object, "metric": {"name": "requests"},
        "target": {"type": "AverageValue", "averageValue": "10"}}}]})
}

/// Two members with `replicas` of `web` under `placement`, without a FederatedHPA.
async fn two(replicas: i32, placement: Value) -> (Stage, Process) {
    let stage = Stage::new(2).await;
    stage.web(replicas, placement).await;
    let one = stage.leads("one").await;
    (stage, one)
}

async fn centralized(stage: &Stage, min: i32, more: Value) {
    let mut spec = json!({"mode": "Centralized"});
    spec.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
    stage.hpa(min, 30, spec).await;
}

#[tokio::test(start_paused = true)]
async fn fault_1_a_workload_at_zero_is_disabled_and_not_unreadable() {
    let (stage, _one) = running(2, json!({})).await;
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 0}})).await;
    stage.pass(60).await;
    assert_eq!(stage.condition("AbleToScale").await.0, "True SucceededGetScale");
    assert_eq!(stage.condition("ScalingActive").await.0, "False ScalingDisabled");
    assert_eq!(stage.notes("FailedGetScale").await, Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn fault_2_only_a_write_that_was_made_is_told() {
    let (stage, _one) = running(2, json!({})).await;
    let scales = || Which { verb: "patch".into(), resource: "deployments/scale".into(), name: String::new() };
    stage.fleet.control().faults().fail(scales(), 2, StatusError::internal("the store is away"));
    stage.load(500).await;
    let (mut changes, mut known) = (0, 3);
    for _ in 0..120 {
        stage.pass(1).await;
        let scale = stage.scale().await;
        changes += usize::from(scale != known);
        known = scale;
        assert!(stage.notes("SuccessfulRescale").await.len() <= changes);
    }
    let told = stage.notes("SuccessfulRescale").await;
    assert!(known == 10 && told.len() == changes, "{changes} changes to {known}: {told:?}");
    stage.patch("Deployment", "web", json!({"spec": {"replicas": 0}})).await;
    stage.pass(120).await;
    assert_eq!(stage.notes("SuccessfulRescale").await.len(), changes, "at zero nothing is written and nothing is told");
}

#[tokio::test(start_paused = true)]
async fn fault_3_the_value_of_an_object_is_divided_by_the_copies_once() {
    for (placement, replicas, runs) in [(weights(&[1, 1]), 10, "5 5"), (json!({}), 5, "5 5")] {
        let (stage, _one) = two(2, placement).await;
        stage.load(100_000).await;
        centralized(&stage, 1, per_pod()).await;
        stage.until_scale(replicas, 120).await;
        stage.pass(120).await;
        assert_eq!((stage.scale().await, stage.replicas().await.as_str()), (replicas, runs));
    }
}

#[tokio::test(start_paused = true)]
async fn fault_4_pods_of_one_name_in_two_clusters_are_two_pods() {
    let stage = Stage::new(2).await;
    let mut rule = policy(weights(&[1, 1]));
    rule["spec"]["resourceSelectors"] = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet"}]);
    stage.create(rule).await;
    let mut set = deployment("web", 4);
    set["kind"] = json!("StatefulSet");
    stage.create(set).await;
    let _one = stage.leads("one").await;
    stage.pass(60).await;
    let mut names = Vec::new();
    for cluster in ["member1", "member2"] {
        let pods =
            Objects::new(stage.fleet.member(cluster).unwrap().client()).list(&kind("Pod"), "prod").await.unwrap();
        names.push(pods.iter().map(|pod| name(pod).to_owned()).collect::<BTreeSet<_>>());
    }
    assert!(names[0] == names[1] && names[0].contains("web-0"), "{names:?}");
    // 4 pods at 75 % of their request, with a target of 50 %: 6. Taken for two pods they would ask for 3.
    stage.load(300).await;
    let target = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
    centralized(&stage, 1, json!({"scaleTargetRef": target})).await;
    let asked = async || stage.get("StatefulSet", "web").await["spec"]["replicas"].clone();
    for _ in 0..90 {
        stage.pass(1).await;
        assert!(asked().await == 4 || asked().await == 6, "{:?}", stage.messages().await);
    }
    assert_eq!(asked().await, 6, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn fault_5_the_value_of_a_cluster_that_fails_is_not_taken_for_nothing() {
    let (stage, _one) = two(2, weights(&[1, 1])).await;
    stage.load(100_000).await;
    centralized(&stage, 1, per_pod()).await;
    stage.until_scale(10, 120).await;
    stage.pass(60).await;
    stage.fleet.lose_metrics("member2", true).unwrap();
    for _ in 0..60 {
        stage.pass(15).await;
        assert_eq!(stage.scale().await, 10, "{:?}", stage.messages().await);
    }
    let (said, message) = stage.condition("ScalingActive").await;
    assert!(said == "True PartialMetrics" && message.contains("member2"), "{said}: {message}");
}

#[tokio::test(start_paused = true)]
async fn fault_6_a_cluster_that_does_not_answer_does_not_keep_others_waiting() {
    let (stage, _one) = running(3, json!({})).await;
    stage.fleet.cut("member2", Link::Hangs).unwrap();
    stage.load(500).await;
    let mut waited = 0;
    while stage.scale().await == 3 {
        stage.pass(1).await;
        waited += 1;
        assert!(waited <= 60, "{:?}", stage.messages().await);
    }
    stage.fleet.cut("member2", Link::Up).unwrap();
}

#[tokio::test(start_paused = true)]
async fn fault_7_the_tolerance_of_a_behavior_is_kept() {
    let behavior = json!({"behavior": {"scaleUp": {"tolerance": "0.5"}, "scaleDown": {"tolerance": "0.05"}}});
    let (stage, _one) = running(2, behavior).await;
    stage.load(210).await;
    stage.pass(300).await;
    assert_eq!(stage.scale().await, 3, "70 % is 1.4 times the target: {:?}", stage.messages().await);
    stage.load(240).await;
    stage.until_scale(5, 90).await;
}

#[tokio::test(start_paused = true)]
async fn fault_8_a_sidecar_asks_for_resources_too() {
    let stage = Stage::new(2).await;
    stage.create(policy(weights(&[1, 1]))).await;
    let mut web = deployment("web", 4);
    web["spec"]["template"]["spec"]["initContainers"] = json!([{"name": "proxy", "image": "proxy:1",
        "restartPolicy": "Always", "resources": {"requests": {"cpu": "100m"}}}]);
    stage.create(web).await;
    stage.pass(20).await;
    let _one = stage.leads("one").await;
    // 100m of the 200m that each pod asks for. Without the proxy it would be twice the target.
    stage.load(400).await;
    centralized(&stage, 1, json!({})).await;
    stage.pass(180).await;
    assert_eq!(stage.scale().await, 4, "{:?}", stage.messages().await);
}

#[tokio::test(start_paused = true)]
async fn fault_9_the_first_good_answer_is_acted_on_in_one_period() {
    let (stage, _one) = running(2, json!({})).await;
    for cluster in ["member1", "member2"] {
        stage.fleet.lose_metrics(cluster, true).unwrap();
    }
    stage.load(500).await;
    stage.pass(300).await;
    assert_eq!(stage.scale().await, 3);
    for cluster in ["member1", "member2"] {
        stage.fleet.lose_metrics(cluster, false).unwrap();
    }
    let mut waited = 0;
    while stage.scale().await == 3 {
        stage.pass(1).await;
        waited += 1;
        assert!(waited <= 16, "{:?}", stage.messages().await);
    }
}

#[tokio::test(start_paused = true)]
async fn fault_10_a_metric_from_outside_scales() {
    let (stage, _one) = two(2, weights(&[1, 1])).await;
    stage.load(80_000).await;
    let external = json!({"metrics": [{"type": "External", "external": {"metric": {"name": "web-orders"},
        "target": {"type": "AverageValue", "averageValue": "10"}}}]});
    centralized(&stage, 1, external).await;
    stage.until_scale(8, 60).await;
    let hpa = stage.get("FederatedHPA", "web").await;
    assert_eq!(items(&hpa, "/status/currentMetrics").len(), 1, "{hpa}");
}

/// A cluster whose custom metrics hang and whose other APIs answer.
fn hanging_custom() -> kube::Client {
    let send = |request: http::Request<kube::client::Body>| async move {
        if request.uri().path().contains("/custom.metrics.k8s.io/") {
            std::future::pending::<()>().await;
        }
        let empty =
            json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": []});
        Ok::<_, std::io::Error>(http::Response::new(kube::client::Body::from(empty.to_string().into_bytes())))
    };
    kube::Client::new(tower::service_fn(send), "default")
}

#[tokio::test(start_paused = true)]
async fn a_metrics_api_that_hangs_keeps_nobody_from_the_others_of_its_cluster() {
    let metrics = Metrics::new(hanging_custom(), Duration::from_secs(15));
    let pods = |name: &str| MetricsApiQuery::Pods {
        namespace: "prod".into(),
        metric: MetricQuery { name: name.into(), selector: "".into() },
    };
    let hanging: Vec<MetricsApiQuery> = (0..8).map(|number| pods(&format!("queue{number}"))).collect();
    let usage = MetricsApiQuery::Usage { namespace: "prod".into() };
    let others = futures::future::join_all(hanging.iter().map(|query| metrics.ask(&["member1"], query)));
    tokio::join!(others, metrics.ask(&["member1"], &usage));
    assert!(metrics.answer("member1", &usage).is_ok(), "{:?}", metrics.answer("member1", &usage));
    assert!(hanging.iter().all(|query| metrics.answer("member1", query).is_err()));
}

#[tokio::test(start_paused = true)]
async fn fault_11_at_exactly_the_edge_of_the_tolerance_nothing_is_scaled() {
    let (stage, _one) = running(2, json!({})).await;
    // 55% of the requests, with a target of 50% and a tolerance of 10%; 45% in the same way.
    for load in [165, 135] {
        stage.load(load).await;
        stage.pass(400).await;
        assert_eq!(stage.scale().await, 3, "{load}: {:?}", stage.messages().await);
    }
    stage.load(168).await;
    stage.until_scale(4, 60).await;
}

#[tokio::test(start_paused = true)]
async fn fault_12_the_pods_that_a_rollout_has_besides_are_not_asked_for() {
    let (stage, _one) = two(2, weights(&[1, 1])).await;
    stage.load(100_000).await;
    let mut more = per_pod();
    more["behavior"] = json!({"scaleUp": {"tolerance": "400m"}, "scaleDown": {"tolerance": "400m"}});
    centralized(&stage, 1, more).await;
    stage.until_scale(10, 120).await;
    stage.pass(60).await;
    let mut most = 0;
    for round in 0..3 {
        let template = json!({"metadata": {"annotations": {"round": round.to_string()}}});
        stage.patch("Deployment", "web", json!({"spec": {"template": template}})).await;
        for _ in 0..90 {
            stage.pass(1).await;
            let mut pods = 0;
            for cluster in ["member1", "member2"] {
                let objects = Objects::new(stage.fleet.member(cluster).unwrap().client());
                pods += objects.list(&kind("Pod"), "prod").await.unwrap().len();
            }
            most = most.max(pods);
            assert_eq!(stage.scale().await, 10, "with {pods} pods: {:?}", stage.messages().await);
        }
    }
    assert!(most > 11, "no rollout had more than {most} pods");
}
