//! A member dies, hangs, is disconnected, and recovers.

use std::time::Duration;

use fhpa::runtime::clock::steady;
use kube::api::{DynamicObject, ListParams};
use serde_json::{Value, json};

use super::leave::{FIFTEEN, fifteen};
use crate::lab::CORES;
use crate::stand::{MEMBERS, Stand, deployment, policy};

/// For how long a cluster may be away, as the policies here say.
const TOLERATED: u64 = 30;

/// Fifteen pods under a policy that tolerates an absence of so many seconds.
async fn tolerating(stand: &Stand, name: &str, seconds: u64) {
    for (member, wants) in [("member1", 10), ("member2", 3), ("member3", 2)] {
        stand.wants(member, name, wants);
    }
    stand.apply("deployments", &deployment(name, 3)).await;
    let mut policy = policy(name, "Deployment", &MEMBERS);
    let tolerations = ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]
        .map(|key| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}));
    policy["spec"]["placement"]["clusterTolerations"] = json!(tolerations);
    stand.apply("propagationpolicies", &policy).await;
    stand.federated(name, 3, 45, json!({})).await;
    stand.runs(name, &FIFTEEN).await;
    // Nobody can replace what was never reported.
    reports_ten(stand, name).await;
}

/// Waits until Karmada reports the ten of the first member.
async fn reports_ten(stand: &Stand, name: &str) {
    stand
        .soon("Karmada reports the ten of member1", async |stand| {
            let binding = stand.binding(name).await.unwrap_or_default();
            let reports = binding["status"]["aggregatedStatus"].as_array().cloned().unwrap_or_default();
            reports.iter().any(|one| one["clusterName"] == "member1" && one["status"]["replicas"] == 10)
        })
        .await;
}

async fn member_works(stand: &Stand, member: &str) -> Vec<DynamicObject> {
    let works =
        stand.lab.karmada.api("work.karmada.io/v1alpha1", "Work", "works", Some(&format!("karmada-es-{member}")));
    works.list(&ListParams::default()).await.unwrap().items
}

fn manifest(work: &DynamicObject) -> &Value {
    &work.data["spec"]["workload"]["manifests"][0]
}

/// The Works of the HPA of that name.
fn hpas_of<'a>(works: &'a [DynamicObject], name: &'a str) -> impl Iterator<Item = &'a DynamicObject> {
    works.iter().filter(move |work| {
        let manifest = manifest(work);
        manifest["kind"] == "HorizontalPodAutoscaler" && manifest["metadata"]["name"] == name
    })
}

/// The clusters with an entry. Their numbers follow what runs.
fn assigned(binding: &Value) -> Vec<&str> {
    let entries = binding["spec"]["clusters"].as_array().into_iter().flatten();
    entries.map(|entry| entry["name"].as_str().unwrap()).collect()
}

/// Waits until the binding has no entry of the first member.
async fn is_given_up(stand: &Stand, name: &str) {
    let gone = async |stand: &Stand| {
        let binding = stand.binding(name).await.unwrap();
        let clusters = binding["spec"]["clusters"].as_array().cloned().unwrap_or_default();
        !clusters.iter().any(|entry| entry["name"] == "member1")
    };
    // Karmada finds only after a minute that a cluster hangs.
    stand.later(Duration::from_secs(TOLERATED + 120), "member1 is given up", gone).await;
}

/// Without a word of the policy a short absence moves nothing.
pub async fn a_short_absence_moves_nothing(stand: &mut Stand) {
    let name = "blip";
    fifteen(stand, name, 45).await;
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let binding = stand.binding(name).await.unwrap();
    assert_eq!(assigned(&binding), MEMBERS);
    assert!(binding["spec"]["gracefulEvictionTasks"].is_null(), "{binding}");
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    stand
        .soon("all run as before", async |stand| {
            FIFTEEN.iter().all(|(member, count)| stand.observer.ready_in(member, name) == *count)
        })
        .await;
    stand.clear(name).await;
}

