//! Workloads of one affinity or anti-affinity group. karmada-controller-manager and karmada-scheduler run with the
//! feature gate `WorkloadAffinity`.

use serde_json::{Value, json};

use super::{MEMBERS, OTHERS, World, deployment, policy};

told! {
    workloads_of_an_anti_affinity_group_are_apart,
    workloads_of_an_affinity_group_are_together,
}

/// A workload of the team `x` on these members, with the term of `workloadAffinity`.
async fn workload<W: World>(world: &W, name: &str, replicas: u32, members: &[&str], term: &str) {
    world.each_wants(name, [1; 3]);
    let mut object = deployment(name, replicas);
    object["metadata"]["labels"]["team"] = json!("x");
    let mut placed = policy(name, members);
    placed["spec"]["placement"]["workloadAffinity"] = json!({term: {"groupByLabelKey": "team"}});
    world.apply(&object).await;
    world.apply(&placed).await;
}

/// Workloads of an anti-affinity group share no cluster, whoever divides them, and one gets what another gives up.
pub async fn workloads_of_an_anti_affinity_group_are_apart<W: World>(world: &mut W) {
    workload(world, "apart-1", 2, &["member1"], "antiAffinity").await;
    world.runs("apart-1", &[("member1", 2)]).await;
    let group = world.binding("apart-1").await.unwrap()["spec"]["workloadAffinityGroups"].clone();
    assert_eq!(group, json!({"antiAffinityGroup": "team=x"}));
    // Karmada's scheduler divides the first, fhpa the second.
    world.federated("apart-2", 2, 12, json!({})).await;
    workload(world, "apart-2", 2, &MEMBERS, "antiAffinity").await;
    let others = async |world: &W| world.bounded("apart-2").await == OTHERS;
    world.soon("the second is where the first is not", others).await;
    world.soon("it runs there", async |world| world.assigned("apart-2").await == OTHERS).await;
    world.runs("apart-2", &[("member2", 1), ("member3", 1)]).await;
    world.note("apart-2");
    // What fhpa has divided keeps karmada-scheduler away as well.
    workload(world, "apart-3", 2, &MEMBERS, "antiAffinity").await;
    let nothing = async |world: &W| unschedulable(world, "apart-3").await;
    world.soon("nothing is left for the third", nothing).await;
    world.clear("apart-3").await;
    world.clear("apart-1").await;
    let all = async |world: &W| world.bounded("apart-2").await == MEMBERS;
    world.soon("the second gets the cluster of the first", all).await;
    assert!(world.least("apart-2") >= 2, "no pod was ended");
    world.clear("apart-2").await;
}

/// A workload of an affinity group goes where the other one is, and stays there when the other one is gone.
pub async fn workloads_of_an_affinity_group_are_together<W: World>(world: &mut W) {
    workload(world, "with-1", 2, &["member2"], "affinity").await;
    world.runs("with-1", &[("member2", 2)]).await;
    world.federated("with-2", 2, 12, json!({})).await;
    workload(world, "with-2", 2, &MEMBERS, "affinity").await;
    let there = async |world: &W| world.bounded("with-2").await == ["member2"];
    world.soon("the second is where the first is", there).await;
    world.runs("with-2", &[("member2", 2)]).await;
    world.note("with-2");
    world.clear("with-1").await;
    world.soon("alone it may be everywhere", async |world| world.bounded("with-2").await == MEMBERS).await;
    assert!(world.least("with-2") >= 2, "no pod was ended");
    world.clear("with-2").await;
}

async fn unschedulable<W: World>(world: &W, name: &str) -> bool {
    let binding = world.binding(name).await.unwrap_or_default();
    let refused = |one: &Value| one["type"] == "Scheduled" && one["status"] == "False";
    let mut conditions = binding["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(refused) && world.assigned(name).await.is_empty()
}
