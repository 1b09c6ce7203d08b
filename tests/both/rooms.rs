//! Several workloads that need the same free capacity, and a quota that Karmada enforces.

use fhpa::decision::names::RETAIN_REPLICAS;
use serde_json::json;

use super::examples::{cores_of, ends, wants};
use super::{Loss, MEMBERS, REQUEST, World, policy, tolerating};

told! {
    a_lost_cluster_leaves_no_workload_below_its_min,
    a_quota_holds_no_member_back_and_a_release_ends_no_pod,
}

const NAMES: [&str; 8] = ["room-1", "room-2", "room-3", "room-4", "room-5", "room-6", "room-7", "room-8"];

/// Eight workloads of two pods, each of which requests one core; the cluster of six of them is lost, and the others have
/// room for exactly as many.
pub async fn a_lost_cluster_leaves_no_workload_below_its_min<W: World>(world: &mut W) {
    let cores = [("member1", 16, 12), ("member2", 8, 4), ("member3", 8, 0)];
    let home = |name: &str| if name < "room-7" { "member1" } else { "member2" };
    for (member, cores, _) in cores {
        world.size(member, cores).await;
        NAMES.iter().for_each(|name| wants(world, member, name, 1));
    }
    for name in NAMES {
        let mut policy = tolerating(policy(name, &MEMBERS), 30);
        let weights = json!([{"targetCluster": {"clusterNames": [home(name)]}, "weight": 1}]);
        policy["spec"]["placement"]["replicaScheduling"]["weightPreference"]["staticWeightList"] = weights;
        world.apply(&cores_of(name, 2)).await;
        world.apply(&policy).await;
    }
    let run = async |world: &W| NAMES.iter().all(|name| world.ready_in(home(name), name) == 2);
    world.soon("all run", run).await;
    for (member, cores, used) in cores {
        world.soon("Karmada tells of what runs", async |world| world.has(member, cores, used).await).await;
    }
    for name in NAMES {
        let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
        world.federated(name, 2, 4, aggregated).await;
    }
    for name in NAMES {
        let divided = async |world: &W| world.bounds(home(name), name).await == Some((2, 4));
        world.soon("each is where it ran", divided).await;
    }
    world.dies("member1").await;
    let whole = |world: &W| NAMES.iter().all(|name| world.others(name) == 2);
    world.later(120, "no workload is below its min", async |world| whole(world)).await;
    for _ in 0..60 {
        world.pass(1).await;
        assert!(whole(world), "{:?}", NAMES.map(|name| world.spread(name)));
    }
    world.returns("member1", Loss::Dies).await;
    for name in NAMES {
        ends(world, name).await;
    }
}

/// Members scale beyond what the quota allows Karmada to divide. A release that it refuses ends no pod.
pub async fn a_quota_holds_no_member_back_and_a_release_ends_no_pod<W: World>(world: &mut W) {
    let (name, millicores) = ("counted", |replicas: u32| json!({"cpu": format!("{}m", replicas * REQUEST)}));
    let quota = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota",
        "metadata": {"name": "limit", "namespace": "prod"}, "spec": {"overall": millicores(3)}});
    world.apply(&quota).await;
    // Karmada's webhook learns of it.
    world.pass(3).await;
    world.each_wants(name, [2; 3]);
    world.workload(name, 3, &MEMBERS).await;
    world.federated(name, 3, 12, json!({})).await;
    world.runs(name, &MEMBERS.map(|member| (member, 2))).await;
    assert_eq!(world.note(name), 6);
    world.delete("FederatedHPA", name).await;
    world.is_gone(name, 420).await;
    world.rests().await;
    let (asked, retained) = (world.asked(name).await, world.retained(name).await);
    assert_eq!((world.least(name), asked, retained), (6, 6, true), "no pod was ended");
    assert!(!world.suspended(name).await);
    let told = world.warnings("prod", name, "ReleasedIncompletely").await;
    assert!(told.iter().any(|told| told.contains("exceeded") && told.contains(RETAIN_REPLICAS)), "{told:?}");
    assert!(told.iter().all(|told| told.matches("keeps the label").count() == 1), "one reason is told: {told:?}");
    // Another leader finds nothing to do.
    world.restart(&[]).await;
    world.rests().await;
    assert_eq!(world.least(name), 6);
    // A new object takes it over as it is, and gives it back whole once there is room.
    world.federated(name, 3, 12, json!({})).await;
    world.soon("it is assigned", async |world| world.bounded(name).await == MEMBERS).await;
    world.edit("FederatedResourceQuota", "limit", json!({"spec": {"overall": millicores(30)}})).await;
    world.delete("FederatedHPA", name).await;
    world.is_gone(name, 60).await;
    world.rests().await;
    assert_eq!((world.least(name), world.retained(name).await), (6, false), "no pod was ended");
    world.delete("FederatedResourceQuota", "limit").await;
    world.clear(name).await;
}