/// A member that hangs for 200 s, less than is tolerated by default, loses nothing, and nobody else changes.
pub async fn a_hang_moves_nothing(stand: &mut Stand) {
    let name = "hang";
    fifteen(stand, name, 45).await;
    stand.lab.member("member1").hang();
    tokio::time::sleep(Duration::from_secs(200)).await;
    let binding = stand.binding(name).await.unwrap();
    assert_eq!(assigned(&binding), MEMBERS);
    assert!(binding["spec"]["gracefulEvictionTasks"].is_null(), "{binding}");
    stand.lab.member_mut("member1").heal(true).await;
    stand.lab.cluster_is("member1", "True").await;
    stand.runs(name, &FIFTEEN).await;
    assert_eq!(stand.observer.least(name), 15, "no pod was ended, and none was started");
    stand.clear(name).await;
}

/// An edit during an absence is in effect soon after it. Karmada's own attempts come 164, 328 and 656 s after the edit,
/// and for a minute or two after the return each one is a conflict, because its copy of the HPA is older.
pub async fn what_a_cluster_missed_is_in_effect_soon_after_its_return(stand: &mut Stand) {
    let name = "missed";
    tolerating(stand, name, 900).await;
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    let window = json!({"spec": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 61}}}});
    stand.edit("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name, window).await;
    tokio::time::sleep(Duration::from_secs(335)).await;
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    let back = steady();
    let edited = async |stand: &Stand| {
        let hpa = stand.member_hpa("member1", name).await.unwrap_or_default();
        hpa["spec"]["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 61
    };
    stand.later(Duration::from_secs(270), "member1 has the edit", edited).await;
    println!("{name}: in effect {:.1} s after the cluster was back", back.elapsed().as_secs_f64());
    stand.runs(name, &FIFTEEN).await;
    stand.clear(name).await;
}

/// The template and the weights change just after a member died. Karmada reports no status of a manifest that it could
/// not apply, so nothing tells what the member runs: it keeps what it ran.
pub async fn an_edit_takes_nothing_from_a_member_that_no_longer_reports(stand: &mut Stand) {
    let name = "unreported";
    fifteen(stand, name, 30).await;
    reports_ten(stand, name).await;
    stand
        .soon("its HPA reports them, too", async |stand| {
            let works = member_works(stand, "member1").await;
            hpas_of(&works, name)
                .any(|work| work.data["status"]["manifestStatuses"][0]["status"]["currentReplicas"] == 10)
        })
        .await;
    stand.lab.member_mut("member1").kill();
    let annotation = json!({"spec": {"template": {"metadata": {"annotations": {"suite": "edited"}}}}});
    stand.edit("apps/v1", "Deployment", "deployments", name, annotation).await;
    stand
        .soon("Karmada reports nothing of member1", async |stand| {
            let binding = stand.binding(name).await.unwrap_or_default();
            let reports = binding["status"]["aggregatedStatus"].as_array().cloned().unwrap_or_default();
            reports.iter().any(|report| report["clusterName"] == "member1" && report["status"].is_null())
        })
        .await;
    let weight =
        |(member, weight): (&str, u32)| json!({"targetCluster": {"clusterNames": [member]}, "staticWeight": weight});
    let weights = [("member1", 1), ("member2", 7), ("member3", 7)].map(weight);
    let assignment = json!({"federatedHPAAssignmentType": "StaticWeighted", "clusterAutoscalingPreference": weights});
    let change = json!({"spec": {"federatedHPAAssignment": assignment}});
    stand.edit("autoscaling.karmada.io/v1alpha1", "FederatedHPA", "federatedhpas", name, change).await;
    stand
        .soon("the weights are taken up", async |stand| {
            let hpa = stand.hpa(name).await.unwrap_or_default();
            let desired = hpa["status"]["clusterHPADesired"].as_array().cloned().unwrap_or_default();
            desired.iter().any(|one| one["clusterName"] == "member1" && one["maxReplicas"] == 2)
        })
        .await;
    stand.lab.cluster_is("member1", "False").await;
    let works = member_works(stand, "member1").await;
    let max: Vec<&Value> = hpas_of(&works, name).map(|work| &manifest(work)["spec"]["maxReplicas"]).collect();
    assert_eq!(max, [10], "what it runs");
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    stand.runs(name, &FIFTEEN).await;
    stand.clear(name).await;
}

/// Ready replicas of the second and the third member.
fn others(stand: &Stand, name: &str) -> usize {
    stand.observer.ready_in("member2", name) + stand.observer.ready_in("member3", name)
}

/// The first member is given up: its ten are ready elsewhere ten seconds later.
async fn is_replaced(stand: &Stand, name: &str) {
    is_given_up(stand, name).await;
    let given_up = steady();
    stand.later(Duration::from_secs(10), "the others run all fifteen", async |stand| others(stand, name) >= 15).await;
    println!("{name}: the others run all {:.1} s after the decision", given_up.elapsed().as_secs_f64());
    stand.observer.note(name);
}

/// The first member is back and takes part again. Never are fewer ready than are wanted.
async fn comes_back(stand: &Stand, name: &str) {
    stand.lab.cluster_is("member1", "True").await;
    let back = async |stand: &Stand| stand.bounds("member1", name).await.is_some();
    stand.later(Duration::from_secs(180), "member1 takes part again", back).await;
    for _ in 0..60 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(stand.observer.ready(name) >= 15, "{} of 15 are ready", stand.observer.ready(name));
    }
    assert!(stand.observer.least(name) >= 15, "there were {} of 15", stand.observer.least(name));
}

