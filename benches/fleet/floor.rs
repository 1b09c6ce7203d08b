//! The floor: the requests of the controller, sent flat out by a client that decides and remembers nothing.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use fhpa::controller::managers;
use fhpa::runtime::clock;
use http::Request;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::population::{Size, place};

/// Prints the seconds that the read and the write of all targets take, those of all statuses, and those of an Event for
/// each rule.
pub async fn run(kubeconfig: PathBuf, size: Size, concurrency: usize) {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    let client = Client::try_from(config).unwrap();
    let with = client.clone();
    let set = move |index| target(with.clone(), index);
    println!("targets {}", flat_out(size.objects, concurrency, set).await);
    let with = client.clone();
    let record = move |index| recorded(with.clone(), index, size.rules);
    println!("statuses {}", flat_out(size.objects, concurrency, record).await);
    let post = move |index| event(client.clone(), index, size.rules);
    println!("events {}", flat_out(size.all_rules(), concurrency, post).await);
}

/// Does `one` for each number below `count`; gives the seconds.
async fn flat_out<F: Future<Output = ()> + Send + 'static>(
    count: usize,
    concurrency: usize,
    one: impl Fn(usize) -> F + Clone + Send + 'static,
) -> f64 {
    let begun = clock::monotonic();
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..concurrency {
        let (next, one) = (Arc::clone(&next), one.clone());
        tasks.spawn(async move {
            while let Some(index) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|index| *index < count) {
                one(index).await;
            }
        });
    }
    tasks.join_all().await;
    begun.elapsed().as_secs_f64()
}

async fn target(client: Client, index: usize) {
    let (namespace, name) = place(index);
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    let read = Request::get(&path).header("accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    client.request_text(read.body(Vec::new()).unwrap()).await.unwrap();
    let scale = json!({"spec": {"replicas": 77}});
    let merge = Request::patch(format!("{path}/scale")).header("content-type", "application/merge-patch+json");
    client.request_text(merge.body(scale.to_string().into()).unwrap()).await.unwrap();
}

async fn recorded(client: Client, index: usize, rules: usize) {
    let (namespace, name) = place(index);
    let path = format!("/apis/autoscaling.karmada.io/v1alpha1/namespaces/{namespace}/cronfederatedhpas/{name}/status");
    let path = format!("{path}?fieldManager={}&force=true", managers::CRON_STATUS);
    let apply = Request::patch(path).header("content-type", "application/apply-patch+yaml");
    client.request_text(apply.body(status(rules).to_string().into()).unwrap()).await.unwrap();
}

fn status(rules: usize) -> Value {
    let now = clock::wall();
    let run = json!({"scheduleTime": now, "executionTime": now, "appliedReplicas": 3});
    let history = |index: usize| {
        json!({"ruleName": format!("scale-for-business-hours-{index}"), "nextExecutionTime": now,
            "successfulExecutions": [run, run, run]})
    };
    let condition = |type_: &str| {
        json!({"type": type_, "status": "True", "reason": "Executed", "lastTransitionTime": now,
            "message": "all rules are understood and scheduled", "observedGeneration": 1})
    };
    json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "CronFederatedHPA", "status": {
        "observedGeneration": 1, "executionHistories": (0..rules).map(history).collect::<Vec<_>>(),
        "conditions": [condition("Scheduled"), condition("AbleToScale")]}})
}

async fn event(client: Client, index: usize, rules: usize) {
    let (namespace, name) = place(index / rules);
    let about = |api_version: &str, kind: &str| json!({"apiVersion": api_version, "kind": kind, "name": name, "namespace": namespace});
    let body = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event",
        "metadata": {"name": format!("{name}.floor-{index}"), "namespace": namespace},
        "type": "Normal", "reason": "RuleExecuted", "action": "Scale", "eventTime": "2026-11-20T08:30:00.000000Z",
        "reportingController": "fhpa.karmada.io/controller", "reportingInstance": "floor",
        "note": format!("rule \"scale-for-business-hours-1\" of 2026-11-20T08:30:00Z: Deployment {namespace}/{name} set to replicas 5"),
        "regarding": about("autoscaling.karmada.io/v1alpha1", "CronFederatedHPA"), "related": about("apps/v1", "Deployment")});
    let post = Request::post(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"));
    let post = post.header("content-type", "application/json");
    client.request_text(post.body(body.to_string().into()).unwrap()).await.unwrap();
}
