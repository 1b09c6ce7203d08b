//! Two tenants whose objects have one hash: Karmada would give their Works one name.

use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::day2::VERSION;
use crate::stand::{MEMBERS, Stand, deployment, federated, policy};

/// A namespace whose objects have the Works of those of `prod` with the same kind and name.
const TEAM: &str = "team-c8owakv";
/// The name of both FederatedHPAs. Their workloads have others: Karmada itself takes two of one name for each other.
const NAME: &str = "hash";
const OTHER: &str = "rash";

fn of_team(mut object: Value) -> Value {
    object["metadata"]["namespace"] = json!(TEAM);
    object
}

/// Bounds of the HPAs of a namespace in all members; `None` for a member without.
async fn bounds(stand: &Stand, namespace: &str) -> Vec<Option<(u64, u64)>> {
    let mut all = Vec::new();
    for member in MEMBERS {
        let plane = &stand.lab.member(member).plane;
        let api = plane.api("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Some(namespace));
        let spec = api.get_opt(NAME).await.ok().flatten().map(|hpa| hpa.data["spec"].clone());
        all.push(spec.and_then(|spec| Some((spec["minReplicas"].as_u64()?, spec["maxReplicas"].as_u64()?))));
    }
    all
}

/// How many Works hold an HPA of a namespace.
async fn works(stand: &Stand, namespace: &str) -> usize {
    let api = stand.lab.karmada.api("work.karmada.io/v1alpha1", "Work", "works", None);
    let all = api.list(&ListParams::default()).await.unwrap();
    let manifests = all.items.iter().map(|work| &work.data["spec"]["workload"]["manifests"][0]);
    manifests
        .filter(|manifest| {
            manifest["kind"] == "HorizontalPodAutoscaler" && manifest["metadata"]["namespace"] == namespace
        })
        .count()
}

async fn both(stand: &Stand, what: &str, prod: Option<(u64, u64)>, team: Option<(u64, u64)>) {
    let is = |found: Vec<Option<(u64, u64)>>, wanted| found.iter().all(|one| *one == wanted);
    stand.soon(what, async |stand| is(bounds(stand, "prod").await, prod) && is(bounds(stand, TEAM).await, team)).await;
    println!("  {what}: {prod:?} and {team:?} in each member");
}

/// Each has its own HPAs, whoever comes, changes or goes.
pub async fn two_namespaces_with_one_hash_have_their_own_hpas(stand: &mut Stand) {
    stand.workload(NAME, 3, &MEMBERS).await;
    stand.federated(NAME, 3, 12, json!({})).await;
    both(stand, "the first has its HPAs", Some((1, 4)), None).await;
    stand.lab.karmada.namespace(TEAM).await;
    stand.apply("deployments", &of_team(deployment(OTHER, 3))).await;
    stand.apply("propagationpolicies", &of_team(policy(OTHER, "Deployment", &MEMBERS))).await;
    let target = json!({"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": OTHER}});
    stand.apply("federatedhpas", &of_team(federated(NAME, 3, 9, target))).await;
    both(stand, "the second has its own", Some((1, 4)), Some((1, 3))).await;
    assert_eq!((works(stand, "prod").await, works(stand, TEAM).await), (3, 3));
    let of = |namespace| stand.lab.karmada.api(VERSION, "FederatedHPA", "federatedhpas", Some(namespace));
    stand
        .soon("the second says so", async |_| {
            let object = of(TEAM).get(NAME).await.unwrap();
            let conditions = object.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.iter().any(|one| one["type"] == "Ready" && one["reason"] == "WorkNameTaken")
        })
        .await;
    let more = Patch::Merge(json!({"spec": {"maxReplicas": 18}}));
    of(TEAM).patch(NAME, &PatchParams::default(), &more).await.unwrap();
    both(stand, "the second is changed", Some((1, 4)), Some((1, 6))).await;
    stand.delete(VERSION, "FederatedHPA", "federatedhpas", NAME).await;
    both(stand, "the first is deleted", None, Some((1, 6))).await;
    stand.soon("the first goes", async |stand| stand.hpa(NAME).await.is_none()).await;
    stand.federated(NAME, 3, 12, json!({})).await;
    both(stand, "the first comes again", Some((1, 4)), Some((1, 6))).await;
    of(TEAM).delete(NAME, &DeleteParams::default()).await.unwrap();
    both(stand, "the second is deleted", Some((1, 4)), None).await;
    stand.soon("the second goes", async |_| of(TEAM).get_opt(NAME).await.unwrap().is_none()).await;
    assert_eq!((works(stand, "prod").await, works(stand, TEAM).await), (3, 0));
    let api = stand.lab.karmada.api("apps/v1", "Deployment", "deployments", Some(TEAM));
    api.delete(OTHER, &DeleteParams::default()).await.unwrap();
    let api =
        stand.lab.karmada.api("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies", Some(TEAM));
    api.delete(OTHER, &DeleteParams::default()).await.unwrap();
    stand.clear(NAME).await;
}
