//! Workloads of one affinity or anti-affinity group. karmada-controller-manager and karmada-scheduler run with the
//! feature gate `WorkloadAffinity`.

use serde_json::{Value, json};

use crate::stand::{MEMBERS, Stand, deployment, policy};

/// A workload of the team `x` on these members, with the term of `workloadAffinity`.
async fn workload(stand: &Stand, name: &str, replicas: u32, members: &[&str], term: &str) {
    for member in MEMBERS {
        stand.wants(member, name, 1);
    }
    let mut object = deployment(name, replicas);
    object["metadata"]["labels"]["team"] = json!("x");
    let mut placed = policy(name, "Deployment", members);
    placed["spec"]["placement"]["workloadAffinity"] = json!({term: {"groupByLabelKey": "team"}});
    stand.apply("deployments", &object).await;
    stand.apply("propagationpolicies", &placed).await;
}

/// The clusters in its binding, by name.
async fn entries(stand: &Stand, name: &str) -> Vec<String> {
    let binding = stand.binding(name).await.unwrap_or_default();
    let entries = binding["spec"]["clusters"].as_array().into_iter().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry["name"].as_str()).map(str::to_owned).collect();
    names.sort();
    names
}

async fn bounded(stand: &Stand, name: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    for member in MEMBERS {
        if stand.bounds(member, name).await.is_some() {
            found.push(member);
        }
    }
    found
}

/// Workloads of an anti-affinity group share no cluster, whoever divides them, and one gets what another gives up.
pub async fn workloads_of_a_group_are_apart(stand: &mut Stand) {
    workload(stand, "apart-1", 2, &["member1"], "antiAffinity").await;
    stand.runs("apart-1", &[("member1", 2)]).await;
    let group = stand.binding("apart-1").await.unwrap()["spec"]["workloadAffinityGroups"].clone();
    assert_eq!(group, json!({"antiAffinityGroup": "team=x"}));
    // Karmada's scheduler divides the first, fhpa the second.
    stand.federated("apart-2", 2, 12, json!({})).await;
    workload(stand, "apart-2", 2, &MEMBERS, "antiAffinity").await;
    let others = async |stand: &Stand| bounded(stand, "apart-2").await == ["member2", "member3"];
    stand.soon("the second is where the first is not", others).await;
    stand.soon("it runs there", async |stand| entries(stand, "apart-2").await == ["member2", "member3"]).await;
    stand.runs("apart-2", &[("member2", 1), ("member3", 1)]).await;
    stand.observer.note("apart-2");
    // What fhpa has divided keeps karmada-scheduler away as well.
    workload(stand, "apart-3", 2, &MEMBERS, "antiAffinity").await;
    stand.soon("nothing is left for the third", async |stand| unschedulable(stand, "apart-3").await).await;
    stand.clear("apart-3").await;
    stand.clear("apart-1").await;
    let all = async |stand: &Stand| bounded(stand, "apart-2").await == MEMBERS;
    stand.soon("the second gets the cluster of the first", all).await;
    assert!(stand.observer.least("apart-2") >= 2, "no pod was ended");
    stand.clear("apart-2").await;
}

/// A workload of an affinity group goes where the other one is, and stays there when the other one is gone.
pub async fn workloads_of_a_group_are_together(stand: &mut Stand) {
    workload(stand, "with-1", 2, &["member2"], "affinity").await;
    stand.runs("with-1", &[("member2", 2)]).await;
    stand.federated("with-2", 2, 12, json!({})).await;
    workload(stand, "with-2", 2, &MEMBERS, "affinity").await;
    let there = async |stand: &Stand| bounded(stand, "with-2").await == ["member2"];
    stand.soon("the second is where the first is", there).await;
    stand.runs("with-2", &[("member2", 2)]).await;
    stand.observer.note("with-2");
    stand.clear("with-1").await;
    stand.soon("alone it may be everywhere", async |stand| bounded(stand, "with-2").await == MEMBERS).await;
    assert!(stand.observer.least("with-2") >= 2, "no pod was ended");
    stand.clear("with-2").await;
}

async fn unschedulable(stand: &Stand, name: &str) -> bool {
    let binding = stand.binding(name).await.unwrap_or_default();
    let conditions = binding["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let refused = |one: &Value| one["type"] == "Scheduled" && one["status"] == "False";
    conditions.iter().any(refused) && entries(stand, name).await.is_empty()
}