/// What a lost cluster ran is run by the others within seconds of the decision, and it comes back without harm.
pub async fn what_a_lost_cluster_ran_is_run_by_the_others(stand: &mut Stand) {
    let name = "lost";
    tolerating(stand, name, TOLERATED).await;
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    is_replaced(stand, name).await;
    // Their own HPAs have seen no load: they are held for the window of scaling down.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(others(stand, name) >= 15, "{} of 15 are ready", others(stand, name));
    }
    stand.lab.member_mut("member1").heal(false).await;
    comes_back(stand, name).await;
    stand.clear(name).await;
}

/// A member that hangs for longer than is tolerated: its pods live on, and nobody sees them until it answers again.
pub async fn a_long_hang_is_replaced_and_costs_no_pod_when_it_ends(stand: &mut Stand) {
    let name = "stalled";
    tolerating(stand, name, TOLERATED).await;
    stand.lab.member("member1").hang();
    is_replaced(stand, name).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(others(stand, name) >= 15, "{} of 15 are ready", others(stand, name));
    stand.lab.member_mut("member1").heal(true).await;
    comes_back(stand, name).await;
    stand.clear(name).await;
}

/// A cluster that was given up gets a new HPA soon after its return. The one from before is deleted first, because it
/// could scale beyond the budget; Karmada's own attempts to delete it come 41, 82 and 164 s after the deletion.
pub async fn a_cluster_that_was_given_up_takes_part_soon_after_its_return(stand: &mut Stand) {
    let name = "again";
    tolerating(stand, name, TOLERATED).await;
    let uid = async |stand: &Stand| {
        let hpa = stand.member_hpa("member1", name).await.unwrap_or_default();
        hpa["metadata"]["uid"].as_str().map(ToOwned::to_owned)
    };
    let before = uid(stand).await.expect("member1 has an HPA");
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    is_given_up(stand, name).await;
    tokio::time::sleep(Duration::from_secs(90)).await;
    stand.lab.member_mut("member1").heal(false).await;
    stand.lab.cluster_is("member1", "True").await;
    let back = steady();
    let anew = async |stand: &Stand| uid(stand).await.is_some_and(|uid| uid != before);
    stand.later(Duration::from_secs(60), "member1 has a new HPA", anew).await;
    println!("{name}: takes part {:.1} s after the cluster was back", back.elapsed().as_secs_f64());
    stand.clear(name).await;
}

/// The leader is killed in the moment in which the cluster is given up.
pub async fn a_leader_killed_during_a_failover_is_followed(stand: &mut Stand) {
    let name = "both";
    tolerating(stand, name, TOLERATED).await;
    let leader = stand.fhpa.leads(&stand.lab).await;
    stand.lab.member_mut("member1").kill();
    stand.lab.cluster_is("member1", "False").await;
    tokio::time::sleep(Duration::from_secs(TOLERATED - 3)).await;
    stand.fhpa.kill(leader);
    stand.later(Duration::from_secs(90), "the others run all fifteen", async |stand| others(stand, name) >= 15).await;
    stand.observer.note(name);
    stand.fhpa.run(leader);
    stand.lab.member_mut("member1").heal(false).await;
    comes_back(stand, name).await;
    stand.clear(name).await;
}

