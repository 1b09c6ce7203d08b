//! A member dies, hangs, is disconnected, and recovers.

use fhpa::runtime::clock::steady;
use kube::api::ListParams;
use serde_json::{Value, json};

use super::leaving::{FIFTEEN, fifteen, fifteen_by};
use super::{CORES, Loss, MEMBERS, World, deployment, policy, tolerating};

told! {
    a_short_absence_moves_nothing,
    what_a_cluster_missed_is_in_effect_soon_after_its_return,
    an_edit_takes_nothing_from_a_member_that_no_longer_reports,
    what_a_lost_cluster_ran_is_run_by_the_others,
    a_cluster_that_was_given_up_takes_part_soon_after_its_return,
    a_leader_killed_during_a_failover_is_followed,
    karmadas_own_failover_waits_for_the_replacement,
}

/// For how long a cluster may be away, as the policies here say.
const TOLERATED: u64 = 30;

/// Fifteen pods under a policy that tolerates an absence of so many seconds.
async fn tolerated<W: World>(world: &W, name: &str, seconds: u64) {
    fifteen_by(world, name, tolerating(policy(name, &MEMBERS), seconds), 45).await;
    // Nobody can replace what was never reported.
    world
        .soon("Karmada reports the ten of member1", async |world| reported(world, name).await == Some(json!(10)))
        .await;
}

/// What Karmada tells that the first member runs.
async fn reported<W: World>(world: &W, name: &str) -> Option<Value> {
    let binding = world.binding(name).await.unwrap_or_default();
    let mut reports = binding["status"]["aggregatedStatus"].as_array().into_iter().flatten();
    reports.find(|one| one["clusterName"] == "member1").map(|one| one["status"]["replicas"].clone())
}

/// What is sent to the first member as the HPA of that name, and what is told of it.
async fn sent<W: World>(world: &W, name: &str) -> Option<(Value, Value)> {
    let works = world.api("", "Work", "karmada-es-member1").list(&ListParams::default()).await.unwrap().items;
    let mut sent = works.iter().map(|work| {
        let spec = work.data["spec"]["workload"]["manifests"][0].clone();
        (spec, work.data["status"]["manifestStatuses"][0]["status"].clone())
    });
    sent.find(|(sent, _)| sent["kind"] == "HorizontalPodAutoscaler" && sent["metadata"]["name"] == name)
}

/// Waits until the binding has no entry of the first member.
async fn is_given_up<W: World>(world: &W, name: &str) {
    let gone = async |world: &W| !world.assigned(name).await.contains(&"member1".to_owned());
    // Karmada finds only after a minute that a cluster hangs.
    world.later(TOLERATED + 120, "member1 is given up", gone).await;
}

/// A member that is away for less than is tolerated without a word of the policy loses nothing, and nobody else changes.
pub async fn a_short_absence_moves_nothing<W: World>(world: &mut W) {
    for (name, how, seconds) in [("blip", Loss::Dies, 40), ("hang", Loss::Hangs, 200)] {
        fifteen(world, name, 45).await;
        world.loses("member1", how).await;
        world.pass(seconds).await;
        assert_eq!(world.assigned(name).await, MEMBERS);
        assert_eq!(world.evictions(name).await, 0);
        world.returns("member1", how).await;
        world.rests().await;
        world.runs(name, &FIFTEEN).await;
        // One that is away could not be asked.
        assert_eq!(world.bounded(name).await, MEMBERS);
        assert_eq!(world.least(name), 15, "no pod was ended, and none was started");
        world.clear(name).await;
    }
}

