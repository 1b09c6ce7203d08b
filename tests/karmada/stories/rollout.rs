//! A cluster leaves while its workload is rolled out.

use serde_json::json;

use crate::both::{MEMBERS, OTHERS, World as _};
use crate::stand::Stand;

/// `maxReplicas` is what runs, and the template changes as the cluster leaves: extra pods of the others are no
/// replacement, and none leaves to make room for them.
pub async fn a_cluster_that_leaves_during_a_rollout_is_replaced_first(stand: &mut Stand) {
    let name = "rolls-out";
    stand.each_wants(name, [3, 6, 6]);
    stand.workload(name, 3, &MEMBERS).await;
    // Ready pods are never fewer by the rollout alone.
    let strategy = json!({"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}});
    stand.edit("Deployment", name, json!({"spec": {"strategy": strategy}})).await;
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &[("member1", 3), ("member2", 6), ("member3", 6)]).await;
    stand.federated(name, 3, 15, json!({})).await;
    let held = async |stand: &Stand| {
        [stand.bounds("member2", name).await, stand.bounds("member3", name).await] == [Some((1, 6)), Some((1, 6))]
    };
    stand.soon("the others are held to what they run", held).await;
    assert_eq!(stand.note(name), 15);
    stand.policy(name, &OTHERS).await;
    let annotated = json!({"metadata": {"annotations": {"suite": "rolled"}}});
    stand.edit("Deployment", name, json!({"spec": {"template": annotated}})).await;
    stand.is_left("member1", name, 300).await;
    stand.soon("all run elsewhere", async |stand| stand.ready(name) == 15).await;
    let least = stand.least(name);
    assert!(least >= 14, "no more than one of three is missing at a time; {least} of 15 were ready");
    stand.clear(name).await;
}
