//! A cluster is removed from the policy while it runs most of the pods.

use std::time::Duration;

use serde_json::json;

use crate::stand::{MEMBERS, Stand};

/// What runs in each member.
pub const FIFTEEN: [(&str, usize); 3] = [("member1", 10), ("member2", 3), ("member3", 2)];

/// Ten pods in member1, three in member2, two in member3.
pub async fn fifteen(stand: &Stand, name: &str, max: u32) {
    for (member, wants) in [("member1", 10), ("member2", 3), ("member3", 2)] {
        stand.wants(member, name, wants);
    }
    stand.workload(name, 3, &MEMBERS).await;
    stand.federated(name, 3, max, json!({})).await;
    stand.runs(name, &FIFTEEN).await;
    assert_eq!(stand.observer.note(name), 15);
}

/// There is headroom: the others run the ten first.
pub async fn replaced_first(stand: &mut Stand) {
    let name = "leaves";
    fifteen(stand, name, 30).await;
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    stand
        .later(Duration::from_secs(120), "member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0)
        .await;
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    assert!(stand.bounds("member1", name).await.is_none(), "its HPA goes, too");
    stand.clear(name).await;
}

/// The object becomes Centralized while the cluster leaves: it is replaced first, then karmada-scheduler takes over.
pub async fn replaced_before_a_switch_of_mode(stand: &mut Stand) {
    let name = "switches";
    fifteen(stand, name, 30).await;
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    let change = json!({"spec": {"mode": "Centralized"}});
    stand.edit("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name, change).await;
    stand
        .later(Duration::from_secs(120), "member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0)
        .await;
    stand
        .later(Duration::from_secs(120), "karmada-scheduler divides again", async |stand| {
            stand.binding(name).await.is_some_and(|binding| binding["spec"]["suspension"]["scheduling"].is_null())
        })
        .await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    assert!(stand.bounds("member2", name).await.is_none(), "no member keeps an HPA");
    stand.clear(name).await;
}

/// `maxReplicas` is what runs: a quarter of it moves at a time.
pub async fn rolls_without_headroom(stand: &mut Stand) {
    let name = "rolls";
    for (member, wants) in [("member1", 10), ("member2", 3), ("member3", 2)] {
        stand.wants(member, name, wants);
    }
    stand.workload(name, 3, &MEMBERS).await;
    // Three times five to begin with would hold the ten of member1 back.
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &FIFTEEN).await;
    stand.federated(name, 3, 15, json!({})).await;
    stand
        .soon("the others are held to what they run", async |stand| {
            stand.bounds("member1", name).await == Some((1, 10))
        })
        .await;
    stand.observer.note(name);
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    stand
        .later(Duration::from_secs(300), "member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0)
        .await;
    let least = stand.observer.least(name);
    assert!(least >= 12, "no more than a quarter of ten is missing at a time; {least} of 15 were ready");
    stand.clear(name).await;
}

/// `maxReplicas` is what runs, and the template changes as the cluster leaves: extra pods of the others are no
/// replacement, and none leaves to make room for them.
pub async fn leaves_during_a_rollout(stand: &mut Stand) {
    let name = "rolls-out";
    let wanted = [("member1", 3), ("member2", 6), ("member3", 6)];
    for (member, wants) in wanted {
        stand.wants(member, name, wants);
    }
    stand.workload(name, 3, &MEMBERS).await;
    let edit = async |stand: &Stand, change| stand.edit("apps/v1", "Deployment", "deployments", name, change).await;
    // Ready pods are never fewer by the rollout alone.
    edit(stand, json!({"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 2}}}})).await;
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &wanted.map(|(member, wants)| (member, wants as usize))).await;
    stand.federated(name, 3, 15, json!({})).await;
    stand
        .soon("the others are held to what they run", async |stand| {
            let maxes = [stand.bounds("member2", name).await, stand.bounds("member3", name).await];
            maxes == [Some((1, 6)), Some((1, 6))]
        })
        .await;
    assert_eq!(stand.observer.note(name), 15);
    stand.policy(name, "Deployment", &["member2", "member3"]).await;
    edit(stand, json!({"spec": {"template": {"metadata": {"annotations": {"suite": "rolled"}}}}})).await;
    stand
        .later(Duration::from_secs(300), "member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0)
        .await;
    stand.later(Duration::from_secs(60), "all run elsewhere", async |stand| stand.observer.ready(name) == 15).await;
    let least = stand.observer.least(name);
    assert!(least >= 14, "no more than one of three is missing at a time; {least} of 15 were ready");
    stand.clear(name).await;
}

/// A label of the Cluster chooses it, and falls.
pub async fn its_label_falls(stand: &mut Stand) {
    let name = "labelled";
    let clusters = stand.lab.karmada.api("cluster.karmada.io/v1alpha1", "Cluster", "clusters", None);
    let label = async |member: &str, value: serde_json::Value| {
        let change = json!({"metadata": {"labels": {"suite": value}}});
        clusters.patch(member, &Default::default(), &kube::api::Patch::Merge(&change)).await.unwrap();
    };
    for member in MEMBERS {
        label(member, json!("in")).await;
    }
    for (member, wants) in [("member1", 10), ("member2", 3), ("member3", 2)] {
        stand.wants(member, name, wants);
    }
    stand.apply("deployments", &crate::stand::deployment(name, 3)).await;
    let mut policy = crate::stand::policy(name, "Deployment", &MEMBERS);
    policy["spec"]["placement"]["clusterAffinity"] = json!({"labelSelector": {"matchLabels": {"suite": "in"}}});
    stand.apply("propagationpolicies", &policy).await;
    stand.federated(name, 3, 30, json!({})).await;
    stand.runs(name, &FIFTEEN).await;
    stand.observer.note(name);
    label("member1", serde_json::Value::Null).await;
    stand
        .later(Duration::from_secs(120), "member1 is left", async |stand| stand.observer.ready_in("member1", name) == 0)
        .await;
    assert_eq!(stand.observer.least(name), 15, "ready pods never fall");
    stand.clear(name).await;
}