/// Karmada's own failover of an application that stays unhealthy goes to a cluster that does not have it yet: what is
/// ready stays until its replacement is.
pub async fn karmadas_own_failover_waits_for_the_replacement(stand: &mut Stand) {
    let name = "unhealthy";
    stand
        .later(
            Duration::from_secs(60),
            "nothing of other stories is left: all members have the same room",
            async |stand| {
                let mut empty = true;
                for member in MEMBERS {
                    empty &= stand.is_empty(member, CORES).await;
                }
                empty
            },
        )
        .await;
    for member in MEMBERS {
        stand.wants(member, name, 3);
    }
    stand.apply("deployments", &deployment(name, 1)).await;
    let mut policy = policy(name, "Deployment", &MEMBERS);
    policy["spec"]["propagateDeps"] = json!(true);
    policy["spec"]["failover"] =
        json!({"application": {"decisionConditions": {"tolerationSeconds": 10}, "purgeMode": "Gracefully"}});
    policy["spec"]["placement"]["replicaScheduling"] =
        json!({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"});
    stand.apply("propagationpolicies", &policy).await;
    stand.federated(name, 1, 3, json!({})).await;
    stand.soon("one cluster runs all three", async |stand| stand.observer.ready(name) == 3).await;
    let home = MEMBERS.into_iter().max_by_key(|member| stand.observer.ready_in(member, name)).unwrap();
    assert_eq!(stand.observer.ready_in(home, name), 3);
    // One of them does not become ready again.
    let member = stand.lab.member(home);
    member.pods.load(name, |load| load.starts = false);
    let pods = member.plane.api("v1", "Pod", "pods", Some("prod"));
    let labelled = ListParams::default().labels(&format!("app={name}"));
    let pod = pods.list(&labelled).await.unwrap().items.pop().unwrap();
    pods.delete(pod.metadata.name.as_deref().unwrap(), &Default::default()).await.unwrap();
    stand.soon("one is not ready", async |stand| stand.observer.ready(name) == 2).await;
    stand.observer.note(name);
    stand
        .later(Duration::from_secs(120), "others run what the unhealthy one ran", async |stand| {
            stand.observer.ready_in(home, name) == 0
        })
        .await;
    let (least, now) = (stand.observer.least(name), stand.observer.ready(name));
    assert!(least >= 2 && now >= 2, "of two ready pods there were {least} at least, and are {now}");
    member_is_well(stand, home, name);
    stand.clear(name).await;
}

/// All clusters of the placement are evicted while a third one, which leaves, is healthy: what they run goes on until
/// somebody can run it.
pub async fn an_eviction_that_nobody_can_replace_waits(stand: &mut Stand) {
    let (name, evicted) = ("evicted", ["member1", "member2"]);
    fifteen(stand, name, 30).await;
    for member in evicted {
        stand.lab.member(member).pods.load(name, |load| load.starts = false);
    }
    stand.policy(name, "Deployment", &evicted).await;
    stand
        .soon("member3 is to leave", async |stand| {
            stand.bounds("member3", name).await.is_some_and(|bounds| bounds == (1, 2))
        })
        .await;
    let now = format!("{:.0}", fhpa::runtime::clock::wall());
    let task = |(member, replicas): &(&str, usize)| {
        json!({"fromCluster": member, "producer": "somebody", "reason": "ApplicationFailure", "replicas": replicas,
            "purgeMode": "Gracefully", "creationTimestamp": now})
    };
    let tasks: Vec<_> = FIFTEEN.iter().filter(|(member, _)| evicted.contains(member)).map(task).collect();
    let change = json!({"spec": {"clusters": [{"name": "member3", "replicas": 2}], "gracefulEvictionTasks": tasks}});
    stand.edit("work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings", "evicted-deployment", change).await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!((stand.observer.least(name), stand.observer.ready_in("member3", name)), (15, 2));
    stand.policy(name, "Deployment", &MEMBERS).await;
    stand
        .later(Duration::from_secs(120), "member3 runs all", async |stand| {
            evicted.iter().all(|member| stand.observer.ready_in(member, name) == 0)
        })
        .await;
    assert_eq!(stand.observer.least(name), 15);
    for member in evicted {
        member_is_well(stand, member, name);
    }
    stand.clear(name).await;
}

fn member_is_well(stand: &Stand, member: &str, name: &str) {
    stand.lab.member(member).pods.load(name, |load| load.starts = true);
}
