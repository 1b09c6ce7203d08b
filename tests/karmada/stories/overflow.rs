//! Overflow groups of a placement: filled in their order, emptied in reverse.

use std::time::Duration;

use serde_json::json;

use super::examples::{cores_of, ends, size, wants};
use super::moves::{empties_in_reverse, ready};
use crate::stand::{MEMBERS, Stand, federated};

/// The own group is member1 with room for six, the first overflow member2 with room for four, the second member3.
pub async fn groups_fill_in_order_and_empty_in_reverse(stand: &mut Stand) {
    let name = "overflow";
    for (member, cores) in [("member1", 6), ("member2", 4), ("member3", 20)] {
        size(stand, member, cores).await;
        wants(stand, member, name, 1);
    }
    stand
        .soon("Karmada tells of empty clusters of these sizes", async |stand| {
            stand.is_empty("member1", 6).await
                && stand.is_empty("member2", 4).await
                && stand.is_empty("member3", 20).await
        })
        .await;
    let group = |group: &str, cluster: &str| json!({"affinityName": group, "clusterNames": [cluster]});
    let mut own = group("own", "member1");
    own["overflowAffinities"] = json!([group("near", "member2"), group("far", "member3")]);
    let placement = json!({"clusterAffinities": [own],
        "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}});
    let policy = json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "prod"},
        "spec": {"resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            "placement": placement}});
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 10}});
    stand.apply("federatedhpas", &federated(name, 1, 20, json!({"behavior": behavior}))).await;
    stand.apply("deployments", &cores_of(name, 1)).await;
    stand.apply("propagationpolicies", &policy).await;
    stand.soon("each has its first", async |stand| ready(stand, name) == [1, 1, 1]).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    // More than the own group can run: the near one runs the rest, and the far one nothing more.
    wants(stand, "member1", name, 9);
    stand
        .later(Duration::from_secs(90), "the near group runs what the own one cannot", async |stand| {
            ready(stand, name) == [6, 4, 1]
        })
        .await;
    // HPAs run every two seconds here: more at once would be more writes than an object may have in a minute.
    wants(stand, "member2", name, 4);
    tokio::time::sleep(Duration::from_secs(45)).await;
    wants(stand, "member2", name, 6);
    stand
        .later(Duration::from_secs(90), "the far group runs what the near one cannot", async |stand| {
            let now = ready(stand, name);
            now[..2] == [6, 4] && now[2] >= 3
        })
        .await;
    wants(stand, "member3", name, 3);
    tokio::time::sleep(Duration::from_secs(15)).await;
    // Little is left to do: the far group shrinks first, the own one last.
    for member in MEMBERS {
        wants(stand, member, name, 1);
    }
    empties_in_reverse(stand, name).await;
    ends(stand, name).await;
}