/// An edit during an absence is in effect soon after it. Karmada's own attempts come 164, 328 and 656 s after the edit,
/// and for a minute or two after the return each one is a conflict, because its copy of the HPA is older.
pub async fn what_a_cluster_missed_is_in_effect_soon_after_its_return<W: World>(world: &mut W) {
    let name = "missed";
    tolerated(world, name, 900).await;
    world.dies("member1").await;
    world.respec(name, json!({"behavior": {"scaleDown": {"stabilizationWindowSeconds": 61}}})).await;
    world.pass(335).await;
    world.returns("member1", Loss::Dies).await;
    let back = steady();
    let edited = async |world: &W| {
        let hpa = world.member_hpa("member1", name).await.unwrap_or_default();
        hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 61
    };
    world.later(270, "member1 has the edit", edited).await;
    println!("{name}: in effect {:.1} s after the cluster was back", back.elapsed().as_secs_f64());
    let written = world.written("member1", name).await;
    world.rests().await;
    assert_eq!(world.written("member1", name).await, written, "once");
    world.runs(name, &FIFTEEN).await;
    world.clear(name).await;
}

/// The template and the weights change just after a member died. Karmada reports no status of a manifest that it could
/// not apply, so nothing tells what the member runs: it keeps what it ran.
pub async fn an_edit_takes_nothing_from_a_member_that_no_longer_reports<W: World>(world: &mut W) {
    let name = "unreported";
    fifteen(world, name, 30).await;
    world
        .soon("Karmada reports the ten of member1", async |world| reported(world, name).await == Some(json!(10)))
        .await;
    let ten = async |world: &W| sent(world, name).await.is_some_and(|(_, told)| told["currentReplicas"] == 10);
    world.soon("its HPA reports them, too", ten).await;
    world.loses("member1", Loss::Dies).await;
    let annotation = json!({"spec": {"template": {"metadata": {"annotations": {"suite": "edited"}}}}});
    world.edit("Deployment", name, annotation).await;
    let nothing = async |world: &W| reported(world, name).await.is_none_or(|told| told.is_null());
    world.soon("Karmada reports nothing of member1", nothing).await;
    let weight =
        |(member, weight): (&str, u32)| json!({"targetCluster": {"clusterNames": [member]}, "staticWeight": weight});
    let weights = [("member1", 1), ("member2", 7), ("member3", 7)].map(weight);
    let assignment = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": weights});
    world.respec(name, json!({"federatedHPAAssignment": assignment})).await;
    let taken = async |world: &W| {
        let hpa = world.hpa(name).await.unwrap_or_default();
        let mut desired = hpa["status"]["clusterHPADesired"].as_array().into_iter().flatten();
        desired.any(|one| one["clusterName"] == "member1" && one["maxReplicas"] == 2)
    };
    world.soon("the weights are taken up", taken).await;
    world.cluster_is("member1", "False").await;
    assert_eq!(sent(world, name).await.unwrap().0["spec"]["maxReplicas"], 10, "what it runs");
    world.returns("member1", Loss::Dies).await;
    world.runs(name, &FIFTEEN).await;
    world.clear(name).await;
}

/// The first member is back and takes part again. Never are fewer ready than are wanted.
async fn comes_back<W: World>(world: &W, name: &str) {
    world.cluster_is("member1", "True").await;
    let back = async |world: &W| world.bounds("member1", name).await.is_some();
    world.later(180, "member1 takes part again", back).await;
    for _ in 0..60 {
        world.pass(1).await;
        assert!(world.ready(name) >= 15, "{} of 15 are ready", world.ready(name));
    }
    assert!(world.least(name) >= 15, "there were {} of 15", world.least(name));
    assert_eq!(world.assigned(name).await, MEMBERS, "it takes part again");
}

/// What a lost cluster ran is run by the others within seconds of the decision, and it comes back without harm. The pods
/// of one that hangs live on, and nobody sees them until it answers again.
pub async fn what_a_lost_cluster_ran_is_run_by_the_others<W: World>(world: &mut W) {
    for (name, how) in [("lost", Loss::Dies), ("stalled", Loss::Hangs)] {
        tolerated(world, name, TOLERATED).await;
        world.loses("member1", how).await;
        is_given_up(world, name).await;
        let given_up = steady();
        world.later(10, "the others run all fifteen", async |world| world.others(name) >= 15).await;
        println!("{name}: the others run all {:.1} s after the decision", given_up.elapsed().as_secs_f64());
        world.note(name);
        // Their own HPAs have seen no load: they are held for the window of scaling down.
        for _ in 0..20 {
            world.pass(1).await;
            assert!(world.others(name) >= 15, "{} of 15 are ready", world.others(name));
        }
        world.heals("member1", how).await;
        comes_back(world, name).await;
        world.clear(name).await;
    }
}

