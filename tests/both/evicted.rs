//! Karmada evicts what a cluster runs, and the policy changes while fhpa is away: what is to stay stays.

use serde_json::{Value, json};

use super::leaving::{FIFTEEN, fifteen};
use super::{MEMBERS, OTHERS, World};

told! {
    an_eviction_that_nobody_replaces_is_taken_back in evicting,
    an_eviction_that_nobody_can_replace_waits,
    a_narrowed_policy_is_carried_out_after_the_release,
}

/// Puts a taint on the first member that nobody tolerates, or takes it away.
pub async fn taint<W: World>(world: &W, on: bool) {
    let taints = if on { json!([{"key": "maintenance", "effect": "NoExecute"}]) } else { Value::Null };
    world.edit_cluster("member1", json!({"spec": {"taints": taints}})).await;
}

/// The clusters with an entry, and how many evictions are under way.
pub async fn placed<W: World>(world: &W, name: &str) -> (Vec<String>, usize) {
    (world.assigned(name).await, world.evictions(name).await)
}

/// A taint on the only cluster of the policy, for a while: the eviction is taken back. Suspended or not.
pub async fn an_eviction_that_nobody_replaces_is_taken_back<W: World>(world: &mut W) {
    for suspended in [false, true] {
        let name = if suspended { "paused" } else { "tainted" };
        let held = async |world: &W| world.retained(name).await && world.suspended(name).await;
        let here = (vec!["member1".to_owned()], 0);
        world.wants("member1", name, 3);
        world.workload(name, 3, &["member1"]).await;
        world.federated(name, 3, 9, json!({})).await;
        world.runs(name, &[("member1", 3)]).await;
        world.soon("it is taken over", async |world| world.bounds("member1", name).await.is_some()).await;
        assert_eq!(world.note(name), 3);
        taint(world, true).await;
        world.soon("Karmada evicts it", async |world| placed(world, name).await == (Vec::new(), 1)).await;
        world.respec(name, json!({"suspend": suspended})).await;
        world.pass(30).await;
        assert_eq!((held(world).await, placed(world, name).await), (true, (Vec::new(), 1)));
        taint(world, false).await;
        world.soon("the eviction is taken back", async |world| placed(world, name).await == here).await;
        world.rests().await;
        assert_eq!((world.least(name), held(world).await, placed(world, name).await), (3, true, here));
        world.respec(name, json!({"suspend": false})).await;
        let well = async |world: &W| world.said(name, "Ready").await.starts_with("True MemberHPAsReady");
        world.soon("all is well", well).await;
        world.clear(name).await;
    }
}

/// All clusters of the placement are evicted while a third one, which leaves, is healthy: what they run goes on until
/// somebody can run it.
pub async fn an_eviction_that_nobody_can_replace_waits<W: World>(world: &mut W) {
    let (name, evicted) = ("evicted", ["member1", "member2"]);
    fifteen(world, name, 30).await;
    for member in evicted {
        world.starts(member, name, false).await;
    }
    world.policy(name, &evicted).await;
    world.soon("member3 is to leave", async |world| world.bounds("member3", name).await == Some((1, 2))).await;
    let now = format!("{:.0}", world.now());
    let task = |(member, replicas): &(&str, usize)| {
        json!({"fromCluster": member, "producer": "somebody", "reason": "ApplicationFailure", "replicas": replicas,
            "purgeMode": "Gracefully", "creationTimestamp": now})
    };
    let tasks: Vec<_> = FIFTEEN.iter().filter(|(member, _)| evicted.contains(member)).map(task).collect();
    let spec = json!({"clusters": [{"name": "member3", "replicas": 2}], "gracefulEvictionTasks": tasks});
    world.edit("ResourceBinding", "evicted-deployment", json!({"spec": spec})).await;
    world.pass(200).await;
    assert_eq!((world.least(name), world.entries(name).await), (15, vec![("member3".to_owned(), 2)]));
    world.policy(name, &MEMBERS).await;
    world.later(120, "member3 runs all", async |world| world.spread(name)[..2] == [0, 0]).await;
    assert_eq!(world.least(name), 15);
    for member in evicted {
        world.starts(member, name, true).await;
    }
    world.clear(name).await;
}

/// The policy is narrowed and the object deleted: Karmada moves what is outside the policy, whether fhpa was away
/// meanwhile, or had begun to replace it.
pub async fn a_narrowed_policy_is_carried_out_after_the_release<W: World>(world: &mut W) {
    for away in [true, false] {
        let name = if away { "narrowed" } else { "narrower" };
        fifteen(world, name, 30).await;
        world.starts("member2", name, away).await;
        if away {
            world.kill_all().await;
        }
        world.policy(name, &OTHERS).await;
        world.pass(3).await;
        world.delete("FederatedHPA", name).await;
        if away {
            world.run_all();
        }
        world.starts("member2", name, true).await;
        world.is_gone(name, 120).await;
        let moved = async |world: &W| world.ready_in("member1", name) == 0 && world.others(name) >= 15;
        world.soon("Karmada moves what member1 ran", moved).await;
        // While it is replaced both are asked for.
        let asked = world.asked(name).await;
        assert!(asked == 15 || !away && (15..=25).contains(&asked), "{asked} are asked for");
        assert_eq!(world.assigned(name).await, OTHERS);
        assert!(!world.suspended(name).await && !world.retained(name).await);
        world.clear(name).await;
    }
}
