//! A distributed FederatedHPA on a real kube-apiserver: takeover, writes and release. Karmada's own controllers do not
//! run; the test writes in their place.

use fhpa::api::FederatedHPA;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::process::Replica;
use super::real::{Stand, deployment, within, workload};

pub(super) const WORK: (&str, &str, &str) = ("work.karmada.io", "v1alpha1", "Work");
pub(super) const BINDING: (&str, &str, &str) = ("work.karmada.io", "v1alpha2", "ResourceBinding");
const CLUSTER: (&str, &str, &str) = ("cluster.karmada.io", "v1alpha1", "Cluster");
pub(super) const DEPLOYMENT: (&str, &str, &str) = ("apps", "v1", "Deployment");
pub(super) const MEMBERS: [&str; 2] = ["member1", "member2"];

fn resource((group, version, kind): (&str, &str, &str)) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Objects of one kind in one namespace; none: of the whole control plane.
pub(super) fn objects(client: &Client, kind: (&str, &str, &str), namespace: &str) -> Api<DynamicObject> {
    match namespace {
        "" => Api::all_with(client.clone(), &resource(kind)),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource(kind)),
    }
}

async fn make(api: &Api<DynamicObject>, object: Value) {
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

async fn say(api: &Api<DynamicObject>, name: &str, status: Value) {
    let status = json!({"status": status});
    api.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await.unwrap();
}

/// Asks until `see` sees something.
pub(super) async fn until<T>(what: &str, see: impl AsyncFn() -> Option<T>) -> T {
    within(what, async {
        loop {
            if let Some(seen) = see().await {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// The bounds that were sent to each member, once they are `wanted`.
pub(super) async fn bounds_are(client: &Client, wanted: [(i64, i64); 2]) {
    until(&format!("{wanted:?}"), async || {
        let mut found = Vec::new();
        for member in MEMBERS {
            let works = objects(client, WORK, &format!("karmada-es-{member}"));
            let work = works.list(&ListParams::default()).await.unwrap().items.pop()?;
            let hpa = &work.data["spec"]["workload"]["manifests"][0];
            assert_eq!(
                (&hpa["kind"], &hpa["apiVersion"]),
                (&json!("HorizontalPodAutoscaler"), &json!("autoscaling/v2"))
            );
            found.push((hpa["spec"]["minReplicas"].as_i64()?, hpa["spec"]["maxReplicas"].as_i64()?));
            // The member has applied it, as the reflection of Karmada would say.
            let token = &hpa["metadata"]["annotations"]["fhpa.karmada.io/write-id"];
            let identifier = json!({"ordinal": 0, "group": "autoscaling", "version": "v2", "resource": "",
                "kind": "HorizontalPodAutoscaler", "namespace": "prod", "name": "web"});
            let manifest = json!({"identifier": identifier, "status": {"writeID": token}});
            say(&works, work.metadata.name.as_deref()?, json!({"manifestStatuses": [manifest]})).await;
        }
        (found == wanted).then_some(())
    })
    .await;
}

/// A workload in two members, each with one replica.
pub(super) async fn prepare(stand: &Stand) {
    let client = &stand.client;
    for member in MEMBERS {
        stand.plane.namespace(&format!("karmada-es-{member}"));
        let clusters = objects(client, CLUSTER, "");
        make(
            &clusters,
            json!({"apiVersion": "cluster.karmada.io/v1alpha1", "kind": "Cluster",
            "metadata": {"name": member}, "spec": {"syncMode": "Push"}}),
        )
        .await;
        let ready = json!({"type": "Ready", "status": "True", "reason": "ClusterReady", "message": "cluster is healthy",
            "lastTransitionTime": "2026-11-01T00:00:00Z"});
        say(&clusters, member, json!({"kubernetesVersion": "v1.36.2", "conditions": [ready]})).await;
    }
    stand.plane.apply(&deployment("web"));
    let weights: Vec<Value> = [("member1", 1), ("member2", 3)]
        .map(|(name, weight)| json!({"targetCluster": {"clusterNames": [name]}, "weight": weight}))
        .to_vec();
    let placement = json!({"clusterAffinity": {"clusterNames": MEMBERS}, "replicaScheduling": {
        "replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": weights}}});
    make(
        &objects(client, BINDING, "prod"),
        json!({"apiVersion": "work.karmada.io/v1alpha2", "kind": "ResourceBinding",
        "metadata": {"name": "web-deployment", "namespace": "prod"},
        "spec": {"resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "prod", "name": "web"},
            "replicas": 2, "placement": placement,
            "clusters": [{"name": "member1", "replicas": 1}, {"name": "member2", "replicas": 1}]}}),
    )
    .await;
    run(client, [1, 1]).await;
}

/// So many replicas run in the members.
pub(super) async fn run(client: &Client, replicas: [i64; 2]) {
    let running: Vec<Value> = MEMBERS
        .iter()
        .zip(replicas)
        .map(|(member, replicas)| {
            json!({"clusterName": member, "applied": true, "health": "Healthy",
            "status": {"replicas": replicas, "readyReplicas": replicas, "observedGeneration": 1, "generation": 1}})
        })
        .collect();
    say(&objects(client, BINDING, "prod"), "web-deployment", json!({"aggregatedStatus": running})).await;
}

/// Karmada takes objects out of the clusters whose Works are deleted, and lets these go.
pub(super) async fn let_go(client: &Client) {
    for member in MEMBERS {
        let works = objects(client, WORK, &format!("karmada-es-{member}"));
        for work in works.list(&ListParams::default()).await.unwrap().items {
            if work.metadata.deletion_timestamp.is_some() {
                let free = json!({"metadata": {"finalizers": null}});
                let name = work.metadata.name.unwrap();
                let _ = works.patch(&name, &PatchParams::default(), &Patch::Merge(&free)).await;
            }
        }
    }
}

#[tokio::test]
async fn a_workload_is_taken_over_divided_and_handed_back_on_a_real_api_server() {
    let Some(stand) = Stand::new("a distributed FederatedHPA").await else { return };
    let client = &stand.client;
    prepare(&stand).await;
    let one: Replica = stand.replica("one").await;
    stand.led_by("one").await;
    let hpa = json!({"apiVersion": "autoscaling.karmada.io/v1alpha1", "kind": "FederatedHPA",
        "metadata": {"name": "web", "namespace": "prod"},
        "spec": {"minReplicas": 2, "maxReplicas": 8, "mode": "Distributed", "scaleTargetRef": workload("web")}});
    stand.plane.apply(&hpa.to_string());
    bounds_are(client, [(1, 2), (2, 6)]).await;

    let hpas: Api<FederatedHPA> = Api::namespaced(client.clone(), "prod");
    until("an assignment in the status", async || {
        let status = hpas.get("web").await.unwrap().status?;
        let assigned = status.conditions?.iter().any(|one| one.type_ == "Assigned" && one.status == "True");
        let desired = status.cluster_hpa_desired?;
        (assigned && desired.iter().filter_map(|cluster| cluster.max_replicas).sum::<i32>() == 8).then_some(())
    })
    .await;
    let bindings = objects(client, BINDING, "prod");
    let binding = bindings.get("web-deployment").await.unwrap();
    assert_eq!(binding.data["spec"]["suspension"]["scheduling"], true);
    assert!(binding.metadata.annotations.unwrap().contains_key("policy.karmada.io/applied-placement"));
    let web = objects(client, DEPLOYMENT, "prod").get("web").await.unwrap();
    assert_eq!(web.metadata.labels.unwrap()["resourcetemplate.karmada.io/retain-replicas"], "true");

    let edit = json!({"spec": {"maxReplicas": 4}});
    hpas.patch("web", &PatchParams::default(), &Patch::Merge(&edit)).await.unwrap();
    bounds_are(client, [(1, 1), (2, 3)]).await;

    hpas.delete("web", &DeleteParams::default()).await.unwrap();
    until("the hand-back", async || {
        let_go(client).await;
        hpas.get_opt("web").await.unwrap().is_none().then_some(())
    })
    .await;
    let binding = bindings.get("web-deployment").await.unwrap();
    assert_ne!(binding.data["spec"]["suspension"]["scheduling"], true);
    let web = objects(client, DEPLOYMENT, "prod").get("web").await.unwrap();
    assert_eq!(web.metadata.labels.unwrap_or_default().get("resourcetemplate.karmada.io/retain-replicas"), None);
    drop(one);
}
