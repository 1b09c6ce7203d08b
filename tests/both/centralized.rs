//! Centralized mode: the load of all members decides, karmada-scheduler spreads, silence removes nothing, and a switch
//! of the mode moves no pod.

use serde_json::json;

use super::{Loss, MEMBERS, World};

told! {
    one_computation_scales_over_all_clusters,
    a_switch_of_the_mode_keeps_what_a_member_asked_for,
}

const NAME: &str = "central";

/// The mode is switched, and the new one is in effect.
async fn switches<W: World>(world: &W, mode: &str) {
    world.respec(NAME, json!({"mode": mode})).await;
    let reason = if mode == "Centralized" { "True TargetReady" } else { "True MemberHPAsReady" };
    world.later(150, reason, async |world| world.said(NAME, "Ready").await.starts_with(reason)).await;
}

pub async fn one_computation_scales_over_all_clusters<W: World>(world: &mut W) {
    world.each_wants(NAME, [1; 3]);
    world.workload(NAME, 3, &MEMBERS).await;
    world.runs(NAME, &MEMBERS.map(|member| (member, 1))).await;
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 30}});
    world.federated(NAME, 1, 12, json!({"mode": "Centralized", "behavior": behavior})).await;
    let active = async |world: &W| world.said(NAME, "ScalingActive").await.contains("ValidMetricFound");
    world.soon("it is active", active).await;
    assert_eq!(world.asked(NAME).await, 3);

    world.each_wants(NAME, [3; 3]);
    world.soon("the replicas follow the load", async |world| world.asked(NAME).await == 9).await;
    world.runs(NAME, &MEMBERS.map(|member| (member, 3))).await;
    assert!(!world.suspended(NAME).await, "karmada-scheduler stays in charge");
    assert_eq!(world.bounded(NAME).await, [""; 0]);

    // A member does not answer: nothing shrinks, although the others have little to do.
    world.loses("member2", Loss::Hangs).await;
    world.each_wants(NAME, [1; 3]);
    let partial = async |world: &W| {
        let said = world.said(NAME, "ScalingActive").await;
        said.contains("PartialMetrics") && said.contains("member2 (")
    };
    world.soon("it is said", partial).await;
    world.pass(75).await;
    assert_eq!(world.asked(NAME).await, 9, "{}", world.said(NAME, "ScalingActive").await);
    world.returns("member2", Loss::Hangs).await;
    world.each_wants(NAME, [2; 3]);
    world.later(150, "it shrinks once all answer", async |world| world.asked(NAME).await == 6).await;
    world.runs(NAME, &MEMBERS.map(|member| (member, 2))).await;

    // The mode is switched there and back: nothing moves, and it scales on.
    let before = world.note(NAME);
    switches(world, "Distributed").await;
    world.rests().await;
    switches(world, "Centralized").await;
    world.rests().await;
    assert_eq!((before, world.least(NAME), world.spread(NAME)), (6, 6, [2; 3]), "no pod was ended");
    assert_eq!(world.asked(NAME).await, 6);
    assert!(world.hpa(NAME).await.unwrap()["metadata"]["finalizers"].is_null(), "nothing is left to be handed back");
    world.each_wants(NAME, [3; 3]);
    world.later(90, "it scales on", async |world| world.asked(NAME).await == 9).await;
    world.clear(NAME).await;
}

/// The HPA of a member goes on while Karmada does not reach it: what it asked for outlives a switch of the mode.
pub async fn a_switch_of_the_mode_keeps_what_a_member_asked_for<W: World>(world: &mut W) {
    world.each_wants(NAME, [4, 4, 0]);
    world.workload(NAME, 8, &MEMBERS[..2]).await;
    world.runs(NAME, &[("member1", 4), ("member2", 4)]).await;
    world.federated(NAME, 2, 40, json!({})).await;
    let divided = async |world: &W| world.said(NAME, "Ready").await.contains("MemberHPAsReady");
    world.later(90, "it is taken over", divided).await;

    world.loses("member2", Loss::Cut).await;
    world.cluster_is("member2", "False").await;
    world.wants("member2", NAME, 14);
    world.runs(NAME, &[("member1", 4), ("member2", 14)]).await;
    let before = world.note(NAME);
    world.respec(NAME, json!({"mode": "Centralized"})).await;
    world.pass(40).await;
    world.returns("member2", Loss::Cut).await;
    switches(world, "Centralized").await;
    world.pass(60).await;
    assert_eq!((before, world.least(NAME), world.asked(NAME).await), (18, 18, 18), "no pod was ended");
    world.clear(NAME).await;
}
