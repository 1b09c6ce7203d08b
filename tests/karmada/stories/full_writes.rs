//! Writers who write a whole workload or FederatedHPA, without what fhpa put on it.

use std::time::Duration;

use fhpa::decision::names::{FINALIZER, RETAIN_REPLICAS, RETENTION_MANAGER};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use super::leave::{FIFTEEN, fifteen};
use crate::stand::{MEMBERS, SOON, Stand, deployment, federated};

const NAME: &str = "replaced";
/// How often the workload is replaced, and how many times.
const PACE: Duration = Duration::from_secs(3);
const TIMES: u32 = 20;

/// Writes the whole Deployment as a user has it; returns it as stored.
async fn replace(stand: &Stand, manager: &str) -> DynamicObject {
    let api = stand.lab.karmada.api("apps/v1", "Deployment", "deployments", Some("prod"));
    let whole: DynamicObject = serde_json::from_value(deployment(NAME, 3)).unwrap();
    let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    api.replace(NAME, &params, &whole).await.unwrap()
}

fn label(object: &DynamicObject) -> Option<&str> {
    object.metadata.labels.as_ref()?.get(RETAIN_REPLICAS).map(String::as_str)
}

/// How often the binding was written.
async fn generation(stand: &Stand) -> u64 {
    stand.binding(NAME).await.and_then(|binding| binding["metadata"]["generation"].as_u64()).unwrap()
}

/// How often karmada-apiserver asked the webhook about a workload.
async fn reviews(stand: &Stand) -> u64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let text = stand.lab.karmada.client.request_text(request).await.unwrap();
    let counts = |line: &&str| {
        line.starts_with("apiserver_admission_webhook_request_total{") && line.contains("workload.fhpa.karmada.io")
    };
    let count = |line: &str| line.rsplit(' ').next().and_then(|count| count.parse::<u64>().ok());
    text.lines().filter(counts).filter_map(count).sum()
}

/// The entries of the binding, by cluster.
fn entries(binding: &Value) -> Vec<(&str, u64)> {
    let entry = |entry: &'_ Value| entry["replicas"].as_u64().unwrap_or_default();
    let all = binding["spec"]["clusters"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().map(|one| (one["name"].as_str().unwrap(), entry(one))).collect()
}

/// A workload that is replaced every three seconds for a minute keeps its pods: the webhook puts the label back. One
/// whose label is lost all the same, as while no webhook answers, keeps what ran a minute ago: the entries follow.
pub async fn a_workload_that_is_replaced_keeps_its_pods(stand: &mut Stand) {
    fifteen(stand, NAME, 30).await;
    let (first, asked) = (generation(stand).await, reviews(stand).await);
    for _ in 0..TIMES {
        assert_eq!(label(&replace(stand, "user").await), Some("true"), "it is put back in the same request");
        tokio::time::sleep(PACE).await;
    }
    println!(
        "  {TIMES} writes of the whole workload in a minute: at least {} of 15 ready; {} versions of the binding, {} reviews",
        stand.observer.least(NAME),
        generation(stand).await - first,
        reviews(stand).await - asked,
    );
    assert_eq!(stand.observer.least(NAME), 15);
    stand
        .later(2 * SOON, "the entries follow", async |stand| {
            stand
                .binding(NAME)
                .await
                .is_some_and(|binding| entries(&binding) == FIFTEEN.map(|(name, runs)| (name, runs as u64)))
        })
        .await;
    // The webhook is not asked about what the controller itself writes.
    assert_eq!(label(&replace(stand, RETENTION_MANAGER).await), None);
    stand
        .soon("the controller puts it back", async |stand| {
            let api = stand.lab.karmada.api("apps/v1", "Deployment", "deployments", Some("prod"));
            label(&api.get(NAME).await.unwrap()).is_some()
        })
        .await;
    tokio::time::sleep(PACE).await;
    assert_eq!(stand.observer.least(NAME), 15, "the label was away for a moment");
    stand.clear(NAME).await;
}

/// A full write of the FederatedHPA that makes it Centralized at the same time leaves no HPA in a member, and ends no pod.
pub async fn a_federated_hpa_that_is_replaced_leaves_nothing_behind(stand: &mut Stand) {
    let name = "rewritten";
    fifteen(stand, name, 30).await;
    let (version, kind, plural) = ("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas");
    let api = stand.lab.karmada.api(version, kind, plural, Some("prod"));
    let mut whole = federated(name, 3, 30, json!({"mode": "Centralized"}));
    whole["metadata"]["resourceVersion"] = stand.hpa(name).await.unwrap()["metadata"]["resourceVersion"].clone();
    let whole: DynamicObject = serde_json::from_value(whole).unwrap();
    let params = PostParams { field_manager: Some("user".to_owned()), ..PostParams::default() };
    let stored = api.replace(name, &params, &whole).await.unwrap();
    assert_eq!(stored.metadata.finalizers, Some(vec![FINALIZER.to_owned()]), "it is kept in the same request");
    stand
        .later(Duration::from_secs(120), "it is handed back", async |stand| {
            let hpa = stand.hpa(name).await.unwrap();
            let mut bound = 0;
            for member in MEMBERS {
                bound += usize::from(stand.bounds(member, name).await.is_some());
            }
            bound == 0 && hpa["metadata"]["finalizers"].is_null()
        })
        .await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let template = stand.get("apps/v1", "Deployment", "deployments", name).await.unwrap();
    assert_eq!((stand.observer.least(name), &template["spec"]["replicas"]), (15, &json!(15)), "no pod was ended");
    assert!(template["metadata"]["labels"][RETAIN_REPLICAS].is_null(), "{template}");
    stand.clear(name).await;
}