/// A cluster that was given up gets a new HPA soon after its return. The one from before is deleted first, because it
/// could scale beyond the budget; Karmada's own attempts to delete it come 41, 82 and 164 s after the deletion.
pub async fn a_cluster_that_was_given_up_takes_part_soon_after_its_return<W: World>(world: &mut W) {
    let name = "again";
    tolerated(world, name, TOLERATED).await;
    let uid = async |world: &W| {
        let hpa = world.member_hpa("member1", name).await.unwrap_or_default();
        hpa["metadata"]["uid"].as_str().map(ToOwned::to_owned)
    };
    let before = uid(world).await.expect("member1 has an HPA");
    world.dies("member1").await;
    is_given_up(world, name).await;
    world.pass(90).await;
    world.returns("member1", Loss::Dies).await;
    let back = steady();
    let anew = async |world: &W| uid(world).await.is_some_and(|uid| uid != before);
    world.later(60, "member1 has a new HPA", anew).await;
    println!("{name}: takes part {:.1} s after the cluster was back", back.elapsed().as_secs_f64());
    world.clear(name).await;
}

/// The leader is killed in the moment in which the cluster is given up.
pub async fn a_leader_killed_during_a_failover_is_followed<W: World>(world: &mut W) {
    let name = "both";
    tolerated(world, name, TOLERATED).await;
    let leader = world.leader().await;
    world.dies("member1").await;
    world.pass(TOLERATED - 3).await;
    world.kill(leader).await;
    world.later(90, "the others run all fifteen", async |world| world.others(name) >= 15).await;
    world.note(name);
    world.run(leader);
    world.heals("member1", Loss::Dies).await;
    comes_back(world, name).await;
    world.clear(name).await;
}

/// Karmada's own failover of an application that stays unhealthy goes to a cluster that does not have it yet: what is
/// ready stays until its replacement is.
pub async fn karmadas_own_failover_waits_for_the_replacement<W: World>(world: &mut W) {
    let name = "unhealthy";
    for member in MEMBERS {
        let empty = async |world: &W| world.is_empty(member, CORES).await;
        world.soon("nothing of other stories is left: all members have the same room", empty).await;
    }
    world.each_wants(name, [3; 3]);
    world.apply(&deployment(name, 1)).await;
    let mut policy = policy(name, &MEMBERS);
    policy["spec"]["propagateDeps"] = json!(true);
    policy["spec"]["failover"] =
        json!({"application": {"decisionConditions": {"tolerationSeconds": 10}, "purgeMode": "Gracefully"}});
    policy["spec"]["placement"]["replicaScheduling"] =
        json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
    world.apply(&policy).await;
    world.federated(name, 1, 3, json!({})).await;
    world.soon("one cluster runs all three", async |world| world.ready(name) == 3).await;
    let home = MEMBERS.into_iter().max_by_key(|member| world.ready_in(member, name)).unwrap();
    assert_eq!(world.ready_in(home, name), 3);
    // One of them does not become ready again.
    world.starts(home, name, false).await;
    let pods = world.api(home, "Pod", "prod");
    let pod = pods.list(&ListParams::default().labels(&format!("app={name}"))).await.unwrap().items.pop().unwrap();
    pods.delete(pod.metadata.name.as_deref().unwrap(), &Default::default()).await.unwrap();
    world.soon("one is not ready", async |world| world.ready(name) == 2).await;
    world.note(name);
    world.is_left(home, name, 120).await;
    let (least, now) = (world.least(name), world.ready(name));
    assert!(least >= 2 && now >= 2, "of two ready pods there were {least} at least, and are {now}");
    world.starts(home, name, true).await;
    world.clear(name).await;
}
