//! Help where the autoscaler of a member adds no nodes. Each pod requests one core.

use kube::api::PostParams;
use serde_json::{Value, json};

use crate::both::examples::{by, cores_of, ends, wants};
use crate::both::pods::app_of;
use crate::both::{World as _, federated, policy};
use crate::stand::Stand;

const NAME: &str = "without-nodes";

/// Pods of the first member that find no node.
async fn unplaced(stand: &Stand) -> Vec<Value> {
    let api = stand.api("member1", "Pod", "prod");
    let Ok(pods) = api.list(&kube::api::ListParams::default()).await else { return Vec::new() };
    let pods = pods.items.into_iter().map(|pod| serde_json::to_value(pod).unwrap());
    let waits = |pod: &Value| {
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "PodScheduled" && one["reason"] == "Unschedulable")
    };
    pods.filter(|pod| app_of(pod) == NAME && waits(pod)).collect()
}

/// The Event that cluster-autoscaler writes about a pod, as a user of that member makes it.
async fn refuses(stand: &Stand, pod: &Value) {
    let now = fhpa::runtime::clock::wall().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let about = &pod["metadata"];
    let event = json!({"apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": "NotTriggerScaleUp", "count": 1,
        "metadata": {"generateName": format!("{}.", about["name"].as_str().unwrap()), "namespace": "prod"},
        "message": "pod didn't trigger scale-up: 1 max node group size reached",
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", "name": about["name"], "namespace": "prod",
            "uid": about["uid"]},
        "source": {"component": "cluster-autoscaler"}, "firstTimestamp": now, "lastTimestamp": now});
    let api = stand.lab.member("member1").plane.api("v1", "Event", "events", Some("prod"));
    api.create(&PostParams::default(), &serde_json::from_value(event).unwrap()).await.unwrap();
}

/// The others wait ten minutes for nodes, until the autoscaler says that none come.
pub async fn where_no_nodes_come_others_help_at_once(stand: &mut Stand) {
    let clusters = [("member1", 2), ("member2", 8)];
    for (member, cores) in clusters {
        stand.size(member, cores).await;
        wants(stand, member, NAME, 1);
    }
    stand
        .soon("Karmada tells of empty clusters of these sizes", async |stand| {
            stand.is_empty("member1", 2).await && stand.is_empty("member2", 8).await
        })
        .await;
    stand.apply(&cores_of(NAME, 2)).await;
    stand.apply(&policy(NAME, &["member1", "member2"])).await;
    stand.soon("both run one", async |stand| stand.ready(NAME) == 2).await;
    let mut spec = by("StaticWeighted", "staticWeight", &[1, 1]);
    spec["autoscaleMultiClusterDelay"] = json!(600);
    stand.apply(&federated(NAME, 2, 8, spec)).await;
    let divided = async |stand: &Stand, of: [(u64, u64); 2]| {
        stand.bounds("member1", NAME).await == Some(of[0]) && stand.bounds("member2", NAME).await == Some(of[1])
    };
    stand.soon("each has its half", async |stand| divided(stand, [(1, 4), (1, 4)]).await).await;
    wants(stand, "member1", NAME, 4);
    stand.later(60, "two pods find no node", async |stand| unplaced(stand).await.len() == 2).await;
    // It is asked whether nodes come, and nobody says that none do.
    for _ in 0..45 {
        stand.pass(1).await;
        assert!(divided(stand, [(1, 4), (1, 4)]).await, "help began while nodes may come");
    }
    for pod in unplaced(stand).await {
        refuses(stand, &pod).await;
    }
    let helped = async |stand: &Stand| divided(stand, [(1, 2), (1, 6)]).await;
    stand.later(60, "the other cluster has the headroom", helped).await;
    ends(stand, NAME).await;
}
