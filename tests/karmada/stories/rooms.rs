//! Several workloads that need the same free capacity. Each pod requests one core.

use std::time::Duration;

use serde_json::json;

use super::examples::{cores_of, size, wants};
use crate::stand::{MEMBERS, Stand, policy};

const NAMES: [&str; 8] = ["room-1", "room-2", "room-3", "room-4", "room-5", "room-6", "room-7", "room-8"];

/// Where a workload runs first.
fn home(at: usize) -> &'static str {
    if at < 6 { "member1" } else { "member2" }
}

/// Eight workloads of two pods; the cluster of six of them is lost, and the others have room for exactly as many.
pub async fn a_lost_cluster_leaves_no_workload_below_its_min(stand: &mut Stand) {
    let cores = [("member1", 16, 12), ("member2", 8, 4), ("member3", 8, 0)];
    for (member, cores, _) in cores {
        size(stand, member, cores).await;
    }
    for (at, name) in NAMES.into_iter().enumerate() {
        for member in MEMBERS {
            wants(stand, member, name, 1);
        }
        let mut policy = policy(name, "Deployment", &MEMBERS);
        let placement = &mut policy["spec"]["placement"];
        let weights = json!([{"targetCluster": {"clusterNames": [home(at)]}, "weight": 1}]);
        placement["replicaScheduling"]["weightPreference"]["staticWeightList"] = weights;
        let tolerations = ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]
            .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}));
        placement["clusterTolerations"] = json!(tolerations);
        stand.apply("deployments", &cores_of(name, 2)).await;
        stand.apply("propagationpolicies", &policy).await;
    }
    let run = async |stand: &Stand| {
        let all = NAMES.iter().enumerate();
        all.into_iter().all(|(at, name)| stand.observer.ready_in(home(at), name) == 2)
    };
    stand.soon("all run", run).await;
    for (member, cores, used) in cores {
        stand.soon("Karmada tells of what runs", async |stand| stand.has(member, cores, used).await).await;
    }
    for name in NAMES {
        let aggregated = json!({"federatedHPAAssignment": {"federatedHPAAssignmentType": "Aggregated"}});
        stand.federated(name, 2, 4, aggregated).await;
    }
    for (at, name) in NAMES.into_iter().enumerate() {
        let divided = async |stand: &Stand| stand.bounds(home(at), name).await == Some((2, 4));
        stand.soon("each is where it ran", divided).await;
    }
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    let counts = |stand: &Stand| {
        let others = |name: &&str| stand.observer.ready_in("member2", name) + stand.observer.ready_in("member3", name);
        NAMES.iter().map(others).collect::<Vec<_>>()
    };
    let whole = async |stand: &Stand| counts(stand) == [2; 8];
    stand.later(Duration::from_secs(120), "no workload is below its min", whole).await;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(counts(stand), [2; 8]);
    }
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    for name in NAMES {
        stand.clear(name).await;
    }
    for member in MEMBERS {
        size(stand, member, crate::lab::CORES).await;
    }
}
