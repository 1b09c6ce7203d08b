//! A cluster is removed from the policy while it runs most of the pods.

use serde_json::{Value, json};

use super::{MEMBERS, OTHERS, World, deployment, policy};

told! {
    a_cluster_that_leaves_the_policy_is_replaced_first,
    a_cluster_that_leaves_is_replaced_before_a_switch_of_mode,
    a_cluster_leaves_in_quarters_where_there_is_no_headroom,
    a_cluster_whose_label_falls_is_replaced_first,
    an_absent_karmada_costs_no_pod,
}

/// What runs in each member.
pub const FIFTEEN: [(&str, usize); 3] = [("member1", 10), ("member2", 3), ("member3", 2)];

/// Ten pods in member1, three in member2, two in member3.
pub async fn fifteen<W: World>(world: &W, name: &str, max: u32) {
    fifteen_by(world, name, policy(name, &MEMBERS), max).await;
}

/// The same, by a policy of one's own.
pub async fn fifteen_by<W: World>(world: &W, name: &str, policy: Value, max: u32) {
    world.each_wants(name, [10, 3, 2]);
    world.apply(&deployment(name, 3)).await;
    world.apply(&policy).await;
    world.federated(name, 3, max, json!({})).await;
    world.runs(name, &FIFTEEN).await;
    assert_eq!(world.note(name), 15);
}

/// There is headroom: the others run the ten first.
pub async fn a_cluster_that_leaves_the_policy_is_replaced_first<W: World>(world: &mut W) {
    let name = "leaves";
    fifteen(world, name, 30).await;
    world.policy(name, &OTHERS).await;
    world.is_left("member1", name, 120).await;
    assert_eq!(world.least(name), 15, "ready pods never fall");
    assert_eq!(world.bounded(name).await, OTHERS);
    assert_eq!(world.assigned(name).await, OTHERS);
    let well = async |world: &W| world.said(name, "Ready").await.starts_with("True MemberHPAsReady");
    world.soon("the others scale", well).await;
    world.clear(name).await;
}

/// The object becomes Centralized while the cluster leaves: it is replaced first, then karmada-scheduler takes over.
pub async fn a_cluster_that_leaves_is_replaced_before_a_switch_of_mode<W: World>(world: &mut W) {
    let name = "switches";
    fifteen(world, name, 30).await;
    for member in OTHERS {
        world.starts(member, name, false).await;
    }
    world.policy(name, &OTHERS).await;
    world.respec(name, json!({"mode": "Centralized"})).await;
    let waits = async |world: &W| {
        let said = world.said(name, "Assigned").await;
        said.starts_with(
            "False HandingBack: Centralized mode begins once others run the replicas of clusters that leave",
        )
    };
    world.soon("it says what it waits for", waits).await;
    for member in OTHERS {
        world.starts(member, name, true).await;
    }
    world.is_left("member1", name, 180).await;
    world.each_wants(name, [0, 8, 7]);
    world.later(120, "karmada-scheduler divides again", async |world| !world.suspended(name).await).await;
    world.rests().await;
    assert_eq!((world.least(name), world.asked(name).await), (15, 15), "ready pods never fall");
    assert_eq!(world.bounded(name).await, [""; 0], "no member keeps an HPA");
    assert!(world.hpa(name).await.unwrap()["metadata"]["finalizers"].is_null(), "nothing is left to be handed back");
    assert!(world.said(name, "Ready").await.starts_with("True TargetReady"), "{}", world.said(name, "Ready").await);
    world.clear(name).await;
}

/// `maxReplicas` is what runs: a quarter of it moves at a time.
pub async fn a_cluster_leaves_in_quarters_where_there_is_no_headroom<W: World>(world: &mut W) {
    let name = "rolls";
    // Three times five to begin with would hold the ten of member1 back.
    fifteen(world, name, 30).await;
    world.federated(name, 3, 15, json!({})).await;
    let held = async |world: &W| world.bounds("member1", name).await == Some((1, 10));
    world.soon("the others are held to what they run", held).await;
    world.note(name);
    world.policy(name, &OTHERS).await;
    world.is_left("member1", name, 300).await;
    let least = world.least(name);
    assert!(least >= 12, "no more than a quarter of ten is missing at a time; {least} of 15 were ready");
    assert_eq!(world.assigned(name).await, OTHERS);
    world.clear(name).await;
}

/// A label of the Cluster chooses it, and falls.
pub async fn a_cluster_whose_label_falls_is_replaced_first<W: World>(world: &mut W) {
    let name = "labelled";
    for member in MEMBERS {
        world.edit_cluster(member, json!({"metadata": {"labels": {"suite": "in"}}})).await;
    }
    let mut policy = policy(name, &MEMBERS);
    policy["spec"]["placement"]["clusterAffinity"] = json!({"labelSelector": {"matchLabels": {"suite": "in"}}});
    fifteen_by(world, name, policy, 30).await;
    world.edit_cluster("member1", json!({"metadata": {"labels": {"suite": null}}})).await;
    world.is_left("member1", name, 120).await;
    assert_eq!(world.least(name), 15, "ready pods never fall");
    world.clear(name).await;
}

/// Karmada's controllers are away while a cluster leaves: no pod goes before its replacement is there.
pub async fn an_absent_karmada_costs_no_pod<W: World>(world: &mut W) {
    let name = "absent";
    fifteen(world, name, 30).await;
    world.manage(false);
    world.policy(name, &OTHERS).await;
    world.pass(90).await;
    world.manage(true);
    world.is_left("member1", name, 120).await;
    assert_eq!(world.least(name), 15, "ready pods never fall");
    world.clear(name).await;
}
