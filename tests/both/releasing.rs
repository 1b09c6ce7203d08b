//! fhpa hands back every workload that it took over, in every state.

use fhpa::runtime::clock::steady;
use serde_json::json;

use super::leaving::fifteen;
use super::{MEMBERS, World, deployment};

told! {
    a_workload_that_runs_nowhere_keeps_its_replicas,
    handing_back_moves_no_pod,
    a_workload_whose_policy_is_gone_keeps_its_pods,
    a_binding_that_nobody_serves_is_scheduled_again,
    an_absent_karmada_costs_no_pod_at_a_release,
}

/// The FederatedHPA is gone, and Karmada has the workload with so many replicas.
async fn is_let_go<W: World>(world: &W, name: &str, replicas: u64) {
    let told = world.binding(name).await.unwrap()["spec"].clone();
    assert_eq!((world.asked(name).await, told["replicas"].as_u64()), (replicas, Some(replicas)), "{told}");
    assert!(!world.retained(name).await && !world.suspended(name).await, "{told}");
    assert!(told["gracefulEvictionTasks"].is_null(), "{told}");
    assert_eq!(world.bounded(name).await, [""; 0]);
}

/// Its policy names a cluster that does not exist: the template keeps its replicas and the FederatedHPA goes.
pub async fn a_workload_that_runs_nowhere_keeps_its_replicas<W: World>(world: &mut W) {
    let name = "nowhere";
    world.apply(&deployment(name, 3)).await;
    world.policy(name, &["elsewhere"]).await;
    world.federated(name, 1, 9, json!({})).await;
    let told = async |world: &W| world.said(name, "Assigned").await.starts_with("False NoCandidates");
    world.soon("it is told of", told).await;
    world.delete("FederatedHPA", name).await;
    world.is_gone(name, 60).await;
    assert_eq!(world.asked(name).await, 3);
    // A binding that was made in the moment of the deletion is resumed by the sweep.
    world.soon("the scheduler serves it", async |world| !world.suspended(name).await).await;
    is_let_go(world, name, 3).await;
    world.clear(name).await;
}

/// Deleting the FederatedHPA moves no pod, and Karmada's scheduler divides again.
pub async fn handing_back_moves_no_pod<W: World>(world: &mut W) {
    let name = "back";
    fifteen(world, name, 30).await;
    world.delete("FederatedHPA", name).await;
    world.is_gone(name, 60).await;
    world.rests().await;
    is_let_go(world, name, 15).await;
    assert_eq!((world.least(name), world.spread(name)), (15, [10, 3, 2]), "no pod was ended");
    world.edit("Deployment", name, json!({"spec": {"replicas": 18}})).await;
    world.soon("Karmada's scheduler divides", async |world| world.ready(name) == 18).await;
    world.clear(name).await;
}

/// Its policy is deleted first, so that Karmada no longer copies what the template asks for: no pod ends.
pub async fn a_workload_whose_policy_is_gone_keeps_its_pods<W: World>(world: &mut W) {
    let name = "unclaimed";
    fifteen(world, name, 30).await;
    world.delete("PropagationPolicy", name).await;
    world.soon("the policy goes", async |world| world.get("PropagationPolicy", name).await.is_none()).await;
    let unclaimed = async |world: &W| {
        let binding = world.binding(name).await.unwrap();
        binding["metadata"]["labels"]["propagationpolicy.karmada.io/permanent-id"].is_null()
    };
    world.soon("the binding knows it", unclaimed).await;
    world.delete("FederatedHPA", name).await;
    let begun = steady();
    world.is_gone(name, world.limit(60, 300)).await;
    println!("  let go after {:.1?}", begun.elapsed());
    world.rests().await;
    is_let_go(world, name, 15).await;
    assert_eq!((world.least(name), world.spread(name)), (15, [10, 3, 2]), "no pod was ended");
    world.clear(name).await;
}

/// Nobody leads while the FederatedHPA is made and deleted: the binding is not suspended for ever.
pub async fn a_binding_that_nobody_serves_is_scheduled_again<W: World>(world: &mut W) {
    let name = "orphan";
    // The Lease of the killed leader keeps the new processes from leading; their webhooks answer at once.
    world.kill_all().await;
    world.run_all();
    world.federated(name, 1, 9, json!({})).await;
    world.workload(name, 3, &MEMBERS).await;
    world.soon("it has a binding", async |world| world.binding(name).await.is_some()).await;
    world.delete("FederatedHPA", name).await;
    world.leader().await;
    world.soon("it is scheduled", async |world| world.ready(name) == 3).await;
    is_let_go(world, name, 3).await;
    world.clear(name).await;
}

/// Karmada's controllers are away for longer than a release waits for them: its scheduler, which is there, divides nothing
/// that was asked for before.
pub async fn an_absent_karmada_costs_no_pod_at_a_release<W: World>(world: &mut W) {
    let name = "unfollowed";
    fifteen(world, name, 30).await;
    world.manage(false);
    world.delete("FederatedHPA", name).await;
    world.is_gone(name, world.limit(310, 480)).await;
    world.pass(5).await;
    let binding = world.binding(name).await.unwrap();
    assert_eq!(binding["spec"]["replicas"], 15, "{}", binding["spec"]);
    world.manage(true);
    world.edit("Deployment", name, json!({"metadata": {"labels": {"back": "yes"}}})).await;
    for member in MEMBERS {
        let follows = async |world: &W| {
            let found = world.api(member, "Deployment", "prod").get(name).await;
            found.is_ok_and(|it| it.metadata.labels.is_some_and(|labels| labels.contains_key("back")))
        };
        world.later(120, "Karmada works again", follows).await;
    }
    assert_eq!(world.least(name), 15, "ready pods never fall");
    world.clear(name).await;
}
